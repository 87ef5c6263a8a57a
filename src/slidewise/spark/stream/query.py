"""A definition over a Spark stream: rows packed by shard, state in pages, answers once the watermark has passed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from slidewise.definition import Definition
from slidewise.errors import InputError, SlidewiseError, users_stack_level
from slidewise.spark.column_names import numbered_names, numbered_schema, quoted
from slidewise.spark.schema import answer_types, check_schema, column_types, hashed_schema, result_schema, with_key_hash
from slidewise.spark.stream.history import check_history, history_pages
from slidewise.spark.stream.output import answer_rows, output_schema, plain_types
from slidewise.spark.stream.packing import BLOB_SCHEMA, SHARD, pack_by_shard
from slidewise.spark.stream.query_description import describe_query, query_fingerprint
from slidewise.spark.stream.shard import QueryTerms, UpgradeTerms
from slidewise.spark.upgrade.plan import UpgradePlan, plan_upgrade
from slidewise.spark.worker.task import processor, task
from slidewise.windows import Duration, Months

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType

GivenDuration = Duration | timedelta | str | None

SHARDS = 16
METRICS = "slidewise"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_DELAY = "spark.watermarkDelayMs"
_WATERMARKED = "believed"  # the time that moves the watermark


class StreamPlan(NamedTuple):
    """How a definition will run on a stream, in words; `watermark` is the delay of the one that is set for it."""

    shards: int
    forget_after: Duration | None
    on_beat: bool = False
    watermark: Duration | None = None
    ahead: Duration | None = None
    late_to: str | None = None
    warm: bool = False
    only_complete: bool = False
    upgrade: UpgradePlan | None = None

    def __str__(self) -> str:
        more = "" if self.forget_after is None else f"; keys without rows for {self.forget_after} start anew"
        if self.watermark is not None:
            more += f"; the watermark is {self.watermark} behind the newest row"
        if self.warm:
            more += "; the state begins with that after the history"
        if self.ahead is not None:
            more += f"; rows more than {self.ahead} ahead of the clock are put aside"
        if self.late_to is not None:
            more += f"; rows that are not taken in come out without answers, and {self.late_to!r} says why"
        if self.only_complete:
            more += "; answers that an upgrade left incomplete are null until they are complete"
        if self.upgrade is not None:
            more += f"\n{self.upgrade}"
        if self.on_beat:
            return (
                f"a stream in {self.shards} shards of keys: rows are packed by shard, wait until the watermark has "
                "passed them, and become slices, which are all the state; a row for each key and beat comes once the "
                f"watermark has passed the beat{more}"
            )
        return (
            f"a stream in {self.shards} shards of keys: rows are packed by shard, wait until the watermark has passed "
            f"them, and are answered for all keys of a shard at once, with state in pages{more}"
        )


def over_stream(definition: Definition, df: DataFrame, **options: Any) -> DataFrame:
    """The stream with one more column per aggregate, or its beats; they come once the watermark has passed them.

    The options are those of `plan_stream`.
    """
    schema, plan, metrics = plan_stream(definition, df, **options)
    terms = query_terms(definition, df.schema, plan)
    history = options.get("history")
    pages = None
    if history is not None:
        pages = history_pages(terms, df, history, options.get("history_until"), plan.shards)
    return run_shards(definition, df, plan, terms, numbered_schema(schema), metrics, pages).toDF(*schema.names)


def run_shards(
    definition: Definition,
    df: DataFrame,
    plan: StreamPlan,
    terms: QueryTerms,
    schema: StructType,
    metrics: str,
    pages: DataFrame | None = None,
) -> DataFrame:
    """The answers of the shards that a stream's rows go to; `schema` is that of the result, under numbers.

    Their state begins with these pages, if there are any.
    """
    blobs = _with_hash(definition, df, plan).mapInArrow(
        task(pack_by_shard, plan.shards, plan.upgrade is not None), BLOB_SCHEMA
    )
    answered = blobs.groupBy(SHARD).transformWithStateInPandas(
        statefulProcessor=processor(terms, df.columns, plain_types(schema)),
        outputStructType=output_schema(schema),
        outputMode="Append",
        timeMode="EventTime",
        initialState=None if pages is None else pages.groupBy(SHARD),
    )
    return answer_rows(answered, schema, metrics, plan.late_to is not None)


def query_terms(
    definition: Definition,
    schema: StructType,
    plan: StreamPlan,
    answers: dict[str, pa.DataType] | None = None,
    columns: dict[str, pa.DataType] | None = None,
) -> QueryTerms:
    """The terms that workers get of a definition on a stream with this schema, and with answers of these types."""
    forget_after = None if plan.forget_after is None else plan.forget_after.ns // 1_000
    columns_of_stream = [(field.name, field.dataType.simpleString()) for field in schema.fields]
    return QueryTerms(
        definition,
        query_fingerprint(definition, columns_of_stream, plan.shards, forget_after),
        answer_types(definition, schema) if answers is None else answers,
        forget_after,
        describe_query(definition, columns_of_stream, plan.shards, plan.forget_after),
        None if plan.ahead is None else plan.ahead.ns // 1_000,
        plan.late_to,
        columns=columns or column_types(definition, schema),
        warm=plan.warm,
        shards=plan.shards,
        only_complete=plan.only_complete,
        upgrade=None if plan.upgrade is None else UpgradeTerms(plan.upgrade.old, hashed_schema(schema)),
    )


def _with_hash(definition: Definition, df: DataFrame, plan: StreamPlan) -> DataFrame:
    """The rows under numbers, and their keys' hash before them; behind the watermark that is set for them, if any.

    Of rows that lie ahead of the clock the watermark sees the first moment of 1970, which never moves it. The clock is
    the micro-batch's, which stays the same when it is run again; shards go by it too, see `late_rows`.
    """
    from pyspark.sql import functions as F

    hashed = with_key_hash(definition, df)
    if plan.watermark is None:
        return hashed
    time = F.col(quoted(numbered_names(df.columns)[df.columns.index(definition.on)]))
    if plan.ahead is not None:
        is_ahead = F.unix_micros(time) > F.unix_micros(F.current_timestamp()) + F.lit(plan.ahead.ns // 1_000)
        time = F.when(is_ahead, F.timestamp_seconds(F.lit(0))).otherwise(time)
    delay = f"{-(-plan.watermark.ns // 1_000_000)} milliseconds"
    return hashed.withColumn(_WATERMARKED, time).withWatermark(_WATERMARKED, delay).drop(_WATERMARKED)


def plan_stream(
    definition: Definition,
    df: DataFrame,
    shards: int = SHARDS,
    forget_after: GivenDuration = None,
    metrics: str = METRICS,
    watermark: GivenDuration = None,
    ahead: GivenDuration = None,
    ahead_of: str = "clock",
    late_to: str | None = None,
    history: DataFrame | None = None,
    history_until: datetime | None = None,
    upgrade_from: Definition | Sequence[Definition] | None = None,
    warm: str = "partial",
) -> tuple[StructType, StreamPlan, str]:
    """The result's schema, the plan, and the name of the metrics, or an error; nothing runs.

    `shards` is how many parts keys are put into, which is how many tasks can work at once; it is part of the
    checkpoint. With `forget_after`, a key that has had no row for longer than this starts anew, and holds no state.
    `metrics` is the name under which the query's progress shows how many rows were answered, dropped as late, and put
    aside. `watermark` sets the stream's watermark, this far behind its newest row; rows that lie more than `ahead` past
    the clock of their micro-batch do not move it, and are put aside. `late_to` is the name of one more column, with
    which rows that were dropped or put aside come out too: without answers, and with the reason in it. `history` is a
    batch DataFrame of earlier rows that fill the state before the first micro-batch; it is complete up to its newest
    time, or `history_until`, and streamed rows up to then are its duplicates. `upgrade_from` is the definition that the
    checkpoint was written by, or several of which one did: state is converted to this one's. Answers that cannot be
    complete yet are over what there is, or with `warm="null"` null.
    """
    schema = df.schema
    check_schema(definition, schema)
    check_time_type(str(definition.on), schema)
    check_history(definition, history, history_until, schema)
    _check_watermark(definition, schema, watermark, ahead, ahead_of)
    check_stream_options(df, shards, metrics)
    if warm not in ("partial", "null"):
        raise SlidewiseError(
            f"warm= is 'partial', for answers over what there is after an upgrade, or 'null', not {warm!r}"
        )
    plan = make_stream_plan(definition, shards, forget_after, watermark, ahead, late_to, history is not None)
    plan = plan._replace(only_complete=warm == "null", upgrade=plan_upgrade(definition, upgrade_from))
    return with_reason(definition, result_schema(definition, schema), late_to), plan, metrics


def check_stream_options(df: DataFrame, shards: int, metrics: str) -> None:
    """Check options that every query over a stream has, and the session's settings."""
    if not isinstance(shards, int) or isinstance(shards, bool) or not 1 <= shards <= 65_536:
        raise SlidewiseError(f"shards= is a number from 1 to 65536, not {shards!r}")
    if not isinstance(metrics, str) or not metrics:
        raise SlidewiseError(f"metrics= is a name for the counts in the query's progress, not {metrics!r}")
    _check_settings(df.sparkSession)


def make_stream_plan(
    definition: Definition,
    shards: int,
    forget_after: GivenDuration,
    watermark: GivenDuration = None,
    ahead: GivenDuration = None,
    late_to: str | None = None,
    warm: bool = False,
) -> StreamPlan:
    """The plan with these options, which are checked."""
    return StreamPlan(
        shards,
        _forget_after(definition, forget_after),
        definition.every is not None,
        _duration("watermark", watermark),
        _duration("ahead", ahead),
        late_to,
        warm,
    )


def _duration(option: str, given: GivenDuration) -> Duration | None:
    try:
        return None if given is None else Duration.of(given)
    except SlidewiseError as error:
        raise SlidewiseError(f"{option}= is a time, such as '30 seconds', not {given!r}: {error}") from None


def with_reason(definition: Definition, schema: StructType, late_to: str | None) -> StructType:
    """The result's schema with a column for why a row was not taken in, where one is wanted."""
    from pyspark.sql.types import StringType, StructField, StructType

    if late_to is None:
        return schema
    if not isinstance(late_to, str) or not late_to:
        raise SlidewiseError(
            f"late_to= is the name of a column on a stream, which says of rows that were not taken in why, not "
            f"{late_to!r}; a function is for live()"
        )
    if definition.every is not None:
        raise SlidewiseError(
            f"late_to= is not for every={str(definition.every)!r}: beats come out, which lack the columns of the rows; "
            "the query's progress counts rows that were not taken in, and a second query without every= can give them"
        )
    if late_to in schema.names:
        raise SlidewiseError(f"late_to={late_to!r} is a column already; choose another name")
    return StructType([*schema.fields, StructField(late_to, StringType(), True)])


def check_time_type(on: str, schema: StructType) -> None:
    """Check that a stream's time is a timestamp, as watermarks are."""
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


def watermark_delay(field: StructField) -> int | None:
    """The delay of the watermark on a column, in milliseconds, or None."""
    return (field.metadata or {}).get(_DELAY)


def _check_watermark(
    definition: Definition, schema: StructType, watermark: GivenDuration, ahead: GivenDuration, ahead_of: str
) -> None:
    on = definition.on
    marked = [field.name for field in schema.fields if watermark_delay(field) is not None]
    if ahead_of == "stream":
        raise SlidewiseError(
            "ahead_of='stream' is for live(): on a stream rows are taken in by many tasks at once, of which none knows "
            "the newest time of all; ahead= goes by the clock of the micro-batch"
        )
    if ahead_of != "clock":
        raise SlidewiseError(f"ahead_of= is 'clock' on a stream, not {ahead_of!r}")
    instead = f"stream.transform(definition, watermark='30 seconds', ahead={str(ahead)!r})"
    if marked and ahead is not None:
        raise SlidewiseError(
            f"the stream has a watermark on {marked[0]!r} already, which believes every row, however far ahead; leave "
            f"out withWatermark and let transform set it: {instead}"
        )
    if marked and watermark is not None:
        raise SlidewiseError(
            f"the stream has a watermark on {marked[0]!r} already; leave out withWatermark, or watermark="
        )
    if ahead is not None and watermark is None:
        raise SlidewiseError(f"ahead= needs watermark=, since rows are put aside before they move it: {instead}")
    if on in marked or watermark is not None:
        return
    wrong = f"has a watermark on {marked[0]!r}, and not on the time {on!r}" if marked else "has no watermark"
    raise SlidewiseError(
        f"the stream {wrong}, so there is no telling when the rows of a moment are complete; set one: "
        f"stream.withWatermark({on!r}, '30 seconds').transform(definition)"
    )


def _check_settings(session: SparkSession) -> None:
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
            stacklevel=users_stack_level(),
        )


def _forget_after(definition: Definition, given: GivenDuration) -> Duration | None:
    """A duration that is as long as every window."""
    if given is None:
        return None
    forget_after = Duration.of(given)
    for name, aggregate in definition.aggregates.items():
        window = aggregate.window
        if window is None or not isinstance(window.measure, Duration | Months):
            continue
        last, grain, delay = window.measure, window.grain, window.delay
        if (last.ns if window.kind.clocked and isinstance(last, Duration) else window.extent().reach) > forget_after.ns:
            with_grain = f" and its grain, {grain}" if grain is not None else ""
            with_grain = with_grain if delay is None else f" and its delay, {delay}"
            raise SlidewiseError(
                f"forget_after={forget_after} is shorter than the window of {name!r}, {last}{with_grain}; "
                "make it as long"
            )
    return forget_after
