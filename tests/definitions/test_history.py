"""Rows that may be revised, in arrays: the answers, errors and snapshots of trees."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from live_outcomes import SCHEMA, outcome

import slidewise as sw
from slidewise.live.native import plan
from slidewise.operators.values.equality import same

PLAIN = sw.Sliding(
    by="k",
    on="t",
    peak=sw.max("x").over(10),
    mean=sw.mean("x").over(10, at_least=2),
    n=sw.count().over(10),
    both=sw.max("i").where("ok").over(5, closed="both"),
    total=sw.sum("i").over(25),
)
ORDERED = sw.Sliding(
    by="k",
    on="t",
    peak=sw.max("x").over(10),
    few=sw.sum("i").over(rows=4),
    last=sw.last("x").over(6),
    spread=sw.variance("x").over(7),
    most=sw.argmax("i", "x").over(9),
    rows=sw.count("x").over(rows=6),
)
TIED = sw.Sliding(
    by="k",
    on="t",
    ties=["i", "ok"],
    some=sw.mean("x").where("ok").over(rows=5),
    first=sw.first("x").over(8),
    n=sw.count().over(rows=3),
)
DEFINITIONS = {"plain": PLAIN, "ordered": ORDERED, "tied": TIED}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rows lie in arrays from the first event on that may."""
    monkeypatch.setattr(plan, "FROM_EVENTS", 1)
    monkeypatch.setattr(plan, "IN_BACKGROUND", False)


def in_trees(definition: sw.Sliding, **options: Any) -> Any:
    live = definition.live(late="revise", **options)
    live.opening = None
    return live


def events(seed: int, count: int, keys: int = 4) -> list[dict[str, Any]]:
    choose = random.Random(seed)
    time, rows = 100, []
    for number in range(count):
        time += choose.choice([0, 0, 1, 2, 30 if choose.random() < 0.05 else 1])
        late = choose.choice([0, 0, 0, 0, choose.randrange(4), choose.randrange(40)])
        rows.append(
            {
                "k": choose.randrange(keys) if choose.random() < 0.97 else None,
                "t": time - late,
                "x": choose.choice([None, float("nan"), -0.0, choose.random(), choose.randrange(5) / 2]),
                "i": choose.choice([None, choose.randrange(-9, 9)]),
                "ok": choose.choice([True, False, None]),
                "id": str(number),
            }
        )
    rows[0] |= {"k": 0, "x": 1.5, "i": 1, "ok": True}
    return rows


pytestmark = pytest.mark.filterwarnings("ignore:.*events were dropped")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["push", "push", "batch", "batch", "nulls", "get", "many", "snapshot", "text", "huge", "forget", "other"]
        ),
        st.integers(1, 60),
    ),
    min_size=5,
    max_size=40,
)


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(["plain", "ordered", "tied"]),
    retain=st.sampled_from([3, 20, 60, "all"]),
    seed=st.integers(0, 10_000),
    steps=STEPS,
)
def test_any_sequence_of_calls_is_that_of_trees(
    name: str, retain: Any, seed: int, steps: list[tuple[str, int]]
) -> None:
    definition = DEFINITIONS[name]
    live, expected = definition.live(late="revise", retain=retain), in_trees(definition, retain=retain)
    rows = events(seed, 3_000)

    def both(call: Any) -> None:
        mine, theirs = outcome(lambda: call(live)), outcome(lambda: call(expected))
        assert same(mine, theirs), f"{mine} instead of {theirs}"

    both(lambda one: one.push(rows[0]))
    at = 1
    for step, size in steps:
        some = rows[at : at + size]
        now = rows[at - 1]["t"]
        if step == "push":
            for row in some[:20]:
                both(lambda one, row=row: one.push(row))
            at += len(some[:20])
        elif step == "batch":
            plain = [row | {"k": row["k"] or 0, "x": row["x"] or 0.5, "i": row["i"] or 0, "ok": True} for row in some]
            both(lambda one, plain=plain: one.push_many(pa.Table.from_pylist(plain, SCHEMA)))
            at += len(some)
        elif step == "nulls":
            both(lambda one, some=some: one.push_many(pa.Table.from_pylist(some, SCHEMA)))
            at += len(some)
        elif step == "other":  # columns that differ from those before
            part = pa.Table.from_pylist(some, SCHEMA).append_column("more", pa.array(range(len(some))))
            both(lambda one, part=part: one.push_many(part))
            at += len(some)
        elif step == "get":
            both(lambda one, now=now, size=size: one.get({"k": size % 5}, at=now + size % 4 * 5 - 8))
        elif step == "many":
            asked = pa.table({"k": [0, 1, 2, 9, None], "t": [now + size] * 5})
            both(lambda one, asked=asked: one.get_many(asked))
        elif step == "snapshot":
            blob = live.snapshot()
            assert live.snapshot() == blob
            live = definition.restore(blob)
            assert live.snapshot() == blob
        elif step == "text":
            both(lambda one, row=rows[at]: one.push(row | {"x": "much"}))
            both(lambda one, row=rows[at]: one.push({"k": 1}))
            both(lambda one, row=rows[at]: one.push(row | {"few": 1, "peak": 2}))
        elif step == "huge":
            huge = [row | {"k": 0, "i": 2**62, "x": 1.0} for row in some[:4]]
            both(lambda one, huge=huge: one.push_many(pa.Table.from_pylist(huge, SCHEMA)))
            for row in huge:
                both(lambda one, row=row: one.push(row))
            at += 4
        elif step == "forget":
            both(lambda one, now=now, size=size: one.forget(now - size))
        assert live.stats == expected.stats
        assert live.revised == expected.revised
        assert live.seen == expected.seen
        assert len(live) == len(expected)
    assert dict(live.key_states.items()).keys() == dict(expected.key_states.items()).keys()
    for key, state in expected.key_states.items():
        mine = live.key_states[key]
        assert (mine.now, mine.count) == (state.now, state.count)
        retained = [(row.place[0], row.event, row.answers) for row in state.rows if row.event is not None]
        found = [(row.place[0], row.event, row.answers) for row in mine.rows if row.event is not None]
        assert same(found[-len(retained) :], retained)


def test_rows_lie_in_arrays() -> None:
    live = PLAIN.live(late="revise")
    for row in events(3, 50):
        live.push(row)
    live.push_many(pa.Table.from_pylist([row | {"t": row["t"] + 500} for row in events(4, 100)], SCHEMA))
    assert live.history is not None
    assert live.history.misfits == 0
    assert len(live.history.history.homes) == len(live) == 5
    for definition in (ORDERED, TIED):
        ordered = definition.live(late="revise", retain=10)
        ordered.push(events(3, 1)[0])
        ordered.push_many(pa.Table.from_pylist(events(4, 100), SCHEMA))
        assert ordered.history is not None
        assert ordered.history.misfits == 0


@pytest.mark.parametrize("closed", ["right", "both"])
@pytest.mark.parametrize("kind", ["floats", "naive", "zoned"])
@pytest.mark.parametrize("retain", [4, 0.3])
def test_times_of_every_kind(closed: str, kind: str, retain: float) -> None:
    length: Any = 1.5 if kind == "floats" else timedelta(seconds=3)
    health = sw.Sliding(by="k", on="t", mean=sw.mean("x").over(length, closed=closed), n=sw.count("x").over(length))
    choose = random.Random(5)
    start = datetime(2024, 3, 1, tzinfo=UTC if kind == "zoned" else None)
    rows = []
    at = 100.0
    for number in range(600):
        at += choose.choice([0.0, 0.5, 0.1, 1.5])
        moment = at - choose.choice([0, 0, 0.1, 0.5, choose.random() * 5])
        time = moment if kind == "floats" else start + timedelta(milliseconds=int(moment * 1000))
        rows.append({"k": choose.choice("abc"), "t": time, "x": choose.random(), "id": number})
    length = retain if kind == "floats" else timedelta(seconds=retain)
    live, expected = health.live(late="revise", retain=length), in_trees(health, retain=length)
    for i in range(0, 600, 40):
        for row in rows[i : i + 10]:
            assert live.push(row) == expected.push(row)
        batch = pa.Table.from_pylist(rows[i + 10 : i + 40])
        assert outcome(lambda batch=batch: live.push_many(batch)) == outcome(lambda b=batch: expected.push_many(b))
    assert live.stats == expected.stats
    assert live.history is not None
    assert live.history.misfits == 0


def test_tables_of_pandas_and_text_keys() -> None:
    health = sw.Sliding(by="k", on="t", peak=sw.max("x").over(10), mean=sw.mean("x").over(10))
    times = [t - (t * 7 % 13 if t % 5 == 0 else 0) for t in range(1_000)]
    frame = pd.DataFrame({"k": list("abcab") * 200, "t": times, "x": [float(i % 17) for i in range(1_000)]})
    live, expected = health.live(late="revise"), in_trees(health)
    for at in range(0, 1_000, 250):
        part = frame.iloc[at : at + 250]
        pd.testing.assert_frame_equal(live.push_many(part), expected.push_many(part))
    later = frame.assign(t=frame["t"] + 1_000)
    table = pa.Table.from_pandas(later, preserve_index=False)
    for at in range(0, 1_000, 300):
        part = table.slice(at, 300)
        assert live.push_many(part).equals(expected.push_many(part))
    assert live.history is not None
    assert live.history.misfits == 0


@pytest.mark.parametrize("keys", [1, 50])
def test_a_long_stream_in_small_batches_keeps_what_it_retains(keys: int) -> None:
    health = sw.Sliding(by="k", on="t", mean=sw.mean("x").over(100), peak=sw.max("x").over(100))
    choose = random.Random(keys)
    live, expected = health.live(late="revise"), in_trees(health)
    at = 0
    for size in [40, 100, 7, 300, 33] * 20:
        times = [at + i // 20 - (choose.randrange(20) if choose.random() < 0.02 else 0) for i in range(size)]
        at = max(times)
        rows = {"k": [choose.randrange(keys) for _ in times], "t": times, "x": [choose.random() for _ in times]}
        batch = pa.table(rows).append_column("id", pa.array([f"{at}-{i}" for i in range(size)]))
        assert live.push_many(batch).to_pylist() == expected.push_many(batch).to_pylist()
    assert live.revised == expected.revised > 100
    log = live.history.states.events
    living = len(live.history.states._living())
    assert log._held + len(log._single) <= 2 * living + 4_096
    assert log._kept + len(log._single) == living


def test_a_thread_compiles_while_events_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "IN_BACKGROUND", True)
    health = sw.Sliding(by="k", on="t", peak=sw.max("x").over(50), few=sw.sum("x").over(rows=3))
    live, expected = health.live(late="revise", retain=20), in_trees(health, retain=20)
    time = 0
    while live.history is None and time < 100_000:
        row = {"k": time % 3, "t": time - time % 5, "x": float(time % 7)}
        assert live.push(row) == expected.push(row)
        time += 1
    assert live.history is not None
    for number in range(500):
        time += number % 2
        row = {"k": time % 3, "t": time - time % 5, "x": float(time % 7)}
        assert live.push(row) == expected.push(row)
    assert live.history.misfits == 0
    assert not live.history.states.trees


def test_what_arrays_do_not_hold_goes_on_in_trees() -> None:
    health = sw.Sliding(by="k", on="t", peak=sw.max("x").over(50))
    live, expected = health.live(late="revise"), in_trees(health)
    for time in range(200):
        row = {"k": time % 3, "t": time - time % 7, "x": float(time) if time % 4 else time}
        assert same(live.push(row), expected.push(row))
    assert live.history is None, "given up after some misfits"
    assert live.get({"k": 1}) == expected.get({"k": 1})
    assert len(live) == 3


def test_a_row_takes_less_memory_than_in_trees() -> None:
    health = sw.Sliding(by="k", on="t", peak=sw.max("x").over(1_000_000), mean=sw.mean("x").over(1_000_000))
    rows = pa.table({"k": [i % 100 for i in range(100_000)], "t": range(100_000), "x": [1.5] * 100_000})
    live = health.live(late="revise")
    live.push_many(rows)
    assert live.history is not None
    assert live.history.history.nbytes() / 100_000 < 450
