"""One fixture for every way to run a definition: a feature is tested once, in all lanes.

A case is a definition and a table. A lane runs all cases of a module that share a definition and a schema as one job,
with the case's number as one more key, so that lanes that are slow to start do it once. What is right comes from
`direct`, which evaluates the semantics row by row.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import reduce
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from expression_judge import value_of
from month_judge import edge_of
from pyarrow import compute

import slidewise as sw
from slidewise.choosing import share_from, shared_windows
from slidewise.expressions.expression import Expression, replaced
from slidewise.operators.aggregate import Aggregate
from slidewise.operators.values.equality import same
from slidewise.spark.batch.beat_evaluator import BeatEvaluator
from slidewise.spark.batch.evaluator import BatchEvaluator, evaluate_tables
from slidewise.stages import all_aggregates
from slidewise.windows import Duration, Months

ROW = "the row's number"
CASE = "the case's number"
LIFTED: set[str] = set()
_ANSWER_NO_ROWS = ("count", "hyperloglog", "theta", "collect", "first_k", "last_k", "top_k", "count_by", "histogram")
_OF_OTHERS = ("age", "time_since_last")  # which are computed from other operators' answers
UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


@dataclass(frozen=True)
class Case:
    """A definition over a table; the name is the test's."""

    name: str
    definition: sw.Sliding
    table: pa.Table


def _interpreted(definition: sw.Sliding, table: pa.Table) -> pa.Table:
    """Operators that cannot be compiled, and have no passes of their own: Python calls their functions."""
    columns = {name: replaced(one, _leaf_in_python) for name, one in definition.columns.items()}
    # Exact quantiles of the same rows are answered together, by a compiled pass; so each has a definition of its own.
    quantiles = {
        name: one for name, one in columns.items() if isinstance(one, Aggregate) and one.operator.traits.order_statistic
    }
    LIFTED.clear()
    alone = {} if definition.every is not None else quantiles
    found = _of(definition, {name: one for name, one in columns.items() if name not in alone})(table)
    for name, one in alone.items():
        found = found.append_column(name, _of(definition, {name: one})(table).column(name))
    plain_ones = {name: one for name, one in columns.items() if isinstance(one, Aggregate)}
    for name, one in plain_ones.items():  # rows are not lifted for quantiles, which are no monoids, nor to count them
        lifts = not one.operator.traits.order_statistic and not one.operator.traits.counts_rows
        lifts = lifts and one.operator.name not in _OF_OTHERS
        if lifts and any(answer not in (None, 0, []) for answer in found.column(name).to_pylist()):  # not of no rows
            assert one.operator.name in LIFTED, f"{one!r} did not run in Python"
    return found


def _leaf_in_python(leaf: Expression) -> Expression:
    return replace(leaf, operator=_in_python(leaf.operator)) if isinstance(leaf, Aggregate) else leaf


def _in_python(op: sw.Operator) -> sw.Operator:
    """The same operator, but that nothing is compiled for it; `LIFTED` has its name when it was at work."""

    def lift(*values: Any) -> Any:
        LIFTED.add(op.name)
        return op.lift(*values)

    passes = dict.fromkeys(("rows_pass", "bounds_pass", "window_pass", "spanning"))
    return replace(op, lift=lift, traits=replace(op.traits, compiled=False, **passes))


def _of(definition: sw.Sliding, columns: dict[str, Aggregate]) -> sw.Sliding:
    """The definition with other columns over rows in the same order."""
    ties = definition.ties if definition.on is None else definition.ordering
    return sw.Sliding(definition.by, definition.on, ties, columns, definition.every, definition.offset)


def _compiled(definition: sw.Sliding, table: pa.Table) -> pa.Table:
    """Each aggregate by `sw.rolling`, over rows that are sorted here."""
    rows = table.to_pylist()
    ticks = times_of(definition, table)
    keys = [key_of(definition, row) for row in rows]
    order = sorted(range(len(rows)), key=lambda i: (ticks[i], order_of(definition, rows[i])))
    codes: dict[Any, int] = {}
    by = np.array([codes.setdefault(keys[i], len(codes)) for i in order], np.int64)
    ordered = table.take(np.array(order, np.int64))
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    rolled: dict[Any, list[Any]] = {}
    for aggregate in all_aggregates(definition.columns):
        array = pa.chunked_array(_rolled(definition, aggregate, ordered, by).take(back))
        rolled[aggregate.key()] = array.to_pylist()
    answers = [
        {
            **row,
            **{
                name: value_of(column, row, lambda leaf, i=i: rolled[leaf.key()][i])
                for name, column in definition.columns.items()
            },
        }
        for i, row in enumerate(rows)
    ]
    return as_table(definition, table, answers)


def _rolled(definition: sw.Sliding, aggregate: Aggregate, table: pa.Table, by: Any) -> Any:
    window = aggregate.window
    assert window is not None
    inputs = [_column(table, part) for part in aggregate.columns] or [pa.chunked_array([pa.array(by)])]
    if aggregate.condition is not None:
        flag = compute.fill_null(_column(table, aggregate.condition).cast(pa.bool_()), False)
        inputs = [compute.if_else(flag, column, pa.scalar(None, column.type)) for column in inputs]
    timed = definition.on is not None and window.kind.name != "rows"
    timed = timed or aggregate.operator.goes_by_time(len(aggregate.columns))
    last = "all" if window.last is None and window.rows is None else window.last
    anew = {}
    if window.reset is not None:
        anew = {key: value for key, value in window.reset.written().items() if key != "over"}
        last = window.reset.written().get("over")
    if window.since is not None:
        anew["since"] = compute.fill_null(_column(table, window.since).cast(pa.bool_()), False)
    return sw.rolling(
        tuple(inputs),
        aggregate.operator,
        rows=window.rows,
        times=table.column(str(definition.on)) if timed else None,
        **{"next" if window.ahead else "last": last},
        closed=window.closed,
        by=by,
        at_least=window.at_least,
        grain=window.grain,
        delay=window.delay,
        **{"zone": getattr(window.last, "zone", None), **anew},
    )


def _column(table: pa.Table, part: str | Expression) -> pa.ChunkedArray:
    """A column of the table, or an expression over it as the judge has it."""
    if isinstance(part, str):
        return table.column(part)
    return pa.chunked_array([pa.array([argument_of(part, row) for row in table.to_pylist()])])


def argument_of(part: str | Expression, row: dict[str, Any]) -> Any:
    """What an aggregate reads of a row: a column, or the value of an expression."""
    return row[part] if isinstance(part, str) else value_of(part, row, lambda _leaf: None)


def _pandas(definition: sw.Sliding, table: pa.Table) -> pa.Table:
    import pandas as pd

    frame = definition(table.to_pandas(types_mapper=pd.ArrowDtype))
    assert list(frame.columns) == names_of(definition, table)
    assert definition.every is None or list(frame.index) == list(range(len(frame)))
    return pa.Table.from_pandas(frame, preserve_index=False)


def _polars(definition: sw.Sliding, table: pa.Table) -> pa.Table:
    import polars as pl

    frame = definition(pl.from_arrow(table))
    assert frame.columns == names_of(definition, table)
    return frame.to_arrow()


def _live(definition: sw.Sliding, table: pa.Table) -> pa.Table:
    """One event at a time, peers together."""
    if definition.every is not None:
        return _live_beats(definition, table)
    if definition.on is None:
        live = definition.live()
        answers = [{**row, **live.push(row)} for row in table.to_pylist()]
    else:
        live = definition.live(late="wait:0")
        answers = []
        for row in in_time_order(definition, table).to_pylist():
            answers += live.push(row)
        answers += live.flush()
    assert live.stats.answered == live.stats.events == len(table)
    return as_table(definition, table, answers)


def _live_shared(definition: sw.Sliding, table: pa.Table) -> pa.Table:
    """Batches, with windows that share one structure wherever they can."""
    if definition.every is None:
        definition = _with_company(definition)
    return _live_batches(definition, table, spikes=True)


def _with_company(definition: sw.Sliding) -> sw.Sliding:
    """The definition with so many windows more that all of its windows share a structure with others that can."""
    groups: dict[Any, dict[str, Aggregate]] = defaultdict(dict)
    plain_ones = {name: one for name, one in definition.columns.items() if isinstance(one, Aggregate)}
    for name, aggregate in plain_ones.items():
        computed = definition.stages.columns[name]  # over columns of the time, too, where it goes by that
        if not isinstance(computed, Aggregate):
            continue
        window = aggregate.window
        assert window is not None
        sized = window.kind.name in ("rows", "time")
        if sized and window.closed in ("right", "both") and sw.choose(aggregate).name != "OrderStatistics":
            seen = replace(computed, operator=sw.count, window=None).key()
            groups[seen, window.rows is not None][name] = aggregate
    columns = dict(definition.columns)
    for members in groups.values():
        fewest, _, host = min(
            (share_from(sw.choose(one.operator, spikes=True).algorithm), name, one) for name, one in members.items()
        )
        windows = [one.window for one in members.values()]
        windows += [_longer(max(windows, key=_length), i) for i in range(1, fewest)]
        for window in windows:
            columns[f"company {len(columns)}"] = replace(host, window=replace(window, at_least=None))
    found = _of(definition, columns)
    assert {name for members in groups.values() for name in members} <= {
        name for names in shared_windows(found) for name in names
    }
    return found


def _length(window: Any) -> Any:
    return window.rows if window.rows is not None else _exact(window.last)


def _longer(window: Any, more: int) -> Any:
    if window.rows is not None:
        return replace(window, rows=window.rows + more)
    last = window.last
    return replace(window, last=Duration(last.ns + more * 10**9) if isinstance(last, Duration) else last + more)


def _live_batches(definition: sw.Sliding, table: pa.Table, spikes: bool = False) -> pa.Table:
    """Batches of many sizes, through kernels and one by one, with single events between them."""
    if definition.every is not None:
        return _live_beat_batches(definition, table, late="wait:0" if spikes else "error")
    choose = random.Random(len(table))
    table_in = in_time_order(definition, table)
    live = definition.live(late="error" if definition.on is None else "wait:0", spikes=spikes)
    answers: list[dict[str, Any]] = []
    at = 0
    with (
        patch("slidewise.live.batch.push_many.by_kernels", lambda _batch: choose.random() < 0.7),
        patch("slidewise.live.batch.push_buffered.FEW", 10),
    ):
        while at < len(table):
            piece = table_in.slice(at, choose.choice([1, 2, 7, 40, 200]))
            at += len(piece)
            if choose.random() < 0.3:
                for row in piece.to_pylist():
                    found = live.push(row)
                    answers += [{**row, **found}] if definition.on is None else found
            else:
                answers += live.push_many(piece).to_pylist()
            if choose.random() < 0.2:
                live = definition.restore(live.snapshot())
    answers += [] if definition.on is None else live.flush()
    return as_table(definition, table, answers)


def _revised(definition: sw.Sliding, table: pa.Table) -> pa.Table:
    """Events in a random order, one by one and in batches, whose answers are given again: the last of each counts. Rows
    lie in arrays from the first on, or never."""
    if definition.on is None:
        return _live(definition, table)
    choose = random.Random(len(table))
    in_arrays = patch("slidewise.live.native.plan.FROM_EVENTS", choose.choice([0, 2_000]))
    with in_arrays, patch("slidewise.live.native.plan.IN_BACKGROUND", False):
        return _revised_in(choose, definition, table)


def _revised_in(choose: random.Random, definition: sw.Sliding, table: pa.Table) -> pa.Table:
    table_in = table.take(np.array(choose.sample(range(len(table)), len(table)), np.int64))
    live: Any = definition.live(late="revise", retain="all")
    last: dict[Any, dict[str, Any]] = {}
    at = 0
    while at < len(table):
        piece = table_in.slice(at, choose.choice([1, 2, 7, 40]))
        at += len(piece)
        if choose.random() < 0.7:
            found = [row for event in piece.to_pylist() for row in live.push(event)]
        else:
            found = live.push_many(piece).to_pylist()
        last |= {(row[CASE], row[ROW]): row for row in found}
        if choose.random() < 0.1:
            live = definition.restore(live.snapshot())
    assert live.stats.answered == live.stats.events == len(table)
    return as_table(definition, table, list(last.values()))


def _live_beats(definition: sw.Sliding, table: pa.Table) -> pa.Table:
    """One event at a time; events of the last seconds wait, and come in any order."""
    choose = random.Random(len(table))
    ticks = times_of(definition, table)
    wait = (max(ticks, default=0) - min(ticks, default=0)) // 10 + 1
    order = sorted(range(len(table)), key=lambda i: ticks[i] + choose.random() * wait)
    live: Any = definition.live(late=f"wait:{wait}{'ns' if isinstance(definition.every, Duration) else ''}")
    answers = []
    for row in table.take(np.array(order, np.int64)).to_pylist():
        answers += live.push(row)
    answers += live.flush()
    return as_table(definition, table, answers + _last_beats(definition, table, live))


def _live_beat_batches(definition: sw.Sliding, table: pa.Table, late: str) -> pa.Table:
    """Batches through kernels and single events, with `advance` and snapshots between them."""
    choose = random.Random(len(table))
    rows, ticks = table.to_pylist(), times_of(definition, table)
    order = sorted(range(len(rows)), key=lambda i: (ticks[i], order_of(definition, rows[i])))
    ordered, ticks = table.take(np.array(order, np.int64)), [ticks[i] for i in order]
    live: Any = definition.live(late=late)
    answers: list[dict[str, Any]] = []
    at = 0
    with patch("slidewise.live.beats.push_many.FEW", 2):
        while at < len(rows):
            piece = ordered.slice(at, choose.choice([1, 2, 7, 40]))
            at += len(piece)
            if choose.random() < 0.3:
                answers += [beat for row in piece.to_pylist() for beat in live.push(row)]
            else:
                answers += live.push_many(piece).to_pylist()
            if choose.random() < 0.3 and (at == len(rows) or ticks[at] > ticks[at - 1]):
                answers += live.advance(to=piece.column(str(definition.on)).to_pylist()[-1])
            if choose.random() < 0.2:
                live = definition.restore(live.snapshot())
    return as_table(definition, table, answers + _last_beats(definition, table, live))


def _last_beats(definition: sw.Sliding, table: pa.Table, live: Any) -> list[dict[str, Any]]:
    """The beats behind the last event: time moves on until all windows are empty."""
    if not len(table):
        return []
    newest = max(table.column(str(definition.on)).to_pylist())
    longest = max((one.window.last for one in definition.aggregates.values() if one.window), key=_exact)
    every = definition.every
    far = [10 * one.timedelta() if isinstance(one, Duration) else 10 * one for one in (longest, every)]
    found: list[dict[str, Any]] = live.advance(to=newest + max(far))
    assert len(live) == 0  # and no key holds state
    return found


def _sorted_batches(definition: sw.Sliding, table: pa.Table) -> pa.Table:
    """Rows sorted by key and time, cut at random places: what a task of Spark sees."""
    rows = table.to_pylist()
    ticks = times_of(definition, table)
    order = sorted(
        range(len(rows)), key=lambda i: (key_of(definition, rows[i]), ticks[i], order_of(definition, rows[i]))
    )
    ordered = table.take(np.array(order, np.int64))
    choose = random.Random(len(rows))
    cuts = sorted(choose.randrange(len(rows) + 1) for _ in range(8)) if rows else []
    pieces = [ordered.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    with (
        patch("slidewise.spark.batch.evaluator.MIN_ROWS", 1),
        patch("slidewise.spark.batch.beat_evaluator.MAX_BEATS", 20),
    ):
        found = list(
            evaluate_tables(
                BatchEvaluator(definition) if definition.every is None else BeatEvaluator(definition), pieces
            )
        )
    return as_table(definition, table, [row for piece in found for row in piece.to_pylist()])


LANES: dict[str, Callable[[sw.Sliding, pa.Table], pa.Table]] = {
    "interpreted": _interpreted,
    "compiled": _compiled,
    "pyarrow": lambda definition, table: definition(table),
    "pandas": _pandas,
    "polars": _polars,
    "live": _live,
    "live batches": _live_batches,
    "live, shared": _live_shared,
    "revised": _revised,
    "sorted batches": _sorted_batches,
}


def run(lane: str, cases: list[Case]) -> dict[str, list[dict[str, Any]]]:
    """The answers of all cases, by the case's name: one dict for each row, in the table's order."""
    jobs: dict[Any, list[Case]] = defaultdict(list)
    for case in cases:
        jobs[case.definition, case.table.schema].append(case)
    found: dict[str, list[dict[str, Any]]] = {}
    for (definition, _), members in jobs.items():
        joint = sw.Sliding(
            *((CASE, *definition.by), definition.on, definition.ties, definition.columns),
            *(definition.every, definition.offset),
        )
        numbers: dict[int, int] = {}  # cases that have one table share its rows, and the number of the first of them
        for i, case in enumerate(members):
            numbers.setdefault(id(case.table), i)
        numbered = [
            members[i]
            .table.append_column(CASE, pa.array([i] * len(members[i].table), pa.int64()))
            .append_column(ROW, pa.array(range(len(members[i].table)), pa.int64()))
            for i in numbers.values()
        ]
        answers: dict[int, list[dict[str, Any]]] = {i: [] for i in numbers.values()}
        for row in LANES[lane](joint, pa.concat_tables(numbered)).to_pylist():
            answers[row[CASE]].append(row)
        for case in members:
            mine = answers[numbers[id(case.table)]]
            if definition.every is not None:
                found[case.name] = _beats_of(case, mine)
                continue
            mine.sort(key=lambda row: row[ROW])
            found[case.name] = [{name: plain(row[name]) for name in definition.columns} for row in mine]
    return found


def run_alone(lane: str, cases: list[Case]) -> dict[str, tuple[Case, list[dict[str, Any]]]]:
    """The cases in microseconds of UTC, as a stream has them, each with its answers."""
    found = [Case(case.name, case.definition, in_microseconds(case)) for case in cases]
    answers = run(lane, found)
    return {case.name: (case, answers[case.name]) for case in found}


def in_microseconds(case: Case) -> pa.Table:
    at = case.table.schema.get_field_index(str(case.definition.on))
    return case.table.set_column(at, str(case.definition.on), case.table.column(at).cast(pa.timestamp("us", "UTC")))


def _beats_of(case: Case, answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers on a beat under their keys and beats, as `direct_beats` has them."""
    definition = case.definition
    if not answers:
        return []
    on = str(definition.on)
    moments = pa.table({on: pa.array([row[on] for row in answers], case.table.schema.field(on).type)})
    beats = times_of(definition, moments)
    return [
        {"the key": key_of(definition, row), "the beat": beat} | {name: plain(row[name]) for name in definition.columns}
        for row, beat in zip(answers, beats, strict=True)
    ]


def names_of(definition: sw.Sliding, table: pa.Table) -> list[str]:
    """The columns of the result."""
    if definition.every is None:
        return [*table.column_names, *definition.columns]
    return [*definition.by, str(definition.on), *definition.columns]


def clocked(case: Case) -> bool:
    """Whether times are dates or moments of microseconds, as a stream has them, and no numbers."""
    kind = None if case.definition.on is None else case.table.schema.field(case.definition.on).type
    return kind is not None and pa.types.is_temporal(kind) and kind != pa.timestamp("ns")


def run_together(lane: str, cases: list[Case]) -> dict[str, tuple[Case, list[dict[str, Any]]]]:
    """The same, for lanes in which each job takes its time: cases that differ in rows and columns alone are one job.

    Times are brought to microseconds in UTC; dates lie too far apart to share a job with seconds. More columns order
    rows of equal time further, so each case comes with those as its `ties`.
    """
    jobs: dict[Any, list[Case]] = defaultdict(list)
    tables: dict[Any, pa.Table] = {}  # a table of several cases stays one, whose rows they share
    for case in cases:
        definition, on = case.definition, str(case.definition.on)
        kind = case.table.schema.field(on).type
        table = tables.setdefault((id(case.table), on), in_microseconds(case))
        alike = (definition.by, on, definition.ties, table.schema, pa.types.is_date(kind))
        jobs[alike].append(Case(case.name, definition, table))
    found: dict[str, tuple[Case, list[dict[str, Any]]]] = {}
    for (by, on, ties, *_), members in jobs.items():
        columns = {f"{c.name} {name}": one for c in members for name, one in c.definition.columns.items()}
        joint = sw.Sliding(by=by, on=on, ties=ties, columns=columns)
        answers = run(lane, [Case(case.name, joint, case.table) for case in members])
        for case in members:
            mine = {f"{case.name} {name}": name for name in case.definition.columns}
            judged = sw.Sliding(by=by, on=on, ties=joint.ordering, columns=case.definition.columns)
            rows = [{name: row[long] for long, name in mine.items()} for row in answers[case.name]]
            found[case.name] = Case(case.name, judged, case.table), rows
    return found


def in_time_order(definition: sw.Sliding, table: pa.Table) -> pa.Table:
    ticks = times_of(definition, table)
    return table.take(np.array(sorted(range(len(table)), key=ticks.__getitem__), np.int64))


def as_table(definition: sw.Sliding, table: pa.Table, answers: list[dict[str, Any]]) -> pa.Table:
    columns = {name: [row[name] for row in answers] for name in names_of(definition, table)}
    return Rows(columns)  # type: ignore[return-value]


class Rows:
    """Answers as they came, where Arrow would have to guess their types."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns

    def to_pylist(self) -> list[dict[str, Any]]:
        return [dict(zip(self._columns, row, strict=True)) for row in zip(*self._columns.values(), strict=True)]


def plain(value: Any) -> Any:
    """Structs as tuples of pairs, whatever lane they came from; a bare tuple is a struct whose fields have numbers."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif isinstance(value, tuple):
        value = {str(i): one for i, one in enumerate(value)}
    if isinstance(value, list) and value and all(isinstance(one, tuple) and len(one) == 2 for one in value):
        value = dict(value)  # a map, as Arrow gives it
    if isinstance(value, dict):
        return tuple((_clock(name), _clock(plain(one))) for name, one in value.items())
    return value


def _clock(value: Any) -> Any:
    """A time inside a map without its zone: Spark's own ways to Arrow and pandas do not agree about these."""
    if not isinstance(value, datetime):
        return value
    return (value if value.tzinfo is None else value.astimezone(UTC)).replace(tzinfo=None)


def times_of(definition: sw.Sliding, table: pa.Table) -> list[Any]:
    """Times in nanoseconds, or as they are where they are numbers; 0 where there is no time column."""
    if definition.on is None:
        return [0] * len(table)
    column = table.column(definition.on)
    if pa.types.is_timestamp(column.type):
        return [tick * UNITS[column.type.unit] for tick in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_date32(column.type):
        return [day * 86_400 * 10**9 for day in column.cast(pa.int32()).to_pylist()]
    return column.to_pylist()  # type: ignore[no-any-return]


def key_of(definition: sw.Sliding, row: dict[str, Any]) -> str:
    """A row's key: null is a key, NaN is one, and there is one zero."""
    return repr([value + 0.0 if isinstance(value, float) else value for value in map(row.get, definition.by)])


def order_of(definition: sw.Sliding, row: dict[str, Any]) -> tuple[Any, ...]:
    """What orders rows of equal time: nulls first, NaN last. In input order where there is no time."""
    if definition.on is None:
        return ()

    def rank(value: Any) -> tuple[Any, ...]:
        return (0,) if value is None else (2,) if value != value else (1, value)

    return tuple(rank(row[name]) for name in definition.ordering)


def direct(definition: sw.Sliding, table: pa.Table) -> list[dict[str, Any]]:
    """The semantics, row by row: find the window, leave out what is skipped, fold."""
    if definition.every is not None:
        return direct_beats(definition, table)
    rows = table.to_pylist()
    ticks = times_of(definition, table)
    keys = [key_of(definition, row) for row in rows]
    ordered = sorted(range(len(rows)), key=lambda i: (keys[i], ticks[i], order_of(definition, rows[i])))
    answers: list[dict[str, Any]] = [{} for _ in rows]
    for place, i in enumerate(ordered):
        mine = [j for j in ordered if keys[j] == keys[i]]
        before = mine.index(i)

        def answer(aggregate: Any, mine: list[int] = mine, before: int = before, i: int = i) -> Any:
            window = _window(definition, aggregate, mine, before, ticks, rows)
            own = (rows[mine[before]], mine[before] in window)
            return plain(fold(aggregate, [rows[j] for j in window], own, definition.on, ticks[i]))

        for name, column in definition.columns.items():
            answers[i][name] = value_of(column, rows[i], answer)
        assert ordered[place] == i
    return answers


def direct_beats(definition: sw.Sliding, table: pa.Table) -> list[dict[str, Any]]:
    """The semantics of beats, one after the other: a row for each key and beat at which any window holds a row."""
    rows, ticks = table.to_pylist(), times_of(definition, table)
    floats = any(isinstance(tick, float) for tick in ticks)
    number = float if floats else (lambda moment: moment)
    every, offset = _exact(definition.every), _exact(definition.offset or 0)
    aggregates = {one.key(): one for one in all_aggregates(definition.columns)}
    longest = max(_exact(one.window.last) for one in aggregates.values() if one.window)
    answers = []
    keys = [key_of(definition, row) for row in rows]
    for key in dict.fromkeys(keys):
        mine = [i for i in range(len(rows)) if keys[i] == key]
        mine.sort(key=lambda i: (ticks[i], order_of(definition, rows[i])))
        k = math.floor((_exact(ticks[mine[0]]) - offset) / every) - 1
        while offset + (k - 1) * every <= _exact(ticks[mine[-1]]) + longest:
            beat = offset + k * every
            k += 1
            held = {
                which: [
                    i for i in mine if _at_beat(one, ticks[i], number(beat), number(beat - _exact(one.window.last)))
                ]
                for which, one in aggregates.items()
                if one.window is not None
            }
            if any(held.values()):
                folded = {
                    which: plain(fold(aggregates[which], [rows[i] for i in some], None, definition.on, number(beat)))
                    for which, some in held.items()
                }
                own = {name: rows[mine[0]][name] for name in definition.by} | {
                    str(definition.on): _as_moment(number(beat), rows[mine[0]][str(definition.on)])
                }
                found = {
                    name: value_of(column, own, lambda leaf, folded=folded: folded[leaf.key()])
                    for name, column in definition.columns.items()
                }
                answers.append({"the key": key, "the beat": number(beat), **found})
    return answers


def _as_moment(tick: Any, like: Any) -> Any:
    """A time in nanoseconds as the datetime that it is, or a number as it is."""
    if not isinstance(like, datetime):
        return tick
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(tick) // 1_000)


def _at_beat(aggregate: Aggregate, tick: Any, new: Any, old: Any) -> bool:
    closed = aggregate.window.closed if aggregate.window else ""
    after = tick > old or (tick == old and closed in ("both", "left"))
    return after and (tick < new or (tick == new and closed in ("both", "right")))


def _exact(length: Any) -> Fraction:
    """A length or a time as the number that it is written as; durations in nanoseconds."""
    if isinstance(length, Duration):
        return Fraction(length.ns)
    return Fraction(repr(length)) if isinstance(length, float) else Fraction(length)


def _window(
    definition: sw.Sliding,
    aggregate: Aggregate,
    mine: list[int],
    at: int,
    ticks: list[Any],
    rows: list[dict[str, Any]],
) -> list[int]:
    window = aggregate.window
    assert window is not None
    left = window.closed in ("left", "neither")
    if window.reset is not None:
        timed = definition.on is not None
        upto = [j for i, j in enumerate(mine) if (ticks[j] <= ticks[mine[at]] if timed else i <= at)]
        held = begun(window.reset, upto, ticks, rows)
        return [j for j in held if not left or (ticks[j] < ticks[mine[at]] if timed else j != mine[at])]
    if window.rows is not None and window.last is None:
        stop = at if left else at + 1
        return mine[max(stop - window.rows, 0) : stop]
    if definition.on is None:
        return mine[: at if left else at + 1]
    now = ticks[mine[at]]
    if window.ahead:
        return [j for j in mine if is_ahead(window, ticks[j], now)]
    if window.delay is not None:
        now -= window.delay.ns if isinstance(window.delay, Duration) else window.delay
    width = window.last.ns if isinstance(window.last, Duration) else window.last
    if isinstance(window.last, Months):
        start: Any = edge_of(now, window.last.count, window.last.zone)
    else:
        start = None if width is None else now - width
    if window.grain is not None:
        start = rounded(start, window.grain.ns if isinstance(window.grain, Duration) else window.grain)
    held = []
    for j in mine:
        young = (
            start is None
            or ticks[j] > start
            or ticks[j] == now
            or (ticks[j] == start and window.closed in ("both", "left"))
        )
        if young and (ticks[j] < now if left else ticks[j] <= now):
            held.append(j)
    return held if window.rows is None else newest(held, [j for j in mine if past(ticks[j], now, left)], window.rows)


def is_ahead(window: Any, tick: Any, now: Any) -> bool:
    """Whether a row is in the window that looks ahead from a time."""
    end = now + (window.last.ns if isinstance(window.last, Duration) else window.last)
    begun = tick > now or (tick == now and window.closed in ("both", "left"))
    return bool(begun and (tick < end or (tick == end and window.closed in ("right", "both"))))


def begun(reset: Any, upto: list[int], ticks: list[Any], rows: list[dict[str, Any]]) -> list[int]:
    """Those of the rows up to a window's end that came since it began anew."""
    first = 0
    for place in range(1, len(upto)):
        if not goes_on(reset, ticks[upto[place - 1]], ticks[upto[place]]):
            first = place
    for place in range(len(upto)):
        if reset.marks and argument_of(reset.column, rows[upto[place]]) is True:
            first = place
    return upto[first:]


def goes_on(reset: Any, before: Any, now: Any) -> bool:
    """Whether two times lie in one window, as far as times tell."""
    if hasattr(reset, "length"):
        return bool(now - before <= (reset.length.ns if isinstance(reset.length, Duration) else reset.length))
    return reset.marks or calendar_unit(reset.unit, reset.zone, before) == calendar_unit(reset.unit, reset.zone, now)


def calendar_unit(unit: str, zone: str | None, tick: int) -> Any:
    """What tells the calendar units apart that times in nanoseconds lie in."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=tick // 1_000)
    local = moment.astimezone(ZoneInfo(zone or "UTC"))
    parts = {
        "hour": (local.date(), local.hour, local.fold),
        "day": local.date(),
        "week": tuple(local.isocalendar())[:2],
        "month": (local.year, local.month),
        "quarter": (local.year, (local.month - 1) // 3),
        "year": local.year,
        "iso year": local.isocalendar().year,
    }
    return parts[unit]


def past(tick: Any, now: Any, left: bool) -> bool:
    """Whether a row lies before a window's right end."""
    return bool(tick < now if left else tick <= now)


def newest(held: list[int], upto: list[int], count: int) -> list[int]:
    """Those rows of a window that are among the newest of all rows up to its end."""
    return [j for j in held if j in upto[-count:]]


def rounded(edge: Any, grain: Any) -> Any:
    """A window's old edge, rounded down to a multiple of the grain since time 0; for a float, to a float beside one."""
    multiple = Fraction(edge) // Fraction(grain) * Fraction(grain)
    if isinstance(edge, float):
        return max(near for near in (float(multiple), float(multiple + Fraction(grain))) if near <= edge)
    return multiple


def _tick(time: Any) -> tuple[Any, int]:
    """A time as nanoseconds and how many of them a second has, or a number and 1."""
    if not isinstance(time, date):
        return time, 1
    if not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    since = time - datetime(1970, 1, 1, tzinfo=UTC if time.tzinfo else None)
    finer = getattr(time, "nanosecond", 0)
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1_000 + finer, 10**9


def fold(
    aggregate: Aggregate,
    rows: list[dict[str, Any]],
    own: tuple[dict[str, Any], bool] | None = None,
    on: str | None = None,
    now: Any = None,
) -> Any:
    """The answer over a window's rows; `own` is the row that asks, where there is one, and whether it is in.

    `now` is the time of the answer, see `times_of`, for operators that go by the rows' times `on`.
    """
    op, window = aggregate.operator, aggregate.window
    assert window is not None
    if aggregate.condition is not None:
        rows = [row for row in rows if argument_of(aggregate.condition, row) is True]
    arguments = [tuple(argument_of(part, row) for part in aggregate.columns) or (0,) for row in rows]
    if op.goes_by_time(len(aggregate.columns)):
        if op.name in ("slope", "rate", "r2", "residual"):
            more = 2 if op.name in ("slope", "rate") else 1  # the tick, and those of a second
            arguments = [(*values, *_tick(row[on])[:more]) for values, row in zip(arguments, rows, strict=True)]
        else:
            arguments = [(*values, row[on]) for values, row in zip(arguments, rows, strict=True)]
    arguments = [values for values in arguments if not any(value is None for value in values)]
    per = op.traits.per
    if per is not None:
        return by_category(per, arguments) if len(arguments) >= (window.at_least or 0) else None
    states = [op.lift(*values) for values in arguments]
    least = window.at_least
    if least is None:
        least = 0 if op.builtin and op.name in _ANSWER_NO_ROWS else 1
    if len(states) < least:
        return None
    if op.traits.own_value is not None:
        values = [values[0] for values in arguments if values[0] is not None]
        if own is None:
            return rank_of(op, values, values[-1])
        value, skipped = argument_of(aggregate.columns[0], own[0]), False
        if aggregate.condition is not None:
            skipped = argument_of(aggregate.condition, own[0]) is not True
        return None if value is None or skipped else rank_of(op, values if own[1] else [*values, value], value)
    total = states[0] if states else op.identity
    for state in states[1:]:
        total = op.combine(total, state)
    if op.name in _OF_OTHERS:
        times = [values[-1] for values in arguments]
        return _since(now, min(times) if op.name == "age" else max(times)) if times else None
    if op.name == "ewm_sum" and states:
        length = op.parameters["halflife"]
        unit = Duration.of(length).ns / 10**9 if isinstance(length, str) else length
        newest = max(values[-1] for values in arguments)
        return op.lower(total) * 0.5 ** (_since(now, newest) / unit)
    return op.lower(total)


def by_category(per: Any, rows: list[tuple[Any, ...]]) -> dict[Any, Any]:
    """The answers of the operator inside to the rows of each category, those with the fewest rows together."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    for *values, category in rows:
        groups[category].append(values or [category])
    names = sorted(groups)
    if per.top is not None:
        ranked = sorted((name for name in names if name != per.rest), key=lambda name: -len(groups[name]))[: per.top]
        others = [row for name in names if name not in ranked for row in groups[name]]
        groups = {name: groups[name] for name in names if name in ranked} | ({per.rest: others} if others else {})
        names = list(groups)
    return {
        name: per.inner.lower(reduce(per.inner.combine, [per.inner.lift(*r) for r in groups[name]])) for name in names
    }


def rank_of(op: sw.Operator, values: list[Any], value: Any) -> Any:
    """The rank of one of some values, NaN being the greatest."""
    places = [(other != other, 0 if other != other else other) for other in values]
    place = (value != value, 0 if value != value else value)
    less, same_ones = sum(other < place for other in places), places.count(place)
    if op.name == "percent_rank":
        return less / (len(values) - 1) if len(values) > 1 else 0.0
    method = op.parameters["method"]
    return {"min": less + 1, "max": less + same_ones, "average": less + (same_ones + 1) / 2}[method]


def _since(now: Any, then: Any) -> Any:
    """How long a row's time lies before a tick, in seconds, or in units where times are numbers."""
    tick, per = _tick(then)
    return (now - tick) / per if per > 1 else now - tick


def assert_same(case: Case, found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Equal answers, but rows equal in all that orders them may exchange theirs; shows the first difference."""
    definition, rows = case.definition, case.table.to_pylist()
    if definition.every is not None:
        return _assert_same_beats(case, found, expected)
    ticks = times_of(definition, case.table)
    assert len(found) == len(expected) == len(rows)
    groups: dict[Any, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        key = key_of(definition, row)
        alone = i if definition.on is None else None
        groups[repr((key, ticks[i], order_of(definition, row), alone))].append(i)
    for members in groups.values():
        mine = sorted((found[i] for i in members), key=repr)
        theirs = sorted((expected[i] for i in members), key=repr)
        for one, other in zip(mine, theirs, strict=True):
            for name in definition.columns:
                assert alike(one[name], other[name]), (
                    f"{case.name}: row {members[0]}, {rows[members[0]]}: {name} = {definition.columns[name]!r} is "
                    f"{one[name]!r} and should be {other[name]!r}"
                )


def _assert_same_beats(case: Case, found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    mine, theirs = ({(row["the key"], row["the beat"]): row for row in rows} for rows in (found, expected))
    assert len(mine) == len(found), f"{case.name}: a beat came twice"
    more, fewer = sorted(mine.keys() - theirs.keys()), sorted(theirs.keys() - mine.keys())
    assert (more, fewer) == ([], []), f"{case.name}: beats {more[:3]} are too many, and {fewer[:3]} are missing"
    for key, row in theirs.items():
        for name, one in case.definition.columns.items():
            assert alike(mine[key][name], row[name]), (
                f"{case.name}: at {key}, {name} = {one!r} is {mine[key][name]!r} and should be {row[name]!r}"
            )


def alike(a: Any, b: Any) -> bool:
    """Equal values: NaN equals itself, and an integer is a float of the same value."""
    if isinstance(a, int | float) and isinstance(b, int | float) and not isinstance(a, bool):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    return bool(same(a, b))
