"""A batch through the engine: the rows that windows hold and the new ones together, for all keys at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import python_values
from slidewise.columns.frames import AnswerColumns
from slidewise.columns.map_arrays import python_maps
from slidewise.columns.operator_types import as_numbers, readied
from slidewise.engine.batch import columns_of
from slidewise.engine.cells import Cells, StoredCells
from slidewise.engine.joining import CannotJoinError, arrays_of, concatenated
from slidewise.engine.running import StoredStates
from slidewise.engine.sliding import SlidingBatch, StoredRows
from slidewise.engine.window_batch import window_batch
from slidewise.engine.window_spec import WindowSpec
from slidewise.kernels.passes.partials import Partials
from slidewise.live.batch.incoming import IncomingBatch
from slidewise.live.operator_errors import raise_operator_error
from slidewise.live.panes.cell_pane import CellPane
from slidewise.operators.answer_types import named_answer
from slidewise.operators.operator import Operator
from slidewise.windows.kind import Keeps


def evaluate(incoming: IncomingBatch, peers: bool) -> tuple[AnswerColumns, Callable[[], None]]:
    """The answers as columns, in the batch's order, and what makes the batch part of the state.

    Rows of a key come in the order of their times; with `peers`, those of equal time see one another.
    """
    live = incoming.live
    answers: AnswerColumns = {}
    as_of_rows: list[Any] = []  # each member's answers as of the rows' times, where rows do not answer for themselves
    stored: list[Iterator[Any]] = []  # of each spec: what each key's pane stores
    numbers = incoming.numbers()
    for at, spec in enumerate(live.specs):
        places = numbers if spec.numbered else incoming.times
        try:
            batch = window_batch(incoming, spec, places, _STORED[spec.keeps](incoming, at, spec), peers)
            arrays, of_keys = batch.arrays(), batch.kept()
            apart = isinstance(batch, SlidingBatch) and spec.own and spec.is_open
            as_of_rows += batch.arrays(of_rows=False) if apart else arrays  # type: ignore[call-arg]
        except CannotJoinError:
            raise
        except Exception as error:
            raise_operator_error(spec, error, "no row of the batch was taken in")
        stored.append(of_keys)
        like = spec.columns[0] if spec.columns else None
        answers |= {member.name: (like, array) for member, array in zip(spec.members, arrays, strict=True)}

    counts = np.bincount(incoming.codes, minlength=len(incoming.key_states)).tolist()
    newest = [None] * len(counts)
    if incoming.times is not None:
        most = incoming.newest()
        np.maximum.at(most, incoming.codes, incoming.times)
        newest = most.tolist()

    firsts = _first_answers(incoming, newest, as_of_rows)

    def commit() -> None:
        for at, of_keys in enumerate(stored):
            for key_state, frozen in zip(incoming.key_states, of_keys, strict=True):
                key_state.panes[at].freeze(frozen)
        for key, key_state, count, now in zip(incoming.keys, incoming.key_states, counts, newest, strict=True):
            key_state.count += count
            key_state.now = now
            live.key_states[key] = key_state
        for key_state, first in zip(incoming.key_states, firsts, strict=False):
            key_state.firsts = first
        live.see(newest)
        incoming.adopt_time_kind()
        live.answers += incoming.count

    return incoming.results(answers), commit


def _first_answers(incoming: IncomingBatch, newest: list[Any], arrays: list[Any]) -> list[Any]:
    """Each key's answers of the first row of its newest time, see `first_answers`; empty where the definition has no
    such windows. The arrays are the answers of all members."""
    live = incoming.live
    if not live.rows_before:
        return []
    firsts = [key_state.firsts for key_state in incoming.key_states]
    later = [k for k, key_state in enumerate(incoming.key_states) if newest[k] != key_state.now]
    is_newest = incoming.times == np.array(newest, incoming.times.dtype)[incoming.codes]
    rows = np.flatnonzero(is_newest)[::-1]  # the first row of a key is written last
    first_row = np.zeros(len(firsts), np.int64)
    first_row[incoming.codes[rows]] = rows
    members = [member for spec in live.specs for member in spec.members]
    columns = {
        j: _python_answers(members[j].operator, arrays[j], first_row[later])
        for _, part in live.rows_before
        for j in range(part.start, part.stop)
    }
    for i, k in enumerate(later):
        firsts[k] = [[columns[j][i] for j in range(part.start, part.stop)] for _, part in live.rows_before]
    return firsts


def _python_answers(operator: Operator, array: Any, rows: Array) -> list[Any]:
    """Answers in some rows as `push` gives them."""
    if operator.traits.per is not None:
        inner = operator.traits.per.inner
        maps = python_maps(array.take(rows))
        return [each and {key: _python_answer(inner, value) for key, value in each.items()} for each in maps]
    values = python_values(array.take(rows), f"the answers of {operator.name!r}")
    return [_python_answer(operator, value) for value in values]


def _python_answer(operator: Operator, value: Any) -> Any:
    return named_answer(operator, value.values()) if type(value) is dict else value


def _stored_rows(incoming: IncomingBatch, at: int, spec: WindowSpec) -> StoredRows:
    """How many rows each pane holds, and all of them."""
    panes = [key_state.panes[at] for key_state in incoming.key_states]
    counts = np.array([pane.held() for pane in panes], np.int64)
    return stored_rows(counts, [pane for pane in panes if pane.held()])


def stored_rows(counts: Array, panes: list[Any]) -> StoredRows:
    """The rows of panes that hold some as arrays: places, and one for each argument; `counts` are those of all keys."""
    parts = [pane.frozen if pane.frozen is not None else arrays_of(pane.all_rows()) for pane in panes]
    return StoredRows(counts, [concatenated(list(part)) for part in zip(*parts, strict=True)])


def _stored_cells(incoming: IncomingBatch, at: int, spec: WindowSpec) -> StoredCells:
    """How many cells each pane holds, and all of them as arrays."""
    columns, _ = columns_of(incoming, spec)
    if any(column.unit is not None for column in columns):  # states are times, which only single events make
        raise CannotJoinError
    ops = [member.operator for member in spec.members]
    dtypes = [tuple(str(as_numbers(op, column).data.dtype) for column in readied(op, columns)) for op in ops]
    panes: list[CellPane] = [key_state.panes[at] for key_state in incoming.key_states]
    counts = np.array([pane.held() for pane in panes], np.int64)
    if not counts.sum():
        return StoredCells(counts, None)
    cells = [pane.frozen if pane.frozen is not None else _cells_of(pane, dtypes) for pane in panes if pane.held()]
    parts = [joined_partials(list(of_member)) for of_member in zip(*(each.parts for each in cells), strict=True)]
    if len({each.places.dtype for each in cells}) > 1:
        raise CannotJoinError
    return StoredCells(counts, Cells(np.concatenate([each.places for each in cells]), parts))


def _stored_states(incoming: IncomingBatch, at: int, spec: WindowSpec) -> StoredStates:
    """The panes of windows over everything so far, which hold their states."""
    return StoredStates([key_state.panes[at] for key_state in incoming.key_states])


_STORED: dict[Keeps, Callable[[IncomingBatch, int, WindowSpec], Any]] = {
    Keeps.ROWS: _stored_rows,
    Keeps.CELLS: _stored_cells,
    Keeps.STATE: _stored_states,
}


def _cells_of(pane: CellPane, dtypes: list[tuple[str, ...]]) -> Cells:
    """The cells of a pane as arrays, for rows whose arguments are of these types, by member."""
    places, number, states = zip(*pane.all_cells(), strict=True)
    counts = np.array(number, np.int64)
    parts = [
        Partials.of_objects(member.operator, list(of_member), counts, kinds)
        for member, of_member, kinds in zip(pane.spec.members, zip(*states, strict=True), dtypes, strict=True)
    ]
    return Cells(arrays_of([(place,) for place in places])[0], parts)


def joined_partials(parts: list[Partials]) -> Partials:
    """The partials of several keys, one behind the other."""
    if len({part.dtypes for part in parts}) > 1:
        raise CannotJoinError
    fields = [np.concatenate(field) for field in zip(*(part.fields for part in parts), strict=True)]
    return replace(parts[0], fields=fields, counts=np.concatenate([part.counts for part in parts]))
