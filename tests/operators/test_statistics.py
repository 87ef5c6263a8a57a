"""Weighted means, skewness, kurtosis and least squares against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw

NAN, INF = math.nan, math.inf
FITS = [sw.slope, sw.intercept, sw.r2, sw.residual]
few = st.integers(-4, 4).map(float) | st.sampled_from([0.1, 0.2, 0.3, 0.7, 1e6])
decimals = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6) | few


def over(operator: sw.Operator, rows: Any) -> Any:
    window = sw.DabaLite(operator)
    for row in rows:
        window.insert(*row) if isinstance(row, tuple) else window.insert(row)
    return window.query()


def root(x: Fraction) -> Fraction:
    """The square root, to some 200 bits."""
    scale = 4**200
    shift = scale * 4 ** max(0, x.denominator.bit_length() - x.numerator.bit_length())
    return Fraction(math.isqrt(x.numerator * shift // x.denominator)) / math.isqrt(shift)


def central(values: list[Fraction], power: int) -> Fraction:
    mean = sum(values) / len(values)
    return sum(((v - mean) ** power for v in values), Fraction())


def exact_skew(values: list[Any]) -> Fraction | None:
    x, n = list(map(Fraction, values)), len(values)
    if n < 3 or not central(x, 2):
        return None
    return n * root(Fraction(n - 1)) / (n - 2) * central(x, 3) / central(x, 2) / root(central(x, 2))


def exact_kurtosis(values: list[Any]) -> Fraction | None:
    x, n = list(map(Fraction, values)), len(values)
    if n < 4 or not central(x, 2):
        return None
    ratio = n * central(x, 4) / central(x, 2) ** 2
    return Fraction(n - 1, (n - 2) * (n - 3)) * ((n + 1) * ratio - 3 * (n - 1))


def exact_weighted_mean(rows: list[Any]) -> Fraction | None:
    weight = sum((Fraction(w) for _, w in rows), Fraction())
    return sum((Fraction(x) * Fraction(w) for x, w in rows), Fraction()) / weight if weight else None


def exact_fit(operator: sw.Operator, rows: list[Any]) -> Fraction | None:
    y, x = ([Fraction(row[i]) for row in rows] for i in (0, 1))
    n = len(rows)
    if n < 2 or not central(x, 2):
        return None
    mean_x, mean_y = sum(x) / n, sum(y) / n
    common = sum(((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)), Fraction())
    slope = common / central(x, 2)
    return {
        "slope": lambda: slope,
        "intercept": lambda: mean_y - slope * mean_x,
        "r2": lambda: slope * common / central(y, 2) if central(y, 2) else Fraction(1),
        "residual": lambda: y[-1] - mean_y - slope * (x[-1] - mean_x),
    }[operator.name]()


def check(answer: float | None, expected: Fraction | None, rows: Any, tolerance: float = 2.3e-16) -> None:
    """Equal, to a relative error, and exactly 0 where the answer is."""
    if expected is None or answer is None:
        assert answer is expected, (answer, expected, rows)
    else:
        assert abs(Fraction(answer) - expected) <= Fraction(tolerance) * abs(expected), (answer, float(expected), rows)


@pytest.mark.rule(8)
@settings(max_examples=60)
@given(st.lists(decimals, max_size=12))
def test_skew_and_kurtosis(values: list[float]) -> None:
    check(over(sw.skew, values), exact_skew(values), values, 1.5e-15)
    check(over(sw.kurtosis, values), exact_kurtosis(values), values, 1.5e-15)


@pytest.mark.rule(8)
@pytest.mark.parametrize("operator", FITS, ids=lambda op: op.name)
@settings(max_examples=60)
@given(rows=st.lists(st.tuples(decimals, decimals), max_size=12))
def test_least_squares(operator: sw.Operator, rows: list[tuple[float, float]]) -> None:
    check(over(operator, rows), exact_fit(operator, rows), rows)


@settings(max_examples=60)
@given(st.lists(st.tuples(decimals | st.integers(-(2**62), 2**62), st.floats(0.001, 1e9) | st.integers(0, 9))))
def test_weighted_means(rows: list[tuple[float, float]]) -> None:
    answer, expected = over(sw.weighted_mean, rows), exact_weighted_mean(rows)
    if answer is None or expected is None:
        assert answer is expected is None
    else:
        scale = exact_weighted_mean([(abs(x), w) for x, w in rows])
        assert scale is not None
        assert abs(Fraction(answer) - expected) <= abs(expected) / 2**53 + scale / 2**96


def test_too_few_rows_and_no_variation_are_null() -> None:
    assert [over(sw.skew, [1.0, 2.0, 4.0][:n]) is None for n in range(4)] == [True, True, True, False]
    assert [over(sw.kurtosis, [1.0, 2.0, 4.0, 3.0][:n]) is None for n in range(5)] == [True] * 4 + [False]
    assert over(sw.skew, [0.1] * 7) is over(sw.kurtosis, [0.1] * 7) is None
    assert over(sw.weighted_mean, []) is over(sw.weighted_mean, [(1.0, 0)]) is None
    assert over(sw.weighted_mean, [(1.0, 0.5), (7.0, -0.5)]) is None
    for fit in FITS:
        assert [over(fit, [(3.0, 1), (4.0, 2)][:n]) is None for n in range(3)] == [True, True, False]
        assert over(fit, [(3.0, 0.1), (4.0, 0.1), (5.0, 0.1)]) is None
    flat = [(0.1, 1), (0.1, 2), (0.1, 5)]
    assert [over(fit, flat) for fit in FITS] == [0.0, 0.1, 1.0, 0.0]


@pytest.mark.parametrize("strange", [NAN, INF, -INF])
def test_what_is_not_finite_gives_nan_and_leaves_no_trace(strange: float) -> None:
    for place in range(4):
        values: list[Any] = [1.0, 2.0, 4.0, 9.0]
        values[place] = strange
        assert math.isnan(over(sw.skew, values))
        assert math.isnan(over(sw.kurtosis, values))
        for fit in FITS:
            assert math.isnan(over(fit, list(zip(values, [1, 2, 3, 5], strict=True))))
            assert math.isnan(over(fit, list(zip([1, 2, 3, 5], values, strict=True))))
        rows = [*zip(values, [1.0, 7.0, 3.0, 2.0], strict=True), (1.0, 1.0), (2.0, 2.0), (4.0, 3.0), (3.0, 5.0)]
        for operator in (sw.skew, sw.kurtosis, sw.weighted_mean, *FITS):
            used = rows if operator.arity()[0] == 2 else [row[:1] for row in rows]
            window = sw.DabaLite(operator)
            for row in used:
                window.insert(*row)
                if len(window) > 4:
                    window.evict()
            assert window.query() == over(operator, used[4:])
    assert over(sw.weighted_mean, [(INF, 1), (2, 1)]) == INF
    assert math.isnan(over(sw.weighted_mean, [(INF, 0), (2, 1)]))


def test_the_bias_corrected_forms_are_those_of_pandas() -> None:
    import pandas as pd

    x = pd.Series(np.random.default_rng(1).gamma(2.0, size=50))
    assert over(sw.skew, x) == pytest.approx(x.skew(), rel=1e-12)
    assert over(sw.kurtosis, x) == pytest.approx(x.kurt(), rel=1e-12)


def test_exact_zeros_are_zero_whatever_the_order_of_combining() -> None:
    """Two values, equally often, have no skewness; a line has no residuals."""
    for n in (3, 8, 31):
        window = sw.DabaLite(sw.skew)
        for i in range(200):
            window.insert((0.1, 0.7)[i % 2])
            if len(window) > 2 * n:
                window.evict()
            if i and i % 2:
                assert window.query() in (None if i < 2 else 0.0, 0.0)
    line = [(3 * i + 7, i) for i in (5, 3, 11, 2, 2, 19, -7)]
    for n in range(2, 8):
        assert [over(fit, line[:n]) for fit in FITS] == [3.0, 7.0, 1.0, 0.0]


def test_ticks_as_x_lose_no_digits() -> None:
    """Nanoseconds since 1970, which floats do not hold."""
    start = 1_700_000_000_123_456_789
    rows = [(float(i * i % 7), start + 1_000 * i + i % 3) for i in range(20)]
    for operator in (sw.slope, sw.r2, sw.residual):
        check(over(operator, rows), exact_fit(operator, rows), rows)
        check(sw.rolling(columns(rows), operator, rows=20)[-1].item(), exact_fit(operator, rows), rows)
    check(over(sw.intercept, rows), exact_fit(sw.intercept, rows), rows)


def columns(rows: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    y, x = zip(*rows, strict=True)
    return np.array(y), np.array(x)


def test_what_is_no_number_is_refused() -> None:
    for operator in (sw.skew, sw.kurtosis):
        with pytest.raises(sw.InputError, match=f"{operator.name} takes numbers, but got 'a'"):
            over(operator, ["a"])
    for operator in (sw.weighted_mean, *FITS):
        with pytest.raises(sw.InputError, match=f"{operator.name} takes numbers, but got 'a'"):
            over(operator, [(1.0, "a")])
        with pytest.raises(sw.SlidewiseError, match=r"takes the columns"):
            operator("y", "x", "z")
