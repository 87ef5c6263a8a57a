"""Where windows begin anew, for all rows at once: `windows.session` and `windows.calendar` over arrays of times."""

from __future__ import annotations

import numpy as np

from slidewise.arrays import Array
from slidewise.windows.calendar import HOUR, SECOND, CalendarUnit, changes_until, hour_since_change, unit_of_day
from slidewise.windows.kind import Reset
from slidewise.windows.session import Gap
from slidewise.windows.zones import DAY, SPAN, clock_of

_FARTHEST = 2**64 - 1


def goes_on(reset: Reset, before: Array, places: Array) -> Array:
    """Whether the window of the newest row before each place is also that of the place."""
    if isinstance(reset, Gap):
        if places.dtype != np.int64 or before.dtype != np.int64:
            near: Array = before >= places - float(reset.width)
            return near
        ages = places.astype(np.uint64) - before.astype(np.uint64)  # exact at any distance
        near = ages <= np.uint64(min(int(reset.width), _FARTHEST))
        return near
    if isinstance(reset, CalendarUnit):
        same: Array = unit_numbers(reset, before) == unit_numbers(reset, places)
        return same
    return np.ones(len(places), np.bool_)


def rows_that_begin(reset: Reset, places: Array, offsets: Array, marks: Array | None) -> Array:
    """Which rows begin a window anew; key k has the rows offsets[k:k + 2], and each key's first row begins one."""
    begins = np.ones(len(places), np.bool_)
    if isinstance(reset, CalendarUnit):
        numbers = unit_numbers(reset, places)
        begins[1:] = numbers[1:] != numbers[:-1]
    elif len(places):
        begins[1:] = ~goes_on(reset, places[:-1], places[1:])
    if marks is not None:
        begins |= marks
    firsts = offsets[:-1]
    begins[firsts[firsts < len(places)]] = True
    return begins


def newest_beginnings(begins: Array) -> Array:
    """For each row the newest one up to it that begins a window."""
    newest: Array = np.maximum.accumulate(np.where(begins, np.arange(len(begins)), 0))
    return newest


def unit_numbers(reset: CalendarUnit, places: Array) -> Array:
    """The number of the calendar unit that each time lies in; no Python for a row."""
    assert reset.tick is not None, "numbers are no times of a calendar"
    seconds = places * (reset.tick // SECOND) if reset.tick >= SECOND else places // (SECOND // reset.tick)
    if not len(seconds):
        return seconds
    if reset.zone is None:
        return seconds // HOUR if reset.unit == "hour" else unit_of_day(reset.unit, seconds // DAY)
    clock = _ManyTimes(reset.zone, seconds)
    return clock.hours() if reset.unit == "hour" else unit_of_day(reset.unit, clock.shown() // DAY)


class _ManyTimes:
    """A zone's clock at many times: the offsets of the stretches between its changes, which are found once."""

    def __init__(self, zone: str, seconds: Array) -> None:
        self._zone = zone
        self._seconds = seconds
        starts: list[int] = []
        offsets: list[int] = []
        highest: list[int] = []  # what the clock has shown at most before each stretch
        for span in _spans(seconds):
            clock = clock_of(zone, span, span)
            for start, offset in zip((span * SPAN, *clock.times), clock.offsets, strict=True):
                if offsets and offsets[-1] == offset:
                    continue
                highest.append(max(highest[-1], start - 1 + offsets[-1]) if starts else start + offset)
                starts.append(start)
                offsets.append(offset)
        self._starts = np.array(starts, np.int64)
        self._highest = np.array(highest, np.int64)
        self._stretch = np.searchsorted(self._starts, seconds, side="right") - 1
        self._clock = seconds + np.array(offsets, np.int64)[self._stretch]

    def shown(self) -> Array:
        """What the clock shows, in seconds, or has shown before it was set back."""
        shown: Array = np.maximum(self._clock, self._highest[self._stretch])
        return shown

    def hours(self) -> Array:
        """When each time's hour of the clock began."""
        starts = self._seconds - self._clock % HOUR
        of_changes = np.array(self._starts)
        over = self._starts[self._stretch] > starts  # the clock was changed within the hour
        for stretch in np.unique(self._stretch[over]).tolist():
            change = int(self._starts[stretch])
            changes = changes_until(self._zone, change)
            of_changes[stretch] = hour_since_change(self._zone, changes, changes.times.index(change))
        starts[over] = of_changes[self._stretch[over]]
        return starts


def _spans(seconds: Array) -> list[int]:
    """The spans that times lie in, each with the one before it."""
    low, high = int(seconds.min()) // SPAN, int(seconds.max()) // SPAN
    if high - low < 1_000:
        return list(range(low - 1, high + 1))
    spans = np.unique(seconds // SPAN)
    distinct: list[int] = np.union1d(spans - 1, spans).tolist()
    return distinct
