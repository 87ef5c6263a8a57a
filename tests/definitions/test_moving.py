"""Large windows that go over from panes to arrays, some rows with each event."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.live.native import plan
from slidewise.operators.values.equality import same

HELD = 3_000
HEALTH = sw.Sliding(
    by="k",
    on="t",
    peak=sw.max("x").over(2_500),
    mean=sw.mean("x").over(rows=900, at_least=5),
    total=sw.sum("i").where("ok").over(2_000, closed="both"),
    n=sw.count().over(1_500),
    ever=sw.min("x").over("all"),
)


@pytest.fixture(autouse=True)
def late_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let windows go over to arrays when they are large."""
    monkeypatch.setattr(plan, "FROM_EVENTS", HELD)
    monkeypatch.setattr(plan, "IN_BACKGROUND", False)


def events(count: int, keys: int = 1, start: int = 0, of: Any = int, seed: int = 3) -> list[dict[str, Any]]:
    choose = random.Random(seed)
    rows = []
    time = start
    for number in range(count):
        time += choose.choice([0, 1, 1, 1])
        x = choose.choice([choose.random(), choose.random() * 1e3, None]) if number else 0.5
        ok = choose.choice([True, True, False, None]) if number else True
        key = number % keys
        rows.append({"k": key, "t": of(time), "x": x, "i": choose.randrange(-9, 9), "ok": ok})
    return rows


def agree(live: Any, expected: Any) -> None:
    """Whether both hold the same rows and states."""
    assert live.stats == expected.stats
    for key, state in expected.key_states.items():
        mine = live.key_states[key]
        assert (mine.now, mine.count) == (state.now, state.count)
        for pane, other in zip(mine.as_panes().panes, state.panes, strict=True):
            if hasattr(pane, "all_rows"):
                assert same(pane.all_rows(), other.all_rows())
                for swag in pane.swags:
                    swag._check([row[1:] if len(row) > 2 else row[1] for row in pane.all_rows()])


def no_slot_is_lost(live: Any) -> None:
    store = live.native.store
    assert store.size - len(store.free_slots) == len(store.slots) + len(live.native.states.moves)


@pytest.mark.parametrize("options", [{}, {"late": "wait:0"}], ids=str)
@pytest.mark.parametrize("of", [int, float, lambda t: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=t)])
def test_no_event_takes_a_whole_window_over(of: Any, options: dict[str, Any]) -> None:
    definition = HEALTH
    if of not in (int, float):
        windows = {"peak": sw.max("x").over("2500s"), "total": sw.sum("i").where("ok").over("2000s", closed="both")}
        definition = sw.Sliding(by="k", on="t", **windows, mean=sw.mean("x").over(rows=900), n=sw.count().over("1500s"))
    live, expected = definition.live(**options), definition.live(**options)
    expected.opening = None
    rows = events(8_000, keys=2, of=of)
    moved, slots_at = [], []
    for number, row in enumerate(rows):
        mine, theirs = live.push(row), expected.push(row)
        assert same(mine, theirs), number
        if live.native is not None:
            moves = live.native.states.moves
            moved.append(sum(window._at for move in moves.values() for window in move._windows))
            slots_at.append(len(live.native.store.slots))
        if number % 500 == 0:
            assert same(live.get({"k": 1}), expected.get({"k": 1}))
    windows_of_rows = 4 * (2 if options else 1)  # a push may release an event of each key
    steps = [later - now for now, later in pairwise(moved) if later > now]
    assert len(steps) > 20, "rows went over while events came"
    assert max(steps) <= windows_of_rows * 64
    assert slots_at[0] == 0
    assert slots_at[-1] == 2
    agree(live, expected)
    no_slot_is_lost(live)
    assert same(definition.restore(live.snapshot()).get({"k": 0}), expected.get({"k": 0}))


@pytest.mark.parametrize("between", ["batch", "forget", "snapshot", "own", "misfit"])
def test_what_comes_in_between(between: str) -> None:
    live, expected = HEALTH.live(), HEALTH.live()
    expected.opening = None
    rows = events(9_000, keys=2)
    for row in rows[: HELD + 10]:
        assert same(live.push(row), expected.push(row))
    assert live.native is not None
    assert live.native.states.moves
    no_slot_is_lost(live)
    later = rows[HELD + 10 :]
    if between == "batch":
        schema = pa.schema({"k": "int64", "t": "int64", "x": "float64", "i": "int64", "ok": "bool"}.items())
        table = pa.Table.from_pylist(later[:100], schema)
        assert live.push_many(table).to_pylist() == expected.push_many(table).to_pylist()
        assert len(live.native.store.slots) == 2
        later = later[100:]
    elif between == "forget":
        time = rows[-1]["t"]
        for one in (live, expected):
            assert one.forget(before=time) == 2
            one.push({"k": 5, "t": time, "x": 1.0, "i": 1, "ok": True})
        later = [row | {"t": row["t"] + time} for row in later]
        assert not live.native.states.moves
    elif between == "snapshot":
        live, expected = HEALTH.restore(live.snapshot()), HEALTH.restore(expected.snapshot())
        expected.opening = None
    elif between == "own":
        state = live.own(0)
        assert state is not None
        assert live.native.states.moves
    else:
        odd = later[0] | {"x": 7}
        assert same(live.push(odd), expected.push(odd))
        later = later[1:]
    for number, row in enumerate(later):
        assert same(live.push(row), expected.push(row)), number
        if number % 1_000 == 0:
            agree(live, expected)
    agree(live, expected)
    if live.native is not None:
        no_slot_is_lost(live)


def test_frozen_windows_go_over_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    health = sw.Sliding(by="k", on="t", peak=sw.max("x").over(2_500), mean=sw.mean("x").over(rows=2_000))
    table = pa.table({"k": [1] * HELD, "t": range(HELD), "x": [float(i % 97) for i in range(HELD)]})
    monkeypatch.setattr(plan, "FROM_EVENTS", HELD + 2)
    live, expected = health.live(), health.live()
    expected.opening = None
    for one in (live, expected):
        one.push_many(table)
    assert live.native is None
    assert live.key_states[1].panes[0].frozen is not None
    monkeypatch.setattr(plan, "FROM_EVENTS", 1)
    first = {"k": 2, "t": HELD, "x": 0.5}
    assert live.push(first) == expected.push(first)
    for time in range(HELD, 2 * HELD):
        row = {"k": 1, "t": time, "x": float(time % 89)}
        assert live.push(row) == expected.push(row)
        assert live.native is not None
        assert 1 in live.native.store.slots
    agree(live, expected)
