"""Rows too far ahead of the stream: what blocks make of the newest time before them is what one pass makes of it."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

import slidewise as sw
from slidewise.pipeline.rows.ahead import Reach, believed, latest, limit_in, runs_of
from slidewise.windows import Duration


def one_pass(times: list[Any], limit: Any, newest: Any) -> tuple[list[bool], Any]:
    found = []
    for time in times:
        found.append(newest is None or time - limit <= newest)
        if found[-1]:
            newest = time if newest is None else max(newest, time)
    return found, newest


def some_times(choose: random.Random, floats: bool) -> list[Any]:
    """Times that mostly rise, with late ones, wrong clocks, and silences."""
    now, times = 0.0 if floats else 0, []
    for _ in range(choose.randrange(0, 40)):
        now += choose.choice([0, 0.1, 0.3, 25]) if floats else choose.choice([0, 1, 2, 5, 25])
        off = choose.choice([0, 0, 0, -3, -12, 8, 30, 10**6, -(10**6), 3 * 2**61, -3 * 2**61])
        times.append(now + off)
    return times


@pytest.mark.parametrize("floats", [False, True])
def test_blocks_come_to_what_one_pass_does(floats: bool) -> None:
    choose = random.Random(21)
    for _ in range(300):
        times, limit = some_times(choose, floats), choose.choice([1, 7, 10, 0.3 if floats else 40, 2**63])
        array = np.array(times, np.float64 if floats else np.int64)
        starts = runs_of(array, limit).tolist()
        ends = [*starts[1:], len(times)] if times else []
        runs = [(array[begin].item(), array[end - 1].item()) for begin, end in zip(starts, ends, strict=True)]
        reach = Reach.of(runs, limit)
        for newest in (None, 0, -5, 11, 30, 10**6, -(2**63), *times):
            expected, after = one_pass(times, limit, newest)
            found, last = believed(array, limit, newest)
            assert found.tolist() == expected
            assert last == after == reach.after(newest)


def test_sorted_blocks_are_one_piece() -> None:
    edges, values = Reach.of([(first, first + 3) for first in range(1_000)], 10).pieces
    assert (edges, values) == ([-10, 1_002], [1_002, None])


def test_limits_are_in_the_units_of_the_times() -> None:
    day = Duration.of("1 day")
    assert [limit_in(kind, day, "t") for kind in ("timestamp", "timestamp_ntz", "date")] == [86_400 * 10**6] * 2 + [1]
    assert (limit_in("bigint", 2.5, "t"), limit_in("double", 2.5, "t")) == (2, 2.5)
    with pytest.raises(sw.SlidewiseError, match=r"'t' are numbers \(bigint\); write \[clean\] ahead = 86400, say"):
        limit_in("bigint", day, "t")
    with pytest.raises(sw.SlidewiseError, match=r"'t' are moments \(date\); write \[clean\] ahead = \"1 day\", say"):
        limit_in("date", 5, "t")
    now = datetime(2024, 3, 1, tzinfo=UTC)
    assert latest(day, now) == datetime(2024, 3, 2, tzinfo=UTC)
    assert latest(Duration.of("9999999 days"), now).year == 9999
