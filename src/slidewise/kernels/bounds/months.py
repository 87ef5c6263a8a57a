"""The lowest places in windows of months, for arrays: what `windows.months` says of one place, for all of them."""

from __future__ import annotations

import numpy as np

from slidewise.arrays import Array
from slidewise.windows.months import SECOND, Months, days_of, first_day, month_and_day
from slidewise.windows.zones import DAY, SPAN, clock_of

_LEAST = np.iinfo(np.int64).min


def month_lows(places: Array, months: Months, tick: int, edge: bool) -> Array:
    """The lowest place in the window that ends at each place, in ticks of so many nanoseconds.

    A tick is a part of a second, or whole seconds.
    """
    per = SECOND // tick
    seconds = places // per if per else places * (tick // SECOND)
    found, waits = _edges(seconds, months)
    if not per:
        size = tick // SECOND
        return -(-found // size) if edge else found // size + 1
    rest = np.where(waits, 0, places - seconds * per)
    low: Array = np.where(found <= _LEAST // per + 1, _LEAST, found * per + rest + (0 if edge else 1))
    return low


def _edges(seconds: Array, months: Months) -> tuple[Array, Array]:
    """The second that lies so many months before each, and whether it stands there for a while."""
    if months.zone is None or not len(seconds):
        return _edges_by(seconds, months, 0)
    found, waits = np.empty_like(seconds), np.empty(len(seconds), np.bool_)
    spans = seconds // SPAN
    for span in np.unique(spans).tolist():
        these = spans == span
        found[these], waits[these] = _edges_by(seconds[these], months, span)
    return found, waits


def _edges_by(seconds: Array, months: Months, span: int) -> tuple[Array, Array]:
    """The same of seconds within one span of time."""
    clock = clock_of(months.zone, span - months.longest // SECOND // SPAN - 1, span + 1)
    times, offsets = np.array(clock.times, np.int64), np.array(clock.offsets, np.int64)
    at = np.searchsorted(times, seconds, "right")
    shown = seconds + offsets[at]
    waits = np.zeros(len(seconds), np.bool_)
    if len(times):
        next_shown = np.append(times + offsets[1:], np.iinfo(np.int64).max)[at]
        waits = shown >= next_shown
        shown = np.where(waits, next_shown, shown)
    day = shown // DAY
    rest = shown - day * DAY
    month, number = month_and_day(day)
    last = days_of(month - months.count) - 1
    stands = (number >= last) & (number != days_of(month) - 1)
    rest, waits = np.where(stands, 0, rest), waits | stands
    wanted = (first_day(month - months.count) + np.minimum(number, last)) * DAY + rest
    piece = np.searchsorted(times + offsets[:-1], wanted, "right")
    found = wanted - offsets[piece]
    if len(times):
        begins = np.append(np.iinfo(np.int64).min, times)[piece]
        waits |= begins > found
        found = np.maximum(begins, found)
    return found, waits
