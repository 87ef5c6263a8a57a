"""`sw.rolling` against the direct evaluation of the semantics, and against oracles that share no code with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import slidewise as sw

quick = settings(deadline=None, max_examples=15, derandomize=True)

NAN, INF = math.nan, math.inf
INT_MIN, INT_MAX = -(2**63), 2**63 - 1


class Form(NamedTuple):
    """A window form: rows=n, or last=w over times; the keys and at_least."""

    rows: int | None
    last: int | float | None
    closed: str
    times: list[Any] | None
    keys: list[Any] | None
    at_least: int | None


def windows(form: Form, m: int) -> list[list[int]]:
    """The rows in each row's window, straight from the words of the semantics."""
    keys = form.keys if form.keys is not None else [0] * m
    found = []
    for i in range(m):
        same_key = [j for j in range(m) if keys[j] == keys[i]]
        if form.rows is not None:
            at = same_key.index(i)
            end = at + 1 if form.closed == "right" else at
            found.append(same_key[max(0, end - form.rows) : end])
            continue
        assert form.times is not None
        assert form.last is not None
        t, oldest = form.times[i], form.times[i] - form.last
        old_enough = {"right": "<", "both": "<=", "left": "<=", "neither": "<"}[form.closed]
        found.append(
            [
                j
                for j in same_key
                if (oldest < form.times[j] or (old_enough == "<=" and oldest == form.times[j]))
                and (form.times[j] < t or (form.closed in ("right", "both") and form.times[j] == t))
            ]
        )
    return found


def present(window: list[int], columns: list[list[Any]]) -> list[tuple[Any, ...]]:
    rows = [tuple(column[j] for column in columns) for j in window]
    return [row for row in rows if None not in row]


def direct(op: sw.Operator, columns: list[list[Any]], form: Form) -> list[Any]:
    """Row by row: collect the window's rows, leave out nulls, combine all of them."""
    least = form.at_least or (0 if op.name in ("count", "hyperloglog", "collect") else 1)
    answers = []
    for window in windows(form, len(columns[0])):
        rows = present(window, columns)
        recalc = sw.Recalc(op)
        for row in rows:
            recalc.insert(*row)
        answers.append(recalc.query() if len(rows) >= least else None)
    return answers


def series(values: list[Any], dtype: Any) -> Any:
    """A NumPy array, masked where there is None."""
    if None not in values:
        return np.array(values, dtype)
    fill = [0 if value is None else value for value in values]
    return np.ma.MaskedArray(np.array(fill, dtype), [value is None for value in values])


def rolled(op: sw.Operator, columns: list[list[Any]], dtypes: list[Any], form: Form) -> list[Any]:
    """`sw.rolling` over arrays; None where there is no answer, and the answers as Python values."""
    inputs = tuple(series(column, dtype) for column, dtype in zip(columns, dtypes, strict=True))
    keys = None
    if form.keys is not None:
        text = any(isinstance(key, str) for key in form.keys)
        keys = np.array(form.keys, object) if text else series(form.keys, np.int64)
    times = None if form.times is None else np.array(form.times, float if _floats(form.times) else np.int64)
    answers = sw.rolling(
        inputs if len(inputs) > 1 else inputs[0],
        op,
        rows=form.rows,
        times=times,
        last=form.last,
        closed=form.closed,
        by=keys,
        at_least=form.at_least,
    )
    assert len(answers) == len(columns[0])
    if isinstance(answers, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(answers)
        hidden = hidden.any(axis=0) if hidden.ndim > 1 else hidden
        if hidden.dtype.names:
            hidden = hidden[hidden.dtype.names[0]]
        return [None if gone else value for gone, value in zip(hidden.tolist(), answers.data.tolist(), strict=True)]
    return list(answers.tolist())


def _floats(values: list[Any]) -> bool:
    return any(isinstance(value, float) for value in values)


def same_bits(a: Any, b: Any) -> bool:
    """Equal as lanes must be: NaN is NaN, 0.0 is not -0.0, and a missing float answer is NaN."""
    if isinstance(a, (tuple, list)):
        return isinstance(b, (tuple, list)) and len(a) == len(b) and all(map(same_bits, a, b))
    if a is None or b is None:
        return a is b
    if isinstance(a, float) and a != a:
        return bool(b != b)
    return bool(a == b) and (not isinstance(a, float) or math.copysign(1, a) == math.copysign(1, b))


def check(expected: list[Any], got: list[Any], same: Callable[[Any, Any], bool] = same_bits) -> None:
    expected = [NAN if e is None and isinstance(g, float) else e for e, g in zip(expected, got, strict=True)]
    wrong = [(i, e, g) for i, (e, g) in enumerate(zip(expected, got, strict=True)) if not same(e, g)]
    assert not wrong, f"(row, expected, got): {wrong[:3]}; all expected {expected}, got {got}"


def rounded(x: float) -> float:
    """No digits so far down that 106 bits cannot hold them beside 1e16."""
    return round(x, 3)


WILD = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 1e16, 0.1, 5e-324, 1.7e308, None]
wild = st.sampled_from(WILD) | st.sampled_from([1.0, 2.0, 3.0]) | st.floats(-1e6, 1e6)
tame = st.sampled_from([0.0, -0.0, 1.0, 1e9, 0.1, -3.5, None]) | st.floats(-1e6, 1e6).map(rounded)
whole = st.sampled_from([INT_MIN, INT_MAX, 0, 1, -1, 2**53 + 1, None]) | st.integers(-50, 50)
small = st.integers(-1000, 1000) | st.none()
truth = st.booleans() | st.none()


@st.composite
def cases(
    draw: st.DrawFn, *values: st.SearchStrategy[Any], most: int = 16, fill: Any = 1
) -> tuple[list[list[Any]], Form]:
    """Columns and a window over them: plain rows in a third of the cases, since these have kernels of their own."""
    m = draw(st.integers(0, most) | st.sampled_from([0, 1, most]))
    plain = draw(st.integers(0, 2)) == 0
    columns = [draw(st.lists(value, min_size=m, max_size=m)) for value in values]
    if plain and draw(st.booleans()):
        columns = [[fill if value is None else value for value in column] for column in columns]
    keys = None
    if not plain:
        pool = draw(st.sampled_from([None, [1, 2], [5, None, -7], list(range(m or 1)), [10**12, -(10**12)], ["a", ""]]))
        keys = None if pool is None else draw(st.lists(st.sampled_from(pool), min_size=m, max_size=m))
    if plain or draw(st.booleans()):
        n = draw(st.integers(1, 6) | st.sampled_from([1, m or 1, 2 * m + 1, 200]))
        closed = "right" if plain else draw(st.sampled_from(["right", "left"]))
        least = draw(st.none() | st.integers(1, min(n, 4)))
        return columns, Form(n, None, closed, None, keys, least)
    steps = draw(st.sampled_from([[0], [0, 1], [0, 0, 0, 1, 3, 50], [1], [0, 0.5, 0.25]]))
    times, now = [], draw(st.sampled_from([0, -1000, 10**15]))
    for _ in range(m):
        now += draw(st.sampled_from(steps))
        times.append(now)
    if _floats(times):
        times = list(map(float, times))
    last = draw(st.integers(1, 6) | st.sampled_from([0.5, 2.5, 1000]))
    closed = draw(st.sampled_from(["right", "both", "left", "neither"]))
    return columns, Form(None, last, closed, times, keys, draw(st.none() | st.integers(1, 4)))


ORDERED = [sw.max, sw.min, sw.maxcount, sw.mincount, sw.first, sw.last, sw.m4, sw.count, sw.count_distinct, sw.collect]


@pytest.mark.parametrize("op", ORDERED, ids=lambda op: op.name)
@quick
@given(case=cases(wild))
def test_extremes_ends_and_counts_of_floats(op: sw.Operator, case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    check(direct(op, columns, form), rolled(op, columns, [float], form))


@pytest.mark.parametrize("op", [op for op in ORDERED if op is not sw.mincount], ids=lambda op: op.name)
@quick
@given(case=cases(whole))
def test_extremes_ends_and_counts_of_integers(op: sw.Operator, case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    check(direct(op, columns, form), rolled(op, columns, [np.int64], form))


@pytest.mark.parametrize("op", [sw.bool_and, sw.bool_or, sw.sum, sw.max], ids=lambda op: op.name)
@quick
@given(case=cases(truth, fill=True))
def test_bools(op: sw.Operator, case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    check(direct(op, columns, form), rolled(op, columns, [bool], form))


@pytest.mark.parametrize("op", [sw.argmax, sw.argmin], ids=lambda op: op.name)
@quick
@given(case=cases(whole, wild))
def test_the_row_of_an_extreme(op: sw.Operator, case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    check(direct(op, columns, form), rolled(op, columns, [np.int64, float], form))


@pytest.mark.parametrize("op", [sw.value_range, sw.relative_variation], ids=lambda op: op.name)
@quick
@given(case=cases(wild))
def test_ranges_of_floats(op: sw.Operator, case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    check(direct(op, columns, form), rolled(op, columns, [float], form))


@quick
@given(case=cases(whole))
@example(case=([[2**53 + 1, 2**53]], Form(2, None, "right", None, None, None)))
def test_relative_variation_of_integers(case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    check(direct(sw.relative_variation, columns, form), rolled(sw.relative_variation, columns, [np.int64], form))


@quick
@given(case=cases(whole))
def test_a_range_of_integers_is_exact_or_an_error(case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    try:
        expected = direct(sw.value_range, columns, form)
    except sw.SumOverflowError:
        with pytest.raises(sw.SumOverflowError, match="value_range"):
            rolled(sw.value_range, columns, [np.int64], form)
    else:
        check(expected, rolled(sw.value_range, columns, [np.int64], form))


@quick
@given(case=cases(whole))
@example(case=([[2**62, 2**62, -(2**62)]], Form(3, None, "right", None, None, None)))
@example(case=([[INT_MAX, 1, INT_MIN, -1]], Form(1, None, "right", None, None, None)))
@example(case=([[INT_MIN, INT_MAX, INT_MIN]], Form(2, None, "right", None, None, None)))
@example(case=([[2**62, 2**62, -(2**62)]], Form(3, None, "right", None, None, 3)))
def test_an_integer_sum_is_exact_or_an_error(case: tuple[list[list[Any]], Form]) -> None:
    """Python's integers are the oracle: an error exactly where the sum of a window that has an answer does not fit."""
    columns, form = case
    sums = []
    for window in windows(form, len(columns[0])):
        rows = present(window, columns)
        sums.append(sum(row[0] for row in rows) if len(rows) >= (form.at_least or 1) else None)
    if all(total is None or INT_MIN <= total <= INT_MAX for total in sums):
        check(sums, rolled(sw.sum, columns, [np.int64], form))
    else:
        with pytest.raises(sw.SumOverflowError, match="sum"):
            rolled(sw.sum, columns, [np.int64], form)


def correctly_rounded(values: list[float], mean: bool) -> tuple[float, bool]:
    """The sum or mean, and whether it is so well conditioned that every lane must give these very bits."""
    if not all(map(math.isfinite, values)):
        total = INF if INF in values else NAN
        total = -INF if -INF in values and total != INF else NAN if -INF in values else total
        return (NAN if any(v != v for v in values) else total), True
    exact = sum(map(Fraction, values))
    scale = sum(abs(Fraction(v)) for v in values)
    return float(exact / len(values) if mean else exact), scale <= abs(exact) * 2**40


@pytest.mark.parametrize("op", [sw.sum, sw.mean], ids=lambda op: op.name)
@settings(quick, max_examples=60)
@given(case=cases(st.sampled_from([NAN, INF, -INF, 1e16, -1e16, None]) | st.floats(-1e6, 1e6).map(rounded)))
@example(case=([[1e16, 1.0, 2.0, 3.0, INF, 4.0]], Form(2, None, "right", None, None, None)))
def test_float_sums_and_means_are_correctly_rounded(op: sw.Operator, case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    got = rolled(op, columns, [float], form)
    recalculated = direct(op, columns, form)
    for i, window in enumerate(windows(form, len(columns[0]))):
        values = [row[0] for row in present(window, columns)]
        if len(values) < (form.at_least or 1):
            assert math.isnan(got[i])
            continue
        expected, sure = correctly_rounded(values, op is sw.mean)
        if sure:
            assert same_values(got[i], expected), (i, values)
            assert same_values(got[i], recalculated[i]), (i, values)
        else:
            scale = math.fsum(map(abs, values))
            assert abs(Fraction(got[i]) - Fraction(expected)) <= Fraction(math.ulp(expected)) + Fraction(scale) / 10**30


def same_values(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


def test_a_sum_of_negative_zeros_is_one_in_every_lane() -> None:
    zeros = np.array([-0.0, -0.0])
    by_rows = sw.rolling(zeros, sw.sum, rows=1)
    with_inf = sw.rolling(np.array([-0.0, INF]), sw.sum, rows=1)
    one = sw.Recalc(sw.sum)
    one.insert(-0.0)
    signs = {math.copysign(1, value) for value in (by_rows[0], with_inf[0], one.query())}
    assert len(signs) == 1, "whether 0.0 or -0.0 must not depend on the lane, nor on rows outside the window"


@quick
@given(case=cases(whole))
def test_a_mean_of_integers_is_correctly_rounded(case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    got = rolled(sw.mean, columns, [np.int64], form)
    check(direct(sw.mean, columns, form), got, same_values)
    for i, window in enumerate(windows(form, len(columns[0]))):
        values = [row[0] for row in present(window, columns)]
        if len(values) >= (form.at_least or 1):
            assert got[i] == float(Fraction(sum(values), len(values)))


def exact_variance(values: list[Any]) -> float | None:
    if len(values) < 2:
        return None
    exact = list(map(Fraction, values))
    middle = sum(exact) / len(exact)
    return float(sum((v - middle) ** 2 for v in exact) / (len(exact) - 1))


@pytest.mark.parametrize("op", [sw.variance, sw.stddev], ids=lambda op: op.name)
@settings(quick, max_examples=60)
@given(case=cases(tame | st.sampled_from([NAN, INF, 1e16])))
def test_variances_are_those_of_the_interpreted_form(op: sw.Operator, case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    got = rolled(op, columns, [float], form)
    check(direct(op, columns, form), got, same_values)
    for i, window in enumerate(windows(form, len(columns[0]))):
        values = [row[0] for row in present(window, columns)]
        if len(values) < (form.at_least or 1) or len(values) < 2 or not all(map(math.isfinite, values)):
            assert math.isnan(got[i])
            continue
        exact = exact_variance(values)
        assert exact is not None
        expected = exact if op is sw.variance else math.sqrt(exact)
        assert math.isclose(got[i], expected, rel_tol=4e-16, abs_tol=1e-300), (i, values)


@quick
@given(case=cases(small))
def test_a_variance_of_integers_is_correctly_rounded(case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    expected = []
    for window in windows(form, len(columns[0])):
        values = [row[0] for row in present(window, columns)]
        expected.append(exact_variance(values) if len(values) >= (form.at_least or 1) else None)
    check(expected, rolled(sw.variance, columns, [np.int64], form))


@pytest.mark.parametrize("scale", [0.0, 1e3, 1e5, 1e6, 1e9])
@pytest.mark.parametrize("n", [8, 50])
def test_a_variance_is_exact_beside_far_values(scale: float, n: int) -> None:
    """A value far off that has left the window, or stands where a block begins, costs no digits."""
    random = np.random.default_rng(n)
    x = random.normal(size=2_000)
    x[::n] += scale * random.normal(size=len(x[::n]))
    got, by_time = sw.rolling(x, sw.variance, rows=n), sw.rolling(x, sw.variance, times=np.arange(2_000), last=n)
    window, expected = sw.DabaLite(sw.variance), []
    for value in x.tolist():
        window.insert(value)
        if len(window) > n:
            window.evict()
        expected.append(window.query())
    check(expected, got.tolist())
    check(expected, by_time.tolist())


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_variance_of_decimals(n: int) -> None:
    """Steps of 0.1 lie on ties between two floats now and then, which only digits below 106 bits would decide."""
    x = np.random.default_rng(1).integers(0, 100, 4_000) / 10
    by_rows, by_time = sw.rolling(x, sw.variance, rows=n), sw.rolling(x, sw.variance, times=np.arange(4_000), last=n)
    for i in range(1, 4_000):
        expected = exact_variance(x[max(0, i - n + 1) : i + 1].tolist())
        assert expected is not None
        slack = math.ulp(expected)
        assert abs(by_time[i] - expected) <= slack, x[i - n + 1 : i + 1]
        assert abs(by_rows[i] - expected) <= slack, x[i - n + 1 : i + 1]


@pytest.mark.parametrize("op", [sw.geomean, sw.product], ids=lambda op: op.name)
@quick
@given(case=cases(st.sampled_from([NAN, INF, -INF, 0.0, -0.0, 1e300, -1e-300, None]) | st.floats(-100, 1e6)))
def test_geomean_and_product(op: sw.Operator, case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    got = rolled(op, columns, [float], form)
    check(direct(op, columns, form), got, lambda a, b: same_values(a, b) or math.isclose(a, b, rel_tol=1e-15))
    for i, window in enumerate(windows(form, len(columns[0]))):
        values = [row[0] for row in present(window, columns)]
        if op is sw.geomean or len(values) < (form.at_least or 1) or not all(map(math.isfinite, values)):
            continue
        exact = math.prod(map(Fraction, values))
        expected = math.copysign(INF, exact) if abs(exact) >= 2**1024 else float(exact)
        assert math.isclose(got[i], expected, rel_tol=3e-16, abs_tol=1e-320), (i, values)


@quick
@given(case=cases(whole))
def test_a_product_of_integers(case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    check(direct(sw.product, columns, form), rolled(sw.product, columns, [np.int64], form), same_values)


@pytest.mark.parametrize("op", [sw.covariance, sw.correlation], ids=lambda op: op.name)
@quick
@given(case=cases(tame | st.just(NAN), tame))
def test_covariance_and_correlation(op: sw.Operator, case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    got = rolled(op, columns, [float, float], form)
    check(direct(op, columns, form), got, same_values)
    for i, window in enumerate(windows(form, len(columns[0]))):
        rows = present(window, columns)
        if len(rows) < max(2, form.at_least or 1) or any(v != v for row in rows for v in row):
            assert math.isnan(got[i])
            continue
        x, y = [Fraction(row[0]) for row in rows], [Fraction(row[1]) for row in rows]
        mx, my = sum(x) / len(x), sum(y) / len(y)
        sxy = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
        sxx, syy = sum((a - mx) ** 2 for a in x), sum((b - my) ** 2 for b in y)
        scale = math.sqrt(sxx * syy)
        if op is sw.covariance:
            assert math.isclose(got[i], float(sxy / (len(x) - 1)), rel_tol=4e-16, abs_tol=1e-25 * scale)
        elif not scale:
            assert math.isnan(got[i])
        else:
            assert math.isclose(got[i], float(sxy) / scale, rel_tol=2e-15, abs_tol=1e-25)


SKETCHES = [sw.hyperloglog(p=4), sw.bloom(bits=64, hashes=2), sw.countmin(width=8, depth=2)]


@pytest.mark.parametrize("op", SKETCHES, ids=lambda op: op.name)
@settings(quick, max_examples=12)
@given(case=cases(st.integers(-3, 3) | st.none(), most=10))
def test_sketches(op: sw.Operator, case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    check(direct(op, columns, form), rolled(op, columns, [np.int64], form))


@settings(quick, max_examples=15)
@given(case=cases(st.sampled_from(["a", "b"]), st.sampled_from(["red", "blue", None]), most=8))
def test_naive_bayes(case: tuple[list[list[Any]], Form]) -> None:
    columns, form = case
    assume(columns[0])
    inputs = tuple(np.array(column, object) for column in columns)
    times = None if form.times is None else np.array(form.times)
    keys = None if form.keys is None else np.array(form.keys, object)
    options = {"rows": form.rows, "times": times, "last": form.last, "closed": form.closed, "by": keys}
    answers = sw.rolling(inputs, sw.naive_bayes, **options, at_least=form.at_least).tolist()
    assert list(map(repr, answers)) == list(map(repr, direct(sw.naive_bayes, columns, form)))


@pytest.mark.parametrize("n", [1, 2, 3, 127, 128, 129, 1000, 4097, 9999, 10_000, 10_001, 50_000])
def test_extremes_over_many_rows(n: int) -> None:
    """Tiles and blocks of every kind, against NumPy over explicit slices."""
    random = np.random.default_rng(n)
    for x in (random.normal(size=10_000), random.integers(-5, 5, 10_000)):
        highest, lowest = sw.rolling(x, sw.max, rows=n), sw.rolling(x, sw.min, rows=n)
        for i in [*range(0, 10_000, 131), 9_999]:
            window = x[max(0, i - n + 1) : i + 1]
            assert highest[i] == window.max()
            assert lowest[i] == window.min()


@pytest.mark.parametrize("n", [1, 2, 1023, 1024, 1025, 3000, 20_000])
def test_sums_over_many_rows(n: int) -> None:
    random = np.random.default_rng(n)
    x = random.normal(size=5_000) * 10.0 ** random.integers(-3, 4, 5_000)
    totals, means = sw.rolling(x, sw.sum, rows=n), sw.rolling(x, sw.mean, rows=n)
    by_time = sw.rolling(x, sw.sum, times=np.arange(5_000), last=n)
    for i in [*range(0, 5_000, 97), 4_999]:
        window = x[max(0, i - n + 1) : i + 1].tolist()
        assert totals[i] == by_time[i] == math.fsum(window)
        assert means[i] == float(sum(map(Fraction, window)) / len(window))


def test_a_disturbance_leaves_no_trace() -> None:
    for disturbance in (1e16, INF, -INF, NAN, 1e300):
        x = np.array([1.0, 2.0, disturbance, 1.0, 2.0, 3.0])
        for window in ({"rows": 3}, {"times": np.arange(6), "last": 3}):
            assert sw.rolling(x, sw.sum, **window)[-1] == 6.0
            assert sw.rolling(x, sw.mean, **window)[-1] == 2.0
            assert sw.rolling(x, sw.variance, **window)[-1] == 1.0
            assert sw.rolling(x, sw.stddev, **window)[-1] == 1.0
            assert sw.rolling(x, sw.max, **window)[-1] == 3.0


def test_of_equal_values_the_earlier_stays() -> None:
    x = np.array([0.0, -0.0, 0.0, -0.0] * 100)
    for n in (2, 3, 128, 129, 200):
        for op in (sw.max, sw.min):
            for window in ({"rows": n}, {"times": np.arange(400), "last": n}):
                signs = np.signbit(sw.rolling(x, op, **window))
                assert signs.tolist() == [bool(max(0, i - n + 1) % 2) for i in range(400)], (op, n, window)


# -- the far ends of what can be asked


@pytest.mark.parametrize("op", [sw.max, sw.sum, sw.variance, sw.count, sw.maxcount], ids=lambda op: op.name)
@pytest.mark.parametrize("rows", [10**13, 2**63])
def test_a_window_may_be_much_longer_than_the_data(op: sw.Operator, rows: int) -> None:
    x, keys = np.array([1.0, 3.0, 2.0]), np.array([1, 1, 1])
    np.testing.assert_array_equal(sw.rolling(x, op, rows=rows), sw.rolling(x, op, rows=3))
    np.testing.assert_array_equal(sw.rolling(x, op, rows=rows, by=keys), sw.rolling(x, op, rows=3))
    left = sw.rolling(x, op, rows=rows, closed="left")
    np.testing.assert_array_equal(left, sw.rolling(x, op, rows=3, closed="left"))


@pytest.mark.parametrize("last", [2**62, 2**63, 1e300])
@pytest.mark.parametrize("start", [0, INT_MIN, INT_MAX - 3])
def test_a_time_window_may_reach_back_beyond_all_integers(last: float, start: int) -> None:
    times = np.array([start, start + 1, start + 3])
    assert sw.rolling(np.ones(3), sw.count, times=times, last=last).tolist() == [1, 2, 3]


def test_times_at_both_ends_of_the_integers() -> None:
    times = np.array([INT_MIN, INT_MIN + 5, -1, 0, INT_MAX - 1, INT_MAX])
    assert sw.rolling(np.ones(6), sw.count, times=times, last=10).tolist() == [1, 2, 1, 2, 1, 2]
    assert sw.rolling(np.ones(6), sw.count, times=times, last=2**63 - 1, closed="both").tolist() == [1, 2, 3, 3, 3, 3]
    assert sw.rolling(np.ones(6), sw.count, times=times, last=5, closed="left").tolist() == [0, 1, 0, 1, 0, 1]


def test_a_long_window_over_old_dates() -> None:
    times = np.array(["1900-01-01", "1900-01-02", "1901-01-01", "2000-01-01"], "M8[ns]")
    for last in ("90000 days", "150000 days"):
        assert sw.rolling(np.ones(4), sw.count, times=times, last=last).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("times", [np.arange(3), np.arange(3).astype("M8[s]")], ids=["numbers", "timestamps"])
def test_last_all_is_a_running_aggregate(times: Any) -> None:
    """`over("all")` of a definition; if `rolling` is not to have it, a WindowError should say so."""
    assert sw.rolling(np.ones(3), sw.count, times=times, last="all").tolist() == [1, 2, 3]


@pytest.mark.parametrize("op", [sw.max, sw.sum, sw.variance, sw.count, sw.m4, sw.collect, sw.count_distinct, sw.first])
def test_empty_input(op: sw.Operator) -> None:
    none = np.array([], float)
    for window in ({"rows": 3}, {"rows": 3, "closed": "left"}, {"times": none, "last": 3}, {"rows": 3, "by": none}):
        assert len(sw.rolling(none, op, **window)) == 0
    if op in (sw.max, sw.sum, sw.first):
        assert sw.rolling(none, op, rows=3).dtype == float
    if op in (sw.count, sw.count_distinct):
        assert sw.rolling(none, op, rows=3).dtype == np.int64


def test_many_keys_interleaved() -> None:
    """Each key's answers are those of its rows alone, in the input's places."""
    random = np.random.default_rng(3)
    keys, x = random.integers(0, 300, 6_000), random.normal(size=6_000)
    times = np.sort(random.integers(0, 5_000, 6_000))
    for op in (sw.max, sw.sum, sw.stddev, sw.count, sw.first):
        for window in ({"rows": 7}, {"rows": 7, "closed": "left"}, {"last": 500, "closed": "neither"}, {"last": 500}):
            timed = "last" in window
            got = np.ma.filled(sw.rolling(x, op, by=keys, times=times if timed else None, **window), -1)
            for key in range(0, 300, 29):
                mine = keys == key
                alone = sw.rolling(x[mine], op, times=times[mine] if timed else None, **window)
                np.testing.assert_array_equal(got[mine], np.ma.filled(alone, -1))


@pytest.mark.parametrize("kind", [float, "U3", bool, "M8[D]"])
def test_keys_of_every_kind(kind: Any) -> None:
    keys = np.array([1, 0, 1, 0, 1]).astype("i8" if kind == "M8[D]" else kind).astype(kind)
    assert sw.rolling(np.array([1, 10, 2, 20, 3]), sw.sum, rows=2, by=keys).tolist() == [1, 10, 3, 30, 5]


def test_strange_keys_are_keys() -> None:
    x = np.array([1, 2, 4, 8])
    assert sw.rolling(x, sw.sum, rows=9, by=np.array([NAN, 0.0, NAN, -0.0])).tolist() == [1, 2, 5, 10]
    assert sw.rolling(x, sw.sum, rows=9, by=np.array([None, "a", None, "a"], object)).tolist() == [1, 2, 5, 10]
    assert sw.rolling(x, sw.sum, rows=9, by=np.ma.array([0, 0, 0, 1], mask=[1, 0, 1, 0])).tolist() == [1, 2, 5, 8]


def test_nan_among_texts_is_null_and_not_the_text_nan() -> None:
    odd = np.array([NAN, "NaN"], object)
    assert sw.rolling(np.array([1, 2]), sw.sum, rows=2, by=odd).tolist() == [1, 2]
    assert sw.rolling(odd, sw.count_distinct, rows=2).tolist() == [None, 1]


def test_layouts_in_memory_do_not_matter() -> None:
    """Strided, unaligned, read-only and of the other byte order."""
    x = np.arange(20.0)
    record = np.zeros(10, np.dtype([("pad", "i1"), ("x", "f8")]))
    record["x"] = x[::2]
    frozen = x[::2].copy()
    frozen.flags.writeable = False
    for op in (sw.max, sw.sum):
        expected = sw.rolling(x[::2].copy(), op, rows=3)
        for same in (x[::2], record["x"], frozen, x[::2].astype(">f8"), x[::2][::-1].copy()[::-1]):
            np.testing.assert_array_equal(sw.rolling(same, op, rows=3), expected)


def test_the_input_is_left_as_it_was() -> None:
    x, keys, times = np.array([3.0, 1.0, 2.0]), np.array([2, 1, 2]), np.array([1, 2, 2])
    for op in (sw.max, sw.sum, sw.first, sw.last, sw.variance):
        answers = sw.rolling(x, op, rows=1, at_least=1)
        answers[:] = -1
        sw.rolling(x, op, times=times, last=1, by=keys, closed="neither")[:] = -1
    assert (x.tolist(), keys.tolist(), times.tolist()) == ([3.0, 1.0, 2.0], [2, 1, 2], [1, 2, 2])
