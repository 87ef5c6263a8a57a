"""Where rows come from: Parquet, CSV, tables and views; and how they are spread: cores, partitions, order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from spark_data import HEALTH, QUIET, TIMED, events, same_rows

import slidewise as sw

pytestmark = QUIET


def test_parquet_csv_and_tables(spark: SparkSession, tmp_path: Path) -> None:
    table = events(1_000)
    expected = HEALTH(table)
    pa.parquet.write_table(table, tmp_path / "events.parquet")
    assert same_rows(spark.read.parquet(str(tmp_path / "events.parquet")).transform(HEALTH), expected)
    pa.csv.write_csv(table, tmp_path / "events.csv")
    csv = spark.read.csv(
        str(tmp_path / "events.csv"), header=True, schema="k bigint, ts timestamp, x double, id bigint"
    )
    assert same_rows(csv.transform(HEALTH), expected)
    csv.createOrReplaceTempView("events")
    assert same_rows(spark.table("events").transform(HEALTH), expected)
    spark.table("events").transform(HEALTH).write.parquet(str(tmp_path / "out"))
    assert same_rows(spark.read.parquet(str(tmp_path / "out")), expected)


def test_times_with_nanoseconds(spark: SparkSession, conf: Any, tmp_path: Path) -> None:
    """Spark refuses to read them, or reads them as numbers; windows are then numbers too, and nothing is rounded."""
    table = pa.table({"ts": pa.array([0, 999, 1_000, 1_001, 2_001], pa.timestamp("ns", "UTC")), "id": range(5)})
    path = str(tmp_path / "ns.parquet")
    pa.parquet.write_table(table, path)
    conf({"spark.sql.legacy.parquet.nanosAsLong": "true"})
    df = spark.read.parquet(path)
    with pytest.raises(
        sw.SlidewiseError, match=r"on='ts' holds numbers, but the window is 1 microsecond; give it as a"
    ):
        df.transform(sw.Sliding(on="ts", n=sw.count().over("1us")))
    found = df.transform(sw.Sliding(on="ts", n=sw.count().over(1_000))).toArrow().sort_by("id")
    assert found["n"].to_pylist() == sw.Sliding(on="ts", n=sw.count().over("1us"))(table)["n"].to_pylist()


@pytest.mark.parametrize("options", [{}, {"parallel": "by_time"}], ids=["by key", "by time"])
@pytest.mark.parametrize("partitions", [1, 2, 7])
@pytest.mark.parametrize("shuffled", [False, True])
def test_partitions_and_order_do_not_matter(
    spark: SparkSession, conf: Any, options: dict[str, str], partitions: int, shuffled: bool
) -> None:
    """Which rows meet in a task, and in which order they come there; `partitions` are those of the shuffle, too."""
    definition = TIMED if options else HEALTH
    conf({"spark.sql.shuffle.partitions": str(partitions), "spark.sql.adaptive.enabled": "false"})
    table = events()
    expected = definition(table)
    if shuffled:
        table = table.take(np.random.default_rng(partitions).permutation(len(table)))
    found = spark.createDataFrame(table).repartition(partitions).transform(definition, **options)
    assert same_rows(found, expected, definition)


def test_small_arrow_batches(spark: SparkSession, conf: Any) -> None:
    conf({"spark.sql.execution.arrow.maxRecordsPerBatch": "7"})
    table = events(1_000, keys=3)
    assert same_rows(spark.createDataFrame(table).transform(HEALTH), HEALTH(table))


def test_an_empty_table_and_names_of_all_kinds(spark: SparkSession) -> None:
    table = events(50).rename_columns(["the key.1", "t`s", "x-y", "id"])
    definition = sw.Sliding(by="the key.1", on="t`s", columns={"a.b": sw.max("x-y").over("5s")})
    df = spark.createDataFrame(table)
    for options in ({}, {"parallel": "by_time"}):
        found = df.transform(definition, **options)
        assert found.toArrow().sort_by("id")["a.b"].to_pylist() == definition(table)["a.b"].to_pylist()
        assert df.filter(F.lit(False)).transform(definition, **options).collect() == []


def test_passengers_may_share_a_name(spark: SparkSession) -> None:
    df = spark.range(3).select("id", F.col("id").alias("t"), F.lit(1).alias("z"), F.lit(2).alias("z"))
    found = df.transform(sw.Sliding(on="t", n=sw.count().over("all"))).collect()
    assert sorted(tuple(row) for row in found) == [(0, 0, 1, 2, 1), (1, 1, 1, 2, 2), (2, 2, 1, 2, 3)]
