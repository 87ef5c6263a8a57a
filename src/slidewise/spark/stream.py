"""A definition over a Spark stream: rows packed by shard, state in pages, answers once the watermark has passed."""

from __future__ import annotations

import warnings
from datetime import timedelta
from hashlib import blake2b
from typing import Any, NamedTuple

from slidewise.definition import Definition
from slidewise.errors import InputError, SlidewiseError
from slidewise.spark.batch import answer_types, check, numbered_schema, one_zero, result_schema
from slidewise.spark.carrying import numbered
from slidewise.spark.giving import given_as, plain_types, received
from slidewise.spark.packing import BLOBS, SHARD
from slidewise.spark.shard import Terms
from slidewise.spark.words import words_of
from slidewise.spark.workers import processor, task
from slidewise.windows import Duration

SHARDS = 16
METRICS = "slidewise"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_DELAY = "spark.watermarkDelayMs"


class StreamPlan(NamedTuple):
    """How a definition will run on a stream, in words."""

    shards: int
    forget_after: Duration | None
    on_beat: bool = False

    def __str__(self) -> str:
        forgotten = "" if self.forget_after is None else f"; keys without rows for {self.forget_after} start anew"
        if self.on_beat:
            return (
                f"a stream in {self.shards} shards of keys: rows are packed by shard, wait until the watermark has "
                "passed them, and become slices, which are all the state; a row for each key and beat comes once the "
                f"watermark has passed the beat{forgotten}"
            )
        return (
            f"a stream in {self.shards} shards of keys: rows are packed by shard, wait until the watermark has passed "
            f"them, and are answered for all keys of a shard at once, with state in pages{forgotten}"
        )


def over_stream(
    definition: Definition,
    df: Any,
    shards: int = SHARDS,
    forget_after: Duration | timedelta | str | None = None,
    metrics: str = METRICS,
) -> Any:
    """The stream with one more column per aggregate, or its beats; they come once the watermark has passed them.

    `shards` is how many parts keys are put into, which is how many tasks can work at once; it is part of the
    checkpoint. With `forget_after`, a key that has had no row for longer than this starts anew, and holds no state.
    `metrics` is the name under which the query's progress shows how many rows were answered, and dropped as late.
    """
    from pyspark.sql import functions as F

    schema, plan = planned_stream(definition, df, shards, forget_after, metrics)
    names = df.columns
    kinds = answer_types(definition, df.schema)
    forget = None if plan.forget_after is None else plan.forget_after.ns // 1_000
    said = words_of(definition, df.schema, shards, plan.forget_after)
    terms = Terms(definition, _fingerprint(definition, df.schema, shards, forget), kinds, forget, said)
    keys = [one_zero(df, name) for name in definition.by]
    hashed = df.select(F.xxhash64(*keys) if keys else F.lit(0).cast("long"), "*").toDF("hash", *numbered(names))
    blobs = hashed.mapInArrow(task("packing", "packed", shards), BLOBS)
    new = numbered_schema(schema)
    answered = blobs.groupBy(SHARD).transformWithStateInPandas(
        statefulProcessor=processor(terms, names, plain_types(new)),
        outputStructType=given_as(new),
        outputMode="Append",
        timeMode="EventTime",
    )
    return received(answered, new, metrics).toDF(*schema.names)


def planned_stream(
    definition: Definition,
    df: Any,
    shards: int = SHARDS,
    forget_after: Duration | timedelta | str | None = None,
    metrics: str = METRICS,
) -> tuple[Any, StreamPlan]:
    """The result's schema and the plan, or an error; nothing runs."""
    if not isinstance(shards, int) or isinstance(shards, bool) or not 1 <= shards <= 65_536:
        raise SlidewiseError(f"shards= is a number from 1 to 65536, not {shards!r}")
    if not isinstance(metrics, str) or not metrics:
        raise SlidewiseError(f"metrics= is a name for the counts in the query's progress, not {metrics!r}")
    schema = df.schema
    check(definition, schema)
    _check_watermark(definition, schema)
    _check_settings(df.sparkSession)
    plan = StreamPlan(shards, _forgotten(definition, forget_after), definition.every is not None)
    return result_schema(definition, schema), plan


def _check_watermark(definition: Definition, schema: Any) -> None:
    on = definition.on
    kind = schema[on].dataType.simpleString()
    if kind != "timestamp":
        made = (
            f"F.to_timestamp({on!r})"
            if kind == "string"
            else (
                f"F.col({on!r}).cast('timestamp')"
                if kind in ("timestamp_ntz", "date")
                else f"F.timestamp_seconds({on!r})"
            )
        )
        raise InputError(
            f"on={on!r} has Spark's type {kind}; on a stream it must be a timestamp, since watermarks are: make one, "
            f"such as {made}, and give windows as durations"
        )
    marked = [field.name for field in schema.fields if _DELAY in (field.metadata or {})]
    if on in marked:
        return
    wrong = f"has a watermark on {marked[0]!r}, and not on the time {on!r}" if marked else "has no watermark"
    raise SlidewiseError(
        f"the stream {wrong}, so there is no telling when the rows of a moment are complete; set one: "
        f"stream.withWatermark({on!r}, '30 seconds').transform(definition)"
    )


def _check_settings(session: Any) -> None:
    provider = session.conf.get(_PROVIDER, "") or ""
    if "RocksDB" not in provider:
        raise SlidewiseError(
            f"state on a stream needs RocksDB, but the session has {provider or 'no provider'}; set "
            f"spark.conf.set({_PROVIDER!r}, {_ROCKSDB!r}) before the query starts"
        )
    if str(session.conf.get(_CHANGELOG, "false")).lower() != "true":
        warnings.warn(
            "without changelog checkpointing each micro-batch uploads whole files of RocksDB instead of what changed; "
            f"set spark.conf.set({_CHANGELOG!r}, 'true') before the query starts",
            stacklevel=5,
        )


def _forgotten(definition: Definition, given: Duration | timedelta | str | None) -> Duration | None:
    if given is None:
        return None
    forget = Duration.of(given)
    for name, aggregate in definition.columns.items():
        last, grain = (None, None) if aggregate.window is None else (aggregate.window.last, aggregate.window.grain)
        more = grain.ns if isinstance(grain, Duration) else 0
        if isinstance(last, Duration) and last.ns + more > forget.ns:
            with_grain = f" and its grain, {grain}" if more else ""
            raise SlidewiseError(
                f"forget_after={forget} is shorter than the window of {name!r}, {last}{with_grain}; make it as long"
            )
    return forget


def _fingerprint(definition: Definition, schema: Any, shards: int, forget_after: int | None) -> str:
    """A digest of all that the state in a checkpoint depends on."""
    columns = [(field.name, field.dataType.simpleString()) for field in schema.fields]
    said = repr((definition.fingerprint(), columns, shards, forget_after))
    return blake2b(said.encode(), digest_size=16).hexdigest()
