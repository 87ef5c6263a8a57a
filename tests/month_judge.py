"""How far windows of months reach back, in plain Python: the judge of all lanes."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HALF_HOUR, SECOND = 1_800, 10**9


@cache
def edge_of(time: int, count: int, zone: str | None) -> int:
    """The old edge of the window that ends at a time, in nanoseconds: the least of what later times look back to.

    Clocks of the zones in the tests are changed at half hours, and none of their edges waits for more than four days.
    """
    later = range(time // SECOND // HALF_HOUR + 1, time // SECOND // HALF_HOUR + 4 * 48)
    own = looked_back(time // SECOND, count, zone) * SECOND + time % SECOND
    return min(own, *(looked_back(half * HALF_HOUR, count, zone) * SECOND for half in later))


@cache
def looked_back(second: int, count: int, zone: str | None) -> int:
    """The same time of the same day so many months before, or of the last day of that month."""
    place = ZoneInfo(zone or "UTC")
    shown = (EPOCH + timedelta(seconds=second)).astimezone(place).replace(tzinfo=None)
    year, month = divmod(shown.year * 12 + shown.month - 1 - count, 12)
    day = min(shown.day, calendar.monthrange(year, month + 1)[1])
    wanted = shown.replace(year=year, month=month + 1, day=day)
    first, second_time = (wanted.replace(tzinfo=place, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first.astimezone(place).replace(tzinfo=None) == wanted:
        return (first - EPOCH) // timedelta(seconds=1)
    low, high = ((moment - EPOCH) // timedelta(seconds=1) for moment in (second_time, first))
    while high - low > 1:  # the clock skipped it: when was that
        middle = (low + high) // 2
        same = (EPOCH + timedelta(seconds=middle)).astimezone(place).utcoffset() == second_time.astimezone(
            place
        ).utcoffset()
        low, high = (middle, high) if same else (low, middle)
    return high
