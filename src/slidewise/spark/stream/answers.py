"""A shard's released rows under a definition: all keys at once, going on from the rows and states that are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.definition import Definition
from slidewise.engine.answers import as_arrays, check_inputs, typed
from slidewise.engine.codec import Reader, Writer
from slidewise.engine.joining import as_python
from slidewise.engine.running import RunningStates, running_pass
from slidewise.engine.running_pane import RunningPane
from slidewise.engine.sliding import SlidingBatch, columns_of
from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import SumOverflowError
from slidewise.spark.error_rows import fault, said
from slidewise.spark.sort.sorted_rows import SortedRows, named
from slidewise.spark.state.operator_states import get_state, put_state
from slidewise.spark.state.page_checks import reading, whole

Where = Callable[[int], str]


def sliding(
    definition: Definition, specs: list[WindowSpec], table: Any, codes: Array, silent: Array, where: Where
) -> tuple[dict[str, Any], Array]:
    """The answers by name for the rows that are not silent, and for each key the first row that later ones may see.

    Rows are sorted by key and time, and `codes` number the keys; `where` says what to call a row in an error.
    """
    rows = SortedRows(table, definition, codes, silent)
    assert rows.times is not None
    firsts = np.flatnonzero(np.diff(codes, prepend=-1))
    lasts = np.append(firsts[1:], rows.count) - 1
    numbers = np.arange(rows.count) - firsts[codes]
    from_here = lasts + 1
    found: dict[str, Any] = {}
    for spec in specs:
        places = numbers if spec.numbered else rows.times.data
        try:
            slid = _slid(rows, spec, places)
            arrays = slid.arrays()
        except Exception as error:
            raise _blamed(error, rows, spec, places, where) from error
        from_here = np.minimum(from_here, slid.starts[lasts])
        answered = ~silent
        for one, array in zip(spec.members, arrays, strict=True):
            found[one.name] = array.filter(answered) if silent.any() else array
    return found, from_here


def _slid(rows: SortedRows, spec: WindowSpec, places: Array) -> SlidingBatch:
    return SlidingBatch(rows, spec, places, np.zeros(rows.keys, np.int64), [], True, rows.silent)


def _blamed(error: Exception, rows: SortedRows, spec: WindowSpec, places: Array, where: Where) -> Exception:
    def tried(one: WindowSpec, count: int) -> object:
        return _slid(rows.first(count), one, places[:count]).arrays()

    return _told(error, rows, spec, tried, where)


def _told(
    error: Exception, rows: SortedRows, spec: WindowSpec, tried: Callable[[WindowSpec, int], object], where: Where
) -> Exception:
    found = fault(spec, tried, rows.count)
    return error if found is None else said(error, found[0], where(found[1]))


def running(
    definition: Definition, specs: list[WindowSpec], table: Any, codes: Array, panes: list[list[RunningPane]]
) -> dict[str, Any]:
    """The answers of everything so far by name; `panes` are each key's, by spec, and are what is kept afterwards."""
    rows = SortedRows(table, definition, codes)
    assert rows.times is not None
    found: dict[str, Any] = {}
    for at, spec in enumerate(specs):
        before = [mine[at] for mine in panes]
        try:
            arrays, after = _running(rows, spec, rows.times.data, before)
        except Exception as error:

            def tried(one: WindowSpec, count: int, before: list[RunningPane] = before) -> object:
                part = rows.first(count)
                assert part.times is not None
                return _running(part, one, part.times.data, before[: part.keys])

            raise _told(error, rows, spec, tried, lambda row: named(definition, table, row, ())) from error
        for mine, pane in zip(panes, after, strict=True):
            mine[at] = pane
        found |= {one.name: array for one, array in zip(spec.members, arrays, strict=True)}
    return found


def _running(
    rows: SortedRows, spec: WindowSpec, places: Array, before: list[RunningPane]
) -> tuple[list[Any], list[Any]]:
    columns, valid = columns_of(rows, spec)
    types = [rows.kind_of(name) for name in spec.columns]
    for one in spec.members:
        check_inputs(one.operator, spec.columns, columns, types)
    if not spec.is_open:
        counts = np.array([pane.count for pane in before], np.int64)
        states = [[pane.states[j] if pane.count else None for pane in before] for j in range(len(spec.members))]
        try:
            went = running_pass(rows, spec, places, True, columns, valid, RunningStates(counts, states))
        except SumOverflowError:  # which may not hold once the last peer is in
            went = None
        if went is not None:
            answers, then = went
            found = zip(spec.members, answers, strict=True)
            after = [_pane(spec, int(then.counts[k]), [part[k] for part in then.states]) for k in range(len(before))]
            return [typed(one.operator, columns, types, a) for one, a in found], after
    values = list(zip(*(as_python(column, column.data).tolist() for column in columns), strict=True))
    seen = [True] * rows.count if valid is None else valid.tolist()
    answered: list[list[Any]] = []
    after = []
    stops = np.searchsorted(rows.codes, np.arange(rows.keys + 1)).tolist()
    at = places.tolist()
    for k, pane in enumerate(before):
        mine = _pane(spec, pane.count, pane.states)
        start = stops[k]
        for i in range(stops[k], stops[k + 1]):
            if i + 1 == stops[k + 1] or at[i + 1] != at[i]:
                answered += mine.push_peers([(at[j], values[j] if seen[j] else None) for j in range(start, i + 1)])
                start = i + 1
        if mine.late_count:  # all rows to come are later
            mine.states = mine._joined(mine.states, mine.late_states)
            mine.count += mine.late_count
        after.append(_pane(spec, mine.count, mine.states))
    return as_arrays(spec, types, answered), after


def _pane(spec: WindowSpec, count: int, states: list[Any]) -> RunningPane:
    pane = RunningPane(spec)
    pane.count, pane.states = count, states if count else []
    return pane


def pane_bytes(panes: list[RunningPane]) -> bytes:
    """Running states as bytes: for each spec how many rows they hold, and then each member's state."""
    out = Writer()
    for pane in panes:
        out.size(pane.count)
        for one, state in zip(pane.spec.members, pane.states, strict=False):
            put_state(out, one, state)
    return bytes(out.data)


def panes_of(specs: list[WindowSpec], data: bytes | None) -> list[RunningPane]:
    """Running states from bytes; empty ones where there are none."""
    if data is None:
        return [RunningPane(spec) for spec in specs]
    source = Reader(data)
    found = []
    with reading("what a key has had so far"):
        for spec in specs:
            count = whole(source.size(), 0, 2**62, "the number of rows")
            found.append(_pane(spec, count, [get_state(source, one) for one in spec.members] if count else []))
        source.end()
    return found
