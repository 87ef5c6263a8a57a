"""The answers of a key as of a time, out of the arrays: by its windows, which are those of its newest row; or as of an
earlier time by its rows up to then, which run in windows of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.keyed import history_layout as layout
from slidewise.live.history.store import HistoryStore
from slidewise.live.native.push_many import cut_floats
from slidewise.live.native.states import NativePane
from slidewise.live.native.store import NativeStore
from slidewise.live.types import Time


def answers_at(store: HistoryStore, home: int, time: Time) -> list[list[Any]] | None:
    """The answers of each spec; None where compiled code cannot tell. Combine calls: those of a read under `live()`, or
    as of a time before the newest row O(n) for the n rows of the longest window, in compiled code."""
    if type(time) is not (float if store.floats else int) or not -(2**63) <= time < 2**63:
        return None
    head = store.head(home)
    if head[layout.SLOT] >= 0 and time >= store.now_of(home):
        slot, last = int(head[layout.SLOT]), int(head[layout.NEXT]) - 1
        return [NativePane(spec, slot).answers_at(last if spec.numbered else time) for spec in store.windows.specs]
    words = store.rows_of(home)
    times = words[:, layout.TIME].copy()
    if store.floats:
        times = times.view(np.float64)
    stop = int(np.searchsorted(times, time, "right"))
    first = stop
    if store.block.numbers[layout.TIMED]:
        cut = time - store.reach
        first = int(np.searchsorted(times, cut if store.floats else max(cut, -(2**63))))
    first = max(0, min(first, stop, stop - 1 - store.numbered_reach))
    windows = store.windows
    m = stop - first + 1
    if m > windows.row_room.size:
        windows.set_rows(2 * m)
        store.bind()
    _write_rows(store, words[first:stop], time)
    slots = windows.take_slots(1)
    windows.slots_of_rows.data[:m] = slots[0]
    try:
        for spec in windows.specs:
            if spec.floats:
                cut_floats(spec, windows.times.data[:m].view(np.float64))
        windows.run(m)
        answers = _last_answers(windows, m - 1)
        windows.undo(m, len(windows.specs))
    except ArithmeticError:
        return None
    finally:
        windows.give_slot(slots[0])
    return answers


def _write_rows(store: HistoryStore, words: Array, time: Time) -> None:
    """Write rows, and behind them one of a time that does not count, into the fields of the windows' store."""
    windows, n = store.windows, len(words)
    windows.times.data[:n] = words[:, layout.TIME]
    last = windows.times.data[n : n + 1]
    (last.view(np.float64) if store.floats else last)[0] = time
    windows.numbers.data[: n + 1] = np.minimum(np.arange(n + 1), max(n - 1, 0))  # it takes no place among rows
    for c, name in enumerate(store.inputs):
        column = windows.inputs[name].rows.data
        column[:n] = words[:, layout.INPUTS + c].copy().view(column.dtype)
        column[n] = 0
    for reader, counted in enumerate(windows.counted):
        counted.data[:n] = words[:, layout.COUNTED] >> reader & 1
        counted.data[n] = False


def _last_answers(windows: NativeStore, row: int) -> list[list[Any]]:
    """The answers of a row, of each spec."""
    answers = []
    for spec in windows.specs:
        held = int(spec.held.data[row])
        values: list[Any] = []
        for member in spec.members:
            if member.valid is None:
                values.append(held if held >= member.member.least else None)
            else:
                values.append(member.outputs[0].data[row : row + 1].tolist()[0] if member.valid.data[row] else None)
        answers.append(values)
    return answers
