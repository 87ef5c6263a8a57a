"""A stream that starts warm: pages of state that a batch job makes of a table of earlier rows.

The rows of each shard come sorted by time and go through the shard's own code, as a stream that saw them would have
them; nothing is answered. The pages are Spark's initial state of the query: they are stored with its first micro-batch,
and if that is killed, made anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from slidewise.definition import Definition, column_not_found
from slidewise.errors import InputError, SlidewiseError
from slidewise.spark.column_names import numbered_names, quoted
from slidewise.spark.schema import with_key_hash
from slidewise.spark.sort.sorted_rows import microseconds
from slidewise.spark.state.buckets import HASH
from slidewise.spark.state.pages import DIRECTORY, MemoryStore
from slidewise.spark.stream.beat_shard import make_shard
from slidewise.spark.stream.packing import SHARD, plain
from slidewise.spark.stream.shard import QueryTerms
from slidewise.spark.stream.shard_labels import shard_label
from slidewise.spark.worker.task import task

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from slidewise.spark.stream.shard import Shard, ShardLoad

NUMBER, PAGE, TIMER = "number", "page", "timer"
_UNTIL = "until"
_PAGES_SCHEMA = f"{SHARD} long, {NUMBER} long, {PAGE} binary, {TIMER} long"
_PIECE = 262_144  # rows that are taken in at once, about


def check_history(definition: Definition, history: Any, until: Any, schema: StructType) -> None:
    """Check that a history is a batch of the columns that aggregates read, in the types that the stream has them in."""
    if history is None:
        if until is not None:
            raise SlidewiseError("history_until= says up to when a history is complete, and there is no history=")
        return
    if not hasattr(history, "isStreaming") or history.isStreaming:
        kind = "a stream" if getattr(history, "isStreaming", False) else f"{type(history).__name__}"
        raise SlidewiseError(f"history= is a batch DataFrame of Spark with earlier rows, not {kind}")
    if until is not None and not isinstance(until, datetime):
        raise SlidewiseError(f"history_until= is a datetime, up to which the history is complete, not {until!r}")
    if until is not None and until.tzinfo is None:
        raise SlidewiseError(
            f"history_until={until!r} has no zone, and the stream's times are moments; give it one, such as "
            "datetime(2024, 3, 1, tzinfo=UTC)"
        )
    for name in definition.event_needs:
        if name not in history.columns:
            raise column_not_found(name, history.columns, "the history has")
        found, wanted = (of[name].dataType.simpleString() for of in (history.schema, schema))
        if found != wanted:
            raise InputError(
                f"the history's column {name!r} has Spark's type {found}, and the stream's has {wanted}; cast it: "
                f"history.withColumn({name!r}, F.col({name!r}).cast({wanted!r}))"
            )


def history_pages(
    terms: QueryTerms, stream: DataFrame, history: DataFrame, until: datetime | None, shards: int
) -> DataFrame:
    """The pages of all shards after the history, one in a row, beside the shard's label; nothing runs yet.

    Each shard has a row without a time among those of the history, which says up to when that is complete. It is joined
    in a way that broadcasts nothing: Spark broadcasts anew in each micro-batch, though it reads initial state once. The
    marks lie in one partition, since each would look for the end anew.
    """
    from pyspark.sql import functions as F

    definition = terms.definition
    names = numbered_names(stream.columns)
    on = quoted(names[stream.columns.index(str(definition.on))])
    own = history.select(*[_column(definition, field, F) for field in stream.schema.fields])
    rows = with_key_hash(definition, own)
    if until is not None:
        rows = rows.where(F.col(on).isNull() | (F.col(on) <= F.lit(until)))
    empty = [F.lit(None).cast(field.dataType) for field in stream.schema.fields]
    marks = history.sparkSession.range(0, shards, 1, 1).select("id", *empty)
    if until is not None:
        marks = marks.withColumn(_UNTIL, F.unix_micros(F.lit(until)))
    else:
        newest = rows.agg(F.unix_micros(F.max(on)).alias(_UNTIL))
        marks = marks.crossJoin(newest.hint("shuffle_replicate_nl"))
    together = rows.withColumn(_UNTIL, F.lit(None).cast("long")).unionAll(marks)
    numbered = together.select(F.pmod("hash", F.lit(shards)).alias(SHARD), "*")
    placed = numbered.repartition(shards, SHARD).sortWithinPartitions(SHARD, on)
    return placed.mapInArrow(task(load_history, terms, stream.columns), _PAGES_SCHEMA)


def _column(definition: Definition, field: Any, functions: Any) -> Column:
    """A column of the history; null where aggregates do not read it."""
    if field.name in definition.event_needs:
        column: Column = functions.col(quoted(field.name))
        return column
    nothing: Column = functions.lit(None).cast(field.dataType).alias(field.name)
    return nothing


def load_history(terms: QueryTerms, names: list[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The pages of the shards whose rows come, sorted by shard and time; the first of each shard has no time."""
    shard = make_shard(terms)
    loading: ShardHistory | None = None
    latest = None if terms.ahead is None else int(time.time() * 1_000_000) + terms.ahead
    for batch in batches:
        table = pa.Table.from_batches([batch])
        numbers, untils = table.column(0).to_numpy(), table.column(table.num_columns - 1)
        table = plain(table.select(range(1, table.num_columns - 1))).rename_columns([HASH, *names])
        table = table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))
        starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
        for start, stop in zip(starts, [*starts[1:], len(table)], strict=True):
            number = int(numbers[start])
            if loading is None or loading.number != number:
                if loading is not None:
                    yield from loading.pages()
                loading = ShardHistory(shard, str(terms.definition.on), number, table.schema, latest)
            loading.add(table.slice(start, stop - start), untils.slice(start, stop - start))
    if loading is not None:
        yield from loading.pages()


class ShardHistory:
    """A shard's state while its rows come, sorted by time; those of one time are taken in together.

    With `latest`, a history that ends after this time is refused: one wrong date would silence the stream.
    """

    def __init__(self, shard: Shard, on: str, number: int, schema: pa.Schema, latest: int | None = None) -> None:
        self.number = number
        self._shard = shard
        self._on = on
        self._until: int | None = None
        self._latest = latest
        self._store = MemoryStore()
        self._state: ShardLoad = shard.begin_load(self._store, number, schema)
        self._gathered = [schema.empty_table()]
        self._count = 0
        self._wanted = _PIECE  # rows before some of them are taken in
        self._without_time = 0

    def add(self, table: pa.Table, untils: pa.ChunkedArray) -> None:
        """Take in more rows; one of those without a time has the end of the history beside it."""
        without = table.column(self._on).null_count
        if without:
            self._without_time += without
            self._until = next(
                (until for until in untils.slice(0, without).to_pylist() if until is not None), self._until
            )
        table = table.slice(without)
        self._gathered.append(table)
        self._count += len(table)
        if self._count >= self._wanted:
            self._take_in(at_end=False)
            self._wanted = max(_PIECE, 2 * self._count)  # many rows of one time are gone through but a few times

    def _take_in(self, at_end: bool) -> None:
        table = pa.concat_tables(self._gathered)
        times = microseconds(table, self._on)
        if len(times) and (self._until is None or times[-1] > self._until):
            raise InputError(
                "the history has changed while it was read: it has rows after its end; say history_until=, or give a "
                "table that does not change"
            )
        stop = len(times) if at_end else int(np.searchsorted(times, times[-1]))
        self._gathered, self._count = [table.slice(stop)], len(table) - stop
        if stop:
            self._shard.load(self._state, table.slice(0, stop), int(times[stop - 1]))

    def pages(self) -> Iterator[pa.RecordBatch]:
        """The pages after all rows, the directory's with the shard's timer."""
        if self._without_time > 1:  # each shard has a row without a time of its own
            raise InputError(
                f"the history's time {self._on!r} is null in {self._without_time - 1} rows of shard {self.number}; "
                "fill these in or leave them out"
            )
        if self._until is not None and self._latest is not None and self._until > self._latest:
            raise InputError(
                f"the history ends {(self._until - self._latest) / 1e6:,.0f} s later than ahead= allows, and all rows "
                "up to its end would be its duplicates; leave out rows with wrong dates, or say history_until="
            )
        self._take_in(at_end=True)
        if self._until is not None:
            self._shard.load(self._state, self._state.schema.empty_table(), self._until)
        timer = self._shard.end_load(self._state)
        label = shard_label(self.number)
        for number, page in self._store.items():
            columns = [
                pa.array([label], pa.int64()),
                pa.array([number], pa.int64()),
                pa.array([page], pa.binary()),
                pa.array([timer if number == DIRECTORY and timer is not None else 0], pa.int64()),
            ]
            yield pa.record_batch(columns, [SHARD, NUMBER, PAGE, TIMER])
