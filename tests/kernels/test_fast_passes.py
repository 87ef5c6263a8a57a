"""The special passes against the general kernel, which other tests prove right: around the ends of tiles and blocks."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import slidewise as sw
from slidewise.kernels.bounds.rows_and_times import time_bounds
from slidewise.kernels.sums.bound_sums import sum_bounds

NAN, INF = math.nan, math.inf
ROWS = 5_000


def by_the_general_kernel(x: Any, op: sw.Operator, n: int) -> Any:
    """The last n rows as a stretch of time, which no special pass takes."""
    return sw.rolling(x, op, times=np.arange(len(x)), last=n)


def check_bits(expected: Any, found: Any) -> None:
    wrong = np.flatnonzero(expected.view(np.int64) != found.view(np.int64))
    wrong = [i for i in wrong.tolist() if not (np.isnan(expected[i]) and np.isnan(found[i]))]
    assert not wrong, f"row {wrong[0]}: expected {expected[wrong[0]]}, found {found[wrong[0]]}; {len(wrong)} rows"


def with_some(x: Any, strange: float, every: int) -> Any:
    x = x.copy()
    x[every // 2 :: every] = strange
    return x


def kinds_of_data() -> dict[str, Any]:
    random = np.random.default_rng(8)
    plain = random.random(ROWS)
    return {
        "plain": plain,
        "far from zero": 1e12 + plain,
        "small": plain * 1e-150,
        "too small to square": plain * 1e-200,
        "large": plain * 1e150,
        "rising": np.arange(float(ROWS)),
        "a walk": np.cumsum(random.normal(size=ROWS)),
        "standing still at times": np.repeat(random.random(ROWS // 500), 500),
        "one value": np.full(ROWS, 0.1),
        "decimals": random.integers(0, 1_000, ROWS) / 100,
        "values far off": with_some(plain, 1e16, 700),
        "values rather far off": with_some(plain, 1e5, 700),
        "infinities": with_some(with_some(plain, INF, 900), -INF, 1_300),
        "NaN": with_some(plain, NAN, 1_100),
        "both zeros": np.where(plain < 0.5, 0.0, -0.0),
    }


KINDS = kinds_of_data()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 10, 255, 256, 257, 700, 2_048, ROWS])
def test_variances(kind: str, n: int) -> None:
    x = KINDS[kind]
    check_bits(by_the_general_kernel(x, sw.variance, n), sw.rolling(x, sw.variance, rows=n))


@pytest.mark.parametrize("n", [2, 255, 700])
def test_variances_beside_values_too_large_to_square(n: int) -> None:
    """Whether these make a variance infinite or NaN is up to where they overflow; once they are gone, they are gone."""
    x = with_some(KINDS["plain"], 1.7e308, 2_000)
    expected, found = by_the_general_kernel(x, sw.variance, n), sw.rolling(x, sw.variance, rows=n)
    finite = np.isfinite(expected)
    assert not np.isfinite(found[~finite]).any()
    check_bits(expected[finite], found[finite])


@pytest.mark.parametrize("m", [1, 2, 3, 255, 256, 257, 2_047, 2_048, 2_049, 2_400, 2_401])
@pytest.mark.parametrize("n", [2, 300])
def test_variances_of_so_many_rows(m: int, n: int) -> None:
    x = KINDS["plain"][:m]
    check_bits(by_the_general_kernel(x, sw.stddev, n), sw.rolling(x, sw.stddev, rows=n))


pair = sw.operator(
    name="pair",
    identity=(0, ""),
    lift=lambda x: (1, x),
    combine=lambda a, b: (a[0] + b[0], a[1]),
    lower=lambda s: s,
)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 59, 60, 61])
@pytest.mark.parametrize("op", [sw.m4, sw.maxcount, sw.first, pair], ids=lambda op: op.name)
def test_suffixes_that_change_places(op: sw.Operator, n: int) -> None:
    """Blocks of both parities, the last one whole or not: the general pass walks through its places to and fro."""
    random = np.random.default_rng(n)
    for m in (1, 2, n, 2 * n - 1, 2 * n, 3 * n, 3 * n + 1, 60):
        x = random.integers(0, 5, m).astype(float)
        assert sw.rolling(x, op, rows=n).tolist() == by_the_general_kernel(x, op, n).tolist()


def test_several_fields_are_one_struct_without_a_copy() -> None:
    x = np.array([3.0, 1.0, 2.0])
    found = sw.rolling(x, sw.m4, rows=2)
    assert found.dtype == np.dtype([(name, float) for name in ("first", "min", "max", "last")])
    assert found.tolist() == [(3, 3, 3, 3), (3, 1, 3, 1), (1, 1, 2, 2)]
    assert sw.rolling(x, pair, rows=2).tolist() == [(1, 3), (2, 3), (2, 1)]
    narrow = sw.rolling(x.astype(np.float32), sw.m4, rows=2)
    assert narrow.dtype["min"] == np.float32
    assert narrow.tolist() == found.tolist()


LENGTHS = [1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 32, 33, 64, 65, 127, 128, 129, 130, 1_000, 1_001, 2_499, 2_500, 2_501, ROWS]


@pytest.mark.parametrize("kind", ["a walk", "rising", "both zeros", "decimals", "infinities", "NaN"])
@pytest.mark.parametrize("n", LENGTHS)
def test_extremes(kind: str, n: int) -> None:
    """Bits, since of 0.0 and -0.0 the earlier stays."""
    for x in (KINDS[kind], -KINDS[kind]):
        check_bits(by_the_general_kernel(x, sw.max, n), sw.rolling(x, sw.max, rows=n))
        check_bits(by_the_general_kernel(x, sw.min, n), sw.rolling(x, sw.min, rows=n))


@pytest.mark.parametrize("n", [10, 200])
@pytest.mark.parametrize("m", [1, 2, 9, 10, 11, 199, 200, 201, 399, 400, 401, 1_023, 1_033, 1_034, 1_223, 1_224])
def test_extremes_of_so_many_rows(m: int, n: int) -> None:
    x = KINDS["a walk"][:m]
    check_bits(by_the_general_kernel(x, sw.max, n), sw.rolling(x, sw.max, rows=n))
    whole = (x * 10).astype(np.int64)
    assert sw.rolling(whole, sw.min, rows=n).tolist() == by_the_general_kernel(whole, sw.min, n).tolist()
    late_nan = np.append(x, NAN)
    check_bits(by_the_general_kernel(late_nan, sw.max, n), sw.rolling(late_nan, sw.max, rows=n))


@pytest.mark.parametrize("closed", ["right", "both", "left", "neither"])
@pytest.mark.parametrize("gaps", [[0], [1], [1, 2, 9], [0, 0, 1], [0, 3, 500]], ids=str)
@pytest.mark.parametrize("m", [1, 3, 4, 6, 7, 8, 9, 31, 400])
def test_the_bounds_of_time_windows(m: int, gaps: list[int], closed: str) -> None:
    """Windows of one key and of three, by bisection: the quarters of a key's rows are walked through at once."""
    random = np.random.default_rng(m)
    edge, left = closed in ("both", "left"), closed in ("left", "neither")
    for keys in (1, 3):
        offsets = np.arange(keys + 1) * m
        times = np.concatenate([np.cumsum(random.choice(gaps, m)) - 50 * k for k in range(keys)])
        for width in (1, 2, 7, 60, 10**6):
            starts, ends = np.empty(m * keys, np.int32), np.empty(m * keys, np.int32)
            whole = np.uint64(width)
            assert time_bounds(times, offsets, whole, True, edge, left, starts, ends) == -1
            by_floats = np.empty_like(starts), np.empty_like(ends)
            assert time_bounds(times.astype(float), offsets, float(width), False, edge, left, *by_floats) == -1
            for k in range(keys):
                rows = slice(offsets[k], offsets[k + 1])
                now = times[rows]
                start = np.searchsorted(now, now - width, "left" if edge else "right")
                end = np.searchsorted(now, now, "left" if left else "right")
                for found in (starts, by_floats[0]):
                    assert found[rows].tolist() == (np.minimum(start, end) + offsets[k]).tolist()
                for found in (ends, by_floats[1]):
                    assert found[rows].tolist() == (end + offsets[k]).tolist()


@pytest.mark.parametrize("at", [1, 2, 5, 99, 100, 199])
def test_times_that_run_backwards_are_found_anywhere(at: int) -> None:
    times = np.arange(200)
    times[at] -= 2
    nothing = np.empty(200, np.int32)
    one_key, two_keys = np.array([0, 200]), np.array([0, at, 200])
    assert time_bounds(times, one_key, np.uint64(5), True, True, False, nothing, nothing.copy()) == at
    assert time_bounds(times, two_keys, np.uint64(5), True, True, False, nothing, nothing.copy()) == -1


KEYED = [sw.max, sw.min, sw.sum, sw.mean, sw.variance, sw.stddev, sw.geomean, sw.maxcount, sw.m4, sw.first, pair]


@pytest.mark.parametrize("op", KEYED, ids=lambda op: op.name)
@pytest.mark.parametrize("n", [1, 2, 10, 300, ROWS])
@pytest.mark.parametrize("kind", ["plain", "values far off", "infinities", "NaN", "standing still at times"])
def test_many_keys_are_answered_one_by_one(kind: str, n: int, op: sw.Operator) -> None:
    """Keys of one row, of few, of many and of none, interleaved: what the key's rows alone give."""
    x = KINDS[kind]
    keys = np.random.default_rng(n).choice([-3, 4, 5, 90], len(x), p=[0.002, 0.048, 0.25, 0.7])
    keys[:3] = 40, 4, 41
    found = sw.rolling(x, op, rows=n, by=keys)
    for key in np.unique(keys):
        alone = sw.rolling(x[keys == key], op, rows=n)
        assert alone.tobytes() == found[keys == key].tobytes(), key


def test_an_integer_sum_by_key() -> None:
    x, keys = np.array([1, 2**62, 2, 2**61, 3, -(2**62)]), np.array([0, 1, 0, 1, 0, 1])
    assert sw.rolling(x, sw.sum, rows=2, by=keys).tolist() == [1, 2**62, 3, 2**62 + 2**61, 5, 2**61 - 2**62]
    with pytest.raises(sw.SumOverflowError):
        sw.rolling(np.repeat(x, 2), sw.sum, rows=2, by=np.repeat(keys, 2))


@pytest.mark.parametrize("op", [sw.sum, sw.mean], ids=lambda op: op.name)
@pytest.mark.parametrize("widest", [1, 3, 255, 256, 257, 600, 2_000])
@pytest.mark.parametrize("m", [1, 2, 255, 256, 257, 511, 512, 513, 2_000])
def test_sums_over_windows_that_move_by_leaps(m: int, widest: int, op: sw.Operator) -> None:
    """Windows that stand still, leap, are empty, or leave rows out: each against the exactly rounded sum."""
    random = np.random.default_rng(m + widest)
    x = random.normal(size=m) * 10.0 ** random.integers(-8, 8, m)
    ends = np.sort(random.integers(0, m + 1, m)).astype(np.int32)
    starts = np.maximum.accumulate(ends - random.integers(0, widest + 1, m)).clip(0).astype(np.int32)
    found = sum_bounds(x, starts, ends, op is sw.mean)
    assert found is not None
    for s, e, answer in zip(starts.tolist(), ends.tolist(), found.tolist(), strict=True):
        if s < e:
            exact = sum(map(Fraction, x[s:e].tolist()))
            assert answer == float(exact / (e - s) if op is sw.mean else exact), (s, e)


def test_windows_too_few_rows_long_do_not_disturb_the_others() -> None:
    """They are made empty, at their end, so that starts go back after them."""
    x, times = KINDS["plain"], np.cumsum(np.random.default_rng(1).integers(1, 40, ROWS))
    found = sw.rolling(x, sw.sum, times=times, last=100, at_least=5)
    every = sw.rolling(x, sw.sum, times=times, last=100)
    counts = sw.rolling(x, sw.count, times=times, last=100)
    assert 0 < np.count_nonzero(counts >= 5) < ROWS
    check_bits(np.where(counts >= 5, every, NAN), found)
