"""Windows that begin anew: what is written, refused and read back, calendars, and how much a key keeps."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import lanes
import numpy as np
import pandas as pd
import point_in_time
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import DateType, StructField, StructType, TimestampType

import slidewise as sw
from slidewise.engine.window_spec import window_specs_of
from slidewise.errors import ExpressionError, InputError, SlidewiseError, WindowError
from slidewise.kernels.bounds.resets import goes_on, unit_numbers
from slidewise.spark.schema import check_schema
from slidewise.windows import Window
from slidewise.windows.calendar import DAY, UNITS, CalendarUnit
from slidewise.windows.session import Gap

c = sw.col
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = [
    *("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns", "UTC"),
    *("Pacific/Apia", "Africa/Casablanca", "Asia/Kathmandu", "America/Sao_Paulo"),
]


def test_they_are_written_and_read_back() -> None:
    windows = {
        "gap 30 minutes": Window.of(gap="30 minutes"),
        "gap 2.5 closed left": Window.of(gap=2.5, closed="left"),
        "since login at_least 2": Window.of(since="login", at_least=2),
        "since `log in`": Window.of(since="log in"),
        "since (kind == 'login')": Window.of(since=c("kind") == "login"),
        "this day": Window.of("this day"),
        "this iso year zone 'Europe/Berlin'": Window.of("this iso year", zone="Europe/Berlin"),
    }
    for text, window in windows.items():
        aggregate = sw.sum("x").over(
            **({"last": window.reset.written()["over"]} if window.needs_moments else {}),
            **{key: value for key, value in window.written().items() if key != "over"},
        )
        assert aggregate.window == window
        assert hash(aggregate.window) == hash(window)
        assert str(aggregate) == f"sum(x) over {text}"
        assert eval(repr(aggregate), {"sw": sw}).key() == aggregate.key()
        for column in (aggregate, aggregate / 2):
            one = sw.Sliding(by="k", on="t", a=column)
            again = sw.Sliding.from_toml(one.to_toml())
            assert again == one
            assert again.fingerprint() == one.fingerprint()
    assert Window.of(gap="90s").described() == [None, None, "right", None, ["gap", "90000000000 ns"]]
    assert Window.of(since="a").described() == [None, None, "right", None, ["since", "a"]]
    assert Window.of("this day", zone="UTC").described() == [None, None, "right", None, ["this", "day", "UTC"]]
    assert "begins anew: at a row more than 30 minutes after" in str(
        sw.Sliding(by="k", on="t", a=sw.sum("x").over(gap="30 minutes")).explain()
    )
    assert sw.choose(sw.max("x").over(since="ok")).name == "running state"


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"gap": "1h", "since": "a"}, "2 windows"),
        ({"gap": "1h", "last": "1h"}, "2 windows"),
        ({"gap": 5, "rows": 3}, "two windows"),
        ({"last": "this day", "grain": "1h"}, "no old edge"),
        ({"gap": 5, "delay": 3}, "delay="),
        ({"since": "a", "closed": "both"}, "'right' or 'left'"),
        ({"last": "this fortnight"}, "is none of"),
        ({"last": "this dy"}, "did you mean 'this day'"),
        ({"last": "today"}, "did you mean 'this day'"),
        ({"last": "This Day"}, "did you mean 'this day'"),
        ({"last": "iso year"}, "did you mean 'this iso year', .* or '1 year'"),
        ({"delay": "1 day"}, "gap=, since= or next="),
        ({"last": "this day", "zone": "Europe/Berln"}, "not known"),
        ({"last": "this day", "zone": "/etc/passwd"}, "not known"),
        ({"gap": "1 day", "zone": "UTC"}, "calendar's unit"),
        ({"gap": "-1h"}, "duration"),
        ({"gap": True}, "not True"),
    ],
)
def test_what_makes_no_sense_is_refused(over: dict[str, Any], message: str) -> None:
    with pytest.raises(WindowError, match=message):
        sw.sum("x").over(**over)


def test_rows_that_do_not_go_with_the_window_are_refused() -> None:
    for over in ({"gap": "1h"}, {"last": "this day"}):
        with pytest.raises(SlidewiseError, match="needs a time column"):
            sw.Sliding(a=sw.sum("x").over(**over))
        with pytest.raises(SlidewiseError, match="begins anew at other times than beats"):
            sw.Sliding(on="t", every="1h", a=sw.sum("x").over(**over))
        one = sw.Sliding(on="t", a=sw.sum("x").over(**over))
        with pytest.raises(WindowError, match=r"numbers"):
            one(pa.table({"t": [1, 2], "x": [1, 2]}))
        with pytest.raises(WindowError, match=r"numbers"):
            one.live().push({"t": 1, "x": 2})
        with pytest.raises(WindowError, match=r"times="):
            sw.rolling(np.arange(2), sw.sum, **over)
        with pytest.raises(WindowError, match=r"numbers"):
            sw.rolling(np.arange(2), sw.sum, times=np.arange(2), **over)
    with pytest.raises(SlidewiseError, match="never runs empty"):
        sw.Sliding(on="t", every="1h", a=sw.sum("x").over(since="ok"))
    with pytest.raises(WindowError, match="over the number 3; write it as gap='10 minutes'"):
        sw.Sliding(on="t", a=sw.sum("x").over(gap=3)).live().push({"t": EPOCH, "x": 1})
    since = sw.Sliding(on="t", a=sw.sum("x").over(since="ok"))
    with pytest.raises(InputError, match=r"since='ok' needs a boolean column"):
        since(pa.table({"t": [1], "x": [1], "ok": [1]}))
    with pytest.raises(SlidewiseError, match=r"since='ok' needs True, False or None"):
        since.live().push({"t": 1, "x": 1, "ok": 1})
    with pytest.raises(SlidewiseError, match="has no 'ok'"):
        since.live().push({"t": 1, "x": 1})
    with pytest.raises(ExpressionError, match="since takes a condition"):
        sw.sum("x").over(since=c("a") + 1)
    with pytest.raises(SlidewiseError, match="boolean column, or a condition"):
        sw.sum("x").over(since=3)
    with pytest.raises(SlidewiseError, match="needs retain="):
        sw.Sliding(on="t", a=sw.sum("x").over(gap="1h")).live(late="revise")


def test_sessions_of_numbers_and_floats() -> None:
    ones = np.ones(6, np.int64)
    assert sw.rolling(ones, sw.sum, times=np.array([0, 2, 4, 7, 7, 9]), gap=2).tolist() == [1, 2, 3, 2, 2, 3]
    left = sw.rolling(ones, sw.count, times=np.array([0, 2, 4, 7, 7, 9]), gap=2, closed="left")
    assert left.tolist() == [0, 1, 2, 0, 0, 2]
    floats = np.array([0.0, 0.25, 0.5, 1.0, 1.25, 1e300])
    assert sw.rolling(ones, sw.sum, times=floats, gap=0.25).tolist() == [1, 2, 3, 1, 2, 1]
    assert sw.rolling(ones, sw.sum, times=np.array([0, 2, 4, 7, 7, 9]), gap=2.5).tolist() == [1, 2, 3, 2, 2, 3]
    far = np.array([-(2**63), 0, 2**63 - 1])
    assert sw.rolling(ones[:3], sw.sum, times=far, gap=2**63).tolist() == [1, 2, 3]
    assert sw.rolling(ones[:3], sw.sum, times=far, gap=2**63 - 1).tolist() == [1, 1, 2]
    flags = pa.array([None, False, True, None, True, False])
    assert sw.rolling(ones, sw.sum, since=flags).tolist() == [1, 2, 1, 2, 1, 2]
    assert sw.rolling(ones[:0], sw.sum, since=flags[:0]).tolist() == []
    with pytest.raises(InputError, match="boolean"):
        sw.rolling(ones, sw.sum, since=ones)
    keys = np.array([1, 2, 1, 2, 1, 2])
    assert sw.rolling(ones, sw.sum, since=flags, by=keys).tolist() == [1, 1, 1, 2, 1, 3]


def _places(tick: int, low: str, high: str) -> st.SearchStrategy[int]:
    """Times in ticks of so many nanoseconds."""
    first, last = (
        (datetime.fromisoformat(day).replace(tzinfo=UTC) - EPOCH) // timedelta(seconds=1) for day in (low, high)
    )
    return st.integers(first * 10**9 // tick, last * 10**9 // tick)


TICKS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, "date": DAY * 10**9}


@given(st.data(), st.sampled_from(ZONES), st.sampled_from(sorted(TICKS)), st.sampled_from(UNITS))
def test_units_of_zones_are_those_of_python(data: st.DataObject, zone: str, name: str, unit: str) -> None:
    tick = TICKS[name]
    span = ("1900-01-01", "2037-12-31") if name in ("ns", "date") else ("1850-01-01", "2500-01-01")
    place = _places(tick, *span)
    near = st.integers(-3 * DAY * 10**9 // tick, 3 * DAY * 10**9 // tick)
    places = data.draw(st.lists(st.one_of(place, st.builds(lambda a, b: a + b, place, near)), min_size=1, max_size=6))
    places = sorted([*places, *(p + data.draw(near) for p in places[:2])])
    reset = CalendarUnit.of(f"this {unit}", zone).ticking(tick)
    numbers = unit_numbers(reset, np.array(places, np.int64)).tolist()
    assert numbers == sorted(numbers)
    for before, now, a, b in zip(places, places[1:], numbers, numbers[1:], strict=False):
        scalar = reset.goes_on(before, now)
        assert scalar == (a == b)
        if unit != "hour" and zone not in ("America/St_Johns",):
            judged = lanes.calendar_unit(unit, zone, before * tick) == lanes.calendar_unit(unit, zone, now * tick)
            assert scalar == judged


def test_clocks_that_are_set_forward_and_back() -> None:
    def local(zone: str, *parts: int, fold: int = 0) -> int:
        return int(datetime(*parts, fold=fold, tzinfo=ZoneInfo(zone)).timestamp())  # type: ignore[arg-type]

    def numbers(unit: str, zone: str, times: list[int]) -> list[int]:
        found = unit_numbers(CalendarUnit.of(f"this {unit}", zone).ticking(10**9), np.array(times))
        assert found.tolist() == [CalendarUnit.of(f"this {unit}", zone).number(time) for time in times]
        return np.unique(found, return_inverse=True)[1].tolist()

    berlin = "Europe/Berlin"
    day = [local(berlin, 2024, 3, 31), local(berlin, 2024, 4, 1)]  # 23 hours
    assert day[1] - day[0] == 23 * 3_600
    assert numbers("day", berlin, [day[0] - 1, day[0], day[1] - 1, day[1]]) == [0, 1, 1, 2]
    back = local(berlin, 2024, 10, 27, 3) - 3_600  # the second 2:00
    assert numbers("hour", berlin, [back - 3_600, back - 1, back, back + 3_599, back + 3_600]) == [0, 0, 1, 1, 2]
    assert numbers("hour", "Asia/Kolkata", [1_799, 1_800, 5_399, 5_400]) == [0, 1, 1, 2]
    howe = local("Australia/Lord_Howe", 2024, 4, 7, 1, 30, fold=1)  # 2:00 is set back to 1:30
    assert numbers("hour", "Australia/Lord_Howe", [howe - 3_600, howe - 1, howe, howe + 1_799, howe + 1_800]) == [
        *(0, 0, 1, 1, 2)
    ]
    midnight = local("America/St_Johns", 2006, 10, 29)  # a minute later it is 23:01 again
    assert numbers("day", "America/St_Johns", [midnight - 1, midnight, midnight + 61, midnight + 3_700]) == [0, 1, 1, 1]
    skipped = local("Pacific/Apia", 2011, 12, 29, 23)  # behind it comes 31 December
    assert numbers("day", "Pacific/Apia", [skipped, skipped + 3_599, skipped + 3_600]) == [0, 0, 1]
    assert numbers("month", "UTC", [local("UTC", 2024, 2, 29), local("UTC", 2024, 3, 1)]) == [0, 1]
    assert numbers("iso year", "UTC", [local("UTC", 2024, 12, 29), local("UTC", 2024, 12, 30)]) == [0, 1]
    far = [-(2**60), -(2**55), 0, 2**55, 2**60]  # beyond what Python's datetimes know
    assert numbers("year", berlin, far) == [0, 1, 2, 3, 4]


def test_a_gap_of_whole_and_of_float_times() -> None:
    gap = Gap(2.5).ticking(None)
    for before, now in [(0, 2), (0, 3), (0.0, 2.5), (0, 2.75), (-(2**63), 2**63 - 1)]:
        kind = np.int64 if isinstance(before, int) and isinstance(now, int) else np.float64
        arrays = np.array([before], kind), np.array([now], kind)
        assert goes_on(gap, *arrays).tolist() == [gap.goes_on(before, now)]


EVERY_KIND = sw.Sliding(
    by="k",
    on="t",
    ties="i",
    session=sw.sum("x").over(gap="10 minutes"),
    session_before=sw.collect("i").over(gap="10 minutes", closed="left"),
    day=sw.count("x").over("this day", zone="Europe/Berlin"),
    day_before=sw.max("x").over("this day", zone="Europe/Berlin", closed="left"),
    since=sw.collect("i").over(since="ok"),
    since_before=sw.sum("x").over(since=c("x") == 3, closed="left"),
    everything=sw.sum("x").over("all"),
)


def rows_of(seed: int, count: int = 60) -> list[dict[str, Any]]:
    choose = random.Random(seed)
    time, rows = datetime(2024, 3, 30, 20, tzinfo=UTC), []
    for i in range(count):
        time += timedelta(minutes=choose.choice([0, 0, 3, 10, 11, 90, 700]))
        values = {"x": choose.choice([None, 1, 2, 3]), "ok": choose.choice([True, False, False, None])}
        rows.append({"k": choose.choice("ab"), "t": time, "i": i, **values})
    return rows


@pytest.mark.rule(19, 26)
def test_answers_at_other_times() -> None:
    rows = rows_of(1)
    events, live = pa.Table.from_pylist(rows), EVERY_KIND.live()
    for row in rows:
        live.push(row)
    batch = EVERY_KIND.live()
    batch.push_many(events)
    newest = rows[-1]["t"]
    minutes = [0, 9, 10, 11, 60, 600, 3_000]
    asked = [{"k": key, "t": newest + timedelta(minutes=more)} for more in minutes for key in "abc"]
    labels = pa.Table.from_pylist(asked, pa.schema([("k", pa.string()), ("t", events.schema.field("t").type)]))
    expected = point_in_time.judge_table(EVERY_KIND, labels, events)
    point_in_time.assert_answers(EVERY_KIND, EVERY_KIND.as_of(labels, events).to_pylist(), expected, asked)
    for one in (live, batch, EVERY_KIND.restore(live.snapshot()), EVERY_KIND.restore(batch.snapshot())):
        singly = [one.get({"k": row["k"]}, at=row["t"]) for row in asked]
        point_in_time.assert_answers(EVERY_KIND, singly, expected, asked)
        point_in_time.assert_answers(EVERY_KIND, one.get_many(labels).to_pylist(), expected, asked)


@pytest.mark.rule(26)
@pytest.mark.parametrize("retain", ["5 hours", "all"])
def test_revised_answers_with_what_is_retained(retain: str) -> None:
    """Late rows join two sessions, end one, or mark a row; those before the retention are one state."""
    for seed in range(4):
        choose = random.Random(seed)
        rows = rows_of(10 + seed)
        late = sorted(rows, key=lambda row: row["t"] + timedelta(minutes=choose.randrange(240)))
        live: Any = EVERY_KIND.live(late="revise", retain=retain)
        found: dict[int, dict[str, Any]] = {}
        for number, row in enumerate(late):
            found |= {answered["i"]: answered for answered in live.push(row)}
            if number % 17 == 5:
                live = EVERY_KIND.restore(live.snapshot())
        assert live.stats.late == 0
        table = pa.Table.from_pylist(rows)
        case = lanes.Case("revised", EVERY_KIND, table)
        answers = [{name: lanes.plain(found[row["i"]][name]) for name in EVERY_KIND.columns} for row in rows]
        lanes.assert_same(case, answers, lanes.direct(EVERY_KIND, table))
        if retain != "all":
            assert max(len(state.rows) for state in live.key_states.values()) < len(rows)


def test_an_error_leaves_a_session_as_it_was() -> None:
    one = sw.Sliding(on="t", a=sw.sum("x").over(gap=2), b=sw.sum("x").over(since="ok"))
    live = one.live()
    live.push({"t": 0, "x": 1, "ok": False})
    for _ in range(2):
        with pytest.raises(SlidewiseError):
            live.push({"t": 9, "x": "text", "ok": True})
    assert live.push({"t": 1, "x": 2, "ok": None}) == {"a": 3, "b": 3}
    assert live.push({"t": 9, "x": 5, "ok": True}) == {"a": 5, "b": 5}


def test_a_key_keeps_one_state_and_no_rows() -> None:
    one = sw.Sliding(by="k", on="t", a=sw.sum("x").over(gap=1), b=sw.max("x").over(since="ok"))
    assert [spec.reset is not None for spec in window_specs_of(one, spikes=False)] == [True, True]
    times = np.arange(5_000) * 2 % 9_999
    table = pa.table({"k": [0] * 5_000, "t": np.sort(times), "x": np.arange(5_000), "ok": np.arange(5_000) % 7 == 0})
    live = one.live()
    live.push_many(table)
    short = one.live()
    short.push_many(table.slice(4_998))
    assert len(live.snapshot()) < len(short.snapshot()) + 20
    assert live.push({"k": 0, "t": 20_000, "x": 7, "ok": None})["a"] == 7


@pytest.mark.parametrize("over", [{"last": "this day"}, {"last": "1 month"}], ids=lambda over: over["last"])
def test_dates_have_no_zone(over: dict[str, str]) -> None:
    """A date is a day by itself: a zone, in which its midnight in UTC may be the day before, is refused."""
    day, later = date(2024, 3, 1), date(2024, 3, 2)
    definition = sw.Sliding(on="t", n=sw.count().over(over["last"], zone="America/New_York"))
    table = pa.table({"t": [day, later]})
    texts = pd.DataFrame({"t": [day, later]})
    columns = [table["t"], np.array([day, later], "M8[D]"), pl.Series([day, later]), table["t"].cast(pa.date64())]
    labels = pa.table({"t": [datetime(2024, 3, 3)]})
    for answer in (
        *(partial(sw.rolling, np.ones(2), sw.count, times=times, zone="Asia/Tokyo", **over) for times in columns),
        partial(definition, table),
        partial(definition, texts),
        partial(definition, pl.from_arrow(table)),
        partial(definition.as_of, labels, table),
        partial(definition.live().push, {"t": day}),
        partial(definition.live().push, {"t": np.datetime64("2024-03-01")}),
        partial(definition.live().push_many, table),
    ):
        with pytest.raises(sw.SlidewiseError, match=r"dates, but .*zone='.*leave out zone="):
            answer()
    without = sw.Sliding(on="t", n=sw.count().over(over["last"]))
    assert without(table)["n"].to_pylist() == without(texts)["n"].tolist()
    live = definition.live()
    assert live.push({"t": datetime(2024, 3, 1)}) == {"n": 1}, "times without a zone count as UTC"
    live.push({"t": later})


def test_dates_have_no_zone_in_spark() -> None:
    definition = sw.Sliding(on="t", n=sw.count().over("this day", zone="America/New_York"))
    with pytest.raises(sw.SlidewiseError, match="column 'n': on='t' holds dates, but zone='America/New_York'"):
        check_schema(definition, StructType([StructField("t", DateType())]))
    check_schema(definition, StructType([StructField("t", TimestampType())]))
