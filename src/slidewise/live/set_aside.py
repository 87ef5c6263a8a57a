"""Events that are not taken in: those that come too late, and those too far ahead of time to be believed.

One wrong clock is enough to spoil a stream: an event from next year makes all that follow it late. A guard puts events
aside whose times lie too far past a reference, the machine's clock or the newest time so far: they are not believed.
"""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from slidewise.errors import SlidewiseError, WindowError, users_stack_level
from slidewise.live.clock import NUMBER, earlier, whole_or_float
from slidewise.windows import Duration
from slidewise.windows.window import check_length

if TYPE_CHECKING:
    from slidewise.live.live import Live

LATE, AHEAD = "late", "ahead"
LateTo = Callable[[dict[str, Any], str], Any]
_FEW, _SHARE = 100, 20  # events before which nobody is warned, and one in how many may be dropped


class Due(list[dict[str, Any]]):
    """Events, or beats, with their answers; `dropped` is why the event that was pushed is not taken in: None where it
    is, "late" or "ahead"."""

    dropped: str | None = None

    @classmethod
    def of(cls, rows: list[dict[str, Any]], dropped: str | None = None) -> Due:
        found = cls(rows)
        found.dropped = dropped
        return found


def machine_time() -> int:
    """The machine's clock, in nanoseconds since 1970, UTC."""
    return clock.time_ns()


class Guard:
    """Tells times more than `length` past a reference, `of`: "clock", or "stream", which is the newest time so far."""

    def __init__(self, ahead: Duration | timedelta | str | int | float, of: str | None) -> None:
        self.given = check_length(ahead)
        moments = isinstance(self.given, Duration)
        self.length: Any = self.given.ns if isinstance(self.given, Duration) else self.given
        if of not in (None, "clock", "stream"):
            raise SlidewiseError(f"ahead_of={of!r} is none of 'clock' and 'stream'")
        if of == "clock" and not moments:
            raise SlidewiseError(
                f"ahead={ahead!r} is for times that are numbers, and no clock shows these; use ahead_of='stream'"
            )
        self.of = of or ("clock" if moments else "stream")
        self.newest: Any = None

    def check(self, kind: str | None) -> None:
        """Refuse a length that does not go with this kind of time."""
        if kind == NUMBER and isinstance(self.given, Duration):
            raise WindowError(f"times are numbers, but ahead= is {self.given}; write it as a number")
        if kind not in (NUMBER, None) and not isinstance(self.given, Duration):
            raise WindowError(f"times are datetimes, but ahead= is {self.given}; write ahead='1 day', say")

    def is_ahead(self, time: Any, kind: str | None) -> bool:
        """Whether a time is not to be believed."""
        self.check(kind)
        reference = machine_time() if self.of == "clock" else self.newest
        return bool(reference is not None and earlier(time, self.length) > reference)

    def believe(self, time: Any) -> None:
        """An event of this time was taken in."""
        if self.newest is None or time > self.newest:
            self.newest = time

    def rows_ahead(self, times: Any, kind: str | None) -> tuple[Any, Any]:
        """Which of a batch's rows are not to be believed, each by those before it; and the newest time that is."""
        import numpy as np

        from slidewise.live.batch.ahead_of_clock import ahead_of_clock, ahead_of_stream

        if not len(times):
            return np.empty(0, np.int64), self.newest
        self.check(kind)
        length = whole_or_float(self.length, times.dtype.kind != "f")
        if self.of == "clock":
            ahead = ahead_of_clock(times, length, machine_time())
        else:
            ahead = ahead_of_stream(times, length, times[0] if self.newest is None else times.dtype.type(self.newest))
        believed = [] if self.newest is None else [self.newest]
        if not ahead.all():
            believed.append(times[~ahead].max().item())
        return np.flatnonzero(ahead), max(believed, default=None)


class Aside:
    """Events that were not taken in: how many lay ahead, who is told of each, and those that are still to be told."""

    def __init__(self, guard: Guard | None = None, late_to: LateTo | None = None) -> None:
        self.guard = guard
        self.late_to = late_to
        self.ahead = 0
        self.rows: list[tuple[dict[str, Any], str]] = []
        self._warned = False

    def put(self, row: Mapping[str, Any], reason: str) -> None:
        """Keep a row until `late_to` has it, if there is one."""
        if self.late_to is not None:
            self.rows.append((dict(row), reason))

    def hand_over(self) -> None:
        """Give `late_to` the rows that it has not had yet; one at which it raises is offered again next time."""
        while self.rows and self.late_to is not None:
            self.late_to(*self.rows[0])
            del self.rows[0]

    def warn(self, live: Live) -> None:
        """Warn, once, where so many events are dropped that a wrong clock may be the reason."""
        dropped = live.dropped + self.ahead
        if self._warned or live.events < _FEW or dropped * _SHARE <= live.events:
            return
        self._warned = True
        newest = live.newest
        if newest is None:
            newest = max((track.now for track in live.tracks.values() if track.now is not None), default=None)
        remedy = (
            "one event from the future makes all that follow it late: ahead='1 day', say, puts such events aside"
            if self.guard is None
            else f"{self.ahead} of them lie more than ahead={str(self.guard.given)!r} past the {self.guard.of}"
        )
        warnings.warn(
            f"{dropped} of {live.events} events were dropped as too late or too far ahead, and the newest time is "
            f"{live.clock.shown(newest)}; {remedy}, and late_to= gives you those that are dropped",
            stacklevel=users_stack_level(),
        )


def aside_of(late: str, has_time: bool, ahead: Any, ahead_of: str | None, late_to: LateTo | None) -> Aside:
    """What `live(ahead=..., ahead_of=..., late_to=...)` asks for."""
    if ahead is None:
        if ahead_of is not None:
            raise SlidewiseError(
                f"ahead_of={ahead_of!r} says what ahead= goes by, and there is none; add ahead='1 day'"
            )
    elif not has_time:
        raise SlidewiseError("ahead= goes by time, and this definition has no time column")
    if late_to is not None and late == "error" and ahead is None:
        raise SlidewiseError(
            "late_to= gets events that are dropped, and late='error' raises instead; use late='drop', 'wait:10s' or "
            "'revise', or ahead="
        )
    if late_to is not None and not callable(late_to):
        raise SlidewiseError(f"late_to= is a function of a row and the reason, not {late_to!r}")
    return Aside(None if ahead is None else Guard(ahead, ahead_of), late_to)
