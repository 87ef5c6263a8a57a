"""Every way to ask a definition at other times: a case's events are asked at labels made for them, in all lanes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import lanes
import pyarrow as pa
import shards
from lanes import Case

import slidewise as sw
from slidewise.spark.batch.evaluator import evaluate_tables
from slidewise.spark.batch.query_evaluator import QueryEvaluator
from slidewise.spark.column_names import QUERY, label_name
from slidewise.spark.stream.shard import LabelTerms

LABEL = "the label's number"


def labels_for(case: Case, count: int = 30, seed: int = 4) -> pa.Table:
    """Labels of the events' keys and of some without events, at times of events, between, before and after them.

    Equal ones come twice; a column has the name of one of the events' with other values.
    """
    choose = random.Random(seed)
    definition, table = case.definition, case.table
    on = str(definition.on)
    kind = table.schema.field(on).type
    rows = table.select([*definition.by]).to_pylist() or [dict.fromkeys(definition.by)]
    wide = kind if pa.types.is_floating(kind) else pa.int32() if kind == pa.date32() else pa.int64()
    ticks = table.column(on).cast(wide).to_pylist()
    low, high = (min(ticks), max(ticks)) if ticks else (0, 10)
    chosen = []
    for i in range(count):
        key = dict(choose.choice(rows))
        if definition.by and choose.random() < 0.15:
            key[definition.by[-1]] = _unseen(table.schema.field(definition.by[-1]).type)
        spread = (high - low) // 4 + 1
        between = low - spread + choose.random() * (high - low + 2 * spread)
        if not pa.types.is_floating(kind):
            between = int(between)
        tick = choose.choice(ticks) if ticks and choose.random() < 0.6 else between
        chosen.append({**key, on: tick, LABEL: i})
        if choose.random() < 0.2:
            chosen.append({**chosen[-1]})
    for i, row in enumerate(chosen):
        row[LABEL] = i
    times = pa.array([row[on] for row in chosen], pa.int32() if kind == pa.date32() else None).cast(kind)
    columns = {name: pa.array([row[name] for row in chosen], table.schema.field(name).type) for name in definition.by}
    columns |= {on: times, LABEL: pa.array([row[LABEL] for row in chosen], pa.int64())}
    columns |= {
        name: pa.array([choose.choice(table.column(name).to_pylist() or [None]) for _ in chosen], field.type)
        for name, field in zip(table.column_names, table.schema, strict=True)
        if name in definition.own and name not in columns
    }
    others = [name for name in table.column_names if name not in columns]
    if others:
        columns[others[0]] = pa.array([f"own {row[LABEL]}" for row in chosen])
    return pa.table(columns)


def _unseen(kind: pa.DataType) -> Any:
    return "never seen" if pa.types.is_string(kind) else 123_456 if pa.types.is_integer(kind) else None


def _pandas(definition: sw.Sliding, labels: pa.Table, events: pa.Table) -> list[dict[str, Any]]:
    import pandas as pd

    found = definition.as_of(labels.to_pandas(types_mapper=pd.ArrowDtype), events.to_pandas(types_mapper=pd.ArrowDtype))
    assert list(found.columns) == [*labels.column_names, *definition.columns]
    return pa.Table.from_pandas(found, preserve_index=False).to_pylist()


def _polars(definition: sw.Sliding, labels: pa.Table, events: pa.Table) -> list[dict[str, Any]]:
    import polars as pl

    found = definition.as_of(pl.from_arrow(labels), pl.from_arrow(events))
    assert found.columns == [*labels.column_names, *definition.columns]
    return found.to_arrow().to_pylist()


def _pyarrow(definition: sw.Sliding, labels: pa.Table, events: pa.Table) -> list[dict[str, Any]]:
    found = definition.as_of(labels, events)
    own = found.select(labels.column_names)
    assert own.schema == labels.schema
    assert repr(own.to_pylist()) == repr(labels.to_pylist())  # where NaN equals itself, and -0.0 is not 0.0
    return found.to_pylist()


def _sorted_batches(definition: sw.Sliding, labels: pa.Table, events: pa.Table) -> list[dict[str, Any]]:
    """Labels and events sorted by key and time, cut at random places: what a task of Spark sees."""
    names, outputs, together = union(definition, labels, events)
    rows, ticks = together.to_pylist(), lanes.times_of(definition, together)
    choose = random.Random(len(rows))
    order = sorted(
        range(len(rows)), key=lambda i: (lanes.key_of(definition, rows[i]), ticks[i], _order(definition, rows[i]))
    )
    ordered = together.take(pa.array(order, pa.int64()))
    cuts = sorted(choose.randrange(len(rows) + 1) for _ in range(8))
    pieces = [ordered.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    with patch("slidewise.spark.batch.evaluator.MIN_ROWS", 1):
        evaluator = QueryEvaluator(definition, tuple(outputs), own=own_columns(definition, names, outputs))
        found = list(evaluate_tables(evaluator, pieces))
    rows = [row for piece in found for row in piece.to_pylist()]
    return [dict(zip([*names, *definition.columns], row.values(), strict=True)) for row in rows]


def _order(definition: sw.Sliding, row: dict[str, Any]) -> Any:
    return lanes.order_of(definition, row) if not row[QUERY] else ()


def union(definition: sw.Sliding, labels: pa.Table, events: pa.Table) -> tuple[list[str], list[str], pa.Table]:
    """Labels and events as one table, as `label_union` has them: the labels' names, and where their columns are."""
    needs = events.select(definition.event_needs).append_column(QUERY, pa.array([False] * len(events)))
    asked = labels.select([*definition.by, str(definition.on)]).append_column(QUERY, pa.array([True] * len(labels)))
    outputs = [label_name(i) for i in range(labels.num_columns)]
    for name, column in zip(outputs, labels.columns, strict=True):
        asked = asked.append_column(name, column)
    return labels.column_names, outputs, pa.concat_tables([needs, asked], promote_options="default")


def own_columns(definition: sw.Sliding, names: list[str], outputs: list[str]) -> dict[str, str]:
    """Which column of the union is the label's own that an expression reads."""
    return {name: outputs[names.index(name)] for name in definition.own}


def on_a_shard(
    definition: sw.Sliding, labels: pa.Table, events: pa.Table, seed: int = 0, forget_after: int | None = None
) -> list[dict[str, Any]]:
    """A stream's shard that labels and events come to in random order within a delay, cut at random places."""
    names, outputs, together = union(definition, labels, events)
    terms = LabelTerms(str(definition.on), tuple(outputs), own_columns(definition, names, outputs))
    stream = shards.Stream(definition, events.schema, forget_after, labels=terms)
    times = shards.times_of(together, str(definition.on))
    span = int(times.max() - times.min()) if len(times) else 0
    shards.played(stream, together, seed=len(together) + seed, delay=span // 8 + shards.SECOND)
    assert stream.dropped == 0
    return [dict(zip([*names, *definition.columns], row.values(), strict=True)) for row in stream.found]


Lane = Callable[[sw.Sliding, pa.Table, pa.Table], list[dict[str, Any]]]
LANES: dict[str, Lane] = {
    "pyarrow": _pyarrow,
    "pandas": _pandas,
    "polars": _polars,
    "sorted batches": _sorted_batches,
}


def answers(lane: Lane, definition: sw.Sliding, labels: pa.Table, events: pa.Table) -> list[dict[str, Any]]:
    """A lane's answers, in the order of the labels."""
    found = sorted(lane(definition, labels, events), key=lambda row: row[LABEL])
    assert [row[LABEL] for row in found] == labels.column(LABEL).to_pylist()
    return [{name: row[name] for name in definition.columns} for row in found]
