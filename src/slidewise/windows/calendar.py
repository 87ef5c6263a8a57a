"""Windows of the calendar unit so far, and the calendar: which hour, day, week, month, quarter or year a time lies in.

Times are counted in seconds since 1970 of UTC, rounded down. A zone's clock may be set back. An hour begins whenever
the clock shows a full hour or is set back, so that the hour that comes twice is two. Any longer unit begins when the
clock first reaches it, and a clock that is set back does not lead back into the one before.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

from slidewise.errors import WindowError, did_you_mean
from slidewise.windows.kind import Keeps, Kind, Reset

if TYPE_CHECKING:
    from slidewise.windows.window import Window

MOMENTS_NEEDED = "give times as timestamps or dates, or a window as a number, such as over(3600) or gap=3600"
UNITS = ("hour", "day", "week", "month", "quarter", "year", "iso year")
SECOND = 1_000_000_000  # in nanoseconds
HOUR, DAY = 3_600, 86_400  # in seconds
SPAN = 2**25  # seconds, about a year: so far apart are spans of time whose changes of the clock are found at once
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = ((datetime(year, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(seconds=1) for year in (2, 9_999))
_CYCLE = 146_097 * DAY  # 400 years, after which the calendar repeats


class CalendarKind(Kind):
    """The calendar unit so far that the row's time lies in."""

    name = "calendar"
    keeps = Keeps.STATE
    clocked = True

    def words(self, window: Window) -> str:
        assert isinstance(window.reset, CalendarUnit)
        zone = window.reset.zone
        return f"this {window.reset.unit}" + ("" if zone is None else f" in {zone}")

    def phrase(self, window: Window) -> str:
        return self.words(window)

    def note(self, window: Window) -> str:
        assert isinstance(window.reset, CalendarUnit)
        where = "UTC, or the clock of times without a zone" if window.reset.zone is None else window.reset.zone
        return f"begins anew: with each {window.reset.unit} of {where}"


CALENDAR = CalendarKind()


@dataclass(frozen=True, slots=True)
class CalendarUnit(Reset):
    """A window begins anew with each unit of the calendar, in a zone, or in UTC and on the clock that is shown.

    >>> day = CalendarUnit.of("this day", "Europe/Berlin").ticking(10**9)
    >>> day.goes_on(0, 82_799), day.goes_on(0, 82_800)
    (True, False)
    """

    kind = CALENDAR

    unit: str
    zone: str | None = None
    tick: int | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, text: str, zone: object = None) -> CalendarUnit:
        """Check what the user wrote, such as "this day"."""
        unit = " ".join(text.split()[1:])
        if unit not in UNITS:
            known = [f"this {known}" for known in UNITS]
            raise WindowError(
                f"{text!r} is none of {', '.join(map(repr, known))}{did_you_mean(' '.join(text.split()), known)}"
            )
        check_zone(zone)
        return cls(unit, zone)  # type: ignore[arg-type]

    def ticking(self, tick: int | None) -> CalendarUnit:
        return replace(self, tick=tick)

    def goes_on(self, before: Any, place: Any) -> bool:
        assert self.tick is not None, "numbers are no times of a calendar"
        return self.number(before * self.tick // SECOND) == self.number(place * self.tick // SECOND)

    def number(self, second: int) -> int:
        """A number that tells the units apart that times lie in; it never falls from unit to unit."""
        if self.unit == "hour":
            return second // HOUR if self.zone is None else _start_of_hour(self.zone, second)
        clock = second if self.zone is None else _clock(self.zone, second)
        return int(unit_of_day(self.unit, clock // DAY))

    def described(self) -> list[Any]:
        return ["this", self.unit, self.zone]

    def written(self) -> dict[str, Any]:
        return {"over": f"this {self.unit}"} | ({} if self.zone is None else {"zone": self.zone})

    def shown(self) -> list[str]:
        return [repr(f"this {self.unit}")] + ([] if self.zone is None else [f"zone={self.zone!r}"])


def unit_of_day(unit: str, day: Any) -> Any:
    """The number of the unit that a day since 1970 lies in; of a number, or of an array of them.

    >>> [unit_of_day("month", day) for day in (-1, 0, 30, 31)]
    [23639, 23640, 23640, 23641]
    """
    if unit == "day":
        return day
    week = (day + 3) // 7  # 1970 began on a Thursday
    if unit == "week":
        return week
    if unit == "iso year":
        return month_of_day(week * 7) // 12  # the year that the week's Thursday lies in
    month = month_of_day(day)
    return month if unit == "month" else month // 3 if unit == "quarter" else month // 12


def month_of_day(day: Any) -> Any:
    """The month that a day since 1970 lies in, counted from January of the year 0 on; of a number, or of an array."""
    day = day + 719_468  # since 1 March of the year 0
    era = day // 146_097
    of_era = day - era * 146_097
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    return (year + 400 * era) * 12 + (5 * of_year + 2) // 153 + 2  # counted from March on


def check_zone(zone: object) -> None:
    """Refuse a zone that nobody knows."""
    if zone is None:
        return
    if not isinstance(zone, str):
        raise WindowError(f"zone= is a name such as 'Europe/Berlin', not {zone!r}")
    try:
        _zone(zone)
    except Exception as error:  # a name that is no file, an absolute path, a directory, no zone data at all
        raise WindowError(
            f"the zone {zone!r} is not known; write a name such as 'Europe/Berlin' or 'UTC', and install tzdata where "
            f"this machine has no zones ({error})"
        ) from None


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _offset(zone: str, second: int) -> int:
    """How many seconds a zone's clock is ahead of UTC; beyond the years that Python knows as in those beside them."""
    second = max(second, _FIRST)
    if second >= _LAST:
        second = _LAST - _CYCLE + (second - _LAST) % _CYCLE
    offset = (_EPOCH + timedelta(seconds=second)).astimezone(_zone(zone)).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


class ClockChanges(NamedTuple):
    """When a clock is changed: the offset before the first change, the times of changes, and the offset after each."""

    before: int
    times: tuple[int, ...]
    after: tuple[int, ...]

    def offset_at(self, second: int) -> int:
        at = bisect_right(self.times, second)
        return self.after[at - 1] if at else self.before

    def pairs(self) -> list[tuple[int, int, int]]:
        """Each change: its time, and the offsets before and after it."""
        return list(zip(self.times, (self.before, *self.after), self.after, strict=False))


@lru_cache(4_096)
def changes_of_span(zone: str, span: int) -> ClockChanges:
    """The changes of a zone's clock within [span, span + 1) spans of time.

    Offsets are looked up day by day, and a change found by bisection: no clock is set twice within a day.
    """
    first = span * SPAN
    low, offset = first, _offset(zone, first)
    before, times, after = offset, [], []
    if first < _FIRST - SPAN:
        return ClockChanges(before, (), ())
    for day in range(first + DAY, first + SPAN + DAY, DAY):
        high = min(day, first + SPAN - 1)
        newer = _offset(zone, high)
        if newer != offset:
            a, b = low, high  # the old offset at a, another at b
            while b - a > 1:
                middle = (a + b) // 2
                a, b = (middle, b) if _offset(zone, middle) == offset else (a, middle)
            times.append(b)
            after.append(newer)
        low, offset = high, newer
    start = _offset(zone, first - 1)
    if start != before:  # the clock is changed as the span begins
        return ClockChanges(start, (first, *times), (before, *after))
    return ClockChanges(before, tuple(times), tuple(after))


@lru_cache(4_096)
def changes_until(zone: str, span: int) -> ClockChanges:
    """The changes within a span and the one before it: all that a time in the span can depend on."""
    older, newer = changes_of_span(zone, span - 1), changes_of_span(zone, span)
    return ClockChanges(older.before, older.times + newer.times, older.after + newer.after)


def _clock(zone: str, second: int) -> int:
    """What a zone's clock shows, in seconds, or has shown before it was set back."""
    changes = changes_until(zone, second // SPAN)
    clock = second + changes.offset_at(second)
    for time, before, _ in changes.pairs():
        if time <= second:
            clock = max(clock, time - 1 + before)
    return clock


def _start_of_hour(zone: str, second: int) -> int:
    """When the hour of a zone's clock began that a time lies in."""
    changes = changes_until(zone, second // SPAN)
    start = second - (second + changes.offset_at(second)) % HOUR
    at = bisect_right(changes.times, second)
    if not at or changes.times[at - 1] <= start:
        return start
    return hour_since_change(zone, changes, at - 1)


def hour_since_change(zone: str, changes: ClockChanges, at: int) -> int:
    """When the hour began that goes on as a clock is changed: with the change, unless that is forward within it."""
    time, before, after = changes.pairs()[at]
    if after > before and (time - 1 + before) // HOUR == (time + after) // HOUR:
        return _start_of_hour(zone, time - 1)
    return time
