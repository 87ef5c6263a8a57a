"""A live definition that goes on from a stream's pages, without Spark: equal to one that saw the released rows."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import lanes
import pyarrow as pa
import pytest
from definitions.test_lanes import longest_drop
from shards import SECOND, small_pages
from stored_streams import assert_equal, described, fed, live_of, up_to

import slidewise as sw
from slidewise.live.live import Live

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
