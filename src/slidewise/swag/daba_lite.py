"""DABA Lite (section 6 of the paper): worst-case constant time in the space of n + 2 partials. The default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slidewise.operators.operator import Operator
from slidewise.operators.types import Answer, State, Value
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
    saved,
    step,
    walk,
    write,
)


class DabaLite(Swag):
    """The de-amortised banker's aggregator, the lighter form.

    Combine calls: insert at most 3, average 2; evict at most 2, average 1; query at most 1. Space: n + 2 partials.

    Six pointers F <= L <= R <= A <= B <= E cut the queue into sublists. [F, L) holds aggregates up to B, [L, R)
    aggregates up to R, [R, A) plain values, [A, B) aggregates up to B, [B, E) plain values. `aggRA` is the aggregate of
    [R, B) while L != R, and `aggB` that of [B, E).

    >>> import slidewise as sw
    >>> w = DabaLite(sw.maxcount)
    >>> for e in [4, 5, 3, 4, 0, 4, 4]:
    ...     w.insert(e)
    >>> w.query()
    1
    >>> w.evict(); w.evict()
    >>> w.query()
    3
    """

    __slots__ = (
        "A",
        "B",
        "E",
        "F",
        "L",
        "R",
        "_before",
        "_cA",
        "_cE",
        "_cF",
        "_cL",
        "_chunks",
        "_log",
        "aggB",
        "aggRA",
    )

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
    # Since the savepoint, if there was one: what pointers and aggregates were, and what slots held before they changed.
    _before: tuple[Any, ...] | None
    _log: SavedSlots | None

    def __init__(self, operator: Operator) -> None:
        self._before = self._log = None
        super().__init__(operator)

    def insert(self, e: Value, *more: Value) -> None:
        v = self._lift_row(e, more) if more or e is None else self._lift(e)
        E = self.E
        at = E & MASK
        cE = self._cE if at else self._chunks.after(self._cE)
        cE[at] = v
        self._fixup(self.F, self._cF, E + 1, cE, v if self.B == E else self._combine(self.aggB, v), self._log)
        self.E = E + 1
        self._cE = cE

    def evict(self) -> None:
        F = self.F + 1
        E = self.E
        if F >= E:
            self._evict_last()
        elif F & MASK:
            self._fixup(F, self._cF, E, self._cE, self.aggB, self._log)
            self.F = F
        else:
            left = self._cF
            self._fixup(F, left[NEXT], E, self._cE, self.aggB, self._log)
            self.F = F
            self._cF = left[NEXT]
            if self._log is None:
                self._chunks.release(left)

    def _fixup(self, F: int, cF: Chunk, E: int, cE: Chunk, aggB: State, undo: SavedSlots | None = None) -> None:
        """Restore the invariants around the new F, E and aggB; nothing is stored before every combine has returned."""
        L = self.L
        B = self.B
        if F == B:  # Singleton case
            self.L = self.R = self.A = self.B = E
            self.aggRA = self.aggB = self.operator.identity
            self._cF = cE
        elif L == self.R != B:  # Shift
            self.A = self.R = self.L = L + 1
            self.aggB = aggB
        else:
            flip = L == B
            if flip:  # Flip; R stays where the old B was
                L, A, B = F, E, E
                cL, cA = cF, cE
                aggRA = aggB
            else:
                A = self.A
                cL, cA = self._cL, self._cA
                aggRA = self.aggRA
            # Shrink
            l = L & MASK  # noqa: E741
            a = (A - 1) & MASK
            front = self._combine(cL[l], aggRA)
            back = cA[a] if A == B else self._combine(cA[a], cA[a + 1] if a != MASK else cA[NEXT][0])
            if undo is not None:
                undo += (cL, l, cL[l], cA, a, cA[a])
            cL[l] = front
            cA[a] = back
            self.L = L + 1
            self.A = A - 1
            self._cL = cL if l != MASK else cL[NEXT]
            self._cA = cA if a else cA[PREV]
            if flip:
                self.B = B
                self.aggRA = aggRA
                self.aggB = self.operator.identity
            else:
                self.aggB = aggB

    def _evict_last(self) -> None:
        """Empty a window of one row, and keep its chunk."""
        if self.F == self.E:
            raise self._empty()
        left = self._cF
        self.clear()
        if self._log is None:
            self._chunks.release(left)

    def query(self) -> Answer:
        F = self.F
        E = self.E
        if F == E:
            return self._lower(self.operator.identity)
        if self.B == E:
            return self._lower(self._cF[F & MASK])
        return self._lower(self._combine(self._cF[F & MASK], self.aggB))

    def partial(self) -> State:
        if self.F == self.E:
            return self.operator.identity
        front = self._cF[self.F & MASK]
        return front if self.B == self.E else self._combine(front, self.aggB)

    def _partial_without(self, k: int) -> State:
        """Combine calls: at most 2, where the oldest row that stays has an aggregate; where it is plain, as many more
        as plain rows follow it."""
        F, L, R, A, B, E = self.F, self.L, self.R, self.A, self.B, self.E
        p = F + k
        if p >= B:
            return self._plain(p, E)
        if p < L or p >= A:
            agg = self._slot(p)
        elif p < R:
            agg = self._combine(self._slot(p), self.aggRA)
        else:
            agg = self._plain(p, A)
            if A != B:
                agg = self._combine(agg, self._slot(A))
        return agg if B == E else self._combine(agg, self.aggB)

    def _slot(self, p: int) -> State:
        """What lies in the slot of a position."""
        return step(self._cF, self.F, p)[p & MASK]

    def _plain(self, start: int, stop: int) -> State:
        """The product of plain rows, of at least one."""
        return self._fold(walk(step(self._cF, self.F, start), start, stop))

    def __len__(self) -> int:
        return self.E - self.F

    def clear(self) -> None:
        if self._log is None:
            cut(getattr(self, "_cF", None))
        self.F = self.L = self.R = self.A = self.B = self.E = 0
        self.aggRA = self.aggB = self.operator.identity
        self._chunks = Chunks(both_ways=True)
        self._cF = self._cL = self._cA = self._cE = None

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows. Combine calls: at most 2k, and at most one for each row that stays."""
        if not self._leaving(k):
            return
        L, B = self.L, self.B
        if self._calls_at_once(self.F + k) <= 2 * (min(k, self.R - L) + max(0, k - (B - L))):  # those of single steps
            self._evict_at_once(self.F + k)
            return
        before = self._pointers()
        undo: SavedSlots = []
        try:
            for _ in range(k):
                F = self.F + 1
                cF = self._cF if F & MASK else self._cF[NEXT]
                self._fixup(F, cF, self.E, self._cE, self.aggB, undo)
                self.F, self._cF = F, cF
        except BaseException:
            self._put_back(before, undo)
            raise
        if self._log is None:
            cut(before[0], self._cF)
        else:
            self._log += undo
        if self.L == self.R:
            self._cL = self._cA = None

    def _calls_at_once(self, p: int) -> int:
        """At most so many calls does `_evict_at_once` take."""
        L, A, B, E = self.L, self.A, self.B, self.E
        if p >= B:
            return E - p - 1
        unfinished, front, back = max(0, A - max(p, L)), B - p, E - B
        return unfinished if front > back else unfinished + 1 + back - front

    def _evict_at_once(self, p: int) -> None:
        """Begin the window at the position p, in the middle of a cycle. Combine calls: at most one for each row that
        stays, and none for rows that have their aggregates.

        The front list is finished: all of its rows are aggregated up to B. If it is longer than the back list, the
        window is in a state at the end of shrinking. Otherwise the lists flip, and of the back list as many rows are
        aggregated as it is longer. Nothing is stored before every combine has returned.
        """
        F, L, R, A, B, E = self.F, self.L, self.R, self.A, self.B, self.E
        combine, identity = self._combine, self.operator.identity
        cF = step(self._cF, F, p)
        pieces: list[tuple[int, list[State]]] = []  # positions, and what lies from there on afterwards
        if p >= B:
            pieces.append((p, self._suffixes(p, E, E)))
            L = R = A = p + 1
            B, aggRA, aggB = E, identity, identity
        else:
            low = max(p, L)
            finished = self._suffixes(max(low, R), A, B) if max(low, R) < A else []
            if low < R:
                finished[:0] = [combine(slot, self.aggRA) for slot in walk(step(cF, p, low), low, R)]
            pieces.append((low, finished))
            if B - p > E - B:
                L = R = A = p + 1 + E - B
                aggRA, aggB = identity, self.aggB
            else:
                front = finished[0] if p == low and finished else self._slot(p)
                pieces.append((p, [combine(front, self.aggB)]))
                L, R, A = p + 1, B, 2 * B - p - 1
                pieces.append((A, self._suffixes(A, E, E) if A < E else []))
                B, aggRA, aggB = E, self.aggB if L != R else identity, identity
        if self._log is None:
            cut(self._cF, cF)
        for start, slots in pieces:
            chunk = step(cF, p, start) if slots else cF
            if self._log is not None:
                self._log += saved(chunk, start, start + len(slots))
            write(chunk, start, slots)
        self.F, self._cF = p, cF
        self.L, self.R, self.A, self.B = L, R, A, B
        self.aggRA, self.aggB = aggRA, aggB
        self._cL = self._cA = None
        if L != R:
            self._cL, self._cA = step(cF, p, L), step(cF, p, A - 1)

    def _suffixes(self, start: int, stop: int, end: int) -> list[State]:
        """The aggregates of plain rows up to `end`, if not to `stop`, where the aggregate of the rest lies."""
        slots = list(walk(step(self._cF, self.F, start), start, stop))
        if stop != end:
            slots[-1] = self._combine(slots[-1], self._slot(stop))
        for i in range(len(slots) - 2, -1, -1):
            slots[i] = self._combine(slots[i], slots[i + 1])
        return slots

    def _pointers(self) -> tuple[Any, ...]:
        middle = self.F, self.L, self.R, self.A, self.B, self.E, self.aggRA, self.aggB
        return self._cF, self._cE, self._cL, self._cA, self._chunks, *middle

    def _put_back(self, before: tuple[Any, ...], log: SavedSlots) -> None:
        restore(log)
        self._cF, self._cE, self._cL, self._cA, self._chunks, *middle = before
        self.F, self.L, self.R, self.A, self.B, self.E, self.aggRA, self.aggB = middle

    def _savepoint(self) -> None:
        if self._before is not None and self._before[0] is not self._cF:
            self._release_left(self._before[0])
        pointers = self.F, self.L, self.R, self.A, self.B, self.E, self.aggRA, self.aggB
        self._before = (self._cF, self._cE, self._cL, self._cA, self._chunks, *pointers)
        self._log = []

    def _commit(self) -> None:
        if self._before is not None and self._before[0] is not self._cF:
            self._release_left(self._before[0])
        self._before = self._log = None

    def _release_left(self, left: Chunk | None) -> None:
        """Let go of the chunks that have left since the savepoint, from this one on; one of them is kept for reuse."""
        self._chunks.forget(self.F)
        if left is not None:
            cut(left, self._cF)
            left[NEXT] = None
            self._chunks.spare = left

    def _rollback(self) -> None:
        before, log = self._before, self._log
        assert before is not None, "a savepoint comes before a rollback"
        assert log is not None
        self._put_back(before, log)
        if self._cE is not None and self._cE[NEXT] is not None:  # chunks behind the end are not reached any more
            cut(self._cE[NEXT])
            self._cE[NEXT] = None
        log.clear()

    def _dump(self) -> tuple[list[int], list[State]]:
        pointers = [pointer - self.F for pointer in (self.L, self.R, self.A, self.B, self.E)]
        return pointers, [*walk(self._cF, self.F, self.E), self.aggRA, self.aggB]

    def _load(self, numbers: list[int], states: list[State]) -> None:
        L, R, A, B, E = numbers
        *slots, aggRA, aggB = states
        pointers = Pointers(0, L, R, A, B, E)
        all_integers = all(type(pointer) is int for pointer in numbers)
        if not all_integers or not pointers.ordered() or not pointers.balanced() or len(slots) != E:
            raise ValueError(f"no DABA Lite has the pointers {numbers} over {len(slots)} rows")
        self._before = self._log = None
        self.clear()
        if not E:
            return
        last = self._cF = self._chunks.after(None)
        for _ in range((E - 1) // CHUNK):
            last = self._chunks.after(last)
        write(self._cF, 0, slots)
        self._cE = last
        self.L, self.R, self.A, self.B, self.E = L, R, A, B, E
        self.aggRA, self.aggB = aggRA, aggB
        if L != R:
            self._cL, self._cA = step(self._cF, 0, L), step(self._cF, 0, A - 1)

    def __del__(self) -> None:
        cut(getattr(self, "_cF", None))
        before = getattr(self, "_before", None)
        cut(None if before is None else before[0])

    def stored(self) -> int:
        return len(self) + 2

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        pointers = Pointers.of(self)
        self._require(pointers.ordered(), "F <= L <= R <= A <= B <= E")
        self._require(pointers.balanced(), f"the sizes {pointers.sizes()} balance")
        if not self:
            self._require(self._cE is None, "an empty window holds no chunk")
            return
        F, L, R, A, B, E = pointers
        slots = list(walk(self._cF, F, E))
        self._require(step(self._cF, F, E - 1) is self._cE, "E - 1 lies in its chunk")
        if L != R:
            self._require(step(self._cF, F, L) is self._cL, "L lies in its chunk")
            self._require(step(self._cF, F, A - 1) is self._cA, "A - 1 lies in its chunk")
            aggR = slots[R - F : A - F] + slots[A - F : A - F + (A != B)]
            self._require_same(self.aggRA, self._fold(aggR), "aggRA")
        self._require_same(self.aggB, self._fold(slots[B - F :]), "aggB")
        if rows is None:
            return
        v = self._lifted(rows)
        self._require(len(v) == E - F, f"the window holds {len(v)} rows")
        for p in range(F, E):
            plain = R <= p < A or p >= B
            stop = p + 1 if plain else R if L <= p < R else B
            self._require_same(slots[p - F], self._fold(v[p - F : stop - F]), f"the slot at F + {p - F}")

    def _show(self) -> str:
        slots = list(walk(self._cF, self.F, self.E))
        return f"{show(Pointers.of(self), slot=slots)}\naggRA {self.aggRA!r}, aggB {self.aggB!r}"
