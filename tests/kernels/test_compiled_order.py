"""Order statistics compiled, in lock step with the class and against NumPy, with every invariant checked."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import numpy as np
import pytest

import slidewise as sw

VALUES: dict[str, Any] = {
    "random": lambda choose: choose.random(),
    "duplicates": lambda choose: float(choose.randrange(5)),
    "NaN": lambda choose: float("nan") if choose.random() < 0.02 else choose.random() - 0.5,
    "integers": lambda choose: choose.randrange(-(2**61), 2**61),
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("op", [sw.quantile(0.9), sw.quantile(0.2, interpolation="nearest")], ids=repr)
def test_every_step_is_that_of_the_class(kind: str, op: sw.Operator) -> None:
    choose = random.Random(4)
    compiled = sw.compiled(sw.OrderStatistics, op, "int64" if kind == "integers" else "float64")
    plain = sw.OrderStatistics(op)
    rows: deque[Any] = deque()
    for turn in range(20):
        share = choose.choice([0.95, 0.5, 0.05])
        for _ in range(40):
            if not rows or choose.random() < share:
                rows.append(VALUES[kind](choose))
                compiled.insert(rows[-1])
                plain.insert(rows[-1])
            else:
                rows.popleft()
                compiled.evict()
                plain.evict()
            assert len(compiled) == len(plain)
            assert repr(compiled.query()) == repr(plain.query())
            compiled._check(list(rows))
        if rows and turn % 5 == 0:
            assert compiled.rank(rows[0]) == plain.rank(rows[0])
            assert [compiled.select(k) for k in range(len(plain._tree))] == list(plain._tree)


@pytest.mark.parametrize("kind", ["random", "rising", "falling", "duplicates"])
def test_rounds_over_many_nodes(kind: str) -> None:
    choose = np.random.default_rng(2)
    x = {
        "random": choose.random(9_000),
        "rising": np.arange(9_000.0),
        "falling": -np.arange(9_000.0),
        "duplicates": choose.integers(0, 6, 9_000).astype(float),
    }[kind]
    window = sw.compiled(sw.OrderStatistics, sw.quantile(0.3), "float64")
    window.insert_many(x[:4_000])
    window._check(x[:4_000])
    found = window.rounds(x[4_000:])
    window._check(x[5_000:])
    assert np.array_equal(found, sw.rolling(x, sw.quantile(0.3), rows=4_000)[4_000:])


def test_memory_returns_when_the_window_shrinks() -> None:
    window = sw.compiled(sw.OrderStatistics, sw.median, "float64")
    window.insert_many(np.arange(50_000.0))
    large = window._tree[0].nbytes
    window.evict_many(49_900)
    window._check(np.arange(49_900.0, 50_000.0))
    assert window._tree[0].nbytes < large / 50
    assert len(window._ring) <= 256
    assert window.query() == 49_949.5
    window.clear()
    assert window.query() is None


def test_what_is_refused() -> None:
    with pytest.raises(sw.InputError, match="compiled for median and quantile over float64 or int64, not max"):
        sw.compiled(sw.OrderStatistics, sw.max, "float64")
    window = sw.compiled(sw.OrderStatistics, sw.median, "int64")
    with pytest.raises(sw.EmptyWindowError, match="cannot evict 1 rows"):
        window.evict()
    with pytest.raises(sw.InputError, match="compiled for 64-bit integers"):
        window.insert(1.5)
    with pytest.raises(sw.EmptyWindowError):
        window.rounds([1])
    with pytest.raises(IndexError):
        window.select(0)
