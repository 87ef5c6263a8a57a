"""A batch without the rows that are not taken in, which are counted and handed over in their order."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import check_times_of_day
from slidewise.live.batch.incoming import Incoming
from slidewise.live.set_aside import AHEAD, LATE

if TYPE_CHECKING:
    from slidewise.columns.frames import Frame
    from slidewise.live.live import Live


class Sifted:
    """A batch: `rest` are its rows that are to be believed, all of them where there is no guard."""

    def __init__(self, live: Live, frame: Frame) -> None:
        self._live = live
        self._count = len(frame)
        self._table: Any = None
        self._ahead: Array = np.empty(0, np.int64)
        self._newest: Any = None
        self.rest = frame
        guard = live.aside.guard
        if live.aside.late_to is not None:  # which gets rows as dicts: what has none is refused before anything happens
            self._table = frame.to_arrow()
            for name in self._table.column_names:
                check_times_of_day(self._table.column(name), repr(name))
        if guard is not None:
            incoming = Incoming(live, frame)
            self._ahead, self._newest = guard.rows_ahead(incoming.times, incoming.kind)
            if len(self._ahead):
                self.rest = frame.take(np.delete(np.arange(len(frame)), self._ahead))

    def count(self, late: Array) -> None:
        """The batch is taken in, but for the rows ahead and these among the rest, which come too late."""
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


def push_sifted(live: Live, frame: Frame, push: Callable[[Sifted], Any]) -> Any:
    """Take in a batch by `push`, less its rows from the future; what `late_to` raises comes out of the next call."""
    live.aside.hand_over()
    sifted = Sifted(live, frame)
    with live.learning(live.kinds.in_frame(sifted.rest)):
        result = push(sifted)
    with suppress(Exception):  # the answers are given all the same, and the row is offered again
        live.aside.hand_over()
    live.aside.warn(live)
    return result
