"""One time window over several inputs that are in order each and drift apart, as in Truviso: a SWAG for each."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Hashable, Iterable
from datetime import timedelta
from itertools import islice
from typing import Any

from slidewise.errors import SlidewiseError, TimeOrderError, did_you_mean
from slidewise.operators.operator import Operator
from slidewise.operators.types import Answer, State, Value
from slidewise.swag.daba_lite import DabaLite
from slidewise.swag.interface import Swag, refuse
from slidewise.swag.slide_side import SlideSide
from slidewise.swag.structures.times import RowTime, TimeSpan, check_time, is_in, length_of
from slidewise.windows import Duration
from slidewise.windows.window import check_closed

CLOCKS = ("newest", "slowest")


class Merged:
    """The last stretch of time of several inputs together; each is in order, and they may drift apart by any distance.

    Feed it: `insert(input, t, e)`, and `advance(t)` where there is no row.
    Ask it: `query()`, `partial()`, `len()`; `now`, `newest(input)`; `waiting` and `late` count rows.

    All windows end at one clock. `clock="newest"` is the newest time of any input: answers hold what has arrived so
    far, and a row that is too old for the window by then is left out and counted in `late`. `clock="slowest"` is the
    newest time of the input that is furthest behind: rows of the others wait, and an answer is final. An input that has
    nothing to send holds that clock up; `advance(t, input)` says that none of its rows are older than t.

    Inputs are combined in any order, so the operator must be commutative. Combine calls: insert and evict those of the
    algorithm, each row once; query at most 2 for each input.

    Args:
        operator: What is computed; commutative.
        inputs: Names of the inputs, or how many there are.
        last: The windows' length.
        closed: Which ends belong to the window.
        clock: "newest" or "slowest".
        algorithm: The class that keeps each input's rows.

    Raises:
        UnsuitableOperatorError: An operator that is not commutative.
        SlidewiseError: A clock, inputs or an algorithm that are none.

    >>> import slidewise as sw
    >>> w = Merged(sw.max, ["left", "right"], last=10)
    >>> w.insert("left", 3, 7); w.insert("left", 12, 4)
    >>> w.insert("right", 5, 6)  # seven behind, and in the window
    >>> w.query(), len(w)
    (7, 3)
    >>> w.insert("left", 14, 1)
    >>> w.query(), w.now
    (6, 14)
    """

    __slots__ = ("_inputs", "_now", "clock", "closed", "last", "late", "operator")

    def __init__(
        self,
        operator: Operator,
        inputs: Iterable[Hashable] | int,
        *,
        last: Duration | timedelta | str | int | float,
        closed: str = "right",
        clock: str = "newest",
        algorithm: type[Swag] = DabaLite,
    ) -> None:
        if not isinstance(operator, Operator):
            raise SlidewiseError(f"Merged takes an operator, such as sw.Merged(sw.max, ...), not {operator!r}")
        if not operator.commutative:
            raise refuse(
                "Merged",
                operator,
                "rows of several inputs meet in no order, and it is not declared to be commutative",
                "sw.Fiba, which puts rows in the order of their times",
            )
        if clock not in CLOCKS:
            raise SlidewiseError(f"clock={clock!r} is none of 'newest', 'slowest'{did_you_mean(str(clock), CLOCKS)}")
        if not (isinstance(algorithm, type) and issubclass(algorithm, Swag)):
            raise SlidewiseError(f"algorithm= is a class such as sw.DabaLite, not {algorithm!r}")
        self.operator = operator
        self.last: Any = length_of(last)
        self.closed = check_closed(closed)
        self.clock = clock
        self.late = 0
        self._now: RowTime = None
        self._inputs = {name: _Input(algorithm(operator)) for name in _names(inputs)}

    def insert(self, input: Hashable, t: RowTime, e: Value, *more: Value) -> None:
        """Put a row at the end of an input; its time must not lie before that of the input's row before it.

        Where the operator raises on this row, all is as it was.

        Args:
            input: The input's name.
            t: The row's time.
            e: Its value.
            *more: The values of an operator's further columns.

        Raises:
            TimeOrderError: A time before that of the input's row before it.
        """
        source = self._input(input)
        t = self._in_order(input, source, t)
        self.operator.lift_row(e, *more)
        source.newest = t
        if self._now is None or t > self._now or is_in(t, self._now, self.last, self.closed):
            source.waiting.append((t, (e, *more)))
        else:
            self.late += 1
        self._tick(t)
        if self._now is not None:
            source.tidy(self._now, self.last, self.closed)

    def advance(self, t: RowTime, input: Hashable | None = None) -> None:
        """Move on to time t without a row: the clock, or one input where it is named, which then sends none before t.

        Where the clock is that of the slowest input, it moves on when all inputs do: `advance(t)` moves every one.

        Args:
            t: The time.
            input: The input's name; None moves the clock.
        """
        named = [self._input(input)] if input is not None else []
        t = check_time(t, self.last, named[0].newest if named and named[0].newest is not None else self._now)
        if input is None and self.clock == "slowest":
            named = list(self._inputs.values())
        for source in named:
            if source.newest is None or t > source.newest:
                source.newest = t
        self._tick(t)

    def _tick(self, t: RowTime) -> None:
        """Move the clock on; rows move when somebody asks."""
        if self.clock == "newest":
            self._now = t if self._now is None or t > self._now else self._now
        else:
            times = [source.newest for source in self._inputs.values()]
            self._now = None if any(time is None for time in times) else min(times)

    def query(self) -> Answer:
        """The answer for the window that ends at the clock's time.

        Returns:
            What the operator gives for these rows.
        """
        return self.operator.lower(self.partial())

    def partial(self) -> State:
        """The aggregate of the window before `lower`. Combine calls: at most 2 for each input.

        Returns:
            A state.
        """
        self._settle()
        partials = [source.swag.partial() for source in self._inputs.values() if len(source.swag)]
        if not partials:
            return self.operator.identity
        total = partials[0]
        for partial in partials[1:]:
            total = self.operator.combine(total, partial)
        return total

    @property
    def now(self) -> RowTime:
        """The clock's time; None before there is source."""
        return self._now

    def newest(self, input: Hashable) -> RowTime:
        """The newest time of an input; None before its first row.

        Args:
            input: The input's name.

        Returns:
            A time.
        """
        return self._input(input).newest

    @property
    def waiting(self) -> int:
        """How many rows are ahead of the clock, or at an open right end."""
        self._settle()
        return sum(len(source.waiting) for source in self._inputs.values())

    def __len__(self) -> int:
        """The number of rows in the window."""
        self._settle()
        return sum(len(source.times) for source in self._inputs.values())

    def clear(self) -> None:
        """Drop every row, and forget the times."""
        for source in self._inputs.values():
            source.clear()
        self._now = None
        self.late = 0

    def _settle(self) -> None:
        if self._now is not None:
            for source in self._inputs.values():
                source.settle(self._now, self.last, self.closed)

    def _in_order(self, name: Hashable, source: _Input, t: RowTime) -> RowTime:
        t = check_time(t, self.last, source.newest if source.newest is not None else self._now)
        if source.newest is not None and t < source.newest:
            raise TimeOrderError(
                f"the input {name!r} ran backwards: {t} came after {source.newest}; each input must be in order by "
                "itself: sort it, or use sw.Fiba"
            )
        return t

    def _input(self, name: Hashable) -> _Input:
        source = self._inputs.get(name)
        if source is None:
            names = [str(known) for known in self._inputs]
            has = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
            raise SlidewiseError(f"there is no input {name!r}; there are {has}{did_you_mean(str(name), names)}")
        return source

    def _check(self) -> None:
        """Verify the invariants of every input, and of its SWAG."""
        for source in self._inputs.values():
            source.check()

    def __repr__(self) -> str:
        return f"<Merged({self.operator!r}) of {len(self._inputs)} inputs, {len(self)} rows>"


class _Input:
    """One input: its SWAG, the times of the rows in it, and the rows that are not in the window yet."""

    __slots__ = ("newest", "swag", "times", "waiting")

    def __init__(self, swag: Swag) -> None:
        if isinstance(swag, SlideSide) and swag.sizes:
            raise SlidewiseError("Merged evicts rows by their time; use an algorithm without sizes")
        self.swag = swag
        self.clear()

    def clear(self) -> None:
        self.swag.clear()
        self.times: deque[RowTime] = deque()
        self.waiting: deque[tuple[RowTime, tuple[Value, ...]]] = deque()
        self.newest: RowTime = None

    def settle(self, now: RowTime, last: TimeSpan, closed: str) -> None:
        """Let in the rows that the clock has reached, and evict those that are too old for it."""
        waiting, times = self.waiting, self.times
        at_end = closed in ("right", "both")
        self.tidy(now, last, closed)
        if times and not is_in(times[0], now, last, closed):
            k = bisect_left(times, True, key=lambda time: is_in(time, now, last, closed))
            self.swag.evict_many(k)
            self.times = times = deque(islice(times, k, None))
        while waiting and (waiting[0][0] < now or (at_end and waiting[0][0] == now)):
            time, row = waiting.popleft()
            try:
                self.swag.insert(*row)
            except BaseException as error:
                error.add_note(f"the row {row!r} of time {time} waited to come in, and is left out of the window")
                raise
            times.append(time)

    def tidy(self, now: RowTime, last: TimeSpan, closed: str) -> None:
        """Drop rows that waited for so long that they have left the window before they came in."""
        waiting = self.waiting
        while waiting and waiting[0][0] < now and not is_in(waiting[0][0], now, last, closed):
            waiting.popleft()

    def check(self) -> None:
        times = [*self.times, *(time for time, _ in self.waiting)]
        if len(self.swag) != len(self.times) or times != sorted(times) or (times and times[-1] > self.newest):
            raise AssertionError(f"an input has {len(self.swag)} rows with the times {times}, the newest {self.newest}")
        self.swag._check()


def _names(inputs: Iterable[Hashable] | int) -> list[Hashable]:
    if isinstance(inputs, bool | str | bytes) or not isinstance(inputs, int | Iterable):
        raise SlidewiseError(f"inputs= are names, such as ['left', 'right'], or how many there are, not {inputs!r}")
    names: list[Hashable] = list(range(inputs)) if isinstance(inputs, int) else list(inputs)
    if not names:
        raise SlidewiseError("Merged needs an input; name each, such as ['left', 'right']")
    for name in names:
        if names.count(name) > 1:
            raise SlidewiseError(f"the input {name!r} is named {names.count(name)} times; name it once")
    return names
