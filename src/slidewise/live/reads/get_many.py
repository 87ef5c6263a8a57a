"""`get_many`: reads of many keys, through the kernels, or one by one where that is faster.

What a window answers as of a time depends on that time only where it is one of time; the others answer the same for all
times after a key's newest. So each different answer is found once, and requests look theirs up.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import chain, product
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import arrow_array
from slidewise.columns.frames import AnswerColumns, frame_of
from slidewise.columns.series import Column, is_arrow_backed
from slidewise.engine.answers import as_arrays, check_inputs
from slidewise.engine.cells import Cells, StoredCells
from slidewise.engine.computed.columns import result_arrays
from slidewise.engine.joining import CannotJoinError, arrays_of
from slidewise.engine.point_in_time.queries import Queries
from slidewise.engine.window_batch import Stored, window_batch
from slidewise.kernels.passes.partials import Partials
from slidewise.live.batch.evaluate import joined_partials, stored_rows
from slidewise.live.live import Live
from slidewise.live.operator_errors import raise_operator_error
from slidewise.live.panes.cell_pane import CellPane
from slidewise.live.reads.get import READ, spec_answers
from slidewise.live.reads.requests import Requests, request_columns
from slidewise.live.revising import Revising
from slidewise.windows.kind import Keeps

# Costs in microseconds: of a read by itself, of a frozen row that is thawed for it, and of each row of a window in
# arrays, since every read goes through them; of reads through the kernels, and where all windows lie in arrays, a key
# of them, a row as an object and one in an array, and a read.
_READ, _THAW, _WALK = 12.0, 4.0, 0.03
_BATCH, _ARRAYS, _KEY, _OBJECT, _ROW, _QUERY = 3_000.0, 100.0, 10.0, 0.5, 0.02, 0.1


def get_many(live: Live, table: Any, on: str | None, by: Mapping[str, str] | None) -> Any:
    """See `Live.get_many`."""
    frame = frame_of(table)
    names = request_columns(live, frame, on, by)
    requests = Requests(live, frame, names)
    arrays: dict[str, Any] = {}
    for at, spec in enumerate(live.specs):
        for member, array in zip(spec.members, _answers(requests, at), strict=True):
            arrays[member.name] = array
    asked = [name for name in (names.on, *names.by) if name is not None]
    like = next((name for name in asked if is_arrow_backed(frame.column(name))), None)
    columns = result_arrays(live.definition, arrays, requests.array, requests.count, requests.label)
    answers: AnswerColumns = {name: (like, array) for name, array in columns.items()}
    return frame.with_columns(answers)


def _answers(requests: Requests, at: int) -> list[Any]:
    """Each member's answers of the spec at this index, as Arrow arrays in the order of the requests."""
    live = requests.live
    spec = live.specs[at]
    try:
        if _same_at_all_times(live, at):
            return _same_for_all_times(requests, at)
        if _by_kernels(requests, at):
            with suppress(CannotJoinError):
                arrays = _through_kernels(requests, at)
                return [array.take(requests.slots) for array in arrays]
        return _one_by_one(requests, at, requests.slot_codes, requests.times_of_slots(), requests.slots)
    except Exception as error:
        raise_operator_error(spec, error, READ)


def _same_at_all_times(live: Live, at: int) -> bool:
    """Whether the answers of a spec are the same for all times after a key's newest."""
    spec = live.specs[at]
    return not isinstance(live, Revising) and (spec.numbered or (spec.running and not spec.runs_empty))


def _same_for_all_times(requests: Requests, at: int) -> list[Any]:
    """The answers of a spec that are the same for all times but the key's newest."""
    newest = np.zeros(requests.count, np.bool_)
    if requests.times is not None and requests.live.specs[at].is_open:
        nows = [None if key_state is None else key_state.now for key_state in requests.key_states]
        pairs = zip(requests.codes.tolist(), requests.times.tolist(), strict=True)
        newest = np.array([time == nows[code] for code, time in pairs], np.bool_)
    kinds, first, slots = np.unique(2 * requests.codes + newest, return_index=True, return_inverse=True)
    times = [None] * len(kinds) if requests.times is None else requests.times[first].tolist()
    return _one_by_one(requests, at, kinds // 2, times, slots)


def _one_by_one(requests: Requests, at: int, codes: Array, times: list[Any], slots: Array) -> list[Any]:
    """The answers of a spec for some pairs of a key and a time, which requests find by their slots."""
    live = requests.live
    spec = live.specs[at]
    empty: list[Any] | None = None
    answers = []
    for code, time in zip(codes.tolist(), times, strict=True):
        key_state = requests.key_states[code]
        if key_state is not None:
            answers.append(spec_answers(live, key_state, at, time))
            continue
        empty = empty or spec.empty_answers()
        answers.append(empty)
    sample = _sample(requests, at)
    types = _types(requests, at)
    columns = [Column(np.empty(0, object), None, lambda x: x) for _ in spec.columns]
    for member in spec.members:
        check_inputs(member.operator, spec.columns, columns, types)
    return [array.take(slots) for array in as_arrays(spec, types, [*answers, *sample])]


def _sample(requests: Requests, at: int) -> list[list[Any]]:
    """The answers of some key as of its newest event, so that columns have their types where all requests are of empty
    windows; none where no key has had an event."""
    live = requests.live
    key_state: Any = next((state for state in requests.key_states if state is not None), None)
    if key_state is None:
        key_state = next(iter(live.key_states.values()), None)
    if key_state is None:
        return []
    by_time = isinstance(live, Revising) or not live.specs[at].numbered
    return [spec_answers(live, key_state, at, key_state.now if by_time else None)]


def _types(requests: Requests, at: int) -> list[Any]:
    """The Arrow types of the columns that a spec reads, by the rows that its panes hold; null where there is none."""
    import pyarrow as pa

    spec = requests.live.specs[at]
    if spec.keeps is Keeps.ROWS and not isinstance(requests.live, Revising):
        for key_state in chain(requests.key_states, requests.live.key_states.values()):
            if key_state is not None and key_state.panes[at].held():
                row = key_state.panes[at].newest_row()
                return [arrow_array([value]).type for value in row[1:]]
    return [pa.null() for _ in spec.columns]


def _by_kernels(requests: Requests, at: int) -> bool:
    """Whether the kernels are faster than one read after the other."""
    if isinstance(requests.live, Revising) or requests.slot_times is None or requests.slot_times.dtype == object:
        return False
    states = [key_state for key_state in requests.key_states if key_state is not None]
    panes: list[Any] = [key_state.panes[at] for key_state in states if not key_state.in_arrays]
    in_panes = sum(pane.held() for pane in panes)
    frozen = sum(pane.held() for pane in panes if pane.frozen is not None)
    in_arrays = np.array(
        [0 if state is None or not state.in_arrays else state.panes[at].held() for state in requests.key_states],
        np.int64,
    )
    held = in_panes + int(in_arrays.sum())
    reads, walked = len(requests.slot_codes), int(in_arrays[requests.slot_codes].sum())
    kernels = (_BATCH if panes else _ARRAYS) + _KEY * len(states) + _OBJECT * (in_panes - frozen)
    kernels += _ROW * held + _QUERY * reads
    return bool(held) and kernels < _READ * reads + _THAW * frozen + _WALK * walked


class _StoredKeys:
    """A batch of no rows, whose columns are of the types that stored ones have."""

    count = 0
    codes: Array = np.zeros(0, np.int64)

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = arrays
        self._types = {name: _arrow_type(array) for name, array in arrays.items()}

    def column(self, name: str) -> Column:
        if name not in self._arrays:  # a condition, which all that is stored fulfils
            return Column(np.zeros(0, np.bool_), None, lambda x: x)
        return Column(self._arrays[name][:0], None, lambda x: x, arrow=self._types[name])

    def kind_of(self, name: str) -> Any:
        return self._types[name]


def _arrow_type(array: Array) -> Any:
    """The Arrow type of values."""
    import pyarrow as pa

    if array.dtype != object:
        return pa.from_numpy_dtype(array.dtype)
    try:
        return arrow_array(array.tolist()).type
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        raise CannotJoinError from None


def _through_kernels(requests: Requests, at: int) -> list[Any]:
    """The answers of a spec for each slot, in one pass over what all panes hold."""
    spec = requests.live.specs[at]
    states = requests.key_states
    panes: list[Any] = [None if key_state is None else key_state.panes[at] for key_state in states]
    counts = np.array([0 if pane is None else pane.held() for pane in panes], np.int64)
    held = [pane for pane, count in zip(panes, counts.tolist(), strict=True) if count]
    assert requests.slot_times is not None
    stored: Stored
    if spec.keeps is Keeps.CELLS:
        cells = _joined_cells([_cells_of(pane) for pane in held])
        stored = StoredCells(counts, cells)
        places = cells.places
        if any(part.dtypes is None and not part.op.traits.counts_rows for part in cells.parts):
            raise CannotJoinError  # states are objects, whose columns' types no one knows
        dtypes = next((part.dtypes for part in cells.parts if part.dtypes is not None), None)
        columns = [np.empty(0, dtype) for dtype in dtypes or ["int64"] * len(spec.columns)]
    else:
        stored = stored_rows(counts, held)
        places, columns = stored.arrays[0], stored.arrays[spec.before_arguments :]
    batch = _StoredKeys(dict(zip(spec.columns, columns, strict=False)))
    queries = Queries.of(requests.slot_codes, len(panes), _in_type_of(requests.slot_times, places))
    return window_batch(batch, spec, places[:0], stored, True, queries=queries).arrays()


def _in_type_of(times: Array, places: Array) -> Array:
    """Times as numbers of the type that places have, where nothing is lost by that."""
    if times.dtype == places.dtype:
        return times
    if places.dtype == np.float64 and times.dtype == np.int64 and (not len(times) or np.abs(times).max() <= 2**53):
        return times.astype(np.float64)
    raise CannotJoinError


def _cells_of(pane: CellPane) -> Cells:
    """The cells of a pane as arrays, for the types of arguments that its states can come from."""
    if pane.frozen is not None:
        return pane.frozen
    places, rows, states = zip(*pane.all_cells(), strict=True)
    counts = np.array(rows, np.int64)
    by_member = list(zip(*states, strict=True))
    for dtypes in product(("int64", "float64"), repeat=max(len(pane.spec.columns), 1)):
        parts = [
            Partials.of_objects(member.operator, list(of_member), counts, dtypes)
            for member, of_member in zip(pane.spec.members, by_member, strict=True)
        ]
        if all(part.dtypes is not None or part.op.traits.counts_rows for part in parts):
            return Cells(arrays_of([(place,) for place in places])[0], parts)
    raise CannotJoinError


def _joined_cells(cells: list[Cells]) -> Cells:
    """The cells of several keys, one behind the other."""
    if len({each.places.dtype for each in cells}) > 1 or cells[0].places.dtype == object:
        raise CannotJoinError
    parts = [joined_partials(list(of_member)) for of_member in zip(*(each.parts for each in cells), strict=True)]
    return Cells(np.concatenate([each.places for each in cells]), parts)
