"""`as_of` on real events: what a range join with GROUP BY says, DuckDB's for tables and Spark's for DataFrames.

Labels ask at the keys and times of other rows, at times between them, and for keys without events. Rows come unsorted.
"""

from __future__ import annotations

import calendar
import gzip
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from spark_data import QUIET

import slidewise as sw

DATA = Path(__file__).parents[3] / "shared" / "data"

pytestmark = [
    pytest.mark.rule(19),
    QUIET,
    pytest.mark.skipif(not DATA.exists(), reason="the real data is not beside this checkout"),
]

ENDS = {"right": (">", "<="), "both": (">=", "<="), "left": (">=", "<"), "neither": (">", "<")}
ROUNDED = ("mean", "total")  # floats that are added up in another order


def holed(values: Any, numbers: Any) -> pa.Array:
    """The values with a NaN in one row of eleven, and a null in one of seven."""
    floats = np.where(numbers % 11 == 0, np.nan, values.astype(float))
    return pa.array(floats, mask=numbers % 7 == 0)


@pytest.fixture(scope="module")
def rides() -> pa.Table:
    """A hundred thousand rides in no order, of 500 groups of taxis, one of them null; many share a second."""
    names = ["ride", "kind", "ts", "other", "start_lon", "start_lat", "lon", "lat", "passengers", "taxi", "driver"]
    with gzip.open(DATA / "nyc_taxi_rides_100k.csv.gz") as file:
        table = pa.csv.read_csv(file, pa.csv.ReadOptions(column_names=names))
    ride, zone = table["ride"].to_numpy(), table["taxi"].to_numpy() % 500
    columns = {
        "zone": pa.array(zone, mask=zone == 17),
        "ts": table["ts"].combine_chunks(),
        "passengers": table["passengers"].combine_chunks(),
        "lon": table["lon"].combine_chunks(),
        "far": holed(table["lon"].to_numpy(), ride),
    }
    return pa.table(columns).take(np.random.default_rng(6).permutation(len(table)))


@pytest.fixture(scope="module")
def equipment() -> pa.Table:
    """Events at about 100 Hz, in ticks of 100 ns, in no order; no keys."""
    ticks, mf01, mf02 = [], [], []
    for line in (DATA / "debs2012_small.tsv").read_text().splitlines():
        ts, _, first, second, *_ = line.split("\t")
        moment, fraction = ts.removesuffix("+00:00").split(".")
        ticks.append(calendar.timegm(datetime.fromisoformat(moment).timetuple()) * 10**9 + int(fraction) * 100)
        mf01.append(int(first))
        mf02.append(int(second))
    columns = {
        "ts": pa.array(ticks, pa.timestamp("ns", "UTC")),
        "passengers": pa.array(mf01, pa.int64()),
        "lon": pa.array(np.array(mf01) / 7),
        "far": holed(np.array(mf02), np.arange(len(mf02))),
    }
    return pa.table(columns).take(np.random.default_rng(7).permutation(len(ticks)))


def ride_labels(rides: pa.Table, count: int) -> pa.Table:
    """Of three labels one is at a ride's key and time, one at two rides' and one nearby; some keys have no rides."""
    choose = np.random.default_rng(8)
    rows = choose.integers(0, len(rides), count)
    others = np.where(np.arange(count) % 3 == 0, rows, choose.integers(0, len(rides), count))
    seconds = rides["ts"].cast(pa.timestamp("s")).cast(pa.int64()).to_numpy()[others]
    away = np.where(np.arange(count) % 3 == 2, choose.integers(-90, 90, count) * 500_000, 0)
    zones = rides["zone"].take(rows).to_pylist()
    return pa.table(
        {
            "label": np.arange(count),
            "zone_of": pa.array([10_000 + zone if i % 50 == 1 and zone else zone for i, zone in enumerate(zones)]),
            "at": pa.array(seconds * 1_000_000 + away, pa.timestamp("us")),
        }
    )


def definition_of(by: list[str], last: str, closed: str) -> sw.Sliding:
    return sw.Sliding(
        by=by,
        on="ts",
        top=sw.max("far").over(last, closed=closed),
        n=sw.count("far").over(last, closed=closed),
        rows=sw.count().over(last, closed=closed),
        riders=sw.sum("passengers").over(last, closed=closed),
        mean=sw.mean("lon").over(last, closed=closed),
        total=sw.sum("far").over(last, closed=closed),
    )


AGGREGATES = """
    max(far) AS top, count(far) AS n, count(e.ts) AS rows, sum(passengers) AS riders, avg(lon) AS mean,
    sum(far) AS total
"""


def in_duckdb(labels: pa.Table, events: pa.Table, keys: str, closed: str, width: int) -> pa.Table:
    """The range join; times are whole numbers, `at` and `ts`, and so is the window's width."""
    old, young = ENDS[closed]
    connection = duckdb.connect()
    connection.register("labels", labels)
    connection.register("events", events)
    return connection.sql(f"""
        SELECT label, {AGGREGATES}
        FROM labels AS l LEFT JOIN events AS e ON {keys} AND e.ts {old} l.at - {width} AND e.ts {young} l.at
        GROUP BY label ORDER BY label
    """).to_arrow_table()  # fmt: skip


def ticking(table: pa.Table, name: str, unit: str) -> pa.Table:
    """The table with a time as a whole number of units."""
    zone = getattr(table.schema.field(name).type, "tz", None)
    ticks = table.column(name).cast(pa.timestamp(unit, zone)).cast(pa.int64())
    return table.set_column(table.schema.get_field_index(name), name, ticks)


def assert_alike(found: pa.Table, peer: pa.Table, least: int) -> None:
    """Equal answers in the labels' order, nulls and NaN too; sums of floats to 1e-12. Many windows hold rows."""
    assert found["label"].to_pylist() == peer["label"].to_pylist()
    assert sum(rows > 1 for rows in found["rows"].to_pylist()) > least, "windows hold too few rows to prove anything"
    for name in ("top", "n", "rows", "riders", "mean", "total"):
        ours, theirs = found[name].to_pylist(), peer[name].to_pylist()
        assert [one is None for one in ours] == [one is None for one in theirs], name
        one, other = (np.array([x for x in column if x is not None], float) for column in (ours, theirs))
        if name in ROUNDED:
            np.testing.assert_allclose(one, other, rtol=1e-12, err_msg=name)
        else:
            np.testing.assert_array_equal(one, other, err_msg=name)
    assert any(top is not None and np.isnan(top) for top in found["top"].to_pylist())


@pytest.mark.parametrize(("closed", "minutes"), [("right", 1), ("both", 10), ("left", 1), ("neither", 30)])
def test_taxis_against_the_range_join_of_duckdb(rides: pa.Table, closed: str, minutes: int) -> None:
    """Labels in microseconds over rides in seconds, with ties at both ends of the windows."""
    labels = ride_labels(rides, 6_000)
    definition = definition_of(["zone"], f"{minutes} minutes", closed)
    peer = in_duckdb(
        ticking(labels, "at", "us"),
        ticking(rides, "ts", "us"),
        "l.zone_of IS NOT DISTINCT FROM e.zone",
        closed,
        minutes * 60_000_000,
    )
    assert labels["zone_of"].null_count > 5
    found = definition.as_of(labels, rides, on="at", by={"zone": "zone_of"})
    assert_alike(found, peer, 1_500)
    assert 0 in found["rows"].to_pylist(), "keys without events, or before any"
    if closed == "right":
        frames = definition.as_of(pl.from_arrow(labels), pl.from_arrow(rides), on="at", by={"zone": "zone_of"})
        assert_alike(frames.to_arrow(), peer, 1_500)


@pytest.mark.parametrize(("unit", "closed"), [("ns", "both"), ("ns", "neither"), ("us", "right"), ("ms", "left")])
def test_equipment_against_the_range_join_of_duckdb(equipment: pa.Table, unit: str, closed: str) -> None:
    """Labels at events, a tick beside them, and one second after them to the tick; in a unit of their own."""
    choose = np.random.default_rng(9)
    size = {"ns": 1, "us": 1_000, "ms": 1_000_000}[unit]
    ticks = equipment["ts"].cast(pa.int64()).to_numpy()[choose.integers(0, len(equipment), 2_000)]
    moved = ticks + choose.choice([0, -1, 1, 10**9, 10**9 - 1, 10**9 + 1, 123_456_789], 2_000)
    labels = pa.table({"label": np.arange(2_000), "at": pa.array(moved // size, pa.timestamp(unit, "UTC"))})
    found = definition_of([], "1 second", closed).as_of(labels, equipment, on="at")
    peer = in_duckdb(ticking(labels, "at", "ns"), ticking(equipment, "ts", "ns"), "true", closed, 10**9)
    assert_alike(found, peer, 1_500)


def in_spark(spark: Any, labels: Any, events: Any, keys: str, closed: str, last: str) -> pa.Table:
    """Spark's own range join and groupBy."""
    old, young = ENDS[closed]
    labels.createOrReplaceTempView("labels")
    events.createOrReplaceTempView("events")
    joined = f"{keys} AND e.ts {old} l.at - INTERVAL {last} AND e.ts {young} l.at"
    query = f"SELECT label, {AGGREGATES} FROM labels l LEFT JOIN events e ON {joined} GROUP BY label"
    table: pa.Table = spark.sql(query).toArrow()
    return table.sort_by("label")


def test_taxis_against_the_range_join_of_spark(spark: Any, rides: pa.Table) -> None:
    zoned = rides.set_column(1, "ts", rides["ts"].cast(pa.timestamp("us", "UTC")))
    labels = ride_labels(rides, 1_500)
    labels = labels.set_column(2, "at", labels["at"].cast(pa.timestamp("us", "UTC")))
    asked, events = spark.createDataFrame(labels), spark.createDataFrame(zoned)
    definition = definition_of(["zone"], "10 minutes", "both")
    found = definition.as_of(asked, events, on="at", by={"zone": "zone_of"})
    peer = in_spark(spark, asked, events, "l.zone_of <=> e.zone", "both", "10 MINUTES")
    assert_alike(found.toArrow().sort_by("label"), peer, 1_000)


def test_equipment_against_the_range_join_of_spark(spark: Any, equipment: pa.Table) -> None:
    """No keys: slices of time. Spark holds microseconds, so both sides are rounded down to them."""
    events = equipment.set_column(0, "ts", equipment["ts"].cast(pa.timestamp("us", "UTC"), safe=False))
    ticks = events["ts"].cast(pa.int64()).to_numpy()[:: len(events) // 300]
    moved = ticks + np.resize([0, 1, 10**6, 10**6 + 1, 123_456], len(ticks))
    labels = pa.table({"label": np.arange(len(ticks)), "at": pa.array(moved, pa.timestamp("us", "UTC"))})
    asked, frame = spark.createDataFrame(labels), spark.createDataFrame(events)
    found = definition_of([], "1 second", "right").as_of(asked, frame, on="at")
    peer = in_spark(spark, asked, frame, "true", "right", "1 SECOND")
    assert_alike(found.toArrow().sort_by("label"), peer, 200)
