"""Windows of the last stretch of time, and lengths as users write them."""

from __future__ import annotations

import math
from datetime import timedelta
from fractions import Fraction
from numbers import Integral, Real

from slidewise.errors import WindowError
from slidewise.windows.duration import Duration
from slidewise.windows.kind import Keeps, Kind


class TimeKind(Kind):
    """The last stretch of time; times are places."""

    name = "time"
    keeps = Keeps.ROWS
    own_rows = True
    timed = True
    shared = True


TIME = TimeKind()

Length = Duration | int | float


def check_length(last: Length | timedelta | str) -> Length:
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


def length_in(length: Length, unit: int | None) -> Fraction | int | float:
    """A length in a unit of so many nanoseconds, or in nanoseconds; numbers are as they are."""
    if not isinstance(length, Duration):
        return length
    return length.ns if unit is None else Fraction(length.ns, unit)


def as_written(length: object) -> str | int | float:
    """A length as users write it: a number, or a duration or months as text."""
    return length if isinstance(length, int | float) else str(length)
