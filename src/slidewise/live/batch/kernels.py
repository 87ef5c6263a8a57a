"""A batch through the kernels: the rows already there and the new ones together, for all keys at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.operator_types import readied
from slidewise.engine.answers import as_arrays, check_inputs, typed
from slidewise.engine.cells import CellBatch, Cells
from slidewise.engine.evaluate import as_numbers
from slidewise.engine.joining import CannotJoinError, arrays_of, as_python
from slidewise.engine.running import RunningStates, running_pass
from slidewise.engine.running_pane import RunningPane
from slidewise.engine.sliding import SlidingBatch, columns_of
from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import SumOverflowError
from slidewise.kernels.passes.partials import Partials
from slidewise.live.batch.incoming import Incoming, there
from slidewise.live.operator_errors import fail
from slidewise.live.panes.cell_pane import CellPane

Found = dict[str, tuple[str | None, Any]]


def evaluate(incoming: Incoming, peers: bool) -> tuple[Found, Callable[[], None]]:
    """The answers by name, in the batch's order, and what makes the batch part of the state.

    Rows of a key come in the order of their times; with `peers`, those of equal time see one another.
    """
    live = incoming.live
    found: Found = {}
    changes: list[Callable[[], None]] = []
    numbers = incoming.numbers()
    for at, spec in enumerate(live.specs):
        places = numbers if spec.numbered else incoming.times
        try:
            go = _running if spec.running else _sliding if spec.grain is None else _celled
            arrays, change = go(incoming, at, spec, places, peers)
        except CannotJoinError:
            raise
        except Exception as error:
            fail(spec, error, "no row of the batch was taken in")
        changes.append(change)
        like = spec.columns[0] if spec.columns else None
        found |= {one.name: (like, array) for one, array in zip(spec.members, arrays, strict=True)}

    counts = np.bincount(incoming.codes, minlength=len(incoming.tracks)).tolist()
    newest = [None] * len(counts)
    if incoming.times is not None:
        most = incoming.newest()
        np.maximum.at(most, incoming.codes, incoming.times)
        newest = most.tolist()

    def commit() -> None:
        for change in changes:
            change()
        for key, track, count, now in zip(incoming.keys, incoming.tracks, counts, newest, strict=True):
            track.count += count
            track.now = now
            live.tracks[key] = track
        incoming.settle()
        live.answers += incoming.count

    return {name: found[name] for name in live.definition.columns}, commit


def _sliding(
    incoming: Incoming, at: int, spec: WindowSpec, places: Array, peers: bool
) -> tuple[list[Any], Callable[[], None]]:
    """One spec over the rows already there and the batch together."""
    counts, old = there([track.panes[at] for track in incoming.tracks])
    slid = SlidingBatch(incoming, spec, places, np.array(counts, np.int64), old, peers)
    arrays = slid.arrays()
    stops, stored = slid.kept()

    def change() -> None:
        for k, track in enumerate(incoming.tracks):
            track.panes[at].freeze([part[stops[k] : stops[k + 1]].copy() for part in stored])

    return arrays, change


def _celled(
    incoming: Incoming, at: int, spec: WindowSpec, places: Array, peers: bool
) -> tuple[list[Any], Callable[[], None]]:
    """One spec with a grain over the cells already there and the batch together."""
    columns, _ = columns_of(incoming, spec)
    if any(column.unit is not None for column in columns):  # states are times, which only single events make
        raise CannotJoinError
    ops = [one.operator for one in spec.members]
    dtypes = [tuple(str(as_numbers(op, column).data.dtype) for column in readied(op, columns)) for op in ops]
    counts, old = cells_there([track.panes[at] for track in incoming.tracks], spec, dtypes)
    celled = CellBatch(incoming, spec, places, counts, old, peers)
    arrays = celled.arrays()
    stops, kept = celled.kept(waits=spec.is_open)

    def change() -> None:
        for k, track in enumerate(incoming.tracks):
            track.panes[at].freeze(kept.taken(np.arange(stops[k], stops[k + 1])))  # a copy: no key holds others' cells

    return arrays, change


def _running(
    incoming: Incoming, at: int, spec: WindowSpec, places: Array, peers: bool
) -> tuple[list[Any], Callable[[], None]]:
    """One spec over everything so far: its states live on. What cannot be compiled goes in row by row."""
    columns, valid = columns_of(incoming, spec)
    types = [incoming.kind_of(name) for name in spec.columns]
    for one in spec.members:
        check_inputs(one.operator, spec.columns, columns, types)
    compiled = None
    if not spec.is_open:
        with suppress(SumOverflowError) if peers else nullcontext():  # a sum may not fit before its last peer is in
            panes_before = [track.panes[at] for track in incoming.tracks]
            before = RunningStates(
                np.array([pane.count for pane in panes_before], np.int64),
                [[pane.states[j] if pane.count else None for pane in panes_before] for j in range(len(spec.members))],
            )
            compiled = running_pass(incoming, spec, places, peers, columns, valid, before)
    if compiled is not None:
        running, after = compiled

        def go_on() -> None:
            for k, (track, count) in enumerate(zip(incoming.tracks, after.counts.tolist(), strict=True)):
                pane = track.panes[at]
                pane.count = count
                pane.states = [part[k] for part in after.states] if count else []

        arrays = [
            typed(one.operator, columns, types, found, one.name)
            for one, found in zip(spec.members, running, strict=True)
        ]
        return arrays, go_on
    panes = []
    for track in incoming.tracks:
        pane, old = RunningPane(spec), track.panes[at]
        old.begin()
        pane.before = old.before
        pane.undo()
        panes.append(pane)
    values = [as_python(column, column.data).tolist() for column in columns]
    spots, codes = places.tolist(), incoming.codes.tolist()
    present_rows = [True] * len(codes) if valid is None else valid.tolist()
    rows = [
        (spot, tuple(row) if counts else None)
        for spot, counts, row in zip(spots, present_rows, zip(*values, strict=True), strict=True)
    ]
    answers: list[Any] = []
    if peers:  # which stand together, since rows are sorted by key and time
        for (k, _), group in groupby(range(len(rows)), key=lambda i: (codes[i], rows[i][0])):
            answers += panes[k].push_peers([rows[i] for i in group])
    else:
        answers += [panes[k].take(*row) for k, row in zip(codes, rows, strict=True)]

    def change() -> None:
        for track, pane in zip(incoming.tracks, panes, strict=True):
            track.panes[at] = pane

    return as_arrays(spec, types, answers), change


def cells_there(panes: list[CellPane], spec: WindowSpec, dtypes: list[tuple[str, ...]]) -> tuple[Array, Cells | None]:
    """How many cells each pane holds, and all of them, for rows whose arguments are of these types, by member."""
    counts = np.array([pane.held() for pane in panes], np.int64)
    if not counts.sum():
        return counts, None
    found = [pane.frozen if pane.frozen is not None else _of(pane, dtypes) for pane in panes if pane.held()]
    parts = [_all(list(some)) for some in zip(*(one.parts for one in found), strict=True)]
    kinds = {one.places.dtype for one in found}
    if len(kinds) > 1:
        raise CannotJoinError
    return counts, Cells(np.concatenate([one.places for one in found]), parts)


def _of(pane: CellPane, dtypes: list[tuple[str, ...]]) -> Cells:
    places, number, states = zip(*pane.all_cells(), strict=True)
    counts = np.array(number, np.int64)
    parts = [
        Partials.of_objects(one.operator, list(some), counts, kinds)
        for one, some, kinds in zip(pane.spec.members, zip(*states, strict=True), dtypes, strict=True)
    ]
    return Cells(arrays_of([(place,) for place in places])[0], parts)


def _all(parts: list[Partials]) -> Partials:
    """All of these, one behind the other."""
    if len({part.dtypes for part in parts}) > 1:
        raise CannotJoinError
    fields = [np.concatenate(some) for some in zip(*(part.fields for part in parts), strict=True)]
    return replace(parts[0], fields=fields, counts=np.concatenate([part.counts for part in parts]))
