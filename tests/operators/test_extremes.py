"""Extremes, ends and contents of a window: NaN, signed zeros, ties, nulls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support import serving

import slidewise as sw

nan = math.nan


def answers(operator: sw.Operator, rows: list[Any]) -> list[Any]:
    """The answer of every algorithm that can serve the operator."""
    found = []
    for algorithm in serving(operator):
        window = algorithm(operator)
        for row in rows:
            window.insert(*row) if isinstance(row, tuple) else window.insert(row)
        found.append(window.query())
    return found


def over(operator: sw.Operator, rows: list[Any]) -> Any:
    first, *others = answers(operator, rows)
    for other in others:
        assert repr(other) == repr(first)
    return first


@pytest.mark.rule(6)
def test_nan_is_the_greatest_value_and_equals_itself() -> None:
    for rows in ([1.0, nan, 5.0], [nan, 1.0, 5.0], [1.0, 5.0, nan], [math.inf, nan]):
        assert math.isnan(over(sw.max, rows))
        assert over(sw.min, rows) == min(x for x in rows if x == x)
        assert over(sw.maxcount, rows) == 1
        assert math.isnan(over(sw.m4, rows).max)
    assert over(sw.maxcount, [nan, 3.0, nan]) == 2
    assert over(sw.mincount, [nan, 3.0, nan, 3.0]) == 2
    assert math.isnan(over(sw.min, [nan, nan]))
    assert over(sw.argmax, [("a", 1.0), ("b", nan), ("c", nan), ("d", 9.0)]) == "b"
    assert over(sw.argmin, [("a", nan), ("b", 2.0), ("c", 2.0)]) == "b"
    assert math.isnan(over(sw.value_range, [1.0, nan]))
    assert over(sw.count_distinct, [nan, float("nan"), np.float64("nan"), 1.0]) == 2


@pytest.mark.rule(6, 9)
def test_of_equal_values_the_earlier_stays() -> None:
    assert str(over(sw.max, [0.0, -0.0])) == "0.0"
    assert str(over(sw.max, [-0.0, 0.0])) == "-0.0"
    assert str(over(sw.min, [0.0, -0.0])) == "0.0"
    assert str(over(sw.min, [-0.0, 0.0])) == "-0.0"
    assert over(sw.maxcount, [0.0, -0.0, 0.0]) == 3
    assert over(sw.argmax, [("a", 7), ("b", 7)]) == "a"
    assert over(sw.argmin, [("a", 7), ("b", 7)]) == "a"
    assert over(sw.count_distinct, [0.0, -0.0]) == 1


def test_text_has_extremes_too() -> None:
    rows = ["pear", "apple", "zebra", "zebra", "fig"]
    assert over(sw.max, rows) == "zebra"
    assert over(sw.min, rows) == "apple"
    assert over(sw.maxcount, rows) == 2
    assert over(sw.first, rows) == "pear"
    assert over(sw.last, rows) == "fig"
    assert over(sw.collect, rows) == rows
    assert over(sw.count_distinct, rows) == 4
    assert over(sw.argmax, [("x", "a"), ("y", "b")]) == "y"


@pytest.mark.rule(4)
def test_nulls_are_skipped() -> None:
    assert over(sw.first, [None, 1, 2, None]) == 1
    assert over(sw.last, [None, 1, 2, None]) == 2
    assert over(sw.collect, [None, 1, 2, None]) == [1, 2]
    assert over(sw.count, [None, 1, 2, None]) == 2
    assert over(sw.max, [None, None]) is None
    assert over(sw.argmax, [("a", None), (None, 3)]) is None
    assert over(sw.mean, [None, 4]) == 4.0


@pytest.mark.rule(5)
def test_an_empty_window() -> None:
    expected = {sw.maxcount: 0, sw.count: 0, sw.collect: [], sw.count_distinct: 0, sw.sum: 0, sw.bool_and: True}
    for operator, answer in expected.items():
        assert over(operator, []) == answer
    for operator in (sw.max, sw.argmin, sw.first, sw.m4, sw.value_range, sw.relative_variation, sw.mean):
        assert over(operator, []) is None
    assert over(sw.bool_or, []) is False


@pytest.mark.rule(9)
def test_value_range_and_relative_variation() -> None:
    assert over(sw.value_range, [3, 9, 5]) == 6
    assert over(sw.relative_variation, [3, 9, 6]) == pytest.approx(2 / 3)
    assert over(sw.relative_variation, [-4, 0]) is None
    assert over(sw.relative_variation, [0.0, -0.0]) is None
    assert over(sw.relative_variation, [-4.0, -2.0]) == -1.0


def test_m4_is_a_struct() -> None:
    answer = over(sw.m4, [3, 9, 1, 5])
    assert answer == (3, 1, 9, 5)
    assert (answer.first, answer.min, answer.max, answer.last) == (3, 1, 9, 5)


def test_bool_and_or() -> None:
    assert over(sw.bool_and, [True, True]) is True
    assert over(sw.bool_and, [True, False]) is False
    assert over(sw.bool_or, [False, False]) is False
    assert over(sw.bool_or, [False, True, False]) is True


def test_values_without_an_order_are_refused() -> None:
    window = sw.Recalc(sw.max)
    window.insert(1)
    window.insert("a")
    with pytest.raises(sw.InputError, match=r"1 \(int\) and 'a' \(str\), which have no order"):
        window.query()
    with pytest.raises(sw.InputError, match="can be hashed"):
        over(sw.count_distinct, [[1, 2]])


def test_collect_keeps_a_large_window_in_little_memory() -> None:
    """Joining is constant time: partials share their parts instead of copying the window into each of them."""
    window = sw.DabaLite(sw.collect)
    for i in range(30_000):
        window.insert(i)
        if len(window) > 20_000:
            window.evict()
    assert window.query() == list(range(10_000, 30_000))
