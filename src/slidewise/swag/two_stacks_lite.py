"""Two-Stacks Lite (section 4 of the paper): amortised constant time in the space of n + 1 partials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slidewise.operators.types import State, Value
from slidewise.swag.interface import Swag
from slidewise.swag.structures.queues import MASK, NEXT, Chunk, Chunks, step, walk, write


class TwoStacksLite(Swag):
    """Two-Stacks in one queue, with a pointer B to where the back begins.

    Combine calls: insert at most 1; evict at most n, amortised 1; query at most 1. Space: n + 1 partials.

    [F, B) holds aggregates up to B, [B, E) plain values, and `aggB` is the aggregate of [B, E).

    >>> import slidewise as sw
    >>> w = TwoStacksLite(sw.max)
    >>> for e in [4, 5, 3]:
    ...     w.insert(e)
    >>> w.evict(); w.evict()
    >>> w.query()
    3
    """

    __slots__ = ("B", "E", "F", "_cE", "_cF", "_chunks", "aggB")

    F: int
    B: int
    E: int
    aggB: State
    # The chunks that hold the positions F and E - 1.
    _cF: Any  # a Chunk; None while the window is empty
    _cE: Any
    _chunks: Chunks

    def insert(self, e: Value, *more: Value) -> None:
        v = self._lift_row(e, more) if more or e is None else self._lift(e)
        E = self.E
        aggB = v if self.B == E else self._combine(self.aggB, v)
        if not E & MASK:
            self._cE = self._chunks.after(self._cE)
        if self.F == E:
            self._cF = self._cE
        self._cE[E & MASK] = v
        self.E = E + 1
        self.aggB = aggB

    def evict(self) -> None:
        F = self.F
        if F == self.E:
            raise self._empty()
        if F == self.B:  # Flip
            self._flip(F, self._cF)
        self.F = F = F + 1
        if F == self.E:
            freed = self._cF
            self.clear()
            self._chunks.release(freed)
        elif not F & MASK:
            freed = self._cF
            self._cF = freed[NEXT]
            self._chunks.release(freed)

    def _flip(self, F: int, cF: Chunk) -> None:
        """Make the values from F on aggregates up to E, in place once every combine has returned."""
        slots = list(walk(cF, F, self.E))
        for i in range(len(slots) - 2, -1, -1):
            slots[i] = self._combine(slots[i], slots[i + 1])
        write(cF, F, slots)
        self.B = self.E
        self.aggB = self.operator.identity

    def partial(self) -> State:
        F, B, E = self.F, self.B, self.E
        if F == E:
            return self.operator.identity
        if F == B:
            return self.aggB
        front = self._cF[F & MASK]
        return front if B == E else self._combine(front, self.aggB)

    def __len__(self) -> int:
        return self.E - self.F

    def clear(self) -> None:
        self.F = self.B = self.E = 0
        self.aggB = self.operator.identity
        self._chunks = Chunks()
        self._cF = self._cE = None

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows. Combine calls: at most n - k, and none while the front lasts."""
        if self._leaving(k):
            F = self.F + k
            cF = step(self._cF, self.F, F)
            if F > self.B:
                self._flip(F, cF)
            self.F = F
            self._cF = cF

    def stored(self) -> int:
        return len(self) + 1

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        F, B, E = self.F, self.B, self.E
        self._require(F <= B <= E, "F <= B <= E")
        if F == E:
            self._require(self._cE is None, "an empty window holds no chunk")
            return
        self._require(step(self._cF, F, E - 1) is self._cE, "E - 1 lies in its chunk")
        slots = list(walk(self._cF, F, E))
        self._require_same(self.aggB, self._fold(slots[B - F :]), "aggB")
        if rows is None:
            return
        v = self._lifted(rows)
        self._require(len(v) == E - F, f"the window holds {len(v)} rows")
        for p in range(F, E):
            stop = B if p < B else p + 1
            self._require_same(slots[p - F], self._fold(v[p - F : stop - F]), f"the slot at F + {p - F}")

    def _show(self) -> str:
        return f"F {self.F}, B {self.B}, E {self.E}, aggB {self.aggB!r}\n{list(walk(self._cF, self.F, self.E))!r}"
