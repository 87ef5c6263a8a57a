"""Rows whose time lies too far ahead: of the clock, or of the newest time accepted so far in the order of the files.

A row is believed if its time is at most `ahead` past the newest one believed before it; only such a row can become the
newest. That runs through all rows one after the other, and yet block by block in parallel: times fall into runs that
never fall and step by at most `ahead`, of which all are believed or none is, and what a block makes of the newest
time before it is a function of few pieces, which the driver goes through in the order of the blocks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import UTC, date, datetime, timedelta
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.errors import SlidewiseError
from slidewise.windows import Duration

if TYPE_CHECKING:
    from pyspark.sql import Column

Number = int | float
Limit = Duration | int | float
_DAY = 86_400_000_000_000
MOMENTS = ("timestamp", "timestamp_ntz", "date")


def limit_in(kind: str, ahead: Limit, on: str) -> Number:
    """The limit in the units in which Spark stores times of this type."""
    if (kind in MOMENTS) is not isinstance(ahead, Duration):
        of, write = ("moments", '"1 day"') if kind in MOMENTS else ("numbers", "86400")
        raise SlidewiseError(f"the times {on!r} are {of} ({kind}); write [clean] ahead = {write}, say, not {ahead!s}")
    if isinstance(ahead, Duration):
        return ahead.ns // (_DAY if kind == "date" else 1_000)
    return ahead if kind in ("double", "float") else floor(ahead)


def moment(kind: str, when: datetime) -> Column:
    """A moment as a literal column of this Spark type; one without a zone is UTC, and a date the one that holds it."""
    from pyspark.sql import functions as F

    if kind == "date":
        return F.lit(date(when.year, when.month, when.day))
    if kind == "timestamp_ntz":
        return F.expr(f"TIMESTAMP_NTZ'{when.replace(tzinfo=None).isoformat(sep=' ')}'")
    return F.timestamp_micros(F.lit((when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)))


def latest(ahead: Duration, now: datetime) -> datetime:
    """The latest moment that is believed by a clock; the last of all where that is beyond Python's."""
    try:
        return now + timedelta(microseconds=ahead.ns // 1_000)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


class Reach:
    """The newest time after a block of rows as a function of that before it: a step function of few pieces.

    >>> reach = Reach.of([(0, 3), (900, 900), (4, 8)], limit=10)     # the time 900 is believed after 890 only
    >>> reach.fresh, [reach.after(newest) for newest in (-11, -10, 5, 20, 890, 950)]
    (8, [-11, 8, 8, 20, 900, 950])
    """

    def __init__(self, fresh: Number | None, edges: list[Any], values: list[Any]) -> None:
        self.fresh = fresh  # the newest time after it where nothing came before; None where the block has no time
        self._edges = edges  # between which the newest time becomes a value,
        self._values = values  # or stays what it was (None), as it does below all edges

    @classmethod
    def of(cls, runs: list[tuple[Any, Any]], limit: Number) -> Reach:
        """The function of runs, each its first and last time; put together from the last run to the first."""
        reach = cls(None, [], [])
        for first, last in reversed(runs):
            reach.fresh = reach.after(last)
            reach._set(first - limit, last, reach.fresh)
        return reach

    def _set(self, low: Number, high: Number, value: Number | None) -> None:
        """Set the function's value from `low` on and below `high`."""
        begin, end = bisect_left(self._edges, low), bisect_right(self._edges, high)
        rest = self._values[end - 1] if end else None
        ends = [] if rest == value else [(high, rest)]
        begins = [] if begin and self._values[begin - 1] == value else [(low, value)]
        self._edges[begin:end] = [edge for edge, _ in begins + ends]
        self._values[begin:end] = [piece for _, piece in begins + ends]

    def after(self, newest: Number | None) -> Any:
        """The newest time believed after the block."""
        if newest is None:
            return self.fresh
        at = bisect_right(self._edges, newest) - 1
        return newest if at < 0 or self._values[at] is None else self._values[at]

    @property
    def pieces(self) -> tuple[list[Any], list[Any]]:
        return self._edges, self._values


def runs_of(times: Array, limit: Number) -> Array:
    """The starts of runs in an array of times: runs never fall, and step by at most the limit."""
    if times.dtype == np.float64:
        breaks = (times[1:] < times[:-1]) | (times[1:] - limit > times[:-1])
    else:
        steps = (times[1:] - times[:-1]).view(np.uint64)  # exact where times rise, however far
        breaks = (times[1:] < times[:-1]) | (steps > np.uint64(max(min(limit, 2**63 - 1), 0)))
    return np.concatenate([[0], np.flatnonzero(breaks) + 1]) if len(times) else np.zeros(0, np.int64)


def believed(times: Array, limit: Number, newest: Number | None) -> tuple[Array, Number | None]:
    """A mask of the times that are believed, after the newest one before them; and the newest after them."""
    mask = np.ones(len(times), bool)
    starts = runs_of(times, limit).tolist()
    ends = [*starts[1:], len(times)][: len(starts)]  # none where there are no times
    for begin, end in zip(starts, ends, strict=True):
        first, last = times[begin].item(), times[end - 1].item()
        if newest is None or first - limit <= newest:
            newest = last if newest is None else max(newest, last)
        else:
            mask[begin:end] = False
    return mask, newest
