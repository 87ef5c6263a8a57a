"""Order statistics against NumPy's quantile and a plain list, after every step, with every invariant checked."""

from __future__ import annotations

import math
import random
import sys
from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.operators.families.quantiles import INTERPOLATIONS
from slidewise.operators.values.ordered import Ordered
from slidewise.swag.structures.ordered_tree import FULL, OrderedTree

VALUES = {
    "random": lambda choose: choose.random(),
    "duplicates": lambda choose: choose.randrange(4),
    "signs": lambda choose: choose.choice([-1, 1]) * choose.random() * 10.0 ** choose.randrange(-300, 300),
    "extremes": lambda choose: choose.choice([1.5, -2.0, 5e-324, -5e-324, 0.0, -0.0, 1e308, sys.float_info.min]),
    "integers": lambda choose: choose.choice([2**61, -(2**61), 2**53 + 1, 7, 0]),
    "NaN": lambda choose: math.nan if choose.random() < 0.03 else choose.random(),
}


def schedule(choose: random.Random, steps: int) -> list[str]:
    """Inserts and evicts that let the window grow, shrink and stay by turns."""
    found: list[str] = []
    size = 0
    while len(found) < steps:
        share = choose.choice([0.9, 0.5, 0.1])
        for _ in range(choose.randrange(1, 120)):
            grow = size == 0 or choose.random() < share
            size += 1 if grow else -1
            found.append("insert" if grow else "evict")
    return found


def quantile(rows: Any, q: float, interpolation: str) -> Any:
    with np.errstate(all="ignore"):
        return np.quantile(np.array(rows), q, method=interpolation)


@pytest.mark.rule(16)
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("seed", range(2))
def test_every_step_equals_numpys_quantile(kind: str, seed: int) -> None:
    choose = random.Random(seed)
    q = choose.choice([0.0, 0.25, 0.5, 0.9, 0.99, 1.0])
    interpolation = INTERPOLATIONS[(seed + sorted(VALUES).index(kind)) % len(INTERPOLATIONS)]
    windows = [sw.OrderStatistics(op) for op in (sw.median, sw.quantile(q, interpolation=interpolation))]
    rows: deque[Any] = deque()
    for number, step in enumerate(schedule(choose, 400)):
        if step == "insert":
            rows.append(VALUES[kind](choose))
        else:
            rows.popleft()
        for window in windows:
            window.insert(rows[-1]) if step == "insert" else window.evict()
            window._check(list(rows))
            assert len(window) == len(rows)
        asked = [(0.5, "linear"), (q, interpolation)]
        for window, (share, method) in zip(windows, asked, strict=True):
            if not rows:
                assert window.query() is None
                continue
            found, right = window.query(), quantile(rows, share, method)
            if not math.isfinite(right) and not any(row != row for row in rows):
                continue  # what NumPy's difference of two far values overflows to
            assert found == right or (found != found and right != right), (kind, seed, number, method)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3) | st.floats(allow_nan=True)), max_size=60))
def test_any_schedule(steps: list[tuple[bool, Any]]) -> None:
    window = sw.OrderStatistics(sw.quantile(0.3, interpolation="lower"))
    rows: deque[Any] = deque()
    for insert, value in steps:
        if insert or not rows:
            rows.append(value)
            window.insert(value)
        else:
            rows.popleft()
            window.evict()
        window._check(list(rows))
        ranked = sorted(row for row in rows if row == row)
        assert [window.rank(x) for x in ranked] == [ranked.index(x) for x in ranked]
        assert [window.select(k) for k in range(len(ranked))] == ranked


@pytest.mark.parametrize("kind", ["rising", "falling", "random", "constant"])
def test_a_large_tree_grows_and_shrinks_with_its_values(kind: str) -> None:
    choose = random.Random(3)
    make = {
        "rising": lambda i: i,
        "falling": lambda i: -i,
        "random": lambda _i: choose.random(),
        "constant": lambda _i: 1,
    }
    values = [make[kind](i) for i in range(20_000)]
    tree = OrderedTree()
    for value in values:
        tree.add(value)
    tree.check(_require)
    assert tree._height == 2
    assert list(tree) == sorted(values)
    for i, value in enumerate(values):
        tree.take_out(value)
        if i % 4_000 == 0:
            tree.check(_require)
        if len(tree) == FULL // 2:
            assert _nodes(tree._root, tree._height) <= 4
    assert (list(tree), tree._height, tree._root) == ([], 0, [])


def _require(holds: bool, what: str) -> None:
    assert holds, what


def _nodes(node: Any, height: int) -> int:
    return 1 if not height else 1 + sum(_nodes(child, height - 1) for child in node[2])


def test_a_step_compares_a_value_with_a_few_others() -> None:
    """O(log n) in the worst case, counted in comparisons: at most 6 in a node of 64, and 4 levels hold a million."""
    calls = [0]

    class Counted:
        def __init__(self, x: int) -> None:
            self.x = x

        def __lt__(self, other: Any) -> bool:
            calls[0] += 1
            return bool(self.x < other.x)

    tree = OrderedTree()
    rows = [Counted(x) for x in random.Random(1).choices(range(10_000), k=20_000)]
    most = 0
    for i, row in enumerate(rows):
        before = calls[0]
        tree.add(row)
        if i >= 5_000:
            tree.take_out(rows[i - 5_000])
        most = max(most, calls[0] - before)
    assert most <= 60


def test_text_and_times_have_quantiles_too() -> None:
    window = sw.OrderStatistics(sw.quantile(0.5, interpolation="lower"))
    for word in ["pear", "apple", "fig", None, "plum"]:
        window.insert(word)
    window._check(["pear", "apple", "fig", None, "plum"])
    assert window.query() == "fig"
    assert len(window) == 5
    with pytest.raises(TypeError):
        window.insert(3)
    window._check(["pear", "apple", "fig", None, "plum"])


@pytest.mark.rule(16)
def test_infinities_weigh_what_they_should() -> None:
    def of(*values: float, q: float = 0.5) -> Any:
        window = sw.OrderStatistics(sw.quantile(q))
        for value in values:
            window.insert(value)
        return window.query()

    inf = math.inf
    assert of(1, 2, inf) == 2
    assert of(1, inf) == of(inf, inf) == inf
    assert of(-inf, 1) == -inf
    assert math.isnan(of(-inf, inf))
    assert of(-1.5e308, 1.5e308) == 0


def test_what_is_refused() -> None:
    with pytest.raises(sw.UnsuitableOperatorError, match="it is no exact order statistic"):
        sw.OrderStatistics(sw.max)
    for nonsense in (-0.1, 1.1, True, math.nan):
        with pytest.raises(sw.SlidewiseError, match="q is a share from 0 to 1"):
            sw.quantile(nonsense)
    with pytest.raises(sw.SlidewiseError, match="interpolation is one of linear, lower"):
        sw.quantile(0.5, interpolation="between")
    with pytest.raises(sw.InputError, match="median takes numbers"):
        sw.OrderStatistics(sw.median).insert("a")
    with pytest.raises(sw.EmptyWindowError):
        sw.OrderStatistics(sw.median).evict()
    with pytest.raises(IndexError, match="none of rank 0"):
        sw.OrderStatistics(sw.median).select(0)


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(0, 9) | st.just(math.nan), max_size=40), max_size=8))
def test_joined_states_are_the_sorted_values(parts: list[list[Any]]) -> None:
    total = Ordered.of([])
    for part in parts:
        total = total + Ordered.of(part)
        _balance(total._root)
    values = [value for part in parts for value in part]
    assert [v for v in total if v == v] == sorted(v for v in values if v == v)
    assert len(total) == len(values)


def test_a_state_that_takes_in_rows_one_by_one_stays_flat() -> None:
    total = Ordered.of([])
    for i in range(4_000):
        total = total + Ordered.of([i])
    assert _balance(total._root) <= 24


def _balance(node: Any) -> int:
    if node is None:
        return 0
    size, value, left, right = node
    a, b = (0 if side is None else side[0] for side in (left, right))
    assert size == a + b + 1
    assert a + b <= 1 or (a <= 3 * b and b <= 3 * a)
    assert left is None or left[1] <= value
    assert right is None or value <= right[1]
    return 1 + max(_balance(left), _balance(right))
