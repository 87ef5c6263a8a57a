"""A batch through the kernels: the rows already there and the new ones together, for all keys at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.operator_types import as_numbers, readied
from slidewise.engine.batch import columns_of
from slidewise.engine.cells import Cells, StoredCells
from slidewise.engine.joining import CannotJoinError, arrays_of
from slidewise.engine.running import StoredStates
from slidewise.engine.sliding import StoredRows
from slidewise.engine.window_batch import window_batch
from slidewise.engine.window_spec import WindowSpec
from slidewise.kernels.passes.partials import Partials
from slidewise.live.batch.incoming import Incoming, there
from slidewise.live.operator_errors import fail
from slidewise.live.panes.cell_pane import CellPane
from slidewise.windows.kind import Keeps

Found = dict[str, tuple[str | None, Any]]


def evaluate(incoming: Incoming, peers: bool) -> tuple[Found, Callable[[], None]]:
    """The answers by name, in the batch's order, and what makes the batch part of the state.

    Rows of a key come in the order of their times; with `peers`, those of equal time see one another.
    """
    live = incoming.live
    found: Found = {}
    states: list[Iterator[Any]] = []  # of each spec: what is kept of each key
    numbers = incoming.numbers()
    for at, spec in enumerate(live.specs):
        places = numbers if spec.numbered else incoming.times
        try:
            batch = window_batch(incoming, spec, places, _BEFORE[spec.keeps](incoming, at, spec), peers)
            arrays, kept = batch.arrays(), batch.kept()
        except CannotJoinError:
            raise
        except Exception as error:
            fail(spec, error, "no row of the batch was taken in")
        states.append(kept)
        like = spec.columns[0] if spec.columns else None
        found |= {one.name: (like, array) for one, array in zip(spec.members, arrays, strict=True)}

    counts = np.bincount(incoming.codes, minlength=len(incoming.tracks)).tolist()
    newest = [None] * len(counts)
    if incoming.times is not None:
        most = incoming.newest()
        np.maximum.at(most, incoming.codes, incoming.times)
        newest = most.tolist()

    def commit() -> None:
        for at, of_keys in enumerate(states):
            for track, kept in zip(incoming.tracks, of_keys, strict=True):
                track.panes[at].freeze(kept)
        for key, track, count, now in zip(incoming.keys, incoming.tracks, counts, newest, strict=True):
            track.count += count
            track.now = now
            live.tracks[key] = track
        incoming.settle()
        live.answers += incoming.count

    return {name: found[name] for name in live.definition.columns}, commit


def _sliding_before(incoming: Incoming, at: int, spec: WindowSpec) -> StoredRows:
    counts, arrays = there([track.panes[at] for track in incoming.tracks])
    return StoredRows(np.array(counts, np.int64), arrays)


def _cells_before(incoming: Incoming, at: int, spec: WindowSpec) -> StoredCells:
    columns, _ = columns_of(incoming, spec)
    if any(column.unit is not None for column in columns):  # states are times, which only single events make
        raise CannotJoinError
    ops = [one.operator for one in spec.members]
    dtypes = [tuple(str(as_numbers(op, column).data.dtype) for column in readied(op, columns)) for op in ops]
    return StoredCells(*cells_there([track.panes[at] for track in incoming.tracks], spec, dtypes))


def _states_before(incoming: Incoming, at: int, spec: WindowSpec) -> StoredStates:
    return StoredStates([track.panes[at] for track in incoming.tracks])


_BEFORE: dict[Keeps, Callable[[Incoming, int, WindowSpec], Any]] = {
    Keeps.ROWS: _sliding_before,
    Keeps.CELLS: _cells_before,
    Keeps.STATE: _states_before,
}


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
