"""A batch without the rows that are set aside: these are found, counted, and handed over in their order."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import check_times_of_day
from slidewise.kernels.compiler.jit import cached_jit
from slidewise.live import set_aside
from slidewise.live.batch.incoming import IncomingBatch
from slidewise.live.event_times import length_in
from slidewise.live.set_aside import AHEAD, LATE, AheadGuard
from slidewise.live.types import Time

if TYPE_CHECKING:
    from slidewise.columns.frames import Frame
    from slidewise.live.live import Live


class FilteredBatch:
    """A batch less the rows too far ahead of time: `frame` has the others, all of them where there is no guard."""

    def __init__(self, live: Live, frame: Frame) -> None:
        self._live = live
        self._count = len(frame)
        self._table: Any = None
        self._ahead: Array = np.empty(0, np.int64)
        self._newest: Time | None = None
        self.frame = frame
        guard = live.aside.guard
        if live.aside.late_to is not None:  # which gets rows as dicts: what has none is refused before anything happens
            self._table = frame.to_arrow()
            for name in self._table.column_names:
                check_times_of_day(self._table.column(name), repr(name))
        if guard is not None:
            incoming = IncomingBatch(live, frame)
            self._ahead, self._newest = rows_ahead(guard, incoming.times, incoming.kind)
            if len(self._ahead):
                self.frame = frame.take(np.delete(np.arange(len(frame)), self._ahead))

    def commit(self, late: Array) -> None:
        """Count and queue the rows that are set aside: those ahead, and these of the others, which come too late."""
        live, ahead = self._live, self._ahead
        live.events += len(ahead)
        live.aside.ahead += len(ahead)
        live.dropped += int(late.sum())
        if live.aside.guard is not None:
            live.aside.guard.newest = self._newest
        if live.aside.late_to is None:
            return
        reasons = dict.fromkeys(ahead.tolist(), AHEAD)
        places = np.delete(np.arange(self._count), ahead)
        reasons |= dict.fromkeys(places[late].tolist(), LATE)
        if not reasons:
            return
        order = sorted(reasons)
        for row, i in zip(self._table.take(order).to_pylist(), order, strict=True):
            live.aside.put(row, reasons[i])


def push_filtered(live: Live, frame: Frame, push: Callable[[FilteredBatch], Any]) -> Any:
    """Take in a batch by `push`, less its rows ahead of time; what `late_to` raises comes out of the next call."""
    live.aside.hand_over()
    filtered = FilteredBatch(live, frame)
    with live.learning(live.kinds.in_frame(filtered.frame)):
        result = push(filtered)
    with suppress(Exception):  # the answers are given all the same, and the row is offered again
        live.aside.hand_over()
    live.aside.warn(live)
    return result


def rows_ahead(guard: AheadGuard, times: Array, kind: str | None) -> tuple[Array, Time | None]:
    """Which of a batch's rows a guard sets aside, each by those before it; and the newest time of the others."""
    if not len(times):
        return np.empty(0, np.int64), guard.newest
    guard.check(kind)
    length = length_in(guard.length, times.dtype.kind != "f")
    if guard.of == "clock":
        ahead = ahead_of_clock(times, int(length), set_aside.machine_time())
    else:
        ahead = ahead_of_stream(times, length, times[0] if guard.newest is None else times.dtype.type(guard.newest))
    accepted = [] if guard.newest is None else [guard.newest]
    if not ahead.all():
        accepted.append(times[~ahead].max().item())
    return np.flatnonzero(ahead), max(accepted, default=None)


def ahead_of_clock(times: Array, length: int, now: int) -> Array:
    """Whether each time, in nanoseconds, lies more than `length` past the clock."""
    limit = now + length
    return np.zeros(len(times), np.bool_) if limit > np.iinfo(np.int64).max else times > limit


def ahead_of_stream(times: Array, length: float, newest: np.generic) -> Array:
    """Whether each time lies more than `length` past the newest that was accepted before it, from `newest` on.

    >>> ahead_of_stream(np.array([3, 99, 5, 98, 14, 25]), 10, np.int64(0)).tolist()
    [False, True, False, True, False, True]
    """
    if times.dtype.kind == "f":
        return _ahead_of_floats(times, float(length), newest)
    return _ahead_of_whole(times, np.uint64(min(length, np.iinfo(np.uint64).max)), newest)


@cached_jit
def _ahead_of_whole(times: Array, length: np.uint64, newest: np.generic) -> Array:
    ahead = np.zeros(len(times), np.bool_)
    for i in range(len(times)):
        if times[i] > newest:
            if np.uint64(times[i]) - np.uint64(newest) > length:  # which no int64 might hold
                ahead[i] = True
            else:
                newest = times[i]
    return ahead


@cached_jit
def _ahead_of_floats(times: Array, length: float, newest: np.generic) -> Array:
    ahead = np.zeros(len(times), np.bool_)
    for i in range(len(times)):
        if times[i] > newest:
            if times[i] - length > newest:
                ahead[i] = True
            else:
                newest = times[i]
    return ahead
