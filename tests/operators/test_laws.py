"""`check_laws` on every built-in operator, and on operators that break each law."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import concat, longest_run, matrix

import slidewise as sw
from slidewise.operators import CATALOGUE
from slidewise.operators.values.equality import same

whole = st.integers(-(2**40), 2**40)
# Floats whose sums and products are exact in 106 bits, so that the laws hold to the last bit.
short = st.integers(-(2**20), 2**20).map(lambda i: i / 64)
any_float = st.floats(width=32) | st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf])
word = st.text(max_size=3)

SAMPLES: dict[str, st.SearchStrategy[Any]] = {
    "sum": whole | short | st.sampled_from([math.nan, math.inf, -math.inf]),
    "count": word,
    "mean": whole | short | st.sampled_from([math.nan, math.inf, -math.inf]),
    "geomean": st.integers(-3, 10**6) | st.sampled_from([math.inf, math.nan]),
    "variance": st.integers(-(2**15), 2**15).map(lambda i: i / 8),
    "stddev": st.integers(-(2**15), 2**15).map(lambda i: i / 8),
    "weighted_mean": st.tuples(st.integers(-(2**20), 2**20).map(lambda i: i / 64), st.integers(-3, 1000)),
    "skew": st.integers(-(2**9), 2**9).map(lambda i: i / 8) | st.just(math.nan),
    "kurtosis": st.integers(-(2**7), 2**7).map(lambda i: i / 8) | st.just(math.inf),
    "product": st.integers(-500, 500) | st.sampled_from([math.nan, math.inf, 0.5, -0.25]),
    "max": whole | any_float,
    "min": whole | any_float,
    "argmax": st.tuples(word, whole | any_float),
    "argmin": st.tuples(word, whole | any_float),
    "maxcount": st.integers(0, 2) | any_float,
    "mincount": st.integers(0, 2) | any_float,
    "delta": whole | any_float,
    "increase": whole | short | st.sampled_from([math.nan, math.inf, -math.inf]),
    "rate": st.tuples(whole | short | st.sampled_from([math.nan, math.inf]), whole),
    "ewm_mean": st.tuples(st.integers(-(2**20), 2**20) | st.just(math.nan), st.integers(0, 200)),
    "ewm_sum": st.tuples(st.integers(-(2**20), 2**20) | st.just(math.inf), st.integers(0, 200)),
    "age": st.tuples(word, whole),
    "time_since_last": st.tuples(word, whole),
    "first": st.none() | word,
    "last": st.none() | word,
    "lag": word | whole,
    "first_k": word | whole,
    "last_k": word | whole,
    "value_range": whole | any_float,
    "m4": whole | any_float,
    "relative_variation": whole | any_float,
    "bool_and": st.booleans(),
    "bool_or": st.booleans(),
    "longest_run": st.booleans(),
    "current_run": st.booleans(),
    "covariance": st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)),
    "correlation": st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)),
    "slope": st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)),
    "intercept": st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)),
    "r2": st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)),
    "residual": st.tuples(st.integers(-1000, 1000) | st.just(math.nan), st.integers(-1000, 1000)),
    "count_distinct": word | st.integers(0, 3) | st.sampled_from([math.nan, 0.0, -0.0]),
    "mode": st.integers(0, 3) | st.sampled_from([math.nan, 0.0, -0.0]),
    "top_k": word,
    "count_by": word,
    "histogram": whole | any_float,
    "entropy": word | st.integers(0, 3) | st.sampled_from([math.nan, 0.0, -0.0]),
    "bloom": word | whole,
    "countmin": word | whole,
    "hyperloglog": word | whole,
    "theta": word | whole,
    "naive_bayes": st.tuples(st.sampled_from(["spam", "ham"]), word, st.integers(0, 2)),
    "median": whole | any_float,
    "iqr": whole | any_float,
    "mad": whole | any_float,
    "quantile": whole | any_float,
    "rank": whole | any_float,
    "percent_rank": word,
    "collect": word | whole,
}


def test_every_operator_is_tested() -> None:
    assert set(SAMPLES) == {operator.name for operator in CATALOGUE}


@pytest.mark.parametrize("operator", CATALOGUE, ids=lambda op: op.name)
@settings(max_examples=40)
@given(data=st.data())
def test_the_laws_hold_for_every_built_in(operator: sw.Operator, data: st.DataObject) -> None:
    samples = data.draw(st.lists(SAMPLES[operator.name], min_size=1, max_size=3))
    rows = [row for row in samples if row is not None]
    if rows:
        sw.check_laws(operator, rows)


@pytest.mark.parametrize("operator", [concat, matrix, longest_run], ids=lambda op: op.name)
def test_the_laws_hold_for_the_operators_of_these_tests(operator: sw.Operator) -> None:
    sw.check_laws(operator, "abc" if operator is concat else range(4))


@pytest.mark.parametrize("operator", CATALOGUE, ids=lambda op: op.name)
def test_states_can_be_stored(operator: sw.Operator) -> None:
    """States are plain values, or are made plain by `encode`, and come back equal."""

    def is_plain(value: Any) -> bool:
        if type(value) is tuple:
            return all(map(is_plain, value))
        return value is None or type(value) in (int, float, bool, str, bytes)

    rows: list[Any] = [(1, 1), (2, 2)] if len(operator.inputs) > 1 else [(True,), (False,)]
    states = [operator.identity, *(operator.lift(*row) for row in rows)]
    states.append(operator.combine(states[1], states[2]))
    for state in states:
        stored = operator.encode(state) if operator.encode else state
        assert is_plain(stored), stored
        restored = operator.decode(stored) if operator.decode else stored
        assert restored == state
        assert operator.lower(restored) is not NotImplemented


def law(message: str, **functions: Any) -> None:
    samples = functions.pop("samples", [1, 2, 3])
    operator = sw.operator(**{"name": "wrong", "identity": 0, "combine": lambda a, b: a + b, **functions})
    with pytest.raises(sw.LawError, match=message):
        sw.check_laws(operator, samples)


def test_broken_laws_are_found() -> None:
    law("has no identity", identity=1)
    law("has no identity", combine=lambda a, b: a)
    law("is not associative", combine=lambda a, b: a + b + (a and b and a != b))
    law("is not commutative", identity="", combine=lambda a, b: a + b, commutative=True, samples="ab")
    law("is not selective", selective=True)
    law("has no exact inverse", inverse=lambda total, oldest: total)
    law(r"does not define lower\(identity\)", lower=lambda s: 1 / s)


def test_an_operator_that_changes_its_arguments_is_found() -> None:
    def combine(a: list[int], b: list[int]) -> list[int]:
        a += b
        return a

    law("changes the arguments of combine", identity=[], lift=lambda x: [x], combine=combine)
    law(
        "changes the arguments of lower",
        identity=[],
        lift=lambda x: [x],
        combine=lambda a, b: a + b,
        lower=lambda s: s.clear(),
    )


def test_the_counter_example_is_the_smallest() -> None:
    off_by_one = sw.operator(name="sum", identity=0, combine=lambda a, b: a + b + (a + b > 20 and a > 0 and b > 0))
    with pytest.raises(sw.LawError) as caught:
        sw.check_laws(off_by_one, samples=[700, 100, 30, 9, 8, 1, 110, 13])
    text = str(caught.value)
    assert "is not associative: combine(combine(a, b), c) is" in text
    lines = text.splitlines()[1:]
    assert lines[:2] == ["  a = lift(1) = 1", "  b = lift(1) = 1"]
    assert len(lines) == 3
    assert lines[2].startswith("  c = lift(")


def test_rounding_is_told_apart_from_a_broken_law() -> None:
    plain_sum = sw.operator(name="plain sum", identity=0.0, combine=lambda a, b: a + b)
    with pytest.raises(sw.LawError, match="differ by rounding; pass tolerance=1e-12"):
        sw.check_laws(plain_sum, samples=[0.1, 0.2, 0.3])
    sw.check_laws(plain_sum, samples=[0.1, 0.2, 0.3], tolerance=1e-12)


def test_a_law_broken_by_combined_states_is_found_among_many_samples() -> None:
    capped = {"identity": 0, "lift": lambda x: 1, "combine": lambda a, b: min(a + b, 3), "inverse": lambda t, o: t - o}
    for count in (3, 24, 500):
        law("has no exact inverse", **capped, samples=range(count))


def test_samples_from_numpy() -> None:
    sw.check_laws(sw.max, np.array([1, 2, 3]))
    sw.check_laws(sw.max, np.array([1.5, np.nan], np.float32))
    sw.check_laws(sw.first, np.array(["2024-01-01"], "M8[s]"))


def test_samples_that_cannot_be_compared_are_no_reason_to_complain() -> None:
    class Reading:
        def __init__(self, value: int) -> None:
            self.value = value

    op = sw.operator(name="readings", identity=-1, lift=lambda reading: reading.value, combine=max)
    sw.check_laws(op, [Reading(1), Reading(2)])


def test_samples_of_several_columns() -> None:
    op = sw.operator(name="product", identity=0, lift=lambda x, y=1: x * y, combine=lambda a, b: a + b)
    sw.check_laws(op, [3, (3, 4)])
    with pytest.raises(sw.SlidewiseError, match=r"takes the columns \(x, y\)"):
        sw.check_laws(sw.argmax, [1, 2])


def test_an_identity_that_combine_cannot_take_is_a_broken_law() -> None:
    law(r"combine raises: combine\(None, None\) raises TypeError", identity=None, combine=max)


@pytest.mark.parametrize("exact", [Decimal("0.1"), 0.1 + 0.2j])
def test_tolerance_for_other_numbers(exact: Any) -> None:
    off = exact * 3 if isinstance(exact, complex) else exact * 3 + Decimal("1e-20")
    assert same(exact + exact + exact, off, tolerance=1e-12)
    assert not same(exact, off, tolerance=1e-12)


def test_what_check_laws_cannot_check() -> None:
    with pytest.raises(sw.SlidewiseError, match="takes an operator"):
        sw.check_laws(max, [1])  # type: ignore[arg-type]
    with pytest.raises(sw.SlidewiseError, match="tolerance is relative"):
        sw.check_laws(sw.max, [1], tolerance=-1)


def test_many_samples_are_fine_and_none_are_not() -> None:
    sw.check_laws(sw.max, range(2000))
    with pytest.raises(sw.SlidewiseError, match="at least one sample"):
        sw.check_laws(sw.max, [])


def test_a_law_broken_by_huge_states_is_still_reported() -> None:
    huge = sw.operator(name="huge", identity=1, combine=lambda a, b: (a << 40_000) | b)
    with pytest.raises(sw.LawError, match="an integer of 40001 bits"):
        sw.check_laws(huge, [1], tolerance=1e-9)


def test_relative_variation_with_an_absorbing_identity_is_rejected() -> None:
    """Shipped elsewhere: minimum and maximum of the type, each on the wrong side, absorb every value."""
    shipped = sw.operator(
        name="relative variation",
        identity=(-(2**63), 2**63 - 1),
        lift=lambda x: (x, x),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda s: (s[1] - s[0]) / s[1],
    )
    with pytest.raises(sw.LawError, match="has no identity"):
        sw.check_laws(shipped, samples=[3, 5, 8])


def test_a_geometric_mean_with_a_one_in_its_sum_of_logarithms_is_rejected() -> None:
    """Shipped elsewhere until 2026: the identity of a product, in a state that is a sum."""
    shipped = sw.operator(
        name="geometric mean",
        identity=(1.0, 0),
        lift=lambda x: (math.log(x), 1),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda s: math.exp(s[0] / s[1]) if s[1] else None,
    )
    with pytest.raises(sw.LawError, match="has no identity"):
        sw.check_laws(shipped, samples=[1.0, 2.0, 4.0])
