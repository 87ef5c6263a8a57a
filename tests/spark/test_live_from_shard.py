"""A live definition that goes on from a stream's pages, without Spark: equal to one that saw the released rows."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import lanes
import pyarrow as pa
import pytest
from definitions.test_lanes import longest_drop
from shards import SECOND, small_pages
from stored_streams import assert_equal, described, fed, live_of, opened, up_to

import slidewise as sw
from slidewise.live.live import Live
from slidewise.spark.inspect.opened_shard import OpenedShard
from slidewise.spark.inspect.shard_tasks import find_key, shards_of
from slidewise.spark.state.seven_bits import encode_text
from slidewise.spark.stream.shard_labels import shard_label
from slidewise.stream_state import windows_of_key

START = datetime(2024, 3, 1, tzinfo=UTC)
c = sw.col


def table_of(seed: int, rows: int, seconds: int = 200, zone: str | None = "UTC") -> pa.Table:
    """Rows of a few keys, at whole seconds, so that many are peers; with nulls, NaN and an id that orders peers."""
    choose = random.Random(seed)
    nan = float("nan")
    made = [
        {
            "k": choose.choice(["a", "b", "c", None]),
            "j": choose.choice([1, 2]),
            "ts": START.replace(tzinfo=UTC if zone else None) + timedelta(seconds=choose.randrange(seconds)),
            "x": choose.choice([None, nan, 0.25, -1.5, 3.0, 1e16, 0.1]),
            "i": choose.choice([None, -3, 0, 7, 2**40]),
            "s": choose.choice([None, "", "a", "é"]),
            "ok": choose.choice([True, False, None]),
            "id": i,
        }
        for i in range(rows)
    ]
    kinds = [("k", pa.string()), ("j", pa.int64()), ("ts", pa.timestamp("us", zone)), ("x", pa.float64())]
    kinds += [("i", pa.int64()), ("s", pa.string()), ("ok", pa.bool_()), ("id", pa.int64())]
    return pa.Table.from_pylist(made, schema=pa.schema(kinds))


def cut_at(seconds: float) -> int:
    return int(START.timestamp() * SECOND + seconds * SECOND)


EVERY_KIND = sw.Sliding(
    by="k",
    on="ts",
    ties="id",
    total=sw.sum("x").over("60s"),
    late=sw.sum("x").over("30s", delay="20s"),
    left=sw.mean("x").where("ok").over("45s", closed="left"),
    both=sw.collect("i").over("30s", closed="both"),
    last=sw.max("s").over(rows=7),
    before=sw.mean("i").over(rows=5, closed="left", at_least=2),
    middle=sw.median("x").over("40s"),
    p90=sw.quantile(0.9)("x").over(rows=20),
    near=sw.quantile(0.9, approximate=0.05)("i").over("50s"),
    users=sw.hyperloglog(p=4)("s").over("60s"),
    drop=longest_drop("i").over("60s"),
    cells=sw.max("x").over("60s", grain="10s"),
    rows_of_cells=sw.count().over("60s", grain="10s"),
    texts=sw.max("s").over("70s", grain="7s"),
    open_cells=sw.sum("i").over("50s", grain="5s", closed="left"),
    all=sw.count().over("all"),
    sum_of_all=sw.sum("x").over("all"),
    open_all=sw.mean("i").where(c("i") > 0).over("all", closed="left"),
    session=sw.sum("i").over(gap="2s"),
    open_session=sw.collect("i").over(gap="2s", closed="left"),
    since=sw.collect("i").over(since="ok"),
    open_since=sw.sum("x").over(since="ok", closed="left"),
    hour=sw.count("x").over("this hour", zone="Asia/Kolkata"),
    latest=sw.last("s").over("all"),
    spread=sw.stddev("i").over("all"),
    computed=sw.sum(c("i") * 2).over("60s"),
    share=c("x") / sw.count().where(c("s") == "a").over("80s"),
    moment=sw.max("ts").over("30s"),
)


def reference(definition: sw.Sliding, rows: pa.Table, **options: Any) -> Live:
    live = definition.live(**options)
    for row in lanes.in_time_order(definition, rows).to_pylist():
        live.push(row)
    return live


def keys_of(definition: sw.Sliding, table: pa.Table) -> list[dict[str, Any]]:
    rows = [{name: row[name] for name in definition.by} for row in table.to_pylist()]
    return [dict(items) for items in dict.fromkeys(tuple(row.items()) for row in rows)]


def compare(live: Live, other: Live, later: pa.Table, keys: list[dict[str, Any]]) -> None:
    """The same answers to reads as of the moments of later rows, and to these rows."""
    own = {"x": 2.5, "s": "a", "i": 1}
    for row in later.to_pylist():
        for key in keys:
            asked = {**own, **key}
            assert_equal(live.get(asked, at=row["ts"]), other.get(asked, at=row["ts"]), f"{key} as of {row['ts']}")
        assert_equal(live.push(row), other.push(row), f"at {row}")
    assert len(later) > 10


@pytest.mark.parametrize("pages", [131_072, 600], ids=["usual pages", "small pages"])
@pytest.mark.parametrize("zone", ["UTC", None])
def test_it_answers_as_one_that_saw_the_released_rows(pages: int, zone: str | None) -> None:
    table = table_of(1, 700, zone=zone)
    released, later = up_to(table, "ts", cut_at(120))
    with small_pages(pages):
        stream = described(EVERY_KIND, table.schema)
        fed(stream, table, cut_at(120), 1)
        live, other = live_of(stream), reference(EVERY_KIND, released)
    later = lanes.in_time_order(EVERY_KIND, later).slice(0, 120)
    compare(live, other, later, keys_of(EVERY_KIND, table))


@pytest.fixture(scope="module")
def streamed() -> tuple[Any, pa.Table, pa.Table]:
    """A stream with all kinds of windows, and its rows, those that were released and those after them."""
    table = table_of(2, 500)
    released, later = up_to(table, "ts", cut_at(120))
    stream = described(EVERY_KIND, table.schema)
    fed(stream, table, cut_at(120), 2)
    return stream, released, lanes.in_time_order(EVERY_KIND, later)


@pytest.mark.parametrize("seed", range(8))
def test_random_definitions(seed: int) -> None:
    choose = random.Random(seed)
    operators = [sw.max("x"), sw.min("s"), sw.mean("i"), sw.sum("x"), sw.count(), sw.count("s"), sw.first("x")]
    operators += [sw.last("i"), sw.argmax("s", "i"), sw.maxcount("x"), sw.m4("x"), sw.collect("s"), sw.bool_or("ok")]
    operators += [sw.count_distinct("i"), sw.hyperloglog(p=4)("i"), sw.median("i"), sw.sum(c("i") + 1)]

    def aggregate() -> Any:
        made = choose.choice(operators)
        made = choose.choice([made, made, made.where("ok"), made.where(c("x") > 0)])
        closed = choose.choice(["right", "both", "left", "neither"])
        kind = choose.choice(["rows", "time", "time", "grain", "all"])
        if kind == "rows":
            return made.over(rows=choose.randrange(1, 9), closed=choose.choice(["right", "left"]))
        if kind == "all" and made.operator.name != "median":
            return made.over("all", closed=choose.choice(["right", "left"]))
        grained = kind == "grain" and made.operator.name in ("max", "mean", "count", "collect", "sum")
        return made.over(f"{choose.choice([1, 7, 30, 90])}s", closed=closed, grain="3s" if grained else None)

    columns = {f"c{i}": aggregate() for i in range(choose.randrange(1, 5))}
    by = choose.choice([(), ("k",), ("k", "j")])
    definition = sw.Sliding(by=by, on="ts", ties=("id",), columns=columns)
    table = table_of(seed, 160, 60)
    cut = cut_at(choose.randrange(5, 45))
    released, later = up_to(table, "ts", cut)
    with small_pages(choose.choice([131_072, 400])):
        stream = described(definition, table.schema)
        fed(stream, table, cut, seed)
        live, other = live_of(stream), reference(definition, released)
    compare(live, other, lanes.in_time_order(definition, later).slice(0, 40), keys_of(definition, table))


def test_reads_without_a_time_are_as_of_the_newest_event(streamed: Any) -> None:
    stream, released, _ = streamed
    plain = {name: column for name, column in EVERY_KIND.columns.items() if "open" not in name and name != "before"}
    definition = sw.Sliding(by="k", on="ts", ties="id", columns=plain)
    again = described(definition, released.schema)
    fed(again, released, cut_at(120), 2)
    live, other = live_of(again), reference(definition, released)
    for key in keys_of(definition, released):
        asked = {**key, "x": 1.0}
        assert_equal(live.get(asked), other.get(asked), str(key))
    assert live.seen == other.seen
    newest = max(row["ts"] for row in released.to_pylist())
    first = next(row["k"] for row in released.to_pylist() if row["ts"] == newest)
    with pytest.raises(sw.SlidewiseError, match="'before' has no answer as of the key's newest event"):
        live_of(stream).get({"k": first, "x": 1.0}, at=newest)


def test_events_that_the_stream_has_had_are_late(streamed: Any) -> None:
    stream, released, later = streamed
    row = {**released.slice(3, 1).to_pylist()[0], "k": "new"}
    live = live_of(stream)
    with pytest.raises(sw.TimeOrderError, match=r"is not after 2024-03-01 00:02:00.*has taken events in"):
        live.push(row)
    with pytest.raises(sw.TimeOrderError, match="the time in row 0"):
        live.push_many(pa.Table.from_pylist([row], schema=released.schema))
    assert len(live) == 4
    lenient = live_of(stream, late="drop")
    assert lenient.push(row) is None
    both = pa.concat_tables([released.slice(3, 1), later.slice(0, 5)])
    assert len(lenient.push_many(both)) == 5
    assert lenient.stats.late == 2


def test_batches_snapshots_and_shared_windows(streamed: Any) -> None:
    stream, released, later = streamed
    other = reference(EVERY_KIND, released)
    expected = [other.push(row) for row in later.to_pylist()]
    restored = EVERY_KIND.restore(live_of(stream).snapshot())
    with pytest.raises(sw.TimeOrderError, match="has taken events in"):
        restored.push(released.to_pylist()[0])
    for live in (live_of(stream), live_of(stream, spikes=True), restored):
        found = live.push_many(later).select(list(EVERY_KIND.columns)).to_pylist()
        for row, answers in zip(found, expected, strict=True):
            assert_equal(row["total"], answers["total"], "a sum")
            assert_equal(row["all"], answers["all"], "a count")
            assert_equal(row["cells"], answers["cells"], "cells")
            assert_equal(row["open_all"], answers["open_all"], "an open window")


@pytest.mark.parametrize("bound", ["100s", "30s"])
def test_waiting_rows_wait_on(streamed: Any, bound: str) -> None:
    stream, released, later = streamed
    waiting = live_of(stream, waiting=True, late=f"wait:{bound}")
    assert waiting.stats.waiting + len(waiting.ready) == len(later)
    assert (waiting.stats.waiting == len(later)) == (bound == "100s")
    other = reference(EVERY_KIND, released)
    found = {row["id"]: row for row in waiting.flush()}
    for row in later.to_pylist():
        assert_equal(found[row["id"]]["last"], other.push(row)["last"], "a window of rows")
    assert live_of(stream, late="wait:30s").stats.waiting == 0


BEATS = sw.Sliding(
    by="k",
    on="ts",
    every="10s",
    total=sw.sum("i").over("60s"),
    middle=sw.median("x").over("30s"),
    texts=sw.max("s").over("40s"),
    n=sw.count().over("20s"),
)


@pytest.mark.parametrize("pages", [131_072, 600], ids=["usual pages", "small pages"])
def test_beats_go_on(pages: int) -> None:
    table = table_of(4, 300)
    cut = cut_at(123)
    released, later = up_to(table, "ts", cut)
    with small_pages(pages):
        stream = described(BEATS, table.schema)
        fed(stream, table, cut, 4)
        live, other = BEATS.restore(live_of(stream).snapshot()), reference(BEATS, released)
    other.advance(to=START + timedelta(seconds=123))
    end = START + timedelta(seconds=400)
    for row in lanes.in_time_order(BEATS, later).to_pylist():
        assert_equal(live.push(row), other.push(row), f"beats at {row}")
    found, expected = (sorted(one.advance(to=end), key=str) for one in (live, other))
    assert_equal(found, expected, "the last beats")
    assert expected


@pytest.mark.parametrize("definition", [EVERY_KIND, BEATS], ids=["rows", "beats"])
def test_the_windows_of_a_key(definition: sw.Sliding) -> None:
    """Of the pages that the key lies in alone, among many."""
    table = table_of(9, 700)
    released, _ = up_to(table, "ts", cut_at(150))
    with small_pages(600):
        stream = described(definition, table.schema)
        fed(stream, table, cut_at(150), 9)
        shard, live = opened(stream), live_of(stream)
        assert len(shard.directory.buckets) > 1
        pages = pa.record_batch(
            [
                pa.array([shard_label(shard.shard)] * len(shard.store)),
                pa.array(list(shard.store)),
                pa.array([encode_text(page) for page in shard.store.values()]),
            ],
            names=["s", "n", "p"],
        )
        queries = {shard.query.fingerprint: shard.query}
        for text, key in (("a", "a"), ("null", None)):
            batches = [batch.to_pydict().values() for batch in find_key(queries, {"k": text}, [pages])]
            rows = [row for columns in batches for row in zip(*columns, strict=True)]
            assert 4 < len(rows) < len(shard.store)
            [(number, store)] = shards_of(rows)
            part = OpenedShard(store, number, queries, partial=True)
            [found] = windows_of_key(definition, [part], cut_at(150), {"k": text})
            assert found["key"] == {"k": key}
            if definition is BEATS:
                beats = live.advance(to=found["as_of"])
                live = live_of(stream)
                expected = next(beat for beat in beats if beat["k"] == key)
                assert_equal(found["answers"], {name: expected[name] for name in BEATS.columns}, "a beat")
                continue
            asked = {"k": key, "x": 0.5}
            expected = live.get(asked, at=START + timedelta(seconds=150, microseconds=1))
            named = {window["name"]: window for window in found["windows"]}
            for name in expected.keys() & named.keys():
                assert_equal(named[name]["answer"], expected[name], name)
            mine = [row for row in released.to_pylist() if row["k"] == key]
            assert named["all"]["rows"] == len(mine)
            recent = [row for row in mine if row["ts"] > START + timedelta(seconds=90)]
            assert named["total"]["rows"] == sum(row["x"] is not None for row in recent)
            last = sorted(mine, key=lambda row: (row["ts"], row["id"]))[-5:]
            assert named["before"]["rows"] == sum(row["i"] is not None for row in last)
            assert named["rows_of_cells"]["rows"] == named["rows_of_cells"]["answer"]
        assert list(find_key(queries, {"k": "none"}, [pages])) == []


def test_keys_that_were_forgotten_start_anew() -> None:
    definition = sw.Sliding(by="k", on="ts", all=sw.count().over("all"), last=sw.collect("i").over(rows=3))
    table = table_of(5, 60, 30)
    again = table.slice(0, 1).set_column(
        2, "ts", pa.array([START + timedelta(seconds=100)], table.schema.field("ts").type)
    )
    stream = described(definition, table.schema, forget_after=20 * SECOND)
    fed(stream, pa.concat_tables([table, again]), cut_at(100), 5)
    live = live_of(stream)
    assert len(live) == 1
    assert live.push({**again.to_pylist()[0], "ts": START + timedelta(seconds=101)})["all"] == 2


def test_what_a_live_definition_cannot_take_over(streamed: Any) -> None:
    with pytest.raises(sw.SlidewiseError, match="late='revise' answers events anew"):
        EVERY_KIND.live_from(None, "", late="revise")  # type: ignore[arg-type]
    with pytest.raises(sw.SlidewiseError, match="waiting=True lets"):
        EVERY_KIND.live_from(None, "", waiting=True)  # type: ignore[arg-type]
    times = sw.Sliding(by="k", on="ts", latest=sw.max("ts").over("60s", grain="1s"))
    table = table_of(6, 50)
    stream = described(times, table.schema)
    fed(stream, table, cut_at(100), 6)
    with pytest.raises(sw.SlidewiseError, match="'latest' aggregates the times 'ts' into cells"):
        live_of(stream)


def test_times_in_states_of_everything_so_far() -> None:
    definition = sw.Sliding(by="k", on="ts", ties="id", latest=sw.max("ts").over("all"), n=sw.count("ts").over("all"))
    table = table_of(7, 100)
    released, later = up_to(table, "ts", cut_at(100))
    stream = described(definition, table.schema)
    fed(stream, table, cut_at(100), 7)
    compare(live_of(stream), reference(definition, released), later, keys_of(definition, table))


def test_aggregates_that_an_upgrade_left_apart_go_on() -> None:
    """A new aggregate over everything so far knows no row from before, and counts apart from those that do."""
    old = sw.Sliding(by="k", on="ts", ties="id", n=sw.count("i").over("all"), last=sw.max("i").over("20s"))
    new = sw.Sliding(by="k", on="ts", ties="id", columns={**old.columns, "total": sw.sum("i").over("all")})
    table = table_of(8, 200)
    stream = described(old, table.schema)
    fed(stream, up_to(table, "ts", cut_at(80))[0], cut_at(80), 8)
    stream.upgrade(new, table.schema)
    rest = up_to(table, "ts", cut_at(80))[1]
    before, after = up_to(rest, "ts", cut_at(130))
    stream.push(before, cut_at(130) // 1_000)
    live = live_of(stream)
    assert len(live.specs) == 3
    with_state = live.snapshot()
    answers = {row["id"]: row for row in stream.push(after, cut_at(300) // 1_000)}
    times = Counter((row["k"], row["ts"]) for row in after.to_pylist())
    compared = 0
    for each in (live, new.restore(with_state)):
        for row in lanes.in_time_order(new, after).to_pylist():
            found = each.push(row)
            if times[row["k"], row["ts"]] == 1:  # peers see one another in the stream
                assert {name: answers[row["id"]][name] for name in found} == found
                compared += found["n"] != 0 and found["total"] is not None
    assert compared > 50
