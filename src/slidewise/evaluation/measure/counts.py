"""Counts, which no machine changes: calls of combine for each round, and partials that are stored.

They come from the interpreted classes, whose steps the compiled loops share. A round is that of the timed loops, and
its calls include those of its evictions and its query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import slidewise as sw
from slidewise.arrays import Array
from slidewise.errors import UnsuitableOperatorError
from slidewise.operators.operator import Operator
from slidewise.operators.traits import PLAIN
from slidewise.operators.types import Answer, Combine, State, Value
from slidewise.swag import Swag

LOOKS = 8  # how often a run looks at what is stored, besides the end of its fill; some structures have to be walked


@dataclass(frozen=True)
class Count:
    """One algorithm's run: rounds, calls of combine (of inverse too), partials."""

    algorithm: str
    operator: str
    workload: str
    n: int
    rounds: int
    average: float
    worst: int
    fill_worst: int  # the most calls of one insert while the window filled up, before the first round
    stored: int
    total: float  # of the answers


class Counted:
    """An operator whose calls are counted."""

    def __init__(self, operator: Operator) -> None:
        self.calls = 0
        self.operator = replace(
            operator,
            combine=self._counted(operator.combine),
            inverse=self._counted(operator.inverse) if operator.inverse else None,
            builtin=False,
            traits=PLAIN,
        )

    def _counted(self, function: Combine) -> Combine:
        def counted(a: State, b: State) -> State:
            self.calls += 1
            return function(a, b)

        return counted


def count(
    algorithm: str, workload: str, values: Array, n: int, rounds: int, times: Array | None = None
) -> Count | None:
    """Count one run; None where the algorithm serves no operator that the experiments have.

    In "events" n is the window's length in the unit of the times, and the rounds begin where the first row leaves.

    >>> import numpy as np
    >>> count("DabaLite", "static", np.arange(100), 32, 64).worst
    6
    """
    pair = _window(algorithm)
    if pair is None:
        return None
    counted, window = pair
    rows = values.tolist()
    loop: Any = {"static": _static, "fill and drain": _dynamic, "events": _events}[workload]
    average = worst = fill_worst = stored = done = 0
    total = 0.0 if workload == "events" else 0
    look = max(rounds // LOOKS, 1)
    before = 0
    for filled, answer in loop(window, rows, n, rounds, None if times is None else times.tolist()):
        calls = counted.calls - before
        if filled:
            done += 1
            average += calls
            worst = max(worst, calls)
            total += answer
        else:
            fill_worst = max(fill_worst, calls)
        if filled and (done == 1 or done % look == 0 or (workload == "fill and drain" and done % n == 0 and n > look)):
            stored = max(stored, window.stored())
        before = counted.calls
    name = counted.operator.name
    return Count(algorithm, name, workload, n, done, average / max(done, 1), worst, fill_worst, stored, total)


def _window(algorithm: str) -> tuple[Counted, Swag] | None:
    make = getattr(sw, algorithm)
    for operator in (sw.sum, sw.max):
        counted = Counted(operator)
        try:
            return counted, make(counted.operator)
        except UnsuitableOperatorError:
            continue
    return None


def _static(window: Swag, rows: list[Value], n: int, rounds: int, _times: None) -> Iterator[tuple[bool, Answer]]:
    size = len(rows)
    for at in range(n):
        window.insert(rows[at % size])
        yield False, None
    for at in range(n, n + rounds):
        window.evict()
        window.insert(rows[at % size])
        yield True, window.query()


def _dynamic(window: Swag, rows: list[Value], n: int, rounds: int, _times: None) -> Iterator[tuple[bool, Answer]]:
    """A round is an insert and a query; a drain belongs to the round after it."""
    size = len(rows)
    for at in range(rounds):
        if at and at % n == 0:
            for _ in range(n):
                window.evict()
        window.insert(rows[at % size])
        yield True, window.query()


def _events(
    window: Swag, rows: list[Value], width: int, rounds: int, times: list[int]
) -> Iterator[tuple[bool, Answer]]:
    first = done = 0
    for at, time in enumerate(times):
        if done == rounds:
            return
        started = time - width >= times[0]
        window.insert(rows[at])
        while times[first] <= time - width:
            window.evict()
            first += 1
        if started:
            done += 1
            yield True, window.query()
        else:
            yield False, None
