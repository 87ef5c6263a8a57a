"""FlatFIT (Shein, Chrysanthis, Labrinidis 2017): partials with an index to where each of them ends."""

from __future__ import annotations

from collections.abc import Sequence

from slidewise.operators.types import State, Value
from slidewise.swag.structures.last_rows import LastRows
from slidewise.swag.structures.queues import Ring


class FlatFit(LastRows):
    """Each slot holds an aggregate that starts there and the position where it stops; queries lengthen them.

    Combine calls: insert 0; evict 0; query at most n - 1, amortised constant. Space: n partials and n indices.
    A query leaps from aggregate to aggregate up to the end, then makes each that it met reach the end. `suffix` answers
    for the k youngest rows out of the same structure.

    >>> import slidewise as sw
    >>> w = FlatFit(sw.max)
    >>> for e in [4, 5, 3]:
    ...     w.insert(e)
    >>> w.evict(); w.evict()
    >>> w.query()
    3
    """

    __slots__ = ("_aggs", "_met", "_stops")

    _aggs: Ring
    _stops: Ring
    _met: list[int]

    def insert(self, e: Value, *more: Value) -> None:
        self._aggs.push(self._lift_row(e, more) if more or e is None else self._lift(e))
        self._stops.push(self._stops.stop + 1)

    def evict(self) -> None:
        if not self._aggs:
            raise self._empty()
        self._aggs.pop()
        self._stops.pop()

    def partial(self) -> State:
        return self._reach(self._aggs.start) if self._aggs else self.operator.identity

    def suffix(self, k: int) -> State:
        """The aggregate of the k youngest rows before `lower`. Combine calls: at most k - 1.

        Args:
            k: How many rows, up to the whole window.

        Returns:
            A state.

        Raises:
            EmptyWindowError: There are fewer rows.
        """
        self._require_rows(k)
        return self._reach(self._aggs.stop - k) if k else self.operator.identity

    def _reach(self, start: int) -> State:
        """The aggregate from `start` to the end, which every slot on the way then holds for itself."""
        aggs, stops, met = self._aggs.slots, self._stops.slots, self._met  # two rings of one size
        met.clear()
        mask = len(aggs) - 1
        end = self._aggs.stop
        at = start & mask
        while (stop := stops[at]) != end:
            met.append(at)
            at = stop & mask
        agg = aggs[at]
        while met:
            at = met.pop()
            agg = self._combine(aggs[at], agg)
            aggs[at] = agg
            stops[at] = end
        return agg

    def __len__(self) -> int:
        return len(self._aggs)

    def clear(self) -> None:
        self._aggs = Ring()
        self._stops = Ring()
        self._met = []

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows. Combine calls: 0."""
        if self._leaving(k):
            self._aggs.pop(k)
            self._stops.pop(k)

    def stored(self) -> int:
        return len(self)

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        start, end = self._aggs.start, self._aggs.stop
        self._require((start, end) == (self._stops.start, self._stops.stop), "one index for each partial")
        for p in range(start, end):
            self._require(p < self._stops[p] <= end, f"the aggregate at {p} stops behind itself, within the window")
        if rows is None:
            return
        v = self._lifted(rows)
        self._require(len(v) == end - start, f"the window holds {len(v)} rows")
        for p in range(start, end):
            expected = self._fold(v[p - start : self._stops[p] - start])
            self._require_same(self._aggs[p], expected, f"the aggregate of [{p}, {self._stops[p]})")

    def _show(self) -> str:
        return "\n".join(f"[{p}, {self._stops[p]}) {self._aggs[p]!r}" for p in range(self._aggs.start, self._aggs.stop))
