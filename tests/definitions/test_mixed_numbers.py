"""Columns of events that mix 71 and 71.5: arrays hold them as floats, as a table does."""

from __future__ import annotations

import random
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


def test_whole_numbers_that_no_float_holds() -> None:
    live, expected = both(HEALTH)
    for time in range(200):
        row = {"k": 0, "t": time, "x": 0.5 if time < 100 else 2**53 + 1}
        assert same(live.push(row), expected.push(row))
    assert live.push({"k": 0, "t": 300, "x": 0})["peak"] == 0
