"""Logs of requests between events, as `live.get` answers them: 0 of n differ; with planted errors, exactly those."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from audit.test_audit import CARD, EVENTS, NAMES, NOON, audit, found
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw


def ask(definition: sw.Sliding, events: pa.Table, seed: int, lost: int | None = None, **options: Any) -> pa.Table:
    """The log of requests for random cards, some of them unknown, each after some events have been pushed."""
    rng = random.Random(seed)
    live: Any = definition.live(**options)
    rows, log = events.to_pylist(), []
    for at, row in enumerate(rows):
        if at != lost:
            live.push(row)
        until = rows[at + 1]["ts"] if at + 1 < len(rows) else row["ts"] + timedelta(hours=3)
        for _ in range(rng.choice([0, 1, 2])):
            # At the newest event's own time, or before the next one: nothing that is pushed later is asked for.
            moment = row["ts"] + rng.choice([0, rng.random() * 0.999]) * (until - row["ts"])
            card = rng.choice([1, 2, 3, None, 99])
            log.append({"card_id": card, "served_at": moment, **live.get({"card": card}, at=moment)})
    kinds = definition(events.slice(0, 0)).schema
    fields = [("card_id", pa.int64()), ("served_at", pa.timestamp("us", "UTC"))]
    return pa.Table.from_pylist(log, pa.schema([*fields, *((name, kinds.field(name).type) for name in NAMES)]))


@pytest.mark.rule(19)
@given(st.integers(0, 10**6), st.sampled_from([{}, {"spikes": True}, {"late": "revise", "retain": "all"}]))
@settings(max_examples=10)
def test_0_of_n_differ(seed: int, options: dict[str, Any]) -> None:
    log = ask(CARD, EVENTS.slice(0, 150), seed, **options)
    of = audit(log, EVENTS.slice(0, 150))
    assert of.answers == 5 * len(log) > 300
    assert str(of).startswith(f"0 of {of.answers:,} answers differ")


def test_a_lost_event_is_found_by_its_key_and_time() -> None:
    lost = 60
    card, time = EVENTS["card"][lost].as_py(), EVENTS["ts"][lost].as_py()
    of = audit(ask(CARD, EVENTS, 5, lost), EVENTS)
    assert {name for name, _, _ in found(of)} == set(NAMES)
    assert {key for _, key, _ in found(of)} == {card}
    times = [at for _, _, at in found(of)]
    assert time <= min(times) <= max(times) < time + timedelta(hours=2)


def test_a_shifted_clock_is_found_in_its_stretch_of_time() -> None:
    log = ask(CARD, EVENTS, 6)
    begin, fast = NOON + timedelta(hours=4), timedelta(minutes=7)
    times = [time + fast if time >= begin else time for time in log["served_at"].to_pylist()]
    of = audit(log.set_column(1, "served_at", pa.array(times, pa.timestamp("us", "UTC"))), EVENTS)
    assert of.unequal > 50
    assert min(at for _, _, at in found(of)) >= begin + fast
