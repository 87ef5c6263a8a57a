"""B-Int, base intervals (Arasu, Widom 2004): the aggregate of every dyadic interval inside the window."""

from __future__ import annotations

from collections.abc import Sequence

from slidewise.operators.types import State, Value
from slidewise.swag.structures.last_rows import LastRows
from slidewise.swag.structures.queues import Ring


class BInt(LastRows):
    """Level j holds the aggregates of the intervals [i * 2^j, (i + 1) * 2^j) that lie inside the window.

    Combine calls: insert at most log n, amortised 1; evict 0; query at most 2 log n. Space: about 2n partials.
    `suffix` answers for the k youngest rows out of the same structure, so it serves several window sizes.

    >>> import slidewise as sw
    >>> w = BInt(sw.max)
    >>> for e in [4, 5, 3]:
    ...     w.insert(e)
    >>> w.evict(); w.evict()
    >>> w.query()
    3
    """

    __slots__ = ("_levels",)

    _levels: list[Ring]

    def insert(self, e: Value, *more: Value) -> None:
        v = self._lift_row(e, more) if more or e is None else self._lift(e)
        levels = self._levels
        start, interval = levels[0].start, levels[0].stop
        complete = [v]
        while interval & 1 and (interval - 1) << (len(complete) - 1) >= start:
            older = levels[len(complete) - 1][interval - 1]
            complete.append(self._combine(older, complete[-1]))
            interval >>= 1
        interval = levels[0].stop
        for j, agg in enumerate(complete):
            if j == len(levels):
                levels.append(Ring())
            if not levels[j]:
                levels[j].start = levels[j].stop = interval
            levels[j].push(agg)
            interval >>= 1

    def evict(self) -> None:
        if not self:
            raise self._empty()
        self._drop(1)

    def _drop(self, k: int) -> None:
        start = self._levels[0].start + k
        for j, level in enumerate(self._levels):
            gone = min(-(-start >> j) - level.start, len(level))
            if gone <= 0:
                break
            level.pop(gone)
        while len(self._levels) > 1 and not self._levels[-1]:
            self._levels.pop()

    def partial(self) -> State:
        return self._range(self._levels[0].start)

    def suffix(self, k: int) -> State:
        """The aggregate of the k youngest rows before `lower`. Combine calls: at most 2 log k.

        Args:
            k: How many rows, up to the whole window.

        Returns:
            A state.

        Raises:
            EmptyWindowError: There are fewer rows.
        """
        self._require_rows(k)
        return self._range(self._levels[0].stop - k)

    def _range(self, start: int) -> State:
        """Cover [start, end) with the largest intervals: growing ones from the left, shrinking ones to the right."""
        stop = self._levels[0].stop
        left: list[State] = []
        right: list[State] = []
        for level in self._levels:
            if start >= stop:
                break
            if start & 1:
                left.append(level[start])
                start += 1
            if stop & 1:
                stop -= 1
                right.append(level[stop])
            start >>= 1
            stop >>= 1
        return self._fold(left + right[::-1])

    def __len__(self) -> int:
        return len(self._levels[0])

    def clear(self) -> None:
        self._levels = [Ring()]

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows. Combine calls: 0."""
        if self._leaving(k):
            self._drop(k)

    def stored(self) -> int:
        return sum(map(len, self._levels))

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        base = self._levels[0]
        for j, level in enumerate(self._levels):
            inside = range(-(-base.start >> j), base.stop >> j)
            held = range(level.start, level.stop)
            self._require(list(held) == list(inside), f"level {j} holds the intervals {inside} and no others")
            for i in held if j else ():
                below = self._levels[j - 1]
                self._require_same(
                    level[i], self._combine(below[2 * i], below[2 * i + 1]), f"interval {i} of level {j}"
                )
        missing = range(-(-base.start >> len(self._levels)), base.stop >> len(self._levels))
        self._require(not missing, "every interval inside the window is held")
        if rows is not None:
            self._require_same([base[p] for p in range(base.start, base.stop)], self._lifted(rows), "the row of values")

    def _show(self) -> str:
        return "\n".join(
            f"level {j}: from {level.start} on {[level[i] for i in range(level.start, level.stop)]!r}"
            for j, level in enumerate(self._levels)
        )
