"""`iqr` and `mad` against plain Python, in SWAGs and over arrays."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

import slidewise as sw

INF, NAN = math.inf, math.nan


def linear(values: list[Any], q: float) -> float:
    """The quantile of values, one by one as rule 16 has it."""
    ordered = sorted(values)
    h = (len(ordered) - 1) * q
    k = int(h)
    t = h - k
    a, b = ordered[k], ordered[min(k + 1, len(ordered) - 1)]
    if t == 0 or a == b:
        return float(a)
    if b - a == INF:
        return a * (1 - t) + b * t
    return a + (b - a) * t if t < 0.5 else b - (b - a) * (1 - t)


def minus(a: float, b: float) -> float:
    return 0.0 if a == b else a - b


def spread(name: str, values: list[Any]) -> float | None:
    if not values:
        return None
    if any(value != value for value in values):
        return NAN
    if name == "iqr":
        return minus(linear(values, 0.75), linear(values, 0.25))
    middle = linear(values, 0.5)
    return NAN if middle != middle else linear([abs(minus(float(value), middle)) for value in values], 0.5)


def same(a: Any, b: Any) -> bool:
    return a == b or (a is not None and b is not None and a != a and b != b)


VALUES = {
    "random": lambda choose: choose.random(),
    "duplicates": lambda choose: choose.randrange(4),
    "wide": lambda choose: choose.choice([-1, 1]) * choose.random() * 10.0 ** choose.randrange(-300, 308),
    "extremes": lambda choose: choose.choice([INF, -INF, INF, 1.7e308, -1.7e308, 5e-324, -0.0, 0.0, 2.5]),
    "integers": lambda choose: choose.choice([2**62, -(2**62), 2**54 + 2, 2**54 + 5, 2**53 + 1, 7, 0]),
    "NaN": lambda choose: NAN if choose.random() < 0.05 else choose.random(),
    "grows": lambda choose: float(2 ** choose.randrange(40)),
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("name", ["iqr", "mad"])
def test_windows_of_rows_and_times_equal_plain_python(name: str, kind: str) -> None:
    choose = random.Random(kind)
    op = getattr(sw, name)
    values = [VALUES[kind](choose) for _ in range(120)]
    array = np.array(values)
    for n in (1, 2, 7, 40):
        answers = sw.rolling(array, op, rows=n)
        for i in range(len(values)):
            right = spread(name, values[max(i - n + 1, 0) : i + 1])
            assert same(answers[i], right), (kind, n, i, answers[i], right)
    times = np.cumsum([choose.choice([0, 1, 1, 30]) for _ in values])
    answers = sw.rolling(array, op, times=times, last=20, closed="left")
    for i, now in enumerate(times):
        right = spread(name, [value for value, t in zip(values, times, strict=True) if now - 20 <= t < now])
        assert same(answers[i], NAN if right is None else right)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("name", ["iqr", "mad"])
def test_every_step_of_a_window_equals_plain_python(name: str, kind: str) -> None:
    choose = random.Random(kind)
    window, other = sw.OrderStatistics(getattr(sw, name)), sw.DabaLite(getattr(sw, name))
    rows: list[Any] = []
    for _ in range(150):
        if rows and choose.random() < 0.4:
            rows.pop(0)
            window.evict(), other.evict()
        else:
            rows.append(None if choose.random() < 0.05 else VALUES[kind](choose))
            window.insert(rows[-1]), other.insert(rows[-1])
        right = spread(name, [row for row in rows if row is not None])
        assert same(window.query(), right)
        assert same(other.query(), right)
        k = choose.randrange(len(rows) + 1)
        assert same(window._query_without(k), spread(name, [row for row in rows[k:] if row is not None]))


def test_numpy_computes_the_same() -> None:
    values = np.random.default_rng(1).normal(size=500)
    for n in (10, 33, 100):
        views = np.lib.stride_tricks.sliding_window_view(values, n)
        ranges = np.quantile(views, 0.75, axis=1) - np.quantile(views, 0.25, axis=1)
        deviations = np.median(np.abs(views - np.quantile(views, 0.5, axis=1)[:, None]), axis=1)
        assert np.array_equal(sw.rolling(values, sw.iqr, rows=n)[n - 1 :], ranges)
        assert np.allclose(sw.rolling(values, sw.mad, rows=n)[n - 1 :], deviations, rtol=1e-15)


def test_long_windows_in_many_segments() -> None:
    values = np.random.default_rng(2).normal(size=9_000)
    found = sw.rolling(values, sw.mad, rows=700)
    for i in (*range(0, 9_000, 397), 8_999):
        assert found[i] == spread("mad", values[max(i - 699, 0) : i + 1].tolist())


def test_text_and_a_grain_are_refused() -> None:
    with pytest.raises(sw.SlidewiseError, match="mad takes numbers"):
        sw.OrderStatistics(sw.mad).insert("a")
    with pytest.raises(sw.SlidewiseError, match="an exact iqr needs every value"):
        sw.iqr("x").over("1 hour", grain="1 second")
