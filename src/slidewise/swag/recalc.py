"""Recalculate from scratch: the simplest algorithm, and the oracle of every test."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

from slidewise.operators.types import State, Value
from slidewise.swag.structures.last_rows import LastRows


class Recalc(LastRows):
    """Keep the values, and combine all of them at every query.

    Combine calls: insert 0; evict 0; query n - 1. Space: n partials.

    >>> import slidewise as sw
    >>> w = Recalc(sw.max)
    >>> for e in [4, 5, 3]:
    ...     w.insert(e)
    >>> w.evict(); w.evict()
    >>> w.query()
    3
    """

    __slots__ = ("_values",)

    _values: deque[State]

    def insert(self, e: Value, *more: Value) -> None:
        self._values.append(self._lift_row(e, more) if more or e is None else self._lift(e))

    def evict(self) -> None:
        if not self._values:
            raise self._empty()
        self._values.popleft()

    def partial(self) -> State:
        return self._fold(self._values)

    def suffix(self, k: int) -> State:
        """The aggregate of the k youngest rows before `lower`. Combine calls: k - 1."""
        self._require_rows(k)
        return self._fold(islice(self._values, len(self) - k, None))

    def __len__(self) -> int:
        return len(self._values)

    def clear(self) -> None:
        self._values = deque()

    def stored(self) -> int:
        return len(self)

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        if rows is not None:
            self._require_same(list(self._values), self._lifted(rows), "the row of values")

    def _show(self) -> str:
        return repr(list(self._values))
