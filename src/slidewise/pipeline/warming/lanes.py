"""All that answers a definition, run over made rows in this process, so that its kernels are compiled and cached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

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
from slidewise.spark.stream.beat_shard import make_shard
from slidewise.spark.stream.shard import QueryTerms
from slidewise.spark.types import answer_type_of
from slidewise.spark.upgrade.upgrade import call_shard

Lane = Callable[[Sliding, pa.Table], object]
_PIECES = 4
_FINGERPRINT = "00" * 16
_LATER = 10**9  # milliseconds past the newest row, when all have been answered


def run_lanes(definition: Sliding, table: pa.Table) -> list[str]:
    """Run all lanes over a table; those which refuse the definition, with the reason."""
    refused = []
    for lane in LANES:
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
    evaluator = BatchEvaluator(definition) if definition.every is None else BeatEvaluator(definition)
    _exhaust(evaluate_tables(evaluator, _pieces(table)))


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
    for piece in [*_pieces(hashed), hashed.slice(0, 0)]:
        newest = pc.max(table.column(definition.on)).cast(pa.int64()).as_py() // 1_000
        watermark = 0 if len(piece) else newest + _LATER
        call_shard(make_shard(terms), terms, store, 0, [piece], watermark, MicroBatch(None, 0))


LANES: tuple[Lane, ...] = (_table, _live, _as_of, _spark, _spark_as_of, _stream)


class _Pages(dict[int, bytes]):
    """A stream's pages in memory."""

    def put(self, number: int, page: bytes) -> None:
        self[number] = page

    def remove(self, number: int) -> None:
        self.pop(number, None)


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
