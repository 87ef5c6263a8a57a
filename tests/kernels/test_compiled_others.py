"""The compiled forms of other people's algorithms take the steps of the classes: answers, calls, partials."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.compiled.peer_source import OTHERS, slots
from slidewise.compiled.source import array_names, compiled_source
from slidewise.evaluation.measure import timed_runs
from slidewise.operators.layout import Layout
from slidewise.swag.flat_fat import EMPTY

ROOM = 40
LAYOUT = Layout(("object",), ("object",), scalar=True)

# Words are put together in the order of their rows, numbers can be taken off again, and one of two numbers wins.
words = sw.operator(name="words", identity="", lift=lambda x: f"{x} ", combine=lambda a, b: a + b, lower=lambda s: s)
total = sw.operator(
    name="total",
    identity=0,
    lift=lambda x: x,
    combine=lambda a, b: a + b,
    lower=lambda s: s,
    inverse=lambda a, b: a - b,
)
OPERATORS = dict.fromkeys(OTHERS, words) | {"SubtractOnEvict": total, "SlickDeque": sw.max}


class Calls:
    """Counts what a function is called."""

    def __init__(self) -> None:
        self.made = 0

    def of(self, function: Any) -> Any:
        def counted(a: Any, b: Any) -> Any:
            self.made += 1
            return function(a, b)

        return counted


class Plain:
    """The text of an algorithm as Python runs it, which takes no time to compile."""

    def __init__(self, algorithm: str, operator: sw.Operator) -> None:
        self.calls = Calls()
        self.operator = operator
        self.steps = OTHERS[algorithm]
        scope: dict[str, Any] = {"jit": lambda f: f, "uint64": np.uint64, "combine": self.calls.of(operator.combine)}
        scope["inverse"] = self.calls.of(operator.inverse)
        exec(compiled_source(self.steps, LAYOUT, 1, ""), scope)
        self.functions = scope
        names = array_names(self.steps, LAYOUT)
        kinds = [np.int64 if name in self.steps.positions else object for name in names]
        self.arrays = dict(zip(names, (np.zeros(slots(algorithm, ROOM), kind) for kind in kinds), strict=True))
        self.state: tuple[Any, ...] = (0,) * len(self.steps.pointers) + (None,) * len(self.steps.partials)

    def __getattr__(self, name: str) -> Any:
        return self.state[self.steps.pointers.index(name)]

    def insert(self, x: Any) -> None:
        self.state = self.functions["insert"](*self.state, *self.arrays.values(), self.operator.lift(x))

    def evict(self) -> None:
        self.state = self.functions["evict"](*self.state, *self.arrays.values())

    def query(self) -> Any:
        return self.operator.lower(self.functions["partial"](*self.state, *self.arrays.values()))

    def at(self, ring: str, position: int) -> Any:
        array = self.arrays[f"{ring}0"]
        return array[position & (array.size - 1)]


def flat_fat(window: Any, plain: Plain) -> None:
    count = 8 << plain.doublings
    assert (len(window._nodes), window._start) == (count, plain.start)
    for node in range(1, count):
        held = plain.arrays["held"][node]
        assert window._nodes[node] == plain.at("nodes", node) if held else window._nodes[node] is EMPTY, node


def b_int(window: Any, plain: Plain) -> None:
    half = plain.arrays["nodes0"].size // 2
    assert (window._levels[0].start, window._levels[0].stop) == (plain.start, plain.stop)
    for j, level in enumerate(window._levels):
        for i in range(level.start, level.stop):
            assert level[i] == plain.at("nodes", (half >> j) + i % (half >> j)), (i, j)


def amta(window: Any, plain: Plain) -> None:
    spines = [*window._left[::-1], *window._right]
    assert sum(spine.tree.size for spine in window._left) == plain.M - plain.F
    at = plain.F
    for spine in spines:
        assert spine.agg == plain.at("agg", at)
        same_tree(spine.tree, at, plain)
        at += spine.tree.size
    assert at == plain.E


def same_tree(tree: Any, at: int, plain: Plain) -> None:
    half = tree.size // 2
    assert tree.agg == (plain.at("agg", at + half) if half else plain.at("val", at))
    if half:
        same_tree(tree.older, at, plain)
        same_tree(tree.younger, at + half, plain)


def slick_deque(window: Any, plain: Plain) -> None:
    places, size = plain.arrays["places"], plain.arrays["places"].size
    found = [(places[k % size], plain.at("val", k)) for k in range(plain.H, plain.T)]
    assert found == list(window._candidates)


def running(window: Any, plain: Plain) -> None:
    assert plain.state[-1] == window._total


STRUCTURE: dict[str, Callable[[Any, Plain], None]] = {
    "FlatFat": flat_fat,
    "BInt": b_int,
    "Amta": amta,
    "SlickDeque": slick_deque,
    "SubtractOnEvict": running,
}


def run_both(algorithm: str, steps: list[int]) -> None:
    """Insert, query and evict side by side: a number is so many inserts, a negative one so many evicts."""
    operator, calls = OPERATORS[algorithm], Calls()
    counted = sw.operator(
        name="counted",
        identity=operator.identity,
        lift=operator.lift,
        combine=calls.of(operator.combine),
        lower=operator.lower,
        inverse=calls.of(operator.inverse) if operator.inverse else None,
        selective=operator.selective,
    )
    window, plain = getattr(sw, algorithm)(counted), Plain(algorithm, operator)
    choose = random.Random(len(steps))
    for step in steps:
        for _ in range(abs(step)):
            if step > 0 and len(window) < ROOM:
                value = choose.randrange(1_000, 1_040)  # equal ones, too, and none of the numbers that are one object
                window.insert(value)
                plain.insert(value)
            elif step < 0 and window:
                window.evict()
                plain.evict()
            assert plain.calls.made == calls.made, "calls of an insert or an evict"
            if window:
                assert plain.query() == window.query()
                assert plain.calls.made == calls.made, "calls of a query"
                STRUCTURE.get(algorithm, lambda *_: None)(window, plain)


@pytest.mark.parametrize("algorithm", OTHERS)
@settings(max_examples=12, deadline=None)
@given(steps=st.lists(st.integers(-12, 12), max_size=20))
def test_every_step_is_that_of_the_class(algorithm: str, steps: list[int]) -> None:
    run_both(algorithm, steps)


@pytest.mark.parametrize("algorithm", OTHERS)
def test_windows_slide_fill_and_drain(algorithm: str) -> None:
    for n in (1, 2, 5, 16, ROOM):
        run_both(algorithm, [n, *[-1, 1] * 50])
        run_both(algorithm, [n, -n] * 3)


# Compiled, Recalc and SlickDeque are in the tests of the evaluation.
@pytest.mark.parametrize("algorithm", ["SubtractOnEvict", "FlatFat", "BInt", "Amta"])
def test_compiled_they_give_the_answers_of_a_kernel(algorithm: str) -> None:
    values = timed_runs.values_of("sum", 11)
    rolled = np.lib.stride_tricks.sliding_window_view(values[1:300], 100)
    assert timed_runs.rounds(algorithm, "sum", values, 100, 200).total == rolled.sum()
