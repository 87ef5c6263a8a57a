"""Changes of readings and increases of counters against plain Python."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw

NAN, INF = math.nan, math.inf
counts = st.integers(-(2**62), 2**62) | st.integers(0, 9)
readings = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6) | st.sampled_from([0.1, 0.3, 1e16, 2.0])


def over(operator: sw.Operator, rows: Any) -> Any:
    window = sw.DabaLite(operator)
    for row in rows:
        window.insert(row)
    return window.query()


def exact_increase(values: list[Any]) -> Fraction:
    """The steps of a counter, which has begun at 0 again where it fell."""
    exact = list(map(Fraction, values))
    return sum((b - a if b >= a else b for a, b in pairwise(exact)), Fraction())


def answer(operator: sw.Operator, values: list[Any]) -> Any:
    """The answer over all values: in Python, and compiled; None where it does not fit into 64 bits."""
    answers = []
    for compute in (
        lambda: over(operator, values),
        lambda: sw.rolling(np.array(values), operator, rows=len(values), at_least=len(values)).tolist()[-1],
    ):
        try:
            answers.append(compute())
        except sw.SumOverflowError:
            answers.append(None)
    assert answers[0] == answers[1], values
    return answers[0]


@pytest.mark.rule(7)
@settings(max_examples=60)
@given(st.lists(counts, min_size=2, max_size=6) | st.lists(readings, min_size=2, max_size=6))
def test_increase_and_delta_are_those_of_exact_arithmetic(values: list[Any]) -> None:
    whole = isinstance(values[0], int)
    # over some rows only, so that a window's first value is that of no step
    for some in (values, values[1:] + values[:1]):
        change, rise = Fraction(some[-1]) - Fraction(some[0]), exact_increase(some)
        for operator, exact in ((sw.delta, change), (sw.increase, rise)):
            fits = -(2**63) <= exact < 2**63
            expected = (int(exact) if fits else None) if whole else float(exact)
            assert answer(operator, some) == expected, (operator, some)


def test_nan_infinity_and_few_rows() -> None:
    assert over(sw.increase, []) is over(sw.increase, [7]) is over(sw.delta, []) is None
    assert (over(sw.delta, [7]), over(sw.delta, [7, None, 4])) == (0, -3)
    assert over(sw.increase, [7, None, 4, 6]) == 6  # a null is no reset
    assert math.isnan(over(sw.increase, [1.0, NAN, 5.0]))
    assert over(sw.increase, [INF, 5.0, 6.0]) == 6.0
    assert math.isnan(over(sw.increase, [INF, INF]))
    assert over(sw.increase, [1.0, INF]) == INF
    np.testing.assert_array_equal(
        sw.rolling(np.array([INF, 5.0, NAN, 1.0, INF]), sw.increase, rows=2), [NAN, 5.0, NAN, NAN, INF]
    )
    assert sw.rolling(np.array([3, 3, 5]), sw.increase, rows=1).mask.all()
    assert sw.rolling(np.array([True, False, True]), sw.increase, rows=3).tolist() == [None, 0, 1]


def test_times_have_no_delta() -> None:
    with pytest.raises(sw.InputError, match="delta takes numbers, but the input holds times; subtract a start"):
        sw.rolling(np.array(["2024-01-01"], "M8[s]"), sw.delta, rows=2)
