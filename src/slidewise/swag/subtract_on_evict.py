"""Subtract-on-evict: one running total, for operators whose exact inverse takes the oldest row off again."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Any

from slidewise.errors import UnsuitableOperatorError
from slidewise.operators.operator import Operator
from slidewise.operators.types import State, Value
from slidewise.swag.interface import Swag, refuse


class SubtractOnEvict(Swag):
    """Keep the values and their total; `insert` combines into it and `evict` takes out of it.

    Combine calls: insert at most 1; evict 1 inverse; query 0. Space: n + 1 partials. Needs an exact inverse, so
    never for floats, whose sums would drift: with `sum`, the first float raises and leaves the window as it was.

    >>> import slidewise as sw
    >>> w = SubtractOnEvict(sw.sum)
    >>> for e in [4, 5, 3]:
    ...     w.insert(e)
    >>> w.evict(); w.evict()
    >>> w.query()
    3
    """

    __slots__ = ("_before", "_exact", "_inverse", "_log", "_total", "_values")

    _values: deque[State]
    _total: State
    _before: State  # the total at the savepoint
    # The steps since then, if there was one: None for an insert, a value in a tuple that left, or values that were
    # dropped.
    _log: list[Any] | None

    def __init__(self, operator: Operator) -> None:
        self._before = self._log = None
        super().__init__(operator)
        self._inverse: Any = operator.inverse
        self._exact = operator.invertible_if

    def insert(self, e: Value, *more: Value) -> None:
        v = self._lift_row(e, more) if more or e is None else self._lift(e)
        if self._exact is not None and not self._exact(v):
            raise self._inexact(e)
        self._total = self._combine(self._total, v) if self._values else v
        self._values.append(v)
        if self._log is not None:
            self._log.append(None)

    def _inexact(self, e: Value) -> UnsuitableOperatorError:
        return UnsuitableOperatorError(
            f"SubtractOnEvict cannot take {e!r} into {self.operator.name!r}: its inverse is exact for "
            "integers only, and floats would drift; use DabaLite"
        )

    def evict(self) -> None:
        if not self._values:
            raise self._empty()
        self._total = self._inverse(self._total, self._values[0]) if len(self._values) > 1 else self.operator.identity
        value = self._values.popleft()
        if self._log is not None:
            self._log.append((value,))

    def partial(self) -> State:
        return self._total

    def _partial_without(self, k: int) -> State:
        """Combine calls: min(k inverses, n - k - 1); none where the state is the number of rows."""
        if self.operator.traits.counts_rows:
            return len(self) - k
        if 2 * k > len(self):
            young = list(islice(reversed(self._values), len(self) - k))
            return self._fold(reversed(young))
        total = self._total
        for value in islice(self._values, k):
            total = self._inverse(total, value)
        return total

    def __len__(self) -> int:
        return len(self._values)

    def clear(self) -> None:
        if self._log is not None:
            self._log.append(self._values)
        self._values = deque()
        self._total = self.operator.identity

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows. Combine calls: k inverses, and none where the window empties."""
        if self._leaving(k):
            total = self._total
            for value in islice(self._values, k):
                total = self._inverse(total, value)
            gone = [(self._values.popleft(),) for _ in range(k)]
            self._total = total
            if self._log is not None:
                self._log += gone

    def _savepoint(self) -> None:
        self._before = self._total
        self._log = []

    def _commit(self) -> None:
        self._before = self._log = None

    def _rollback(self) -> None:
        assert self._log is not None, "a savepoint comes before a rollback"
        while self._log:
            step = self._log.pop()
            if step is None:
                self._values.pop()
            elif type(step) is tuple:
                self._values.appendleft(step[0])
            else:
                self._values = step
        self._total = self._before

    def _dump(self) -> tuple[list[int], list[State]]:
        return [], [*self._values, self._total]

    def _load(self, numbers: list[int], states: list[State]) -> None:
        *values, total = states
        if numbers or (self._exact is not None and not all(map(self._exact, states))):
            raise ValueError(f"no SubtractOnEvict has the numbers {numbers} and states that cannot be taken out again")
        self._values, self._total = deque(values), total
        self._before = self._log = None

    def stored(self) -> int:
        return len(self) + 1

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        self._require_same(self._total, self._fold(self._values), "the total")
        if rows is not None:
            self._require_same(list(self._values), self._lifted(rows), "the row of values")

    def _show(self) -> str:
        return f"total {self._total!r} of {list(self._values)!r}"

    @classmethod
    def _accept(cls, operator: Operator) -> None:
        if operator.inverse is None:
            raise refuse(cls.__name__, operator, "it declares no exact inverse", "DabaLite, or any other SWAG")
