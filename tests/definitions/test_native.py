"""Windows in arrays: the answers, errors and snapshots of panes, and the calls of combine of `DabaLite`."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from live_outcomes import SCHEMA, outcome

import slidewise as sw
from slidewise.kernels.keyed import rows, source
from slidewise.live.native import plan
from slidewise.operators.values.equality import same

NUMBERS = sw.Sliding(
    by="k",
    on="t",
    peak=sw.max("x").over(10),
    mean=sw.mean("x").over(10, at_least=2),
    n=sw.count().over(10),
    total=sw.sum("i").over(rows=4),
    least=sw.min("x").over("all"),
    both=sw.max("i").where("ok").over(5, closed="both"),
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let windows lie in arrays from the first event on that may."""
    monkeypatch.setattr(plan, "FROM_EVENTS", 1)
    monkeypatch.setattr(plan, "IN_BACKGROUND", False)


def in_panes(definition: sw.Sliding, **options: Any) -> Any:
    live = definition.live(**options)
    live.opening = None
    return live


def events(seed: int, count: int, keys: int = 4) -> list[dict[str, Any]]:
    choose = random.Random(seed)
    time, rows = 0, []
    for number in range(count):
        time += choose.choice([0, 0, 1, 2, 30 if choose.random() < 0.05 else 1])
        rows.append(
            {
                "k": choose.randrange(keys) if choose.random() < 0.97 else None,
                "t": time,
                "x": choose.choice([None, float("nan"), -0.0, choose.random(), choose.random() * 1e6]),
                "i": choose.choice([None, choose.randrange(-9, 9)]),
                "ok": choose.choice([True, False, None]),
                "id": str(number),
            }
        )
    rows[0] |= {"k": 0, "x": 1.5, "i": 1, "ok": True}
    return rows


CALLS = ["push", "batch", "nulls", "get", "many", "snapshot", "late", "text", "huge", "forget", "flush"]
STEPS = st.lists(st.tuples(st.sampled_from(CALLS), st.integers(1, 40)), min_size=5, max_size=40)


@pytest.mark.filterwarnings("ignore:.*were dropped as too late")
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), late=st.sampled_from(["error", "drop", "wait:3", "wait:0"]), steps=STEPS)
def test_any_sequence_of_calls_is_that_of_panes(seed: int, late: str, steps: list[tuple[str, int]]) -> None:
    live, expected = NUMBERS.live(late=late), in_panes(NUMBERS, late=late)
    rows = events(seed, 2_000)
    at = 0

    def both(call: Any, words: bool = True) -> None:
        mine, theirs = outcome(lambda: call(live)), outcome(lambda: call(expected))
        if not words and type(theirs) is tuple:
            mine, theirs = mine[::2], theirs[::2]
        assert same(mine, theirs), f"{mine} instead of {theirs}"

    both(lambda one: one.push(rows[0]))
    at = 1
    for step, size in steps:
        some = rows[at : at + size]
        now = rows[at - 1]["t"]
        if step == "push":
            for row in some[:5]:
                both(lambda one, row=row: one.push(row))
            at += len(some[:5])
        elif step == "batch":
            plain = [row | {"k": row["k"] or 0, "x": row["x"] or 0.5, "i": row["i"] or 0, "ok": True} for row in some]
            both(lambda one, plain=plain: one.push_many(pa.Table.from_pylist(plain, SCHEMA)))
            at += len(some)
        elif step == "nulls":
            both(lambda one, some=some: one.push_many(pa.Table.from_pylist(some, SCHEMA)))
            at += len(some)
        elif step == "get":
            both(lambda one, now=now, size=size: one.get({"k": size % 5}, at=now + size % 4 * 5))
        elif step == "many":
            asked = pa.table({"k": [0, 1, 2, 9, None], "t": [now + size] * 5})
            both(lambda one, asked=asked: one.get_many(asked))
        elif step == "snapshot":
            blob = live.snapshot()
            assert live.snapshot() == blob
            both(lambda one: None)
            live = NUMBERS.restore(blob)
            assert same(live.snapshot(), blob)
        elif step == "late" and at > 40:
            table = pa.Table.from_pylist([*some[:3], rows[at - 30]], SCHEMA)
            both(lambda one, table=table: one.push_many(table))
            both(lambda one, row=rows[at - 30]: one.push(row))
            at += 3
        elif step == "text":
            both(lambda one, row=rows[at]: one.push(row | {"x": "much"}), words=False)
            both(lambda one, row=rows[at]: one.push({"k": 1}))
        elif step == "huge":
            huge = [row | {"k": 0, "i": 2**62, "x": 1.0} for row in some[:4]]
            both(lambda one, huge=huge: one.push_many(pa.Table.from_pylist(huge, SCHEMA)))
            for row in huge:
                both(lambda one, row=row: one.push(row))
            at += 4
        elif step == "flush" and late.startswith("wait"):
            both(lambda one: one.flush())
        elif step == "forget":
            both(lambda one, now=now, size=size: one.forget(now - size))
        assert live.stats == expected.stats
        assert len(live) == len(expected)
    if late.startswith("wait"):
        both(lambda one: one.flush())
    assert dict(live.key_states.items()).keys() == dict(expected.key_states.items()).keys()
    for key, state in expected.key_states.items():
        mine = live.key_states[key].as_panes()
        assert (mine.now, mine.count) == (state.now, state.count)
        for pane, other in zip(mine.panes, state.panes, strict=True):
            if hasattr(pane, "all_rows"):
                assert same(pane.all_rows(), other.all_rows())
                for swag in pane.swags:
                    swag._check([row[1:] if len(row) > 2 else row[1] for row in pane.all_rows()])


def test_windows_lie_in_arrays() -> None:
    live = NUMBERS.live()
    for row in events(3, 50):
        live.push(row)
    live.push_many(pa.Table.from_pylist([row | {"t": row["t"] + 500} for row in events(4, 100)], SCHEMA))
    assert live.native is not None
    assert live.native.misfits == 0
    assert len(live.native.store.slots) == len(live) == 5


@pytest.mark.parametrize("closed", ["right", "both"])
@pytest.mark.parametrize("kind", ["floats", "naive", "zoned"])
def test_times_of_every_kind(closed: str, kind: str) -> None:
    length = 1.5 if kind == "floats" else timedelta(seconds=3)
    health = sw.Sliding(by="k", on="t", mean=sw.mean("x").over(length, closed=closed), n=sw.count("x").over(length))
    choose = random.Random(5)
    start = datetime(2024, 3, 1, tzinfo=UTC if kind == "zoned" else None)
    rows = []
    at = 0.0
    for _ in range(400):
        at += choose.choice([0.0, 0.5, 0.1, 1.5])
        time = at if kind == "floats" else start + timedelta(milliseconds=int(at * 1000))
        rows.append({"k": choose.choice("abc"), "t": time, "x": choose.random()})
    live, expected = health.live(), in_panes(health)
    for i in range(0, 400, 40):
        for row in rows[i : i + 10]:
            assert live.push(row) == expected.push(row)
        batch = pa.Table.from_pylist(rows[i + 10 : i + 40])
        assert outcome(lambda batch=batch: live.push_many(batch)) == outcome(lambda b=batch: expected.push_many(b))
    assert live.native is not None
    assert live.native.misfits == 0


def test_tables_of_pandas_and_text_keys() -> None:
    health = sw.Sliding(by="k", on="t", peak=sw.max("x").over(10), mean=sw.mean("x").over(10))
    frame = pd.DataFrame({"k": list("abcab") * 200, "t": range(1_000), "x": [float(i % 17) for i in range(1_000)]})
    live, expected = health.live(), in_panes(health)
    for at in range(0, 1_000, 250):
        part = frame.iloc[at : at + 250]
        pd.testing.assert_frame_equal(live.push_many(part), expected.push_many(part))
    later = frame.assign(t=frame["t"] + 2_000)
    table = pa.Table.from_pandas(later, preserve_index=False)
    assert live.push_many(table).equals(expected.push_many(table))
    assert live.native is not None


def test_the_compiled_loop_makes_the_calls_of_the_class() -> None:
    calls = 0

    def counting(a: Any, b: Any) -> Any:
        nonlocal calls
        calls += 1
        return max(a, b)

    operator = sw.operator(name="m", identity=None, combine=counting)
    live = sw.Sliding(by="k", on="t", peak=sw.max("x").over(50)).live()
    live.push({"k": 99, "t": 0, "x": 0.0})
    live.push({"k": 99, "t": 0, "x": 0.0})
    assert live.native is not None
    made = live.native.store.specs[0].members[0].block.numbers
    windows: dict[int, tuple[sw.DabaLite, list[int]]] = {}
    choose = random.Random(8)
    counts: Counter[int] = Counter()
    most, jumped = 0, False
    for time in range(1, 4_000):
        key, x = choose.randrange(3), choose.random()
        made[source.CALLS] = calls = 0
        live.push({"k": key, "t": time, "x": x})
        swag, times = windows.setdefault(key, (sw.DabaLite(operator), []))
        for_reads = calls_for_reads(counts[key], len(times))
        counts[key] += 1
        swag.insert(x)
        times.append(time)
        left = 0
        while times[0] <= time - 50:
            swag.evict()
            times.pop(0)
            left += 1
        swag.query()
        expected = calls + for_reads
        assert made[source.CALLS] == expected or len(times) == 1, f"{time}: {made[source.CALLS]} instead of {expected}"
        assert made[source.CALLS] <= 7 + 2 * left
        most = max(most, made[source.CALLS] - for_reads - 2 * left)
        jumped |= for_reads == 3
    assert most == 4
    assert jumped


def calls_for_reads(before: int, held: int) -> int:
    """Calls for the products of chunks, by a row that comes behind so many, of which the window holds some."""
    chunk, place = divmod(before, 8)
    calls = int(place > 0)
    over = place == 7 and chunk > 0 and rows.jump_depth(chunk) + 1 < chunk
    if over and rows.jump_depth(chunk - 1) >= (before - held) // 8:
        calls += 2
    return calls


def test_chunks_jump_where_two_jumps_before_them_lead() -> None:
    depths = [0]
    for depth in range(1, 2_000):
        before = depths[depth - 1]
        far = depths[before]
        depths.append(far if depth > 1 and depth - 1 - before == before - far else depth - 1)
    assert [rows.jump_depth(depth) for depth in range(1, 2_000)] == depths[1:]


@pytest.mark.parametrize("closed", ["right", "both"])
@pytest.mark.parametrize("of", [int, float])
def test_reads_of_windows_of_all_lengths(closed: str, of: Any) -> None:
    """Reads as of any time, of windows that have grown, slid, run empty and been adopted from panes."""
    choose = random.Random(11)
    health = sw.Sliding(
        by="k", on="t", top=sw.max("x").over(of(700), closed=closed), s=sw.sum("i").over(of(700), closed=closed)
    )
    live, expected = health.live(), in_panes(health)
    time = 0
    for step in range(3_000):
        time += choose.choice([0, 1, 1, 2]) if step % 1_000 else 5_000
        row = {"k": 0, "t": of(time), "x": choose.random(), "i": choose.randrange(99)}
        assert live.push(row) == expected.push(row)
        if step == 1_500:
            live = health.restore(live.snapshot())
        if step % 7 == 0:
            at = of(time + choose.choice([0, 1, choose.randrange(720), 699, 700, 701]))
            assert live.get({"k": 0}, at=at) == expected.get({"k": 0}, at=at), (step, at)
    assert live.native is not None


def test_calls_of_a_read_grow_with_the_logarithm() -> None:
    """Calls in compiled code are not counted one by one: the products that a fold reads are, by their chunks."""
    n = 40_000
    health = sw.Sliding(by="k", on="t", top=sw.max("x").over(n))
    live = health.live()
    choose = random.Random(3)
    live.push_many(pa.table({"k": [0] * 3 * n, "t": range(3 * n), "x": [choose.random() for _ in range(3 * n)]}))
    live.push({"k": 0, "t": 3 * n, "x": 0.5})
    assert live.native is not None
    spec = live.native.store.specs[0]
    depths, _, jump_depths = (field.data for field in spec.links)
    chunk_of = {int(depths[chunk]): chunk for chunk in range(spec.chunks.size) if depths[chunk] > 2 * n // 8}
    newest = max(chunk_of)
    for oldest in choose.sample(range(newest - n // 8 + 2, newest), 300):
        depth, steps = newest, 0
        while depth > oldest:
            jump = int(jump_depths[chunk_of[depth]])
            depth = jump if jump >= oldest else depth - 1
            steps += 1
        assert steps <= 2 * (n // 8).bit_length()


def test_what_arrays_do_not_hold_goes_on_in_panes() -> None:
    health = sw.Sliding(by="k", on="t", peak=sw.max("x").over(50))
    live, expected = health.live(), in_panes(health)
    for time in range(200):
        row = {"k": time % 3, "t": time, "x": float(time) if time % 4 else 2**60 + time}  # which no float is
        assert same(live.push(row), expected.push(row))
    assert live.native is None, "given up after some misfits"
    assert live.get({"k": 1}) == expected.get({"k": 1})
    assert len(live) == 3


def test_a_thread_compiles_while_events_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "IN_BACKGROUND", True)
    health = sw.Sliding(by="k", on="t", peak=sw.max("x").over(50))
    live, expected = health.live(), in_panes(health)
    time = 0
    while live.native is None and time < 1_000_000:
        row = {"k": time % 3, "t": time, "x": float(time % 7)}
        assert live.push(row) == expected.push(row)
        time += 1
    assert live.native is not None


def test_a_row_takes_less_memory_than_in_panes() -> None:
    health = sw.Sliding(by="k", on="t", peak=sw.max("x").over(1_000_000), mean=sw.mean("x").over(1_000_000))
    rows = pa.table({"k": [i % 100 for i in range(100_000)], "t": range(100_000), "x": [1.5] * 100_000})
    live = health.live()
    live.push_many(rows)
    assert live.native is not None
    assert live.native.store.nbytes() / 100_000 < 16 + 3 * 8 * 2 * 1.3 + 40
