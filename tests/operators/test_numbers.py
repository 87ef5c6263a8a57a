"""Sums, moments and products: no drift, no lost digits, and exact again once a disturbance has left."""

from __future__ import annotations

import math
import random
import statistics
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw


def over(operator: sw.Operator, rows: Any) -> Any:
    window = sw.DabaLite(operator)
    for row in rows:
        window.insert(*row) if isinstance(row, tuple) else window.insert(row)
    return window.query()


def slide(operator: sw.Operator, rows: Any, n: int) -> list[Any]:
    window, answers = sw.DabaLite(operator), []
    for row in rows:
        window.insert(*row) if isinstance(row, tuple) else window.insert(row)
        if len(window) > n:
            window.evict()
        answers.append(window.query())
    return answers


@pytest.mark.rule(7)
@given(st.lists(st.floats(1e-3, 1e12) | st.floats(-1e12, -1e-3), min_size=1, max_size=60))
def test_a_float_sum_is_correctly_rounded(values: list[float]) -> None:
    assert over(sw.sum, values) == float(sum(map(Fraction, values)))


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=60))
def test_a_float_sum_of_wild_values_is_as_good_as_106_bits_allow(values: list[float]) -> None:
    exact = sum(map(Fraction, values))
    scale = sum(abs(Fraction(v)) for v in values)
    half_a_step = abs(exact) / 2**53
    assert abs(Fraction(over(sw.sum, values)) - exact) <= half_a_step * (1 + Fraction(1, 2**40)) + scale / 10**30


@pytest.mark.rule(7)
@pytest.mark.parametrize("disturbance", [1e16, math.inf, -math.inf, math.nan, 1e300])
def test_a_disturbance_leaves_no_trace(disturbance: float) -> None:
    """Peers stay wrong after 1e16, inf or NaN have left the window."""
    rows = [1.0, 2.0, disturbance, 1.0, 2.0, 3.0]
    assert slide(sw.sum, rows, 3)[-1] == 6.0
    assert slide(sw.mean, rows, 3)[-1] == 2.0
    assert slide(sw.variance, rows, 3)[-1] == 1.0
    assert slide(sw.stddev, rows, 3)[-1] == 1.0
    assert slide(sw.product, rows, 3)[-1] == 6.0


def test_infinities_and_nan_in_a_sum() -> None:
    inf, nan = math.inf, math.nan
    assert over(sw.sum, [1.0, inf]) == inf
    assert math.isnan(over(sw.sum, [inf, 1.0, -inf]))
    assert math.isnan(over(sw.sum, [1, nan]))
    assert over(sw.mean, [1.0, -inf]) == -inf
    assert math.isnan(over(sw.variance, [1.0, inf, 2.0]))
    assert math.isnan(over(sw.stddev, [nan, 1.0]))


@pytest.mark.rule(7)
def test_integer_sums_are_integers_and_exact() -> None:
    assert over(sw.sum, [1, 2, True]) == 4
    assert type(over(sw.sum, [1, 2])) is int
    assert over(sw.sum, [2**62, 2**62, -(2**62)]) == 2**62
    assert over(sw.sum, [2**53, 1, 0.5]) == 2**53 + 2
    with pytest.raises(sw.SumOverflowError, match=r"9223372036854775808.*does not fit"):
        over(sw.sum, [2**63 - 1, 1])
    assert over(sw.sum, [-(2**63)]) == -(2**63)


def test_large_values_do_not_become_nan() -> None:
    assert over(sw.mean, [1e305]) == 1e305
    assert over(sw.mean, [1.7e308]) == 1.7e308
    assert over(sw.variance, [1e150, 2.5e150, 0.0]) == pytest.approx(1.5833333e300)
    assert over(sw.variance, [1e200, -1e200]) == math.inf
    assert over(sw.stddev, [1e200, -1e200]) == math.inf
    assert over(sw.geomean, [10**400]) == math.inf


def test_numpy_scalars_are_numbers() -> None:
    assert over(sw.sum, [np.int64(3), np.int32(4)]) == 7
    assert over(sw.sum, [np.float32(0.5), np.float64(0.25)]) == 0.75
    assert over(sw.mean, [np.int8(1), np.int8(2)]) == 1.5
    assert over(sw.bool_or, [np.bool_(False), np.bool_(True)]) is True


@pytest.mark.parametrize("operator", [sw.sum, sw.mean, sw.variance, sw.product, sw.geomean, sw.value_range])
def test_what_is_no_number_is_refused(operator: sw.Operator) -> None:
    window = sw.DabaLite(operator)
    window.insert(1)
    with pytest.raises(sw.InputError, match=f"{operator.name} takes numbers, but got 'a'"):
        window.insert("a")
    with pytest.raises(sw.InputError, match="decimals"):
        window.insert(Decimal("1.5"))
    assert len(window) == 1


def test_truth_values_only() -> None:
    with pytest.raises(sw.InputError, match="bool_and takes True and False, but got 1"):
        over(sw.bool_and, [1])


@pytest.mark.rule(7)
def test_a_mean_is_rounded_once_over_the_whole_range_of_floats() -> None:
    rng = random.Random(5)
    scales = [(6.7e299, 2e300), (1e305, 1e307), (2e307, 2.5e307), (1e270, 1e272), (1e-272, 1e-270)]
    scales += [(1e-300, 1e-290), (1e-308, 1e-305), (5e-324, 1e-310), (1e-320, 1e-300)]
    for low, high in scales:
        x = np.array([rng.uniform(low, high) for _ in range(60)])
        for n in (2, 3, 7):
            window = sw.DabaLite(sw.mean)
            by_rows = sw.rolling(x, sw.mean, rows=n).tolist()
            by_time = sw.rolling(x, sw.mean, times=np.arange(len(x)), last=n).tolist()
            for i, value in enumerate(x.tolist()):
                window.insert(value)
                if len(window) > n:
                    window.evict()
                values = x[max(0, i - n + 1) : i + 1].tolist()
                expected = float(sum(map(Fraction, values)) / len(values))
                assert window.query() == by_rows[i] == by_time[i] == expected, values


@pytest.mark.rule(7)
def test_the_promise_ends_where_the_sum_is_beyond_the_greatest_float() -> None:
    x = np.array([1.7e308, 1.7e308])
    assert sw.rolling(x, sw.mean, rows=2).tolist() == [1.7e308, math.inf]
    window = sw.DabaLite(sw.mean)
    for value in x.tolist():
        window.insert(value)
    assert window.query() == math.inf


def test_a_mean_of_large_integers_keeps_its_digits() -> None:
    values = [2**60 + 1, 2**60 + 3]
    assert over(sw.mean, values) == float(2**60 + 2)
    assert over(sw.mean, []) is None


@pytest.mark.rule(8)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_moments_agree_with_exact_arithmetic(values: list[float]) -> None:
    exact = statistics.variance(map(Fraction, values))
    assert over(sw.variance, values) == pytest.approx(float(exact), rel=1e-14, abs=1e-300)
    assert over(sw.stddev, values) == pytest.approx(math.sqrt(exact), rel=1e-14, abs=1e-150)


@pytest.mark.rule(8)
def test_variance_of_a_large_offset_and_of_constants() -> None:
    noise = [random.Random(i).random() for i in range(100)]
    plain = statistics.variance(map(Fraction, noise))
    offset = [1e9 + x for x in noise]
    assert over(sw.variance, offset) == pytest.approx(float(statistics.variance(map(Fraction, offset))), rel=1e-14)
    assert over(sw.variance, noise) == pytest.approx(float(plain), rel=1e-15)
    assert over(sw.variance, [0.1] * 1000) == 0.0
    assert over(sw.stddev, [1e300, 1e300]) == 0.0
    assert over(sw.variance, [5.0]) is None
    assert over(sw.variance, []) is None


def test_variance_is_the_same_in_every_order_of_combination() -> None:
    """Every algorithm associates differently, and all of them give the same bits."""
    choose = random.Random(7)
    values = [choose.gauss(1e5, 3) for _ in range(400)]
    answers = []
    for algorithm in (sw.Recalc, sw.TwoStacks, sw.DabaLite, sw.FlatFit, sw.FlatFat, sw.BInt, sw.Amta):
        window = algorithm(sw.variance)
        answers.append([])
        for value in values:
            window.insert(value)
            if len(window) > 50:
                window.evict()
            answers[-1].append(window.query())
    for other in answers[1:]:
        assert other == answers[0]


@pytest.mark.rule(8)
@given(st.lists(st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)), min_size=2, max_size=30))
def test_covariance_and_correlation(rows: list[tuple[int, int]]) -> None:
    xs, ys = zip(*rows, strict=True)
    mx, my = Fraction(sum(xs), len(xs)), Fraction(sum(ys), len(ys))
    covariance = sum((x - mx) * (y - my) for x, y in rows) / (len(rows) - 1)
    assert over(sw.covariance, rows) == pytest.approx(float(covariance), rel=1e-14, abs=1e-12)
    vx, vy = statistics.variance(map(Fraction, xs)), statistics.variance(map(Fraction, ys))
    if vx and vy:
        expected = float(covariance) / math.sqrt(vx) / math.sqrt(vy)
        assert over(sw.correlation, rows) == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert -1 <= over(sw.correlation, rows) <= 1
    else:
        assert over(sw.correlation, rows) is None


@pytest.mark.rule(8)
def test_statistics_of_too_few_rows_are_null() -> None:
    assert over(sw.covariance, [(1, 2)]) is None
    assert over(sw.correlation, [(1, 2)]) is None
    assert over(sw.correlation, []) is None
    assert math.isnan(over(sw.correlation, [(1.0, 2.0), (math.nan, 3.0)]))


@pytest.mark.rule(9)
def test_geometric_mean() -> None:
    assert over(sw.geomean, [1, 10, 100]) == pytest.approx(10, rel=1e-15)
    assert over(sw.geomean, [1e-300, 1e300]) == pytest.approx(1, rel=1e-13)
    assert over(sw.geomean, [3, 0, 5]) == 0.0
    assert math.isnan(over(sw.geomean, [3, -1]))
    assert math.isnan(over(sw.geomean, [0, -1]))
    assert over(sw.geomean, []) is None


def test_a_product_neither_overflows_nor_underflows_on_the_way() -> None:
    assert over(sw.product, [1e200, 1e200, 1e-300, 1e-100]) == pytest.approx(1.0, rel=1e-15)
    assert over(sw.product, [1e-200, 1e-200, 1e300]) == pytest.approx(1e-100, rel=1e-15)
    assert over(sw.product, [1e200, 1e200]) == math.inf
    assert over(sw.product, [-1e200, 1e200]) == -math.inf
    assert over(sw.product, [3, 5, 0.5]) == 7.5
    assert over(sw.product, [2, 0, 5]) == 0.0
    assert math.isnan(over(sw.product, [0, math.inf]))
    assert over(sw.product, []) == 1.0
    assert over(sw.product, range(1, 23)) == float(math.factorial(22))
