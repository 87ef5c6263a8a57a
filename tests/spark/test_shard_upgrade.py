"""A stream's shard that goes on with another definition: its state is converted, and the answers are a table's."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import lanes
import numpy as np
import pyarrow as pa
import pytest
from shards import SECOND, Stream, small_pages, times_of
from spark.test_shard import ms, rows_at

import slidewise as sw
from slidewise.errors import SlidewiseError
from slidewise.spark.state.directory import Directory
from slidewise.spark.state.pages import DESCRIPTION, VERSION, Pages
from slidewise.spark.upgrade.changes import Changes, Source
from slidewise.spark.upgrade.outlook import column_outlook

COLUMNS = {"x": pa.float64(), "n": pa.int64(), "ok": pa.bool_(), "y": pa.float64()}


def table_of(seed: int, count: int = 240, step: float = 2.0) -> pa.Table:
    """Rows of a few keys, some at equal times, with nulls."""
    choose = random.Random(seed)
    seconds = np.cumsum([choose.choice([0, 0.25, 1, step]) for _ in range(count)]).tolist()
    columns: dict[str, Any] = {
        "x": [choose.choice([None, 1.5, -2.25, 0.125, 7.0, 1e9]) for _ in seconds],
        "n": [choose.choice([None, 1, 2, 3, 2**40]) for _ in seconds],
        "ok": [choose.choice([True, False, None]) for _ in seconds],
        "y": [choose.random() for _ in seconds],
        "id": list(range(count)),
    }
    keys = [choose.choice(["a", "a", "a", "b", "c", None]) for _ in seconds]
    return rows_at(seconds, k=keys, **columns)


def push_all(stream: Stream, table: pa.Table, seed: int, until: int) -> None:
    """Rows in order of time, in pieces; in the end the watermark is at a time in microseconds."""
    choose = random.Random(seed)
    at, watermark = 0, 0
    while at < len(table):
        piece = table.slice(at, choose.randrange(1, 40))
        at += len(piece)
        stream.push(piece, watermark)
        watermark = max(watermark, int(times_of(piece, "ts")[0]) // 1_000 - 1_000)
    stream.push(table.slice(0, 0), until // 1_000)


def sliding(**columns: Any) -> sw.Sliding:
    return sw.Sliding(by="k", on="ts", columns=columns, ties="id")


class Upgraded:
    """A table's rows, of which the first part goes to one definition and the rest to others, one after the other."""

    def __init__(self, definitions: list[sw.Sliding], table: pa.Table, seed: int, **options: Any) -> None:
        self.table, self.definition = table, definitions[-1]
        times = times_of(table, "ts")
        choose = random.Random(seed)
        moments = sorted(set((times // 1_000 * 1_000).tolist()))
        cuts = sorted(choose.sample(moments[len(moments) // 4 : -len(moments) // 4], len(definitions) - 1))
        self.stream = Stream(definitions[0], table.schema, described=True, **options)
        low = -(2**62)
        for number, (definition, high) in enumerate(zip(definitions, [*cuts, int(times.max()) + 1_000], strict=True)):
            if number:
                self.stream.upgrade(definition, table.schema, **options)
                self.stream.found = []
            self.low = low
            push_all(self.stream, table.filter(pa.array((times > low) & (times <= high))), seed, high)
            low = high
        assert self.stream.dropped == 0
        expected = definitions[-1](table)
        self.expected = {row["id"]: row for row in expected.to_pylist()}
        self.found = {row["id"]: row for row in self.stream.found}
        assert len(self.found) == len(self.stream.found) == int((times > self.low).sum()) > 10

    def differing(self, name: str) -> list[int]:
        """The rows whose answer is not the table's."""
        return [row for row in self.found if not same(self.found[row][name], self.expected[row][name])]

    def nulls(self, name: str) -> list[int]:
        """The rows whose answer is null, and the table's is not."""
        return [row for row in self.differing(name) if self.found[row][name] is None]


def same(a: Any, b: Any) -> bool:
    return lanes.plain(a) == lanes.plain(b)


OLD = sliding(
    total=sw.sum("x").over("60s"),
    top=sw.max("n").where("ok").over(rows=25),
    fine=sw.mean("x").over("40s", grain="2s"),
    most=sw.max("x").over("40s", grain="2s"),
    all=sw.sum("n").over("all"),
    so_far=sw.stddev("x").over("all"),
    session=sw.sum("n").over(gap="1s"),
    since=sw.max("x").over(since="ok"),
    day=sw.sum("x").over("this day", zone="Asia/Kolkata"),
    words=sw.collect("id").over("10s"),
)
# What can be computed from what the old definition stored, each by itself.
COMPLETE = {
    "renamed": sw.sum("x").over("60s"),
    "shorter": sw.sum("x").over("20s"),
    "shorter with a delay": sw.sum("x").over("20s", delay="40s"),
    "fewer rows": sw.max("n").where("ok").over(rows=7),
    "another operator": sw.stddev("x").over("60s"),
    "another condition": sw.count("x").where("ok").over("30s", closed="left"),
    "a quantile": sw.median("n").over("60s"),
    "an expression in it": sw.sum(sw.col("x") * sw.col("n")).over("45s"),
    "an expression of it": sw.sum("x").over("60s") / sw.count().over("60s"),
    "its cells": sw.mean("x").over("40s", grain="2s"),
    "fewer cells": sw.max("x").over("16s", grain="2s"),
    "coarser cells": sw.mean("x").over("20s", grain="6s"),
    "coarser cells of the same length": sw.max("x").over("40s", grain="10s"),
    "cells of rows": sw.sum("n").over("40s", grain="4s"),
    "its state": sw.sum("n").over("all", closed="left"),
    "another state": sw.stddev("x").over("all"),
    "its session": sw.sum("n").over(gap="1s", closed="left"),
    "its rows since": sw.max("x").over(since="ok"),
    "its day": sw.sum("x").over("this day", zone="Asia/Kolkata"),
    "listed": sw.collect("n").over(rows=4),
}
# What cannot be known yet.
PARTIAL = {
    "longer": sw.sum("x").over("90s"),
    "longer with a delay": sw.sum("x").over("60s", delay="20s"),
    "more rows": sw.max("n").over(rows=40),
    "never stored": sw.sum("y").over("30s"),
    "never stored, rows": sw.sum("y").over(rows=5),
    "never stored, cells": sw.max("y").over("20s", grain="2s"),
    "never stored, all": sw.max("y").over("all"),
    "more cells": sw.mean("x").over("80s", grain="2s"),
    "coarser cells, longer": sw.max("x").over("60s", grain="10s"),
    "new so far": sw.max("n").over("all"),
    "another session so far": sw.sum("n").over(gap="5s"),
    "another day so far": sw.sum("x").over("this day"),
    "since another row so far": sw.max("x").over(since=sw.col("n") == 3),
    "half known": sw.covariance("x", "y").over("30s"),
}


PAGES = pytest.mark.parametrize("pages", [150, 131_072], ids=["small pages", "usual pages"])


@PAGES
def test_what_is_computed_from_what_is_stored(pages: int) -> None:
    new = sliding(**COMPLETE)
    changes = Changes(OLD, new)
    assert all(change.source is not Source.NOTHING for change in changes.each.values())
    with small_pages(pages):
        upgraded = Upgraded([OLD, new], table_of(1), 1)
    for name in COMPLETE:
        assert upgraded.differing(name) == [], name
    assert set(column_outlook(changes).values()) == {"kept", "rebuilt"}


@PAGES
def test_what_cannot_be_known_yet_is_null_until_it_is_complete(pages: int) -> None:
    new = sliding(**PARTIAL, b=sw.sum("x").over("60s"))
    table = table_of(2, 700, 1)
    with small_pages(pages):
        nulls = Upgraded([OLD, new], table, 2, only_complete=True)
        partial = Upgraded([OLD, new], table, 2)
    assert nulls.differing("b") == partial.differing("b") == []
    outlook = column_outlook(Changes(OLD, new))
    for name in PARTIAL:
        assert nulls.differing(name) == nulls.nulls(name) != [], "an answer is the table's, or null"
        assert set(partial.differing(name)) <= {row for row in nulls.found if nulls.found[row][name] is None}
        ever = "all" not in name and "so far" not in name
        assert ("never complete" if not ever else "complete f") in outlook[name]
        keys = {row["k"] for row in nulls.expected.values()}
        for key in keys if ever else ():
            rows = [row for row in nulls.found if nulls.found[row]["k"] == key]
            assert not same(nulls.found[rows[-1]][name], None), "the last row's window is complete"


def test_the_order_of_equal_times_is_made_anew_or_said_to_be_the_old_one() -> None:
    old = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("1h"))
    first = {"first": sw.first("x").over("1h")}
    table = rows_at([1, 1, 1, 2], x=[3.0, 1.0, 2.0, 9.0], id=[2, 1, 3, 4])
    for ties, expected, note in ((None, 1.0, False), ("id", 3.0, True)):
        new = sw.Sliding(by="k", on="ts", columns=first, ties=ties or ())
        assert ("in the order that they had" in column_outlook(Changes(old, new))["first"]) == note
        stream = Stream(old, table.schema, described=True)
        stream.push(table.slice(0, 3), 0)
        stream.push(table.slice(0, 0), ms(1))
        stream.upgrade(new, table.schema)
        stream.push(table.slice(3), ms(1))
        assert [row["first"] for row in stream.push(table.slice(0, 0), ms(2))] == [expected]


def test_version_2_of_pages_is_upgraded() -> None:
    """Its pages do not say which definition wrote them."""
    table = rows_at([1, 2, 30], x=[1.0, 2.0, 4.0])
    old = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("1h"))
    stream = Stream(old, table.schema, described=True)
    with (
        patch("slidewise.spark.state.pages.VERSION", 2),
        patch("slidewise.spark.state.directory.Directory._write_since_version_3", lambda _, out: None),
    ):
        stream.push(table.slice(0, 2), ms(2))
    stream.store.remove(DESCRIPTION)
    stream.upgrade(sw.Sliding(by="k", on="ts", m=sw.max("x").over("1h")), table.schema)
    with patch("pyspark.sql.pandas.types.from_arrow_type", SparkName):
        stream.push(table.slice(2), ms(2))
    assert [row["m"] for row in stream.push(table.slice(0, 0), ms(30))] == [4.0]
    assert {page[4] for page in stream.store.pages.values()} == {VERSION}


class SparkName:
    """An Arrow type under the name that the tests' streams, which have no Spark, give it."""

    def __init__(self, kind: pa.DataType) -> None:
        self.simpleString = lambda: str(kind)


def test_what_there_is_counts_the_rows_since_the_upgrade() -> None:
    new = sliding(a=sw.sum("y").over("30s"), number=sw.count("y").over("all"), top=sw.max("y").over("20s", grain="2s"))
    upgraded = Upgraded([OLD, new], table_of(3), 3)
    rest = upgraded.table.filter(pa.array(times_of(upgraded.table, "ts") > upgraded.low))
    expected = {row["id"]: row for row in new(rest).to_pylist()}
    for row, found in upgraded.found.items():
        assert all(same(found[name], expected[row][name]) for name in ("a", "number", "top"))


def test_going_back_and_forth() -> None:
    new = sliding(total=sw.sum("x").over("20s"), peak=sw.max("y").over("10s"), all=sw.sum("n").over("all"))
    back = Upgraded([OLD, new, OLD], table_of(4, 500), 4, only_complete=True)
    for name in OLD.columns:
        assert back.differing(name) == back.nulls(name)
    assert back.differing("all") == []
    again = Upgraded([OLD, new, new, sliding(total=sw.sum("x").over("20s"))], table_of(5, 600), 5)
    assert again.differing("total") == []


@pytest.mark.parametrize("seed", range(12))
def test_random_changes(seed: int) -> None:
    """Of any definitions one after the other: complete answers are the table's, and others are null."""
    choose = random.Random(seed)
    every = [*COMPLETE.values(), *PARTIAL.values(), *OLD.columns.values()]
    definitions = [
        sliding(**{f"c{i}": one for i, one in enumerate(choose.sample(every, choose.randrange(1, 9)))})
        for _ in range(choose.choice([2, 3, 3, 4]))
    ]
    with small_pages(choose.choice([150, 600, 131_072])):
        upgraded = Upgraded(definitions, table_of(seed, choose.choice([120, 500])), seed, only_complete=True)
    for name in definitions[-1].columns:
        assert upgraded.differing(name) == upgraded.nulls(name), definitions


BEATS = sw.Sliding(
    by="k",
    on="ts",
    every="10s",
    total=sw.sum("x").over("60s"),
    top=sw.max("x").over("25s", closed="left"),
    middle=sw.median("n").over("30s"),
)


@pytest.mark.parametrize(
    ("columns", "complete"),
    [
        ({"a": sw.sum("x").over("60s")}, True),
        ({"a": sw.sum("x").over("20s"), "b": sw.quantile(0.25)("n").over("60s")}, True),
        ({"a": sw.max("x").over("25s", closed="left"), "b": sw.median("n").over("30s")}, True),
        ({"a": sw.sum("x").over("90s")}, False),
        ({"a": sw.min("x").over("30s"), "b": sw.sum("x").over("60s")}, False),
        ({"a": sw.sum("y").over("30s") / sw.count("y").over("20s")}, False),
    ],
)
def test_beats(columns: dict[str, Any], complete: bool) -> None:
    new = sw.Sliding(by="k", on="ts", every="10s", columns=columns)
    table = table_of(7, 400)
    times = times_of(table, "ts")
    cut = int(times[150]) // 1_000 * 1_000
    stream = Stream(BEATS, table.schema, described=True)
    push_all(stream, table.filter(pa.array(times <= cut)), 1, cut)
    stream.upgrade(new, table.schema, only_complete=True)
    stream.found = []
    push_all(stream, table.filter(pa.array(times > cut)), 2, int(times.max()) + 1_000)
    expected = {(row["k"], row["ts"]): row for row in new(table).to_pylist()}
    compared = 0
    for row in stream.found:
        for name in columns:
            truth = expected[row["k"], row["ts"]][name]
            assert same(row[name], truth) or (row[name] is None and not complete)
            compared += same(row[name], truth) and truth is not None
    assert compared > 20
    some = {row["ts"] for row in stream.found if any(row[name] is None for name in columns)}
    assert complete or min(some) == min(row["ts"] for row in stream.found)


def test_rows_that_wait_get_the_columns_of_the_stream() -> None:
    old = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("10s"))
    before = rows_at([1, 2, 30, 31], x=[1.0, 2.0, 3.0, 4.0], gone=["a", "b", "c", "d"])
    stream = Stream(old, before.schema, described=True)
    stream.push(before, 0)
    stream.push(before.slice(0, 0), ms(5))
    after = rows_at([32], x=[5.0], new=[7])
    stream.upgrade(sw.Sliding(by="k", on="ts", s=sw.sum("x").over("10s"), m=sw.max("new").over("10s")), after.schema)
    stream.push(after, ms(5))
    found = stream.push(after.slice(0, 0), ms(40))
    assert [(row["x"], row["new"], row["s"], row["m"]) for row in found] == [
        (3.0, None, 3.0, None),
        (4.0, None, 7.0, None),
        (5.0, 7, 12.0, 7),
    ]
    assert "gone" not in found[0]


def test_forget_after_may_change() -> None:
    definition = sw.Sliding(by="k", on="ts", n=sw.count().over("all"))
    table = rows_at([1, 100], x=[1.0, 1.0])
    stream = Stream(definition, table.schema, described=True)
    stream.push(table.slice(0, 1), 0)
    stream.push(table.slice(0, 0), ms(2))
    stream.upgrade(definition, table.schema, forget_after=60 * SECOND)
    stream.push(table.slice(1), ms(2))
    assert [row["n"] for row in stream.push(table.slice(0, 0), ms(101))] == [1]
    stream.upgrade(definition, table.schema)
    stream.push(rows_at([1_000], x=[1.0]), ms(101))
    assert [row["n"] for row in stream.push(table.slice(0, 0), ms(1_001))] == [2]


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (sw.Sliding(by=["k", "n"], on="ts", a=sw.sum("x").over("10s")), "by= was 'k' and is .'k', 'n'."),
        (sw.Sliding(by="k", on="other", a=sw.sum("x").over("10s")), "on= was 'ts' and is 'other'"),
        (sw.Sliding(by="k", on="ts", every="10s", a=sw.sum("x").over("10s")), "every= was not given and is '10 sec"),
    ],
)
def test_changes_that_cannot_be_made(new: sw.Sliding, reason: str) -> None:
    with pytest.raises(SlidewiseError, match=reason):
        Changes(OLD, new)


def test_a_window_that_cuts_slices_is_refused() -> None:
    new = sw.Sliding(by="k", on="ts", every="10s", a=sw.sum("x").over("33s"))
    with pytest.raises(SlidewiseError, match=r"'a', over\('33 seconds'\)"):
        Changes(BEATS, new)


def test_nothing_is_written_where_a_column_has_another_type() -> None:
    old = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("10s"))
    table = rows_at([1, 2], x=[1.0, 2.0])
    stream = Stream(old, table.schema, described=True)
    stream.push(table, 0)
    stream.push(table.slice(0, 0), ms(5))
    pages = dict(stream.store.pages)
    other = rows_at([7], x=[1])
    stream.upgrade(sw.Sliding(by="k", on="ts", s=sw.max("x").over("10s")), other.schema)
    with pytest.raises(SlidewiseError, match="the column 'x' was of type double and is of type int64"):
        stream.push(other, ms(5))
    assert stream.store.pages == pages


def test_another_number_of_shards_is_refused() -> None:
    table = rows_at([1, 2], x=[1.0, 2.0])
    old, new = (sw.Sliding(by="k", on="ts", s=sw.sum("x").over(last)) for last in ("10s", "11s"))
    stream = Stream(old, table.schema, described=True)
    stream.push(table, 0)
    stream.upgrade(new, table.schema)
    stream.terms = replace(stream.terms, shards=4)
    with pytest.raises(SlidewiseError, match=r"the checkpoint has 1 shards and this query 4: .* say shards=1"):
        stream.push(table, 0)


def test_a_checkpoint_of_neither_definition_is_refused() -> None:
    table = rows_at([1, 2], x=[1.0, 2.0])
    stream = Stream(sw.Sliding(by="k", on="ts", s=sw.sum("x").over("10s")), table.schema, described=True)
    stream.push(table, 0)
    stream.definition = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("11s"))
    stream.upgrade(sw.Sliding(by="k", on="ts", s=sw.sum("x").over("12s")), table.schema)
    with pytest.raises(sw.SnapshotError, match="neither by the definition of this query nor by that of upgrade_from="):
        stream.push(table, 0)


def test_state_after_an_upgrade_is_that_of_a_stream_that_was_always_so() -> None:
    """What later windows cannot reach is dropped at once."""
    old, new = sliding(a=sw.sum("x").over("1h"), n=sw.sum("n").over("1h")), sliding(a=sw.sum("x").over("5s"))
    table = table_of(9, 2_000)
    until = int(times_of(table, "ts").max())
    stream, always = Stream(old, table.schema, described=True), Stream(new, table.schema, described=True)
    for each in (stream, always):
        push_all(each, table, 1, until)
    sizes = [sum(map(len, stream.store.pages.values()))]
    stream.upgrade(new, table.schema)
    stream.push(table.slice(0, 0), until // 1_000)
    sizes.append(sum(map(len, stream.store.pages.values())))
    assert sizes[1] < sizes[0] / 5
    assert sizes[1] < 1.3 * sum(map(len, always.store.pages.values()))


def test_complete_answers_are_no_longer_counted() -> None:
    table = table_of(11, 300)
    upgraded = Upgraded([OLD, sliding(a=sw.sum("x").over("90s"))], table, 11)
    directory = Directory(Pages(upgraded.stream.store, upgraded.stream.terms.fingerprint, 3))
    assert directory.warming.known_from == {}
