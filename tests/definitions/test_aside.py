"""Events that are not taken in, since they come too late or lie too far ahead: counted, handed over, never lost."""

from __future__ import annotations

import random
import warnings
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import slidewise as sw

NOON = datetime(2024, 3, 1, 12)
WAYS = ["drop", "wait:3", "revise", "beats", "beats that wait"]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The machine's clock stands still at noon, and can be set."""

    def stand(at: datetime) -> None:
        ns = int(at.replace(tzinfo=UTC).timestamp()) * 10**9
        monkeypatch.setattr("slidewise.live.set_aside.machine_time", lambda: ns)

    stand(NOON)
    return stand


def definition(way: str) -> sw.Sliding:
    every = {"every": 2} if way.startswith("beats") else {}
    return sw.Sliding(by="k", on="t", n=sw.count("x").over(4), s=sw.sum("x").over(4), **every)


def started(way: str, **options: Any) -> Any:
    late = {"beats": "drop", "beats that wait": "wait:3"}.get(way, way)
    retain = {"retain": 3} if way == "revise" else {}
    return definition(way).live(late=late, **retain, **options)


def stream(seed: int) -> list[dict[str, Any]]:
    """Events in about the order of time, some of them very late, and some from a future that does not come."""
    choose = random.Random(seed)
    rows = []
    for i in range(90):
        t = i // 2 + choose.choice((0, 0, 1, -2))
        t += 10_000 if choose.random() < 0.04 else -50 if choose.random() < 0.04 else 0
        rows.append({"k": choose.choice("ab"), "t": t, "x": i, "note": f"row {i}"})
    rows[0]["t"] = 0
    return rows


def believed(rows: list[dict[str, Any]], ahead: float) -> list[bool]:
    newest, found = None, []
    for row in rows:
        found.append(newest is None or row["t"] - newest <= ahead)
        if found[-1]:
            newest = row["t"] if newest is None else max(newest, row["t"])
    return found


@pytest.mark.filterwarnings("ignore:.*events were dropped")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", [1, 2])
def test_rows_from_the_future_change_nothing_else(way: str, seed: int) -> None:
    """With a guard, answers are those of the stream without the rows ahead, by push, push_many and across snapshots."""
    rows = stream(seed)
    keep = believed(rows, 20)
    assert 0 < keep.count(False) < 10
    plain = started(way)
    expected = [plain.push(row) for row, kept in zip(rows, keep, strict=True) if kept]
    told: list[tuple[dict[str, Any], str]] = []
    live = started(way, ahead=20, late_to=lambda row, reason: told.append((row, reason)))
    found, dropped = [], []
    for i, (row, kept) in enumerate(zip(rows, keep, strict=True)):
        before = len(told)
        given = live.push(row)
        if kept:
            found.append(given)
        elif way == "drop":
            assert given is None
        else:
            assert given == []
            assert given.dropped == "ahead"
        assert [reason for _, reason in told[before:]] in ([], ["late"] if kept else ["ahead"])
        dropped += [(row, reason) for _, reason in told[before:]]
        if i == 40:
            live = definition(way).restore(live.snapshot(), late_to=lambda row, reason: told.append((row, reason)))
    assert found == expected
    assert told == dropped
    assert live.stats == plain.stats._replace(events=90, ahead=keep.count(False))
    assert len([1 for _, reason in told if reason == "late"]) == live.stats.late > 0
    many: list[tuple[dict[str, Any], str]] = []
    batches = started(way, ahead=20, late_to=lambda row, reason: many.append((row, reason)))
    for start in range(0, 90, 15):
        batches.push_many(pa.Table.from_pylist(rows[start : start + 15]))
    assert many == told
    assert batches.stats == live.stats
    whole = started(way, ahead=20, late_to=lambda row, reason: many.append((row, reason)))
    many.clear()
    whole.push_many(pa.Table.from_pylist(rows))
    assert many == told
    assert whole.stats._replace(keys=0) == live.stats._replace(keys=0)


def test_push_tells_late_from_waiting() -> None:
    live = started("wait:3")
    waits, due, late = [live.push({"k": "a", "t": t, "x": 1}) for t in (0, 9, 1)]
    assert (waits, waits.dropped) == ([], None)
    assert ([row["t"] for row in due], due.dropped) == ([0], None)
    assert (late, late.dropped) == ([], "late")


def test_the_clock_is_the_reference_of_moments(clock: Any) -> None:
    sliding = sw.Sliding(on="t", n=sw.count().over("1 hour"))
    live = sliding.live(ahead="1 day", late="drop")
    tomorrow = NOON + timedelta(days=1)
    assert live.push({"t": tomorrow}) == {"n": 1}
    assert live.push({"t": tomorrow + timedelta(microseconds=1)}) is None
    clock(NOON + timedelta(hours=1))
    assert live.push({"t": tomorrow + timedelta(microseconds=1)}) == {"n": 2}
    assert live.stats.ahead == 1
    zoned = sliding.live(ahead="1 day")
    assert zoned.push({"t": (tomorrow + timedelta(hours=2)).replace(tzinfo=UTC)}) is None
    assert zoned.push({"t": tomorrow.replace(tzinfo=UTC)}) == {"n": 1}
    days = sw.Sliding(on="t", n=sw.count().over("7 days")).live(ahead="1 day")
    assert [days.push({"t": date(2024, 3, day)}) for day in (1, 2, 3)] == [{"n": 1}, {"n": 2}, None]
    by_stream = sliding.live(ahead="1 day", ahead_of="stream")
    assert by_stream.push({"t": tomorrow + timedelta(days=400)}) == {"n": 1}, "the first row is believed"
    batch = pa.table({"t": [NOON, tomorrow + timedelta(days=9), tomorrow]})
    live = sliding.live(ahead="1 day")
    assert live.push_many(batch)["n"].to_pylist() == [1, 1]
    assert live.stats.ahead == 1


def test_a_refused_event_is_not_believed() -> None:
    live = sw.Sliding(on="t", s=sw.sum("x").over(9)).live(ahead=5, late="drop")
    live.push({"t": 0, "x": 1})
    with pytest.raises(sw.InputError):
        live.push({"t": 5, "x": "text"})
    assert live.push({"t": 6, "x": 1}) is None
    assert live.push({"t": 5, "x": 1}) == {"s": 2}
    assert live.push({"t": 6, "x": 1}) == {"s": 3}


def test_whole_times_of_19_digits_are_compared_exactly() -> None:
    start = 1_700_000_000_000_000_000
    live = sw.Sliding(on="t", n=sw.count().over(9)).live(ahead=0.5, late="drop")
    assert [live.push({"t": start + t}) for t in (1, 1, 2, 0)] == [{"n": 1}, {"n": 2}, None, None]
    assert live.stats == (4, 2, 1, 0, 0, 1, 1)


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_lost_where_the_callback_fails(way: str) -> None:
    told: list[Any] = []
    full = [True]

    def late_to(row: dict[str, Any], reason: str) -> None:
        if full[0]:
            raise OSError("full")
        told.append((row["x"], reason))

    live = started(way, ahead=100, late_to=late_to)
    live.push({"k": "a", "t": 50, "x": 0})
    with pytest.raises(OSError, match="full"):
        live.push({"k": "a", "t": 1, "x": 1})
    assert live.stats.late == 1
    before = live.snapshot()
    with pytest.raises(OSError, match="full"):
        live.push({"k": "a", "t": 51, "x": 2})
    assert live.snapshot() == before, "the event was not taken in"
    live = definition(way).restore(before, late_to=late_to)
    full[0] = False
    live.push({"k": "a", "t": 51, "x": 2})
    assert told == [(1, "late")]
    full[0] = True
    batch = pa.table({"k": ["a"] * 3, "t": [2, 60, 900], "x": [3, 4, 5]})
    live.push_many(batch)
    assert live.stats.late == 2, "a batch gives its answers all the same"
    with pytest.raises(OSError, match="full"):
        live.push({"k": "a", "t": 61, "x": 6})
    full[0] = False
    live.push({"k": "a", "t": 61, "x": 6})
    assert told == [(1, "late"), (3, "late"), (5, "ahead")]


def test_many_dropped_events_are_a_warning_once() -> None:
    live = sw.Sliding(on="t", n=sw.count().over(9)).live(late="wait:10")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in range(94):
            live.push({"t": t})
        live.push({"t": 10**9})
        for t in range(94, 99):
            live.push({"t": t})
    with pytest.warns(
        UserWarning, match=r"6 of 101 events were dropped.*newest time is 1000000000.*ahead='1 day'"
    ) as met:
        live.push({"t": 99})
    assert met[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        live.push({"t": 100})
    table = pa.table({"t": [10**9, *range(200)]})
    with pytest.warns(UserWarning, match="200 of 201 events were dropped"):
        sw.Sliding(on="t", n=sw.count().over(9)).live(late="drop").push_many(table)
    guarded = sw.Sliding(on="t", n=sw.count().over(9)).live(late="drop", ahead=10)
    with pytest.warns(UserWarning, match=r"101 of 102 events .*101 of them lie more than ahead='10' past the stream"):
        guarded.push_many(pa.table({"t": [0, *range(100, 201)]}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ahead_of": "clock"}, "there is none; add ahead="),
        ({"ahead": 5, "ahead_of": "clock"}, "no clock shows these; use ahead_of='stream'"),
        ({"ahead": "1 day", "ahead_of": "sun"}, "none of 'clock' and 'stream'"),
        ({"ahead": -1}, "positive"),
        ({"late_to": print}, "late='error' raises instead"),
        ({"late_to": 3, "late": "drop"}, "a function of a row and the reason"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=message):
        sw.Sliding(on="t", n=sw.count().over(rows=9)).live(**options)


def test_kinds_of_time_that_do_not_go_together() -> None:
    rows = sw.Sliding(on="t", n=sw.count().over(rows=9))
    with pytest.raises(sw.WindowError, match="times are numbers, but ahead= is 1 day"):
        rows.live(ahead="1 day").push({"t": 1})
    with pytest.raises(sw.WindowError, match="times are datetimes, but ahead= is 5"):
        rows.live(ahead=5).push_many(pa.table({"t": [NOON]}))
    with pytest.raises(sw.SlidewiseError, match="no time column"):
        sw.Sliding(n=sw.count().over(rows=9)).live(ahead=5)
