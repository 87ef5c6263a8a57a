"""Streams that start warm: each row has the answer of a table of history and stream, and none is answered twice."""

from __future__ import annotations

import random
from typing import Any

import lanes
import numpy as np
import pyarrow as pa
import pytest
from shards import SECOND, Stream, played, small_pages, times_of
from spark.test_shard import CASES, ms, rows_at

import slidewise as sw

pytestmark = pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")
# All of these are over one table, and run as one definition.
NAMES = [
    *("one", "closed ends", "everything so far", "at least", "order of equal times", "no keys", "sets and sketches"),
    *(
        "quantiles",
        "grain",
        "own operator",
        "expressions as arguments and conditions",
        "expressions over aggregates",
        "a delay",
    ),
]


def warm(definition: sw.Sliding, table: pa.Table) -> tuple[Stream, int]:
    """A shard whose history is the first part of a table, of which some rows come again; and when that ends."""
    choose = random.Random(len(table))
    times = times_of(table, str(definition.on))
    until = choose.choice(sorted(set(times.tolist()))[3:-3])
    stream = Stream(definition, table.schema)
    stream.load(table.filter(times <= until), until, choose.choice([1, 3]))
    again = np.array([time > until or choose.random() < 0.3 for time in times.tolist()])
    played(stream, table.filter(again), len(table), delay=int(np.ptp(times)) // 8 + SECOND)
    assert stream.before_history == int((again & (times <= until)).sum()) > 0
    assert stream.dropped == 0
    return stream, until


def on_a_warm_shard(definition: sw.Sliding, table: pa.Table) -> pa.Table:
    """The answers of the rows after a history, and of those before it that a table gives: each row has one."""
    stream, until = warm(definition, table)
    before = definition(table).filter(times_of(table, "ts") <= until).to_pylist()
    assert 0 < len(stream.found) == len(table) - len(before)
    return lanes.as_table(definition, table, before + stream.found)


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    lanes.LANES["warm shard"] = on_a_warm_shard
    try:
        with small_pages(400):
            return lanes.run_together("warm shard", [CASES[name] for name in NAMES])
    finally:
        del lanes.LANES["warm shard"]


@pytest.mark.parametrize("name", NAMES)
def test_every_feature_after_a_history(answers: dict[str, Any], name: str) -> None:
    case, found = answers[name]
    lanes.assert_same(case, found, lanes.direct(case.definition, case.table))


def test_beats_after_a_history() -> None:
    """Beats up to the end of the history are not given again, and those after it have the rows of both."""
    definition = sw.Sliding(
        by="k",
        on="ts",
        every="3s",
        top=sw.max("x").over("9s"),
        middle=sw.median("x").over("6s"),
        n=sw.count().over("4s"),
    )
    choose = random.Random(5)
    seconds = [choose.choice([0.5, 1, 1.25, 30]) for _ in range(60)]
    table = rows_at(np.cumsum(seconds).tolist(), k=[choose.choice("abc") for _ in seconds], x=seconds)
    stream, until = warm(definition, table)
    stream.push(table.slice(0, 0), int(times_of(table, "ts").max()) // 1_000 + 86_400_000)
    expected = definition(table)
    after = expected.filter(times_of(expected, "ts") > until).to_pylist()
    order = ("ts", "k")
    assert len(after) > 10
    assert sorted(stream.found, key=lambda row: [row[name] for name in order]) == sorted(
        after, key=lambda row: [row[name] for name in order]
    )


FEW = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("10s"), n=sw.count().over(rows=2), all=sw.count().over("all"))


def test_a_history_leaves_the_state_of_a_stream_that_saw_it() -> None:
    """Page by page, but for the directory, which says how the rows came."""
    table = rows_at([i / 7 for i in range(3_000)], k=[f"k{i % 11}" for i in range(3_000)], x=[1.5] * 3_000)
    cold, loaded = Stream(FEW, table.schema), Stream(FEW, table.schema)
    cold.push(table, 0)
    cold.push(table.slice(0, 0), ms(3_000 / 7))
    loaded.load(table, ms(3_000 / 7) * 1_000, 500)
    sizes = [sum(len(page) for number, page in of.store.pages.items() if number) for of in (cold, loaded)]
    assert sizes[0] == sizes[1]
    rows = rows_at([430], k=["k3"], x=[2.0])
    for stream in (cold, loaded):
        stream.push(rows, 0)
    assert cold.push(rows.slice(0, 0), ms(431)) == loaded.push(rows.slice(0, 0), ms(431)) != []


def test_only_what_windows_can_reach_is_stored() -> None:
    timed = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("100s"))
    short, long = (
        rows_at([1e6 - i for i in range(count)][::-1], x=[0.5 * i for i in range(count)]) for count in (110, 20_000)
    )
    sizes = []
    for table in (short, long):
        stream = Stream(timed, table.schema)
        stream.load(table, ms(1e6) * 1_000, 5_000)
        sizes.append(sum(map(len, stream.store.pages.values())))
    assert sizes[1] < sizes[0] * 1.5


def test_keys_that_are_forgotten_before_the_history_ends_start_anew() -> None:
    stream = Stream(FEW, rows_at([1], x=[1.0]).schema, forget_after=60 * SECOND)
    stream.load(rows_at([1, 2, 100], k=["a", "a", "b"], x=[1.0, 1.0, 1.0]), ms(100) * 1_000, 2)
    stream.push(rows_at([101, 101], k=["a", "b"], x=[1.0, 1.0]), 0)
    found = stream.push(rows_at([], x=[]), ms(102))
    assert sorted((row["k"], row["all"]) for row in found) == [("a", 1), ("b", 2)]


def test_a_history_of_no_rows_and_one_that_ends_later_than_its_rows() -> None:
    table = rows_at([1], x=[1.0])
    empty = Stream(FEW, table.schema)
    empty.load(table.slice(0, 0), ms(50) * 1_000, 2)
    assert empty.push(rows_at([49, 50, 51], x=[1.0, 2.0, 3.0]), 0) == []
    assert [row["x"] for row in empty.push(table.slice(0, 0), ms(60))] == [3.0]
    assert (empty.before_history, empty.dropped) == (2, 0)
    assert empty.push(rows_at([50, 55], x=[1.0, 1.0]), ms(60)) == []
    assert (empty.before_history, empty.dropped) == (3, 1), "late rows and duplicates of the history are counted apart"


def test_a_row_is_refused_for_one_reason() -> None:
    stream = Stream(FEW, rows_at([1], x=[1.0]).schema, ahead=10 * SECOND, late_to="why")
    stream.load(rows_at([0, 100], x=[1.0, 1.0]), ms(100) * 1_000, 10)
    found = stream.push(rows_at([50], x=[1.0]), 0, clock=ms(0))
    assert [row["why"] for row in found] == ["before_history"]
    assert (stream.before_history, stream.ahead, stream.dropped) == (1, 0, 0)


def test_rows_after_the_end_are_a_history_that_has_changed() -> None:
    stream = Stream(FEW, rows_at([1], x=[1.0]).schema)
    with pytest.raises(sw.InputError, match="the history has changed while it was read"):
        stream.load(rows_at([0, 10], x=[1.0, 1.0]), ms(5) * 1_000, 10)
