"""Reads of a live definition: `get` and `get_many` as of a time, held to the judge; they change nothing."""

from __future__ import annotations

import math
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import lanes
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from golden_snapshots import golden_live
from hypothesis import given, settings
from hypothesis import strategies as st
from point_in_time import assert_answers, judge
from random_definitions import OWN_VALUES, SCHEMA, definitions, rows
from support import Counter, Sabotage, concat, matrix

import slidewise as sw
from slidewise.live.batch import push_many as batches
from slidewise.live.native import plan
from slidewise.live.reads import get_many as many
from slidewise.live.revising import Revising

NAN = float("nan")
NOON = datetime(2024, 3, 1, 12)


def events_of(pushed: list[dict[str, Any]], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(pushed, schema=schema)


def check(
    live: Any, definition: sw.Sliding, seen: list[dict[str, Any]], reads: list[tuple[dict[str, Any], Any]]
) -> None:
    """The answers of reads, each of a key and a time, and the newest seen where that is None; nothing has changed."""
    table = events_of(seen)
    ticks = lanes.times_of(definition, table)
    newest = max(ticks, default=0) if definition.on is not None else 1
    before = live.snapshot()
    found = [live.get(key) if at is None else live.get(key, at=at) for key, at in reads]
    assert live.snapshot() == before, "a read has changed something"
    queries, asking = asked(definition, reads, table, newest)
    assert_answers(definition, found, judge(definition, table, queries, asking), queries)
    for answers in found:
        assert list(answers) == list(definition.columns)
    check_many(live, definition, table, newest, [read for read in reads if read[1] is not None or not definition.on])
    check_many(live, definition, table, newest, [read for read in reads if read[1] is None])
    assert live.snapshot() == before, "a read of many has changed something"


def check_many(live: Any, definition: sw.Sliding, events: pa.Table, newest: Any, reads: list[Any]) -> None:
    """The same for one table of the reads, through the kernels and one by one."""
    columns: dict[str, Any] = {
        "j": pa.array([key["j"] for key, _ in reads], pa.float64()),
        "k": pa.array([key["k"] for key, _ in reads], pa.string()),
    }
    if reads and reads[0][1] is not None:
        columns["t"] = pa.array([at for _, at in reads])
    own = own_values(definition)
    columns |= {name: pa.array([key[name] for key, _ in reads], SCHEMA.field(name).type) for name in own}
    queries, asking = asked(definition, reads, events, newest)
    expected = judge(definition, events, queries, asking)
    for kernels in (True, False):
        with patch.object(many, "_by_kernels", lambda *a, k=kernels: k and held(*a)):
            answered = live.get_many(pa.table(columns))
        assert answered.column_names == [*columns, *definition.columns]
        assert repr(answered.select(list(columns)).to_pydict()) == repr(pa.table(columns).to_pydict())
        assert_answers(definition, answered.select(list(definition.columns)).to_pylist(), expected, queries)


def asked(
    definition: sw.Sliding, reads: list[Any], events: pa.Table, newest: Any
) -> tuple[list[Any], list[dict[str, Any]]]:
    """The keys and times that are asked for, and the rows that ask, whose time is null where nothing was seen."""
    queries = [(lanes.key_of(definition, key), newest if at is None else at) for key, at in reads]
    if definition.on is None:
        return queries, [key for key, _ in reads]
    seen = newest if len(events) else None
    return queries, [{**key, "t": seen if at is None else at} for key, at in reads]


def held(requests: Any, at: int) -> bool:
    """Whether there is anything that kernels can go over."""
    if isinstance(requests.live, Revising) or requests.slot_times is None:
        return False
    return any(key_state is not None and key_state.panes[at].held() for key_state in requests.key_states)


def own_values(definition: sw.Sliding) -> dict[str, Any]:
    """What may stand in the columns besides keys and time that expressions read of a row that asks."""
    values = OWN_VALUES | ({} if definition.on else {"t": st.integers(0, 12)})
    return {name: values[name] for name in definition.own if name in values}


def in_order(definition: sw.Sliding, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events as the definition orders them, so that pushing them one by one gives what the table gives."""
    if definition.on is None:
        return events
    return sorted(events, key=lambda row: (row["t"], lanes.order_of(definition, row)))


def reads_of(definition: sw.Sliding, seen: list[dict[str, Any]], draw: st.DataObject, back: bool = False) -> Any:
    """Random reads: keys that have events and keys that have none, from their newest event on, or before it."""
    reads: list[tuple[dict[str, Any], Any]] = []
    for _ in range(draw.draw(st.integers(1, 3))):
        key = {"k": draw.draw(st.sampled_from(["a", "b", None])), "j": draw.draw(st.sampled_from([0.0, NAN, None]))}
        key |= {name: draw.draw(values) for name, values in own_values(definition).items()}
        key["more"] = "is left alone"
        whose = lanes.key_of(definition, key)
        own = [row["t"] for row in seen if lanes.key_of(definition, row) == whose]
        at = None
        if definition.on is not None:
            newest = 0 if back else max(own, default=0)
            at = draw.draw(st.sampled_from([None, newest, newest + 1, newest + 2.5, newest + 3, newest + 110]))
        reads.append((key, at))
    return reads


@pytest.mark.rule(19)
@settings(max_examples=150, deadline=None)
@given(data=st.data(), definition=definitions(), events=rows, spikes=st.booleans())
def test_get_gives_what_the_judge_gives(
    data: st.DataObject, definition: sw.Sliding, events: list[dict[str, Any]], spikes: bool
) -> None:
    """With pushes, batches, and snapshots in between."""
    live = definition.live(spikes=spikes)
    events = in_order(definition, events)
    seen: list[dict[str, Any]] = []
    check(live, definition, seen, reads_of(definition, seen, data))
    while len(seen) < len(events):
        batch = events[len(seen) : len(seen) + data.draw(st.integers(1, 8))]
        step = data.draw(st.sampled_from(["push", "batch", "kernels", "restore"]))
        if step == "push":
            for row in batch:
                live.push(row)
        elif step == "restore":
            live = definition.restore(live.snapshot())
            batch = []
        else:
            push_batch(live, batch, step == "kernels")
        seen += batch
        check(live, definition, seen, reads_of(definition, seen, data))


def push_batch(live: Any, batch: list[dict[str, Any]], kernels: bool, schema: pa.Schema = SCHEMA) -> None:
    with patch.object(batches, "by_kernels", lambda _incoming: kernels):
        live.push_many(events_of(batch, schema))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), definition=definitions(), events=rows)
def test_get_where_events_wait(data: st.DataObject, definition: sw.Sliding, events: list[dict[str, Any]]) -> None:
    """What waits has not been seen: neither its rows count, nor its time."""
    if definition.on is None:
        return
    live = definition.live(late="wait:3")
    seen: list[dict[str, Any]] = []
    columns = [*SCHEMA.names]
    for i, row in enumerate(events):
        seen += [{name: answered[name] for name in columns} for answered in live.push(row)]
        if i % 4 == 0:
            check(live, definition, seen, reads_of(definition, seen, data))
    seen += [{name: answered[name] for name in columns} for answered in live.flush()]
    check(live, definition, seen, reads_of(definition, seen, data))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), definition=definitions(), events=rows)
def test_get_where_answers_are_revised(
    data: st.DataObject, definition: sw.Sliding, events: list[dict[str, Any]]
) -> None:
    """Any time is answered, before the newest event too."""
    if definition.on is None:
        return
    live: Any = definition.live(late="revise", retain="all")
    seen: list[dict[str, Any]] = []
    for i, row in enumerate(events):
        live.push(row)
        seen.append(row)
        if i % 4 == 0:
            check(live, definition, seen, reads_of(definition, seen, data, back=True))
    live = definition.restore(live.snapshot())
    check(live, definition, seen, reads_of(definition, seen, data, back=True))


CARD = sw.Sliding(
    by="card",
    on="ts",
    spent=sw.sum("amount").over("10 minutes"),
    seen=sw.count().over("1 hour", closed="left"),
    last3=sw.mean("amount").over(rows=3),
)


def payment(card: Any, minute: float, amount: Any) -> dict[str, Any]:
    return {"card": card, "ts": NOON + timedelta(minutes=minute), "amount": amount}


def test_get_reads_as_of_the_newest_event_seen_or_a_later_time() -> None:
    live = CARD.live()
    assert live.get({"card": 7}) == {"spent": None, "seen": 0, "last3": None}
    for minute, amount in [(0, 1.0), (4, 2.0), (4, 4.0)]:
        live.push(payment(7, minute, amount))
    live.push(payment(8, 11, 8.0))
    assert live.get({"card": 7}) == {"spent": 6.0, "seen": 3, "last3": 7 / 3}  # as of card 8's event
    assert live.get({"card": 7}, at=NOON + timedelta(minutes=4)) == {"spent": 7.0, "seen": 1, "last3": 7 / 3}
    assert live.get({"card": 7}, at=NOON + timedelta(minutes=70)) == {"spent": None, "seen": 0, "last3": 7 / 3}
    assert live.get({"card": 8, "colour": "red"}) == {"spent": 8.0, "seen": 0, "last3": 8.0}
    assert live.get({"card": None}) == {"spent": None, "seen": 0, "last3": None}
    assert live.stats == (4, 4, 0, 0, 0, 2, 0)
    assert len(live) == 2


def test_a_key_of_another_kind_than_the_events_is_an_error() -> None:
    """An id that was text in a request is no unknown card."""
    live = CARD.live()
    assert live.get({"card": "7"})["seen"] == 0  # nothing is known of cards yet
    live.push(payment(7, 0, 1.0))
    for read in (lambda: live.get({"card": "7"}), lambda: live.get_many(pa.table({"card": ["7"]}))):
        with pytest.raises(sw.InputError, match="the key 'card' is '7', none, and the events' keys are numbers"):
            read()
    assert live.get({"card": 7.0}) == live.get({"card": 7})
    named = CARD.live()
    named.push(payment("a", 0, 1.0))
    with pytest.raises(sw.InputError, match="the key 'card' is 7, a number, and the events' keys are others"):
        named.get({"card": 7})
    assert named.get({"card": "b"})["seen"] == 0


def test_columns_of_empty_answers_have_the_types_of_others() -> None:
    """Batches of requests for unknown keys can be put behind those of others."""
    definition = sw.Sliding(
        by="card",
        on="ts",
        spent=sw.sum("amount").over("10 minutes"),
        most=sw.max("amount").over("all"),
        first=sw.first("amount").over(rows=2, closed="left"),
        listed=sw.collect("amount").over("1 hour", grain="1 minute"),
    )
    live = definition.live()
    for minute in (0, 1, 2):
        live.push(payment(7, minute, 1.5))
    found = [live.get_many(pa.table({"card": [card]})) for card in (7, 9)]
    assert found[0].schema == found[1].schema
    assert [row["spent"] for row in pa.concat_tables(found).to_pylist()] == [4.5, None]


def test_requests_whose_time_has_another_name_are_not_read_as_of_the_newest_event() -> None:
    live = CARD.live()
    live.push(payment(7, 0, 1.0))
    requests = pa.table({"card": [7], "asked": [NOON + timedelta(minutes=30)]})
    with pytest.raises(sw.InputError, match=r"the requests have no 'ts', and 'asked' holds times; .* say on='asked'"):
        live.get_many(requests)
    assert live.get_many(requests, on="asked").column("spent").to_pylist() == [None]
    assert live.get_many(requests.drop_columns(["asked"])).column("spent").to_pylist() == [1.0]


def test_definitions_without_keys_or_time() -> None:
    live = sw.Sliding(by=[], on="t", n=sw.count().over(10)).live()
    live.push({"t": 1})
    assert live.get() == live.get({}) == live.get(None, at=10) == {"n": 1}
    assert live.get(at=11) == {"n": 0}
    untimed = sw.Sliding(by="k", a=sw.sum("x").over(rows=2, closed="left"), b=sw.sum("x").over("all")).live()
    for x in (1, 2, 4):
        untimed.push({"k": 0, "x": x})
    assert untimed.get({"k": 0}) == {"a": 6, "b": 7}  # what a row that comes next would see, less itself
    with pytest.raises(sw.SlidewiseError, match="at=3 is a time, and this definition has no time column; leave it out"):
        untimed.get({"k": 0}, at=3)


MISTAKES: list[tuple[Any, Any, str]] = [
    ({"cards": 7}, None, r"the key has no 'card'; it has cards\Z"),
    ({}, None, "the key has no 'card'; it has no columns"),
    (7, None, "get takes the key's columns, {'card': ...}, not 7"),
    (None, None, "get takes the key's columns, {'card': ...}, not None"),
    ({"card": [7]}, None, "the key 'card' is \\[7\\], which cannot be a key"),
    ({"card": 7}, 5, "the time 5 is one of numbers, but the stream's times are datetimes without a zone"),
    ({"card": 7}, NOON.replace(tzinfo=UTC), "is one of datetimes with a zone, but the stream's"),
    ({"card": 7}, "noon", "at is 'noon', which is no datetime, date or finite number"),
    ({"card": 7}, NAN, "at is nan, which is no time; leave it out to read as of the newest event seen"),
    ({"card": 7}, pd.NaT, "at is NaT, which is no time"),
    ({"card": 7}, NOON, "at=2024-03-01 12:00:00 lies before 2024-03-01 12:04:00, the newest event of the key 7, and"),
]


@pytest.mark.parametrize(("key", "at", "message"), MISTAKES)
def test_mistakes_are_named_and_change_nothing(key: Any, at: Any, message: str) -> None:
    live = CARD.live()
    live.push(payment(7, 4, 2.0))
    before = live.snapshot()
    pattern = message if "\\" in message else re.escape(message)
    with pytest.raises(sw.SlidewiseError, match=pattern):
        live.get(key, at)
    assert live.snapshot() == before
    assert live.push(payment(7, 5, 2.0))["spent"] == 4.0


def test_a_read_before_the_newest_event_says_why() -> None:
    live = CARD.live()
    live.push(payment(7, 4, 2.0))
    with pytest.raises(sw.TimeOrderError, match=r"are gone; read as of a later time, use live\(late='revise'\).*as_of"):
        live.get({"card": 7}, at=NOON)
    assert live.get({"card": 8}, at=NOON)["seen"] == 0  # which has had no event


def test_times_before_the_first_event_are_checked_against_windows() -> None:
    with pytest.raises(sw.WindowError, match="times are numbers, but 'spent' is over 10 minutes"):
        CARD.live().get({"card": 7}, at=5)


def test_definitions_on_a_beat_refuse_reads() -> None:
    beats = sw.Sliding(by="k", on="t", every=10, n=sw.count().over(20)).live()
    with pytest.raises(sw.SlidewiseError, match="with every=10 there are answers at beats only; advance"):
        beats.get({"k": 1})


def test_revising_answers_as_far_back_as_it_retains() -> None:
    definition = sw.Sliding(by="k", on="t", n=sw.count().over(5), last=sw.last("x").over(rows=2))
    live: Any = definition.live(late="revise", retain=10)
    for t in range(0, 40, 2):
        live.push({"k": 1, "t": t, "x": t})
    assert live.get({"k": 1}, at=28) == {"n": 3, "last": 28}
    assert live.get({"k": 1}, at=35.5) == {"n": 2, "last": 34}
    with pytest.raises(
        sw.TimeOrderError, match="at=27 lies more than 10 before 38, the newest event of the key 1, and"
    ):
        live.get({"k": 1}, at=27)


def test_whole_times_are_exact_where_a_read_is_a_float() -> None:
    live = sw.Sliding(by=[], on="t", n=sw.count().over(10)).live()
    big = 2**60
    live.push({"t": big})
    assert live.get(at=float(big)) == {"n": 1}
    assert live.get(at=big + 9) == {"n": 1}
    assert live.get(at=big + 10) == {"n": 0}


FIRSTS = sw.Sliding(
    by="k",
    on="t",
    m=sw.m4("x").over(rows=2, closed="left"),
    all=sw.collect("x").over(rows=2, closed="left"),
    q=sw.median("x").over(rows=2, closed="left", at_least=2),
)


@pytest.mark.parametrize("way", ["push", "one by one", "kernels", "wait"])
def test_rows_before_the_newest_time_are_known_when_its_peers_have_pushed_them_out(way: str) -> None:
    """The window as of t == the newest time holds the rows before its first peer, which no pane holds any more."""
    live: Any = FIRSTS.live(late="wait:0" if way == "wait" else "error")
    events = [{"k": "ab"[i % 2], "t": min(i // 4, 3), "x": float(i)} for i in range(30)]
    schema = pa.schema([("k", pa.string()), ("t", pa.int64()), ("x", pa.float64())])
    for start in range(0, 30, 10):
        batch = events[start : start + 10]
        if way in ("push", "wait"):
            for row in batch:
                live.push(row)
        else:
            push_batch(live, batch, way == "kernels", schema)
    if way == "wait":
        live.flush()
    for restored in (live, FIRSTS.restore(live.snapshot())):
        answers = restored.get({"k": "a"}, at=3)
        assert (*answers["m"], *answers["all"], answers["q"]) == (8.0, 8.0, 10.0, 10.0, 8.0, 10.0, 9.0)
        assert answers["m"]._fields == ("first", "min", "max", "last")
        answers["all"].append("changed by the caller")
        assert restored.get({"k": "a"}, at=3)["all"] == [8.0, 10.0]
        assert restored.get({"k": "a"}, at=4)["all"] == [26.0, 28.0]
        assert restored.snapshot() == live.snapshot()


def test_an_event_that_is_refused_leaves_the_answers_of_the_first_row() -> None:
    counter = Counter(concat)
    live = sw.Sliding(by="k", on="t", a=counter.operator("x").over(rows=3, closed="left")).live()
    for i, x in enumerate("abcdefgh"):
        live.push({"k": 1, "t": i // 4, "x": x})
    counter.fail_after = counter.calls
    before = live.snapshot()
    with pytest.raises(sw.OperatorFailedError):
        live.push({"k": 1, "t": 9, "x": "z"})
    assert live.snapshot() == before
    counter.fail_after = None
    assert live.get({"k": 1}) == {"a": "bcd"}


def test_older_snapshots_lack_the_answers_of_the_first_row() -> None:
    blob = bytes.fromhex((Path(__file__).parent / "golden" / "open_and_waiting_v1.hex").read_text())
    live = golden_live("open_and_waiting").restore(blob)
    live.flush()
    old = golden_live("open_and_waiting").restore(blob)
    newest = max(key_state.now for key_state in old.key_states.values())
    key = next(key for key, key_state in old.key_states.items() if key_state.now == newest)
    with pytest.raises(
        sw.SlidewiseError, match=f"'a' has no answer as of the key's newest event, at {newest}: the snap"
    ):
        old.get({"k": key}, at=newest)
    assert old.get({"k": key}, at=newest + 1)["a"] is not None
    assert live.get({"k": key}, at=29)["a"] is not None  # the next event brings its own


class Odd:
    """An answer that no snapshot can hold."""


def test_an_answer_that_cannot_be_stored_is_missed_after_the_restore_only() -> None:
    odd = sw.operator(name="odd", identity=0, combine=lambda a, b: a + b, lower=lambda _: Odd())
    definition = sw.Sliding(by="k", on="t", a=odd("x").over(rows=2, closed="left"))
    live = definition.live()
    for t in (1, 2, 2, 2):
        live.push({"k": 1, "t": t, "x": 1})
    assert isinstance(live.get({"k": 1})["a"], Odd)
    restored = definition.restore(live.snapshot())
    with pytest.raises(sw.SlidewiseError, match="the snapshot that it was restored from does not have it"):
        restored.get({"k": 1})


def test_an_operator_that_raises_leaves_everything_as_it_was() -> None:
    for over in ({"rows": 3}, {"last": 40}, {"last": 40, "closed": "left"}, {"last": 40, "grain": 4}, {"last": "all"}):
        counter = Counter(concat)
        live = sw.Sliding(by="k", on="t", a=counter.operator("x").over(**over)).live()
        for t in range(60):
            live.push({"k": 1, "t": t, "x": chr(65 + t)})
        before = live.snapshot()
        expected = live.get({"k": 1}, at=75)
        for at in (60, 75, 80):
            counter.calls, counter.fail_after = 0, None
            live.get({"k": 1}, at=at)
            for fail_after in range(counter.calls):
                counter.calls, counter.fail_after = 0, fail_after
                with pytest.raises(sw.OperatorFailedError) as raised:
                    live.get({"k": 1}, at=at)
                assert isinstance(raised.value.__cause__, Sabotage)
                assert "'a'; this was a read, and nothing has changed" in raised.value.__notes__[0]
        counter.fail_after = None
        assert live.snapshot() == before
        assert live.get({"k": 1}, at=75) == expected


def test_a_batch_that_is_refused_leaves_what_reads_go_by() -> None:
    """Rows have come and left again by the time that the batch fails, many of them."""
    for over in ({"last": 300}, {"last": 300, "closed": "left"}, {"last": 300, "grain": 1}):
        counter = Counter(sw.count)
        live = sw.Sliding(by=[], on="t", a=counter.operator("x").over(**over)).live()
        for t in range(700):
            live.push({"t": t, "x": 1})
        expected = [live.get(at=700 + 13 * i) for i in range(25)]
        for size in (10, 290, 900):
            counter.fail_after = None
            probe = counter.calls
            batch = [{"t": 700 + i, "x": 1} for i in range(2 * size)]
            counter.fail_after = probe + 4 * size
            with pytest.raises(sw.OperatorFailedError):
                push_batch(live, batch, False, TIMES)
            counter.fail_after = None
            assert [live.get(at=700 + 13 * i) for i in range(25)] == expected
            for pane in live.key_states[()].panes:
                held = pane.rows if "grain" not in over else pane.cells
                pane.places._check([item[0] for item in held])


TIMES = pa.schema([("t", pa.int64()), ("x", pa.int64())])


def bound(n: int) -> float:
    return 3 * math.log2(n) + 6


@pytest.mark.parametrize("closed", ["right", "both", "left", "neither"])
@pytest.mark.parametrize("operator", [concat, matrix])
def test_reads_take_few_calls_from_the_first_on(operator: sw.Operator, closed: str) -> None:
    """`matrix` is kept by subtract-on-evict, `concat` by DABA Lite. Many rows may leave, and many peers may wait."""
    for n in (30, 300, 2000):
        counter = Counter(operator)
        definition = sw.Sliding(by=[], on="t", a=counter.operator("x").over(n, closed=closed))
        live = definition.live()
        choose = random.Random(n)
        values = ["x"] if operator is concat else [2]
        for t in range(n + n // 3):
            live.push({"t": min(t, n + n // 4), "x": values[0]})
        for stage in ("pushed", "restored", "pushed on"):
            now = live.key_states[()].now
            for _ in range(60):
                at = now + choose.randrange(n + 2)
                counter.calls = 0
                live.get(at=at)
                assert counter.calls <= bound(n), (n, closed, stage, at - now)
            if stage == "pushed":
                live = definition.restore(live.snapshot())
                counter.calls = 0
                live.get(at=now + 1)
                live.get(at=now + n // 2)
                assert counter.calls <= 2 * bound(n)  # the first read after a restore included
            for t in range(n // 5):
                live.push({"t": now + t, "x": values[0]})


def test_reads_of_cells_and_of_revised_answers_take_few_calls() -> None:
    for late in ("error", "revise"):
        for n in (40, 1000):
            counter = Counter(concat)
            last: dict[str, Any] = {"last": n} if late == "revise" else {"last": 4 * n, "grain": 4}
            live: Any = sw.Sliding(by=[], on="t", a=counter.operator("x").over(**last)).live(late=late)
            for t in range(4 * n):
                live.push({"t": t, "x": "x"})
            for at in range(4 * n - 1, 8 * n + 2, 7):
                counter.calls = 0
                live.get(at=at)
                assert counter.calls <= 8 * bound(n) if late == "revise" else bound(n), (late, n, at)


def test_events_cost_one_call_more_for_the_index_and_two_at_worst() -> None:
    counter = Counter(concat)
    live = sw.Sliding(by=[], on="t", a=counter.operator("x").over(100)).live()
    worst = 0
    for t in range(2_000):
        before = counter.calls
        live.push({"t": t, "x": "x"})
        worst = max(worst, counter.calls - before)
    assert worst <= 4 + 2 + 1
    assert counter.calls / 2_000 <= 5.1


def test_kinds_of_columns_that_turn_out_late() -> None:
    """NaN in a column of text is null: what windows of the rows before had of it is gone."""
    live = sw.Sliding(by="k", on="t", n=sw.count("s").over(rows=3, closed="left"), m=sw.count("s").over(9)).live()
    for t in (1, 2, 3, 3, 3, 3):
        live.push({"k": 1, "t": t, "s": NAN})
    assert live.get({"k": 1}) == {"n": 2, "m": 6}
    live.push({"k": 2, "t": 3, "s": "text"})
    assert live.get({"k": 1}) == {"n": 0, "m": 0}


def test_forgotten_keys_are_not_the_newest() -> None:
    live = sw.Sliding(by="k", on="t", n=sw.count().over(10)).live()
    live.push({"k": 1, "t": 100})
    live.push({"k": 2, "t": 5})
    assert live.get({"k": 2}) == {"n": 0}  # as of 100
    live.forget(before=200)
    live.push({"k": 2, "t": 5})
    assert live.get({"k": 2}) == {"n": 1}


def cards(live: Any) -> None:
    for minute, amount in [(0, 1.0), (4, 2.0), (4, 4.0)]:
        live.push(payment(7, minute, amount))
    live.push(payment(8, 11, 8.0))


def requests(**columns: Any) -> pa.Table:
    return pa.table({"id": ["x", "y", "z"], **columns})


def moment(minute: float) -> datetime:
    return NOON + timedelta(minutes=minute)


KINDS: dict[str, Any] = {
    "arrow": (lambda table: table, lambda table: table),
    "pandas": (lambda table: table.to_pandas(), pa.Table.from_pandas),
    "pandas of Arrow": (lambda table: table.to_pandas(types_mapper=pd.ArrowDtype), pa.Table.from_pandas),
    "polars": (pl.from_arrow, lambda frame: frame.to_arrow()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernels", [False, True])
def test_get_many_gives_the_table_back_with_the_answers(kind: str, kernels: bool) -> None:
    make, read = KINDS[kind]
    live = CARD.live()
    cards(live)
    before = live.snapshot()
    table = make(requests(card=[7, 9, 7], ts=[moment(11), moment(0), moment(70)]))
    with patch.object(many, "_by_kernels", lambda *_: kernels):
        answered = live.get_many(table)
        plain = live.get_many(make(requests(card=[7, 9, 8])))
        renamed = live.get_many(make(requests(pan=[7, 9, 7], when=[moment(11)] * 3)), on="when", by={"card": "pan"})
    assert type(answered) is type(table)
    if kind == "pandas of Arrow":
        assert str(answered["spent"].dtype) == "double[pyarrow]"
    found = read(answered).to_pydict()
    assert list(found)[:6] == ["id", "card", "ts", "spent", "seen", "last3"]
    assert (found["spent"], found["seen"]) == ([6.0, None, None], [3, 0, 0])
    assert found["last3"] == [7 / 3, None, 7 / 3]
    assert read(plain).to_pydict()["spent"] == [6.0, None, 8.0]  # as of card 8's event
    assert read(renamed).to_pydict()["spent"] == [6.0, None, 6.0]
    assert live.snapshot() == before


MANY_MISTAKES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"cart": [7] * 3}, {}, "column 'card' not found; the requests have id, cart; where"),
    ({"card": [7] * 3, "seen": [1] * 3}, {}, "the requests have a column 'seen' already; name the aggregate otherwise"),
    ({"card": [7] * 3}, {"on": "when"}, "column 'when' not found"),
    ({"card": [7] * 3}, {"by": {"cards": "card"}}, "by= names the key 'cards', but the definition has 'card'"),
    ({"card": [7] * 3, "ts": [None, moment(20), None]}, {}, "the requests' time 'ts' is null in 2 of 3 rows, first in"),
    ({"card": [7] * 3, "ts": [1, 2, 3]}, {}, "the time 1 is one of numbers, but the stream's times are datetimes"),
    (
        {"card": [8, 7, 7], "ts": [moment(m) for m in (20, 5, 3)]},
        {},
        "the time in row 2, 2024-03-01 12:03:00, lies bef",
    ),
    ({"card": [7] * 3, "ts": ["a", "b", "c"]}, {}, "'ts'"),
]


@pytest.mark.parametrize(("columns", "options", "message"), MANY_MISTAKES)
def test_mistakes_in_requests_are_named(columns: dict[str, Any], options: dict[str, Any], message: str) -> None:
    live = CARD.live()
    cards(live)
    before = live.snapshot()
    with pytest.raises(sw.SlidewiseError, match=re.escape(message)):
        live.get_many(requests(**columns), **options)
    assert live.snapshot() == before


def test_get_many_refuses_what_is_no_table_and_beats() -> None:
    with pytest.raises(sw.SlidewiseError, match=r"pyarrow|pandas"):
        CARD.live().get_many([{"card": 7}])
    beats = sw.Sliding(by="k", on="t", every=10, n=sw.count().over(20)).live()
    with pytest.raises(sw.SlidewiseError, match="get_many reads windows as of any time, and with every=10"):
        beats.get_many(pa.table({"k": [1]}))
    untimed = sw.Sliding(by="k", n=sw.count().over(rows=2)).live()
    with pytest.raises(sw.SlidewiseError, match="on='t' names a time, and this definition has no time column"):
        untimed.get_many(pa.table({"k": [1], "t": [1]}), on="t")
    untimed.push({"k": 1})
    assert untimed.get_many(pa.table({"k": [1, 2], "t": [1, 1]}))["n"].to_pylist() == [1, 0]


def test_no_requests_and_no_events() -> None:
    live = CARD.live()
    empty = requests(card=[7, 8, 9]).slice(0, 0)
    assert live.get_many(empty).column_names == ["id", "card", "spent", "seen", "last3"]
    assert live.get_many(requests(card=[7, 8, None]))["seen"].to_pylist() == [0, 0, 0]
    cards(live)
    assert len(live.get_many(empty)) == 0


def test_an_operator_that_raises_in_many_reads_leaves_everything_as_it_was() -> None:
    counter = Counter(concat)
    live = sw.Sliding(by="k", on="t", a=counter.operator("x").over(40)).live()
    for t in range(60):
        live.push({"k": 1, "t": t, "x": chr(65 + t)})
    before, expected = live.snapshot(), live.get({"k": 1}, at=75)
    asked = pa.table({"k": [1] * 5, "t": [70, 75, 78, 80, 90]})
    for kernels in (True, False):
        with patch.object(many, "_by_kernels", lambda *_, k=kernels: k):
            counter.calls, counter.fail_after = 0, 2
            with pytest.raises(sw.OperatorFailedError, match="'a'"):
                live.get_many(asked)
            counter.fail_after = None
            assert live.snapshot() == before
            assert live.get_many(asked)["a"].to_pylist()[1] == expected["a"]


@pytest.mark.parametrize(
    ("in_arrays", "size", "counts", "wanted"),
    [
        (False, 5_000, (3, 5_000), [False, True]),
        (True, 5_000, (1, 3, 5_000), [False, True, True]),  # each read goes through the rows, the kernels do once
        (True, 50, (3, 50), [False, True]),
    ],
)
def test_few_reads_over_many_rows_go_one_by_one_and_many_do_not(
    in_arrays: bool, size: int, counts: tuple[int, ...], wanted: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "FROM_EVENTS", 1 if in_arrays else 10**9)
    monkeypatch.setattr(plan, "IN_BACKGROUND", False)
    live = sw.Sliding(by=[], on="t", a=sw.max("x").over(size)).live()
    for t in range(size):
        live.push({"t": t, "x": float(t)})
    assert [state.in_arrays for state in live.key_states.values()] == [in_arrays]
    chosen = []
    choice = many._by_kernels

    def spied(*arguments: Any) -> bool:
        chosen.append(choice(*arguments))
        return chosen[-1]

    with patch.object(many, "_by_kernels", spied):
        for count in counts:
            asked = pa.table({"t": [size + i for i in range(count)]})
            assert live.get_many(asked)["a"].to_pylist()[:3] == [size - 1.0] * min(count, 3)
    assert chosen == wanted
