"""Windows of so many months of the calendar: from the same time of the same day, so many months before, up to the row.

A day that the earlier month does not have is its last day. So several days may look back to one: 28 to 31 March to 28
February. The edge of a window never moves back as time goes on: it is the least of what the rows from t on look back
to. On 28 to 30 March it stands at the beginning of 28 February, and on 31 March it moves through that day. In the same
way it waits where a clock is set back. A time that the clock showed twice is the first of the two, and one that it
skipped is the moment at which it did.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slidewise.errors import WindowError
from slidewise.windows.kind import Keeps, Kind
from slidewise.windows.zones import DAY, SPAN, check_zone, clock_of

if TYPE_CHECKING:
    from slidewise.windows.window import Window

SECOND = 1_000_000_000  # in nanoseconds
_UNITS = {
    **dict.fromkeys(("month", "months", "mo"), 1),
    **dict.fromkeys(("quarter", "quarters", "q"), 3),
    **dict.fromkeys(("year", "years", "y"), 12),
}
_TERM = re.compile(r"\s*([0-9]+)\s*([^\W\d_]+)\s*,?")
_MOST = 12 * 400


class MonthKind(Kind):
    """So many months of the calendar; times are places, and the length varies from row to row."""

    name = "months"
    keeps = Keeps.ROWS
    timed = True
    own_rows = True
    no_beats = "windows of one length are needed; write it in days, or leave out every="

    def note(self, window: Window) -> str:
        zone = window.last.zone if isinstance(window.last, Months) else None
        clock = f"on the clock of {zone}" if zone else "in UTC, or on the clock that is shown"
        return f"months: back to the same time of the same day, or of the month's last day, {clock}"


MONTHS = MonthKind()


@dataclass(frozen=True, slots=True)
class Months:
    """So many months back, in a zone's calendar, in that of UTC, or of the clock that is shown.

    >>> str(Months.of("1 quarter")), str(Months.of("2 years", "Europe/Berlin")), Months.of("30 days")
    ('3 months', '2 years', None)
    """

    count: int
    zone: str | None = None

    @classmethod
    def of(cls, text: object, zone: object = None) -> Months | None:
        """Read months, quarters and years; None where it is something else."""
        if isinstance(text, Months):
            return text
        terms = _TERM.findall(text) if isinstance(text, str) else []
        if not isinstance(text, str) or not any(unit.lower() in _UNITS for _, unit in terms):
            return None
        known = all(unit.lower() in _UNITS for _, unit in terms)
        if not known or _TERM.sub("", text).strip():
            raise WindowError(
                f"{text!r} is not a number of whole months, quarters and years; write '1 month' or '2 years', say, or "
                "all of it in days"
            )
        count = sum(int(number) * _UNITS[unit.lower()] for number, unit in terms)
        if not 0 < count <= _MOST:
            raise WindowError(f"a window lasts from 1 month to {_MOST // 12} years, and {text!r} does not")
        return cls(count, check_zone(zone))

    @property
    def longest(self) -> int:
        """More nanoseconds than they ever have, whatever the edge waits for."""
        return (31 * self.count + 3) * DAY * SECOND

    def edge(self, second: int) -> tuple[int, bool]:
        """The second that lies so many months before another, and whether it stands there for a while."""
        clock = clock_of(self.zone, (second - self.longest // SECOND) // SPAN, second // SPAN + 1)
        at = clock.piece_at(second)
        shown, waits = second + clock.offsets[at], False
        if at < len(clock.times):
            next_shown = clock.times[at] + clock.offsets[at + 1]
            if shown >= next_shown:  # as the clock will show once more
                shown, waits = next_shown, True
        day, rest = divmod(shown, DAY)
        month, number = month_and_day(day)
        last = days_of(month - self.count) - 1
        if number >= last and number != days_of(month) - 1:
            rest, waits = 0, True
        wanted = (first_day(month - self.count) + min(number, last)) * DAY + rest
        for i, offset in enumerate(clock.offsets):
            if i == len(clock.times) or clock.times[i] + offset > wanted:
                break
        found = wanted - offset
        if i and clock.times[i - 1] > found:  # the clock skipped it
            return clock.times[i - 1], True
        return found, waits

    def lowest(self, place: int, tick: int, edge: bool) -> int:
        """The lowest place in the window that ends at a place, in ticks of so many nanoseconds; `edge` takes in rows
        exactly so many months ago."""
        ns = place * tick
        second, waits = self.edge(ns // SECOND)
        oldest = second * SECOND + (0 if waits else ns % SECOND)
        return -(-oldest // tick) if edge else oldest // tick + 1

    def __str__(self) -> str:
        count, unit = (self.count // 12, "year") if self.count % 12 == 0 else (self.count, "month")
        return f"{count} {unit}{'' if count == 1 else 's'}"


def month_and_day(day: Any) -> tuple[Any, Any]:
    """The month that a day since 1970 lies in, counted from January of the year 0, and the days before it in the month;
    of a number, or of an array of them.

    >>> month_and_day(0), month_and_day(-1), month_and_day(59)
    ((23640, 0), (23639, 30), (23642, 0))
    """
    day = day + 719_468  # since 1 March of the year 0
    era = day // 146_097
    of_era = day - era * 146_097
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    return (year + 400 * era) * 12 + month + 2, of_year - (153 * month + 2) // 5


def first_day(month: Any) -> Any:
    """The first day of a month, since 1970.

    >>> first_day(23640), first_day(23642)
    (0, 59)
    """
    month = month - 2  # since March of the year 0
    year = month // 12
    era = year // 400
    of_era = year - era * 400
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + (153 * (month % 12) + 2) // 5 - 719_468


def days_of(month: Any) -> Any:
    """How many days a month has."""
    return first_day(month + 1) - first_day(month)
