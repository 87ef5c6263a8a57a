"""SlickDeque (Shein, Chrysanthis, Labrinidis 2018), the form for selective operators: a monotone deque."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from slidewise.operators.operator import Operator
from slidewise.operators.types import State, Value
from slidewise.operators.values.equality import same
from slidewise.swag.interface import Swag, refuse


class SlickDeque(Swag):
    """Keep only the rows that may still become the answer: a row that loses to a younger one is dropped.

    Combine calls: insert at most n, amortised 2; evict 0; query 0. Space: at most n partials. Needs a selective
    operator, whose combine(a, b) is a or b.

    >>> import slidewise as sw
    >>> w = SlickDeque(sw.max)
    >>> for e in [4, 5, 3]:
    ...     w.insert(e)
    >>> w.evict(); w.evict()
    >>> w.query()
    3
    """

    __slots__ = ("_before", "_candidates", "_log", "_start", "_stop")

    _candidates: deque[tuple[int, State]]  # position and state, the oldest first; each wins over those behind it
    _start: int
    _stop: int
    _before: tuple[int, int]  # start and stop at the savepoint
    # The steps since then, if there was one: who lost to a row that came, in a list; who left, in a tuple; or all of
    # the candidates, where they were dropped.
    _log: list[Any] | None

    def __init__(self, operator: Operator) -> None:
        self._log = None
        super().__init__(operator)

    def insert(self, e: Value, *more: Value) -> None:
        v = self._lift_row(e, more) if more or e is None else self._lift(e)
        candidates = self._candidates
        losers = []
        try:
            while candidates and not self._wins(candidates[-1][1], v):
                losers.append(candidates.pop())
        except BaseException:
            candidates.extend(reversed(losers))
            raise
        candidates.append((self._stop, v))
        self._stop += 1
        if self._log is not None:
            self._log.append(losers)

    def _wins(self, older: State, younger: State) -> bool:
        winner = self._combine(older, younger)
        return winner is not younger and (winner is older or same(winner, older))

    def evict(self) -> None:
        if self._start == self._stop:
            raise self._empty()
        self._drop(1)

    def _drop(self, k: int) -> None:
        self._start += k
        candidates = self._candidates
        while candidates and candidates[0][0] < self._start:
            left = candidates.popleft()
            if self._log is not None:
                self._log.append(left)

    def partial(self) -> State:
        return self._candidates[0][1] if self._candidates else self.operator.identity

    def _partial_without(self, k: int) -> State:
        """Combine calls: 0. Steps: O(log n) where candidates are few; a deque of many is slow to reach into."""
        return self._candidates[bisect_left(self._candidates, self._start + k, key=itemgetter(0))][1]

    def __len__(self) -> int:
        return self._stop - self._start

    def clear(self) -> None:
        if self._log is not None:
            self._log.append(self._candidates)
        self._candidates = deque()
        self._start = self._stop = 0

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows. Combine calls: 0."""
        if self._leaving(k):
            self._drop(k)

    def _savepoint(self) -> None:
        self._before = self._start, self._stop
        self._log = []

    def _commit(self) -> None:
        self._log = None

    def _rollback(self) -> None:
        assert self._log is not None, "a savepoint comes before a rollback"
        while self._log:
            step = self._log.pop()
            if type(step) is list:
                self._candidates.pop()
                self._candidates.extend(reversed(step))
            elif type(step) is tuple:
                self._candidates.appendleft(step)
            else:
                self._candidates = step
        self._start, self._stop = self._before

    def _dump(self) -> tuple[list[int], list[State]]:
        positions = [position - self._start for position, _ in self._candidates]
        return [len(self), *positions], [state for _, state in self._candidates]

    def _load(self, numbers: list[int], states: list[State]) -> None:
        self._log = None
        size, *positions = numbers
        all_integers = all(type(number) is int for number in numbers)
        if (
            not all_integers
            or not all(a < b for a, b in itertools.pairwise([-1, *positions]))
            or [*positions, -1][-1 - bool(size)] != size - 1
        ):
            raise ValueError(f"no SlickDeque of {size} rows has candidates at {positions}")
        self._start, self._stop = 0, size
        self._candidates = deque(zip(positions, states, strict=True))

    def stored(self) -> int:
        return len(self._candidates)

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        positions = [position for position, _ in self._candidates]
        self._require(positions == sorted(set(positions)), "candidates stand in the order of their positions")
        if positions:
            self._require(
                self._start <= positions[0] and positions[-1] == self._stop - 1, "candidates are in the window"
            )
        states = [state for _, state in self._candidates]
        for older, younger in itertools.pairwise(states):
            self._require(self._wins(older, younger), f"{older!r} wins over {younger!r} behind it")
        if rows is None:
            return
        v = self._lifted(rows)
        self._require(len(v) == len(self), f"the window holds {len(v)} rows")
        starts = [self._start, *(position + 1 for position in positions[:-1])]
        for start, (position, state) in zip(starts, self._candidates, strict=False):
            self._require_same(state, v[position - self._start], f"the candidate at {position}")
            self._require_same(state, self._fold(v[start - self._start :]), f"the answer from {start} on")

    def _show(self) -> str:
        return f"start {self._start}, stop {self._stop}, candidates {list(self._candidates)!r}"

    @classmethod
    def _accept(cls, operator: Operator) -> None:
        if not operator.selective:
            instead = "DabaLite" if operator.inverse is None else "SubtractOnEvict or DabaLite"
            raise refuse(cls.__name__, operator, "it is not declared selective (combine(a, b) is a or b)", instead)
