"""Labels among events on a stream's shard, without Spark: the judge's answers, late labels, and a state of events."""

from __future__ import annotations

from typing import Any

import as_of_lanes
import definitions.test_lanes as features
import lanes
import pyarrow as pa
import pytest
from lanes import Case
from point_in_time import assert_answers, judge_table
from shards import SECOND, Stream, small_pages
from spark.test_shard import LONG, long_rows, ms, rows_at

import slidewise as sw
from slidewise.spark.column_names import QUERY
from slidewise.spark.stream.shard import LabelTerms

pytestmark = [pytest.mark.rule(19), pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")]
CASES = {name: case for name, case in features.BY_NAME.items() if lanes.clocked(case) and name not in features.BY_TYPE}


@pytest.mark.parametrize("name", CASES)
def test_every_feature_on_a_shard(name: str) -> None:
    """With pages so small that most keys are large; with those of every day, test_as_of_stream.py has them on Spark."""
    case = Case(name, CASES[name].definition, lanes.in_microseconds(CASES[name]))
    labels = as_of_lanes.labels_for(case)
    with small_pages(150):
        found = as_of_lanes.answers(as_of_lanes.on_a_shard, case.definition, labels, case.table)
    assert_answers(case.definition, found, judge_table(case.definition, labels, case.table), labels.to_pylist())


@pytest.mark.parametrize("seed", range(2))
def test_large_keys(seed: int) -> None:
    """Keys of many chunks, asked between, at and behind their events; the table lane judges, being judged itself."""
    events = long_rows(1_500, seed)
    labels = as_of_lanes.labels_for(Case("", LONG, events), 400, seed)
    expected = LONG.as_of(labels, events).to_pylist()
    with small_pages(600):
        found = as_of_lanes.answers(lambda *given: as_of_lanes.on_a_shard(*given, seed=seed), LONG, labels, events)
    assert_answers(
        LONG, found, [{n: lanes.plain(row[n]) for n in LONG.columns} for row in expected], labels.to_pylist()
    )


def labelled(definition: sw.Sliding, events: pa.Table, forget_after: int | None = None, **options: Any) -> Stream:
    return Stream(definition, events.schema, forget_after, labels=LabelTerms("ts", ("k", "ts")), **options)


def asking(events: pa.Table) -> pa.Table:
    """Rows that ask at the keys and times of these."""
    return events.select(["k", "ts"]).append_column(QUERY, pa.array([True] * len(events)))


def counting(events: pa.Table) -> pa.Table:
    return events.append_column(QUERY, pa.array([False] * len(events)))


def both(events: pa.Table, labels: pa.Table) -> pa.Table:
    return pa.concat_tables([counting(events), asking(labels)], promote_options="default")


NONE = rows_at([1], x=1).slice(0, 0)
SUMS = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("10s"), last=sw.sum("x").over(rows=2), n=sw.count().over("all"))


def test_a_label_waits_for_the_watermark() -> None:
    stream = labelled(SUMS, NONE)
    assert stream.push(both(rows_at([1], x=1), rows_at([2])), 0) == []
    assert stream.push(both(rows_at([1.5], x=10), NONE), ms(1.9)) == []
    found = stream.push(both(rows_at([3], x=100), NONE), ms(2))
    assert [(row["s"], row["last"], row["n"]) for row in found] == [(11, 11, 2)]


def test_labels_leave_no_trace_in_the_state() -> None:
    """However many labels ask, pages are those of a shard that was never asked."""
    events, labels = rows_at([1, 2, 3], x=1), rows_at([s / 10 for s in range(60)])
    asked, quiet = labelled(SUMS, events), labelled(SUMS, events)
    asked.push(both(events, labels), ms(10))
    quiet.push(both(events, labels.slice(0, 0)), ms(10))
    assert len(asked.found) == 60
    assert {number: len(page) for number, page in asked.store.pages.items()} == {
        number: len(page) for number, page in quiet.store.pages.items()
    }


def test_keys_that_only_ask_have_no_state() -> None:
    stream = labelled(SUMS, NONE)
    found = stream.push(both(NONE, rows_at([1, 2], k=["a", "b"])), ms(5))
    assert [(row["k"], row["s"], row["n"]) for row in found] == [("a", None, 0), ("b", None, 0)]
    later = stream.push(both(rows_at([7], x=3), rows_at([8])), ms(9))
    assert [(row["s"], row["last"], row["n"]) for row in later] == [(3, 3, 1)]


def test_late_labels_are_counted_and_may_come_out() -> None:
    """A late event is counted and has no place among the labels that come out; a late label has."""
    stream = labelled(SUMS, NONE, late_to="why")
    stream.push(both(rows_at([1], x=1), rows_at([2])), ms(5))
    found = stream.push(both(rows_at([3], x=1), rows_at([4, 7])), ms(8))
    assert stream.dropped == 2
    assert [(row["s"], row["why"]) for row in found] == [(1, None), (None, "late")]


@pytest.mark.parametrize("size", [150, 16_384])
def test_a_key_that_was_forgotten_has_the_answers_of_no_events(size: int) -> None:
    """As a row that comes after `forget_after` starts anew, a label that comes after it sees nothing."""
    events = rows_at([1, 2, 100, 101], x=[1, 2, 3, 4])
    labels = rows_at([2, 12, 13, 50, 99, 100, 101, 111, 112])
    expected = [(3, 2), (3, 2), (None, 0), (None, 0), (None, 0), (3, 1), (7, 2), (7, 2), (None, 0)]
    for cuts in ([0, 113], [2, 13, 99, 113], range(114)):
        stream = labelled(SUMS, events, forget_after=10 * SECOND)
        with small_pages(size):
            stream.push(both(events, labels), 0)
            for second in cuts:
                stream.push(both(events.slice(0, 0), labels.slice(0, 0)), ms(second))
        found = sorted(stream.found, key=lambda row: row["ts"])
        assert [(row["last"], row["n"]) for row in found] == expected


def test_null_times_of_labels_are_an_error() -> None:
    labels = rows_at([1, 2]).set_column(1, "ts", pa.array([None, None], pa.timestamp("us", "UTC")))
    with pytest.raises(sw.SlidewiseError, match="the labels' time 'ts' is null in 2 of 2 rows"):
        labelled(SUMS, NONE).push(both(rows_at([1], x=1), labels), 0)


def test_a_micro_batch_of_labels_reads_no_more_than_one_of_rows() -> None:
    """State I/O does not grow with the window: a few chunks of a large key are read, whatever its size."""
    read = []
    for count in (2_000, 16_000):
        events = rows_at([i / 100 for i in range(count)], x=1)
        definition = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("1d"), top=sw.max("x").over("1d"))
        stream = labelled(definition, events)
        with small_pages(2_000, slots=8):
            stream.push(both(events, rows_at([])), ms(count))
            stream.push(both(events.slice(0, 0), rows_at([count + 1])), ms(count + 2))
        assert [row["s"] for row in stream.found] == [count]
        read.append(len(stream.store.read))
    assert read[1] <= read[0] + 2, f"{read} pages were read"
