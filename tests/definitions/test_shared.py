"""Several windows of one operator that share a structure: which do, what it costs, and that nothing else changes."""

from __future__ import annotations

import dataclasses
import random
from typing import Any
from unittest.mock import patch

import pytest
from support import Counter, Sabotage
from support import matrix as invertible

import slidewise as sw
from slidewise.choosing import share_from, shared_windows
from slidewise.live.panes.shared_pane import SharedPane, SharedRows
from slidewise.operators.values.equality import same

matrix = dataclasses.replace(invertible, inverse=None)  # non-commutative, so that every mistake in order shows
LENGTHS = (1, 2, 5, 9, 30)


def many(operator: sw.Operator = matrix, lengths: Any = LENGTHS, **more: Any) -> sw.Sliding:
    return sw.Sliding(by="k", on="t", columns={f"last {n}": operator("x").over(n) for n in lengths}, **more)


def events(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Two keys, equal times, nulls, and gaps that empty some windows or all."""
    choose = random.Random(seed)
    found, t = [], 0.0
    for _ in range(count):
        t += choose.choice([0, 0, 1, 1, 1, 2, 0.5, 7, 40])
        found.append({"k": choose.choice("ab"), "t": t, "x": choose.choice([None, *range(7)])})
    return found


def shared_of(live: Any) -> list[SharedRows]:
    return list(
        {
            id(p.shared): p.shared for t in live.key_states.values() for p in t.panes if isinstance(p, SharedPane)
        }.values()
    )


def test_who_shares() -> None:
    def names(**columns: Any) -> list[list[str]]:
        return shared_windows(sw.Sliding(by="k", on="t", **columns))

    means = {f"m{n}": sw.mean("x").over(n) for n in (1, 2, 3, 4)}
    assert share_from(sw.DabaLite) == 4
    assert names(**means) == [[*means]]
    assert names(**dict(list(means.items())[:3])) == []
    assert names(**means, other=sw.mean("y").over(9)) == [[*means]]
    assert names(**means, top=sw.max("x").over(2), far=sw.max("x").over(9)) == [
        [*means, "top"]
    ]  # of a window that shares
    assert names(**means, where=sw.mean("x").where("ok").over(5)) == [[*means]]
    assert names(**means, rows=sw.mean("x").over(rows=5), open=sw.mean("x").over(5, closed="left")) == [[*means]]
    assert names(**means, both=sw.mean("x").over(4, closed="both")) == [[*means, "both"]]
    assert names(**{f"m{n}": sw.mean("x").over(4, at_least=n) for n in (1, 2, 3, 4)}) == []  # one window
    assert names(**{f"all{n}": sw.mean("x").over("all", at_least=n) for n in (1, 2, 3, 4)}) == []
    for operator, algorithm in [(sw.max, sw.SlickDeque), (sw.count, sw.SubtractOnEvict)]:
        fewest = share_from(algorithm)
        for enough in (False, True):
            columns = {f"c{n}": operator("x").over(rows=n + 1) for n in range(fewest if enough else fewest - 1)}
            assert names(**columns) == ([[*columns]] if enough else [])


def test_explain_and_live_say_and_do_the_same() -> None:
    definition = many(sw.mean, other=sw.mean("y").over(3))
    explained = {one.name: one for one in definition.explain()}
    assert explained["last 9"].together == tuple(f"last {n}" for n in LENGTHS)
    assert explained["other"].together == ()
    text = str(definition.explain())
    assert text.count("one FlatFit for these 5 columns") == 1
    for spikes in (False, True):
        live = definition.live(spikes=spikes)
        live.push({"k": "a", "t": 1, "x": 1.0, "y": 1.0})
        kinds = [isinstance(pane, SharedPane) for pane in live.key_states["a"].panes]
        assert kinds == [spikes] * 5 + [False]


def test_one_structure_gives_the_answers_of_one_each() -> None:
    for operator in (matrix, sw.mean, sw.m4):
        for seed in range(8):
            shared, each = many(operator).live(spikes=True), many(operator).live()
            for event in events(150, seed):
                assert same(shared.push(event), each.push(event)), event
                for one in shared_of(shared) if operator is matrix else ():
                    one._check()


def test_calls_for_an_event_do_not_grow_with_the_windows() -> None:
    """On average three calls for each window where these are few, and less than two where they are many; one DABA Lite
    each would take four."""
    for count, most in ((4, 3.0), (16, 1.8)):
        counter = Counter(matrix)
        lengths = sorted({round(2_000 ** ((i + 1) / count)) for i in range(count)})
        live = many(counter.operator, lengths).live(spikes=True)
        for t in range(2_000):
            live.push({"k": "a", "t": t, "x": t % 7})
        before = counter.calls
        for t in range(2_000, 8_000):
            live.push({"k": "a", "t": t, "x": t % 7})
        assert len(lengths) - 1 <= (counter.calls - before) / 6_000 <= most * len(lengths)


def test_rows_are_kept_once_and_what_has_left_goes() -> None:
    live = many(sw.mean, lengths=(5, 10, 20, 100)).live(spikes=True)
    for t in range(5_000):
        live.push({"k": "a", "t": t, "x": 1.0})
        (shared,) = shared_of(live)
        assert len(shared.rows) <= 202
        assert [len(part) for part in (*shared.aggs, *shared.stops)] == [len(shared.rows)] * 2
    assert [pane.held() for pane in live.key_states["a"].panes] == [5, 10, 20, 100]
    live.push({"k": "a", "t": 9_999, "x": 1.0})
    assert [pane.held() for pane in live.key_states["a"].panes] == [1, 1, 1, 1]


def test_an_operator_that_raises_leaves_everything_as_it_was() -> None:
    failures = 0
    for late in ("error", "wait:0"):
        for seed in range(4):
            counter = Counter(matrix)
            live, sound = many(counter.operator).live(spikes=True, late=late), many().live(late=late)
            for event in events(60, seed):
                if late == "error":
                    for call in range(3):
                        counter.fail_after = counter.calls + call
                        try:
                            found = live.push(event)
                        except sw.OperatorFailedError as error:
                            failures += isinstance(error.__cause__, Sabotage)
                            counter.fail_after = None
                        else:
                            break
                    else:
                        found = live.push(event)
                    counter.fail_after = None
                else:
                    found = live.push(event)
                assert same(found, sound.push(event))
    assert failures > 100


@pytest.mark.parametrize("late", ["error", "wait:2"])
def test_going_on_from_a_snapshot_at_every_event(late: str) -> None:
    definition = many(top=sw.max("x").over(9), far=sw.stddev("x").over(30))
    live, never_stopped = definition.live(spikes=True, late=late), definition.live(spikes=True, late=late)
    for event in events(200):
        assert same(live.push(event), never_stopped.push(event))
        blob = live.snapshot()
        assert blob == never_stopped.snapshot()
        live = definition.restore(blob)
        assert live.snapshot() == blob


def test_a_snapshot_of_one_structure_each_becomes_one_that_shares() -> None:
    rows = events(80)
    with patch("slidewise.choosing.share_from", lambda _algorithm: 10**9):
        old, on = many().live(spikes=True), many().live(spikes=True)
        for event in rows[:40]:
            old.push(event)
            on.push(event)
        blob = old.snapshot()
    live = many().restore(blob)
    assert blob[8] == 1
    assert live.snapshot()[8] == 2
    for event in rows[40:]:
        assert same(live.push(event), on.push(event))
    assert shared_of(live)


def test_check_finds_spoilt_partials() -> None:
    live = many().live(spikes=True)
    for t in range(20):
        live.push({"k": "a", "t": t, "x": t})
    (shared,) = shared_of(live)
    shared._check()
    for spoil in (lambda: shared.aggs[0].__setitem__(3, (9, 9, 9, 9)), shared.starts.sort, shared.rows.pop):
        spoil()
        with pytest.raises(AssertionError):
            shared._check()


def test_partials_that_do_not_fit_are_refused() -> None:
    live = many().live(spikes=True)
    for t in range(5):
        live.push({"k": "a", "t": t, "x": t})
    (shared,) = shared_of(live)
    lengths, states = shared.dump(0)
    for wrong in ([0, *lengths[1:]], [*lengths[:-1], 2], lengths[1:], [*lengths, 1]):
        with pytest.raises(ValueError, match="cannot have partials"):
            shared._load(0, wrong, states)
    with pytest.raises(ValueError, match="cannot have partials"):
        shared._load(0, lengths, states[1:])
