"""The interface of every SWAG: a first-in first-out window with an aggregate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import NoReturn

from slidewise.errors import EmptyWindowError, SlidewiseError, UnsuitableOperatorError
from slidewise.operators.operator import Operator
from slidewise.operators.types import Answer, Combine, State, Value
from slidewise.operators.values.equality import same, shown


class Swag(ABC):
    """A sliding-window aggregator: how a window of rows is kept, for one operator.

    Change the window: `insert(e)` at the back, `evict()` and `evict_many(k)` at the front, `clear()`.
    Ask it: `query()` for the answer, `partial()` for the aggregate before `lower`, `len()` for its size.
    Check it: `_check()` verifies every invariant and shows the structure where one fails.

    Inserts and evicts may be interleaved freely. No algorithm combines with the identity on its own account: an
    empty part is left out. The identity enters only as the state of a row whose argument is None.
    Where an operator's function raises, the structure answers as before the call.

    Args:
        operator: What is computed.

    Raises:
        UnsuitableOperatorError: An operator that this algorithm cannot serve.

    >>> import slidewise as sw
    >>> w = sw.DabaLite(sw.max)
    >>> for e in [4, 5, 3]:
    ...     w.insert(e)
    >>> w.evict_many(2)
    >>> w.query(), len(w)
    (3, 1)
    """

    __slots__ = ("_combine", "_lift", "_lower", "operator")

    operator: Operator
    _lift: Callable[..., State]
    _combine: Combine
    _lower: Callable[[State], Answer]

    def __init__(self, operator: Operator) -> None:
        if not isinstance(operator, Operator):
            raise SlidewiseError(
                f"{type(self).__name__} takes an operator, such as sw.{type(self).__name__}(sw.max), not {operator!r}"
            )
        self._accept(operator)
        self.operator = operator
        self._lift = operator.lift if operator.arity()[0] <= 1 else operator.lift_row
        self._combine = operator.combine
        self._lower = operator.lower
        self.clear()

    @abstractmethod
    def insert(self, e: Value, *more: Value) -> None:
        """Put a row at the back; several arguments are several columns.

        Args:
            e: The row's value; None is skipped by the operator, and counts as a row.
            *more: The values of an operator's further columns.

        Raises:
            InputError: A value that the operator cannot take.
        """

    @abstractmethod
    def evict(self) -> None:
        """Drop the oldest row; an empty window raises EmptyWindowError and stays as it is.

        Raises:
            EmptyWindowError: There is no row.
        """

    def query(self) -> Answer:
        """The answer: the lowered aggregate of all rows from oldest to youngest.

        Returns:
            What the operator gives for these rows; of no rows, what it gives for its identity.
        """
        return self._lower(self.partial())

    @abstractmethod
    def partial(self) -> State:
        """The aggregate of the window before `lower`; the identity when it is empty.

        Returns:
            A state.
        """

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows in the window."""

    @abstractmethod
    def clear(self) -> None:
        """Drop every row."""

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows, all or none of them.

        Args:
            k: How many rows.

        Raises:
            EmptyWindowError: There are fewer rows.
        """
        if self._leaving(k):
            for _ in range(k):
                self.evict()

    @abstractmethod
    def stored(self) -> int:
        """How many partial aggregates the structure holds now: its space, in the paper's unit.

        Returns:
            A number of partials.
        """

    @abstractmethod
    def _check(self, rows: Sequence[Value] | None = None) -> None:
        """Verify the invariants; with the window's `rows`, every slot against a recomputation too."""

    @abstractmethod
    def _show(self) -> str:
        """The structure as text."""

    def _dump(self) -> tuple[list[int], list[State]]:
        """The structure as numbers and states, from which `_load` makes it again, to the last partial."""
        raise SlidewiseError(f"a {type(self).__name__} cannot be stored; DabaLite, SubtractOnEvict and SlickDeque can")

    def _load(self, numbers: list[int], states: list[State]) -> None:
        """Become what `_dump` gave."""
        raise SlidewiseError(f"a {type(self).__name__} cannot be stored; DabaLite, SubtractOnEvict and SlickDeque can")

    def _savepoint(self) -> None:
        """Set a savepoint: `_rollback` undoes every step from here on, and calls no function of the operator."""
        raise SlidewiseError(f"a {type(self).__name__} cannot take steps back")

    def _commit(self) -> None:
        """Drop the savepoint, and the log that was kept for it."""
        raise SlidewiseError(f"a {type(self).__name__} cannot take steps back")

    def _rollback(self) -> None:
        """Become what this was at the savepoint, which stays."""
        raise SlidewiseError(f"a {type(self).__name__} cannot take steps back")

    def _query_without(self, k: int, newer: Sequence[State] = ()) -> Answer:
        """The answer without the k oldest rows, and with what `newer` holds behind the others; nothing changes.

        `newer` is one partial, or nothing.
        """
        if not k and not newer:
            return self.query()
        if k == len(self):
            return self._lower(newer[0] if newer else self.operator.identity)
        state = self._partial_without(k) if k else self.partial()
        return self._lower(self._combine(state, newer[0]) if newer else state)

    def _partial_without(self, k: int) -> State:
        """The aggregate without the k oldest rows, of which there are more, before `lower`; nothing changes."""
        raise SlidewiseError(f"a {type(self).__name__} cannot answer without its oldest rows")

    @classmethod  # noqa: B027
    def _accept(cls, operator: Operator) -> None:
        """Refuse an operator that this algorithm cannot serve; most serve any."""

    def _leaving(self, k: int) -> bool:
        """Whether `evict_many` still has rows to drop one by one: k is checked, and a whole window is cleared."""
        if not isinstance(k, Integral) or k < 0:
            raise SlidewiseError(f"evict_many takes a number of rows from 0 on, not {k!r}")
        n = len(self)
        if k > n:
            raise EmptyWindowError(f"cannot evict {k} rows: the window holds {n}; check len() first")
        if k == n:
            self.clear()
            return False
        return k > 0

    def _require_rows(self, k: int) -> None:
        if (type(k) is not int and not isinstance(k, Integral)) or not 0 <= k <= len(self):
            raise EmptyWindowError(f"cannot aggregate the {k} youngest rows: the window holds {len(self)}")

    def _empty(self) -> EmptyWindowError:
        return EmptyWindowError("cannot evict: the window is empty; insert first, or check len()")

    def _lift_row(self, e: Value, more: tuple[Value, ...]) -> State:
        return self.operator.lift_row(e, *more)

    def _lifted(self, rows: Sequence[Value]) -> list[State]:
        several = self.operator.arity()[0] > 1
        return [self.operator.lift_row(*row) if several else self.operator.lift_row(row) for row in rows]

    def _fold(self, states: Iterable[State]) -> State:
        """The product of the states from left to right; the identity of none."""
        states = iter(states)
        total = next(states, self.operator.identity)
        for state in states:
            total = self._combine(total, state)
        return total

    def _require(self, holds: bool, invariant: str) -> None:
        if not holds:
            raise AssertionError(f"{type(self).__name__} breaks the invariant: {invariant}\n{self._show()}")

    def _require_same(self, held: State, expected: State, what: str) -> None:
        self._require(same(held, expected), f"{what} is {shown(held)} and should be {shown(expected)}")

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise SlidewiseError(f"a {type(self).__name__} cannot be copied or pickled; insert its rows into a new one")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}({self.operator!r}) of {len(self)} rows>"


def refuse(algorithm: str, operator: Operator, lacks: str, instead: str) -> UnsuitableOperatorError:
    """The error for an operator that an algorithm cannot serve."""
    return UnsuitableOperatorError(f"{algorithm} cannot serve {operator.name!r}: {lacks}; use {instead}")
