"""Aggregates that see the same rows, over sorted rows: their answers, and what the rows to come need to know."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.series import Column
from slidewise.engine.answers import as_arrays, check_inputs, typed
from slidewise.engine.cells import CellBatch, Cells
from slidewise.engine.joining import as_python
from slidewise.engine.running import RunningStates, running_pass
from slidewise.engine.running_pane import RunningPane
from slidewise.engine.sliding import SlidingBatch, columns_of
from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import SumOverflowError
from slidewise.spark.sort.sorted_rows import SortedRows


def answer(rows: SortedRows, spec: WindowSpec, places: Array, old: Any) -> tuple[list[Any], Any]:
    """Each member's answers as an Arrow array, and what is kept of the last key; `old` was kept of the first."""
    return (_running if spec.running else _sliding if spec.grain is None else _celled)(rows, spec, places, old)


def _sliding(rows: SortedRows, spec: WindowSpec, places: Array, old: Any) -> tuple[list[Any], Any]:
    counts = np.zeros(rows.keys, np.int64)
    if old is not None:
        counts[0] = len(old[0])
    slid = SlidingBatch(rows, spec, places, counts, old if old is not None and len(old[0]) else [], True, rows.silent)
    return slid.arrays(), slid.kept_of_last()


def _celled(rows: SortedRows, spec: WindowSpec, places: Array, old: Cells | None) -> tuple[list[Any], Cells]:
    """The same for windows with a grain, of which cells are kept."""
    counts = np.zeros(rows.keys, np.int64)
    counts[0] = 0 if old is None else len(old)
    celled = CellBatch(rows, spec, places, counts, old if counts[0] else None, True, rows.silent)
    return celled.arrays(), celled.kept(waits=False, last_only=True)[1]


def _running(rows: SortedRows, spec: WindowSpec, places: Array, old: Any) -> tuple[list[Any], Any]:
    columns, valid = columns_of(rows, spec)
    types = [rows.kind_of(name) for name in spec.columns]
    for one in spec.members:
        check_inputs(one.operator, spec.columns, columns, types)
    pane = RunningPane(spec) if old is None else copy(old)  # states are replaced, never changed
    if not spec.is_open:
        counts = np.zeros(rows.keys, np.int64)
        counts[0] = pane.count
        none = [None] * (rows.keys - 1)
        states = [[pane.states[j] if pane.count else None, *none] for j in range(len(spec.members))]
        try:
            went = running_pass(rows, spec, places, True, columns, valid, RunningStates(counts, states))
        except SumOverflowError:  # which may not hold once the last peer is in
            went = None
        if went is not None:
            answers, after = went
            last = RunningPane(spec)
            last.count = int(after.counts[-1])
            last.states = [part[-1] for part in after.states] if last.count else []
            found = zip(spec.members, answers, strict=True)
            return [typed(one.operator, columns, types, a) for one, a in found], last
    return _row_by_row(rows, spec, places, pane, columns, types, valid)


def _row_by_row(
    rows: SortedRows, spec: WindowSpec, places: Array, pane: Any, columns: list[Column], types: list[Any], valid: Any
) -> tuple[list[Any], Any]:
    values = zip(*(as_python(column, column.data).tolist() for column in columns), strict=True)
    seen = [True] * rows.count if valid is None else valid.tolist()
    answers: list[list[Any]] = []
    peers: list[Any] = []
    code, place = 0, None
    for next_code, next_place, row, counts in zip(rows.codes.tolist(), places.tolist(), values, seen, strict=True):
        if peers and (next_code != code or next_place != place):
            answers += pane.push_peers(peers)
            peers = []
        if next_code != code:
            pane = RunningPane(spec)
        code, place = next_code, next_place
        peers.append((place, row if counts else None))
    answers += pane.push_peers(peers)
    return as_arrays(spec, types, answers), pane
