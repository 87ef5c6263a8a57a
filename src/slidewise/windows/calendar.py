"""Windows of the calendar unit so far, and the calendar: which hour, day, week, month, quarter or year a time lies in.

Times are counted in seconds since 1970 of UTC, rounded down. A zone's clock may be set back. An hour begins whenever
the clock shows a full hour or is set back, so that the hour that comes twice is two. Any longer unit begins when the
clock first reaches it, and a clock that is set back does not lead back into the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from slidewise.errors import WindowError, did_you_mean
from slidewise.windows.kind import Keeps, Kind, Reset
from slidewise.windows.months import month_and_day
from slidewise.windows.zones import DAY, SPAN, ZoneClock, check_zone, clock_of

if TYPE_CHECKING:
    from slidewise.windows.window import Window

MOMENTS_NEEDED = "give times as timestamps or dates, or a window as a number, such as over(3600) or gap=3600"
UNITS = ("hour", "day", "week", "month", "quarter", "year", "iso year")
SECOND = 1_000_000_000  # in nanoseconds
HOUR = 3_600  # in seconds


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
        return cls(unit, check_zone(zone))

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


def check_words(text: str) -> None:
    """Say what may be meant by a unit of the calendar that is no window: "today", "day" or "This Day"."""
    words = " ".join(text.split()).casefold()
    unit = "day" if words == "today" else words.removeprefix("this ")
    if unit in UNITS:
        raise WindowError(
            f"{text!r} is no window; did you mean 'this {unit}', the calendar's {unit} so far, or "
            f"'1 {unit.removeprefix('iso ')}', the time before each row?"
        )


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
        return month_and_day(week * 7)[0] // 12  # the year that the week's Thursday lies in
    month = month_and_day(day)[0]
    return month if unit == "month" else month // 3 if unit == "quarter" else month // 12


def _clock(zone: str, second: int) -> int:
    """What a zone's clock shows, in seconds, or has shown before it was set back."""
    changes = changes_until(zone, second)
    clock = second + changes.offset_at(second)
    for time, before in zip(changes.times, changes.offsets, strict=False):
        if time <= second:
            clock = max(clock, time - 1 + before)
    return clock


def _start_of_hour(zone: str, second: int) -> int:
    """When the hour of a zone's clock began that a time lies in."""
    changes = changes_until(zone, second)
    at = changes.piece_at(second)
    start = second - (second + changes.offsets[at]) % HOUR
    if not at or changes.times[at - 1] <= start:
        return start
    return hour_since_change(zone, changes, at - 1)


def changes_until(zone: str, second: int) -> ZoneClock:
    """The clock for more than a year before a time, and some time after it: all that its unit can depend on."""
    span = second // SPAN
    return clock_of(zone, span - 1, span)


def hour_since_change(zone: str, changes: ZoneClock, at: int) -> int:
    """When the hour began that goes on as a clock is changed: with the change, unless that is forward within it."""
    time, before, after = changes.times[at], changes.offsets[at], changes.offsets[at + 1]
    if after > before and (time - 1 + before) // HOUR == (time + after) // HOUR:
        return _start_of_hour(zone, time - 1)
    return time
