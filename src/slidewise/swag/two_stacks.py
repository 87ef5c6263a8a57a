"""Two-Stacks (section 3 of the paper): amortised constant time in the space of 2n partials."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from slidewise.operators.types import State, Value
from slidewise.swag.interface import Swag
from slidewise.swag.structures.queues import Stack


class TwoStacks(Swag):
    """A queue made of a front and a back stack, whose elements are pairs of a value and an aggregate.

    Combine calls: insert at most 1; evict at most n, amortised 1; query at most 1. Space: 2n partials.

    In the front stack F an aggregate goes from its element to F's end, in the back stack B from B's start to its
    element.

    >>> import slidewise as sw
    >>> w = TwoStacks(sw.max)
    >>> for e in [4, 5, 3]:
    ...     w.insert(e)
    >>> w.evict(); w.evict()
    >>> w.query()
    3
    """

    __slots__ = ("B", "F")

    F: Stack
    B: Stack

    def insert(self, e: Value, *more: Value) -> None:
        v = self._lift_row(e, more) if more or e is None else self._lift(e)
        B = self.B
        B.push(v, self._combine(B.top()[1], v) if B else v)

    def evict(self) -> None:
        if not self.F:
            if not self.B:
                raise self._empty()
            self._flip(len(self.B))
        self.F.pop()

    def _flip(self, n: int) -> None:
        """Turn the n youngest values of the back stack round into a new front stack; the others are dropped."""
        F = Stack()
        for val, _ in islice(self.B, n):
            F.push(val, self._combine(val, F.top()[1]) if F else val)
        self.F = F
        self.B = Stack()

    def partial(self) -> State:
        F, B = self.F, self.B
        if F and B:
            return self._combine(F.top()[1], B.top()[1])
        if F:
            return F.top()[1]
        return B.top()[1] if B else self.operator.identity

    def __len__(self) -> int:
        return len(self.F) + len(self.B)

    def clear(self) -> None:
        self.F = Stack()
        self.B = Stack()

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows. Combine calls: at most n - k, and none while the front stack lasts."""
        if self._leaving(k):
            if k > len(self.F):
                self._flip(len(self) - k)
            else:
                for _ in range(k):
                    self.F.pop()

    def stored(self) -> int:
        return 2 * len(self)

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        front = list(self.F)
        back = list(self.B)[::-1]
        if rows is not None:
            self._require_same([val for val, _ in front + back], self._lifted(rows), "the row of vals")
        for i, (_, agg) in enumerate(front):
            self._require_same(agg, self._fold(val for val, _ in front[i:]), f"F[{i}].agg")
        for i, (_, agg) in enumerate(back):
            self._require_same(agg, self._fold(val for val, _ in back[: i + 1]), f"B[{i}].agg")

    def _show(self) -> str:
        return f"F (top first) {list(self.F)!r}\nB (top last) {list(self.B)[::-1]!r}"
