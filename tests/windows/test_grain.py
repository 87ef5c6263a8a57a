"""Old edges rounded to a grain: which times are in, which leave together, and how far off a window is at most."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.kernels.bounds.grain import cells, grain_bounds, lows
from slidewise.windows import Duration, Window
from slidewise.windows.grain import cell, lowest, most_cells

whole = st.integers(-(2**70), 2**70) | st.integers(-40, 40)
lengths = st.integers(1, 60) | st.fractions(Fraction(1, 8), 60, max_denominator=8)
floats = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-40, 40)
wide = st.floats(1e-3, 60) | st.floats(5e-324, 1e300)


@pytest.mark.rule(17)
@given(time=whole, width=lengths, grain=lengths, edge=st.booleans())
@example(time=0, width=1, grain=1, edge=False)
def test_whole_times_are_rounded_exactly(time: int, width: Any, grain: Any, edge: bool) -> None:
    start = Fraction(time - width) // Fraction(grain) * Fraction(grain)
    assert start <= time - width < start + grain
    low = lowest(time, width, grain, edge)
    assert type(low) is int
    assert low <= time
    assert (low >= start and low - 1 < start) if edge else (low > start and low - 1 <= start)


@pytest.mark.rule(17)
@given(times=st.lists(whole, min_size=3, max_size=3), width=lengths, grain=lengths, edge=st.booleans())
def test_whole_times_of_a_cell_leave_together(times: list[int], width: Any, grain: Any, edge: bool) -> None:
    a, b, now = sorted(times)
    low = lowest(now, width, grain, edge)
    if cell(a, grain, edge) == cell(b, grain, edge):
        assert (a >= low) == (b >= low)
    assert cell(a, grain, edge) <= cell(b, grain, edge)
    inside = {cell(time, grain, edge) for time in range(max(low, now - 200), now + 1)}
    assert len(inside) <= most_cells(width, grain)


@pytest.mark.rule(17)
@given(times=st.lists(floats, min_size=3, max_size=3), width=wide, grain=wide, edge=st.booleans())
@example(times=[2.0**60, 2.0**60, 2.0**60], width=3.0, grain=3.0, edge=False)
@example(times=[0.3, 0.3, 0.6], width=0.3, grain=0.1, edge=False)
@example(times=[-0.25, 0.0, 0.25], width=0.25, grain=0.25, edge=False)
def test_float_times_of_a_cell_leave_together(times: list[float], width: float, grain: float, edge: bool) -> None:
    a, b, now = sorted(times)
    low = lowest(now, width, grain, edge)
    assert low <= now, "a row is in its own window"
    if cell(a, grain, edge) == cell(b, grain, edge):
        assert (a >= low) == (b >= low)
    assert cell(a, grain, edge) <= cell(b, grain, edge)
    start = now - width
    if a > start or (edge and a == start):
        assert a >= low, "the window is never shorter"
    slack = 2 * (math.ulp(start) + math.ulp(now)) if math.isfinite(start) else 0
    if a >= low and math.isfinite(start):
        assert Fraction(a) >= Fraction(start) - Fraction(grain) - Fraction(slack), "nor longer by more than a grain"


@given(
    times=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-40, 40), min_size=1, max_size=8),
    width=lengths,
    grain=lengths,
    edge=st.booleans(),
)
@example(times=[-(2**63), 2**63 - 1], width=60, grain=7, edge=True)
def test_all_rows_at_once_as_one_by_one(times: list[int], width: Any, grain: Any, edge: bool) -> None:
    array = np.array(times, np.int64)
    expected = [max(lowest(time, width, grain, edge), -(2**63)) for time in times]
    assert lows(array, width, grain, edge).tolist() == expected
    assert cells(array, grain, edge).tolist() == [cell(time, Fraction(grain), edge) for time in times]


@given(times=st.lists(floats, min_size=1, max_size=8), width=wide, grain=wide, edge=st.booleans())
def test_all_floats_at_once_as_one_by_one(times: list[float], width: float, grain: float, edge: bool) -> None:
    array = np.array(times)
    assert lows(array, width, grain, edge).tolist() == [lowest(time, width, grain, edge) for time in times]
    assert cells(array, grain, edge).tolist() == [cell(time, grain, edge) for time in times]


def test_a_grain_is_part_of_the_window() -> None:
    window = Window.of("1 hour", closed="both", at_least=2, grain="1s")
    assert repr(window) == "over('1 hour', closed='both', at_least=2, grain='1 second')"
    assert window.grain == Duration.of("1s")
    assert window != Window.of("1 hour", closed="both", at_least=2)
    assert repr(Window.of(10, grain=0.5)) == "over(10, grain=0.5)"
    assert Window.of("1 hour", grain="60 minutes").grain == Window.of("1 hour").last


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ({"last": "1h", "grain": "2h"}, r"grain='2h' is longer than the window, '1 hour'; take a shorter one"),
        ({"last": 10, "grain": 10.5}, r"grain=10.5 is longer than the window, '10'"),
        ({"last": "1h", "grain": 5}, r"grain=5 does not go with the window '1 hour'; write it as a duration, such as"),
        ({"last": 10, "grain": "1s"}, r"grain='1s' does not go with the window '10'; write it as a number"),
        ({"rows": 10, "grain": "1s"}, r"grain='1s' is for windows of time"),
        ({"last": "all", "grain": "1s"}, r"grain='1s' is for windows of time"),
        ({"last": "1h", "grain": "0s"}, r"grain='0s': .*does not; give a positive duration"),
        ({"last": 10, "grain": 0}, r"grain=0: .*positive and finite"),
        ({"last": 10, "grain": -1}, r"grain=-1: .*positive and finite"),
        ({"last": 10, "grain": True}, r"grain=True: .*not True"),
        ({"last": "1h", "grain": "soon"}, r"grain='soon': cannot read the duration"),
    ],
)
def test_a_grain_that_cannot_be_is_refused(window: dict[str, Any], message: str) -> None:
    with pytest.raises(sw.WindowError, match=message):
        sw.max("x").over(**window)


@pytest.mark.parametrize("op", [sw.median, sw.quantile(0.9), sw.quantile(0.5, interpolation="lower")])
def test_exact_quantiles_have_no_partials(op: sw.Operator) -> None:
    message = r"needs every value of its window.*use sw.quantile\(0\.\d, approximate=0.01\), or leave out the grain"
    with pytest.raises(sw.WindowError, match=message):
        op("x").over("1h", grain="1s")
    with pytest.raises(sw.WindowError, match=message):
        sw.rolling(np.arange(3.0), op, times=np.arange(3), last=2, grain=1)
    assert sw.quantile(0.5, approximate=0.01)("x").over("1h", grain="1s").window is not None


def test_rolling_takes_a_grain() -> None:
    times = np.array([-7, -3, 0, 1, 9, 10, 11])
    found = sw.rolling(np.ones(7, np.int64), sw.sum, times=times, last=10, grain=5)
    assert found.tolist() == [1, 2, 3, 4, 4, 3, 4]  # from -20, -15, -10, -10, -5, 0 and 0 on, the first excluded


@given(
    times=st.lists(st.integers(-30, 30), min_size=1, max_size=12),
    far=st.sampled_from([0, 2**62 - 31]),  # where sums might not fit, edges are rounded one by one
    width=st.integers(1, 20),
    grain=st.integers(1, 20),
    edge=st.booleans(),
)
def test_bounds_of_whole_times(times: list[int], far: int, width: int, grain: int, edge: bool) -> None:
    array = np.array(sorted(time + far for time in times), np.int64)
    starts, ends = np.empty(len(array), np.int64), np.empty(len(array), np.int64)
    assert grain_bounds(array, np.array([0, len(array)]), width, grain, edge, False, starts, ends) == -1
    low = [lowest(time, width, grain, edge) for time in array.tolist()]
    assert starts.tolist() == np.searchsorted(array, low).tolist()
    assert ends.tolist() == np.searchsorted(array, array, side="right").tolist()
    if len(set(times)) > 1:
        backwards = grain_bounds(array[::-1].copy(), np.array([0, len(array)]), width, grain, edge, False, starts, ends)
        assert backwards > 0
