"""The pass over single events: the answers, errors and counts of panes, and what it leaves to others."""

from __future__ import annotations

import gc
import random
import sys
import tracemalloc
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from live_outcomes import outcome

import slidewise as sw
from slidewise.kernels.compiler import tiers
from slidewise.kernels.keyed import events
from slidewise.kernels.keyed.objects import OBJECT, entry_of
from slidewise.live.native import event_pass, plan
from slidewise.operators.values.equality import same

CARD = sw.Sliding(
    by=["k", "j"],
    on="t",
    peak=sw.max("x").over(10),
    n=sw.count().over(10),
    few=sw.count("x").over(3, at_least=2),
    total=sw.sum("i").over(rows=4),
    mean=sw.mean("x").where("ok").over(7, closed="both"),
    least=sw.min("i").over("all"),
    cov=sw.covariance("x", "i").over(20),
)
PLAIN = {"k": 1, "j": "a", "t": 0, "x": 0.5, "i": 3, "ok": True}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let windows lie in arrays from the first event on that may."""
    monkeypatch.setattr(plan, "FROM_EVENTS", 1)
    monkeypatch.setattr(plan, "IN_BACKGROUND", False)


class Both:
    """A live definition, and one that keeps to panes: what differs fails."""

    def __init__(self, definition: sw.Sliding, **options: Any) -> None:
        self.live, self.expected = definition.live(**options), definition.live(**options)
        self.expected.opening = None

    def push(self, row: Any) -> Any:
        mine, theirs = outcome(lambda: self.live.push(row)), outcome(lambda: self.expected.push(row))
        if (
            type(theirs) is tuple and isinstance(row, dict) and isinstance(row.get("x"), str)
        ):  # which arrays refuse in other words
            mine, theirs = mine[:1], theirs[:1]
        assert same(mine, theirs), f"{mine} instead of {theirs} for {row}"
        if type(mine) is dict:
            assert list(mine) == list(theirs)
            assert list(map(type, mine.values())) == list(map(type, theirs.values()))
        return mine

    @property
    def taken(self) -> int:
        """How many events the pass has taken."""
        return 0 if self.live.event_pass is None else self.live.event_pass.taken

    def agree(self) -> None:
        """Whether all counts and all windows are those of panes."""
        assert self.live.stats == self.expected.stats
        assert self.live.seen == self.expected.seen
        for key, state in self.expected.key_states.items():
            mine = self.live.key_states[key]
            assert (mine.now, mine.count) == (state.now, state.count)
            for pane, other in zip(mine.panes, state.panes, strict=True):
                if hasattr(pane, "all_rows"):
                    assert same(pane.all_rows(), other.all_rows())


@pytest.mark.filterwarnings("ignore:.*were dropped as too late")
def test_any_events() -> None:
    choose = random.Random(2)
    both = Both(CARD, late="drop")
    time = 0
    both.push(PLAIN)
    for number in range(3_000):
        time += choose.choice([0, 0, 1, 1, 2, 40 if choose.random() < 0.02 else 1])
        row = {
            "k": choose.choice([1, 2, None]),
            "j": choose.choice(["a", "b", b"c"]),
            "t": time - (30 if choose.random() < 0.1 else 0),
            "x": choose.choice([choose.random(), -0.0, float("nan"), float("inf"), None]),
            "i": choose.choice([choose.randrange(-5, 5), None]),
            "ok": choose.choice([True, False, None]),
            "note": object(),
        }
        both.push(row)
        if number % 500 == 0:
            both.agree()
            assert same(both.live.get({"k": 1, "j": "a"}), both.expected.get({"k": 1, "j": "a"}))
    both.agree()
    assert both.taken > 2_000


ZONE = timezone(timedelta(hours=2))


@pytest.mark.parametrize("kind", ["whole", "floats", "naive", "zoned", "elsewhere", "timestamps", "no time"])
@pytest.mark.parametrize("closed", ["right", "both"])
def test_times_and_keys_of_every_kind(kind: str, closed: str) -> None:
    length: Any = {"whole": 3, "floats": 1.5}.get(kind, timedelta(seconds=3))
    mean = sw.mean("x").over(rows=3) if kind == "no time" else sw.mean("x").over(length, closed=closed)
    health = sw.Sliding(by=[], on=None if kind == "no time" else "t", mean=mean, low=sw.min("x").over("all"))
    choose = random.Random(5)
    both = Both(health)
    zone = {"zoned": UTC, "elsewhere": ZONE, "timestamps": UTC}.get(kind)
    start = datetime(1969, 12, 31, 23, 59, tzinfo=zone)
    at = 0.0
    for _ in range(400):
        at += choose.choice([0.0, 0.5, 0.1, 1.5, 7.0])
        moment: Any = start + timedelta(microseconds=int(at * 1e6))
        if kind == "timestamps":
            moment = pd.Timestamp(moment)
        time = {"whole": int(at), "floats": at}.get(kind, moment)
        both.push({"t": time, "x": choose.random()})
    both.agree()
    assert both.taken == 0 if kind in ("elsewhere", "timestamps") else both.taken > 300


class Text(str):
    """Text of another type."""


class Mapped(dict[str, Any]):
    """A dict of another type."""


@pytest.mark.parametrize(
    "change",
    [
        {"x": 2**53 + 1},
        {"x": True},
        {"x": "3"},
        {"x": Text("3")},
        {"i": 2.0},
        {"i": True},
        {"i": 2**63},
        {"i": -(2**63) - 1},
        {"ok": 1},
        {"ok": "yes"},
        {"t": 5.5},
        {"t": None},
        {"t": True},
        {"t": 2**70},
        {"t": datetime(2024, 1, 1)},
        {"t": -9},
        {"k": 1.0},
        {"k": True},
        {"k": Text("a")},
        {"k": [1]},
        {"k": float("nan")},
        {"k": 9},
        {"x": ...},
        {"i": ...},
        {"ok": ...},
        {"t": ...},
        {"k": ...},
        {"j": ...},
        {"x": None, "i": ...},
        {"ok": False, "x": ..., "i": 2**70},
        {"t": -9, "ok": 7},
        {"t": -9, "x": ...},
        None,
        Mapped(PLAIN, t=5),
        [("k", 1)],
    ],
    ids=str,
)
def test_what_the_pass_leaves_to_others(change: Any) -> None:
    """Answers or errors are those of panes, and the events after that are taken again."""
    both = Both(CARD)
    for time in range(5):
        both.push(PLAIN | {"t": time})
    taken = both.taken
    assert taken > 1
    row = change if not isinstance(change, dict) or isinstance(change, Mapped) else PLAIN | {"t": 5} | change
    if isinstance(row, dict):
        row = type(row)({name: value for name, value in row.items() if value is not ...})
    found = both.push(row)
    assert both.taken == taken
    both.agree()
    if isinstance(found, tuple):  # an error
        for time in range(6, 12):
            both.push(PLAIN | {"t": time})
        assert both.taken > taken
        both.agree()


def test_an_operator_that_raises_leaves_everything_as_it_was() -> None:
    health = sw.Sliding(by="k", on="t", n=sw.count("i").over(50), peak=sw.max("i").over(60), total=sw.sum("i").over(3))
    both = Both(health)
    for time in range(100):
        both.push({"k": 0, "t": time, "i": time})
    both.push({"k": 0, "t": 100, "i": 2**62})
    taken = both.taken
    assert taken > 90
    assert isinstance(both.push({"k": 0, "t": 101, "i": 2**62}), tuple)
    both.agree()
    for time in range(102, 300):
        both.push({"k": 0, "t": time, "i": -time})
    both.agree()


def test_expressions_before_and_behind() -> None:
    health = sw.Sliding(
        by="k",
        on="t",
        cents=sw.sum(sw.col("x") * 100).over(10),
        odd=sw.col("x") > 3 * sw.mean("x").over(20, closed="both"),
        ratio=sw.count().where(sw.col("x") > 0.5).over(5) / sw.count().over(5),
    )
    both = Both(health)
    choose = random.Random(4)
    for time in range(500):
        both.push({"k": choose.randrange(3), "t": time, "x": choose.random() if time % 50 else "much"})
    both.agree()
    taken = both.taken
    assert taken > 300
    # The aggregate takes the event in, and then the expression refuses it.
    wide = sw.Sliding(by="k", on="t", far=sw.col("j") + sw.sum("i").over(10))
    both = Both(wide)
    for time in range(50):
        both.push({"k": 0, "t": time, "i": 1, "j": 2})
    taken = both.taken
    assert taken > 30
    assert isinstance(both.push({"k": 0, "t": 60, "i": 7, "j": "text"}), tuple)
    both.agree()
    assert both.taken == taken
    for time in range(61, 80):
        both.push({"k": 0, "t": time, "i": 1, "j": 2})
    both.agree()


def test_many_rows_that_leave_at_once() -> None:
    both = Both(sw.Sliding(by="k", on="t", peak=sw.max("x").over(1_000), low=sw.min("x").over(rows=5)))
    choose = random.Random(9)
    time = 0
    for _ in range(6_000):
        time += 1 if choose.random() < 0.99 else choose.choice([30, 31, 32, 33, 34, 500, 2_000])
        both.push({"k": choose.randrange(2), "t": time, "x": choose.random()})
    both.agree()
    assert both.taken > 5_000


def test_batches_reads_and_forgetting_in_between() -> None:
    health = sw.Sliding(by="k", on="t", peak=sw.max("x").over(20))
    both = Both(health)
    choose = random.Random(1)
    time = 0
    for turn in range(60):
        for _ in range(20):
            time += 1
            both.push({"k": choose.randrange(4), "t": time, "x": choose.random()})
        frame = pd.DataFrame({"k": [5, turn], "t": [time + 1, time + 2], "x": [1.0, 2.0]})
        pd.testing.assert_frame_equal(both.live.push_many(frame), both.expected.push_many(frame))
        time += 2
        assert both.live.get({"k": 1}) == both.expected.get({"k": 1})
        if turn % 7 == 0:
            assert both.live.forget(before=time - 15) == both.expected.forget(before=time - 15)
        both.agree()
    assert both.taken > 500
    assert health.restore(both.live.snapshot()).stats == both.live.stats


def test_a_side_output_gets_its_rows() -> None:
    dropped: list[Any] = []
    health = sw.Sliding(by="k", on="t", peak=sw.max("x").over(20))
    live = health.live(late="drop", late_to=lambda row, reason: dropped.append((row["t"], reason)))
    for time in [0, 1, 2, 3, 1, 4, 2, 5]:
        live.push({"k": 0, "t": time, "x": 0.5})
    assert dropped == [(1, "late"), (2, "late")]
    assert live.event_pass is not None
    assert live.stats[:3] == (8, 6, 2)


def test_a_stream_of_other_events_stops_asking() -> None:
    """Where the pass leaves nearly all events to others, it is not asked any more."""
    live = sw.Sliding(by="k", on="t", peak=sw.max("x").over(timedelta(seconds=20))).live()
    start = datetime(2024, 1, 1, tzinfo=ZONE)
    for number in range(event_pass_limit() + 50):
        live.push({"k": 0, "t": start + timedelta(seconds=number), "x": 0.5})
    assert live.event_pass is not None
    assert live.event_pass.taken == 0
    assert live._event_entry is None
    for number in range(event_pass_limit()):  # but for a try now and then
        live.push({"k": 1, "t": start.astimezone(UTC) + timedelta(days=1, seconds=number), "x": 0.5})
    assert live.event_pass.taken > 0


def test_new_keys_are_no_reason_to_stop() -> None:
    live = sw.Sliding(by="k", on="t", peak=sw.max("x").over(20)).live()
    for number in range(2 * event_pass_limit()):
        live.push({"k": number, "t": 0, "x": 0.5})
    assert live.event_pass is not None
    assert live.event_pass.taken == 0
    live.push({"k": 7, "t": 1, "x": 0.5})
    assert live.event_pass.taken == 1


def event_pass_limit() -> int:
    from slidewise.live.native import push

    return push._FEW_LEFT


def test_references_are_counted() -> None:
    """Nothing is kept of an event, and nothing is given up that is not ours."""
    both = Both(CARD)
    row = PLAIN | {"t": 0, "x": 12345.678, "j": "a long key"}
    for _ in range(50):
        both.live.push(row)
    entry = both.live._event_entry
    assert entry is not None
    address = both.live._event_address
    watched = [*row.values(), *row, None, True, False, row]
    before = [sys.getrefcount(one) for one in watched]
    for _ in range(1_000):
        entry(address, row)  # taken
        entry(address, {})  # left to others
    assert [abs(sys.getrefcount(one) - count) < 100 for one, count in zip(watched, before, strict=True)] == [
        True
    ] * len(watched)
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(500):
            entry(address, row)
        held = tracemalloc.get_traced_memory()[0]
        for _ in range(20_000):
            entry(address, row)
            entry(address, {"k": 1})
        assert tracemalloc.get_traced_memory()[0] - held < 20_000
    finally:
        tracemalloc.stop()


MOMENTS = st.datetimes(datetime(1700, 1, 1), datetime(2250, 12, 31))


@given(MOMENTS, st.booleans())
@example(datetime(1970, 1, 1), False)
@example(datetime(1969, 12, 31, 23, 59, 59, 999_999), True)
@example(datetime(2000, 2, 29), True)
@example(datetime(2100, 2, 28, 23, 59), False)
@example(datetime(2100, 3, 1), False)
def test_datetimes_are_read_where_they_lie(moment: datetime, zoned: bool) -> None:
    read = entry_of(events.read_moment, OBJECT)
    assert read is not None
    expected = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) * 1_000
    assert read(moment.replace(tzinfo=UTC if zoned else None)) == expected + zoned


@pytest.mark.parametrize("name", ["compile_entry", "address_of_function"])
def test_where_it_cannot_be_compiled_python_goes_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise TypeError("no such thing")

    monkeypatch.setattr(event_pass, name, fail)
    both = Both(sw.Sliding(by="k", on="t", peak=sw.max("x").over(20)))
    for time in range(50):
        assert both.push({"k": 0, "t": time, "x": 0.5}) == {"peak": 0.5}
    assert both.live.native is not None
    assert both.taken == 0
    both.agree()


def test_a_thread_makes_it_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "IN_BACKGROUND", True)
    monkeypatch.delenv(tiers.VARIABLE, raising=False)
    monkeypatch.setattr(event_pass, "_entry", event_pass._Entry())
    event_pass.compile_entry.cache_clear()
    both = Both(sw.Sliding(by="k", on="t", peak=sw.max("x").over(20)))
    time = 0
    while not both.taken and time < 1_000_000:
        both.push({"k": 0, "t": time, "x": 0.5})
        time += 1
    assert both.taken
    both.agree()
