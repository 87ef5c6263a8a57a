"""Moments, dates, times of day and durations of every unit, as values and as keys, in every lane: no tick is lost."""

from __future__ import annotations

import random
from datetime import datetime
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lanes import LANES, Case, assert_same, direct, run

import slidewise as sw

KINDS = [
    *(pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.timestamp("us", "Europe/Paris")),
    *(pa.date32(), pa.time32("s"), pa.time64("us"), pa.duration("ms"), pa.duration("us"), pa.duration("ns")),
]
newest = sw.operator(name="newest", identity=None, combine=lambda a, b: b if b > a else a, lower=lambda s: s)


def column(kind: pa.DataType, count: int) -> pa.Array:
    """A few values of this type that differ in their last tick, and nulls."""
    choose = random.Random(str(kind))
    start = 86_399 if pa.types.is_time32(kind) else 19_000 if kind.bit_width == 32 else 10**9
    ticks = [choose.choice([None, *range(start - 4, start + 1)]) for _ in range(count)]
    return pa.array(ticks, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)


def table(count: int) -> pa.Table:
    choose = random.Random(count)
    known = {
        "k": pa.array([choose.choice("ab") for _ in range(count)]),
        "t": pa.array([choose.randrange(count // 2) for _ in range(count)], pa.timestamp("s")),
        "i": pa.array([choose.randrange(5) for _ in range(count)], pa.int64()),
    }
    return pa.table(known | {str(kind): column(kind, count) for kind in KINDS})


def aggregates(x: str) -> dict[str, Any]:
    windows = {
        "4 s": lambda one: one.over("4s"),
        "before": lambda one: one.over("4s", closed="left"),
        "3 rows": lambda one: one.over(rows=3),
        "all": lambda one: one.over("all"),
        "grain": lambda one: one.over("4s", grain="3s"),
    }
    of_each = {
        "4 s": [sw.max(x), sw.collect(x), sw.argmax(x, "i"), sw.count_distinct(x), sw.m4(x), newest(x)],
        "before": [sw.last(x), sw.collect(x)],
        "3 rows": [sw.min(x), sw.maxcount(x), sw.quantile(0.5, interpolation="lower")(x)],
        "all": [sw.first(x), sw.argmin("i", x), sw.collect(x)],
        "grain": [sw.max(x), sw.collect(x)],
    }
    return {f"{x} {one!r} {at}": windows[at](one) for at, some in of_each.items() for one in some}


ROWS = table(20)
CASES = {
    "as values": Case(
        "as values",
        sw.Sliding(by="k", on="t", columns={k: v for kind in KINDS for k, v in aggregates(str(kind)).items()}),
        ROWS,
    )
} | {
    f"{kind} as a key": Case(
        f"{kind} as a key",
        sw.Sliding(by=str(kind), on="t", ties=["i", "k"], n=sw.count().over("9s"), some=sw.collect("k").over(rows=2)),
        ROWS.select(["k", "t", "i", str(kind)]),
    )
    for kind in KINDS
}


@cache
def expected(name: str) -> list[dict[str, Any]]:
    return direct(CASES[name].definition, CASES[name].table)


@pytest.mark.rule(15)
@pytest.mark.parametrize("lane", LANES)
def test_times_of_every_unit(lane: str) -> None:
    found = run(lane, list(CASES.values()))
    for name, case in CASES.items():
        assert_same(case, found[name], expected(name))


NANOSECONDS = np.array([1, 2, 3, 2], "m8[ns]")


@pytest.mark.parametrize(("dtype", "of_pandas"), [("m8[ns]", pd.Timedelta), ("M8[ns]", pd.Timestamp)])
def test_rolling_lists_are_of_times_and_not_of_bare_integers(dtype: str, of_pandas: Any) -> None:
    times = NANOSECONDS.view(dtype)
    assert sw.rolling(times, sw.collect, rows=2).tolist()[3] == [times[2], times[3]]
    found = sw.rolling(pd.Series(times), sw.collect, rows=2).tolist()[3]
    assert found == [of_pandas(3), of_pandas(2)]
    assert isinstance(found[0], of_pandas)


@pytest.mark.parametrize("by_kernels", [True, False])
def test_nanoseconds_of_pandas_in_batches_and_snapshots(by_kernels: bool) -> None:
    events = pd.DataFrame({"t": range(4), "d": NANOSECONDS, "at": NANOSECONDS.view("M8[ns]")})
    events["one"] = events["d"].astype(object)
    definition = sw.Sliding(
        by="d", on="t", a=sw.collect("d").over(3), b=sw.last("at").over("all"), c=sw.max("one").over(3)
    )
    live = definition.live()
    with patch("slidewise.live.batch.push_many.by_kernels", lambda _batch: by_kernels):
        found = live.push_many(events)
        pd.testing.assert_frame_equal(found, definition(events))
        again = definition.restore(live.snapshot())
        assert len(again) == 3
        more = events.assign(t=4)
        pd.testing.assert_frame_equal(again.push_many(more), live.push_many(more))
    answer = again.push(
        {"t": 5, "d": np.timedelta64(2, "ns"), "at": np.datetime64(7, "ns"), "one": np.timedelta64(9, "ns")}
    )
    assert answer == {"a": [pd.Timedelta(2)] * 4, "b": pd.Timestamp(7), "c": pd.Timedelta(9)}


@pytest.mark.rule(15)
def test_times_of_day_that_python_cannot_hold_are_refused_and_not_cut() -> None:
    events = pl.DataFrame({"t": [0, 1, 2], "x": pl.Series([1, 2, 3]).cast(pl.Time)})
    greatest = sw.Sliding(on="t", a=sw.max("x").over(2))
    assert greatest(events)["a"].to_physical().to_list() == [1, 2, 3]
    by_key = sw.Sliding(by="x", on="t", a=sw.count().over(9))
    assert by_key(events)["a"].to_list() == [1, 1, 1]
    beside = sw.Sliding(on="t", a=sw.count().over(9))
    for definition, late in [(greatest, "error"), (greatest, "revise"), (by_key, "drop"), (beside, "wait:1")]:
        live = definition.live(late=late)
        with pytest.raises(sw.InputError, match="'x' holds times of day in nanoseconds"):
            live.push_many(events)
        assert live.stats.events == 0
    with pytest.raises(sw.InputError, match="times of day in nanoseconds"):
        sw.rolling(events["x"], sw.collect, rows=2)


def test_answers_that_are_finer_than_the_batch_are_kept_so() -> None:
    definition = sw.Sliding(on="t", a=sw.max("x").over(9), b=sw.collect("x").over(9))
    live = definition.live()
    live.push({"t": 0, "x": pd.Timestamp(10**9 + 1)})
    batch = pa.table({"t": [1], "x": pa.array([datetime(1970, 1, 1)], pa.timestamp("us"))})
    found = live.push_many(batch).to_pylist()[0]
    assert (found["a"], found["b"][0]) == (pd.Timestamp(10**9 + 1), pd.Timestamp(10**9 + 1))
