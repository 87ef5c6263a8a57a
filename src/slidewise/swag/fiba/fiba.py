"""FiBA, the finger B-tree aggregator (Tangwongsan, Hirzel, Schneider 2019, 2023): rows may come at any time."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from numbers import Integral

from slidewise.errors import EmptyWindowError, SlidewiseError, TimeOrderError
from slidewise.operators.operator import Operator
from slidewise.operators.types import Answer, State, Value
from slidewise.swag.fiba import check as fiba_check
from slidewise.swag.fiba.node import Node, fold
from slidewise.swag.fiba.ranges import Ranges
from slidewise.swag.structures.times import RowTime


class Fiba(Ranges):
    """A window ordered by time, in a B-tree that is entered at its two ends; rows may come late, by any distance.

    Combine calls: insert amortised O(log d) for a row d places from the nearer end, evict amortised constant; of a
    first-in first-out window 2.5 and 1.2 on average; query at most 1. Space: less than 2n partials. `evict_until`,
    `evict_many` and `range_query` take O(log n) calls, `bulk_insert` as many as the nodes it changes have rows.

    `insert(t, e)` puts a row at its time, behind those of equal time. `insert(e)` puts it at the end, with the time of
    the youngest row, or with none where no row has one. An operator of k columns takes k arguments, or the time and k.
    A node has `min_arity` to twice as many children. Times are numbers, datetimes, or whatever can be ordered.

    >>> import slidewise as sw
    >>> w = Fiba(sw.collect)
    >>> for t, e in [(1, "a"), (9, "d"), (5, "c"), (2, "b")]:
    ...     w.insert(t, e)
    >>> w.query(), w.range_query(2, 5), w.oldest(), w.youngest()
    (['a', 'b', 'c', 'd'], ['b', 'c'], 1, 9)
    >>> w.evict_until(2)
    >>> w.query()
    ['c', 'd']
    """

    __slots__ = ("_width",)

    _width: int  # how many columns a row has

    def __init__(self, operator: Operator, min_arity: int = 4) -> None:
        if not isinstance(min_arity, Integral) or isinstance(min_arity, bool) or min_arity < 2:
            raise SlidewiseError(
                f"min_arity is how few children a node may have, a number from 2 on, not {min_arity!r}"
            )
        self.min_arity = int(min_arity)
        super().__init__(operator)
        self._width = max(operator.arity()[0], 1)

    def insert(self, t: RowTime | Value, *row: Value) -> None:
        """Put a row behind all rows of its time and before; without a time, at the end.

        Combine calls: amortised O(log d) for a row d places from the nearer end; 1 if it fits into the youngest leaf.

        Args:
            t: The row's time, or its value where rows have none.
            *row: Its values.

        Raises:
            InputError: A value that the operator cannot take.
        """
        leaf = self._right[0]
        if len(row) < self._width:
            e, more = t, row
            t = leaf.times[-1] if leaf.times else None
        elif t is None:
            raise SlidewiseError("a row's time is None; give a time, or the row alone to put it at the end")
        else:
            e, *more = row  # type: ignore[assignment]
            if not leaf.times or leaf.times[-1] is None or not _reached(t, leaf.times[-1]):
                self._check_times((t,))
                v = self._lift_row(e, tuple(more)) if more or e is None else self._lift(e)
                self._all_or_nothing(self._put, (t,), (v,))
                return
        v = self._lift_row(e, tuple(more)) if more or e is None else self._lift(e)
        if len(leaf.vals) < 2 * self.min_arity - 1 and self._size:
            self._prefix[0] = self._combine(self._prefix[0], v)
            leaf.times.append(t)
            leaf.vals.append(v)
            self._size += 1
        else:
            self._all_or_nothing(self._put, (t,), (v,))

    def bulk_insert(self, rows: Iterable[tuple[RowTime | Value, ...]]) -> None:
        """Insert rows `(t, e)` that are sorted by time, all or none; nodes that get several rows are summed up once.

        Args:
            rows: Tuples of time and values, sorted by time.

        Raises:
            TimeOrderError: Rows that are not sorted.
            SlidewiseError: Something that is no row.
        """
        self.undoable_insert(rows)

    def undoable_insert(self, rows: Iterable[tuple[RowTime | Value, ...]]) -> Callable[[], None]:
        """`bulk_insert`, and a function that takes it back without a call, until something else changes the window."""
        rows = list(rows)
        for row in rows:
            if not isinstance(row, (tuple, list)) or len(row) < 2:
                raise SlidewiseError(f"bulk_insert takes rows (time, value), not {row!r}")
        times = [row[0] for row in rows]
        for earlier, later in itertools.pairwise(times):
            if not _reached(later, earlier):
                raise TimeOrderError(
                    f"bulk_insert takes rows sorted by time, but {later} came after {earlier}; sort them"
                )
        if not rows:
            return lambda: None
        self._check_times(times)
        vals = [self._lift_row(e, tuple(more)) for _, e, *more in rows]
        return partial(self._put_back, *self._all_or_nothing(self._put, times, vals))

    def _check_times(self, times: Sequence[RowTime]) -> None:
        """Refuse times that cannot be ordered, and rows with a time behind rows without."""
        for t in (times[0], times[-1]):
            if t is None or t != t:
                raise SlidewiseError(f"a row's time is {t!r}, which cannot be ordered; give it a time, or leave it out")
        if self._size:
            if self._right[0].times[-1] is None:
                raise SlidewiseError(
                    f"the {self._size} rows in the window have no times, so {times[0]!r} has no place among them; "
                    "give a time with every row, or with none"
                )
            _reached(times[0], self._right[0].times[-1])

    def _put(self, times: Sequence[RowTime], vals: Sequence[State]) -> None:
        """Put rows sorted by time into the smallest tree at one of the ends that spans them all, then split upwards."""
        left, right = self._left, self._right
        level, root = 0, len(left) - 1
        at_right = True
        while level < root and not _after(times[0], right[level + 1].times[-1]):
            if times[-1] < left[level + 1].times[0]:
                at_right = False
                break
            level += 1
        leaf = right[0]
        at_end = at_right and level == 0 and (not leaf.times or _after(times[0], leaf.times[-1]))
        node = (right if at_right else left)[level]
        whole = level == root
        nodes, between = self._grow(node, times, vals, whole or not at_right, whole or at_right)
        self._size += len(vals)
        if at_end:
            self._prefix[0] = fold(self._combine, self._prefix[0], vals)
        while between and level < root:
            level += 1
            parent = (right if at_right else left)[level]
            self._save(parent)
            assert parent.kids is not None
            times_between, vals_between = [t for t, _ in between], [v for _, v in between]
            if at_right:
                if at_end:
                    for kid, val in zip(nodes, vals_between, strict=False):
                        self._prefix[level] = fold(self._combine, self._prefix[level], (kid.agg, val))
                parent.times, parent.vals = parent.times + times_between, parent.vals + vals_between
                parent.kids = parent.kids[:-1] + nodes
            else:
                parent.times, parent.vals = times_between + parent.times, vals_between + parent.vals
                parent.kids = nodes + parent.kids[1:]
            nodes, between = self._split(parent, at_right)
            if level < root:
                self._sum_inside(nodes, not at_right, at_right)
        if between:
            self._grow_root(nodes, between)
        elif level == root or (at_right and not at_end):
            if not at_end:
                self._refresh_prefix(level)
            if (whole and len(vals) > 1) or not at_right:
                self._refresh_suffix(level)
        elif not at_right:
            self._refresh_suffix(level)

    def _grow(
        self, node: Node, times: Sequence[RowTime], vals: Sequence[State], on_left: bool, on_right: bool
    ) -> tuple[list[Node], list[tuple[RowTime, State]]]:
        """Put rows into the tree below a node: the node, in several where it got too many rows, and rows between."""
        self._save(node)
        new_times: list[RowTime] = []
        new_vals: list[State] = []
        new_kids: list[Node] = []
        start = 0
        for i in range(len(node.vals) + 1):
            stop = _before(times, node.times[i], start) if i < len(node.vals) else len(times)
            if node.kids is None:
                new_times += times[start:stop]
                new_vals += vals[start:stop]
            elif start == stop:
                new_kids.append(node.kids[i])
            else:
                sides = on_left and i == 0, on_right and i == len(node.vals)
                nodes, between = self._grow(node.kids[i], times[start:stop], vals[start:stop], *sides)
                new_kids += nodes
                new_times += [t for t, _ in between]
                new_vals += [v for _, v in between]
            if i < len(node.vals):
                new_times.append(node.times[i])
                new_vals.append(node.vals[i])
            start = stop
        node.times, node.vals = new_times, new_vals
        node.kids = None if node.kids is None else new_kids
        nodes, between = self._split(node, keep_last=on_right)
        if not (on_left and on_right):
            self._sum_inside(nodes, on_left, on_right)
        return nodes, between

    def _sum_inside(self, nodes: list[Node], on_left: bool, on_right: bool) -> None:
        """Sum up the nodes that one was cut into, but for the one that is on a spine."""
        for node in nodes[on_left : len(nodes) - on_right]:
            node.sum_up(self._combine)

    def evict(self) -> None:
        """Drop the oldest row. Combine calls: amortised constant; 0 while the oldest leaf has rows to spare."""
        leaf = self._left[0]
        if self._suffix and len(leaf.vals) >= self.min_arity:
            del leaf.times[0], leaf.vals[0], self._suffix[0][0]
            self._size -= 1
        elif self._size > 1:
            self._all_or_nothing(self._drop, 0, [1], 1)
        elif self._size:
            self.clear()
        else:
            raise self._empty()

    def evict_until(self, t: RowTime) -> None:
        """Drop every row whose time is t or earlier. Combine calls: amortised O(log k) for k rows, at most O(log n).

        Args:
            t: The time.
        """
        if not self._size:
            return
        self._check_times((t,))
        if _reached(t, self._right[0].times[-1]):
            self.clear()
            return
        leaf = self._left[0]
        k = bisect_right(leaf.times, t)
        if not k:
            return
        if self._suffix and len(leaf.vals) - k >= self.min_arity - 1:
            del leaf.times[:k], leaf.vals[:k], self._suffix[0][:k]
            self._size -= k
            return
        level = 0
        while level < len(self._left) - 1 and self._left[level + 1].times[0] <= t:
            level += 1
        places = self._place_of(t, bisect_right, level)
        self._all_or_nothing(self._drop, level, places, self._rows_before(level, places))

    def contents(self) -> Iterator[tuple[RowTime, State]]:
        """The times and states of all rows, from the oldest on."""
        return fiba_check.entries(self._left[-1])

    def fill(self, contents: Sequence[tuple[RowTime, State]]) -> None:
        """Hold these rows' states, sorted by time, instead of what there is."""
        self.clear()
        if contents:
            self._put([t for t, _ in contents], [v for _, v in contents])
            self._log = []

    def undoable_evict_until(self, t: RowTime) -> Callable[[], None]:
        """`evict_until`, and a function that takes it back without a call, until something else changes the window."""
        if not self._size:
            return lambda: None
        self._check_times((t,))
        if _reached(t, self._right[0].times[-1]):
            before = self._left, self._right, self._suffix, self._prefix, self._size
            self.clear()
            return partial(self._put_back, before, [])
        level = 0
        while level < len(self._left) - 1 and self._left[level + 1].times[0] <= t:
            level += 1
        places = self._place_of(t, bisect_right, level)
        rows = self._rows_before(level, places)
        if not rows:
            return lambda: None
        return partial(self._put_back, *self._all_or_nothing(self._drop, level, places, rows))

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows. Combine calls: amortised O(log k), at most O(log n)."""
        if self._leaving(k):
            level = self._level_of(k)
            self._all_or_nothing(self._drop, level, self._place_at(k, level), k)

    def query(self) -> Answer:
        """The answer: the lowered aggregate of all rows from oldest to youngest. Combine calls: at most 1."""
        return self._lower(self.partial())

    def partial(self) -> State:
        if self._suffix:
            return self._combine(self._suffix[0][0], self._prefix[0])
        return self._prefix[0] if self._size else self.operator.identity

    def oldest(self) -> RowTime:
        """The time of the oldest row; None where rows have no times.

        Returns:
            A time.

        Raises:
            EmptyWindowError: There is no row.
        """
        return self._a_leaf(self._left[0]).times[0]

    def youngest(self) -> RowTime:
        """The time of the youngest row; None where rows have no times.

        Returns:
            A time.

        Raises:
            EmptyWindowError: There is no row.
        """
        return self._a_leaf(self._right[0]).times[-1]

    def _a_leaf(self, leaf: Node) -> Node:
        if not self._size:
            raise EmptyWindowError("the window is empty and so has no times; check len() first")
        return leaf

    def __len__(self) -> int:
        return self._size

    def stored(self) -> int:
        return fiba_check.stored(self)

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        fiba_check.check(self, rows)

    def _show(self) -> str:
        return fiba_check.show(self)


def _reached(t: RowTime, other: RowTime) -> bool:
    """Whether t is not before the other time; an error where the two cannot be compared."""
    try:
        return bool(t >= other)
    except TypeError:
        raise SlidewiseError(
            f"the times {t!r} and {other!r} cannot be compared; give all rows times of one kind"
        ) from None


def _after(t: RowTime, other: RowTime) -> bool:
    """Whether a row goes behind another one; rows without times come in the order they are inserted."""
    return other is None or bool(t >= other)


def _before(times: Sequence[RowTime], t: RowTime, start: int) -> int:
    """Up to where rows sorted by time go before a row of time t."""
    return start if t is None else bisect_left(times, t, start)
