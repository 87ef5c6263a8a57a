"""Places in a finger B-tree: what lies between two of them, and dropping all rows before one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable

from slidewise.errors import SlidewiseError
from slidewise.operators.types import Answer, State
from slidewise.swag.fiba.node import NOTHING, Node, fold, interleave
from slidewise.swag.fiba.spines import Spines
from slidewise.swag.structures.times import RowTime

Bisect = Callable[[list[RowTime], RowTime], int]


class Ranges(Spines):
    """A place is a gap between two rows: for each level, how many rows of the node on the way down lie before it."""

    __slots__ = ()

    def range_query(self, t0: RowTime, t1: RowTime) -> Answer:
        """The answer for the rows of the times from t0 to t1, both included. Combine calls: O(log n)."""
        return self._lower(self.range_partial(t0, t1))

    def range_partial(self, t0: RowTime, t1: RowTime) -> State:
        """The aggregate of these rows before `lower`."""
        if not self._size:
            return self.operator.identity
        youngest = self._right[0].times[-1]
        if youngest is None:
            raise SlidewiseError("the rows in the window have no times to ask for; give a time with every row")
        try:
            if t0 > t1 or t0 > youngest or t1 < self._left[0].times[0]:
                return self.operator.identity
        except TypeError:
            raise SlidewiseError(
                f"the times {t0!r}, {t1!r} and {youngest!r} cannot be compared; ask with times of the rows' kind"
            ) from None
        return self._between(self._place_of(t0, bisect_left), self._place_of(t1, bisect_right))

    def query_since(self, t: RowTime) -> Answer:
        """The answer for the rows whose time is t or later. Combine calls: O(log n)."""
        return self.range_query(t, self._right[0].times[-1] if self._size else t)

    def locate(self, t0: RowTime, t1: RowTime) -> tuple[list[int], list[int], int]:
        """The places where the rows of the times from t0 to t1 begin and end, and their number; t0 is not after t1.

        The places hold for every tree that has taken the same steps, so that several operators over the same rows look
        for them once.
        """
        start, stop = self._place_of(t0, bisect_left), self._place_of(t1, bisect_right)
        return start, stop, self._rank(stop) - self._rank(start)

    def located(self, start: list[int], stop: list[int]) -> State:
        """The aggregate of the rows between two places that `locate` found, before `lower`. Combine calls: O(log n)."""
        return self._between(start, stop)

    def suffix(self, k: int) -> State:
        """The aggregate of the k youngest rows before `lower`. Combine calls: O(log n)."""
        self._require_rows(k)
        return self.span(self._size - k, self._size)

    def span(self, start: int, stop: int) -> State:
        """The aggregate of the rows from the number `start` up to `stop`, counted from the oldest, before `lower`."""
        if not 0 <= start <= stop <= self._size:
            raise SlidewiseError(f"the window has no rows from {start} up to {stop}: it holds {self._size}")
        if start == stop:
            return self.operator.identity
        return self._between(self._place_at(start), self._place_at(stop))

    def _place_of(self, t: RowTime, bisect: Bisect, level: int | None = None) -> list[int]:
        """The place of a time, from a node as above down: before its rows by `bisect_left`, else by `bisect_right`."""
        level = len(self._left) - 1 if level is None else level
        places = [0] * (level + 1)
        node = self._left[level]
        for at in range(level, -1, -1):
            places[at] = bisect(node.times, t)
            if node.kids is not None:
                node = node.kids[places[at]]
        return places

    def _place_at(self, k: int, level: int | None = None) -> list[int]:
        """The place behind the k oldest rows, from the left spine's node at a level down; from the root if not said."""
        level = len(self._left) - 1 if level is None else level
        first = sum(node.rows_but_first() for node in self._left[:level])
        node = self._left[level]
        places = [0] * (level + 1)
        for at in range(level, 0, -1):
            assert node.kids is not None
            i = 0
            size = first if node is self._left[at] else node.kids[0].rows
            while k > size:
                k -= size + 1
                i += 1
                if i == len(node.vals):
                    break
                size = node.kids[i].rows
            first -= self._left[at - 1].rows_but_first()
            places[at] = i
            node = node.kids[i]
        places[0] = k
        return places

    def _level_of(self, k: int) -> int:
        """The lowest level at which the left spine's node has the k oldest rows at and below it."""
        level = 0
        while level < len(self._left) - 1:
            k -= self._left[level].rows_but_first()
            if k <= 0:
                break
            level += 1
        return level

    def _rows_before(self, level: int, places: list[int]) -> int:
        """How many rows lie before a place inside the left spine's node at a level."""
        rows = sum(node.rows_but_first() for node in self._left[:level])
        node = self._left[level]
        for at in range(level, -1, -1):
            i = places[at]
            rows += i
            if node.kids is not None:
                rows += sum(kid.rows for kid in node.kids[(at == level) : i])
                node = node.kids[i]
        return rows

    def _rank(self, places: list[int]) -> int:
        """How many rows lie before a place."""
        level = len(self._left) - 1
        node = self._left[level]
        rows = 0
        while node.kids is not None:
            i = places[level]
            level -= 1
            rows += i + sum(kid.rows for kid in node.kids[:i])
            if i and node.kids[0] is self._left[level]:
                rows += sum(below.rows_but_first() for below in self._left[: level + 1])
            node = node.kids[i]
        return rows + places[0]

    def _between(self, start: list[int], stop: list[int]) -> State:
        """The product of all rows between two places; the identity of none."""
        level = len(self._left) - 1
        node = self._left[level]
        while node.kids is not None and start[level] == stop[level]:
            node = node.kids[start[level]]
            level -= 1
        i, j = start[level], stop[level]
        if node.kids is None:
            agg = fold(self._combine, NOTHING, node.vals[i:j])
            return self.operator.identity if agg is NOTHING else agg
        agg = self._from(node.kids[i], start, level - 1)
        agg = interleave(self._combine, agg, node.vals[i : j - 1], node.kids[i + 1 : j])
        agg = fold(self._combine, agg, node.vals[j - 1 : j])
        return self._up_to(agg, node.kids[j], stop, level - 1)

    def _from(self, node: Node, places: list[int], level: int) -> State:
        """The product of what lies below a node behind a place."""
        i = places[level]
        if node.kids is None:
            return fold(self._combine, NOTHING, node.vals[i:])
        return interleave(self._combine, self._from(node.kids[i], places, level - 1), node.vals[i:], node.kids[i + 1 :])

    def _up_to(self, agg: State, node: Node, places: list[int], level: int) -> State:
        """The product of `agg` and what lies below a node before a place."""
        while True:
            i = places[level]
            if node.kids is None:
                return fold(self._combine, agg, node.vals[:i])
            if i:
                agg = interleave(
                    self._combine, self._combine(agg, node.kids[0].agg), node.vals[: i - 1], node.kids[1:i]
                )
                agg = self._combine(agg, node.vals[i - 1])
            node = node.kids[i]
            level -= 1

    def _drop(self, level: int, places: list[int], rows: int) -> None:
        """Drop the rows before a place inside the left spine's node at a level, fewer than there are.

        Nodes along the cut may be left with too few rows. First the one at `level` is filled up, with one row to
        spare for the child below it, and so on downwards.
        """
        left, least = self._left, self.min_arity - 1
        node = left[level]
        for at in range(level, -1, -1):
            self._save(node)
            i = places[at]
            node.times, node.vals = node.times[i:], node.vals[i:]
            if at < level:
                node.forget()
            left[at] = node
            if node.kids is not None:
                node.kids = node.kids[i:]
                node = node.kids[0]
        self._size -= rows
        if level == len(left) - 1:
            root_changed = True
            self._lower_root()
        else:
            self._suffix[level] = self._suffix[level][places[level] :]
            root_changed = self._refill(level, least + (level > 0))
        level = min(level, len(left) - 1)
        for at in range(level - 1, -1, -1):
            if len(left[at].vals) < least + (at > 0):
                parent = left[at + 1]
                self._join(parent, at + 2 < len(left) or len(parent.vals) > 1)
                if at + 2 == len(left):
                    root_changed = True
                    self._lower_root()
        if level:
            self._refresh_suffix(level)
        if root_changed:
            self._refresh_prefix(len(self._right) - 1)
