"""All that answers a definition, run over made rows in this process, so that its kernels are compiled and cached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.definition import check_no_lookahead
from slidewise.engine.computed.columns import extended_schema, result_types
from slidewise.errors import SlidewiseError
from slidewise.kernels.compiler.threads import for_few_rows
from slidewise.sliding import Sliding
from slidewise.spark.batch.beat_evaluator import BeatEvaluator
from slidewise.spark.batch.evaluator import BatchEvaluator, evaluate_tables
from slidewise.spark.batch.query_evaluator import QueryEvaluator
from slidewise.spark.column_names import QUERY, label_name
from slidewise.spark.state.buckets import HASH
from slidewise.spark.state.directory import MicroBatch
from slidewise.spark.state.pages import MAX_PAGE_BYTES, MemoryStore
from slidewise.spark.state.seven_bits import decode_text, encode_text
from slidewise.spark.state.shard_state import stored_columns
from slidewise.spark.stream.beat_shard import make_shard
from slidewise.spark.stream.shard import QueryTerms
from slidewise.spark.types import answer_type_of
from slidewise.spark.upgrade.upgrade import call_shard

Lane = Callable[[Sliding, pa.Table], object]
_PIECES = 4
_FINGERPRINT = "00" * 16
_LATER = 10**9  # milliseconds past the newest row, when all have been answered
_CLOSE = 1_700_000_000 * 10**6  # where rows begin that come a microsecond after one another


def run_lanes(definition: Sliding, table: pa.Table, lanes: Sequence[Lane] | None = None) -> list[str]:
    """Run lanes, or all, over a table; those which refuse the definition, with the reason."""
    refused = []
    for lane in LANES if lanes is None else lanes:
        try:
            lane(definition, table)
        except SlidewiseError as error:
            refused.append(f"{lane.__name__.strip('_')}: {error}")
    return refused


def _table(definition: Sliding, table: pa.Table) -> None:
    definition(table)
    with for_few_rows():
        definition(table)


def _live(definition: Sliding, table: pa.Table) -> None:
    live = definition.live()
    for piece in _pieces(table):
        live.push_many(piece)
    if definition.every is None:
        live.get_many(table.slice(0, 1).select(definition.by))
        for row in table.slice(len(table) - 1).to_pylist():
            live.push(row)


def _as_of(definition: Sliding, table: pa.Table) -> None:
    definition.as_of(_labels(definition, table), table)


def _spark(definition: Sliding, table: pa.Table) -> None:
    """What a task of Spark does with rows sorted by key and time."""
    names = [*definition.by, *([] if definition.on is None else [definition.on])]
    table = table.take(pc.sort_indices(table, [(name, "ascending") for name in names])) if names else table
    _exhaust(evaluate_tables(_evaluator(definition), _pieces(table)))
    with for_few_rows():
        _exhaust(evaluate_tables(_evaluator(definition), _pieces(table)))


def _evaluator(definition: Sliding) -> BatchEvaluator | BeatEvaluator:
    return BatchEvaluator(definition) if definition.every is None else BeatEvaluator(definition)


def _spark_as_of(definition: Sliding, table: pa.Table) -> None:
    if definition.on is None or definition.every is not None:
        return
    labels = _labels(definition, table)
    outputs = [label_name(i) for i in range(labels.num_columns)]
    asked = labels.rename_columns(outputs)
    for name, column in zip(labels.column_names, labels.columns, strict=True):
        if name in (*definition.by, definition.on):
            asked = asked.append_column(name, column)
    asked = asked.append_column(QUERY, pa.array([True] * len(asked)))
    events = table.select(definition.event_needs).append_column(QUERY, pa.array([False] * len(table)))
    rows = pa.concat_tables([events, asked], promote_options="default")
    order = [(name, "ascending") for name in (*definition.by, definition.on)]
    rows = rows.take(pc.sort_indices(rows, order))
    own = {name: outputs[labels.column_names.index(name)] for name in definition.own}
    _exhaust(evaluate_tables(QueryEvaluator(definition, tuple(outputs), own=own), _pieces(rows)))


def _stream(definition: Sliding, table: pa.Table) -> None:
    """What a shard of a stream does with micro-batches."""
    if definition.on is None or not pa.types.is_timestamp(table.schema.field(definition.on).type):
        return
    check_no_lookahead(definition, "on a stream a row is answered once its time has passed")
    whole = extended_schema(definition, table.schema)
    kinds = {
        name: answer_type_of(aggregate, [whole.field(column).type for column in aggregate.columns])
        for name, aggregate in definition.aggregates.items()
    }
    columns = result_types(definition, kinds, lambda name: table.schema.field(name).type)
    terms = QueryTerms(definition, _FINGERPRINT, kinds, columns=columns, shards=1)
    store = _Pages()
    keys = table.select(definition.by).to_pylist()
    numbers = {key: i for i, key in enumerate(dict.fromkeys(tuple(row.values()) for row in keys))}
    hashed = table.add_column(0, HASH, pa.array([numbers[tuple(row.values())] for row in keys], pa.int64()))
    newest = pc.max(table.column(definition.on)).cast(pa.int64()).as_py() // 1_000
    for piece in [*_pieces(hashed), hashed.slice(0, 0)]:
        watermark = 0 if len(piece) else newest + _LATER
        call_shard(make_shard(terms), terms, store, 0, [piece], watermark, MicroBatch(None, 0))
    if definition.every is None:
        _stream_of_one_key(definition, terms, hashed)


def _stream_of_one_key(definition: Sliding, terms: QueryTerms, hashed: pa.Table) -> None:
    """The same with rows of one key so close to one another that it gets pages of its own."""
    stored = hashed.select([name for name in stored_columns(definition) if name in hashed.column_names])
    count = 2 * MAX_PAGE_BYTES * len(stored) // stored.nbytes
    numbers = np.arange(count) % len(hashed)
    store = _Pages()
    for turn, size in enumerate((count, count // 16, count // 16)):
        columns = {name: hashed.column(name).take(pa.array(numbers[:size])) for name in hashed.column_names}
        for name in (HASH, *definition.by):
            columns[name] = hashed.column(name).take(pa.array(np.zeros(size, np.int64)))
        first = _CLOSE + turn * 10**6
        columns[str(definition.on)] = pa.array(first + np.arange(size))
        rows = pa.table(columns).cast(hashed.schema)
        call_shard(make_shard(terms), terms, store, 0, [rows], first // 1_000 + 999, MicroBatch(None, 0))


LANES: tuple[Lane, ...] = (_table, _live, _as_of, _spark, _spark_as_of, _stream)


def lanes_of_job(labels: bool, replay: bool) -> tuple[Lane, ...]:
    """The lanes that a job's definition runs through: over its rows or at its labels, and as a stream."""
    return (_spark_as_of if labels else _spark, *([_stream] if replay else []))


class _Pages(MemoryStore):
    """A stream's pages in memory, where each has been the text that Spark's state holds."""

    def put(self, number: int, page: bytes) -> None:
        super().put(number, decode_text(encode_text(page)))


def _labels(definition: Sliding, table: pa.Table) -> pa.Table:
    if definition.on is None:
        raise SlidewiseError("as_of goes by time")
    names = dict.fromkeys([*definition.by, definition.on, *definition.own])
    return table.select(list(names)).slice(0, len(table) // _PIECES)


def _pieces(table: pa.Table) -> Iterator[pa.Table]:
    size = max(1, len(table) // _PIECES)
    for start in range(0, len(table), size):
        yield table.slice(start, size)


def _exhaust(tables: Iterator[Any]) -> None:
    for _ in tables:
        pass
