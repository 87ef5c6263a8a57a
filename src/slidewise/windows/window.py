"""Windows as plain data: which rows an aggregate sees. Nothing here runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from numbers import Integral, Real

from slidewise.errors import WindowError, did_you_mean
from slidewise.windows.duration import Duration
from slidewise.windows.kind import Keeps

CLOSED = ("right", "both", "left", "neither")


def check_closed(closed: str) -> str:
    """Give `closed` back where it is one of the four ends, and say what they are where it is not."""
    if closed not in CLOSED:
        raise WindowError(
            f"closed={closed!r} is none of {', '.join(map(repr, CLOSED))}" + did_you_mean(str(closed), CLOSED)
        )
    return closed


def check_grain(
    grain: Duration | timedelta | str | int | float, last: Duration | int | float | None
) -> Duration | int | float:
    """The grain of a time window: a length like the window's own, and no longer."""
    if last is None:
        raise WindowError(
            f"grain={grain!r} is for windows of time, in which rows leave together; give a length such as '1 hour', or "
            "leave out the grain"
        )
    try:
        found = check_length(grain)
    except WindowError as error:
        raise WindowError(f"grain={grain!r}: {error}") from None
    if isinstance(found, Duration) != isinstance(last, Duration):
        kind = "a duration, such as '1 second'" if isinstance(last, Duration) else "a number"
        raise WindowError(f"grain={grain!r} does not go with the window {str(last)!r}; write it as {kind}")
    if _size(found) > _size(last):
        raise WindowError(f"grain={grain!r} is longer than the window, {str(last)!r}; take a shorter one")
    return found


def check_length(last: Duration | timedelta | str | int | float) -> Duration | int | float:
    """A time window's length: a duration, or a positive number where times are numbers."""
    if isinstance(last, bool):
        raise WindowError(f"a window's length is a duration or a number, not {last!r}")
    if isinstance(last, Real):
        number = int(last) if isinstance(last, Integral) else float(last)
        last = int(number) if isinstance(number, float) and number.is_integer() else number
        if not last > 0 or math.isinf(last):
            raise WindowError(f"a window's length must be positive and finite, but is {last!r}")
        return last
    return Duration.of(last)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, repr=False)
class Window:
    """The last `rows` rows, or the stretch of time `last`, or everything so far when neither is given.

    `at_least` is the number of rows below which the answer is null; None leaves it to the operator. `grain` rounds the
    old edge of a stretch of time down to a multiple of it, so that rows leave together.

    >>> Window.of("10 minutes", closed="both")
    over('10 minutes', closed='both')
    >>> Window.of(rows=100, at_least=10)
    over(rows=100, at_least=10)
    >>> Window.of("1 hour", grain="1s")
    over('1 hour', grain='1 second')
    """

    rows: int | None = None
    last: Duration | int | float | None = None
    closed: str = "right"
    at_least: int | None = None
    grain: Duration | int | float | None = None

    @classmethod
    def of(
        cls,
        last: Duration | timedelta | str | int | float | None = None,
        *,
        rows: int | None = None,
        closed: str = "right",
        at_least: int | None = None,
        grain: Duration | timedelta | str | int | float | None = None,
    ) -> Window:
        """Check what the user wrote and make it a window; `last="all"` is a running aggregate."""
        check_closed(closed)
        if (last is None) == (rows is None):
            raise WindowError("give a window either a length, such as '10 minutes' or 'all', or rows=n, and not both")
        if at_least is not None and (not _is_int(at_least) or at_least < 1):
            raise WindowError(f"at_least is a whole number of rows from 1 on, but is {at_least!r}")
        at_least = None if at_least is None else int(at_least)
        length = None if last is None or last == "all" else check_length(last)
        fine = None if grain is None else check_grain(grain, length)
        if rows is not None:
            if not _is_int(rows) or rows < 1:
                raise WindowError(f"rows is a whole number from 1 on, but is {rows!r}")
            if closed not in ("right", "left"):
                raise WindowError(f"a row window is closed 'right' or 'left', not {closed!r}; only times have two ends")
            if at_least is not None and at_least > rows:
                raise WindowError(f"at_least={at_least} can never be met by a window of rows={rows}")
            return cls(rows=int(rows), closed=closed, at_least=at_least)
        return cls(last=length, closed=closed, at_least=at_least, grain=fine)

    @property
    def keeps(self) -> Keeps:
        """What is kept of a key between batches."""
        if self.grain is not None:
            return Keeps.CELLS
        return Keeps.STATE if self.rows is None and self.last is None else Keeps.ROWS

    def __repr__(self) -> str:
        if self.rows is not None:
            parts = [f"rows={self.rows}"]
        elif self.last is None:
            parts = ["'all'"]
        else:
            parts = [_shown(self.last)]
        if self.closed != "right":
            parts.append(f"closed={self.closed!r}")
        if self.at_least is not None:
            parts.append(f"at_least={self.at_least}")
        if self.grain is not None:
            parts.append(f"grain={_shown(self.grain)}")
        return f"over({', '.join(parts)})"


def _shown(length: Duration | int | float) -> str:
    return repr(str(length)) if isinstance(length, Duration) else repr(length)


def _size(length: Duration | int | float) -> int | float:
    return length.ns if isinstance(length, Duration) else length


def _is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
