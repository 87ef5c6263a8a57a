"""hash64 is one function for all time: golden values, canonical forms, and bits that look random."""

from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.errors import InputError
from slidewise.operators.values.hashing import GOLDEN, NUMBER, hash64, key, mix

GOLDEN_VALUES: list[tuple[Any, int, int]] = [
    (0, 0, 0x48218226FF3CD4BF),
    (1, 0, 0x9E0160293A33AAF7),
    (-1, 0, 0xF2C27EF86A95B080),
    (1, 1, 0x5C52BD4054E958C9),
    (0.5, 0, 0xDCE19DC2CD7F9BD7),
    (math.nan, 0, 0x7E9F8F103A97E3BD),
    ("", 0, 0x46B73E79F0C37C00),
    ("slidewise", 0, 0x54107E382F183F05),
    ("slidewise", 7, 0x73143A5158F25D51),
    (b"\0" * 9, 0, 0xA5B00877E0017EA6),
    (("a", 1), 0, 0x6F8B83127AE57528),
]


@pytest.mark.rule(10)
@pytest.mark.parametrize(("value", "seed", "expected"), GOLDEN_VALUES)
def test_golden_values(value: Any, seed: int, expected: int) -> None:
    assert hash64(value, seed) == expected


def test_mix_gives_the_published_splitmix64_sequence() -> None:
    # The reference generator's first three numbers for the seed 1234567.
    state, numbers = 1234567, []
    for _ in range(3):
        state = (state + GOLDEN) % 2**64
        numbers.append(mix(state))
    assert numbers == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(0, 100))
def test_ints_are_one_mix_of_their_word_in_wrapping_uint64_arithmetic(values: list[int], seed: int) -> None:
    words = np.array(values, np.int64).view(np.uint64)
    assert _mix_array(words ^ np.uint64(key(seed, NUMBER))).tolist() == [hash64(value, seed) for value in values]


@given(st.lists(st.floats(allow_subnormal=True), min_size=1), st.integers(0, 100))
def test_floats_are_one_mix_of_their_canonical_bits(values: list[float], seed: int) -> None:
    array = np.array(values, np.float64) + 0.0  # turns -0.0 into 0.0
    words = np.where(np.isnan(array), np.uint64(0x7FF8000000000000), array.view(np.uint64))
    assert _mix_array(words ^ np.uint64(key(seed, NUMBER))).tolist() == [hash64(value, seed) for value in values]


def _mix_array(words: np.ndarray[Any, np.dtype[np.uint64]]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


@pytest.mark.rule(10)
def test_one_zero_and_one_nan() -> None:
    other_nan = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000123))[0]
    assert math.isnan(other_nan)
    assert hash64(-0.0) == hash64(0.0)
    assert hash64(other_nan) == hash64(math.nan)
    assert hash64(math.nan) != hash64(math.inf)


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        (np.bool_(True), True),
        (np.int8(-3), -3),
        (np.uint64(7), 7),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.float64(0.1), 0.1),
        (np.str_("user"), "user"),
        (np.bytes_(b"user"), b"user"),
        (np.array(5), 5),
        (np.datetime64("2024-02-29"), date(2024, 2, 29)),
        (np.datetime64("2024-02-29T12:00:00.000001", "us"), datetime(2024, 2, 29, 12, 0, 0, 1)),
        (np.datetime64("2024-02-29T12:00:00.000001000", "ns"), datetime(2024, 2, 29, 12, 0, 0, 1)),
        (np.timedelta64(1_000, "ns"), timedelta(microseconds=1)),
        (True, 1),
        ("é", "é".encode()),
        (date(1970, 1, 3), 2),
        (date(1969, 12, 31), -1),
        (datetime(1970, 1, 1, 0, 0, 1), 1_000_000),
        (datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), datetime(1970, 1, 1, tzinfo=UTC)),
        (timedelta(milliseconds=-1), -1000),
    ],
)
def test_equal_values_of_other_types_have_equal_hashes(scalar: Any, value: Any) -> None:
    assert hash64(scalar) == hash64(value)
    assert hash64((scalar, "x"), 3) == hash64((value, "x"), 3)


def test_pandas_timestamps_are_datetimes() -> None:
    pandas = pytest.importorskip("pandas")
    assert hash64(pandas.Timestamp("2024-02-29 12:00")) == hash64(datetime(2024, 2, 29, 12))
    assert hash64(pandas.Timestamp("2024-02-29 12:00", tz="UTC")) == hash64(datetime(2024, 2, 29, 12))


def test_different_values_have_different_hashes() -> None:
    values = ["", "\0", "\0" * 8, "\0" * 9, "a", "a\0", "1", 1, 1.0, 97, (), ("",), ((),), (1,), ("a", "b"), ("b", "a")]
    values += ["ab", ("ab",), ("a", ("b",)), (("a",), "b"), "abcdefgh", "abcdefghi", "hgfedcba", "\ud800"]
    assert len({hash64(value) for value in values}) == len(values)


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_bytes_collide_only_when_equal(a: bytes, b: bytes) -> None:
    assert (hash64(a) == hash64(b)) == (a == b)


@pytest.mark.parametrize(
    "value", [2**63, -(2**63) - 1, np.uint64(2**64 - 1), pytest.param(10**5000, id="huge"), (1, 2**63)]
)
def test_ints_beyond_int64_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match="does not fit into int64"):
        hash64(value)


@pytest.mark.parametrize(
    "value", [None, 1j, Decimal(1), [1], {1}, object(), np.array([1]), np.longdouble(1), (1, None)]
)
def test_other_types_are_refused_with_what_to_do(value: Any) -> None:
    with pytest.raises(InputError, match=r"give a number, text, bytes.*str\(value\)"):
        hash64(value)


VALUES: dict[str, list[Any]] = {
    "small ints": list(range(20_000)),
    "even ints": list(range(0, 2**40, 2**40 // 20_000))[:20_000],
    "floats": [i / 8 for i in range(20_000)],
    "text": [f"user-{i}" for i in range(20_000)],
    "tuples": [(i // 100, i % 100) for i in range(20_000)],
}


@pytest.mark.parametrize("shift", [0, 28, 56])
@pytest.mark.parametrize("kind", VALUES)
def test_low_middle_and_high_bits_are_uniform(kind: str, shift: int) -> None:
    buckets = np.bincount([hash64(value) >> shift & 255 for value in VALUES[kind]], minlength=256)
    expected = len(VALUES[kind]) / 256
    chi_squared = float(((buckets - expected) ** 2 / expected).sum())
    # 255 degrees of freedom: mean 255, standard deviation 22.6; four of them to either side.
    assert 165 < chi_squared < 345


@pytest.mark.parametrize("kind", VALUES)
def test_seeds_are_independent(kind: str) -> None:
    joint = [(hash64(value, 0) & 15) * 16 + (hash64(value, 1) & 15) for value in VALUES[kind]]
    expected = len(joint) / 256
    chi_squared = float(((np.bincount(joint, minlength=256) - expected) ** 2 / expected).sum())
    assert 165 < chi_squared < 345


def test_one_flipped_bit_flips_half_of_the_hash() -> None:
    flips = [(hash64(i) ^ hash64(i ^ 1 << bit)).bit_count() for i in range(200) for bit in range(63)]
    assert abs(sum(flips) / len(flips) - 32) < 0.25


def test_times_that_differ_in_nanoseconds_have_hashes_of_their_own() -> None:
    ticks = [0, 1, 2, 1_000, 1_001]
    ways = [
        [pd.Timestamp(tick) for tick in ticks],
        [pd.Timedelta(tick) for tick in ticks],
        [np.datetime64(tick, "ns") for tick in ticks],
        [np.timedelta64(tick, "ns") for tick in ticks],
    ]
    found = [[hash64(value) for value in values] for values in ways]
    assert len({*found[0]}) == 5
    assert found[0] == found[1] == found[2] == found[3]
    assert found[0][3] == hash64(datetime(1970, 1, 1, 0, 0, 0, 1))
    window = sw.DabaLite(sw.count_distinct)
    for value in ways[2]:
        window.insert(value)
    assert window.query() == 5
