"""Stretches of time, held exactly as a whole number of nanoseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction

from slidewise.errors import WindowError, did_you_mean

# Nanoseconds per unit, the largest first; the first spelling is the one that is printed.
_UNITS: dict[tuple[str, ...], int] = {
    ("weeks", "week", "w"): 604_800_000_000_000,
    ("days", "day", "d"): 86_400_000_000_000,
    ("hours", "hour", "hrs", "hr", "h"): 3_600_000_000_000,
    ("minutes", "minute", "mins", "min", "m"): 60_000_000_000,
    ("seconds", "second", "secs", "sec", "s"): 1_000_000_000,
    ("milliseconds", "millisecond", "millis", "ms"): 1_000_000,
    ("microseconds", "microsecond", "micros", "us", "\u00b5s", "\u03bcs"): 1_000,
    ("nanoseconds", "nanosecond", "nanos", "ns"): 1,
}
_SPELLINGS = {spelling: ns for spellings, ns in _UNITS.items() for spelling in spellings}
_NO_FIXED_LENGTH = {"month", "months", "mo", "quarter", "quarters", "q", "year", "years", "y"}
_TERM = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([^\W\d_]+)\s*,?")


@dataclass(frozen=True, slots=True)
class Duration:
    """A positive stretch of time; a day is 24 hours, whatever the time zone does.

    >>> Duration.of("90s")
    Duration('90 seconds')
    >>> Duration.of("1h 30m") == Duration.of(timedelta(minutes=90))
    True
    """

    ns: int

    @classmethod
    def of(cls, value: Duration | timedelta | str) -> Duration:
        """Read a duration from text such as `"10 minutes"`, `"90s"` or `"7d"`, or from a timedelta."""
        if isinstance(value, Duration):
            return value
        if isinstance(value, timedelta):
            ns = (value.days * 86_400 + value.seconds) * 1_000_000_000 + value.microseconds * 1_000
        elif isinstance(value, str):
            ns = _parse(value)
        else:
            raise WindowError(
                f"a duration is text such as '10 minutes' or a timedelta, not {value!r} ({type(value).__name__})"
            )
        if ns <= 0:
            raise WindowError(f"a window lasts longer than nothing, but {value!r} does not; give a positive duration")
        return cls(ns)

    def timedelta(self) -> timedelta:
        """The same stretch as a timedelta, which holds whole microseconds only."""
        micros, rest = divmod(self.ns, 1_000)
        if rest:
            raise WindowError(f"{self} is not a whole number of microseconds, the finest step of Python's datetime")
        try:
            return timedelta(microseconds=micros)
        except OverflowError:
            raise WindowError(f"{self} is longer than Python's timedelta can be; shorten the window") from None

    def __str__(self) -> str:
        for (plural, singular, *_), ns in _UNITS.items():
            if plural != "weeks" and self.ns % ns == 0 and (self.ns >= ns * 2 or self.ns == ns):
                count = self.ns // ns
                if plural in ("days", "hours") or count < 1_000 or ns == 1:
                    return f"{count} {singular if count == 1 else plural}"
        return f"{self.ns} nanoseconds"

    def __repr__(self) -> str:
        return f"Duration({str(self)!r})"


def _parse(text: str) -> int:
    total = Fraction(0)
    at = 0
    while at < len(text.rstrip()):
        term = _TERM.match(text, at)
        if term is None:
            raise WindowError(f"cannot read the duration {text!r}; write a number and a unit, such as '10 minutes'")
        number, unit = term.groups()
        ns = _SPELLINGS.get(unit) or (None if unit == "M" else _SPELLINGS.get(unit.lower()))
        if unit == "M":
            raise WindowError(f"'M' in {text!r} may be minutes or months; write 'm' for minutes, or '1 month'")
        if ns is None:
            if unit.lower() in _NO_FIXED_LENGTH:
                raise WindowError(f"{unit!r} in {text!r} has no fixed length; write it in days")
            raise WindowError(
                f"unknown unit {unit!r} in the duration {text!r}; the units are w, d, h, m, s, ms, us, ns"
                + did_you_mean(unit.lower(), _SPELLINGS)
            )
        total += Fraction(number) * ns
        at = term.end()
    if total.denominator != 1:
        raise WindowError(f"the duration {text!r} is not a whole number of nanoseconds")
    if at == 0:
        raise WindowError(f"cannot read the duration {text!r}; write a number and a unit, such as '10 minutes'")
    return int(total)
