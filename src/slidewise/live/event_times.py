"""Event times as numbers: nanoseconds since 1970 where they are datetimes, themselves where they are numbers."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

from slidewise.definition import Definition
from slidewise.errors import InputError, WindowError
from slidewise.live.types import Time
from slidewise.operators.values.hashing import plain
from slidewise.windows import Duration, Months
from slidewise.windows.calendar import MOMENTS_NEEDED
from slidewise.windows.zones import NO_DATES

_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_NUMPY_UNITS = {"s": 10**9, "ms": 10**6, "us": 1_000, "ns": 1}

# What a time is. Datetimes with a zone and without one cannot be compared, so a stream has the one or the other.
NUMBER, NAIVE, ZONED = "numbers", "datetimes without a zone", "datetimes with a zone"


def earlier(time: Time, length: Time) -> Time | Fraction:
    """The time a length before another: exact where that is a whole number, rounded where it is a float.

    >>> earlier(10**18 + 1, 0.5) < 10**18 + 1, earlier(10**18 + 1, 0.5) > 10**18
    (True, True)
    """
    if type(length) is float and type(time) is not float:
        return time - Fraction(length)
    return time - length


def length_in(length: Time, whole: bool) -> Time:
    """A length as a number of the times in an array, whole or floats; among whole times, half a tick adds nothing."""
    return math.floor(length) if whole else float(length)


class TimeReader:
    """Reads the event times of a stream, which are all of one kind, as numbers."""

    __slots__ = ("_definition", "fractions", "kind")

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self.kind: str | None = None
        self.fractions = False  # whether a time was a float, so that all that follow are

    def read(self, time: Any, what: str = "") -> tuple[Time, str]:
        """A time as a number, and its kind; the stream's `kind` stays until the event is taken in.

        `what` names the time in errors; the event's, if not said.
        """
        if type(time) is datetime:
            zoned = time.tzinfo is not None
            age = time - (_EPOCH_UTC if zoned else _EPOCH)
            number: Time = (age.days * 86_400 + age.seconds) * 1_000_000_000 + age.microseconds * 1_000
            kind = ZONED if zoned else NAIVE
        elif type(time) is int:
            number, kind = float(time) if self.fractions else time, NUMBER
        else:
            number, kind = self._other(time, what or f"the event's time {self._definition.on!r}")
        if kind is not self.kind:
            self.check(kind, time, is_date=_is_date(time))
        return number, kind

    def _other(self, time: Any, what: str) -> tuple[Time, str]:
        """Read times of rarer types."""
        if time is None or time != time:
            raise InputError(f"{what} is {time!r}; every event needs a time, so leave it out or fill it in")
        if hasattr(time, "dtype") and time.dtype.kind == "M":
            import numpy as np

            unit, count = np.datetime_data(time.dtype)
            if unit not in _NUMPY_UNITS:
                time, unit, count = time.astype("M8[s]"), "s", 1
            return int(time.astype(np.int64)) * count * _NUMPY_UNITS[unit], NAIVE
        if isinstance(time, datetime):
            number, kind = self.read(datetime.combine(time.date(), time.timetz()))
            return number + getattr(time, "nanosecond", 0), kind  # which pandas' Timestamp knows
        if isinstance(time, date):
            return (time.toordinal() - _EPOCH.toordinal()) * 86_400_000_000_000, NAIVE
        time = plain(time)
        if isinstance(time, Real) and not isinstance(time, bool) and math.isfinite(time):
            return (int(time) if isinstance(time, Integral) and not self.fractions else float(time)), NUMBER
        raise InputError(
            f"{what} is {time!r}, which is no datetime, date or finite number"
            + ("; give it as datetime.fromisoformat(...)" if isinstance(time, str) else "")
        )

    def check(self, kind: str, time: Any, *, is_date: bool = False) -> None:
        """Refuse a kind of time that differs from the stream's, or that the definition's windows do not go with."""
        if self.kind is not None:
            if kind != self.kind:
                raise InputError(f"the time {time!r} is one of {kind}, but the stream's times are {self.kind}")
            return
        for name, aggregate in self._definition.aggregates.items():
            last = None if aggregate.window is None else aggregate.window.measure
            if kind == NUMBER and aggregate.window is not None and aggregate.window.needs_moments:
                raise WindowError(
                    f"times are numbers, but {name!r} is over {aggregate.window.words}, a part of the calendar; "
                    f"{MOMENTS_NEEDED}"
                )
            zone = None if aggregate.window is None else aggregate.window.zone
            if zone is not None and is_date:
                raise WindowError(f"times are dates, but {name!r} has zone={zone!r}: {NO_DATES}")
            if isinstance(last, Duration | Months) and kind == NUMBER:
                raise WindowError(f"times are numbers, but {name!r} is over {last}; give its window as a number")
            if aggregate.window is not None and isinstance(last, int | float) and kind != NUMBER:
                raise WindowError(
                    f"times are datetimes, but {name!r} is over the number {last!r}; write it as "
                    f"{aggregate.window.as_duration}, say"
                )

    def moment(self, number: Time) -> Any:
        """A number as a time such as events have: a number, or a datetime, in UTC where it has a zone."""
        if self.kind == NUMBER or self.kind is None:
            return number
        moment = _EPOCH + timedelta(microseconds=number // 1_000)
        if number % 1_000:
            import pandas as pd

            return pd.Timestamp(number, tz="UTC" if self.kind == ZONED else None)
        return moment.replace(tzinfo=UTC) if self.kind == ZONED else moment

    def shown(self, number: Time, kind: str | None = None) -> object:
        """A number as the time that it stands for, for people to read; `kind` where it is not yet the stream's."""
        kind = kind or self.kind
        if kind == NUMBER or kind is None:
            return number
        try:
            time = (_EPOCH_UTC if kind == ZONED else _EPOCH) + timedelta(microseconds=number // 1_000)
        except OverflowError:
            return f"{number} ns after 1970"
        rest = number % 1_000
        return f"{time}{f' and {rest} ns' if rest else ''}"


def _is_date(time: Any) -> bool:
    """Whether a time is a date, which has no time of day."""
    if isinstance(time, date):
        return not isinstance(time, datetime)
    return str(getattr(time, "dtype", "")) == "datetime64[D]"
