"""Windows with a grain: how far off they are, how little they keep, and what becomes of them when things go wrong."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Counter, Sabotage, concat

import slidewise as sw
from slidewise.live.panes.cell_pane import CellPane
from slidewise.operators.values.equality import same
from slidewise.spark.batch.evaluator import BatchEvaluator
from slidewise.windows.grain import most_cells

CLOSED = ("right", "both", "left", "neither")


def test_a_grain_is_part_of_the_definition() -> None:
    def of(grain: Any) -> sw.Sliding:
        return sw.Sliding(by="k", on="ts", peak=sw.max("x").over("1 hour", closed="both", grain=grain))

    definition = of("1 second")
    assert "sw.max('x').over('1 hour', closed='both', grain='1 second')" in repr(definition)
    assert definition.to_dict()["columns"]["peak"]["grain"] == "1 second"
    assert 'grain = "1 second"' in definition.to_toml()
    assert sw.Sliding.from_toml(definition.to_toml()) == sw.Sliding.from_dict(definition.to_dict()) == definition
    assert len({of(grain).fingerprint() for grain in (None, "1s", "2s", "1000ms")}) == 3
    numbers = sw.Sliding(on="t", n=sw.count().over(10, grain=2.5))
    assert sw.Sliding.from_toml(numbers.to_toml()) == numbers


@pytest.mark.rule(17)
@settings(max_examples=60)
@given(
    times=st.lists(st.integers(-30, 30), min_size=1, max_size=12),
    last=st.integers(1, 15),
    grain=st.integers(1, 15),
)
def test_a_window_is_longer_by_less_than_a_grain_and_never_shorter(times: list[int], last: int, grain: int) -> None:
    grain = min(grain, last)
    table = pa.table({"t": sorted(times)})
    for closed in CLOSED:
        found = sw.Sliding(
            on="t",
            exact=sw.count().over(last, closed=closed),
            rounded=sw.count().over(last, closed=closed, grain=grain),
            longer=sw.count().over(last + grain - 1, closed=closed),
        )(table)
        for row in found.to_pylist():
            assert row["exact"] <= row["rounded"] <= row["longer"]
            if (row["t"] - last) % grain == 0:
                assert row["rounded"] == row["exact"], "exact where the old edge lies on the grid"


def panes(live: Any) -> list[CellPane]:
    return [pane for track in live.key_states.values() for pane in track.panes if isinstance(pane, CellPane)]


@pytest.mark.rule(17)
@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("how", ["events", "batches"])
def test_what_is_kept_has_a_bound_whatever_the_rate(closed: str, how: str) -> None:
    definition = sw.Sliding(by="k", on="t", mean=sw.mean("x").over(1_000, closed=closed, grain=100))
    most = most_cells(1_000, 100) + (closed in ("left", "neither"))
    sizes = []
    for rate in (1, 5):  # events in one unit of time
        live = definition.live()
        count = 3_000 * rate
        table = pa.table({"k": [1] * count, "t": [i // rate for i in range(count)], "x": [i / 8 for i in range(count)]})
        held = []
        if how == "events":
            for row in table.to_pylist():
                live.push(row)
                held.append(panes(live)[0].held())
        else:
            for at in range(0, count, 1_500):
                live.push_many(table.slice(at, 1_500))
                held.append(panes(live)[0].held())
            assert panes(live)[0].frozen is not None, "batches went through the kernels"
        assert max(held) == most if how == "events" else max(held) <= most
        sizes.append(len(live.snapshot()))
    assert abs(sizes[1] - sizes[0]) <= 40


def test_calls_per_event_have_a_bound_whatever_the_window() -> None:
    for cells, rate in ((5, 1), (5, 20), (300, 7)):
        counter = Counter(concat)
        definition = sw.Sliding(on="t", text=counter.operator("x").over(cells * 10, grain=10))
        live = definition.live()
        most = []
        for i in range(60 * cells):
            before, held = counter.calls, panes(live)[0].held() if i else 0
            live.push({"t": i * 10 // rate, "x": "a"})
            leaving = max(0, held + 1 - panes(live)[0].held())
            most.append(counter.calls - before)
            # 1 for the row, 2 for the answer, 3 where a cell closes, 2 for each that leaves
            assert most[-1] <= 6 + 2 * leaving
        assert sum(most) / len(most) <= 6


def answered(live: Any, rows: list[dict[str, Any]]) -> list[Any]:
    return [live.push(row) for row in rows]


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("spikes", [False, True])
def test_an_operator_that_raises_leaves_everything_as_it_was(closed: str, spikes: bool) -> None:
    choose = random.Random(7)
    times = sorted(choose.randrange(60) for _ in range(80))
    rows = [{"t": t, "x": chr(97 + i % 26)} for i, t in enumerate(times)]
    counter = Counter(concat)
    definition = sw.Sliding(on="t", text=counter.operator("x").over(14, closed=closed, grain=5))
    expected = answered(definition.live(spikes=spikes), rows)
    live = definition.live(spikes=spikes)
    found, failures = [], 0
    for row in rows:
        state = panes(live)[0].all_cells() if len(live) else None
        for calls in range(20):
            counter.calls, counter.fail_after = 0, calls
            try:
                found.append(live.push(row))
                break
            except sw.OperatorFailedError as error:
                failures += isinstance(error.__cause__, Sabotage)
            finally:
                counter.fail_after = None
            assert state is None or panes(live)[0].all_cells() == state
    assert failures > 100
    assert found == expected


@pytest.mark.parametrize("closed", CLOSED)
def test_batches_answer_with_what_has_arrived_so_far(closed: str) -> None:
    choose = random.Random(11)
    over: Any = {"last": 14, "closed": closed, "grain": 5}
    definition = sw.Sliding(
        by="k",
        on="t",
        mean=sw.mean("x").over(**over),
        n=sw.count().where("ok").over(**over),
        top=sw.max("x").where("ok").over(**over, at_least=2),
        words=sw.last("s").over(**over),
    )
    rows = [
        {
            "k": choose.choice("ab"),
            "t": t,
            "x": choose.choice([None, 1.5, -2.0, 0.25]),
            "ok": choose.choice([True, False, None]),
            "s": choose.choice([None, "p", "q"]),
        }
        for t in sorted(choose.randrange(-40, 60) for _ in range(240))
    ]
    schema = pa.schema([("k", "string"), ("t", "int64"), ("x", "float64"), ("ok", "bool"), ("s", "string")])
    live, other = definition.live(), definition.live()
    at, through = 0, 0
    with patch("slidewise.live.batch.push_many.by_kernels", lambda _batch: choose.random() < 0.7):
        while at < len(rows):
            some = rows[at : at + choose.choice([1, 4, 30])]
            at += len(some)
            if choose.random() < 0.3:
                found = [live.push(row) for row in some]
            else:
                found = live.push_many(pa.Table.from_pylist(some, schema)).select([*definition.columns]).to_pylist()
                through += panes(live)[0].frozen is not None
            assert found == [other.push(row) for row in some]
    assert through > 3


def test_a_batch_in_which_an_operator_raises_is_not_taken_in() -> None:
    picky = sw.operator(name="picky", identity=0, lift=lambda x: 10 // x, combine=lambda a, b: a + b)
    definition = sw.Sliding(by="k", on="t", n=picky("x").over(10, grain=4), text=concat("s").over(10, grain=4))
    good = pa.table({"k": [1, 2] * 200, "t": np.arange(400) // 20, "x": [5] * 400, "s": ["a"] * 400})
    live, other = definition.live(), definition.live()
    for one in (live, other):
        one.push_many(good)
        one.push({"k": 1, "t": 19, "x": 2, "s": "b"})
    bad = good.set_column(1, "t", pa.array(np.arange(400) // 20 + 20)).set_column(2, "x", pa.array([1] * 399 + [0]))
    before = live.snapshot()
    with pytest.raises(sw.OperatorFailedError, match="picky"):
        live.push_many(bad)
    assert live.snapshot() == before
    more = {"k": 2, "t": 25, "x": 1, "s": "c"}
    assert live.push(more) == other.push(more)


@pytest.mark.parametrize("closed", CLOSED)
def test_going_on_from_a_snapshot_gives_the_same_bits(closed: str) -> None:
    choose = random.Random(3)
    definition = sw.Sliding(
        by="k",
        on="t",
        sum=sw.sum("x").over(30, closed=closed, grain=7),
        deviation=sw.stddev("x").over(30, closed=closed, grain=7),
        last=sw.last("x").over(30, closed=closed, grain=7),
    )
    live = again = definition.live()
    now = 0.0
    for i in range(300):
        now += choose.choice([0, 0, 0.5, 1, 3])
        row = {"k": choose.choice("ab"), "t": now, "x": choose.gauss(0, 1) * 10 ** choose.randrange(12)}
        if i % 17 == 16:
            again = definition.restore(again.snapshot())
        found = live.push(row)
        assert same(found, again.push(row) if again is not live else found)
        if i == 16:
            again = definition.restore(live.snapshot())
    assert live.snapshot() == again.snapshot()


@pytest.mark.parametrize("closed", CLOSED)
def test_whole_times_may_go_over_to_floats(closed: str) -> None:
    definition = sw.Sliding(on="t", all=sw.collect("x").over(2.5, closed=closed, grain=0.5))
    times: list[Any] = [1, 2, 3, 3, 4, 5.0, 5.25, 6.5, 6.5, 7]
    rows = [{"t": t, "x": i} for i, t in enumerate(times)]
    live = definition.live(late="wait:0")
    found = [row for event in rows for row in live.push(event)] + live.flush()
    table = definition(pa.table({"t": [float(t) for t in times], "x": list(range(len(times)))}))
    assert [row["all"] for row in found] == table["all"].to_pylist()


def test_a_state_that_is_not_plain_is_refused_with_the_reason() -> None:
    odd = sw.operator(name="odd", identity=frozenset(), lift=lambda x: frozenset([x]), combine=lambda a, b: a | b)
    live = sw.Sliding(on="t", n=odd("x").over(10, grain=5)).live()
    live.push({"t": 1, "x": 1})
    with pytest.raises(sw.SnapshotError, match=r"a state of 'n' is or holds frozenset.*encode= and decode="):
        live.snapshot()


def test_a_task_of_spark_carries_cells() -> None:
    definition = sw.Sliding(
        by="k", on="t", n=sw.count("x").over(1_000, grain=100), m=sw.mean("x").over(1_000, grain=50)
    )
    evaluator = BatchEvaluator(definition)
    count = 40_000
    table = pa.table({"k": [1] * count, "t": [i // 10 for i in range(count)], "x": [1.0] * count})
    for at in range(0, count, 4_000):
        evaluator.push(table.slice(at, 4_000))
        assert evaluator.size <= most_cells(1_000, 50) + 10  # rows of the newest time wait


def test_explain_says_what_a_grain_keeps() -> None:
    definition = sw.Sliding(
        on="ts",
        mean=sw.mean("x").over("1 hour", grain="1s"),
        before=sw.count().over("1 hour", closed="left", grain="1 minute"),
        own=concat("x").over("1 hour", grain="7 minutes"),
    )
    mean, before, own = definition.explain()
    assert (mean.partials, before.partials, own.partials) == (3_601, 62, 10)
    assert mean.state == "at most 3,601 partials at any rate of events: 144 KB stored, 230 KB live"
    assert "at most 10 partials at any rate of events, whose size is the operator's own" in own.state
    text = str(definition.explain())
    assert "grain: the window is longer than 1 hour by less than 1 second" in text
    assert "suggestion" not in text
    assert all(len(line) <= 150 for line in text.splitlines())


def test_explain_suggests_a_grain_where_windows_hold_more_than_a_million_rows() -> None:
    definition = sw.Sliding(
        on="ts", hour=sw.max("x").over("1 hour"), middle=sw.median("x").over("7d"), short=sw.max("x").over("10s")
    )

    def said(**known: Any) -> list[str | None]:
        return [one.suggestion for one in definition.explain(**known)]

    hour, middle, short = said()
    assert hour == "more than a million rows of a key from 278 events per second on; with grain='1 second' at most " + (
        "3,601 partials"
    )
    assert middle is not None
    assert "with sw.quantile(0.5, approximate=0.01) and grain='10 minutes' at most 1,009 partials" in middle
    assert short is None
    assert said(rate=1) == [None, None, None]
    assert said(rate=10_000)[0] == "36,000,000 rows of a key at 10,000 events per second; with grain='1 second' at " + (
        "most 3,601 partials"
    )
    count = 1_200_000
    table = pa.table({"ts": pa.array(np.arange(count) * 5, pa.timestamp("ms")), "x": np.zeros(count)})
    assert said(table=table) == [None, "a window holds up to 1,200,000 rows of a key; with sw.quantile(0.5, " + (
        "approximate=0.01) and grain='10 minutes' at most 1,009 partials"
    ), None]  # fmt: skip
    numbers = sw.Sliding(on="t", a=sw.max("x").over(5_000_000))
    assert numbers.explain()[0].suggestion is None, "how fast these are is not known"
    assert "grain=1000 at most 5,001 partials" in str(numbers.explain(rate=1))
    with pytest.raises(sw.SlidewiseError, match=r"rate= is how many events a key has in a second"):
        definition.explain(rate=0)


def test_cells_of_a_pane_are_in_order() -> None:
    live = sw.Sliding(on="t", n=sw.sum("x").over(20, grain=6)).live()
    for t in (-13, -12, -7, -6, 0, 1, 5, 6, 7):
        live.push({"t": t, "x": 1})
    cells = panes(live)[0].all_cells()
    assert [(one.place, one.rows) for one in cells] == [(-12, 2), (-6, 2), (0, 1), (6, 3), (7, 1)]
    assert all(a.place < b.place for a, b in pairwise(cells))
