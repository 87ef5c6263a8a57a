"""`live(late="revise")`: whatever the order of events, their last answers are those of the table."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from lanes import Case, assert_same, direct, plain
from random_definitions import SCHEMA, definitions, rows
from support import Counter

import slidewise as sw
from slidewise.live.native import plan
from slidewise.live.trees.revisable_state import RevisableState

PEAKS = sw.Sliding(by="machine", on="ts", peak=sw.max("temp").over(10), two=sw.sum("temp").over(rows=2))


@pytest.fixture(autouse=True, params=["trees", "arrays"])
def where_rows_lie(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rows lie in trees, or in arrays from the first event on where these hold them."""
    if request.param == "arrays":
        monkeypatch.setattr(plan, "FROM_EVENTS", 0)
        monkeypatch.setattr(plan, "IN_BACKGROUND", False)


def at(ts: int, temp: float | None, machine: int = 7) -> dict[str, Any]:
    return {"machine": machine, "ts": ts, "temp": temp}


def test_a_late_event_is_answered_and_others_again() -> None:
    live = PEAKS.live(late="revise", retain=100)
    assert live.push(at(0, 1.0)) == [{**at(0, 1.0), "peak": 1.0, "two": 1.0}]
    assert live.push(at(20, 2.0)) == [{**at(20, 2.0), "peak": 2.0, "two": 3.0}]
    live.push(at(30, 1.0))
    assert live.push(at(12, 9.0)) == [
        {**at(12, 9.0), "peak": 9.0, "two": 10.0},
        {**at(20, 2.0), "peak": 9.0, "two": 11.0},  # and not that at 30, whose answers stay
    ]
    assert live.push(at(12, 3.0, machine=8)) == [{**at(12, 3.0, machine=8), "peak": 3.0, "two": 3.0}]
    assert live.push(at(20, 2.0, 8)) == [{**at(20, 2.0, 8), "peak": 3.0, "two": 5.0}]
    assert live.push(at(20, 5.0)) == [  # peers see one another; 2.0 comes before 5.0, as on a table
        {**at(20, 5.0), "peak": 9.0, "two": 7.0},
        {**at(30, 1.0), "peak": 1.0, "two": 6.0},
    ]
    assert live.push(at(25, None)) == [
        {**at(25, None), "peak": 5.0, "two": 5.0},
        {**at(30, 1.0), "peak": 1.0, "two": 1.0},
    ]
    assert live.stats == (8, 8, 0, 0, 0, 2, 0)
    assert live.revised == 3


def test_batches_give_each_row_once() -> None:
    live = PEAKS.live(late="revise", retain=100)
    live.push_many(pa.Table.from_pylist([at(0, 1.0), at(20, 2.0), at(0, 4.0, 8)]))
    found = live.push_many(pa.Table.from_pylist([at(15, 3.0), at(30, 6.0), at(14, 7.0)]))
    assert [(row["machine"], row["ts"], row["peak"]) for row in found.to_pylist()] == [
        *((7, 15, 7.0), (7, 30, 6.0), (7, 14, 7.0)),
        (7, 20, 7.0),
    ]
    frame = live.push_many(pd.DataFrame([at(1, 8.0, 8)]))
    assert isinstance(frame, pd.DataFrame)
    assert frame["peak"].tolist() == [8.0]
    assert live.push_many(pa.Table.from_pylist([], schema=found.schema.remove(4).remove(3))).num_rows == 0


@pytest.mark.parametrize("closed", ["right", "both", "left"])
def test_batches_report_changed_peers_behind_a_row_without_a_value(closed: str) -> None:
    """A row that no aggregate counts stands among its peers, before or behind those whose answers change."""
    for seed in range(60):
        choose = random.Random(seed)
        definition = sw.Sliding(on="t", s=sw.sum("x").over(10, closed=closed), n=sw.count().over(4))
        live = definition.live(late="revise", retain=100)
        seen: dict[int, dict[str, Any]] = {}
        rows = [{"id": i, "t": choose.randrange(4), "x": choose.choice((None, i))} for i in range(12)]
        for start, stop in ((0, 3), (3, 8), (8, 12)):
            for row in live.push_many(pa.Table.from_pylist(rows[start:stop])).to_pylist():
                seen[row["id"]] = row
            assert [seen[i] for i in range(stop)] == definition(pa.Table.from_pylist(rows[:stop])).to_pylist(), seed
    live = sw.Sliding(on="t", s=sw.sum("x").over(10)).live(late="revise")
    live.push({"t": 0, "x": 1, "id": 0})
    batch = pa.table({"t": [0, 0], "x": pa.array([None, 5]), "id": [1, 2]})
    assert sorted((row["id"], row["s"]) for row in live.push_many(batch).to_pylist()) == [(0, 6), (1, 6), (2, 6)]


def last_of(live: Any, given: list[dict[str, Any]], last: dict[int, dict[str, Any]]) -> None:
    for row in given:
        last[row["id"]] = row


@given(rows=rows, definition=definitions(), seed=st.integers(0, 9))
@settings(max_examples=50)
def test_after_every_event_all_answers_are_those_of_the_table(
    rows: list[dict[str, Any]], definition: sw.Sliding, seed: int
) -> None:
    """All closed ends, windows of rows and of everything, ties, nulls, NaN and filters; every prefix of the stream."""
    if definition.on is None:
        return
    note(repr(definition))
    live = definition.live(late="revise", retain="all")
    last: dict[int, dict[str, Any]] = {}
    events = [{**row, "id": i} for i, row in enumerate(rows)]
    random.Random(seed).shuffle(events)
    schema = SCHEMA.append(pa.field("id", pa.int64()))
    for n, event in enumerate(events, 1):
        last_of(live, live.push(event), last)
        if n % 5 == 0 or n == len(events):
            table = pa.Table.from_pylist(events[:n], schema=schema)
            found = [{name: plain(last[row["id"]][name]) for name in definition.columns} for row in events[:n]]
            assert_same(Case("prefix", definition, table), found, direct(definition, table))


@pytest.mark.filterwarnings("ignore:.*events were dropped")
@pytest.mark.parametrize("closed", ["right", "left", "both", "neither"])
@pytest.mark.parametrize("retain", [1, 40])
def test_events_within_the_retention(closed: str, retain: int) -> None:
    """Old rows are dropped from memory, and the answers of those that stay do not miss them."""
    choose = random.Random(retain)
    definition = sw.Sliding(
        by="k",
        on="t",
        peak=sw.max("x").over(10, closed=closed),
        all=sw.sum("x").over("all", closed=closed),
        letters=sw.collect("x").over(7, closed=closed),
        rows=sw.collect("x").over(rows=5, closed="left" if closed == "left" else "right"),
        few=sw.count("x").over(30, closed=closed, at_least=3),
        many=sw.count("x").over("all", closed=closed, at_least=150),
    )
    live = definition.live(late="revise", retain=retain)
    last: dict[int, dict[str, Any]] = {}
    taken: list[dict[str, Any]] = []
    newest: dict[str, int] = {}
    late = 0
    for i in range(450):
        k = choose.choice("ab")
        t = max(0, i // 3 - choose.choice([0, 0, 1, retain, 2 * retain, choose.randrange(100)]))
        event = {"k": k, "t": t, "x": choose.choice([None, *range(50)]), "id": i}
        if i % 7 == 0:
            given = live.push_many(pa.Table.from_pylist([event], schema=EVENT)).to_pylist()
        else:
            given = live.push(event)
        if t < newest.get(k, 0) - retain:
            late += 1
            assert given == []
            continue
        newest[k] = max(newest.get(k, 0), t)
        taken.append(event)
        last_of(live, given, last)
        if i % 97 == 0:
            live = definition.restore(live.snapshot())
    assert live.stats.late == late > 0
    table = pa.Table.from_pylist(taken, schema=EVENT)
    expected = definition(table).to_pylist()
    assert [last[row["id"]] for row in expected] == expected
    for state in live.key_states.values():
        assert isinstance(state, RevisableState)
        assert len(state.rows) < 64 + 4 * (retain + 40)
        assert max(len(tree) for trees in state.trees for tree in trees) < 64 + 4 * (retain + 40)


EVENT = pa.schema([("k", pa.string()), ("t", pa.int64()), ("x", pa.int64()), ("id", pa.int64())])


def test_a_late_event_costs_a_logarithm_for_each_answer() -> None:
    n = 4_000
    counter = Counter(sw.count)
    definition = sw.Sliding(on="t", n=counter.operator("x").over(1_000))
    live = definition.live(late="revise", retain="all")
    live.push_many(pa.table({"t": list(range(0, 2 * n, 2)), "x": [1] * n}))
    for t, corrected in [(2 * n - 1, 0), (2 * n - 21, 10), (n + 1, 500), (1, 500)]:
        before = counter.calls
        given = live.push({"t": t, "x": 1})
        assert len(given) == corrected + 1 or abs(len(given) - corrected) <= 5
        assert (counter.calls - before) / len(given) <= 60


def test_a_read_at_the_oldest_time_has_all_rows_of_its_window() -> None:
    live = sw.Sliding(on="t", rows=sw.collect("x").over(rows=3), n=sw.count("x").over(rows=3)).live(
        late="revise", retain=5
    )
    for t in range(0, 600, 3):
        live.push({"t": t, "x": t})
    assert live.get({}, at=592) == {"rows": [585, 588, 591], "n": 3}


def test_an_operator_that_raises_changes_nothing() -> None:
    failures = 0
    for late in (False, True):
        for call in range(40):
            counter = Counter(sw.sum)
            definition = sw.Sliding(
                on="t",
                most=sw.max("x").over(5),
                total=counter.operator("x").over(9),
                rows=counter.operator("x").over(rows=3),
                all=counter.operator("x").over("all"),
            )
            live = definition.live(late="revise", retain=20)
            for t in range(0, 60, 2):
                live.push({"t": t, "x": t})
            live.push({"t": 57, "x": 0})
            before = live.snapshot()
            event = {"t": 45 if late else 60, "x": 5}
            counter.fail_after = counter.calls + call
            try:
                live.push(event) if call % 2 else live.push_many(pa.Table.from_pylist([event, {"t": 51, "x": 1}]))
            except sw.OperatorFailedError:
                failures += 1
                counter.fail_after = None
                assert content(definition.restore(before)) == content(live)
                for trees in next(iter(live.key_states.values())).trees:
                    for tree in trees:
                        tree._check()
    assert failures > 20


def test_an_operator_that_raises_while_old_rows_are_dropped() -> None:
    notes = set()
    for call in range(30):
        counter = Counter(sw.sum)
        total = counter.operator("x")
        definition = sw.Sliding(on="t", a=total.over(9), b=total.over(rows=3), c=total.over("all"))
        live, other = (definition.live(late="revise", retain=8) for _ in range(2))
        for t in range(40):
            assert live.push({"t": t, "x": t}) == other.push({"t": t, "x": t})
        counter.fail_after = counter.calls + call
        try:
            live.push({"t": 40, "x": 1})
        except sw.OperatorFailedError as error:
            notes |= {*error.__notes__}
            counter.fail_after = None
        else:
            break
        for event in ({"t": 40, "x": 1}, {"t": 33, "x": 5}, {"t": 41, "x": 2}):
            assert live.push(event) == other.push(event)
    assert any("while old rows were dropped" in note for note in notes)
    assert any("while" not in note for note in notes)


def content(live: Any) -> bytes:
    """All that is kept but the number of the next arrival."""
    live.arrivals.number = 0
    return live.snapshot()


def test_a_snapshot_goes_on_to_the_last_bit() -> None:
    choose = random.Random(4)
    definition = sw.Sliding(by="k", on="t", ties="x", mean=sw.mean("x").over(40), all=sw.variance("x").over("all"))
    live = definition.live(late="revise", retain=50)
    for i in range(300):
        live.push({"k": i % 3, "t": i - choose.randrange(50), "x": choose.random() * 10 ** choose.randrange(9)})
    again = definition.restore(live.snapshot())
    assert again.snapshot() == live.snapshot()
    assert (again.stats, again.revised, again.retain) == (live.stats, live.revised, 50)
    for i in range(300, 400):
        event = {"k": i % 3, "t": i - choose.randrange(50), "x": choose.random()}
        assert again.push(event) == live.push(event)
    blob = live.snapshot()
    with pytest.raises(sw.SnapshotError, match="damaged"):
        definition.restore(blob[:-40] + bytes([blob[-40] ^ 1]) + blob[-39:])


def test_datetimes_and_what_is_retained_if_nothing_is_said() -> None:
    noon = datetime(2024, 3, 1, 12, tzinfo=UTC)
    definition = sw.Sliding(on="ts", n=sw.count().over("10 minutes"), m=sw.count().over("1 hour"))
    live = definition.live(late="revise")
    assert str(live.retain) == "1 hour"
    live.push({"ts": noon})
    assert [row["n"] for row in live.push({"ts": noon - timedelta(minutes=9)})] == [1, 2]
    assert [row["m"] for row in live.push({"ts": noon - timedelta(minutes=60)})] == [1, 2]
    assert live.push({"ts": noon - timedelta(minutes=61)}) == []
    assert live.stats.late == 1
    assert definition.restore(live.snapshot()).retain == live.retain
    assert live.forget(before=noon + timedelta(minutes=1)) == 1


def test_a_stream_of_spark_is_not_revised() -> None:
    """A made DataFrame, since nothing of Spark is needed to say so."""
    stream = type("DataFrame", (), {"isStreaming": True, "__module__": "pyspark.sql"})()
    with pytest.raises(sw.SlidewiseError, match=r"late='revise'.*a row that has left a stream.*withWatermark"):
        PEAKS(stream, late="revise")
    with pytest.raises(sw.SlidewiseError, match=r"late= is for live.*withWatermark"):
        PEAKS(stream, late="drop")


def test_mistakes_are_named() -> None:
    timed = sw.Sliding(on="t", n=sw.count().over(10))
    with pytest.raises(sw.SlidewiseError, match=r"needs retain=.*since 'two' has no length in time.*retain='1 day'"):
        PEAKS.live(late="revise")
    with pytest.raises(sw.SlidewiseError, match="retain= is for late='revise', and late is 'drop'"):
        timed.live(late="drop", retain=10)
    with pytest.raises(sw.SlidewiseError, match="answered= is for late='wait"):
        timed.live(late="revise", answered=print)
    with pytest.raises(sw.SlidewiseError, match="late='revise' goes by time"):
        sw.Sliding(n=sw.count().over(rows=2)).live(late="revise", retain=5)
    with pytest.raises(sw.SlidewiseError, match="none of 'error', 'drop', 'revise' and 'wait:10s'"):
        timed.live(late="revice")
    with pytest.raises(sw.WindowError, match="positive"):
        timed.live(late="revise", retain=0)
    with pytest.raises(sw.WindowError, match="retained for 1 day; write retain=3600"):
        timed.live(late="revise", retain="1d").push({"t": 5})
    with pytest.raises(sw.WindowError, match="retained for 5; write retain='1h'"):
        sw.Sliding(on="t", n=sw.count().over("1h")).live(late="revise", retain=5).push({"t": datetime(2024, 1, 1)})
    live = timed.live(late="revise")
    with pytest.raises(sw.InputError, match="no 't'"):
        live.push({})
    with pytest.raises(sw.InputError, match="'n' already"):
        live.push({"t": 1, "n": 5})
    with pytest.raises(sw.SlidewiseError, match="flush answers events that wait"):
        live.flush()
    assert live.stats == (0, 0, 0, 0, 0, 0, 0)
    mixed = sw.Sliding(on="t", f=sw.first("x").over(10)).live(late="revise")
    mixed.push({"t": 1, "x": 1})
    with pytest.raises(sw.InputError, match="differ in kind"):
        mixed.push({"t": 1, "x": "one"})
    assert mixed.stats.events == 1
    assert mixed.push({"t": 1, "x": 0})[1]["f"] == 0
