"""What several tests share: operators that count or fail, schedules of operations, and patterns of values."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from typing import Any

import slidewise as sw
from slidewise.operators.traits import PLAIN
from slidewise.swag import ALGORITHMS, Swag


class Counter:
    """An operator's combine and inverse, with their calls counted, and with a failure on demand."""

    def __init__(self, operator: sw.Operator) -> None:
        self.calls = 0
        self.fail_after: int | None = None
        inverse = operator.inverse
        self.operator = dataclasses.replace(
            operator,
            combine=self._wrap(operator.combine),
            inverse=None if inverse is None else self._wrap(inverse),
            builtin=False,
            traits=PLAIN,
        )

    def _wrap(self, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def counted(a: Any, b: Any) -> Any:
            if self.fail_after is not None and self.calls >= self.fail_after:
                raise Sabotage
            self.calls += 1
            return function(a, b)

        return counted


class Sabotage(Exception):
    """Raised by an operator on purpose."""


# A non-commutative operator whose products show every mistake in order.
concat = sw.operator(name="concat", identity="", combine=lambda a, b: a + b)


def _times(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return (
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
    )


# 2 x 2 integer matrices of determinant 1: non-commutative, and exactly invertible from the left.
matrix = sw.operator(
    name="matrix",
    identity=(1, 0, 0, 1),
    lift=lambda x: (1, x, 0, 1) if x % 2 else (1, 0, x, 1),
    combine=_times,
    inverse=lambda total, oldest: _times((oldest[3], -oldest[1], -oldest[2], oldest[0]), total),
)


def _join_runs(a: Any, b: Any) -> Any:
    """States are (size, first value, its run, last value, its run, longest run)."""
    if not a[0] or not b[0]:
        return a if a[0] else b
    joined = a[4] + b[2] if a[3] == b[1] else 0
    first_run = a[0] + b[2] if joined and a[2] == a[0] else a[2]
    last_run = b[0] + a[4] if joined and b[4] == b[0] else b[4]
    return a[0] + b[0], a[1], first_run, b[3], last_run, max(a[5], b[5], joined)


# A user's operator of two fields: the longest run of equal values so far, with what is needed to join runs.
longest_run = sw.operator(
    name="longest_run",
    identity=(0, None, 0, None, 0, 0),
    lift=lambda x: (1, x, 1, x, 1, 1),
    combine=_join_runs,
    lower=lambda s: s[5],
)


def serving(operator: sw.Operator) -> list[type[Swag]]:
    """The algorithms that can serve an operator."""
    found = []
    for algorithm in ALGORITHMS:
        try:
            algorithm(operator)
        except sw.UnsuitableOperatorError:
            continue
        found.append(algorithm)
    return found


PATTERNS: dict[str, Callable[[int], int]] = {
    "rising": lambda i: i,
    "falling": lambda i: -i,
    "constant": lambda _i: 7,
    "periodic": lambda i: (i * 5) % 13,
    "random": lambda i: random.Random(i).randrange(100),
}

Step = str  # "insert", "evict" or "query"


def static(n: int, rounds: int) -> Iterator[Step]:
    """Fill a window of n rows, then slide it."""
    yield from ["insert"] * n
    for _ in range(rounds):
        yield from ("evict", "insert", "query")


def fill_and_drain(n: int, rounds: int) -> Iterator[Step]:
    """Fill the window with a query after each insert, empty it, and so on."""
    for _ in range(max(1, rounds // n)):
        yield from ["insert", "query"] * n
        yield from ["evict"] * n


def sawtooth(n: int, rounds: int) -> Iterator[Step]:
    """Fill the window, then let it shrink to half and grow back, over and over."""
    yield from ["insert"] * n
    for _ in range(max(1, rounds // n)):
        yield from ["evict", "query"] * (n // 2)
        yield from ["insert", "query"] * (n // 2)


def wander(n: int, rounds: int) -> Iterator[Step]:
    """Random inserts, evicts and queries between nothing and n rows."""
    choose = random.Random(n)
    size = 0
    for _ in range(rounds):
        step = choose.choices(["insert", "evict", "query"], [5, 4, 3])[0]
        if (step == "insert" and size == n) or (step == "evict" and size == 0):
            continue
        size += {"insert": 1, "evict": -1, "query": 0}[step]
        yield step


SCHEDULES = {"static": static, "fill and drain": fill_and_drain, "sawtooth": sawtooth, "random": wander}
