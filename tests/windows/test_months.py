"""Windows of so many months of the calendar: ends of months, leap years, changed clocks, units, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from month_judge import EPOCH, edge_of

import slidewise as sw
from slidewise.errors import SlidewiseError, WindowError
from slidewise.kernels.bounds.months import month_lows
from slidewise.windows import Months, Window

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "D": 86_400 * 10**9}
ZONES = [None, "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]
# Days around which something happens: ends of months, a leap day, clocks changed there and a month before, before 1970.
DAYS = [
    *("2024-02-28", "2024-02-29", "2024-03-28", "2024-03-31", "2024-04-28", "2024-04-30", "2024-05-31", "2024-07-30"),
    *("2023-03-26", "2023-03-28", "2023-04-26", "2023-10-29", "2023-11-05", "2023-11-29", "2023-12-05", "2023-04-12"),
    *("1968-02-29", "1969-03-31", "1969-04-30", "1969-12-31", "2100-03-01", "2100-03-31"),
]


def ns(day: str) -> int:
    return int(np.datetime64(day, "ns").astype(np.int64))


@pytest.mark.rule(24)
@settings(max_examples=150, deadline=None)
@given(
    day=st.sampled_from(DAYS),
    seconds=st.lists(st.integers(-3_600, 28_800) | st.integers(-54_000, 140_400), min_size=1, max_size=8),
    finer=st.sampled_from([0, 1, 999_999_999]),
    unit=st.sampled_from(list(UNITS)),
    count=st.sampled_from([1, 3, 12, 13]),
    zone=st.sampled_from(ZONES),
)
def test_edges_are_those_of_the_judge(
    day: str, seconds: list[int], finer: int, unit: str, count: int, zone: str | None
) -> None:
    tick, months = UNITS[unit], Months(count, zone)
    times = sorted((ns(day) + s // 600 * 600 * 10**9 + finer) // tick for s in seconds)
    for edge in (False, True):
        lows = month_lows(np.array(times), months, tick, edge).tolist()
        assert lows == [months.lowest(time, tick, edge) for time in times]
        assert lows == sorted(lows)
        for time, low in zip(times, lows, strict=True):
            oldest = edge_of(time * tick, count, zone)
            assert low == (-(-oldest // tick) if edge else oldest // tick + 1)


@pytest.mark.rule(24)
@pytest.mark.parametrize(
    ("time", "count", "zone", "edge"),
    [
        ("2024-03-15T10:00", 1, None, "2024-02-15T10:00"),
        ("2024-03-31T10:00", 1, None, "2024-02-29T10:00"),
        ("2023-03-30T10:00", 1, None, "2023-02-28T00:00"),  # as 31 March still looks back to that day
        ("2024-02-29T12:00", 12, None, "2023-02-28T12:00"),
        ("2024-05-31T23:00", 3, None, "2024-02-29T23:00"),
        ("2023-04-15T10:00", 1, "Europe/Berlin", "2023-03-15T11:00"),  # noon in both, an hour apart in UTC
        ("2023-04-26T00:30", 1, "Europe/Berlin", "2023-03-26T01:00"),  # 2:30, which the clock skipped
        ("2023-11-29T01:30", 1, "Europe/Berlin", "2023-10-29T00:30"),  # 2:30, the first of two
        ("2023-10-29T00:30", 1, "Europe/Berlin", "2023-09-29T00:00"),  # 2:30 and then 2:00 again
        ("1968-03-31T10:00", 1, None, "1968-02-29T10:00"),
    ],
)
def test_edges_that_are_known(time: str, count: int, zone: str | None, edge: str) -> None:
    assert Months(count, zone).lowest(ns(time), 1, True) == ns(edge) == edge_of(ns(time), count, zone)


@pytest.mark.rule(24)
def test_edges_never_move_back() -> None:
    start = int((datetime(2019, 1, 1, tzinfo=UTC) - EPOCH) / timedelta(minutes=10))
    times = np.arange(start, start + 6 * 24 * 366 * 2)
    for zone in ("Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia"):
        lows = month_lows(times, Months(1, zone), 600 * 10**9, True)
        assert (np.diff(lows) >= 0).all()
        assert (lows < times).all()
        step = slice(None, None, 997)
        one_by_one = [Months(1, zone).lowest(time, 600 * 10**9, True) for time in times[step].tolist()]
        assert one_by_one == lows[step].tolist()


def test_far_times_do_not_wrap_around() -> None:
    times = np.array([-(2**63) + 1, -(2**63) + 10**15, 2**63 - 1])
    lows = month_lows(times, Months(1), 1, True)
    assert lows[:2].tolist() == [-(2**63)] * 2
    assert lows[2] == Months(1).lowest(2**63 - 1, 1, True)
    years = np.array([np.datetime64(f"{year}-07-01T00:00", "us").astype(np.int64) for year in (1, 1600, 12_000)])
    for zone in (None, "Europe/Berlin"):
        lows = month_lows(years, Months(1, zone), 1_000, True)
        assert lows.tolist() == [Months(1, zone).lowest(year, 1_000, True) for year in years.tolist()]


@pytest.mark.rule(24)
def test_dates_are_as_polars_has_them() -> None:
    import polars as pl

    days = np.arange(np.datetime64("2023-01-01"), np.datetime64("2024-06-10")).astype("M8[D]")
    table = pa.table({"d": days, "x": np.arange(len(days))})
    for count, text, closed in ((1, "1mo", "right"), (3, "3mo", "both"), (12, "1y", "left")):
        theirs = pl.from_arrow(table).rolling("d", period=text, closed=closed).agg(pl.col("x").min())  # type: ignore[union-attr]
        ours = sw.rolling(table["x"], sw.min, times=table["d"], last=f"{count} months", closed=closed)
        assert ours.to_pylist() == theirs["x"].to_list()


def test_it_is_written_and_read_back() -> None:
    for text, same in (("1 month", "1mo"), ("3 months", "1 quarter"), ("2 years", "24 months"), ("15 months", "1y 1q")):
        assert Window.of(text) == Window.of(same)
        assert repr(Window.of(same)) == f"over({text!r})"
    window = Window.of("1 month", zone="Europe/Berlin", closed="both", at_least=2)
    assert repr(window) == "over('1 month', closed='both', at_least=2, zone='Europe/Berlin')"
    assert window.described() == [None, ["months", 1, "Europe/Berlin"], "both", 2]
    column = sw.sum("x").over("1 month", zone="Europe/Berlin")
    assert str(column) == "sum(x) over 1 month zone 'Europe/Berlin'"
    for columns in ({"s": column}, {"s": column / sw.count().over("1 year")}):
        definition = sw.Sliding(on="t", **columns)
        assert sw.Sliding.from_toml(definition.to_toml()) == definition
    assert "months: back to the same time of the same day" in repr(sw.Sliding(on="t", s=column).explain())


@pytest.mark.rule(2, 24)
def test_what_has_no_months_says_why() -> None:
    for refused, reason in (
        (lambda: Window.of("1 month 3 days"), "or all of it in days"),
        (lambda: Window.of("1.5 months"), "whole months"),
        (lambda: Window.of("0 months"), "from 1 month"),
        (lambda: Window.of("1 month", rows=3), "one length"),
        (lambda: Window.of("1 month", grain="1 day"), "one length"),
        (lambda: Window.of("1 month", delay="1 day"), "one length"),
        (lambda: Window.of("1 month", zone="Europe/Berlim"), "not known.*did you mean 'Europe/Berlin'"),
        (lambda: Window.of("30 days", zone="Europe/Berlin"), "windows of the calendar"),
        (lambda: Window.of("1 hour", grain="1 month"), "no fixed length"),
    ):
        with pytest.raises(WindowError, match=reason):
            refused()
    with pytest.raises(SlidewiseError, match="windows of one length are needed"):
        sw.Sliding(on="t", every="1 day", n=sw.count().over("1 month"))
    definition: Any = sw.Sliding(on="t", n=sw.count().over("1 month"))
    with pytest.raises(WindowError, match="holds numbers, but the window lasts 1 month"):
        definition(pa.table({"t": [1, 2]}))
    with pytest.raises(WindowError, match="times are numbers"):
        sw.rolling(np.ones(2), sw.sum, times=np.array([1, 2]), last="1 month")
    with pytest.raises(WindowError, match="times are numbers"):
        definition.live().push({"t": 1})


def test_live_reads_on_the_calendar() -> None:
    definition = sw.Sliding(on="t", n=sw.count().over("1 month", zone="Europe/Berlin"))
    times = [datetime(2023, 3, 26, hour, 30, tzinfo=UTC) for hour in range(3)]
    live = definition.live()
    live.push_many(pa.table({"t": times}))
    live = definition.restore(live.snapshot())
    ends = [datetime(2023, 4, 26, 0, minute, tzinfo=UTC) for minute in (0, 30, 59)] + [
        datetime(2023, 4, 27, tzinfo=UTC)
    ]
    assert [live.get(at=end)["n"] for end in ends] == [2, 2, 2, 0]
