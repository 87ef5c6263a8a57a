"""Streams whose batches differ from one another, odd times, odd values: nothing is rounded or lost."""

from __future__ import annotations

import io
import random
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.live.native import conversion
from slidewise.live.panes.row_pane import RowPane

KERNELS = patch("slidewise.live.batch.push_many.by_kernels", lambda _incoming: True)
IN_TURN = patch("slidewise.live.batch.push_many.by_kernels", lambda _incoming: False)
both_ways = pytest.mark.parametrize("way", [KERNELS, IN_TURN], ids=["kernels", "in turn"])


@both_ways
def test_a_column_that_is_float_in_one_batch_and_int_in_the_next(way: Any) -> None:
    """As `read_csv(chunksize=...)` gives them."""
    csv = "t,x\n" + "".join(f"{i},{'' if i == 3 else 0.9 if i < 10 else 1}\n" for i in range(400))
    definition = sw.Sliding(
        on="t",
        low=sw.min("x").over(300),
        first=sw.first("x").over(300),
        sum=sw.sum("x").over(300),
        all=sw.max("x").over("all"),
    )
    live = definition.live()
    with way:
        found = pd.concat([live.push_many(chunk) for chunk in pd.read_csv(io.StringIO(csv), chunksize=200)])
    expected = definition(pd.read_csv(io.StringIO(csv)))
    for name in definition.columns:
        assert found[name].tolist() == expected[name].tolist()


@both_ways
def test_kinds_that_do_not_mix_stay_what_they_are(way: Any) -> None:
    definition = sw.Sliding(top=sw.max("x").over(rows=9))
    live = definition.live()
    live.push({"x": 5})
    with way:
        assert live.push_many(pa.table({"x": [True, False]}))["top"].to_pylist() == [5, 5]
    live = definition.live()
    live.push({"x": 2**53 + 1})
    live.push({"x": 0.5})
    with way:
        assert live.push_many(pa.table({"x": [1, 2]}))["top"].to_pylist() == [2**53 + 1] * 2
    live = sw.Sliding(all=sw.collect("x").over(rows=9)).live()
    live.push({"x": 1})
    with way, pytest.raises(sw.SlidewiseError, match="no column can hold"):
        live.push_many(pa.table({"x": ["a", "b"]}))
    live = definition.live()
    live.push({"x": 2**70})
    with way, pytest.raises(sw.SlidewiseError, match="no column can hold"):
        live.push_many(pa.table({"x": [1, 2]}))


@pytest.mark.parametrize("op", [sw.max, sw.min, sw.first, sw.last, sw.m4, sw.collect], ids=lambda op: op.name)
@pytest.mark.parametrize("kind", [pa.date32(), pa.time32("s"), pa.float32(), pa.int8(), pa.timestamp("ns")], ids=str)
def test_narrow_types_with_windows_that_have_no_answer(op: sw.Operator, kind: Any) -> None:
    numbers = pa.array([None if i % 3 == 0 else i % 100 for i in range(1_000)], pa.int32())
    values = numbers.cast(pa.int64()).cast(kind) if "timestamp" in str(kind) else numbers.cast(kind)
    table = pa.table({"x": values, "t": range(1_000)})
    definition = sw.Sliding(on="t", a=op("x").over(rows=2, closed="left"), b=op("x").over(1, closed="left"))
    found = definition(table)
    assert found["a"].to_pylist()[0] == ([] if op is sw.collect else None)
    live = definition.live()
    with KERNELS:
        assert live.push_many(table).equals(found)
    one = definition.live()
    if op not in (sw.m4,):
        assert [one.push(row)["b"] for row in table.to_pylist()] == found["b"].to_pylist()


def test_times_that_are_whole_and_times_that_are_not() -> None:
    """JSON gives 0.5 and then 10."""
    definition = sw.Sliding(on="t", n=sw.count().over(10), far=sw.count().over(10, closed="both"))
    times = [0.5, 2.7, 5, 10, 10.5, 12]
    expected = definition(pa.table({"t": [float(t) for t in times]})).select(["n", "far"]).to_pylist()
    live = definition.live()
    assert [live.push({"t": t}) for t in times] == expected
    for way in (KERNELS, IN_TURN):
        live = definition.live()
        with way:
            found = live.push_many(pa.table({"t": [0.5, 2.7]})).to_pylist()
            live = definition.restore(live.snapshot())
            found += live.push_many(pa.table({"t": [5, 10]})).to_pylist()
            found += live.push_many(pa.table({"t": [10.5, 12.0]})).to_pylist()
        assert [{name: row[name] for name in ("n", "far")} for row in found] == expected
        live = definition.live()
        with way:
            live.push_many(pa.table({"t": [1, 2]}))
            assert live.push_many(pa.table({"t": [2.5, 11.5]}))["n"].to_pylist() == [3, 3]


def test_a_batch_that_cannot_be_joined_changes_nothing_twice() -> None:
    definition = sw.Sliding(on="t", s=sw.sum("x").over("all"), r=sw.max("x").over(rows=3))
    live = definition.live()
    live.push({"t": 1.5, "x": 1})
    live.push_many(pa.table({"t": list(range(2, 3_002)), "x": [1] * 3_000}))
    assert live.stats.events == live.stats.answered == 3_001
    assert live.push({"t": 4_000, "x": 1})["s"] == 3_002


def test_nan_is_one_value_after_a_restore() -> None:
    definition = sw.Sliding(on="t", near=sw.count_distinct("x").over(100), all=sw.count_distinct("x").over("all"))
    live = definition.live()
    for i in range(3):
        live.push({"t": i, "x": float("nan")})
    assert definition.restore(live.snapshot()).push({"t": 9, "x": float("nan")}) == {"near": 1, "all": 1}


def test_moments_with_a_zone_are_compared_by_time_and_not_by_clock() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    earlier = datetime(2024, 10, 27, 2, 45, fold=0, tzinfo=berlin)
    later = datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=berlin)
    definition = sw.Sliding(by="k", top=sw.max("x").over(rows=9), kinds=sw.count_distinct("x").over(rows=9))
    live = definition.live()
    live.push({"k": 1, "x": earlier})
    assert live.push({"k": 1, "x": later}) == {"top": later.astimezone(UTC), "kinds": 2}
    again = definition.restore(live.snapshot())
    assert again.push({"k": 1, "x": earlier})["top"] == later.astimezone(UTC)
    same_clock = [datetime(2024, 10, 27, 2, 30, fold=fold, tzinfo=berlin) for fold in (0, 1)]
    live = sw.Sliding(by="k", n=sw.count().over("all")).live()
    assert [live.push({"k": key})["n"] for key in same_clock] == [1, 1]


@pytest.mark.parametrize("op", [sw.max, sw.last, sw.collect], ids=lambda op: op.name)
def test_nanoseconds_are_kept(op: sw.Operator) -> None:
    table = pa.table({"t": [1, 2, 3], "x": pa.array([123456789, 123456790, None], pa.timestamp("ns"))})
    definition = sw.Sliding(on="t", a=op("x").over(9))
    expected = definition(table)
    for way in (KERNELS, IN_TURN):
        with way:
            live = definition.live()
            assert live.push_many(table.slice(0, 1)).equals(expected.slice(0, 1))
            live = definition.restore(live.snapshot())
            assert live.push_many(table.slice(1)).equals(expected.slice(1))
    moment = pd.Timestamp(123456789)
    answer = definition.live().push({"t": 1, "x": np.datetime64(123456789, "ns")})["a"]
    assert answer == ([moment] if op is sw.collect else moment)
    with pytest.raises(sw.InputError, match="finer than nanoseconds"):
        definition.live().push({"t": 1, "x": np.datetime64(123456789, "ps")})


def test_what_waits_is_not_rewritten_by_a_batch() -> None:
    definition = sw.Sliding(on="t", low=sw.min("x").over(5_000))
    for few in (1, 10**9):
        with patch("slidewise.live.batch.push_buffered.FEW", few):
            live = definition.live(late="wait:1000")
            live.push({"t": 1_000, "x": 0.5, "note": "abc"})
            live.push_many(pa.table({"t": list(range(1_001, 1_100)), "x": [1] * 99}))
            found = live.flush()
            assert found[0] == {"t": 1_000, "x": 0.5, "note": "abc", "low": 0.5}
            assert {row["low"] for row in found} == {0.5}
            live = definition.live(late="wait:10")
            live.push({"t": 1, "x": 0.1})
            out = live.push_many(pa.table({"t": pa.array([2, 50]), "x": pa.array([0.5, 1], pa.float32())}))
            assert out["x"].to_pylist()[0] == 0.1
            assert out["low"].to_pylist() == [0.1, 0.1]


def test_waiting_batches_in_pandas_keep_their_kinds_and_names() -> None:
    frame = pd.DataFrame({0: [1, 2, 3, 50], "t": [1, 2, 3, 50], "x": [2**53, 1, 2, 4]})
    definition = sw.Sliding(on="t", s=sw.sum("x").over(10, at_least=2))
    for few in (1, 10**9):
        with patch("slidewise.live.batch.push_buffered.FEW", few):
            found = definition.live(late="wait:5").push_many(frame)
            assert list(found.columns) == [0, "t", "x", "s"]
            assert found["s"].tolist()[1:] == [2**53 + 1, 2**53 + 3]
            assert str(found["s"].dtype) == "Int64"
            assert str(found["x"].dtype) == "int64"


def test_peers_without_an_order_are_answered_where_none_is_needed_and_counted_where_it_is() -> None:
    definition = sw.Sliding(on="t", c=sw.count("x").over(10))
    live = definition.live(late="wait:0")
    for x in (1, "a"):
        live.push({"t": 1, "x": x})
    assert [row["c"] for row in live.push({"t": 5, "x": 1})] == [2, 2]
    live = sw.Sliding(on="t", c=sw.collect("x").over(10)).live(late="wait:0")
    for x in (1, "a"):
        live.push({"t": 1, "x": x})
    with pytest.raises(sw.SlidewiseError, match="cannot be put in order"):
        live.push({"t": 5, "x": 1})
    assert live.stats == (3, 0, 0, 1, 2, 0, 0)
    assert [row["c"] for row in live.flush()] == [[1]]


def test_answers_that_do_not_fit_a_batch_are_kept() -> None:
    live = sw.Sliding(on="t", c=sw.count().over(10)).live(late="wait:0")
    live.push({"t": 1, "note": "abc"})
    with pytest.raises(sw.InputError, match=r"different kinds of 'note'.*flush\(\) gives them"):
        live.push_many(pa.table({"t": [2, 3], "note": [[1], [2]]}))
    found = live.flush()
    assert [row["t"] for row in found] == [1, 2, 3]


def test_an_event_that_fails_does_not_block_those_after_it() -> None:
    live = sw.Sliding(on="t", s=sw.sum("x").over(100)).live(late="wait:10")
    for x in (2**62, 2**62):
        live.push({"t": 1, "x": x})
    with pytest.raises(sw.SumOverflowError):
        live.push_many(pa.table({"t": [50] * 600, "x": [1] * 600}))
    assert live.stats.failed == 2
    assert len(live.push_many(pa.table({"t": [70], "x": [1]}))) == 600


def test_strange_values_in_waiting_events() -> None:
    definition = sw.Sliding(by="k", on="t", s=sw.sum("x").over(100))
    live = definition.live(late="wait:10")
    live.push(
        {"k": np.int64(1), "t": 1, "x": np.float64(2.0), "tags": ["a", {"b": 1}], "when": pd.Timestamp(1, unit="ns")}
    )
    live = definition.restore(live.snapshot())
    assert live.flush() == [
        {"k": 1, "t": 1, "x": 2.0, "tags": ["a", {"b": 1}], "when": pd.Timestamp(1, unit="ns"), "s": 2.0}
    ]
    with pytest.raises(sw.InputError, match="a column 's' already"):
        live.push({"k": 1, "t": 50, "x": 1.0, "s": 5})


def test_missing_values_of_pandas_are_null_one_by_one_too() -> None:
    live = sw.Sliding(by="k", top=sw.max("x").over(rows=3), n=sw.count("x").over(rows=3)).live()
    assert live.push({"k": pd.NA, "x": pd.NaT}) == {"top": None, "n": 0}
    assert live.push({"k": None, "x": pd.NA}) == {"top": None, "n": 0}
    assert len(live) == 1


def test_odd_keys_and_times() -> None:
    keys = pa.array([2**63, 2**63 + 1, 2**63], pa.uint64())
    counting = sw.Sliding(by="k", n=sw.count().over("all"))
    assert counting(pa.table({"k": keys}))["n"].to_pylist() == [1, 1, 2]
    assert counting.live().push_many(pa.table({"k": keys}))["n"].to_pylist() == [1, 1, 2]
    mixed = pd.DataFrame({"k": [1, "a", None, 1]})
    assert counting(mixed)["n"].tolist() == [1, 1, 1, 2]
    assert counting.live().push_many(mixed)["n"].tolist() == [1, 1, 1, 2]
    live = sw.Sliding(on="t", n=sw.count().over("2d")).live()
    assert live.push({"t": pd.Timestamp("1000-01-01")}) == {"n": 1}
    for wrong in (pa.array([1, 2], pa.duration("s")), pa.array([1, 2], pa.time32("s"))):
        with pytest.raises(sw.InputError, match="durations or times of day"):
            sw.Sliding(on="t", n=sw.count().over("2s"))(pa.table({"t": wrong}))
    with pytest.raises(sw.InputError, match="null in 2 of 2 rows, first in row 0"):
        sw.Sliding(on="t", n=sw.count().over("2s"))(pa.table({"t": pa.array([None, None])}))


def test_pandas_keeps_what_it_has_beside_values() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    frame.columns.name = "signals"
    frame.attrs["unit"] = "K"
    found = sw.Sliding(top=sw.max("x").over(rows=2))(frame)
    assert found.columns.name == "signals"
    assert found.attrs == {"unit": "K"}
    views = pl.DataFrame({"x": ["b", None, "a"]})
    assert sw.Sliding(top=sw.max("x").over(rows=2))(views)["top"].to_list() == ["b", "b", "a"]
    view = pa.table({"x": pa.array(["b", None, "a"], pa.string_view())})
    assert sw.Sliding(top=sw.max("x").over(rows=2))(view)["top"].to_pylist() == ["b", "b", "a"]


def test_a_refused_event_costs_no_more_in_a_large_window() -> None:
    """What is refused is taken back, and nothing is built anew."""
    live, in_panes = (sw.Sliding(on="t", s=sw.sum("x").over(10**9)).live() for _ in range(2))
    in_panes.opening = None
    rebuilt: list[int] = []
    for one in (live, in_panes):
        one.push_many(pa.table({"t": range(20_000), "x": range(20_000)}))
        one.push({"t": 20_000, "x": 1})
        build = patch.object(RowPane, "_build", lambda _self, _rows: rebuilt.append(1))
        with build, patch.object(conversion, "pane_of", lambda *_: rebuilt.append(2)), pytest.raises(sw.InputError):
            one.push({"t": 30_000, "x": "text"})
        assert not rebuilt
    assert live.native is not None


def test_gone_rows_are_let_go() -> None:
    live = sw.Sliding(on="t", top=sw.max("x").over(100)).live()
    for i in range(1_000):
        live.push({"t": i // 20, "x": i})
    live.push({"t": 10_000, "x": 1})
    assert live.key_states[()].panes[0].gone is None


def test_peers_have_lists_of_their_own() -> None:
    live = sw.Sliding(on="t", all=sw.collect("x").over(9)).live(late="wait:0")
    for x in (1, 2):
        live.push({"t": 1, "x": x})
    one, two = live.flush()
    one["all"].append(7)
    assert two["all"] == [1, 2]


def test_windows_that_say_the_same_are_the_same() -> None:
    one, two = (
        sw.Sliding(on="t", n=sw.count().over(last, at_least=least)) for last, least in ((1, 2), (1.0, np.int64(2)))
    )
    assert one == two
    assert one.fingerprint() == two.fingerprint()
    assert sw.Sliding.from_toml(two.to_toml()) == one


@pytest.mark.parametrize("probe", [b"\x00\xff", date(2024, 3, 1), datetime(2024, 3, 1, 12), ("a", 1), 7, "x", 1.5])
def test_probes_of_every_kind_can_be_written(probe: Any) -> None:
    definition = sw.Sliding(n=sw.bloom(bits=64, hashes=2, probe=probe)("x").over(rows=2))
    assert sw.Sliding.from_toml(definition.to_toml()) == definition
    assert sw.Sliding.from_dict(definition.to_dict()) == definition


def test_a_range_beyond_64_bits_is_an_error_in_every_lane() -> None:
    table = pa.table({"x": [-(2**62), 2**62]})
    definition = sw.Sliding(r=sw.value_range("x").over(rows=2))
    live = definition.live()
    live.push({"x": -(2**62)})
    for run in (lambda: definition(table), lambda: live.push({"x": 2**62}), lambda: definition.live().push_many(table)):
        with pytest.raises(sw.SumOverflowError):
            run()


def test_columns_of_one_name_can_wait_no_more_than_columns_of_several_kinds() -> None:
    definition = sw.Sliding(on="t", n=sw.count().over(10))
    twice = pd.DataFrame([[1, 5, 6], [2, 5, 6]], columns=["t", "a", "a"])
    assert definition(twice)["n"].tolist() == [1, 2]
    assert definition.live().push_many(twice)["n"].tolist() == [1, 2]
    for frame, message in ((twice, "different names"), (pd.DataFrame({"t": [1, 2], "m": [1, "a"]}), "several kinds")):
        live = definition.live(late="wait:0")
        with pytest.raises(sw.InputError, match=message):
            live.push_many(frame)
        assert live.stats.events == 0


def test_many_waiting_events_do_not_slow_down_each_batch() -> None:
    """A batch among 100,000 waiting events goes one by one: they are not all taken up and put down again."""
    live = sw.Sliding(on="t", n=sw.count().over(10)).live(late="wait:1000000")
    live.push_many(pa.table({"t": list(range(100_000))}))
    with patch("slidewise.live.batch.push_buffered._evaluate_due") as through:
        live.push_many(pa.table({"t": list(range(100_000, 100_600))}))
    assert not through.called


def test_forgetting_between_batches() -> None:
    definition = sw.Sliding(by="k", on="t", n=sw.count().over(100), all=sw.sum("t").over("all"))
    live = definition.live()
    live.push_many(pa.table({"k": [1, 2, 1], "t": [1, 2, 3]}))
    assert live.forget(before=3) == 1
    found = live.push_many(pa.table({"k": [1, 2], "t": [4, 5]}))
    assert found.select(["n", "all"]).to_pylist() == [{"n": 3, "all": 8}, {"n": 1, "all": 5}]
    assert definition.restore(live.snapshot()).forget(before=5) == 1
    assert live.push({"k": 2, "t": 7})["n"] == 2


@pytest.mark.filterwarnings("ignore:.*events were dropped")
@pytest.mark.parametrize("bound", ["0.5", "1.5", "2", "1000000000000000001.0", "1000000000000000001"])
def test_whole_times_of_19_digits_wait_by_exact_bounds(bound: str) -> None:
    """Times and bounds are compared without going through floats, by push and by push_many, on a beat too."""
    start, choose = 1_700_000_000_000_000_000, random.Random(3)
    length = int(bound) if bound.isdecimal() else float(bound)
    times = [start + i + (choose.randrange(3) if i % 4 == 0 else 0) for i in range(700)]
    newest, expected = start, []
    for t in times:
        if Fraction(t) >= newest - Fraction(length):
            expected.append(t)
        newest = max(newest, t)
    for every in (None, 3):
        definition = sw.Sliding(on="t", n=sw.count().over(2.5), every=every)
        one, many, small = (definition.live(late=f"wait:{bound}") for _ in range(3))
        answered = [row for t in times for row in one.push({"t": t})] + one.flush()
        through = many.push_many(pa.table({"t": times})).to_pylist() + many.flush()
        in_parts = [
            row for i in range(0, 700, 35) for row in small.push_many(pa.table({"t": times[i : i + 35]})).to_pylist()
        ]
        assert one.stats.late == many.stats.late == small.stats.late == 700 - len(expected)
        assert answered == through == in_parts + small.flush()
        table = definition(pa.table({"t": expected})).to_pylist()
        last = answered[-1]["t"]
        assert answered == sorted((row for row in table if row["t"] <= last), key=lambda row: row["t"])


@pytest.mark.parametrize("closed", ["right", "both", "left", "neither"])
def test_whole_times_of_19_digits_and_windows_with_a_fraction(closed: str) -> None:
    """In tables, live, revised and in `Timed`, a window of 2.5 over whole times is what exact arithmetic says."""
    start, choose = 1_700_000_000_000_000_000, random.Random(4)
    times = sorted(start + choose.randrange(60) for _ in range(40))
    for width in (0.5, 2.5, 7.0):
        definition = sw.Sliding(on="t", s=sw.sum("x").over(width, closed=closed))
        rows = [{"t": t, "x": i} for i, t in enumerate(times)]
        expected = []
        for t in times:
            ages = [(Fraction(t - u), i) for i, u in enumerate(times) if u <= t]
            old, new = closed in ("both", "left"), closed in ("right", "both")
            inside = [i for age, i in ages if (age < width or (old and age == width)) and (new or age > 0)]
            expected.append(sum(inside) if inside else None)
        assert definition(pa.Table.from_pylist(rows))["s"].to_pylist() == expected
        waiting, revising = definition.live(late="wait:0"), definition.live(late="revise", retain=0.5)
        assert [row["s"] for event in rows for row in waiting.push(event)] + [
            row["s"] for row in waiting.flush()
        ] == expected
        seen: dict[int, Any] = {}
        for event in rows:
            for row in revising.push(event):
                seen[row["x"]] = row["s"]
        assert [seen[i] for i in range(40)] == expected
        timed = sw.Timed(sw.DabaLite(sw.sum), last=width, closed=closed)
        answers = {}
        for event in rows:
            timed.insert(event["t"], event["x"])
            answers[event["t"]] = timed.query() if len(timed) else None
        assert [answers[t] for t in times] == expected
