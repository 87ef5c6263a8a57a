"""Quantiles of whole arrays against NumPy's, window by window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import slidewise as sw
from slidewise.kernels.bounds.rows_and_times import row_bounds, some_row_bounds
from slidewise.kernels.order import quantiles as kernel
from slidewise.kernels.order.bit_sets import LEVELS, clear, level_offsets
from slidewise.kernels.order.ranks import BATCH, FALLS, FEWEST, cut_segments
from slidewise.operators.families.quantiles import INTERPOLATIONS
from slidewise.operators.values.log_buckets import bucket, middle, parts_of

choose = np.random.default_rng(7)
ROWS = 1_500
DATA: dict[str, Any] = {
    "random": choose.random(ROWS),
    "negative": -choose.random(ROWS) * 1e300,
    "duplicates": choose.integers(0, 5, ROWS).astype(float),
    "constant": np.full(ROWS, 2.5),
    "zeros": choose.choice([0.0, -0.0, 1.0], ROWS),
    "sorted": np.sort(choose.random(ROWS)),
    "sawtooth": np.arange(ROWS) % 70.0,
    "NaN": np.where(choose.random(ROWS) < 0.01, np.nan, choose.random(ROWS)),
    "heavy tail": choose.pareto(0.3, ROWS) * choose.choice([-1, 1], ROWS),
    # Values that differ in their last bits only, beside others far away: their order has more bits than a word holds.
    "last bits": np.where(choose.random(ROWS) < 0.01, -1e308, 1 + choose.integers(0, 900, ROWS) * 2.0**-52),
    "integers": choose.integers(-50, 50, ROWS),
    "large integers": choose.integers(-(2**61), 2**61, ROWS),
    "last integers": np.where(choose.random(ROWS) < 0.01, -(2**62), 2**61 + choose.integers(0, 900, ROWS)),
}


def assert_numpys(x: Any, starts: Any, ends: Any, found: Any, q: float, interpolation: str) -> None:
    for i in range(0, len(starts), max(1, len(starts) // 40)):
        if starts[i] < ends[i]:
            with np.errstate(over="ignore", invalid="ignore"):
                right = np.quantile(x[starts[i] : ends[i]], q, method=interpolation)
            assert found[i] == right or (right != right and found[i] != found[i]), (i, q, interpolation)


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("n", [1, 2, 10, 401])
def test_windows_of_rows(kind: str, n: int) -> None:
    x = DATA[kind]
    ends = np.arange(1, ROWS + 1)
    starts = np.maximum(ends - n, 0)
    asked = [(q, interpolation) for q in (0.0, 0.5, 0.93) for interpolation in INTERPOLATIONS]
    for (q, interpolation), found in zip(asked, kernel.quantiles(x, starts, ends, asked), strict=True):
        assert found.dtype == (np.float64 if interpolation in ("linear", "midpoint") else x.dtype)
        assert_numpys(x, starts, ends, found, q, interpolation)


def test_windows_that_jump_grow_and_are_empty() -> None:
    x = choose.random(60_000)
    starts = np.sort(choose.integers(0, len(x), 400))
    ends = np.minimum(starts + choose.choice([0, 1, 50, 7_000, 20_000], 400), len(x))
    ends = np.maximum.accumulate(np.maximum(ends, starts))
    for q in (0.01, 0.5, 0.999):
        (found,) = kernel.quantiles(x, starts, ends, [(q, "linear")])
        assert_numpys(x, starts, ends, found, q, "linear")


def test_windows_over_many_segments() -> None:
    x = choose.random(50_000)
    ends = np.arange(1, len(x) + 1)
    for n in (30, 5_000, 49_000):
        starts = np.maximum(ends - n, 0)
        (found,) = kernel.quantiles(x, starts, ends, [(0.5, "linear")])
        assert_numpys(x, starts, ends, found, 0.5, "linear")
    grown = kernel.quantiles(x, np.zeros_like(ends), ends, [(0.25, "linear")])[0]
    assert_numpys(x, np.zeros_like(ends), ends, grown, 0.25, "linear")


def test_few_values_in_a_large_segment() -> None:
    """Words far apart are found by the levels above."""
    x = np.concatenate([np.full(300_000, 5.0), [1.0, 2.0, 3.0], np.full(10, 4.0), choose.random(100_000) + 9, [0.5]])
    starts = np.array([0, 299_999, 300_000, 300_000, 300_005, len(x) - 2])
    ends = np.array([300_000, 300_002, 300_003, 300_010, len(x) - 50_000, len(x)])
    for q in (0.0, 0.3, 0.5, 1.0):
        (found,) = kernel.quantiles(x, starts, ends, [(q, "linear")])
        assert_numpys(x, starts, ends, found, q, "linear")


@pytest.mark.parametrize("size", [1, 64, 65, 4_096, 4_097, 300_000])
def test_places_of_levels(size: int) -> None:
    at = level_offsets(size)
    assert len(at) == LEVELS + 1
    assert at[1] == -(-size // 64) + 1
    assert at[-1] == at[-2] >= at[1]


def test_rolling_gives_quantiles_of_every_kind_of_window() -> None:
    x = choose.random(400)
    times = np.sort(choose.integers(0, 300, 400))
    by = choose.integers(0, 3, 400)
    rows = sw.rolling(x, sw.median, rows=21)
    timed = sw.rolling(x, sw.quantile(0.9), times=times, last=20, by=by)
    for i in range(400):
        assert rows[i] == np.quantile(x[max(0, i - 20) : i + 1], 0.5)
        inside = (by == by[i]) & (times > times[i] - 20) & (times <= times[i])
        assert timed[i] == np.quantile(x[inside], 0.9)


def test_rolling_keeps_the_type_where_it_chooses_a_value() -> None:
    lower = sw.quantile(0.5, interpolation="lower")
    assert sw.rolling(np.array([3, 1, 2, 9]), lower, rows=4).tolist() == [3, 1, 2, 2]
    assert sw.rolling(np.array([3, 1, 2], np.int8), lower, rows=4).dtype == np.int8
    days = np.array(["2024-03-01", "2024-01-01"], "M8[D]")
    assert sw.rolling(days, lower, rows=2)[1] == days[1]
    with pytest.raises(sw.InputError, match="quantile takes numbers, but the input holds times"):
        sw.rolling(days, sw.quantile(0.5), rows=2)


@pytest.mark.rule(16)
def test_infinities_weigh_what_they_should() -> None:
    inf = np.inf
    found = sw.rolling(np.array([1.0, inf, inf, -inf, 1.0, -1.5e308, 1.5e308]), sw.median, rows=2)
    assert found[:5].tolist()[1:3] == [inf, inf]
    assert np.isnan(found[3])
    assert found[4] == -inf
    assert found[6] == 0.0


HARD = {
    "skewed": choose.lognormal(0, 3, 3_000),
    "constant": np.full(3_000, 7.3),
    "negative": -choose.gamma(0.4, size=3_000),
    "heavy tail": choose.pareto(0.2, 3_000),
    "both signs": choose.standard_cauchy(3_000),
    "zeros": choose.choice([0.0, -0.0, 1e-300, 1e300], 3_000),
    "integers": choose.integers(-(2**62), 2**62, 3_000),
}


@pytest.mark.rule(16)
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("share", [0.1, 0.01, 0.0005])
def test_the_error_of_an_approximate_quantile(kind: str, share: float) -> None:
    x = HARD[kind]
    for q in (0.0, 0.05, 0.5, 0.99, 1.0):
        exact = sw.rolling(x, sw.quantile(q, interpolation="lower"), rows=800).astype(float)
        about = sw.rolling(x, sw.quantile(q, approximate=share), rows=800)
        assert (np.abs(about - exact) <= share * np.abs(exact) * (1 + 1e-12)).all()


def test_an_approximate_quantile_is_the_same_interpreted() -> None:
    for x in HARD.values():
        op = sw.quantile(0.7, approximate=0.02)
        found = sw.rolling(x[:400], op, rows=50)
        for algorithm in (sw.DabaLite, sw.SubtractOnEvict):
            window = algorithm(op)
            for i, value in enumerate(x[:400].tolist()):
                window.insert(value)
                if len(window) > 50:
                    window.evict()
                assert window.query() == found[i]


def test_the_laws_hold_for_the_sketch() -> None:
    sw.check_laws(sw.quantile(0.3, approximate=0.1), [3, -0.5, 0.0, 3.01, math.nan, math.inf])


def test_a_sketch_does_not_grow_with_the_window() -> None:
    op = sw.quantile(0.5, approximate=0.01)
    window = sw.SubtractOnEvict(op)
    for value in (choose.random(3_000) + 1).tolist():
        window.insert(value)
    assert len(window.partial()) == parts_of(0.01) == 50


def test_buckets_keep_the_order_and_hold_their_middle() -> None:
    values = np.sort(
        np.concatenate([*(np.asarray(x, float) for x in HARD.values()), [np.inf, -np.inf, 5e-324, 1e-310]])
    )
    for parts in (1, 5, 50, 50_000):
        numbers = [bucket(value, parts) for value in values.tolist()]
        assert numbers == sorted(numbers)
        assert all(bucket(middle(number, parts), parts) == number for number in numbers if abs(number) > 60 * parts)


def test_what_approximate_refuses() -> None:
    for nonsense in (0, 1, -0.1, True, "1%"):
        with pytest.raises(sw.SlidewiseError, match="approximate is a share of the answer"):
            sw.quantile(0.5, approximate=nonsense)
    with pytest.raises(sw.SlidewiseError, match="does not interpolate"):
        sw.quantile(0.5, approximate=0.01, interpolation="lower")


@pytest.mark.parametrize("n", [1, 7, 900, 9_000])
def test_rows_of_keys_are_cut_into_pieces_anywhere(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that each piece finds for itself are those of all rows, where keys are long, short or without rows."""
    monkeypatch.setattr(kernel, "PIECE", 1_000)
    offsets = np.array([0, 0, 1, 2, 40_000, 40_000, 40_700, 70_000, 70_001, 70_001])
    x = choose.random(offsets[-1])
    starts, ends = np.empty(len(x), np.int64), np.arange(1, len(x) + 1)
    row_bounds(offsets, n, False, starts, ends)
    assert (starts < ends).all()
    for a in (0, 1, 2, 39_999, 40_000, 40_699, 69_999, 70_000):
        some, some_ends = np.empty(min(900, len(x) - a), np.int64), np.empty(min(900, len(x) - a), np.int64)
        some_row_bounds(offsets, n, a, some, some_ends)
        assert np.array_equal(some, starts[a : a + 900])
        assert np.array_equal(some_ends, ends[a : a + 900])
    (found,) = kernel.quantiles_of_rows(x, offsets, n, [(0.5, "linear")])
    (right,) = kernel.quantiles(x, starts, ends, [(0.5, "linear")])
    assert np.array_equal(found, right)
    assert_numpys(x, starts, ends, found, 0.5, "linear")


def test_segments_cover_every_window_once() -> None:
    starts = np.sort(choose.integers(0, 300_000, 5_000))
    ends = np.maximum.accumulate(np.minimum(starts + choose.choice([0, 3, 500, 20_000], 5_000), 300_000))
    ends[::7] = starts[::7]  # empty, and their ends fall
    known = np.zeros((BATCH // FEWEST, FALLS + 1), np.int64)
    seen = i = 0
    while True:
        count, size, i = cut_segments(starts, ends, i, 300_000, known)
        if not count:
            break
        assert count == 1 or size <= BATCH
        for first, stop, low, high, *_ in known[:count].tolist():
            assert (starts[seen:first] >= ends[seen:first]).all()
            full = np.flatnonzero(starts[first:stop] < ends[first:stop]) + first
            assert low == starts[first]
            assert starts[full].min() >= low
            assert ends[full].max() <= high
            seen = stop
    assert i == len(starts)
    assert (starts[seen:] >= ends[seen:]).all()


def test_a_set_is_emptied_up_to_its_size() -> None:
    for size in (1, 64, 65, 4_097, 300_000):
        at = level_offsets(300_000)
        bits = np.full(at[-1], 3, np.uint64)
        clear(bits, at, size)
        words = size
        for level in range(LEVELS):
            if at[level] == at[level + 1]:
                break
            words = -(-words // 64)
            assert not bits[at[level] : at[level] + words + 1].any()
