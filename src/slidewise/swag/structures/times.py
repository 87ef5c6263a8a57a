"""Times of rows: datetimes in windows with a length of time, or numbers in windows with a number."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from numbers import Real
from typing import Any, TypeAlias

from slidewise.errors import SlidewiseError
from slidewise.operators.values.hashing import is_finer, plain
from slidewise.windows import Duration
from slidewise.windows.time import check_length

RowTime: TypeAlias = Any  # of a row: a number or a datetime, and with `Fiba` whatever can be ordered
TimeSpan: TypeAlias = timedelta | int | float  # of a window


def length_of(last: Duration | timedelta | str | int | float) -> TimeSpan:
    """A window's length as a timedelta or a number."""
    length = check_length(last)
    return length.timedelta() if isinstance(length, Duration) else length


def check_time(t: RowTime, last: TimeSpan, before: RowTime) -> RowTime:
    """A time as windows keep it: in UTC where it has a zone, a date as its midnight. `before` is an earlier one."""
    if hasattr(t, "dtype"):
        t = _in_nanoseconds(t) if t == t and is_finer(t) else plain(t)
    if isinstance(last, timedelta):
        if not isinstance(t, date) or t != t:
            if isinstance(t, str):
                raise SlidewiseError(f"the time {t!r} is text; give it as datetime.fromisoformat({t!r})")
            raise SlidewiseError(
                f"the time {t!r} is no datetime, but the window lasts {last}; where times are numbers, give last= as a "
                "number"
            )
        if not isinstance(t, datetime):
            t = datetime(t.year, t.month, t.day)
        if t.tzinfo is not None:
            t = t.astimezone(UTC)
        if before is not None and (t.tzinfo is None) != (before.tzinfo is None):
            raise SlidewiseError(f"the time {t} and the one before it, {before}, must both have a zone, or neither")
    elif isinstance(t, bool) or not isinstance(t, Real) or not math.isfinite(t):
        raise SlidewiseError(
            f"the time {t!r} is no finite number, but the window's length is {last}; where times are datetimes, give "
            "last= as a duration such as '10 minutes'"
        )
    return t


def _in_nanoseconds(t: RowTime) -> RowTime:
    """NumPy's time in nanoseconds as a datetime that keeps them, which only pandas has."""
    try:
        from pandas import Timestamp
    except ImportError:
        raise SlidewiseError(
            f"the time {t} is finer than microseconds, which Python's datetimes end at; install pandas, whose "
            "Timestamp keeps nanoseconds, or count nanoseconds as whole numbers, with last= as a number of them"
        ) from None
    return Timestamp(t)


def is_in(time: RowTime, now: RowTime, last: TimeSpan, closed: str) -> bool:
    """Whether a row is young enough; ages of whole numbers and datetimes are exact, and floats are rounded."""
    if isinstance(now, float):
        edge = now - last  # type: ignore[operator]  # a number, as all times are then
        return bool(time > edge or time == now or (time == edge and closed in ("both", "left")))
    age = now - time
    return bool(age < last or (age == last and closed in ("both", "left")))
