"""Equality of served and recomputed answers: by plain Python, for every type that answers have."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.audit.comparing import check_comparable, compare, text_of

NAN = math.nan


def equal(served: pa.Array, recomputed: pa.Array, tolerance: float = 0.0) -> list[bool]:
    found: list[bool] = (~compare(served, recomputed, tolerance).unequal).tolist()
    return found


def alike(a: Any, b: Any, tolerance: float = 0.0) -> bool:
    """The judge: equality as the docs say it."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(alike(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[name], b[name], tolerance) for name in a)
    if a is None or b is None:
        return a is b
    if a == b or (a != a and b != b):
        return True
    if tolerance and float in (type(a), type(b)) and math.isfinite(a) and math.isfinite(b):
        return abs(float(a) - float(b)) <= tolerance * max(abs(float(a)), abs(float(b)))
    return False


FLOATS = st.none() | st.sampled_from([0.0, -0.0, 1.0, 1.0000001, 1.5, NAN, math.inf, -math.inf, 2.0**53, 1e308, -1e308])
WHOLE = st.none() | st.sampled_from([0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)])
TEXT = st.none() | st.sampled_from(["", "a", "ä", "a\x00"])
STRUCT = st.none() | st.fixed_dictionaries({"x": FLOATS, "y": WHOLE})
TYPES: list[tuple[pa.DataType, pa.DataType, Any, Any]] = [
    (pa.float64(), pa.float64(), FLOATS, FLOATS),
    (pa.int64(), pa.int64(), WHOLE, WHOLE),
    (pa.int64(), pa.float64(), WHOLE, FLOATS),
    (pa.float64(), pa.int64(), FLOATS, WHOLE),
    (pa.uint64(), pa.int64(), st.none() | st.sampled_from([0, 1, 2**63, 2**64 - 1]), WHOLE),
    (pa.float64(), pa.uint64(), FLOATS, st.none() | st.sampled_from([0, 1, 2**53, 2**64 - 1])),
    (pa.int8(), pa.int64(), st.none() | st.sampled_from([0, 1, -1]), WHOLE),
    (pa.string(), pa.large_string(), TEXT, TEXT),
    (pa.string_view(), pa.string(), TEXT, TEXT),
    (pa.dictionary(pa.int32(), pa.string()), pa.string(), TEXT, TEXT),
    (pa.bool_(), pa.bool_(), st.sampled_from([None, True, False]), st.sampled_from([None, True, False])),
    (pa.list_(pa.float64()), pa.large_list(pa.float64()), st.none() | st.lists(FLOATS, max_size=3), st.lists(FLOATS)),
    (pa.list_(pa.int64()), pa.list_(pa.float64()), st.none() | st.lists(WHOLE, max_size=2), st.lists(FLOATS)),
    (
        pa.struct([("x", pa.float64()), ("y", pa.int64())]),
        pa.struct([("y", pa.int64()), ("x", pa.float64())]),
        STRUCT,
        STRUCT,
    ),
    (
        pa.list_(pa.struct([("x", pa.float64()), ("y", pa.int64())])),
        pa.list_(pa.struct([("x", pa.float64()), ("y", pa.int64())])),
        st.lists(STRUCT, max_size=2),
        st.lists(STRUCT, max_size=2),
    ),
]


@given(st.data(), st.sampled_from(range(len(TYPES))), st.sampled_from([0.0, 1e-6]))
def test_equality_is_that_of_plain_python(data: st.DataObject, which: int, tolerance: float) -> None:
    served_type, type_, served_values, values = TYPES[which]
    rows = data.draw(st.lists(st.tuples(served_values, values), max_size=12))
    rows += [(a, a) for a, _ in rows if which not in (3, 4, 5, 12)]  # equal ones, too, where the types allow it
    if which == 2:
        rows = [(a, b) for a, b in rows if not isinstance(b, int)]
    served, recomputed = (pa.array([row[side] for row in rows], kind) for side, kind in ((0, served_type), (1, type_)))
    split = pa.chunked_array([served.slice(0, len(rows) // 2), served.slice(len(rows) // 2)], served.type)
    expected = [alike(a, b, tolerance) for a, b in zip(served.to_pylist(), recomputed.to_pylist(), strict=True)]
    assert equal(split, recomputed, tolerance) == expected
    comparison = compare(served, recomputed, tolerance)
    here, there = (np.array([value is not None for value in array.to_pylist()], bool) for array in (served, recomputed))
    assert comparison.missing.tolist() == (~here & there).tolist()
    assert comparison.extra.tolist() == (here & ~there).tolist()


def test_times_of_any_unit() -> None:
    moment = datetime(2024, 3, 1, 12, 0, 0, 1000, tzinfo=UTC)
    for unit in ("ms", "us", "ns"):
        served = pa.array([moment, moment + timedelta(milliseconds=1)], pa.timestamp(unit, "UTC"))
        recomputed = pa.array([moment, moment], pa.timestamp("us", "Europe/Berlin"))
        assert equal(served, recomputed) == [True, False]
        assert compare(served, recomputed).difference is not None
        assert compare(served, recomputed).difference[1] == pytest.approx(0.001, rel=1e-3)  # type: ignore[index]
    between = pa.array([moment + timedelta(microseconds=1)], pa.timestamp("us", "UTC"))
    assert equal(between, pa.array([moment], pa.timestamp("ms", "UTC"))) == [False]
    assert equal(pa.array([moment], pa.timestamp("ms", "UTC")), between) == [False]
    far = pa.array([datetime(9999, 1, 1)], pa.timestamp("s"))  # beyond nanoseconds
    assert equal(far, pa.array([0], pa.timestamp("ns"))) == [False]
    assert equal(pa.array([date(2024, 1, 1)], pa.date32()), pa.array([date(2024, 1, 1)], pa.date64())) == [True]
    hours = pa.array([timedelta(hours=1)], pa.duration("s"))
    assert equal(hours, pa.array([timedelta(hours=1)], pa.duration("ns"))) == [True]


def test_numbers_of_two_kinds() -> None:
    whole = pa.array([1, 0, 2**53 + 1, -(2**63), 2**63 - 1])
    assert equal(pa.array([1.5, -0.5, 2.0**53, -(2.0**63), 2.0**63]), whole) == [False, False, False, True, False]
    large = pa.array([2**64 - 1, 2**63, 1], pa.uint64())
    assert equal(large, pa.array([2.0**64, 2.0**63, 1.5])) == [False, True, False]
    assert equal(large, pa.array([-1, -(2**63), 1])) == [False, False, True]


def test_decimals() -> None:
    prices = pa.array([Decimal("1.10"), Decimal("2.00"), None])
    assert equal(prices, pa.array([Decimal("1.1"), Decimal("2.001"), None])) == [True, False, True]
    assert equal(pa.array([2, 2, 2]), prices) == [False, True, False]
    assert equal(pa.array([1.1, 2.0, None]), prices) == [True, True, True]


def test_differences_in_size() -> None:
    found = compare(pa.array([5, None, 2**62, 7]), pa.array([3.5, 1.0, -(2.0**62), None]))
    assert found.difference is not None
    assert found.difference.tolist() == [1.5, 0.0, 2.0**63, 0.0]
    assert compare(pa.array(["a"]), pa.array(["b"])).difference is None
    assert compare(pa.array([[1]]), pa.array([[2]])).difference is None
    small = compare(pa.array([2**53 + 1]), pa.array([2**53]))
    assert small.difference is not None
    assert small.difference.tolist() == [1.0], "which floats alone cannot tell"


def test_a_column_of_nothing_but_nulls_compares_with_all() -> None:
    nothing = pa.nulls(2)
    for other in (pa.array([1.5, None]), pa.array(["a", None]), pa.array([[1], None]), pa.array([{"x": 1}, None])):
        check_comparable(nothing.type, other.type, "spent", "spent")
        assert equal(nothing, other) == equal(other, nothing) == [False, True]


@pytest.mark.parametrize(
    ("served", "recomputed"),
    [
        (pa.string(), pa.float64()),
        (pa.bool_(), pa.int64()),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.date32(), pa.timestamp("us")),
        (pa.list_(pa.string()), pa.list_(pa.int64())),
        (pa.list_(pa.int64()), pa.int64()),
        (pa.struct([("x", pa.int64())]), pa.struct([("y", pa.int64())])),
        (pa.struct([("x", pa.int64())]), pa.struct([("x", pa.string())])),
        (pa.binary(), pa.string()),
    ],
)
def test_types_that_cannot_be_compared(served: pa.DataType, recomputed: pa.DataType) -> None:
    with pytest.raises(sw.InputError, match=r"column 'feature' of the log holds .* but 'spent' is .*cast the log's"):
        check_comparable(served, recomputed, "spent", "feature")


def test_text_is_as_exact_as_values() -> None:
    assert text_of(pa.array([0.1 + 0.2, NAN, None, 2.0])).to_pylist() == ["0.30000000000000004", "nan", None, "2.0"]
    times = [datetime(2024, 3, 1, 12, 0, 10), datetime(2024, 3, 1, 0, 0, 0, 100_000)]
    assert text_of(pa.array(times)).to_pylist() == ["2024-03-01 12:00:10", "2024-03-01 00:00:00.1"]
    zoned = pa.array(times, pa.timestamp("ns", "UTC"))
    assert text_of(zoned).to_pylist() == ["2024-03-01 12:00:10Z", "2024-03-01 00:00:00.1Z"]
    assert text_of(pa.array([b"\x01\xff", None])).to_pylist() == ["01ff", None]
    assert text_of(pa.array([[1.5], {"x": 2}][:1])).to_pylist() == ["[1.5]"]
    assert text_of(pa.array([True, None])).to_pylist() == ["true", None]
