"""Answers on a beat in a stream's shard, without Spark: the beats of a table, late rows, timers, keys that end."""

from __future__ import annotations

from typing import Any

import definitions.test_beats as beats
import lanes
import numpy as np
import pyarrow as pa
import pytest
from shards import SECOND, Stream, played, small_pages, times_of
from spark.test_shard import ms, rows_at

import slidewise as sw
from slidewise.spark.state.seven_bits import encode_text
from slidewise.spark.stream.flush import answer_pages
from slidewise.spark.stream.shard_labels import shard_label

pytestmark = pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")
CASES = [case for case in beats.CASES if lanes.clocked(case) and case.name != "times"]


def on_a_shard(definition: sw.Sliding, table: pa.Table) -> pa.Table:
    stream = Stream(definition, table.schema)
    times = times_of(table, "ts")
    played(stream, table, seed=len(table), delay=int(np.ptp(times)) // 8 + SECOND if len(times) else 0)
    for _ in range(3):  # what is left comes by timers alone
        if stream.timer is not None:
            stream.push(table.slice(0, 0), stream.timer)
    stream.push(table.slice(0, 0), int(times.max(initial=SECOND)) // 1_000 + 100 * 86_400_000)
    assert stream.dropped == 0
    assert stream.timer is None
    assert set(stream.store.pages) == {0}
    return lanes.as_table(definition, table, stream.found)


@pytest.fixture(scope="module", params=[65_536, 150], ids=["large pages", "small pages"])
def answers(request: pytest.FixtureRequest) -> dict[str, Any]:
    lanes.LANES["shard"] = on_a_shard
    try:
        with small_pages(request.param):
            return lanes.run_alone("shard", CASES)
    finally:
        del lanes.LANES["shard"]


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_every_feature_on_a_shard(answers: dict[str, Any], name: str) -> None:
    case, found = answers[name]
    lanes.assert_same(case, found, lanes.direct(case.definition, case.table))


COUNT = sw.Sliding(by="k", on="ts", every="10s", n=sw.count().over("20s"))


def test_a_beat_comes_once_the_watermark_has_passed_it_and_late_rows_are_counted() -> None:
    stream = Stream(COUNT, rows_at([1]).schema)
    assert stream.push(rows_at([1, 9, 12], k=["a", "b", "a"]), 0) == []
    assert stream.push(rows_at([]), ms(9.999)) == []
    assert stream.timer == ms(10)
    found = stream.push(rows_at([]), stream.timer)
    assert sorted((row["k"], row["n"]) for row in found) == [("a", 1), ("b", 1)]
    assert stream.push(rows_at([10, 5]), ms(10)) == []
    assert stream.dropped == 2
    found = stream.push(rows_at([10.5], k=["b"]), ms(31))
    rows = sorted((row["k"], row["ts"].second, row["n"]) for row in found)
    assert rows == [("a", 20, 2), ("a", 30, 1), ("b", 20, 2), ("b", 30, 1)]
    assert stream.timer is None  # the windows at 40 are empty
    assert set(stream.store.pages) == {0}


def test_a_flush_gives_the_beats_that_are_left_and_changes_no_page() -> None:
    table = rows_at([1, 12, 13, 31, 47])
    stream = Stream(COUNT, table.schema)
    stream.push(table, ms(14))
    assert len(stream.found) == 1
    pages = stream.store.pages | stream.store.trail
    columns = [[shard_label(3)] * len(pages), list(pages), [encode_text(page) for page in pages.values()]]
    batch = pa.record_batch(columns, ["shard", "number", "page"])
    left = [row for one in answer_pages(stream.terms, ["k", "ts", "n"], [batch]) for row in one.to_pylist()]
    expected = COUNT(table).to_pylist()
    assert sorted(row["n"] for row in stream.found + left) == sorted(row["n"] for row in expected)
    assert {row["ts"] for row in stream.found + left} == {row["ts"] for row in expected}
    assert stream.store.pages | stream.store.trail == pages


def test_state_is_slices_whatever_the_rate() -> None:
    sizes = []
    for each in (1, 20):
        seconds = [float(s) for s in range(600) for _ in range(each)]
        definition = sw.Sliding(by="k", on="ts", every="5s", m=sw.mean("x").over("100s"), v=sw.max("x").over("50s"))
        stream = Stream(definition, rows_at([0], x=1.0).schema)
        stream.push(rows_at(seconds, x=1.0), ms(601))
        sizes.append(sum(map(len, stream.store.pages.values())))
    assert sizes[1] < sizes[0] * 1.2


def test_an_error_names_the_column_the_key_and_the_time() -> None:
    definition = sw.Sliding(by="k", on="ts", every="10s", s=sw.sum("n").over("20s"))
    table = rows_at([1, 2, 3], n=[1, 2**62, 2**62])
    stream = Stream(definition, table.schema)
    with pytest.raises(sw.SumOverflowError, match=r"column 's': sum: .*; at k=a, ts=2024-03-01 00:00:03"):
        stream.push(table, ms(60))
    assert stream.store.pages == {}
