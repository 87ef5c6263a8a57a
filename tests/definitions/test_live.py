"""One event at a time: late events, batches, errors that change nothing, and small state."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.live.batch import push_many as batch

NOON = datetime(2024, 3, 1, 12)
HEALTH = sw.Sliding(
    by="machine",
    on="ts",
    peak=sw.max("temp").over("10 minutes"),
    n=sw.count().over(rows=2),
    all=sw.sum("temp").over("all"),
)


def event(machine: Any, minute: float, temp: Any, **more: Any) -> dict[str, Any]:
    return {"machine": machine, "ts": NOON + timedelta(minutes=minute), "temp": temp, **more}


def test_push_answers_as_of_the_event() -> None:
    live = HEALTH.live()
    assert live.push(event(7, 0, 71.0)) == {"peak": 71.0, "n": 1, "all": 71.0}
    assert live.push(event(8, 0, 10.0)) == {"peak": 10.0, "n": 1, "all": 10.0}
    assert live.push(event(7, 0, 72.0)) == {"peak": 72.0, "n": 2, "all": 143.0}  # what has arrived so far
    assert live.push(event(7, 10, None)) == {"peak": None, "n": 2, "all": 143.0}
    assert live.push(event(7, 11, 1.0, colour="red")) == {"peak": 1.0, "n": 2, "all": 144.0}
    assert len(live) == 2
    assert live.stats == (5, 5, 0, 0, 0, 2, 0)


def test_late_events_are_errors_unless_said_otherwise() -> None:
    live = HEALTH.live()
    live.push(event(7, 5, 1.0))
    before = live.snapshot()
    with pytest.raises(
        sw.TimeOrderError, match=r"2024-03-01 12:04:00 lies before 2024-03-01 12:05:00.*key 7.*late='drop'"
    ):
        live.push(event(7, 4, 99.0))
    assert live.snapshot() == before
    assert live.push(event(8, 4, 2.0))["peak"] == 2.0  # late is judged by key
    table = pa.Table.from_pylist([event(9, 1, 1.0), event(7, 9, 1.0), event(9, 0, 1.0)])
    before = live.snapshot()
    with pytest.raises(sw.TimeOrderError, match=r"row 2, 2024-03-01 12:00:00, lies before 2024-03-01 12:01:00.*key 9"):
        live.push_many(table)
    assert live.snapshot() == before


def test_late_events_can_be_dropped_and_are_counted() -> None:
    live = HEALTH.live(late="drop")
    live.push(event(7, 5, 1.0))
    assert live.push(event(7, 4, 99.0)) is None
    assert live.stats == (2, 1, 1, 0, 0, 1, 0)
    rows = [event(7, 6, 2.0), event(7, 3, 99.0), event(9, 1, 5.0), event(7, 5.5, 99.0), event(9, 1, 6.0)]
    for kind in (pa.Table.from_pylist, pd.DataFrame, pl.DataFrame):
        live = HEALTH.live(late="drop")
        live.push(event(7, 5, 1.0))
        found = live.push_many(kind(rows))
        peaks = (
            found["peak"].to_pylist()
            if isinstance(found, pa.Table)
            else found["peak"].tolist()
            if isinstance(found, pd.DataFrame)
            else found["peak"].to_list()
        )
        assert peaks == [2.0, 5.0, 6.0]
        assert live.stats == (6, 4, 2, 0, 0, 2, 0)


def test_waiting_events_are_answered_in_order() -> None:
    live = HEALTH.live(late="wait:2 minutes")
    assert live.push(event(7, 0, 1.0, id=0)) == []
    assert live.push(event(7, 2, 3.0, id=1)) == []
    assert live.push(event(8, 0.5, 2.0, id=2)) == []
    assert live.push(event(7, 0, 5.0, id=3)) == []  # a peer of the first, just in time: 2 minutes behind
    found = live.push(event(8, 3, 9.0, id=4))
    assert [(row["id"], row["peak"], row["n"]) for row in found] == [(0, 5.0, 1), (3, 5.0, 2), (2, 2.0, 1)]
    assert live.push(event(9, 0.9, 7.0, id=5)) == []  # too late
    assert live.stats == (6, 3, 1, 2, 0, 2, 0)
    found = live.flush()
    assert [(row["id"], row["peak"]) for row in found] == [(1, 5.0), (4, 9.0)]
    assert live.stats == (6, 5, 1, 0, 0, 2, 0)
    assert live.push(event(7, 2.5, 1.0)) == []  # flush has answered up to minute 3
    assert live.stats.late == 2
    assert live.push(event(7, 3.5, 1.0)) == []
    assert live.stats.waiting == 1


def test_answers_through_a_callback_and_none_lost_where_it_fails() -> None:
    seen: list[int] = []

    def take(row: dict[str, Any]) -> None:
        if row["id"] == 1 and not broken.pop():
            raise OSError("the sink is full")
        seen.append(row["id"])

    broken = [True, False]
    live = HEALTH.live(late="wait:0s", answered=take)
    for i in range(3):
        if i == 2:
            with pytest.raises(OSError, match="full"):
                live.push(event(7, i, 1.0, id=i))
        else:
            assert live.push(event(7, i, 1.0, id=i)) == []
    assert seen == [0]
    assert live.flush() == []
    assert seen == [0, 1, 2]
    assert live.stats == (3, 3, 0, 0, 0, 1, 0)


def test_a_batch_is_its_events_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(4)
    rows = [
        event(choose.randrange(3), i // 3, choose.choice([None, 1.0, 2.5, -1.0]), ok=choose.random() < 0.5)
        for i in range(400)
    ]
    definition = sw.Sliding(
        by="machine",
        on="ts",
        a=sw.max("temp").over("10 minutes"),
        b=sw.first("temp").where("ok").over(rows=5),
        c=sw.mean("temp").over("1 hour", closed="left"),
        d=sw.collect("temp").over("2 minutes"),
        e=sw.last("ts").over(rows=3, closed="left"),
        f=sw.count().over("all"),
    )
    one = definition.live()
    expected = [one.push(row) for row in rows]
    for kernels in (True, False, None):
        if kernels is not None:
            monkeypatch.setattr(batch, "by_kernels", lambda _incoming, kernels=kernels: kernels)
        else:
            monkeypatch.undo()
        for kind in ("arrow", "pandas", "polars"):
            live = definition.live()
            found: list[Any] = []
            at = 0
            while at < len(rows):
                piece = rows[at : at + choose.choice([1, 10, 150])]
                at += len(piece)
                table = pa.Table.from_pylist(piece)
                if kind == "pandas":
                    answered = pa.Table.from_pandas(live.push_many(table.to_pandas()), preserve_index=False)
                elif kind == "polars":
                    answered = live.push_many(pl.from_arrow(table)).to_arrow()
                else:
                    answered = live.push_many(table)
                assert answered.column_names == [*table.column_names, *definition.columns]
                found += answered.select(list(definition.columns)).to_pylist()
                if at < len(rows) and choose.random() < 0.3:
                    found.append(live.push(rows[at]))
                    at += 1
            assert found == expected
            assert live.stats == one.stats


def test_batches_may_change_their_types() -> None:
    """Integers, then floats; whole seconds, then nanoseconds: what has no common array goes in one by one."""
    definition = sw.Sliding(on="t", top=sw.max("x").over("1h"), all=sw.collect("x").over(rows=3))
    live = definition.live()
    first = pa.table({"t": pa.array(range(200), pa.timestamp("s")), "x": pa.array(range(200))})
    live.push_many(first)
    second = pa.table(
        {"t": pa.array([10**9 * (200 + i) + 1 for i in range(200)], pa.timestamp("ns")), "x": np.arange(200) + 0.5}
    )
    assert live.push_many(second)["top"].to_pylist()[-1] == 199.5
    far = pa.table(
        {"t": pa.array([253402300799], pa.timestamp("s")), "x": [7]}
    )  # the year 9999, beyond int64 nanoseconds
    assert live.push_many(far)["all"].to_pylist() == [[198.5, 199.5, 7.0]]


def test_batches_of_waiting_events(monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(6)
    rows = [event(choose.choice("ab"), i // 4, float(choose.randrange(5)), id=i) for i in range(600)]
    mixed = sorted(rows, key=lambda row: row["ts"] + timedelta(minutes=choose.random() * 9))
    expected = {row["id"]: row for row in HEALTH(pa.Table.from_pylist(rows)).to_pylist()}
    for few in (1, 10**9):
        monkeypatch.setattr("slidewise.live.batch.push_buffered.FEW", few)
        live = HEALTH.live(late="wait:10 minutes")
        found: list[dict[str, Any]] = []
        at = 0
        while at < len(mixed):
            piece = mixed[at : at + choose.choice([1, 30, 200])]
            at += len(piece)
            found += live.push_many(pa.Table.from_pylist(piece)).to_pylist()
        found += live.flush()
        assert [row["ts"] for row in found] == sorted(row["ts"] for row in rows)
        assert sorted(found, key=lambda row: row["id"]) == [expected[i] for i in range(600)] or _exchanged(
            found, expected
        )
        assert live.stats == (600, 600, 0, 0, 0, 2, 0)


def _exchanged(found: list[dict[str, Any]], expected: dict[int, dict[str, Any]]) -> bool:
    """Rows equal in key, time and value may have exchanged their answers."""

    def of(rows: Any) -> list[str]:
        return sorted(repr({name: value for name, value in row.items() if name != "id"}) for row in rows)

    return of(found) == of(expected.values())


def test_what_is_computed_of_an_event_is_not_shown_among_its_columns() -> None:
    with pytest.raises(sw.InputError, match=r"It has ts, y; did you mean 'y'\?"):
        sw.Sliding(on="ts", r=sw.rate("yy").over(10)).live().push({"ts": 1, "y": 2})


BAD: list[tuple[Any, str]] = [
    ({"machine": 7, "temp": 1.0}, "no 'ts'; it has machine, temp"),
    ({"ts": NOON, "temp": 1.0}, "no 'machine'"),
    ({"machine": 7, "ts": NOON}, "no 'temp', which 'peak' reads; give None"),
    ({"machine": 7, "ts": NOON, "tmp": 1.0}, "It has machine, ts, tmp; did you mean 'tmp'"),
    (event(7, 0, "hot"), "hot"),
    ({"machine": 7, "ts": None, "temp": 1.0}, "'ts' is None; every event needs a time"),
    ({"machine": 7, "ts": float("nan"), "temp": 1.0}, "'ts' is nan"),
    ({"machine": 7, "ts": "noon", "temp": 1.0}, "no datetime, date or finite number"),
    ({"machine": 7, "ts": True, "temp": 1.0}, "no datetime"),
    ({"machine": 7, "ts": 3.5, "temp": 1.0}, "stream's times are datetimes without a zone"),
    ({"machine": 7, "ts": NOON.replace(tzinfo=UTC), "temp": 1.0}, "stream's times are datetimes without a zone"),
    ({"machine": [7], "ts": NOON, "temp": 1.0}, "cannot be a key"),
    ([7, NOON, 1.0], "an event is a dict of its columns, not a list"),
    (pd.DataFrame({"k": [7]}), "not a DataFrame; push_many takes a table of them"),
    (pa.table({"k": [7]}), "not a Table; push_many takes a table of them"),
    (None, "an event is a dict"),
]


@pytest.mark.parametrize("late", ["error", "drop", "wait:0s"])
@pytest.mark.parametrize(("row", "message"), BAD)
def test_bad_events_change_nothing(late: str, row: Any, message: str) -> None:
    live = HEALTH.live(late=late)
    for minute in range(3):
        live.push(event(7, minute - 3, 1.0 + minute))
    before = live.snapshot()
    with pytest.raises(sw.SlidewiseError, match=message):
        live.push(row)
    assert live.snapshot() == before


def failing(calls: list[int]) -> sw.Operator:
    """A sum whose combine raises when the countdown is over."""

    def combine(a: int, b: int) -> int:
        calls[0] -= 1
        if calls[0] == 0:
            raise ZeroDivisionError("on purpose")
        return a + b

    return sw.operator(name="failing", identity=0, combine=combine)


@pytest.mark.filterwarnings("ignore:operator 'failing' cannot be compiled")
@pytest.mark.parametrize("window", [{"last": 4}, {"rows": 3}, {"last": 4, "closed": "left"}, {"last": "all"}], ids=str)
@pytest.mark.parametrize("whole", [False, True], ids=["event", "batch"])
def test_an_operator_that_fails_leaves_all_aggregates_as_they_were(window: Any, whole: bool) -> None:
    calls = [0]
    last = window.get("last")
    more = {name: value for name, value in window.items() if name != "last"}
    definition = sw.Sliding(
        by="k", on="t", a=sw.max("x").over(3), b=failing(calls)("x").over(last, **more), c=sw.sum("x").over("all")
    )
    rows = [{"k": i % 2, "t": i // 2, "x": i * 7 % 5} for i in range(40)]
    for fail_at in range(1, 12):
        live, other = definition.live(), definition.live()
        calls[0] = 0
        for row in rows[:20]:
            live.push(row)
            other.push(row)
        before = live.snapshot()
        calls[0] = fail_at
        failed = False
        for i in range(20, 40):
            try:
                live.push_many(pa.Table.from_pylist(rows[20:])) if whole else live.push(rows[i])
            except (ZeroDivisionError, sw.SlidewiseError):
                failed = True
                break
            if whole:
                break
            before = live.snapshot()
            left, calls[0] = calls[0], 0
            other.push(rows[i])
            calls[0] = left
        assert failed
        assert _answers_only(definition, live.snapshot()) == _answers_only(definition, before)
        calls[0] = 0
        rest = rows[20:] if whole else rows[i:]
        assert [live.push(row) for row in rest] == [other.push(row) for row in rest]


def _answers_only(definition: sw.Sliding, blob: bytes) -> Any:
    live = definition.restore(blob)
    return live.stats, [(key, track.now, track.count) for key, track in live.key_states.items()]


def test_a_sum_that_does_not_fit_is_an_error_and_the_event_is_not_taken_in() -> None:
    definition = sw.Sliding(on="t", n=sw.count().over(9), total=sw.sum("x").over(9))
    live = definition.live()
    live.push({"t": 0, "x": 2**62})
    before = live.snapshot()
    with pytest.raises(sw.SumOverflowError) as caught:
        live.push({"t": 1, "x": 2**62})
    assert "the event was not taken in" in "".join(caught.value.__notes__)
    assert live.snapshot() == before
    assert live.push({"t": 1, "x": 5}) == {"n": 2, "total": 2**62 + 5}
    waiting = definition.live(late="wait:0")
    for t in range(3):
        waiting.push({"t": 0, "x": 2**62 if t < 2 else -(2**62)})
    assert [row["total"] for row in waiting.flush()] == [2**62] * 3  # one answer for all of them
    waiting.push({"t": 1, "x": 2**62})
    with pytest.raises(sw.SumOverflowError) as caught:
        waiting.push({"t": 2, "x": 1})
    assert "1 waiting events of time 1 were left out" in "".join(caught.value.__notes__)
    assert waiting.stats.failed == 1
    assert [row["total"] for row in waiting.flush()] == [2**62 + 1]


@pytest.mark.parametrize("window", [9, "all"])
def test_peers_in_a_batch_may_pass_the_limit_together(window: Any) -> None:
    """The sum of peers fits, though the sum of the first two does not."""
    values = [2**62, 2**62, 2**62 - 1, -(2**62), -1]
    rows = [{"t": i // 4, "seq": i, "x": x} for i, x in enumerate(values)]
    definition = sw.Sliding(on="t", ties="seq", total=sw.sum("x").over(window))
    expected = [2**63 - 1] * 4 + [2**63 - 2]
    assert definition(pa.Table.from_pylist(rows))["total"].to_pylist() == expected
    live = definition.live(late="wait:0")
    with patch("slidewise.live.batch.push_buffered.FEW", 1):
        found = live.push_many(pa.Table.from_pylist([*rows, {"t": 2, "seq": 5, "x": 0}]))
    assert found["total"].to_pylist() == expected


def test_idle_keys_can_be_forgotten() -> None:
    live = HEALTH.live()
    for i in range(10):
        live.push(event(i, i, float(i)))
    assert live.forget(before=NOON + timedelta(minutes=4)) == 4
    assert len(live) == 6
    assert live.push(event(0, 0, 1.0)) == {"peak": 1.0, "n": 1, "all": 1.0}  # starts anew
    with pytest.raises(sw.SlidewiseError, match="no time column"):
        sw.Sliding(n=sw.count().over(rows=2)).live().forget(before=1)


def test_rare_keys_are_small() -> None:
    """100,000 keys with three events each, one aggregate: the process grows by less than 250 MB."""
    code = """
import os
from datetime import datetime, timedelta
import pyarrow as pa
import slidewise as sw

def size():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

noon = datetime(2024, 3, 1, 12)
health = sw.Sliding(by="k", on="t", top=sw.max("x").over("1h"))
rows = pa.table({"k": [1] * 3_000, "t": [noon] * 3_000, "x": [1.0] * 3_000})
health.live().push_many(rows)  # which loads the compiler
live = health.live()
live.push({"k": -1, "t": noon, "x": 1.0})
before = size()
for i in range(3):
    for k in range(100_000):
        live.push({"k": k, "t": noon + timedelta(minutes=i), "x": k / 7})
assert len(live) == 100_001
print(size() - before)
"""
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not say how much memory a process has")
    grown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert 10e6 < int(grown) < 250e6


def test_a_window_that_moves_on_frees_its_rows() -> None:
    live = sw.Sliding(on="t", top=sw.max("x").over(100)).live()
    for i in range(5_000):
        live.push({"t": i // 50, "x": i})
    assert live.key_states[()].panes[0].held() == 5_000
    live.push({"t": 10_000, "x": 1})
    assert live.key_states[()].panes[0].held() == 1


def test_times_of_every_kind_mean_the_same() -> None:
    definition = sw.Sliding(on="t", n=sw.count().over("2s"))
    base = datetime(2024, 3, 31, 0, 59, 58)
    for make in (
        lambda i: base + timedelta(seconds=i),
        lambda i: np.datetime64(base, "us") + np.timedelta64(i, "s"),
        lambda i: pd.Timestamp(base) + pd.Timedelta(seconds=i),
        lambda i: base.replace(tzinfo=UTC) + timedelta(seconds=i),
    ):
        live = definition.live()
        assert [live.push({"t": make(i)})["n"] for i in (0, 1, 1, 2, 5)] == [1, 2, 3, 3, 1]
    days = sw.Sliding(on="t", n=sw.count().over("2d")).live()
    assert [days.push({"t": base.date() + timedelta(days=i)})["n"] for i in (0, 1, 2)] == [1, 2, 2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HEALTH.live(late="ignore"), "late='ignore' is none of"),
        (lambda: HEALTH.live(late="wait:soon"), "soon"),
        (lambda: HEALTH.live(late="wait:-1"), "from 0 on"),
        (lambda: HEALTH.live(answered=print), "answered= is for late='wait"),
        (lambda: HEALTH.live().flush(), "only live\\(late='wait:...'\\)"),
        (lambda: sw.Sliding(n=sw.count().over(rows=2)).live(late="wait:1s"), "no time column"),
        (
            lambda: sw.Sliding(on="t", n=sw.count().over("2s")).live().push({"t": 5}),
            "times are numbers, but 'n' is over 2 seconds",
        ),
        (
            lambda: sw.Sliding(on="t", n=sw.count().over(2)).live().push({"t": NOON}),
            "times are datetimes, but 'n' is over the number 2",
        ),
        (lambda: HEALTH.live().push_many([1]), "runs on pyarrow, pandas and polars"),
        (lambda: HEALTH.live().push_many(pa.table({"machine": [1]})), "'ts' not found"),
    ],
)
def test_mistakes(make: Any, message: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=message):
        make()
