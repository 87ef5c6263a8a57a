"""Windows of the last stretch of time, and lengths as users write them."""

from __future__ import annotations

import math
from datetime import timedelta
from fractions import Fraction
from numbers import Integral, Real

from slidewise.errors import WindowError
from slidewise.windows.duration import Duration
from slidewise.windows.kind import Keeps, Kind

TIME = Kind("time", Keeps.ROWS, timed=True)

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
    """A length in a unit of so many nanoseconds; numbers are as they are."""
    return Fraction(length.ns, unit or 1) if isinstance(length, Duration) else length
