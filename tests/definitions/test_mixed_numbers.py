"""Columns of events that mix 71 and 71.5: arrays hold them as floats, as a table does."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import slidewise as sw
from slidewise.live.native import plan
from slidewise.operators.values.equality import same

HEALTH = sw.Sliding(
    by="k",
    on="t",
    peak=sw.max("x").over(40),
    mean=sw.mean("x").over(rows=9),
    low=sw.min("x").over("all"),
    total=sw.sum("x").over("all"),
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "FROM_EVENTS", 50)
    monkeypatch.setattr(plan, "IN_BACKGROUND", False)


def both(definition: sw.Sliding, **options: Any) -> tuple[Any, Any]:
    live, expected = definition.live(**options), definition.live(**options)
    expected.opening = None
    return live, expected


@pytest.mark.parametrize("options", [{}, {"late": "wait:3"}, {"late": "revise", "retain": 50}], ids=str)
def test_whole_numbers_among_floats(options: dict[str, Any]) -> None:
    definition = HEALTH
    if "retain" in options:
        definition = sw.Sliding(by="k", on="t", peak=sw.max("x").over(40), mean=sw.mean("x").over(rows=9))
    live, expected = both(definition, **options)
    choose = random.Random(6)
    for time in range(3_000):
        x = choose.choice([71, 71.5, 72, choose.random() * 99])
        if "retain" in options and time < 100:  # while trees hold the rows
            x = float(x)
        row = {"k": choose.randrange(3), "t": time, "x": x}
        assert same(live.push(row), expected.push(row))
    arrays = live.history if "retain" in options else live.native
    assert arrays is not None
    assert arrays.misfits == 0
    if not options:
        assert live.event_pass.taken > 2_500
        assert type(live.push({"k": 0, "t": 3_100, "x": 71})["peak"]) is float


def test_floats_that_come_after_many_whole_numbers() -> None:
    """Arrays are given up, and come again with a column of floats; keys go over one by one, whatever they held."""
    live, expected = both(HEALTH)
    choose = random.Random(7)
    for time in range(6_000):
        x = choose.randrange(100) if time < 2_000 else choose.choice([choose.randrange(100), choose.random() * 100])
        row = {"k": choose.randrange(40) if time % 100 else 41, "t": time, "x": x}
        assert same(live.push(row), expected.push(row)), time
        if time in (1_000, 2_020, 2_100, 4_000):
            assert live.stats == expected.stats
            assert same(live.get({"k": 3}), expected.get({"k": 3}))
            assert live.key_states.keys() == expected.key_states.keys()
            if time == 2_100:
                assert same(HEALTH.restore(live.snapshot()).get({"k": 5}), expected.get({"k": 5}))
    assert live.native is not None
    assert live.native.store.inputs["x"].dtype == "float64"
    assert len(live.native.store.slots) == len(live) == len(expected) == 41
    assert live.stats == expected.stats
    assert live.event_pass.taken > 3_000


def test_columns_that_are_seldom_all_there() -> None:
    """Types are learnt column by column: no event has a number in all of them."""
    names = [f"c{i}" for i in range(8)]
    health = sw.Sliding(by="k", on="t", columns={name: sw.max(name).over(30) for name in names})
    live, expected = both(health)
    choose = random.Random(8)
    for time in range(1_500):
        row = {name: None if i == time % 8 or choose.random() < 0.5 else 1.5 * i for i, name in enumerate(names)}
        row |= {"k": choose.randrange(4), "t": time}
        assert same(live.push(row), expected.push(row))
    assert live.native is not None
    assert live.event_pass.taken > 1_000


@pytest.mark.parametrize("first", [0, 1])
def test_a_column_of_floats_is_known_by_its_first_float(first: int) -> None:
    """Whichever event is the one at which arrays are made."""
    health = sw.Sliding(by="k", on="t", top=sw.max("x").over("all"), total=sw.sum("x").over("all"))
    live, expected = both(health)
    for time in range(300):
        row = {"k": time % 3, "t": time, "x": 20 if (time + first) % 2 else 20.5}
        assert same(live.push(row), expected.push(row))
    assert live.native is not None
    assert live.native.misfits == 0
    assert live.native.store.inputs["x"].dtype == "float64"


def test_what_is_rare_does_not_end_it() -> None:
    health = sw.Sliding(by="k", on="t", peak=sw.max("x").over(20))
    live, expected = both(health)
    for time in range(20_000):
        row = {"k": time % 5, "t": time, "x": 2**60 if time % 1_000 == 999 else 20.5}
        assert same(live.push(row), expected.push(row))
    assert live.native is not None
    assert live.native.misfits >= plan.MOST_MISFITS


def test_arrays_come_back_at_once_after_a_restore(monkeypatch: pytest.MonkeyPatch) -> None:
    health = sw.Sliding(by="k", on="t", peak=sw.max("x").over(20))
    monkeypatch.setattr(plan, "IN_BACKGROUND", True)
    live = health.live()
    time = 0
    while live.native is None and time < 1_000_000:
        live.push({"k": 0, "t": time, "x": 0.5})
        time += 1
    assert live.native is not None
    restored = health.restore(live.snapshot())
    for later in range(3):
        restored.push({"k": 0, "t": time + later, "x": 0.5})
    assert restored.native is not None


def test_times_beyond_what_utc_has() -> None:
    zone = timezone(timedelta(hours=-11))
    latest = sw.Sliding(by="k", on="t", latest=sw.max("t").over("10 minutes"))
    with pytest.raises(sw.InputError, match="lies in no year that UTC has"):
        latest.live().push({"k": 0, "t": datetime.max.replace(tzinfo=zone)})


def test_whole_numbers_that_no_float_holds() -> None:
    live, expected = both(HEALTH)
    for time in range(200):
        row = {"k": 0, "t": time, "x": 0.5 if time < 100 else 2**53 + 1}
        assert same(live.push(row), expected.push(row))
    assert live.push({"k": 0, "t": 300, "x": 0})["peak"] == 0
