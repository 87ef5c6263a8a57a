"""Time windows over any algorithm."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import Counter, Sabotage, concat, serving

import slidewise as sw
from slidewise.swag import LastTimes, Swag
from slidewise.windows import CLOSED

NOON = datetime(2024, 3, 1, 12)


def inside(t: float, now: float, last: float, closed: str) -> bool:
    """The semantics of a time window, word by word."""
    after_start = t >= now - last if closed in ("both", "left") else t > now - last
    before_end = t <= now if closed in ("both", "right") else t < now
    return after_start and before_end


@pytest.mark.rule(1)
@pytest.mark.parametrize("algorithm", serving(concat), ids=lambda a: a.__name__)
@given(
    gaps=st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 30]), max_size=25),
    last=st.integers(1, 6),
    closed=st.sampled_from(CLOSED),
)
def test_the_window_holds_what_its_ends_say(algorithm: type[Swag], gaps: list[int], last: int, closed: str) -> None:
    window = sw.Timed(algorithm(concat), last=last, closed=closed)
    rows: list[tuple[int, str]] = []
    now = 0
    for i, gap in enumerate(gaps):
        now += gap
        rows.append((now, chr(97 + i)))
        window.insert(now, chr(97 + i))
        held = [(t, letter) for t, letter in rows if inside(t, now, last, closed)]
        assert window.query() == window.partial() == "".join(letter for _, letter in held)
        assert len(window) == len(held)
        if held:
            assert (window.oldest(), window.youngest()) == (held[0][0], held[-1][0])
        else:
            with pytest.raises(sw.EmptyWindowError, match="no times"):
                window.oldest()


@pytest.mark.parametrize("algorithm", serving(concat), ids=lambda a: a.__name__)
def test_evict_until(algorithm: type[Swag]) -> None:
    window = sw.Timed(algorithm(concat), last=100)
    for t, letter in enumerate("abcdefgh"):
        window.insert(t, letter)
    window.evict_until(-1)
    assert window.query() == "abcdefgh"
    window.evict_until(4)
    assert (window.query(), window.oldest()) == ("fgh", 5)
    window.evict_until(50)
    assert (window.query(), len(window)) == ("", 0)
    window.insert(51, "z")
    assert window.query() == "z"


def test_evict_until_drops_waiting_rows_too() -> None:
    window = sw.Timed(sw.DabaLite(concat), last=10, closed="left")
    for t, letter in [(1, "a"), (2, "b"), (2, "c")]:
        window.insert(t, letter)
    assert window.query() == "a"
    window.evict_until(2)
    window.insert(3, "d")
    assert window.query() == ""


@pytest.mark.rule(3)
def test_time_that_runs_backwards_is_an_error_that_names_both_times() -> None:
    window = sw.Timed(sw.DabaLite(sw.max), last="10 minutes")
    window.insert(NOON, 5)
    with pytest.raises(sw.TimeOrderError, match=r"2024-03-01 11:59:00 came after 2024-03-01 12:00:00"):
        window.insert(NOON - timedelta(minutes=1), 9)
    assert (window.query(), len(window)) == (5, 1)
    window.insert(NOON, 6)
    assert window.query() == 6


def test_datetimes_dates_and_zones() -> None:
    window = sw.Timed(sw.DabaLite(sw.count), last="1 day")
    window.insert(date(2024, 3, 1), "x")
    window.insert(NOON, "x")
    assert window.query() == 2
    window.insert(date(2024, 3, 2), "x")
    assert window.query() == 2
    with pytest.raises(sw.SlidewiseError, match="must both have a zone, or neither"):
        window.insert(NOON.replace(tzinfo=UTC), "x")


@pytest.mark.rule(2)
def test_a_day_is_24_hours_when_clocks_change() -> None:
    """On 31 March 2024 Berlin's day has 23 hours: 24 hours before noon it was 11 o'clock there."""
    berlin = ZoneInfo("Europe/Berlin")
    window = sw.Timed(sw.DabaLite(sw.count), last="1d", closed="both")
    window.insert(datetime(2024, 3, 30, 10, 59, tzinfo=berlin), "left")
    window.insert(datetime(2024, 3, 30, 11, 0, tzinfo=berlin), "kept")
    window.insert(datetime(2024, 3, 31, 12, 0, tzinfo=berlin), "now")
    assert window.query() == 2
    assert window.oldest() == datetime(2024, 3, 30, 10, 0, tzinfo=UTC)


@pytest.mark.rule(3)
@pytest.mark.parametrize(
    ("last", "time", "message"),
    [
        (10, NOON, "is no finite number.*last= as a duration"),
        ("10s", 3, "is no datetime.*last= as a number"),
        (10, None, "is no finite number"),
        ("10s", None, "is no datetime"),
        (10, float("nan"), "is no finite number"),
        (10, float("inf"), "is no finite number"),
        (10, True, "is no finite number"),
        ("10s", np.datetime64("NaT"), "is no datetime"),
    ],
)
def test_a_time_of_the_wrong_kind(last: Any, time: Any, message: str) -> None:
    window = sw.Timed(sw.DabaLite(sw.max), last=last)
    with pytest.raises(sw.SlidewiseError, match=message):
        window.insert(time, 1)
    assert len(window) == 0


def test_what_timed_cannot_wrap() -> None:
    with pytest.raises(sw.WindowError, match="positive"):
        sw.Timed(sw.DabaLite(sw.max), last=0)
    with pytest.raises(sw.WindowError, match="did you mean 'neither'"):
        sw.Timed(sw.DabaLite(sw.max), last=1, closed="neihter")
    with pytest.raises(sw.SlidewiseError, match=r"such as sw\.DabaLite"):
        sw.Timed(sw.max, last=1)  # type: ignore[arg-type]
    used = sw.DabaLite(sw.max)
    used.insert(1)
    with pytest.raises(sw.SlidewiseError, match="clear"):
        sw.Timed(used, last=1)


@pytest.mark.parametrize("closed", CLOSED)
def test_a_row_that_cannot_be_lifted_changes_nothing(closed: str) -> None:
    window = sw.Timed(sw.DabaLite(sw.sum), last=10, closed=closed)
    for t in range(5):
        window.insert(t, t)
    answer = window.query()
    with pytest.raises(sw.InputError):
        window.insert(100, "a")
    assert window.query() == answer
    window.insert(5, 5)
    assert window.query() == (15 if closed in ("right", "both") else 10)


@pytest.mark.parametrize("closed", CLOSED)
def test_a_move_that_failed_half_way_is_made_up_for(closed: str) -> None:
    """An operator that fails while rows come in or leave must not leave an answer for half a window behind."""
    rows = [*enumerate("abcdefghij"), (16, "z")]
    answers = ["".join(x for t, x in rows[:n] if inside(t, rows[n - 1][0], 10, closed)) for n in (10, 11)]
    seen = set()
    for call in range(20):
        counter = Counter(concat)
        window = sw.Timed(sw.DabaLite(counter.operator), last=10, closed=closed)
        for t, letter in rows[:10]:
            window.insert(t, letter)
        counter.fail_after = counter.calls + call
        try:
            window.insert(*rows[10])
        except Sabotage as error:
            counter.fail_after = None
            answer = window.query()
            if any("waited to come in" in note for note in getattr(error, "__notes__", ())):
                assert answer == answers[1].replace("j", "")
                continue
            assert answer in answers
            seen.add(answers.index(answer))
            if answer == answers[0]:
                window.insert(*rows[10])
        counter.fail_after = None
        assert window.query() == answers[1]
    assert seen


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int16, np.float32, int, float])
def test_times_of_every_kind_of_number(kind: Any) -> None:
    """Unsigned NumPy times must not wrap around below zero."""
    window = sw.Timed(sw.DabaLite(sw.collect), last=np.int64(3))
    for t in range(6):
        window.insert(kind(t), t)
    assert window.query() == [3, 4, 5]


@pytest.mark.rule(3)
def test_whole_times_are_exact_whatever_their_size() -> None:
    """Nanoseconds since 1970 do not fit into a float, and the window's length may be one."""
    now = 1_700_000_000_000_000_129
    window = sw.Timed(sw.DabaLite(sw.collect), last=1e9)
    for t in (now - 10**9, now - 10**9 + 1, now):
        window.insert(t, t - now)
    assert window.query() == [-(10**9) + 1, 0]


def test_the_first_moments_of_the_calendar() -> None:
    window = sw.Timed(sw.DabaLite(sw.count), last="1000000 days")
    window.insert(datetime.min, 1)
    window.insert(NOON, 1)
    assert window.query() == 2
    with pytest.raises(sw.WindowError, match="shorten the window"):
        sw.Timed(sw.DabaLite(sw.count), last="10000000000 days")


@pytest.mark.parametrize("kind", [pd.Timestamp, lambda ns: np.datetime64(ns, "ns")])
def test_nanoseconds_are_kept(kind: Any) -> None:
    window = sw.Timed(sw.DabaLite(sw.count), last="1s")
    for ns in (0, 2, 1_000_000_001):  # the second is a nanosecond short of one second old
        window.insert(kind(ns), ns)
    assert window.query() == 2
    window.insert(kind(1_000_000_002), 1)
    assert window.query() == 2


def test_nanoseconds_are_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    window = sw.Timed(sw.DabaLite(sw.count), last="1s")
    with pytest.raises(sw.SlidewiseError, match=r"finer than microseconds.*install pandas"):
        window.insert(np.datetime64(1, "ns"), 1)
    window.insert(np.datetime64(1_000, "ns"), 1)
    assert window.query() == 1


def test_numpy_datetimes() -> None:
    window = sw.Timed(sw.DabaLite(sw.count), last="2s")
    for text in ("2024-01-01T00:00:00", "2024-01-01T00:00:01", "2024-01-01T00:00:02.000000500"):
        window.insert(np.datetime64(text), 1)
    assert window.query() == 2


def test_a_waiting_row_that_cannot_come_in_is_left_out_with_a_note() -> None:
    window = sw.Timed(sw.SubtractOnEvict(sw.sum), last=10, closed="left")
    window.insert(0, 1.5)
    with pytest.raises(sw.UnsuitableOperatorError) as caught:
        window.insert(1, 2)
    assert caught.value.__notes__ == ["the row (1.5,) of time 0 waited to come in, and is left out of the window"]
    window.insert(2, 3)
    assert window.query() == 2


def test_clear_forgets_the_time() -> None:
    window = sw.Timed(sw.DabaLite(sw.max), last=10)
    window.insert(5, 1)
    window.clear()
    window.insert(1, 2)
    assert (window.query(), window.oldest()) == (2, 1)
    assert repr(window) == "<Timed(<DabaLite(sw.max) of 1 rows>, last=10, closed='right')>"


def test_a_gap_empties_the_window_without_combining() -> None:
    counter = Counter(sw.max)
    window = sw.Timed(sw.DabaLite(counter.operator), last=1000)
    for t in range(1000):
        window.insert(t, t)
    before = counter.calls
    window.insert(50_000, 1)
    assert counter.calls - before <= 3
    assert (window.query(), len(window)) == (1, 1)


@pytest.mark.parametrize("algorithm", [sw.Recalc, sw.FlatFit, sw.BInt, sw.Fiba])
@given(
    gaps=st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 9, 30]), max_size=25),
    closed=st.sampled_from(CLOSED),
    scale=st.sampled_from([1, 0.5]),
)
def test_shorter_windows_of_time_out_of_one_structure(
    algorithm: type[Swag], gaps: list[int], closed: str, scale: float
) -> None:
    window = sw.Timed(algorithm(concat), last=10 * scale, closed=closed)
    tree = sw.Fiba(concat)
    assert isinstance(window, LastTimes)
    assert isinstance(tree, LastTimes)
    rows: list[tuple[float, str]] = []
    now = 0.0
    for i, gap in enumerate(gaps):
        now += gap * scale
        rows.append((now, chr(97 + i)))
        window.insert(now, chr(97 + i))
        for last in (1, 2, 7, 10):
            expected = "".join(letter for t, letter in rows if inside(t, now, last * scale, closed))
            assert window.query_last(last * scale) == expected
        tree.insert(now, chr(97 + i))
        held = [(t, letter) for t, letter in rows if inside(t, now, 10 * scale, closed)]
        for since in (now - 20, now - 3 * scale, now, now + 1):
            assert window.query_since(since) == "".join(letter for t, letter in held if t >= since)
            assert tree.query_since(since) == "".join(letter for t, letter in rows if t >= since)


def test_what_shorter_windows_of_time_need() -> None:
    window = sw.Timed(sw.FlatFit(sw.max), last="1 hour")
    window.insert(NOON, 5)
    window.insert(NOON + timedelta(minutes=5), 3)
    assert (window.query_last("5 minutes"), window.query_last("1 hour")) == (3, 5)
    assert window.query_since(NOON + timedelta(minutes=1)) == 3
    with pytest.raises(sw.SlidewiseError, match="windows up to 1:00:00, this one's length, not '2 hours'"):
        window.query_last("2 hours")
    with pytest.raises(sw.SlidewiseError, match="not 5"):
        window.query_last(5)
    with pytest.raises(sw.SlidewiseError, match="is no datetime"):
        window.query_since(5)
    for asked in ("query_last", "query_since"):
        plain = sw.Timed(sw.DabaLite(sw.max), last=10)
        plain.insert(1, 1)
        with pytest.raises(sw.SlidewiseError, match=f"{asked} needs an algorithm .* DabaLite does not; use sw.FlatFit"):
            getattr(plain, asked)(1)
    with pytest.raises(sw.SlidewiseError, match=r"keeps the last 5 rows; use sw\.FlatFit"):
        sw.Timed(sw.SlideSide(sw.max, sizes=[5]), last=10)


def test_a_long_gap_is_one_bulk_eviction() -> None:
    """Rows that leave together leave in one call, which some algorithms answer with no combine for any of them."""
    assert sw.Fiba(sw.max).query_since(1) == sw.max.lower(sw.max.identity)
    for algorithm, allowed in [
        (sw.Amta, 24),
        (sw.Fiba, 120),
        (sw.BInt, 0),
        (sw.FlatFit, 0),
        (sw.DabaLite, 4),
        (sw.TwoStacksLite, 4),
    ]:
        counter = Counter(sw.count)
        window = sw.Timed(algorithm(counter.operator), last=10_000)
        for t in range(3_000):
            window.insert(t, 1)
        before = counter.calls
        window.insert(12_997, 1)
        assert len(window) == 3
        assert counter.calls - before <= allowed + log2_up(3_000), algorithm.__name__
        assert window.query() == 3


def log2_up(n: int) -> int:
    return (n - 1).bit_length()
