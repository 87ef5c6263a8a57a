"""DABA (section 5 of the paper): worst-case constant time in the space of 2n partials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slidewise.operators.types import State, Value
from slidewise.swag.interface import Swag
from slidewise.swag.structures.pointers import Pointers, show
from slidewise.swag.structures.queues import (
    CHUNK,
    MASK,
    NEXT,
    PREV,
    Chunk,
    Chunks,
    SavedSlots,
    cut,
    restore,
    step,
    walk,
    write,
)


class Daba(Swag):
    """The de-amortised banker's aggregator.

    Combine calls: insert at most 4, average 2.5; evict at most 3, average 1.5; query at most 1. Space: 2n partials.

    Each element holds its value `val` and an aggregate `agg`. Six pointers F <= L <= R <= A <= B <= E cut the queue
    into sublists: in [F, L) and [A, B) `agg` goes up to B, in [L, R) up to R, in [R, A) it starts at R, and in [B, E)
    at B.

    >>> import slidewise as sw
    >>> w = Daba(sw.max)
    >>> for e in [4, 5, 3]:
    ...     w.insert(e)
    >>> w.evict(); w.evict()
    >>> w.query()
    3
    """

    __slots__ = ("A", "B", "E", "F", "L", "R", "_cA", "_cE", "_cF", "_cL", "_chunks")

    F: int
    L: int
    R: int
    A: int
    B: int
    E: int
    # The chunks that hold the positions F, L, A - 1 and E - 1; the middle two only while lists are shrinking.
    _cF: Any
    _cL: Any
    _cA: Any
    _cE: Any
    _chunks: Chunks

    def insert(self, e: Value, *more: Value) -> None:
        v = self._lift_row(e, more) if more or e is None else self._lift(e)
        E = self.E
        at = E & MASK
        agg = v if self.B == E else self._combine(self._cE[((E - 1) & MASK) + CHUNK], v)
        cE = self._cE if at else self._chunks.after(self._cE)
        cE[at] = v
        cE[at + CHUNK] = agg
        self._fixup(self.F, self._cF, E + 1, cE)
        self.E = E + 1
        self._cE = cE

    def evict(self) -> None:
        F = self.F + 1
        E = self.E
        if F >= E:
            self._evict_last()
        elif F & MASK:
            self._fixup(F, self._cF, E, self._cE)
            self.F = F
        else:
            left = self._cF
            self._fixup(F, left[NEXT], E, self._cE)
            self.F = F
            self._cF = left[NEXT]
            self._chunks.release(left)

    def _fixup(self, F: int, cF: Chunk, E: int, cE: Chunk, undo: SavedSlots | None = None) -> None:
        """Restore the invariants around the new F and E; nothing is stored before every combine has returned."""
        L = self.L
        B = self.B
        if F == B:  # Singleton case
            self.L = self.R = self.A = self.B = E
            self._cF = cE
        elif L == self.R != B:  # Shift
            self.A = self.R = self.L = L + 1
        else:
            if L == B:  # Flip; R stays where the old B was
                L, A, B = F, E, E
                cL, cA = cF, cE
            else:
                A = self.A
                cL, cA = self._cL, self._cA
            # Shrink
            l = (L & MASK) + CHUNK  # noqa: E741
            a = ((A - 1) & MASK) + CHUNK
            front = self._combine(cL[l], cA[a])
            back = cA[a - CHUNK]
            if A != B:
                agg_A = cA[a + 1] if a != MASK + CHUNK else cA[NEXT][CHUNK]
                front = self._combine(front, agg_A)
                back = self._combine(back, agg_A)
            if undo is not None:
                undo += (cL, l, cL[l], cA, a, cA[a])
            cL[l] = front
            cA[a] = back
            self.L = L + 1
            self.A = A - 1
            self._cL = cL if l != MASK + CHUNK else cL[NEXT]
            self._cA = cA if a != CHUNK else cA[PREV]
            self.B = B

    def _evict_last(self) -> None:
        """Empty a window of one row, and keep its chunk."""
        if self.F == self.E:
            raise self._empty()
        left = self._cF
        self.clear()
        self._chunks.release(left)

    def partial(self) -> State:
        if self.F == self.E:
            return self.operator.identity
        front = self._cF[(self.F & MASK) + CHUNK]
        return front if self.B == self.E else self._combine(front, self._cE[((self.E - 1) & MASK) + CHUNK])

    def __len__(self) -> int:
        return self.E - self.F

    def clear(self) -> None:
        cut(getattr(self, "_cF", None))
        self.F = self.L = self.R = self.A = self.B = self.E = 0
        self._chunks = Chunks(fields=2, both_ways=True)
        self._cF = self._cL = self._cA = self._cE = None

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows. Combine calls: at most 3k, and at most one for each row that stays."""
        if not self._leaving(k):
            return
        L, B = self.L, self.B
        if len(self) - k <= 3 * (min(k, self.R - L) + max(0, k - (B - L))):  # those of single steps
            self._keep(len(self) - k)
            return
        before = [getattr(self, name) for name in self.__slots__]
        undo: SavedSlots = []
        try:
            for _ in range(k):
                F = self.F + 1
                cF = self._cF if F & MASK else self._cF[NEXT]
                self._fixup(F, cF, self.E, self._cE, undo)
                self.F, self._cF = F, cF
        except BaseException:
            restore(undo)
            for name, value in zip(self.__slots__, before, strict=True):
                setattr(self, name, value)
            raise
        cut(before[self.__slots__.index("_cF")], self._cF)
        if self.L == self.R:
            self._cL = self._cA = None

    def _keep(self, n: int) -> None:
        """Keep the n youngest rows and aggregate each of them up to E: one call for each row that stays.

        All of them but the first become l_A, as if a cycle had just got to the end of its shrinking.
        """
        E = self.E
        F = E - n
        cF = step(self._cF, self.F, F)
        aggs = list(walk(cF, F, E))
        for i in range(n - 2, -1, -1):
            aggs[i] = self._combine(aggs[i], aggs[i + 1])
        write(cF, F, aggs, field=1)
        cut(self._cF, cF)
        self._cL = self._cA = None
        self.F, self._cF = F, cF
        self.L = self.R = self.A = F + 1
        self.B = E

    def __del__(self) -> None:
        cut(getattr(self, "_cF", None))

    def stored(self) -> int:
        return 2 * len(self)

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        pointers = Pointers.of(self)
        self._require(pointers.ordered(), "F <= L <= R <= A <= B <= E")
        self._require(pointers.balanced(), f"the sizes {pointers.sizes()} balance")
        if not self:
            self._require(self._cE is None, "an empty window holds no chunk")
            return
        F, L, R, A, B, E = pointers
        self._require(step(self._cF, F, E - 1) is self._cE, "E - 1 lies in its chunk")
        if L != R:
            self._require(step(self._cF, F, L) is self._cL, "L lies in its chunk")
            self._require(step(self._cF, F, A - 1) is self._cA, "A - 1 lies in its chunk")
        vals = list(walk(self._cF, F, E))
        aggs = list(walk(self._cF, F, E, field=1))
        if rows is not None:
            self._require_same(vals, self._lifted(rows), "the row of vals")
        for p in range(F, E):
            start, stop = (p, B) if p < L or A <= p < B else (p, R) if p < R else (R if p < A else B, p + 1)
            self._require_same(aggs[p - F], self._fold(vals[start - F : stop - F]), f"the agg at F + {p - F}")

    def _show(self) -> str:
        vals = list(walk(self._cF, self.F, self.E))
        aggs = list(walk(self._cF, self.F, self.E, field=1))
        return show(Pointers.of(self), val=vals, agg=aggs)
