"""Windows that look ahead, on tables and sorted batches; what refuses them, and how many rows wait."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import as_of_lanes
import lanes
import numpy as np
import pyarrow as pa
import pytest
from definitions.test_lanes import LOOKING_AHEAD
from hypothesis import given, settings
from hypothesis import strategies as st
from point_in_time import assert_answers, judge_table

import slidewise as sw
from slidewise.errors import SlidewiseError, WindowError
from slidewise.spark.batch.evaluator import BatchEvaluator, evaluate_tables
from slidewise.spark.batch.time_slices import why_not_by_time
from slidewise.windows import Window

BATCHES = [name for name in lanes.LANES if "live" not in name and name != "revised"]
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "D": 86_400 * 10**9}


@pytest.mark.rule(25)
@pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")
@pytest.mark.parametrize("lane", BATCHES)
def test_every_batch_lane_gives_the_answers_of_the_semantics(lane: str) -> None:
    found = lanes.run(lane, LOOKING_AHEAD)
    for case in LOOKING_AHEAD:
        lanes.assert_same(case, found[case.name], lanes.direct(case.definition, case.table))


@pytest.mark.rule(19, 25)
@pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")
@pytest.mark.parametrize("lane", [name for name in as_of_lanes.LANES if "live" not in name])
def test_labels_ahead_of_their_times(lane: str) -> None:
    for case in LOOKING_AHEAD:
        labels = as_of_lanes.labels_for(case)
        found = as_of_lanes.answers(as_of_lanes.LANES[lane], case.definition, labels, case.table)
        assert_answers(case.definition, found, judge_table(case.definition, labels, case.table), labels.to_pylist())


@pytest.mark.rule(25)
@settings(max_examples=60, deadline=None)
@given(
    times=st.lists(st.integers(-25, 25), min_size=1, max_size=12),
    unit=st.sampled_from([*UNITS, "whole", "float"]),
    width=st.integers(1, 12),
    part=st.sampled_from([1, 2, 3]),
    closed=st.sampled_from(["right", "both", "left", "neither"]),
)
def test_rolling_in_every_unit(times: list[int], unit: str, width: int, part: int, closed: str) -> None:
    times.sort()
    places: list[Any] = [t * 0.1 for t in times] if unit == "float" else times
    if unit in UNITS:
        given_times: Any = np.array(times, f"M8[{unit}]")
        length: Any = -(-width * UNITS[unit] // part)
        w: Any = Fraction(length, UNITS[unit])
        length = f"{length} ns"
    else:
        given_times = np.array(places)
        w = length = width / part if unit == "float" else width / 4
    found = sw.rolling(np.arange(len(times)), sw.collect, times=given_times, next=length, closed=closed)
    expected = [
        [
            i
            for i, row in enumerate(places)
            if (t < row or (t == row and closed in ("both", "left")))
            and (row < t + w or (row == t + w and closed in ("both", "right")))
        ]
        for t in places
    ]
    assert list(found) == expected


@pytest.mark.rule(25)
def test_far_times_do_not_wrap_around() -> None:
    ends = np.array([-(2**63), 0, 2**63 - 2, 2**63 - 1])
    for closed, expected in (("right", [0, 0, 1, 0]), ("both", [1, 1, 2, 1]), ("neither", [0, 0, 1, 0])):
        found = sw.rolling(np.ones(4), sw.count, times=ends, next=2**62, closed=closed)
        assert list(found) == expected
    assert list(sw.rolling(np.ones(4), sw.count, times=ends, next=2.0**70)) == [3, 2, 1, 0]


def test_rows_wait_for_their_windows_and_no_longer() -> None:
    """The memory of a task is bounded by the window, however many rows the key has."""
    definition = sw.Sliding(by="k", on="t", n=sw.count().over(next=50), back=sw.count().over(5))
    evaluator = BatchEvaluator(definition)
    answered: list[Any] = []
    for first in range(0, 1_000, 20):
        table = evaluator.push(pa.table({"k": ["a"] * 20, "t": list(range(first, first + 20))}))
        answered += [] if table is None else table["n"].to_pylist()
        assert len(answered) == max(0, first + 19 - 50)
        assert evaluator.size <= 51 + 5
    rest = evaluator.finish()
    assert rest is not None
    assert answered + rest["n"].to_pylist() == [min(50, 999 - t) for t in range(1_000)]
    tables = [pa.table({"k": ["a", "b"], "t": [1, 1]}), pa.table({"k": ["b"], "t": [51]})]
    found = pa.concat_tables(evaluate_tables(BatchEvaluator(definition), tables))
    assert found["n"].to_pylist() == [0, 1, 0]


def test_it_is_written_and_read_back() -> None:
    window = Window.of(next="1 hour", closed="both", at_least=2)
    assert repr(window) == "over(next='1 hour', closed='both', at_least=2)"
    assert window.described() == [None, "3600000000000 ns", "both", 2, "ahead"]
    column = sw.sum("x").over(next="1 hour", closed="left")
    assert str(column) == "sum(x) over next 1 hour closed left"
    for columns in ({"s": column}, {"s": column / sw.count().over(next="2 hours")}):
        definition = sw.Sliding(on="t", **columns)
        assert sw.Sliding.from_toml(definition.to_toml()) == definition
    assert "refused, since rows of the window come after" in repr(sw.Sliding(on="t", s=column).explain())


@pytest.mark.rule(25)
def test_where_nobody_knows_what_comes_it_is_refused() -> None:
    for options in ({"last": "1 hour"}, {"rows": 3}, {"grain": "1s"}, {"delay": "1s"}, {"zone": "UTC"}):
        with pytest.raises(WindowError, match="a window by itself"):
            Window.of(next="1 hour", **options)  # type: ignore[arg-type]
    for length in ("all", "1 month"):
        with pytest.raises(WindowError, match="give it one length"):
            Window.of(next=length)
    with pytest.raises(sw.WindowError, match="the window looks ahead 1 hour; give next= as a number"):
        sw.rolling(np.ones(2), sw.count, times=np.arange(2), next="1 hour")
    definition = sw.Sliding(on="t", n=sw.count().over(next="1 hour"))
    for late in ("error", "wait:1s", "revise"):
        with pytest.raises(SlidewiseError, match="'n' is over the next 1 hour, and live"):
            definition.live(late=late)
    with pytest.raises(SlidewiseError, match="answer is given as its beat comes"):
        sw.Sliding(on="t", every="1 minute", n=sw.count().over(next="1 hour"))
    with pytest.raises(WindowError, match="times are numbers"):
        sw.rolling(np.ones(2), sw.sum, times=np.array([1, 2]), next="1 hour")
    with pytest.raises(WindowError, match="needs both times="):
        sw.rolling(np.ones(2), sw.sum, next=3)
    assert "rows before it, not of those behind" in (why_not_by_time(definition) or "")
