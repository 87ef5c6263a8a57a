"""Windows of time that end a delay before the row: what is written and refused, units, errors, other times."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.errors import SlidewiseError, WindowError
from slidewise.windows import Window

CLOSED = ("right", "both", "left", "neither")


def test_it_is_written_and_read_back() -> None:
    window = Window.of("7 days", delay="1 day", closed="both")
    assert repr(window) == "over('7 days', closed='both', delay='1 day')"
    assert window.described()[4:] == [["delay", "86400000000000 ns"]]
    column = sw.sum("x").over("7 days", delay="1 day")
    assert str(column) == "sum(x) over 7 days delay 1 day"
    for columns in ({"s": column}, {"s": column / sw.count().over("7 days", delay="36 hours")}):
        definition = sw.Sliding(on="t", **columns)
        assert sw.Sliding.from_toml(definition.to_toml()) == definition
    explained = repr(sw.Sliding(on="t", s=column).explain())
    assert "whole windows, since rows enter it later" in explained
    assert "grain=" not in explained, "which goes with no delay"


@pytest.mark.rule(22)
def test_what_has_no_delay_says_why() -> None:
    for refused, reason in (
        (lambda: Window.of("all", delay="1 day"), "cannot wait"),
        (lambda: Window.of(rows=3, delay="1 day"), "for windows of time"),
        (lambda: Window.of("1 day", rows=3, delay="1 day"), "counted back from the row"),
        (lambda: Window.of("1 day", grain="1s", delay="1 day"), "one by one"),
        (lambda: Window.of("1 day", delay=3), "write it as a duration"),
        (lambda: Window.of(3, delay="1s"), "write it as a number"),
        (lambda: Window.of("1 day", delay="0s"), "delay='0s': "),
    ):
        with pytest.raises(WindowError, match=reason):
            refused()
    with pytest.raises(SlidewiseError, match="windows end at their beats"):
        sw.Sliding(on="t", every="1 minute", n=sw.count().over("1 hour", delay="1s"))


def in_window(row: Any, t: Any, width: Any, delay: Any, closed: str) -> bool:
    """Plain Python: whether a row's time is in the window of another; of floats as they are rounded."""
    if not isinstance(t, float):
        row, t, width, delay = map(Fraction, (row, t, width, delay))
    end = t - delay
    start = end - width
    return (start < row or (start == row and closed in ("both", "left"))) and (
        row < end or (row == end and closed in ("right", "both"))
    )


UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "D": 86_400 * 10**9}


@pytest.mark.rule(22)
@settings(max_examples=60, deadline=None)
@given(
    times=st.lists(st.integers(-25, 25), min_size=1, max_size=12),
    unit=st.sampled_from([*UNITS, "whole", "float"]),
    width=st.integers(1, 12),
    delay=st.integers(1, 12),
    part=st.sampled_from([1, 2, 3]),
    closed=st.sampled_from(CLOSED),
)
def test_rolling_in_every_unit(times: list[int], unit: str, width: int, delay: int, part: int, closed: str) -> None:
    times.sort()
    places: list[Any] = [t * 0.1 for t in times] if unit == "float" else times
    if unit in UNITS:
        given_times: Any = np.array(times, f"M8[{unit}]")
        w, d = Fraction(width * UNITS[unit], UNITS[unit]), Fraction(-(-delay * UNITS[unit] // part), UNITS[unit])
        lengths: Any = [f"{int(length * UNITS[unit])} ns" for length in (w, d)]
    else:
        given_times = np.array(places)
        w, d = lengths = [width / 4, delay / part] if unit == "float" else [width, delay / 4]
    found = sw.rolling(
        np.arange(len(times)), sw.collect, times=given_times, last=lengths[0], delay=lengths[1], closed=closed
    )
    expected = [[i for i, row in enumerate(places) if in_window(row, t, w, d, closed)] for t in places]
    assert list(found) == expected


@pytest.mark.rule(22)
def test_far_times_do_not_wrap_around() -> None:
    ends = np.array([-(2**63), -(2**63) + 1, 0, 2**63 - 1])
    for closed, expected in (("right", [0, 1, 0, 0]), ("both", [0, 1, 1, 1])):
        found = sw.rolling(np.ones(4), sw.count, times=ends, last=2**63 - 2, delay=1, closed=closed)
        assert list(found) == expected
    assert list(sw.rolling(np.ones(4), sw.count, times=ends, last=1, delay=2.0**70)) == [0, 0, 0, 0]


def test_an_event_that_is_refused_changes_nothing() -> None:
    def combine(a: int, b: int) -> int:
        if a + b == 3:
            raise ValueError("three")
        return a + b

    picky = sw.operator(name="picky", identity=0, combine=combine)
    live = sw.Sliding(on="t", s=picky("x").over(2, delay=1), n=sw.count().over(9, delay=1)).live()
    for t, x in ((0, 1), (1, 2)):
        live.push({"t": t, "x": x})
    before = live.snapshot()
    with pytest.raises(SlidewiseError, match="three"):
        live.push({"t": 2, "x": 5})
    assert live.snapshot() == before
    assert live.push({"t": 4, "x": 5}) == {"s": None, "n": 2}
    assert live.get(at=5) == {"s": 5, "n": 3}


def test_live_reads_and_restores_in_the_middle_of_a_delay() -> None:
    definition = sw.Sliding(on="t", s=sw.sum("x").over(4, delay=3), m=sw.median("x").over(4, delay=3, closed="left"))
    rows = pa.table({"t": [0, 1, 1, 3, 4, 8], "x": [1, 2, 4, 8, 16, 32]})
    labels = pa.table({"t": list(range(8, 20))})
    expected = definition.as_of(labels, rows).drop_columns("t").to_pylist()
    assert [row["s"] for row in expected][:4] == [24, 24, 16, 32]
    for batched in (False, True):
        live = definition.live()
        answers = live.push_many(rows).to_pylist() if batched else [live.push(row) for row in rows.to_pylist()]
        assert [row["s"] for row in answers] == [None, None, None, 1, 7, 24]
        live = definition.restore(live.snapshot())
        assert [live.get(at=t) for t in range(8, 20)] == expected
        assert live.get_many(labels).drop_columns("t").to_pylist() == expected
        live.push({"t": 30, "x": 64})
        assert definition.restore(live.snapshot()).get(at=33) == {"s": 64, "m": None}
        assert live.get(at=34) == {"s": 64, "m": 64.0}
