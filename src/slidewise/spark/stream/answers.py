"""A shard's released rows under a definition: all keys at once, going on from the rows and states that are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.definition import Definition
from slidewise.engine.codec import Reader, Writer
from slidewise.engine.running import RunningBatch, StoredStates
from slidewise.engine.running_pane import RunningPane
from slidewise.engine.sliding import SlidingBatch, StoredRows
from slidewise.engine.window_spec import WindowSpec
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
    return SlidingBatch(rows, spec, places, StoredRows.none(rows.keys), True, rows.silent)


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
) -> tuple[list[Any], list[RunningPane]]:
    batch = RunningBatch(rows, spec, places, StoredStates([*before]), True)
    after = list(batch.kept())
    for pane in after:
        pane.settle()
    return batch.arrays(), after


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
            found.append(RunningPane.of(spec, count, [get_state(source, one) for one in spec.members] if count else []))
        source.end()
    return found
