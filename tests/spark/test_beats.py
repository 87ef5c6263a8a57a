"""Answers on a beat on Spark: the semantics, and what Spark's own window() gives, beat by beat."""

from __future__ import annotations

import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

import definitions.test_beats as beats
import definitions.test_lanes as features
import lanes
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from spark_data import QUIET
from streams import SETTINGS, Files, answered, run, settings

import slidewise as sw

pytestmark = [QUIET, pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")]
for module in (features, beats, sys.modules[__name__]):
    cloudpickle.register_pickle_by_value(module)
SOME = {
    "by_key": ["order", "quantiles", "two keys"],
    "by_time": ["no keys", "closed ends, 5s -7s", "times as double, every 0.1, offset None"],
}


def on_spark(spark: SparkSession, cases: list[lanes.Case], **options: Any) -> dict[str, Any]:
    """All cases in one lane, which is there for as long as it is needed."""

    def lane(definition: sw.Sliding, table: pa.Table) -> pa.Table:
        found = spark.createDataFrame(table.combine_chunks()).transform(definition, **options)
        assert found.columns == lanes.names_of(definition, table)
        return found.toArrow()

    lanes.LANES["spark_beats"] = lane
    try:
        return lanes.run("spark_beats", cases)
    finally:
        del lanes.LANES["spark_beats"]


@pytest.mark.parametrize("parallel", ["by_key", "by_time"])
def test_the_lanes_of_batch(spark: SparkSession, parallel: str) -> None:
    some = [beats.BY_NAME[name] for name in SOME[parallel]]
    answers = on_spark(spark, some, parallel=parallel)
    for case in some:
        lanes.assert_same(case, answers[case.name], beats.expected(case.name))


def events(start: datetime, count: int = 400) -> pa.Table:
    """Three keys with gaps longer than the windows, many rows on the edges of beats, some with the same time."""
    choose = random.Random(count)
    seconds, at = [], 0.0
    for i in range(count):
        at += choose.choice([0, 0, 1, 5, 7.5, 30]) + (900 if i % 97 == 0 else 0)
        seconds.append(at if choose.random() < 0.5 else at // 60 * 60)
    return pa.table(
        {
            "k": [choose.choice(["a", "b", None]) for _ in seconds],
            "ts": pa.array([start + timedelta(seconds=s) for s in seconds], pa.timestamp("us", "UTC")),
            "x": [choose.choice([None, 1.5, 2.0, -3.25]) for _ in seconds],
        }
    )


@pytest.mark.parametrize(
    ("zone", "start", "size", "slide", "shift"),
    [
        ("UTC", datetime(2024, 3, 1, tzinfo=UTC), 600, 60, 0),
        ("Europe/Paris", datetime(2024, 3, 31, 0, 30, tzinfo=UTC), 600, 60, 30),  # clocks go forward at 1:00 UTC
        ("America/New_York", datetime(2024, 11, 3, 5, 30, tzinfo=UTC), 3_600, 900, -300),  # and back at 6:00 UTC
        ("Asia/Kathmandu", datetime(1969, 12, 31, 22, tzinfo=UTC), 100, 30, 7),
    ],
)
def test_beats_are_spark_windows(
    spark: SparkSession, conf: Any, zone: str, start: datetime, size: int, slide: int, shift: int
) -> None:
    conf({"spark.sql.session.timeZone": zone})
    df = spark.createDataFrame(events(start))
    window = F.window("ts", f"{size} seconds", f"{slide} seconds", f"{shift} seconds")
    theirs = df.groupBy("k", window).agg(F.count("*").alias("n"), F.max("x").alias("top"), F.sum("x").alias("total"))
    theirs = theirs.select("k", F.col("window.end").alias("ts"), "n", "top", "total")
    mine = df.transform(
        sw.Sliding(
            by="k",
            on="ts",
            every=f"{slide} seconds",
            offset=f"{shift + size} seconds",
            columns={
                name: one.over(f"{size} seconds", closed="left")
                for name, one in {"n": sw.count(), "top": sw.max("x"), "total": sw.sum("x")}.items()
            },
        )
    )
    rows, expected = ([tuple(row) for row in one.orderBy("k", "ts").collect()] for one in (mine, theirs))
    assert len(expected) > 30
    assert rows == expected


def test_beats_on_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Micro-batches out of order, idle keys, a restart: the beats of a table."""
    table = events(datetime(2024, 3, 1, tzinfo=UTC), 300)
    times = np.array(table.column("ts").cast(pa.int64()).to_pylist(), np.int64)
    arrival = np.argsort(times + np.random.default_rng(1).integers(0, 60_000_000, len(times)), kind="stable")
    definition = sw.Sliding(
        by="k",
        on="ts",
        every="1 minute",
        n=sw.count().over("10 minutes", closed="left"),
        top=sw.max("x").over("10 minutes", closed="left"),
        middle=sw.median("x").over("5 minutes", closed="left"),
    )
    with settings(spark, SETTINGS):
        files = Files(spark, tmp_path / "in")
        stream = files.stream(spark.createDataFrame(table).schema)
        mine = stream.withWatermark("ts", "60 seconds").transform(definition, shards=2)
        assert "a row for each key and beat" in str(definition.explain(stream.withWatermark("ts", "60 seconds")))
        for part in np.array_split(arrival, 3):
            files.add(table.take(pa.array(part)))
        run(mine, tmp_path / "out", tmp_path / "checkpoint")
        end = table.slice(0, 1).set_column(1, "ts", pa.array([int(times.max()) + 10**9], table.schema.field("ts").type))
        files.add(end)
        progress = run(mine, tmp_path / "out", tmp_path / "checkpoint")
    found = answered(tmp_path / "out")
    times_found = found.column("ts").cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))  # as Spark writes them
    order = [("k", "ascending"), ("ts", "ascending")]
    rows = found.set_column(1, "ts", times_found).sort_by(order).to_pylist()
    assert rows == definition(table).sort_by(order).to_pylist()
    assert (
        progress[-1].stateOperators[0].numRowsTotal <= 11
    )  # for each shard a directory, a trail of two and the query's words, and the last row
