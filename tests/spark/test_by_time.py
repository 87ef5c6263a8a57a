"""Time in slices: the answers of one pass, whatever kind of time it is and wherever the slices are cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from spark_data import HEALTH, QUIET, TIMED, events, same_rows

import slidewise as sw
from slidewise.spark.batch.time_slices import time_slices_for
from slidewise.spark.column_names import COPY, SLICE

pytestmark = QUIET
NO_KEYS = sw.Sliding(on="ts", columns=dict(TIMED.columns))


@pytest.mark.parametrize("definition", [TIMED, NO_KEYS], ids=["keys", "no keys"])
@pytest.mark.parametrize("parallel", ["auto", "by_key", "by_time"])
def test_rows_are_the_same(spark: SparkSession, definition: sw.Sliding, parallel: str) -> None:
    table = events()
    found = spark.createDataFrame(table).transform(definition, parallel=parallel)
    assert found.columns == [*table.column_names, *definition.columns]
    assert same_rows(found, definition(table), definition)


TIMES: dict[str, tuple[Any, Any]] = {
    "bigint": (lambda t: t - 1_500, 40),
    "bigint, a fraction": (lambda t: t - 1_500, 2.5),
    "smallint": (lambda t: (t - 1_500).astype(np.int16), 40),
    "near the ends of bigint": (lambda t: np.where(t < 1_500, -(2**63) + t, 2**63 - 3_001 + t), 40),
    "double": (lambda t: (t - 1_500) / 7, 5.5),
    "float": (lambda t: ((t - 1_500) / 8).astype(np.float32), 5),
    "doubles with few digits left": (lambda t: 2.0**53 + 2.0 * t, 16.0),
    "doubles of all sizes": (lambda t: np.sign(t - 1_500) * 10.0 ** ((t - 1_500.0) / 5), 1e3),
    "date": (lambda t: pa.array((t - 1_500).astype(np.int32), pa.date32()), "36 hours"),
    "timestamp": (lambda t: pa.array((t - 1_500) * 333_333, pa.timestamp("us", "UTC")), "10s"),
    "timestamp_ntz": (lambda t: pa.array((t - 1_500) * 333_333, pa.timestamp("us")), "10s"),
    "shorter than a microsecond": (lambda t: pa.array(t - 1_500, pa.timestamp("us")), "1500ns"),
}


@pytest.mark.parametrize("kind", TIMES)
def test_times_of_every_kind(spark: SparkSession, kind: str) -> None:
    make, last = TIMES[kind]
    choose = np.random.default_rng(5)
    count = 2_000
    times = np.sort(choose.integers(0, 3_000, count))
    table = pa.table({"ts": make(times), "x": choose.integers(0, 100, count), "id": np.arange(count)})
    columns = {
        closed: sw.sum("x").over(last, closed=closed)  # type: ignore[arg-type]
        for closed in ("right", "left", "both", "neither")
    }
    definition = sw.Sliding(on="ts", columns=columns)
    found = spark.createDataFrame(table).transform(definition)
    assert definition.explain(spark.createDataFrame(table)).spark.parallel == "by_time"
    assert same_rows(found, definition(table), definition)


def test_a_change_of_clocks_moves_no_slice(spark: SparkSession, conf: Any) -> None:
    """Times without a zone are not those of the session's zone, where an hour comes twice."""
    conf({"spark.sql.session.timeZone": "America/New_York"})
    definition = sw.Sliding(on="ts", n=sw.count().over("5 minutes"), first=sw.min("id").over("5 minutes"))
    expected = pa.table({"id": range(1_000), "n": [min(i + 1, 15) for i in range(1_000)]})
    expected = expected.append_column("first", pa.array([max(i - 14, 0) for i in range(1_000)]))
    for start in ("timestamp_ntz'2024-11-03'", "timestamp'2024-11-03'"):
        rows = spark.sql(f"SELECT id, {start} + make_dt_interval(0, 0, 0, 20 * id) AS ts FROM range(1000)")
        assert same_rows(rows.transform(definition), expected, definition)


def test_slices_share_the_work_and_copy_little(spark: SparkSession, conf: Any) -> None:
    conf({"spark.sql.adaptive.coalescePartitions.enabled": "false"})
    table = events(20_000, keys=1)
    definition = sw.Sliding(by="k", on="ts", n=sw.count().over("10s"))
    df = spark.createDataFrame(table)
    cut = time_slices_for(definition, "timestamp").cut(df, "ts")
    counts = {(row[COPY] > 0): row["count"] for row in cut.groupBy(COPY).count().collect()}
    assert counts[False] == 20_000
    assert 0 < counts[True] < 20_000 / 5
    assert cut.select(SLICE).distinct().count() >= 8
    tasks = [df.transform(definition, parallel=how).select(F.spark_partition_id()) for how in ("by_key", "by_time")]
    assert [one.distinct().count() for one in tasks] == [1, 3]


def test_copies_are_seen_and_not_answered(spark: SparkSession) -> None:
    """The window of a copy misses rows of the slice before it; its sum, which nobody asked for, may not fit."""
    huge = 2**62
    slices = time_slices_for(sw.Sliding(on="t", a=sw.sum("x").over(10)), "bigint")
    start = slices.length
    table = pa.table(
        {"t": [start - 12, start - 5, start - 4, start + 1, start + 2], "x": [-huge, huge, huge, -huge, 1]}
    )
    definition = sw.Sliding(on="t", a=sw.sum("x").over(10))
    found = spark.createDataFrame(table).transform(definition, parallel="by_time").toArrow().sort_by("t")
    assert found["a"].to_pylist() == definition(table)["a"].to_pylist()


def test_rows_and_everything_so_far_are_not_cut(spark: SparkSession) -> None:
    df = spark.createDataFrame(events(10))
    with pytest.raises(sw.SlidewiseError, match=r"needs windows of time only, but 'last' is over rows.*by_key"):
        df.transform(HEALTH, parallel="by_time")
    with pytest.raises(sw.SlidewiseError, match="'n' is over all rows so far"):
        df.transform(sw.Sliding(on="ts", n=sw.count().over("all")), parallel="by_time")
    with pytest.raises(sw.SlidewiseError, match=r"parallel='bytime' is not known.*did you mean 'by_time'"):
        df.transform(HEALTH, parallel="bytime")
    with pytest.raises(sw.SlidewiseError, match="presorted=True goes with parallel='by_key' only"):
        df.transform(TIMED, parallel="by_time", presorted=True)
    rows = spark.range(3).withColumn("t", F.col("id"))
    with pytest.raises(sw.SlidewiseError, match="too long to cut time into slices"):
        rows.transform(sw.Sliding(on="t", n=sw.count().over(2**61)), parallel="by_time")


def test_explain_says_what_auto_decided(spark: SparkSession) -> None:
    df = spark.createDataFrame(events(10))
    plan = HEALTH.explain(df).spark
    assert (plan.parallel, plan.slices) == ("by_key", None)
    text = str(NO_KEYS.explain(df))
    assert text.startswith("on Spark: parallel='by_time', for there are no keys")
    assert "slices of time are 2.24 minutes long" in text
    mixed = sw.Sliding(on="ts", a=sw.count().over("1s"), b=sw.count().over(rows=2))
    assert "all rows go to one task" in str(mixed.explain(df))
    long = sw.Sliding(on="id", a=sw.count().over(2**61))
    assert long.explain(df).spark.parallel == "by_key"
    assert "no shuffle" in str(HEALTH.explain(df, presorted=True))
    assert HEALTH.explain().spark is None
    with pytest.raises(sw.SlidewiseError, match="'kk' not found"):
        sw.Sliding(by="kk", on="ts", n=sw.count().over("1s")).explain(df)
    with pytest.raises(sw.SlidewiseError, match="options are for Spark DataFrames only"):
        HEALTH.explain(parallel="by_key")


def test_planning_runs_no_job(spark: SparkSession) -> None:
    tracker = spark.sparkContext.statusTracker()
    df = spark.createDataFrame(events(100))
    spark.sparkContext.setJobGroup("planning", "planning")
    df.transform(HEALTH).transform(NO_KEYS.__class__(on="ts", n=sw.count().over("1s")))
    NO_KEYS.explain(df)
    assert list(tracker.getJobIdsForGroup("planning")) == []
    df.transform(HEALTH).count()
    assert len(list(tracker.getJobIdsForGroup("planning"))) > 0
