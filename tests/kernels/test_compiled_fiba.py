"""The compiled FiBA takes the steps of the interpreted one: the same tree, the same partials, answers and failures.

Its source runs in Python here, without Numba, for every arity and many steps; and compiled for one operator.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import slidewise as sw
from slidewise.compiled.fiba import CompiledFiba
from slidewise.compiled.fiba_source import fiba_source
from slidewise.compiled.source import Steps
from slidewise.compiled.window import Program
from slidewise.errors import OperatorFailedError
from slidewise.operators.layout import Layout
from slidewise.operators.values.equality import same
from slidewise.swag.fiba.node import NOTHING, Node

PRIME = 1_000_003
ARITIES = (2, 4, 8)

# Composition of the maps x -> a * x + b modulo a prime: no operands may change places. Fails now and then if told to.
failing = {"after": None}


def _compose(f: Any, g: Any) -> Any:
    if failing["after"] is not None:
        if not failing["after"]:
            raise ValueError("no more")
        failing["after"] -= 1
    return int(f[0] * g[0] % PRIME), int((f[1] * g[0] + g[1]) % PRIME)


affine = sw.operator(
    name="affine", identity=(1, 0), lift=lambda x: (x * x % PRIME + 1, x), combine=_compose, lower=lambda f: f[0] + f[1]
)


def in_python(min_arity: int) -> CompiledFiba:
    """The window whose functions are the source itself."""
    layout = Layout(fields=("int64", "int64"), outputs=("int64",))
    text = fiba_source(layout, 1, min_arity)
    namespace: dict[str, Any] = {
        "jit": lambda f: f,
        "inlined": lambda f: f,
        "borrowed": lambda array: array,
        "lift": affine.lift,
        "combine": affine.combine,
        "lower": affine.lower,
    }
    exec(compile(text, "<fiba>", "exec"), namespace)
    return CompiledFiba(affine, ("int64",), Program(Steps((), (), (), (), ""), layout, namespace), min_arity)


def tree_of(node: Node) -> tuple[Any, ...]:
    kids = None if node.kids is None else [tree_of(kid) for kid in node.kids]
    return node.times, node.vals, kids, None if node.agg is NOTHING else (node.agg, node.rows)


def agree(plain: sw.Fiba, native: CompiledFiba) -> None:
    found = native.partials()
    assert len(native) == len(plain)
    if len(plain):
        assert found["tree"] == tree_of(plain._left[-1])
        assert found["suffix"] == plain._suffix
        assert found["prefix"] == plain._prefix
    assert same(native.query(), plain.query())


def lock_step(pair: tuple[sw.Fiba, CompiledFiba], seed: int, steps: int, size: int) -> None:
    """Random steps; all nodes, free or not, are accounted for at the end."""
    plain, native = pair
    choose = random.Random(seed)
    for _ in range(steps):
        n = len(plain)
        newest = plain.youngest() if n else 0
        kind = choose.choices(["late", "new", "evict", "many", "until", "ask"], [10, 10, 8, 1, 1, 3])[0]
        if kind in ("late", "new") and n < size:
            t = newest + choose.randrange(5) if kind == "new" else newest - int(choose.expovariate(0.01))
            row = choose.randrange(1000)
            for window in pair:
                window.insert(t, row)
        elif kind == "evict" and n:
            for window in pair:
                window.evict()
        elif kind == "many" and n:
            k = choose.randrange(min(n, choose.choice([3, 30, 300])) + 1)
            for window in pair:
                window.evict_many(k)
        elif kind == "until" and n:
            t = plain.oldest() + choose.randrange(-1, choose.choice([3, 30, 300]))
            for window in pair:
                window.evict_until(t)
        elif kind == "ask":
            t0 = newest - choose.randrange(300)
            t1 = t0 + choose.randrange(-2, 200)
            k = choose.randrange(n + 1)
            assert native.range_query(t0, t1) == plain.range_query(t0, t1)
            assert native.suffix(k) == plain.suffix(k)
            if n:
                assert (native.oldest(), native.youngest()) == (plain.oldest(), plain.youngest())
        agree(plain, native)


@pytest.mark.parametrize("min_arity", ARITIES)
def test_every_step_is_that_of_the_class(min_arity: int) -> None:
    for seed in range(4):
        lock_step((sw.Fiba(affine, min_arity), in_python(min_arity)), seed, 350, 40 * min_arity)


@pytest.mark.parametrize("min_arity", ARITIES)
def test_rounds_in_order(min_arity: int) -> None:
    for n in (1, 3, 9, 60, 200):
        plain, native = sw.Fiba(affine, min_arity), in_python(min_arity)
        native.insert_many(np.arange(n))
        for x in range(n):
            plain.insert(x)
        rows = np.arange(3 * n + 20) * 7919 % 1000
        found = native.rounds(rows).tolist()
        for x, answer in zip(rows.tolist(), found, strict=True):
            plain.evict()
            plain.insert(x)
            assert answer == plain.query()
        plain._check()
        native.insert(5)
        plain.insert(5)
        found = native.partials()
        assert (found["suffix"], found["prefix"]) == (plain._suffix, plain._prefix)


@pytest.mark.parametrize("min_arity", ARITIES)
def test_an_operator_that_raises_leaves_the_window_as_it_was(min_arity: int) -> None:
    failures = 0
    plain, native = sw.Fiba(affine, min_arity), in_python(min_arity)
    choose = random.Random(min_arity)
    for step in range(300):
        t, row = choose.randrange(200), choose.randrange(1000)
        few = choose.randrange(min(len(plain), 9) + 1)
        name, *arguments = choose.choice([("insert", t, row), ("insert", t, row), ("evict",), ("evict_many", few)])
        if name == "evict" and not len(plain):
            continue
        for call in range(99):
            failing["after"] = call
            try:
                getattr(native, name)(*arguments)
                break
            except OperatorFailedError:
                failures += 1
                failing["after"] = None
                agree(plain, native)
            finally:
                failing["after"] = None
        getattr(plain, name)(*arguments)
        agree(plain, native)
        assert step < 299 or free_and_used(native) == native._nodes
    assert failures > 300


def free_and_used(native: CompiledFiba) -> int:
    """How many nodes the free list and the tree have together; those below a dropped node count with it."""
    numbers = native._arrays[0]
    first = 3 + 2 * native.min_arity

    def below(x: int) -> int:
        if not numbers[x, 1]:
            return 1
        return 1 + sum(below(int(k)) for k in numbers[x, first : first + numbers[x, 0] + 1])

    total = below(int(numbers[numbers[0, 2], 0]))
    free = int(numbers[0, 5])
    while free:
        total += below(free)
        free = int(numbers[free, 2])
    return total


def test_rounds_with_times_and_draining() -> None:
    plain, native = sw.Fiba(affine), in_python(4)
    choose = np.random.default_rng(3)
    rows, times = choose.integers(0, 1000, 400), choose.integers(0, 900, 400)
    native.insert_many(rows[:150], times=times[:150])
    for t, x in zip(times[:150].tolist(), rows[:150].tolist(), strict=True):
        plain.insert(t, x)
    found = native.rounds(rows[150:], times=times[150:] + 300)
    for t, x, answer in zip((times[150:] + 300).tolist(), rows[150:].tolist(), found.tolist(), strict=True):
        plain.evict()
        plain.insert(t, x)
        assert answer == plain.query()
    agree(plain, native)
    assert native.rounds([]).tolist() == []
    native.clear()
    plain.clear()
    for x, answer in zip(rows[:70].tolist(), native.fill_and_drain(rows[:70], 30).tolist(), strict=True):
        plain.insert(x)
        assert answer == plain.query()
        if len(plain) == 30:
            plain.clear()
    assert len(native) == len(plain) == 10


def test_compiled_by_numba() -> None:
    """One operator, with times and in order, through every kind of step."""
    plain, native = sw.Fiba(sw.max), sw.compiled(sw.Fiba, sw.max, "int64")
    choose = np.random.default_rng(3)
    rows, times = choose.integers(-(2**40), 2**40, 3_000), choose.integers(0, 5_000, 3_000)
    native.insert_many(rows, times=times)
    for t, x in zip(times.tolist(), rows.tolist(), strict=True):
        plain.insert(t, x)
    for window in (plain, native):
        window.evict_many(100)
        window.evict_until(1_500)
        window.evict()
    agree(plain, native)
    assert len(native) > 1_000
    for t in range(0, 5_000, 100):
        assert native.range_query(t, t + 7) == plain.range_query(t, t + 7)
    native.evict_until(10**6)
    assert (len(native), native.query()) == (0, sw.max.identity)

    native.insert_many(rows[:50])
    assert native.rounds(rows[50:]).tolist() == [rows[i - 49 : i + 1].max() for i in range(50, 3_000)]
    with pytest.raises(sw.SlidewiseError, match="the 50 rows in the window have no times"):
        native.insert(3, 4)
    with pytest.raises(sw.SlidewiseError, match="no times"):
        native.evict_until(3)


def test_mistakes_are_named() -> None:
    native = in_python(4)
    with pytest.raises(sw.EmptyWindowError, match="cannot evict"):
        native.evict()
    with pytest.raises(sw.EmptyWindowError, match="cannot evict 3 rows: the window holds 0"):
        native.evict_many(3)
    with pytest.raises(sw.EmptyWindowError, match="no times"):
        native.youngest()
    with pytest.raises(sw.InputError, match="a time was compiled for 64-bit integers"):
        native.insert(1.5, 2)
    with pytest.raises(sw.InputError, match="2 rows and 1 times"):
        native.insert_many([1, 2], times=[1])
    with pytest.raises(sw.InputError, match="from 1 on"):
        native.fill_and_drain([1], 0)
    with pytest.raises(sw.SlidewiseError, match="DabaLite has no min_arity; Fiba has"):
        sw.compiled(sw.DabaLite, sw.sum, "int64", min_arity=4)
    with pytest.raises(sw.SlidewiseError, match="from 2 on"):
        sw.compiled(sw.Fiba, sw.sum, "int64", min_arity=1)
