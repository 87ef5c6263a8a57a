"""Clocks of time zones: how far they are ahead of UTC, and when that changes, in seconds since 1970.

The Gregorian calendar repeats after 400 years, and what clocks do in the far future, too; before the year 2 none was
ever changed.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from slidewise.errors import WindowError, did_you_mean

DAY = 86_400
SPAN = 2**25  # about a year: the changes within one are looked up at once
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = ((datetime(year, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(seconds=1) for year in (2, 9_999))
_CYCLE = 146_097 * DAY


NO_DATES = "a date is a day of no zone's clock; leave out zone=, or give times as timestamps"


class ZoneClock(NamedTuple):
    """A zone's clock for a while: when it is changed, and its offsets before the first change and from each one on."""

    times: tuple[int, ...]
    offsets: tuple[int, ...]

    def piece_at(self, second: int) -> int:
        """How many of the changes have been made by a time: the place of its offset."""
        return bisect_right(self.times, second)

    def offset_at(self, second: int) -> int:
        return self.offsets[self.piece_at(second)]


def check_zone(zone: object) -> str | None:
    """The zone, where somebody knows it."""
    if zone is None:
        return None
    if not isinstance(zone, str):
        raise WindowError(f"zone= is a name such as 'Europe/Berlin', not {zone!r}")
    try:
        _zone(zone)
    except Exception as error:  # a name that is no file, an absolute path, a directory, no zone data at all
        raise WindowError(
            f"the zone {zone!r} is not known; write a name such as 'Europe/Berlin' or 'UTC', and install tzdata where "
            f"this machine has no zones ({error}){did_you_mean(zone, available_timezones())}"
        ) from None
    return zone


@lru_cache(4_096)
def clock_of(zone: str | None, first: int, last: int) -> ZoneClock:
    """A zone's clock from one span of time to another, both included; without a zone one that is never changed."""
    if zone is None:
        return ZoneClock((), (0,))
    changes = [change for span in range(first, last + 1) for change in _changes_of(zone, span)]
    return ZoneClock(
        tuple(time for time, _ in changes), (_offset(zone, first * SPAN), *(offset for _, offset in changes))
    )


@lru_cache(4_096)
def _changes_of(zone: str, span: int) -> list[tuple[int, int]]:
    """The changes of a zone's clock behind a span's first second, up to that of the next span.

    Offsets are looked up 18 hours apart, and a change is found by bisection. So it is assumed that no clock is set
    twice within them; in the data of all zones changes lie at least 3 days apart.
    """
    step = SPAN // 512
    changes: list[tuple[int, int]] = []
    if (span + 1) * SPAN < _FIRST:
        return changes
    low, before = span * SPAN, _offset(zone, span * SPAN)
    for high in range(low + step, low + SPAN + 1, step):
        after = _offset(zone, high)
        if after != before:
            a, b = low, high
            while b - a > 1:
                middle = (a + b) // 2
                a, b = (middle, b) if _offset(zone, middle) == before else (a, middle)
            changes.append((b, after))
        low, before = high, after
    return changes


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
