"""Answers on a beat: what a definition says of them, what is refused, live events, other engines, and what it costs."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanes import Case, assert_same, direct, run

import slidewise as sw
from slidewise.kernels.bounds.beats import slice_numbers, starts_of
from slidewise.windows import Beats, Window

NOON = datetime(2024, 3, 1, 12)
HOP = sw.Sliding(by="k", on="t", every=10, n=sw.count().over(20), s=sw.sum("x").over(20))


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def test_a_definition_has_beats() -> None:
    definition = sw.Sliding(by="k", on="ts", every="1 minute", offset="15s", top=sw.max("x").over("10 minutes"))
    assert repr(definition).splitlines()[3:5] == ["    every='1 minute',", "    offset='15 seconds',"]
    assert pickle.loads(pickle.dumps(definition)) == definition
    assert sw.Sliding.from_toml(definition.to_toml()) == definition
    assert definition.to_dict()["every"] == "1 minute"
    other = sw.Sliding(by="k", on="ts", every="60s", offset=timedelta(seconds=-45), top=sw.max("x").over("10 minutes"))
    assert other == definition
    assert hash(other) == hash(definition)
    assert other.fingerprint() == definition.fingerprint()
    plain = sw.Sliding(by="k", on="ts", top=sw.max("x").over("10 minutes"))
    assert plain != definition
    fingerprints = {one.fingerprint() for one in (plain, definition, HOP)}
    assert len(fingerprints) == 3
    numbers = sw.Sliding(on="t", every=0.25, offset=0.6, n=sw.count().over(1))
    assert (numbers.every, numbers.offset) == (0.25, 0.1)
    assert sw.Sliding.from_toml(numbers.to_toml()) == numbers
    assert HOP.offset is None
    assert sw.Sliding(on="t", every=3, offset=6, n=sw.count().over(1)).offset is None


@pytest.mark.rule(18)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"every": "1 minute", "n": sw.count().over(rows=3)}, r"'n' is over rows=3, .* never runs empty"),
        ({"every": "1 minute", "n": sw.count().over("all")}, r"'n' is over all rows so far, .* would never end"),
        ({"every": "1 minute", "n": sw.count().over(10)}, r"'n' is over 10, and every='1 minute': give both as"),
        ({"every": 5, "n": sw.count().over("1h")}, r"give both as durations, or both as numbers"),
        ({"every": "1m", "n": sw.count().over("1h", grain="1s")}, r"'n' has a grain, .* share a partial already"),
        ({"every": "0s", "n": sw.count().over("1h")}, r"every='0s'"),
        ({"every": "1 month", "n": sw.count().over("1h")}, r"every='1 month': .* has no fixed length"),
        ({"every": "1m", "offset": 5, "n": sw.count().over("1h")}, r"go together: two durations, or two numbers"),
        ({"every": "1m", "offset": "later", "n": sw.count().over("1h")}, r"offset='later': cannot read the duration"),
        ({"every": 5, "offset": float("nan"), "n": sw.count().over(1)}, r"offset=nan is neither"),
        ({"offset": "1m", "n": sw.count().over("1h")}, r"offset='1m' moves the beats of every=, and there is none"),
        ({"every": sw.count().over("1h")}, r"a column of that name is given as columns=\{'every': "),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=message):
        sw.Sliding(by="k", on="ts", **arguments)


def test_beats_need_a_time_column_and_names_may_clash() -> None:
    with pytest.raises(sw.SlidewiseError, match="needs a time column"):
        sw.Sliding(by="k", every="1m", n=sw.count().over("1h"))
    table = pa.table({"k": [1], "t": [5]})
    found = sw.Sliding(by="k", on="t", every=10, columns={"every": sw.count().over(10)})(table)
    assert found.to_pylist() == [{"k": 1, "t": 10, "every": 1}]


@pytest.mark.rule(18)
@pytest.mark.parametrize(
    ("kind", "every", "message"),
    [
        (
            pa.timestamp("s"),
            "500ms",
            "every='500 milliseconds' gives beats that on='t', which holds whole steps of 1 second",
        ),
        (pa.date32(), "1 hour", "which holds dates, cannot hold; cast it to timestamps"),
        (pa.date64(), "1 hour", "which holds dates, cannot hold"),
        (pa.int64(), "1 hour", "holds numbers, but every is '1 hour'; give it as a number"),
        (pa.timestamp("us"), 10, "holds times, but every is '10'; give it as a duration"),
        (
            pa.int64(),
            0.5,
            "every=0.5 gives beats that on='t', which holds whole numbers, cannot hold; cast it to float64",
        ),
    ],
)
def test_a_beat_that_the_time_cannot_hold_is_refused(kind: pa.DataType, every: Any, message: str) -> None:
    definition = sw.Sliding(on="t", every=every, n=sw.count().over("1 day" if isinstance(every, str) else 10))
    whole = pa.array([0, 86_400_000], pa.int64() if kind != pa.date32() else pa.int32()).cast(kind)
    with pytest.raises(sw.WindowError, match=message):
        definition(pa.table({"t": whole}))


@pytest.mark.rule(18)
def test_a_beat_beyond_the_type_is_an_error() -> None:
    table = pa.table({"t": pa.array([120], pa.int8())})
    with pytest.raises(sw.InputError, match="a beat at 150 does not fit into int8, the type of on='t'"):
        sw.Sliding(on="t", every=150, n=sw.count().over(40))(table)
    far = pa.table({"t": pa.array([2**62], pa.int64())})
    with pytest.raises(sw.InputError, match="too far from the epoch for beats"):
        sw.Sliding(on="t", every=150, n=sw.count().over(40))(far)
    floats = pa.table({"t": [1e15]})
    with pytest.raises(sw.InputError, match=r"too far to be cut into slices of 0\.25; subtract a start"):
        sw.Sliding(on="t", every=0.25, n=sw.count().over(1))(floats)


@pytest.mark.rule(18)
def test_keys_come_in_order_of_their_first_rows_and_beats_ascend() -> None:
    table = pa.table({"k": ["b", "a", "b"], "t": [35, 1, 2], "x": [1, 2, 3]})
    assert HOP(table).to_pylist() == [
        {"k": "b", "t": 10, "n": 1, "s": 3},
        {"k": "b", "t": 20, "n": 1, "s": 3},
        {"k": "b", "t": 40, "n": 1, "s": 1},
        {"k": "b", "t": 50, "n": 1, "s": 1},
        {"k": "a", "t": 10, "n": 1, "s": 2},
        {"k": "a", "t": 20, "n": 1, "s": 2},
    ]


@pytest.mark.rule(18)
def test_a_beat_without_counted_rows_is_there_and_null() -> None:
    definition = sw.Sliding(on="t", every=10, s=sw.sum("x").over(10), n=sw.count("x").over(10), l=sw.max("x").over(5))
    assert definition(pa.table({"t": [3], "x": pa.array([None], pa.int64())})).to_pylist() == [
        {"t": 10, "s": None, "n": 0, "l": None}
    ]


def test_pushed_events_give_the_beats_that_they_complete() -> None:
    live: Any = HOP.live()
    assert live.push({"k": "a", "t": 3, "x": 1}) == []
    assert live.push({"k": "a", "t": 10, "x": 2}) == []  # closed on the right: another row may come at 10
    assert live.push({"k": "b", "t": 12, "x": 5}) == []  # of another key
    assert live.push({"k": "a", "t": 11, "x": 4}) == [{"k": "a", "t": 10, "n": 2, "s": 3}]
    assert live.push({"k": "a", "t": 100, "x": 1}) == [
        {"k": "a", "t": 20, "n": 3, "s": 7},
        {"k": "a", "t": 30, "n": 1, "s": 4},
    ]
    assert live.advance(to=29) == [{"k": "b", "t": 20, "n": 1, "s": 5}]
    with pytest.raises(sw.TimeOrderError, match="is not after 29, up to which beats were asked for by advance"):
        live.push({"k": "c", "t": 29, "x": 1})
    with pytest.raises(sw.TimeOrderError, match="goes back"):
        live.advance(to=28)
    assert live.advance(to=130) == [
        {"k": "b", "t": 30, "n": 1, "s": 5},
        {"k": "a", "t": 100, "n": 1, "s": 1},
        {"k": "a", "t": 110, "n": 1, "s": 1},
    ]
    assert len(live) == 0
    assert live.stats == (5, 7, 0, 0, 0, 0, 0)


def test_where_all_windows_are_open_an_event_on_the_beat_completes_it() -> None:
    definition = sw.Sliding(on="ts", every="1 minute", n=sw.count().over("2 minutes", closed="left"))
    live: Any = definition.live(late="drop")
    live.push({"ts": at(0.5)})
    assert live.push({"ts": at(1)}) == [{"ts": at(1), "n": 1}]
    assert live.push({"ts": at(0)}) == []
    assert live.stats.late == 1
    assert live.advance(to=at(2)) == [{"ts": at(2), "n": 2}]
    assert live.push({"ts": at(2)}) == []
    assert live.stats.late == 2


def test_times_come_back_as_they_came() -> None:
    days = sw.Sliding(on="d", every="1 day", n=sw.count().over("1 day")).live()
    days.push({"d": date(2024, 3, 1)})
    assert days.push({"d": date(2024, 3, 3)}) == [{"d": date(2024, 3, 1), "n": 1}]
    zoned = sw.Sliding(on="d", every="1 hour", n=sw.count().over("1 hour")).live()
    zoned.push({"d": datetime(2024, 3, 1, 12, 5, tzinfo=UTC)})
    assert zoned.push({"d": datetime(2024, 3, 1, 14, tzinfo=UTC)}) == [
        {"d": datetime(2024, 3, 1, 13, tzinfo=UTC), "n": 1}
    ]
    floats = sw.Sliding(on="t", every=0.1, n=sw.count().over(0.1)).live()
    floats.push({"t": 0.25})
    assert floats.push({"t": 1.0}) == [{"t": 0.3, "n": 1}]
    with pytest.raises(sw.WindowError, match="times are dates, but beats come every 1 hour"):
        sw.Sliding(on="d", every="1 hour", n=sw.count().over("1 hour")).live().push({"d": date(2024, 3, 1)})


def test_waiting_events_give_the_beats_of_all_keys() -> None:
    live: Any = HOP.live(late="wait:5")
    assert live.push({"k": "a", "t": 9, "x": 1}) == []
    assert live.push({"k": "b", "t": 4, "x": 2}) == []
    assert live.push({"k": "a", "t": 15, "x": 4}) == []  # an event at 10 would not be late yet
    assert live.push({"k": "b", "t": 16, "x": 8}) == [
        {"k": "b", "t": 10, "n": 1, "s": 2},  # b came to be answered first
        {"k": "a", "t": 10, "n": 1, "s": 1},
    ]
    assert live.push({"k": "a", "t": 3, "x": 1}) == []
    assert live.stats.late == 1
    assert live.flush() == []
    assert live.advance(to=20) == [{"k": "b", "t": 20, "n": 2, "s": 10}, {"k": "a", "t": 20, "n": 2, "s": 5}]
    again = HOP.restore(live.snapshot())
    assert again.advance(to=1_000) == live.advance(to=1_000)
    seen: list[Any] = []
    told: Any = HOP.live(late="wait:0", answered=seen.append)
    told.push({"k": 1, "t": 1, "x": 1})
    assert told.push({"k": 1, "t": 11, "x": 1}) == []
    assert seen == [{"k": 1, "t": 10, "n": 1, "s": 1}]


def test_an_error_leaves_everything_as_it_was() -> None:
    live: Any = HOP.live()
    live.push({"k": "a", "t": 3, "x": 2**62})
    before = live.snapshot()
    with pytest.raises(sw.SlidewiseError):
        live.push({"k": "a", "t": 4, "x": "text"})
    assert live.snapshot() == before
    live.push({"k": "a", "t": 4, "x": 2**62})
    before = live.snapshot()
    for _ in range(2):
        with pytest.raises(sw.SumOverflowError):
            live.push({"k": "a", "t": 11, "x": 1})
        with pytest.raises(sw.SumOverflowError):
            live.push_many(pa.table({"k": ["b", "a"], "t": [5, 11], "x": [1, 1]}))
        with pytest.raises(sw.SumOverflowError):
            live.push_many(pa.table({"k": ["a"] * 200, "t": [11] * 200, "x": [1] * 200}))
        with pytest.raises(sw.SumOverflowError):
            live.advance(to=20)
        assert live.snapshot() == before
    with pytest.raises(sw.TimeOrderError, match="lies before 4, the newest of the key 'a'") as error:
        live.push_many(pa.table({"k": ["b", "a"], "t": [5, 1], "x": [1, 1]}))
    assert "row 1" in error.value.__notes__[0]


def test_what_live_refuses() -> None:
    with pytest.raises(sw.SlidewiseError, match="late='revise' is not for every='10'"):
        HOP.live(late="revise")
    with pytest.raises(sw.SlidewiseError, match="spikes= is not for every="):
        HOP.live(spikes=True)
    with pytest.raises(sw.SlidewiseError, match=r"advance\(to=\.\.\.\) gives the beats"):
        HOP.live().flush()
    live = HOP.live()
    live.push({"k": 1, "t": 1, "x": 1})
    with pytest.raises(sw.InputError, match="times were whole numbers so far, and floats come now"):
        live.push({"k": 1, "t": 1.5, "x": 1})
    with pytest.raises(sw.SlidewiseError, match="advance is for definitions with every="):
        sw.Sliding(on="t", n=sw.count().over(1)).live().advance(to=3)


def test_a_snapshot_belongs_to_its_definition_and_is_checked() -> None:
    live = HOP.live()
    live.push({"k": 1, "t": 1, "x": 1})
    blob = live.snapshot()
    other = sw.Sliding(by="k", on="t", every=10, offset=1, n=sw.count().over(20), s=sw.sum("x").over(20))
    with pytest.raises(sw.SnapshotError, match="made by another definition"):
        other.restore(blob)
    with pytest.raises(sw.SnapshotError, match="damaged"):
        HOP.restore(blob[:-20] + bytes([blob[-20] ^ 1]) + blob[-19:])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_batches_give_tables_of_their_kind_in_the_order_of_push(kind: str) -> None:
    choose = np.random.default_rng(2)
    columns = {
        "k": choose.integers(0, 3, 300),
        "t": np.sort(choose.integers(0, 400, 300)),
        "x": choose.integers(0, 9, 300),
    }
    frame = pytest.importorskip(kind).DataFrame(columns)
    one, two = HOP.live(), HOP.live()
    found = [two.push_many(frame[:150]), two.push_many(frame[150:200]), two.push_many(frame[200:])]
    assert all(isinstance(part, type(frame)) for part in found)
    rows = [row for part in found for row in (part.to_dict("records") if kind == "pandas" else part.to_dicts())]
    events = [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]
    assert rows == [beat for event in events for beat in one.push(event)]
    assert one.advance(to=900) == two.advance(to=900)
    assert one.stats == two.stats


def test_batches_of_waiting_events_go_through_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    choose = np.random.default_rng(3)
    times = np.sort(choose.integers(0, 2_000, 900)) + choose.integers(-4, 5, 900)
    table = pa.table({"k": choose.integers(0, 5, 900), "t": times, "x": choose.integers(0, 9, 900)})
    one, two = HOP.live(late="wait:10"), HOP.live(late="wait:10")
    expected = [beat for event in table.to_pylist() for beat in one.push(event)]
    monkeypatch.setattr(type(two), "release", None)  # which single events need
    found = [row for a in range(0, 900, 300) for row in two.push_many(table.slice(a, 300)).to_pylist()]
    assert [row["t"] for row in found] == sorted(row["t"] for row in found)
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert len(found) > 500
    assert two.stats == one.stats
    monkeypatch.undo()
    assert sorted(map(repr, two.flush())) == sorted(map(repr, one.flush()))
    assert sorted(map(repr, two.advance(to=9_999))) == sorted(map(repr, one.advance(to=9_999)))


@pytest.mark.rule(18)
def test_beats_are_duckdbs_hops() -> None:
    duckdb = pytest.importorskip("duckdb")
    choose = np.random.default_rng(5)
    seconds = np.concatenate([choose.integers(0, 3_000, 200), choose.integers(40, 90, 60) * 60, [9_000, 9_060]])
    table = pa.table(
        {
            "k": choose.choice(["a", "b", "c"], len(seconds)),
            "ts": pa.array(1_711_846_800_000_000 + seconds * 1_000_000, pa.timestamp("us", "Europe/Paris")),
            "x": pa.array(choose.integers(-50, 50, len(seconds)), mask=choose.random(len(seconds)) < 0.1),
        }
    )
    definition = sw.Sliding(
        by="k",
        on="ts",
        every="1 minute",
        offset="20s",
        columns={
            name: one.over("150 seconds")
            for name, one in {"n": sw.count(), "top": sw.max("x"), "total": sw.sum("x"), "mid": sw.median("x")}.items()
        },
    )
    rows = duckdb.sql(
        """
        WITH e AS (SELECT k, x, epoch_us(ts) AS t FROM "table"),
             b AS (SELECT unnest(range((SELECT min(t) // 60000000 * 60000000 - 40000000 FROM e),
                                       (SELECT max(t) + 300000000 FROM e), 60000000)) AS b)
        SELECT k, b, count(*), max(x), sum(x)::BIGINT, median(x)
        FROM b JOIN e ON t > b - 150000000 AND t <= b GROUP BY k, b ORDER BY k, b
        """
    ).fetchall()
    found = definition(table)
    found = found.set_column(1, "ts", found.column("ts").cast(pa.int64())).sort_by(
        [("k", "ascending"), ("ts", "ascending")]
    )
    assert [tuple(row.values()) for row in found.to_pylist()] == rows
    assert len(rows) > 100


def counted(calls: list[int]) -> sw.Operator:
    """A sum that Numba cannot compile, which counts its calls."""

    def lift(x: Any) -> Any:
        calls[0] += 1
        return x

    def combine(a: Any, b: Any) -> Any:
        calls[0] += 1
        return a + b

    return sw.operator(name="counted", identity=0, lift=lift, combine=combine)


@pytest.mark.filterwarnings("ignore:operator 'counted' cannot be compiled")
def test_calls_do_not_grow_with_window_by_beat() -> None:
    rows, slices = 4_000, 400
    table = pa.table({"t": np.arange(rows), "x": np.ones(rows, np.int64)})
    for beats in (4, 40, 390):
        calls = [0]
        op = counted(calls)
        windows = {f"w{i}": op("x").over(beats * 10 - 10 * i) for i in range(3)}
        definition = sw.Sliding(on="t", every=10, columns=windows)
        found = definition(table)
        # Once into the slice for all windows; then each window takes a slice in, lets it go, and is asked.
        assert calls[0] <= 2 * rows + 3 * (6 * slices + len(found))
        calls[0] = worst = total = 0
        live: Any = definition.live()
        for t in range(rows):
            before = calls[0]
            live.push({"t": t, "x": 1})
            worst = max(worst, calls[0] - before)
            total = calls[0]
        assert worst <= 2 + 3 * 6
        assert total <= 2 * rows + 3 * 5 * slices


TIMES = st.lists(st.integers(-50, 50), min_size=1, max_size=12)
WINDOWS = st.lists(
    st.tuples(st.integers(1, 30), st.sampled_from(["right", "both", "left", "neither"])), min_size=1, max_size=3
)


@settings(max_examples=60)
@given(TIMES, st.integers(1, 12), st.integers(-40, 40), WINDOWS)
def test_any_windows_and_beats(times: list[int], every: int, offset: int, windows: list[tuple[int, str]]) -> None:
    columns = {f"n{i}": sw.count().over(last, closed=closed) for i, (last, closed) in enumerate(windows)}
    definition = sw.Sliding(on="t", every=every, offset=offset, columns=columns)
    case = Case("random", definition, pa.table({"t": times}))
    for lane in ("pyarrow", "live", "live batches", "sorted batches"):
        assert_same(case, run(lane, [case])["random"], direct(definition, case.table))


@settings(max_examples=60)
@given(
    st.lists(st.integers(-400, 400), min_size=1, max_size=8),
    st.sampled_from([0.1, 0.25, 0.7, 3.0]),
    st.sampled_from([0.1, 0.3, 1.1, 2.5]),
)
def test_slices_of_floats_begin_where_they_say(tenths: list[int], every: float, last: float) -> None:
    windows = [Window(last=last, closed=closed) for closed in ("right", "both", "left")]
    beats = Beats(every, 0.1, windows, None, floats=True)
    times = np.array(tenths) / 10
    numbers = slice_numbers(beats, times)
    assert numbers.tolist() == [beats.number(time) for time in times.tolist()]
    assert starts_of(beats, numbers).tolist() == [beats.start(number) for number in numbers.tolist()]
    assert (starts_of(beats, numbers) <= times).all()
    assert (starts_of(beats, numbers + 1) > times).all()
    for time in times.tolist():
        beat = beats.at_or_before(time)
        assert beats.time(beat) <= time < beats.time(beat + 1)


def test_explain_says_what_beats_cost() -> None:
    columns = {"m": sw.mean("x").over("10m"), "q": sw.median("x").over("90ms")}
    text = str(sw.Sliding(by="k", on="ts", every="1s", offset="1ms", columns=columns).explain())
    assert text.startswith("every 1 second, 1 millisecond after the epoch: a row for each key and beat")
    assert "at most 1,202 for each key" in text  # 600 beats, each cut in two, and the beat that is going on
    assert "a key's state: at most 38.5 KB" in text
    assert "q = sw.median('x').over('90 milliseconds')" in text
