"""Events that are set aside instead of taken in: those that come too late, and those too far ahead of time.

One wrong clock is enough to spoil a stream: an event from next year makes all that follow it late. A guard sets events
aside whose times lie too far past a reference, the machine's clock or the newest time so far. What is set aside is
counted, and goes to the side output `late_to`.
"""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from slidewise.errors import SlidewiseError, WindowError, users_stack_level
from slidewise.live.event_times import NUMBER, earlier
from slidewise.live.types import EventRow, Time
from slidewise.windows import Duration
from slidewise.windows.time import check_length

if TYPE_CHECKING:
    from slidewise.live.live import Live

LATE, AHEAD = "late", "ahead"
LateTo = Callable[[dict[str, Any], str], Any]
AheadLength = Duration | timedelta | str | int | float
_FEW, _SHARE = 100, 20  # events before which nobody is warned, and one in how many may be dropped


class PushResult(list[dict[str, Any]]):
    """The result of `push`: events, or beats, with their answers.

    `dropped` is why the event was not taken in, "late" or "ahead"; None where it was.
    """

    dropped: str | None = None

    @classmethod
    def of(cls, rows: list[dict[str, Any]], dropped: str | None = None) -> PushResult:
        result = cls(rows)
        result.dropped = dropped
        return result


def machine_time() -> int:
    """The machine's clock, in nanoseconds since 1970, UTC."""
    return clock.time_ns()


class AheadGuard:
    """Tells times that lie more than `length` past a reference: of the machine's "clock", or of the "stream", whose
    reference is the newest time so far."""

    def __init__(self, ahead: AheadLength, of: str | None) -> None:
        self.limit = check_length(ahead)
        moments = isinstance(self.limit, Duration)
        self.length: Time = self.limit.ns if isinstance(self.limit, Duration) else self.limit
        if of not in (None, "clock", "stream"):
            raise SlidewiseError(f"ahead_of={of!r} is none of 'clock' and 'stream'")
        if of == "clock" and not moments:
            raise SlidewiseError(
                f"ahead={ahead!r} is for times that are numbers, and no clock shows these; use ahead_of='stream'"
            )
        self.of = of or ("clock" if moments else "stream")
        self.newest: Time | None = None

    def check(self, kind: str | None) -> None:
        """Refuse a length that does not go with this kind of time."""
        if kind == NUMBER and isinstance(self.limit, Duration):
            raise WindowError(f"times are numbers, but ahead= is {self.limit}; write it as a number")
        if kind not in (NUMBER, None) and not isinstance(self.limit, Duration):
            raise WindowError(f"times are datetimes, but ahead= is {self.limit}; write ahead='1 day', say")

    def is_ahead(self, time: Time, kind: str | None) -> bool:
        """Whether a time lies too far ahead."""
        self.check(kind)
        reference = machine_time() if self.of == "clock" else self.newest
        return bool(reference is not None and earlier(time, self.length) > reference)

    def accept(self, time: Time) -> None:
        """Note that an event of this time was taken in."""
        if self.newest is None or time > self.newest:
            self.newest = time


class SetAside:
    """The side output of events that are not taken in: how many lay ahead, and the rows that `late_to` has still to
    get. Where a stream's state is gone on from, `released` is the time up to which the stream has taken events in."""

    def __init__(self, guard: AheadGuard | None = None, late_to: LateTo | None = None) -> None:
        self.guard = guard
        self.released: Time | None = None
        self.late_to = late_to
        self.ahead = 0
        self.rows: list[tuple[dict[str, Any], str]] = []
        self._warned = False

    def is_released(self, time: Time) -> bool:
        """Whether an event of this time is one that the stream before has had, or has dropped as late."""
        return self.released is not None and time <= self.released

    def put(self, row: EventRow, reason: str) -> None:
        """Queue a row for `late_to`, if there is one."""
        if self.late_to is not None:
            self.rows.append((dict(row), reason))

    def hand_over(self) -> None:
        """Give `late_to` the rows in the queue; one at which it raises is offered again next time."""
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
            of_keys = (key_state.now for key_state in live.key_states.values())
            newest = max((now for now in of_keys if now is not None), default=None)
        shown = None if newest is None else live.time_reader.shown(newest)
        remedy = (
            "one event from the future makes all that follow it late: ahead='1 day', say, puts such events aside"
            if self.guard is None
            else f"{self.ahead} of them lie more than ahead={str(self.guard.limit)!r} past the {self.guard.of}"
        )
        warnings.warn(
            f"{dropped} of {live.events} events were dropped as too late or too far ahead, and the newest time is "
            f"{shown}; {remedy}, and late_to= gives you those that are dropped",
            stacklevel=users_stack_level(),
        )


def set_aside_of(
    late: str, has_time: bool, ahead: AheadLength | None, ahead_of: str | None, late_to: LateTo | None
) -> SetAside:
    """The guard and the side output of `live(ahead=..., ahead_of=..., late_to=...)`, checked."""
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
    return SetAside(None if ahead is None else AheadGuard(ahead, ahead_of), late_to)
