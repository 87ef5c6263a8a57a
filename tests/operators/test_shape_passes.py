"""The passes of variance, skew, kurtosis, slope and weighted_mean give the bits of the interpreted operators, and nulls
alike."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.kernels.codegen.kernel import kernel_for
from slidewise.kernels.passes.dispatch import run_bounds, run_rows
from slidewise.kernels.passes.shapes import SHAPES
from slidewise.kernels.sums.exact_totals import NO_ANSWER, SURE
from slidewise.operators.values.double_double import NOISE

COLUMNS: dict[str, Callable[[random.Random], float]] = {
    "normal": lambda choose: choose.gauss(0, 1),
    "offset": lambda choose: 1e9 + choose.random(),
    "few values": lambda choose: choose.choice([0.0, 1.0, 2.5]),
    "far off": lambda choose: 1e16 if choose.random() < 0.01 else choose.random(),
    "not finite": lambda choose: (
        choose.choice([float("nan"), float("inf")]) if choose.random() < 0.01 else choose.random()
    ),
    "tiny": lambda choose: choose.random() * 1e-120,
    "equal": lambda choose: 3.0 if choose.random() < 0.98 else 3.5,
    "both signs": lambda choose: choose.choice([-1.0, -0.5, 0.5, 1.0]),
}
OPERATORS = (sw.variance, sw.stddev, sw.skew, sw.kurtosis, sw.slope, sw.weighted_mean)


def inputs(op: sw.Operator, x: Any, y: Any) -> tuple[Any, ...]:
    return (y, x) if op in (sw.slope, sw.weighted_mean) else (x,)


def windows(op: sw.Operator, rows: list[tuple[Any, ...]], n: int, keys: list[int]) -> list[Any]:
    """The interpreted operator over the last n rows of each key."""
    answers: list[Any] = []
    held: dict[int, Any] = {}
    for row, key in zip(rows, keys, strict=True):
        window = held.setdefault(key, sw.DabaLite(op))
        window.insert(*row)
        if len(window) > n:
            window.evict()
        answers.append(window.query())
    return answers


def assert_same(answers: Any, expected: Any, case: Any) -> None:
    wrong = np.flatnonzero(~((answers == expected) | (np.isnan(answers) & np.isnan(expected))))
    assert not len(wrong), (case, wrong[:5], answers[wrong[:5]], expected[wrong[:5]])


@pytest.mark.parametrize("n", [3, 10, 300])
@pytest.mark.parametrize("name", COLUMNS)
def test_bits_are_those_of_the_interpreted_operators(name: str, n: int) -> None:
    choose = random.Random(n)
    count = 350 if n < 300 else 500
    x, y = ([COLUMNS[name](choose) for _ in range(count)] for _ in range(2))
    keys = [int(i > count - 100) for i in range(count)]
    for op in OPERATORS:
        columns = inputs(op, x, y)
        answers = sw.rolling(tuple(map(np.array, columns)), op, rows=n, by=np.array(keys))
        expected = windows(op, list(zip(*columns, strict=True)), n, keys)
        assert_same(answers, np.array([np.nan if answer is None else answer for answer in expected]), op.name)


def some_bounds(count: int, longest: int, seed: int) -> tuple[Any, Any]:
    """Windows that never move back: peers, gaps, jumps over more rows than a tile has, and empty ones."""
    choose = np.random.default_rng(seed)
    steps = choose.choice([0, 1, 1, 1, 2, 5], count) + 700 * (choose.random(count) < 0.002)
    ends = np.minimum(np.cumsum(steps), count)
    lengths = np.minimum(choose.integers(0, longest + 1), choose.integers(0, longest + 1, count))
    starts = np.maximum.accumulate(np.maximum(ends - lengths - longest // 2, 0))
    return np.where(choose.random(count) < 0.01, ends, np.minimum(starts, ends)).astype(np.int32), ends.astype(np.int32)


@pytest.mark.parametrize("longest", [5, 100, 3_000])
def test_windows_of_any_bounds_have_the_bits_of_the_general_kernel(longest: int) -> None:
    choose = np.random.default_rng(longest)
    x, y = choose.normal(size=(2, 12_000))
    x[choose.integers(0, len(x), 3)] = 1e12, np.nan, -1e40
    whole = choose.integers(2**61, 2**61 + 10**6, len(x))
    still = np.repeat(choose.integers(0, 3, 40), 300).astype(float)
    starts, ends = some_bounds(len(x), longest, longest)
    for op in OPERATORS:
        cases = [inputs(op, x, y)]
        if op is sw.slope:
            cases.append((y, whole, np.full(len(x), 10**9)))
        if op in (sw.variance, sw.stddev):
            cases += [(column,) for column in (whole, choose.integers(0, 9, len(x)), still, 2**60 + still.astype(int))]
        for columns in cases:
            kernel = kernel_for(op, tuple(str(column.dtype) for column in columns))
            assert kernel is not None
            answers = run_bounds(op, columns, starts, ends)
            expected = kernel.bounds(list(columns), starts, ends)
            assert answers is not None
            full = ends > starts
            valid = full if answers.valid is None else answers.valid & full
            assert (valid == (full if expected.valid is None else expected.valid & full)).all(), op.name
            assert_same(answers.fields[0][valid], expected.fields[0][valid], op.name)
            rows = run_rows(op, columns, np.array([0, len(x)]), longest)
            at = np.arange(1, len(x) + 1)
            expected = kernel.bounds(list(columns), np.maximum(at - longest, 0).astype(np.int32), at.astype(np.int32))
            assert rows is not None
            assert_same(answers_of(rows), answers_of(expected), op.name)


def answers_of(answers: Any) -> Any:
    return answers.fields[0] if answers.valid is None else np.where(answers.valid, answers.fields[0], np.nan)


def test_windows_of_time_with_nulls_and_at_least() -> None:
    """Nulls are left out before a pass runs, and windows of too few rows before it is asked."""
    import pyarrow as pa

    choose = np.random.default_rng(3)
    y = choose.normal(size=900)
    seconds = np.cumsum(choose.integers(0, 3, 900))
    null = choose.random(900) < 0.1
    times = np.datetime64("2024-03-01", "us") + seconds.astype("m8[s]").astype("m8[us]")
    column = pa.array(y, mask=null)
    answers = sw.rolling(column, sw.slope, times=times, last="30s", at_least=5).to_pylist()
    for i in range(0, 900, 7):
        rows = np.flatnonzero((seconds > seconds[i] - 30) & (seconds <= seconds[i]) & ~null)
        window = sw.Recalc(sw.slope)
        for j in rows.tolist():
            window.insert(y[j].item(), int(seconds[j]) * 10**9, 10**9)
        assert answers[i] == (window.query() if len(rows) >= 5 else None)


def test_most_rows_are_sure() -> None:
    """Where the data is tame, next to nothing is left for the general kernel."""
    x, y = np.random.default_rng(1).normal(size=(2, 20_000)) + 1e6
    ticks = np.arange(20_000) * 10**9 + 1_700_000_000 * 10**9
    starts, ends = some_bounds(20_000, 400, 1)
    nothing = np.empty(0, np.int32)
    for op in OPERATORS:
        columns = [inputs(op, x, y)] + [(y, ticks, np.full(len(y), 10**9))] * (op is sw.slope)
        for arrays in columns:
            for bounds in ((nothing, nothing, 10), (nothing, nothing, 1_000), (starts, ends, 0)):
                result = SHAPES[op.name](arrays, *bounds)
                assert result is not None
                _, marks = result
                assert (marks == SURE).sum() > 0.999 * (marks != NO_ANSWER).sum(), (op.name, len(arrays), bounds[2])


AWKWARD = [0.0, 1.0, -1.0, 0.1, 2.5, 1e9 + 0.5, 1e9 + 0.25, -1e15, 1.0 + 2.0**-52, 3e-40, 1e40]


def exactly(op: sw.Operator, rows: list[tuple[float, ...]]) -> Fraction | None:
    """The answer over some rows by its textbook formula, to 60 digits where it has a root; None where it has none. Of
    stddev it is the square."""
    n, x = len(rows), [Fraction(row[-1]) for row in rows]
    if op is sw.weighted_mean:
        return sum(Fraction(row[0]) * w for row, w in zip(rows, x, strict=True)) / sum(x) if sum(x) else None
    mean = sum(x) / n
    second, third, fourth = (sum((v - mean) ** power for v in x) for power in (2, 3, 4))
    if op in (sw.variance, sw.stddev):
        return second / (n - 1) if n > 1 else None
    if n < {"slope": 2, "skew": 3, "kurtosis": 4}[op.name] or not second:
        return None
    if op is sw.slope:
        return sum((v - mean) * Fraction(row[0]) for v, row in zip(x, rows, strict=True)) / second
    if op is sw.kurtosis:
        return (n * (n + 1) * fourth / second**2 - 3 * (n - 1)) * Fraction(n - 1, (n - 2) * (n - 3))
    with localcontext() as context:
        context.prec = 60
        square = third**2 / second**3 * (n - 1)
        return (
            Fraction((Decimal(square.numerator) / square.denominator).sqrt()) * (1 if third >= 0 else -1) * n / (n - 2)
        )


def size_of_terms(op: sw.Operator, rows: list[tuple[float, ...]]) -> Fraction:
    """How large an answer would be if nothing in it cancelled."""
    size = [max(abs(Fraction(value)) for value in column) for column in zip(*rows, strict=True)]
    if op is sw.weighted_mean:
        return size[0] * size[1] * len(rows) / abs(sum(Fraction(row[1]) for row in rows))
    if op in (sw.variance, sw.stddev):
        return size[-1] ** 2
    if op is not sw.slope:
        return Fraction(len(rows) ** 2)
    mean = sum(Fraction(row[1]) for row in rows) / len(rows)
    return size[0] / max(abs(Fraction(row[1]) - mean) for row in rows)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(st.sampled_from(AWKWARD), st.sampled_from(AWKWARD)), min_size=1, max_size=25),
    n=st.integers(1, 12),
)
def test_answers_are_those_of_fractions(rows: list[tuple[float, float]], n: int) -> None:
    y, x = (np.array(column) for column in zip(*rows, strict=True))
    for op in OPERATORS:
        answers = sw.rolling(inputs(op, x, y), op, rows=n)
        for i, answer in enumerate(answers.tolist()):
            window = rows[max(i + 1 - n, 0) : i + 1]
            wanted = exactly(op, window)
            if wanted is None:
                assert np.isnan(answer), (op.name, i)
                continue
            if op in (sw.variance, sw.stddev):
                assert answer > 0 if len({x for _, x in window}) > 1 else answer == 0, (op.name, i, answer)
            found = Fraction(answer) ** (2 if op is sw.stddev else 1)
            off = abs(found - wanted) - Fraction(2.0**-50) * abs(wanted)
            assert off <= 64 * Fraction(NOISE) * size_of_terms(op, window), (op.name, i, answer, float(wanted))
