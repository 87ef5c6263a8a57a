"""Order statistics: the window's values in order beside their queue, for medians, other quantiles and spreads."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Any

from slidewise.operators.families.quantiles import ordered_value, statistic_of
from slidewise.operators.families.ranks import Ranked, rank_among
from slidewise.operators.operator import Operator
from slidewise.operators.traits import OrderStatistic, Quantile, Rank
from slidewise.operators.types import Answer, State, Value
from slidewise.operators.values.ordered import Ordered
from slidewise.swag.interface import Swag, refuse
from slidewise.swag.structures.ordered_tree import OrderedTree


class OrderStatistics(Swag):
    """Keep the rows in a queue and their values in a tree that knows ranks; `query` finds the statistic in it.

    Change the window: as every SWAG. Ask it more: `quantile(q)` for any other quantile, `rank(x)`, `select(k)`.

    Steps: O(log n) in the worst case for insert, evict and query; combine is never called. Space: n values, twice.
    `mad` selects O(log n) values, each in so many steps. Serves `median`, `quantile`, `iqr`, `mad`, `rank` and
    `percent_rank` only. `query` ranks the newest value, and `query_own` any other.

    >>> import slidewise as sw
    >>> w = OrderStatistics(sw.median)
    >>> for e in [4, 5, 3, 4, 0, 4, 4]:
    ...     w.insert(e)
    >>> w.evict()
    >>> w.query(), w.quantile(0.9), w.rank(4), w.select(0)
    (4.0, 4.5, 2, 0)
    """

    __slots__ = ("_computed", "_log", "_nans", "_nulls", "_rows", "_statistic", "_tree")

    _rows: deque[Value]
    _tree: OrderedTree
    _nans: int
    _nulls: int
    # The steps since the savepoint, if there was one: None for an insert, a value in a tuple that left, or what was
    # dropped.
    _log: list[Any] | None

    def __init__(self, operator: Operator) -> None:
        self._log = None
        super().__init__(operator)
        self._statistic: OrderStatistic = operator.traits.order_statistic or Quantile(0.5, "linear")
        self._computed = self._statistic.computed

    @classmethod
    def several(cls, operators: list[Operator]) -> list[Swag]:
        """Windows that get the same rows and share one tree: the first keeps it, and the others read from it.

        >>> import slidewise as sw
        >>> low, high = OrderStatistics.several([sw.quantile(0.1), sw.quantile(0.9)])
        >>> for e in range(11):
        ...     low.insert(e); high.insert(e)
        >>> low.query(), high.query()
        (1.0, 9.0)
        """
        first = cls(operators[0])
        first._computed = any(
            op.traits.order_statistic is not None and op.traits.order_statistic.computed for op in operators
        )
        return [first, *(SharedQuantile(op, first) for op in operators[1:])]

    def insert(self, e: Value, *more: Value) -> None:
        if more:
            self._lift_row(e, more)
        if e is not None:
            e = ordered_value(self.operator.name, self._computed, e)
        self._add(e)
        self._rows.append(e)
        if self._log is not None:
            self._log.append(None)

    def evict(self) -> None:
        if not self._rows:
            raise self._empty()
        value = self._rows.popleft()
        self._take_out(value)
        if self._log is not None:
            self._log.append((value,))

    def _add(self, value: Value) -> None:
        if value is None:
            self._nulls += 1
        elif value == value:
            self._tree.add(value)
        else:
            self._nans += 1

    def _take_out(self, value: Value) -> None:
        if value is None:
            self._nulls -= 1
        elif value == value:
            self._tree.take_out(value)
        else:
            self._nans -= 1

    def query(self) -> Answer:
        return self._answer(self._statistic)

    def query_own(self, value: Value, inside: bool) -> Answer:
        """The rank of a row's own value, which is in the window, or is ranked as if it were. O(log n)."""
        return self._rank_of(self._statistic, ordered_value(self.operator.name, self._computed, value), inside)

    def _rank_of(self, statistic: OrderStatistic, value: Value, inside: bool) -> Answer:
        assert isinstance(statistic, Rank), "only ranks are about one row's value"
        tree = self._tree
        return rank_among(statistic.method, tree, len(tree), self._nans, value, inside)

    def _answer(self, statistic: OrderStatistic) -> Answer:
        tree = self._tree
        if isinstance(statistic, Rank):
            newest = next((value for value in reversed(self._rows) if value is not None), None)
            return None if newest is None else self._rank_of(statistic, newest, True)
        return statistic_of(statistic, tree.__getitem__, len(tree) + self._nans, self._nans)

    def quantile(self, q: float, interpolation: str | None = None) -> Answer:
        """Any quantile of the window, by the operator's interpolation or another. O(log n).

        Args:
            q: The share, from 0 to 1.
            interpolation: How values between two are found; None is the operator's own.

        Returns:
            The quantile; None of no values.
        """
        if interpolation is None:
            interpolation = self._statistic.interpolation if isinstance(self._statistic, Quantile) else "linear"
        return self._answer(Quantile(q, interpolation))

    def rank(self, x: Value) -> int:
        """How many values of the window lie below x; NaN lies below nothing. O(log n).

        Args:
            x: A value, which need not be in the window.

        Returns:
            A number of rows.
        """
        return self._tree.rank(x)

    def select(self, k: int) -> Value:
        """The value of rank k, from 0 on, NaN left out; an IndexError where there is none. O(log n).

        Args:
            k: The rank.

        Returns:
            A value.

        Raises:
            IndexError: There is no such rank.
        """
        if not 0 <= k < len(self._tree):
            raise IndexError(f"the window has {len(self._tree)} values that have an order, and none of rank {k!r}")
        return self._tree[k]

    def _query_without(self, k: int, newer: Sequence[Value] = ()) -> Answer:
        """`newer` are values of rows. Steps: O(min(k, n - k) log n), and as many for each value of `newer`."""
        return self._answer_without(k, newer, self._statistic)

    def _answer_without(self, k: int, newer: Sequence[Value], statistic: OrderStatistic) -> Answer:
        """A statistic without the k oldest rows, and with others."""
        young = [
            value if value is None else ordered_value(self.operator.name, self._computed, value) for value in newer
        ]
        stay = len(self._rows) - k
        if stay <= k or young:
            young += islice(reversed(self._rows), stay)
            values = [value for value in young if value is not None]
            ordered = sorted(value for value in values if value == value)
            nans = len(values) - len(ordered)
            if isinstance(statistic, Rank):
                newest = next((value for value in (*young[: len(newer)][::-1], *values) if value is not None), None)
                ranking = Ordered.of(ordered)
                return (
                    None if newest is None else rank_among(statistic.method, ranking, len(ordered), nans, newest, True)
                )
            return statistic_of(statistic, ordered.__getitem__, len(values), nans)
        old = [value for value in islice(self._rows, k) if value is not None]
        gone = sorted(value for value in old if value == value)
        tree = self._tree
        nans = self._nans - (len(old) - len(gone))
        if isinstance(statistic, Rank):
            newest = next((value for value in islice(reversed(self._rows), stay) if value is not None), None)
            left = _Without(tree, gone)
            return None if newest is None else rank_among(statistic.method, left, len(left), nans, newest, True)

        def select(rank: int) -> Value:
            """The value of a rank among those that stay: in the tree it stands behind as many that have gone."""
            low, high = rank, rank + len(gone)
            while low < high:
                middle = (low + high) // 2
                value = tree[middle]
                if tree.rank_behind(value) - bisect_right(gone, value) > rank:
                    high = middle
                else:
                    low = middle + 1
            return tree[low]

        return statistic_of(statistic, select, len(tree) - len(gone) + nans, nans)

    def partial(self) -> State:
        return self._state_of([row for row in self._rows if row is not None])

    def _state_of(self, values: list[Value]) -> State:
        """The operator's state of some values, oldest first."""
        ordered = Ordered.of(values)
        return Ranked(values[-1] if values else None, ordered) if isinstance(self._statistic, Rank) else ordered

    def __len__(self) -> int:
        return len(self._rows)

    def clear(self) -> None:
        if self._log is not None:
            self._log.append([self._rows, self._tree, self._nans, self._nulls])
        self._rows = deque()
        self._tree = OrderedTree()
        self._nans = self._nulls = 0

    def _savepoint(self) -> None:
        self._log = []

    def _commit(self) -> None:
        self._log = None

    def _rollback(self) -> None:
        assert self._log is not None, "a savepoint comes before a rollback"
        log, self._log = self._log, None
        for step in reversed(log):
            if step is None:
                self._take_out(self._rows.pop())
            elif type(step) is tuple:
                self._rows.appendleft(step[0])
                self._add(step[0])
            else:
                self._rows, self._tree, self._nans, self._nulls = step
        self._log = []

    def _dump(self) -> tuple[list[int], list[State]]:
        return [], [self._state_of([] if row is None else [row]) for row in self._rows]

    def _load(self, numbers: list[int], states: list[State]) -> None:
        values = [state.values if isinstance(state, Ranked) else state for state in states]
        if numbers or any(len(of_row) > 1 for of_row in values):
            raise ValueError(f"no OrderStatistics has the numbers {numbers} and several values for a row")
        self._log = None
        self.clear()
        for of_row in values:
            self.insert(next(iter(of_row), None))

    def stored(self) -> int:
        return len(self)

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        self._tree.check(self._require)
        values = [row for row in self._rows if row is not None]
        self._require(self._nulls == len(self._rows) - len(values), "nulls are counted")
        self._require(self._nans == sum(value != value for value in values), "NaNs are counted")
        self._require_same(list(self._tree), sorted(v for v in values if v == v), "the tree")
        if rows is not None:
            expected = [None if row is None else ordered_value(self.operator.name, self._computed, row) for row in rows]
            self._require_same(list(self._rows), expected, "the queue")

    def _show(self) -> str:
        return f"{list(self._tree)!r} of the queue {list(self._rows)!r}"

    @classmethod
    def _accept(cls, operator: Operator) -> None:
        if operator.traits.order_statistic is None:
            raise refuse(cls.__name__, operator, "it is no exact order statistic", "DabaLite, or any other SWAG")


class _Without:
    """The values of a tree without some that are in it, as far as ranks go."""

    def __init__(self, tree: OrderedTree, gone: list[Value]) -> None:
        self._tree = tree
        self._gone = gone

    def rank(self, value: Value) -> int:
        return self._tree.rank(value) - bisect_left(self._gone, value)

    def rank_behind(self, value: Value) -> int:
        return self._tree.rank_behind(value) - bisect_right(self._gone, value)

    def __len__(self) -> int:
        return len(self._tree) - len(self._gone)


class SharedQuantile(OrderStatistics):
    """Another quantile of a window that an `OrderStatistics` keeps: what comes and goes there is seen here."""

    __slots__ = ("_first",)

    def __init__(self, operator: Operator, first: OrderStatistics) -> None:
        self._first = first
        super().__init__(operator)

    def insert(self, e: Value, *more: Value) -> None:
        """Nothing to do."""

    def evict(self) -> None:
        """Nothing to do."""

    def query(self) -> Answer:
        return self._first._answer(self._statistic)

    def query_own(self, value: Value, inside: bool) -> Answer:
        return self._first._rank_of(self._statistic, ordered_value(self.operator.name, self._computed, value), inside)

    def _query_without(self, k: int, newer: Sequence[Value] = ()) -> Answer:
        return self._first._answer_without(k, newer, self._statistic)

    def rank(self, x: Value) -> int:
        return self._first.rank(x)

    def select(self, k: int) -> Value:
        return self._first.select(k)

    def partial(self) -> State:
        return self._state_of([row for row in self._first._rows if row is not None])

    def __len__(self) -> int:
        return len(self._first)

    def clear(self) -> None:
        """Nothing to do."""

    def evict_many(self, k: int) -> None:
        """Nothing to do."""

    def _savepoint(self) -> None:
        """Nothing to do."""

    def _commit(self) -> None:
        """Nothing to do."""

    def _rollback(self) -> None:
        """Nothing to do."""

    def _dump(self) -> tuple[list[int], list[State]]:
        return [], []

    def _load(self, numbers: list[int], states: list[State]) -> None:
        """Nothing to do."""
        if numbers or states:
            raise ValueError("a quantile that shares its values has none of its own")

    def stored(self) -> int:
        return 0

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        self._first._check(rows)

    def _show(self) -> str:
        return self._first._show()
