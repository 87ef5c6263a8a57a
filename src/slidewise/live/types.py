"""The types that every part of a live definition passes on: keys, times, places, events and their arguments, counts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

Key = Hashable  # of one column, or a tuple of several
Time = int | float  # nanoseconds since 1970 where times are datetimes, see `event_times`
Place = int | float  # where a row stands in its window: its time, or its number in its key
EventRow = Mapping[str, Any]
Arguments = tuple[Any, ...]  # what an operator lifts


class Stats(NamedTuple):
    """Counts of the events so far: `events` came in, and each was answered, or dropped as late, or waits, or was put
    aside since it lay ahead of time."""

    events: int
    answered: int
    late: int
    waiting: int
    failed: int
    keys: int
    ahead: int = 0
