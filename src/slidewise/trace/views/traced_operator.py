"""An operator under observation: its states know which rows they cover, and every call is recorded."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from slidewise.operators.operator import Operator
from slidewise.operators.traits import PLAIN
from slidewise.operators.types import State
from slidewise.operators.values.equality import same
from slidewise.trace.notation import notation


class NumberedRow:
    """A row that is inserted into a traced algorithm: its arguments, and its number since the start."""

    __slots__ = ("arguments", "number")

    def __init__(self, number: int, arguments: tuple[Any, ...]) -> None:
        self.number = number
        self.arguments = arguments

    def __repr__(self) -> str:
        return ",".join(map(str, self.arguments))


class TracedState:
    """A state of the traced operator, with the numbers of the rows that went into it, in the order of combination."""

    __slots__ = ("rows", "state")

    def __init__(self, state: State, rows: tuple[int, ...]) -> None:
        self.state = state
        self.rows = rows

    def __eq__(self, other: object) -> bool:
        """Equal states over the same rows; floats may differ by how they were associated."""
        if not isinstance(other, TracedState):
            return NotImplemented
        return self.rows == other.rows and same(self.state, other.state, tolerance=1e-9)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.state!r} of rows {list(self.rows)}"


class CombineCall(NamedTuple):
    """One call of the operator: `combine`, or `inverse` where it took rows out."""

    left: TracedState
    right: TracedState
    gives: TracedState
    inverse: bool


class TracedOperator:
    """An operator under observation: `operator` behaves as the one it was made of, and every call is recorded.

    The algorithm runs as it does for any operator: nothing in it knows of this. With `selecting`, a combination that
    gives back one of its arguments gives back that very object, which is how `SlickDeque` learns the winner.
    """

    def __init__(self, operator: Operator, selecting: bool = False) -> None:
        self.original = operator
        self.calls: list[CombineCall] = []
        self._selecting = selecting
        self._recording = True
        self._show = notation(operator)
        exact = operator.invertible_if
        self.operator = dataclasses.replace(
            operator,
            identity=TracedState(operator.identity, ()),
            lift=self._lift,
            combine=self._combine,
            lower=lambda traced: operator.lower(traced.state),
            inverse=None if operator.inverse is None else self._inverse,
            invertible_if=None if exact is None else lambda traced: exact(traced.state),
            inputs=("row",),
            encode=None,
            decode=None,
            builtin=False,
            traits=PLAIN,
        )

    def _lift(self, row: NumberedRow) -> TracedState:
        return TracedState(self.original.lift_row(*row.arguments), (row.number,))

    def _combine(self, a: TracedState, b: TracedState) -> TracedState:
        state = self.original.combine(a.state, b.state)
        if self._selecting and (state is b.state or state is a.state):
            gives = b if state is b.state else a
        else:
            gives = TracedState(state, a.rows + b.rows)
        return self._recorded(a, b, gives, inverse=False)

    def _inverse(self, total: TracedState, oldest: TracedState) -> TracedState:
        assert self.original.inverse is not None
        state = self.original.inverse(total.state, oldest.state)
        return self._recorded(total, oldest, TracedState(state, total.rows[len(oldest.rows) :]), inverse=True)

    def _recorded(self, left: TracedState, right: TracedState, gives: TracedState, inverse: bool) -> TracedState:
        if self._recording:
            self.calls.append(CombineCall(left, right, gives, inverse))
        return gives

    def take_calls(self) -> list[CombineCall]:
        """The calls since the last time they were taken."""
        calls, self.calls = self.calls, []
        return calls

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """Calls in here are the observer's own."""
        self._recording = False
        try:
            yield
        finally:
            self._recording = True

    def text(self, state: TracedState) -> str:
        """A state as a picture shows it; nothing for that of no rows."""
        return self._show(state.state) if state.rows else ""

    def partial(self, state: TracedState) -> dict[str, Any]:
        """A state as a trace records it: how it is written, and which rows it covers."""
        return {"text": self.text(state), "rows": runs(state.rows)}


def runs(rows: tuple[int, ...]) -> list[list[int]]:
    """Row numbers as runs from a first to a last number, in their order.

    >>> runs((3, 4, 5, 0, 1))
    [[3, 5], [0, 1]]
    """
    ranges: list[list[int]] = []
    for row in rows:
        if ranges and ranges[-1][1] == row - 1:
            ranges[-1][1] = row
        else:
            ranges.append([row, row])
    return ranges
