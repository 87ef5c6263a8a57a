"""Observation of an algorithm at work: an operator whose states know which rows they cover and how they came about."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from slidewise.operators.operator import Operator
from slidewise.operators.values.equality import same
from slidewise.trace.notation import notation


class Row:
    """What a watched algorithm is given to insert: the arguments of a row, and its number since the start."""

    __slots__ = ("arguments", "number")

    def __init__(self, number: int, arguments: tuple[Any, ...]) -> None:
        self.number = number
        self.arguments = arguments

    def __repr__(self) -> str:
        return ",".join(map(str, self.arguments))


class Seen:
    """A state of the watched operator, with the numbers of the rows that went into it, in the order of combination."""

    __slots__ = ("rows", "state")

    def __init__(self, state: Any, rows: tuple[int, ...]) -> None:
        self.state = state
        self.rows = rows

    def __eq__(self, other: object) -> bool:
        """Equal states over the same rows; floats may differ by how they were associated."""
        if not isinstance(other, Seen):
            return NotImplemented
        return self.rows == other.rows and same(self.state, other.state, tolerance=1e-9)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.state!r} of rows {list(self.rows)}"


class Call(NamedTuple):
    """One call of the operator: `combine`, or `inverse` where it took rows out."""

    left: Seen
    right: Seen
    gives: Seen
    inverse: bool


class Watched:
    """An operator under observation: `operator` behaves as the one it was made of, and every call is noted.

    The algorithm runs as it does for any operator: nothing in it knows of this. With `selecting`, a combination that
    gives back one of its arguments gives back that very object, which is how `SlickDeque` learns the winner.
    """

    def __init__(self, operator: Operator, selecting: bool = False) -> None:
        self.watched = operator
        self.calls: list[Call] = []
        self._selecting = selecting
        self._noting = True
        self._show = notation(operator)
        exact = operator.invertible_if
        self.operator = dataclasses.replace(
            operator,
            identity=Seen(operator.identity, ()),
            lift=self._lift,
            combine=self._combine,
            lower=lambda seen: operator.lower(seen.state),
            inverse=None if operator.inverse is None else self._inverse,
            invertible_if=None if exact is None else lambda seen: exact(seen.state),
            inputs=("row",),
            encode=None,
            decode=None,
            builtin=False,
        )

    def _lift(self, row: Row) -> Seen:
        return Seen(self.watched.lift_row(*row.arguments), (row.number,))

    def _combine(self, a: Seen, b: Seen) -> Seen:
        state = self.watched.combine(a.state, b.state)
        if self._selecting and (state is b.state or state is a.state):
            gives = b if state is b.state else a
        else:
            gives = Seen(state, a.rows + b.rows)
        return self._note(a, b, gives, inverse=False)

    def _inverse(self, total: Seen, oldest: Seen) -> Seen:
        assert self.watched.inverse is not None
        state = self.watched.inverse(total.state, oldest.state)
        return self._note(total, oldest, Seen(state, total.rows[len(oldest.rows) :]), inverse=True)

    def _note(self, left: Seen, right: Seen, gives: Seen, inverse: bool) -> Seen:
        if self._noting:
            self.calls.append(Call(left, right, gives, inverse))
        return gives

    def taken(self) -> list[Call]:
        """The calls since this was asked last."""
        calls, self.calls = self.calls, []
        return calls

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """Calls in here are the observer's own."""
        self._noting = False
        try:
            yield
        finally:
            self._noting = True

    def text(self, seen: Seen) -> str:
        """A state as a picture shows it; nothing for that of no rows."""
        return self._show(seen.state) if seen.rows else ""

    def partial(self, seen: Seen) -> dict[str, Any]:
        """A state as a trace records it: how it is written, and which rows it covers."""
        return {"text": self.text(seen), "rows": runs(seen.rows)}


def runs(rows: tuple[int, ...]) -> list[list[int]]:
    """Row numbers as runs from a first to a last number, in their order.

    >>> runs((3, 4, 5, 0, 1))
    [[3, 5], [0, 1]]
    """
    found: list[list[int]] = []
    for row in rows:
        if found and found[-1][1] == row - 1:
            found[-1][1] = row
        else:
            found.append([row, row])
    return found
