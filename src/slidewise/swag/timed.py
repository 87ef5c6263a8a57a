"""A time window over any SWAG: rows leave when they are older than the window is long."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from itertools import islice
from typing import Any

from slidewise.errors import EmptyWindowError, SlidewiseError, TimeOrderError
from slidewise.operators.types import Answer, State, Value
from slidewise.swag.interface import Swag
from slidewise.swag.slide_side import SlideSide
from slidewise.swag.structures.last_rows import LastRows
from slidewise.swag.structures.times import RowTime, TimeSpan, check_time, is_in, length_of
from slidewise.windows import Duration
from slidewise.windows.window import check_closed


class Timed:
    """The rows of the last stretch of time, kept by any SWAG.

    `insert(t, e)` moves the window to end at t and evicts what has fallen out of it; t must not run backwards. Which
    ends belong to the window is `closed`: "right" is (t - last, t], "both" [t - last, t], "left" [t - last, t) and
    "neither" (t - last, t). Where the right end is open, rows wait until a later time arrives before they count.

    Times are datetimes, with `last` a duration such as "10 minutes", or numbers, with `last` a number. A day is 24
    hours: times with a zone are compared, and given back, in UTC; a date is its midnight.

    Where the SWAG answers for any number of its youngest rows (`FlatFit`, `BInt`), shorter windows come out of the same
    structure: `query_last("1 minute")`, and `query_since(t)`.

    Args:
        swag: An empty window, such as `sw.DabaLite(sw.max)`.
        last: The length.
        closed: Which ends belong to the window.

    Raises:
        SlidewiseError: A SWAG with rows in it, or one that evicts by itself.

    >>> import slidewise as sw
    >>> w = Timed(sw.FlatFit(sw.max), last=10)
    >>> for t, e in [(0, 5), (4, 3), (9, 2)]:
    ...     w.insert(t, e)
    >>> w.query()
    5
    >>> w.insert(10, 1)
    >>> w.query(), w.oldest(), w.youngest()
    (3, 4, 10)
    >>> w.query_last(2), w.query_since(10)
    (2, 1)
    """

    __slots__ = ("_now", "_settled", "_times", "_waiting", "closed", "last", "swag")

    def __init__(self, swag: Swag, *, last: Duration | timedelta | str | int | float, closed: str = "right") -> None:
        if not isinstance(swag, Swag):
            raise SlidewiseError(f"Timed takes a SWAG, such as sw.DabaLite(sw.max), not {swag!r}")
        if len(swag):
            raise SlidewiseError(
                f"Timed takes an empty SWAG, since {len(swag)} rows in it have no time; clear() it first"
            )
        if isinstance(swag, SlideSide) and swag.sizes:
            raise SlidewiseError(
                f"Timed evicts rows by their time, but a SlideSide of sizes keeps the last {swag.sizes[-1]} rows; use "
                "sw.FlatFit or sw.BInt for several windows of time"
            )
        self.swag = swag
        self.last: Any = length_of(last)
        self.closed = check_closed(closed)
        self._times: deque[RowTime] = deque()
        self._waiting: deque[tuple[RowTime, tuple[Value, ...]]] = deque()
        self._now: RowTime = None
        self._settled = True

    def insert(self, t: RowTime, e: Value, *more: Value) -> None:
        """Put a row at time t at the back, and evict what has fallen out of the window that ends at t.

        Where the operator raises on this row, the window is as it was. Where it raises while other rows leave, the
        move to t is made up for by the next call: a query never answers for half a move. Where it raises on a row that
        waited for a later time, that row is left out, and the error says so.

        Args:
            t: The row's time.
            e: Its value.
            *more: The values of an operator's further columns.

        Raises:
            TimeOrderError: A time before that of the row before it.
        """
        t = self._check_time(t)
        if self._now is not None and t < self._now:
            raise TimeOrderError(
                f"time ran backwards: {t} came after {self._now}; sort the rows by time, or leave out the late ones"
            )
        self._settle()
        if self.closed in ("right", "both"):
            self.swag.insert(e, *more)
            self._times.append(t)
        else:
            self.swag.operator.lift_row(e, *more)
            self._waiting.append((t, (e, *more)))
        if t != self._now:
            self._now = t
            self._settled = False
            self._settle()

    def evict_until(self, t: RowTime) -> None:
        """Drop every row whose time is t or earlier.

        Args:
            t: The time.
        """
        t = self._check_time(t)
        self._settle()
        self._evict(bisect_right(self._times, t))
        while self._waiting and self._waiting[0][0] <= t:
            self._waiting.popleft()

    def query(self) -> Answer:
        """The answer for the window that ends at the latest time.

        Returns:
            What the operator gives for these rows.
        """
        if not self._settled:
            self._settle()
        return self.swag.query()

    def partial(self) -> State:
        """The aggregate of the window before `lower`.

        Returns:
            A state.
        """
        if not self._settled:
            self._settle()
        return self.swag.partial()

    def query_last(self, last: Duration | timedelta | str | int | float) -> Answer:
        """The answer for a shorter window with the same ends, out of the same structure; not longer than `last`.

        Args:
            last: The shorter length.

        Returns:
            What the operator gives for these rows.

        Raises:
            SlidewiseError: A longer length, or a SWAG that answers for its whole window only.
        """
        length = length_of(last)
        if isinstance(length, timedelta) != isinstance(self.last, timedelta) or length > self.last:
            raise SlidewiseError(f"query_last answers for windows up to {self.last}, this one's length, not {last!r}")
        shared = self._shared("query_last")
        self._settle()
        now = self._now
        return shared.query_last(self._young(lambda time: self._is_in(time, now, length)))

    def query_since(self, t: RowTime) -> Answer:
        """The answer for the rows of the window whose time is t or later, out of the same structure.

        Args:
            t: The time.

        Returns:
            What the operator gives for these rows.

        Raises:
            SlidewiseError: A SWAG that answers for its whole window only.
        """
        t = self._check_time(t)
        shared = self._shared("query_since")
        self._settle()
        return shared.query_last(len(self._times) - bisect_left(self._times, t))

    def oldest(self) -> RowTime:
        """The time of the oldest row in the window.

        Returns:
            A time.

        Raises:
            EmptyWindowError: There is no row.
        """
        return self._window_times()[0]

    def youngest(self) -> RowTime:
        """The time of the youngest row in the window.

        Returns:
            A time.

        Raises:
            EmptyWindowError: There is no row.
        """
        return self._window_times()[-1]

    def __len__(self) -> int:
        """The number of rows in the window."""
        self._settle()
        return len(self._times)

    def clear(self) -> None:
        """Drop every row, and forget the time."""
        self.swag.clear()
        self._times.clear()
        self._waiting.clear()
        self._now = None
        self._settled = True

    def _settle(self) -> None:
        """Let in the rows that were waiting for a later time, and evict those that are too old for the latest."""
        if self._settled:
            return
        waiting, now = self._waiting, self._now
        while waiting and waiting[0][0] < now:
            time, row = waiting.popleft()
            try:
                self.swag.insert(*row)
            except BaseException as error:
                error.add_note(f"the row {row!r} of time {time} waited to come in, and is left out of the window")
                raise
            self._times.append(time)
        times = self._times
        if times and not self._is_in(times[0], now, self.last):
            first_only = len(times) > 1 and self._is_in(times[1], now, self.last)
            self._evict(1 if first_only else len(times) - self._young(lambda time: self._is_in(time, now, self.last)))
        self._settled = True

    def _is_in(self, time: RowTime, now: RowTime, last: TimeSpan) -> bool:
        return is_in(time, now, last, self.closed)

    def _young(self, is_in: Callable[[RowTime], bool]) -> int:
        """How many rows are young enough, by bisection."""
        return len(self._times) - bisect_left(self._times, True, key=is_in)

    def _evict(self, k: int) -> None:
        if k == 1:
            self.swag.evict()
            self._times.popleft()
        elif k:
            self.swag.evict_many(k)
            self._times = deque(islice(self._times, k, None))

    def _shared(self, method: str) -> LastRows:
        if not isinstance(self.swag, LastRows) or isinstance(self.swag, SlideSide):
            raise SlidewiseError(
                f"{method} needs an algorithm that answers for any number of its youngest rows, and "
                f"{type(self.swag).__name__} does not; use sw.FlatFit or sw.BInt"
            )
        return self.swag

    def _check_time(self, t: RowTime) -> RowTime:
        return check_time(t, self.last, self._now)

    def _window_times(self) -> deque[RowTime]:
        self._settle()
        if not self._times:
            raise EmptyWindowError("the window is empty and so has no times; check len() first")
        return self._times

    def __repr__(self) -> str:
        return f"<Timed({self.swag!r}, last={self.last!r}, closed={self.closed!r})>"
