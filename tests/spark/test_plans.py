"""What adaptive execution and presorted partitions may do to a plan, and what they may not."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from spark_data import HEALTH, QUIET, TIMED, events, same_rows

import slidewise as sw

pytestmark = QUIET


def final_plan(df: DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    """The plan as adaptive execution has made it in the end."""
    df.collect()
    capsys.readouterr()
    df.explain()
    plan = capsys.readouterr().out
    assert "isFinalPlan=true" in plan
    return plan


@pytest.mark.parametrize("definition", [HEALTH, TIMED], ids=["by key", "by time"])
def test_a_join_that_becomes_a_broadcast(
    spark: SparkSession, definition: sw.Sliding, capsys: pytest.CaptureFixture[str]
) -> None:
    table = events()
    names = spark.range(10_000_000).filter("id < 40").select(F.col("id").alias("k"), F.lit("m").alias("name"))
    options = {} if definition is HEALTH else {"parallel": "by_time"}
    rows = spark.createDataFrame(table).union(
        spark.range(10_000_000).filter("id < 0").selectExpr("id", "null", "0", "0")
    )
    found = rows.join(names, "k").transform(definition, **options)
    plan = final_plan(found, capsys)
    assert "BroadcastHashJoin" in plan.split("Initial Plan")[0]
    assert "SortMergeJoin" in plan.split("Initial Plan")[1]
    assert same_rows(found, definition(table), definition)


def test_a_join_of_a_skewed_key(spark: SparkSession, conf: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Adaptive execution cuts the key's partition in two for the join; the shuffle by its hash brings it together."""
    conf(
        {
            "spark.sql.autoBroadcastJoinThreshold": "-1",
            "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
            "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "1.1",
            "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "1KB",
            "spark.sql.adaptive.advisoryPartitionSizeInBytes": "4KB",
            "spark.sql.adaptive.coalescePartitions.enabled": "false",
        }
    )
    table = events(20_000)
    table = table.set_column(0, "k", pa.array([0 if i % 10 else i % 40 for i in range(20_000)], pa.int64()))
    names = spark.range(40).select(F.col("id").alias("k"), F.lit("m").alias("name"))
    found = spark.createDataFrame(table).repartition(4).join(names, "k").transform(HEALTH)
    assert "skew=true" in final_plan(found, capsys)
    assert same_rows(found, HEALTH(table))


@pytest.mark.parametrize("hint", ["rebalance", "merge", "broadcast", "repartition"])
def test_hints(spark: SparkSession, hint: str) -> None:
    table = events()
    df = spark.createDataFrame(table)
    names = spark.range(40).select(F.col("id").alias("k"), F.lit("m").alias("name"))
    if hint in ("merge", "broadcast"):
        df = df.join(names.hint(hint), "k")
    else:
        df = df.hint(hint, *([5] if hint == "repartition" else []), "k")
    assert same_rows(df.transform(HEALTH), HEALTH(table))


def test_coalesced_partitions(spark: SparkSession, conf: Any, capsys: pytest.CaptureFixture[str]) -> None:
    conf({"spark.sql.shuffle.partitions": "50"})
    table = events()
    found = spark.createDataFrame(table).transform(HEALTH)
    assert "coalesced" in final_plan(found, capsys)
    assert same_rows(found, HEALTH(table))


def test_a_result_that_is_used_further(spark: SparkSession) -> None:
    """One definition on top of another, and a group by the same key on top of both."""
    table = events()
    second = sw.Sliding(by="k", on="ts", smooth=sw.mean("top").over(rows=5))
    df = spark.createDataFrame(table).transform(HEALTH).transform(second)
    expected = second(HEALTH(table))
    names = ["id", "top", "smooth"]
    assert df.select(names).toArrow().sort_by("id").to_pylist() == expected.select(names).to_pylist()
    counts = {row["k"]: row["n"] for row in df.groupBy("k").agg(F.max("all").alias("n")).collect()}
    assert counts == {key: table["k"].to_pylist().count(key) for key in set(table["k"].to_pylist())}


def sorted_by(table: pa.Table, *names: str) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in names])


def test_presorted_rows_are_neither_shuffled_nor_sorted(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    table = events(300)
    df = spark.createDataFrame(sorted_by(table, "k", "ts")).coalesce(1)
    found = df.transform(HEALTH, presorted=True)
    found.explain()
    plan = capsys.readouterr().out
    assert "Exchange" not in plan
    assert "Sort " not in plan
    assert same_rows(found, HEALTH(table))


def test_what_spark_sorted_is_sorted(spark: SparkSession) -> None:
    """Keys of every kind, with nulls, NaN, zeros and text beyond ASCII, in Spark's own order."""
    df = spark.sql(
        """
        SELECT id, id AS ts,
               CASE id % 7 WHEN 0 THEN NULL WHEN 1 THEN double('nan') WHEN 2 THEN -0.0D WHEN 3 THEN 0.0D ELSE -id END
                   AS x,
               element_at(array('b', 'Z', '\\uD83D\\uDE00', '\\uFF21', '', 'é'), int(id % 6 + 1)) AS text,
               CAST(id % 4 AS DECIMAL(9, 2)) AS money, id % 2 = 0 AS flag, DATE'1970-01-01' + int(id % 3) AS day
        FROM range(200)
        """
    )
    for keys in (["x"], ["text"], ["money", "flag"], ["day", "x", "text"]):
        ordered = df.coalesce(1).sortWithinPartitions(*[F.col(key).asc_nulls_first() for key in keys], "ts")
        definition = sw.Sliding(by=keys, on="ts", n=sw.count().over("all"))
        found = ordered.transform(definition, presorted=True)
        assert same_rows(found, df.transform(definition).toArrow().sort_by("id"), definition)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([("k", "ascending"), ("ts", "descending")], r"not sorted by key and time: k=0, ts=.* comes after ts="),
        ([("k", "descending"), ("ts", "ascending")], r"not sorted by key and time: k=\d+, ts=.* comes after k="),
        ([("ts", "ascending")], r"not sorted by key and time: .*sort by the keys in ascending order, nulls first"),
    ],
)
def test_presorted_rows_are_verified(spark: SparkSession, order: list[Any], message: str) -> None:
    wrong = spark.createDataFrame(events(300).sort_by(order)).coalesce(1)
    with pytest.raises(Exception, match=message):
        wrong.transform(HEALTH, presorted=True).collect()


@pytest.mark.parametrize("window", [{"rows": 2}, {"last": 3}, {"last": "all"}], ids=str)
@pytest.mark.parametrize("late", [4, 69_999, 70_001])
def test_times_that_run_backwards_are_found_wherever_batches_end(
    spark: SparkSession, window: dict[str, Any], late: int
) -> None:
    count = sw.count().over(**window) if "rows" in window else sw.count().over(window["last"])
    rows = spark.range(0, 70_001, 1, 1).selectExpr("1 AS k", "id AS t").union(spark.sql(f"SELECT 1, {late}L"))
    found = rows.coalesce(1).transform(sw.Sliding(by="k", on="t", n=count), presorted=True)
    if late > 70_000:
        assert len(found.collect()) == 70_002
    else:
        with pytest.raises(Exception, match=f"k=1, t={late} comes after t=70000"):
            found.collect()


def test_presorted_rows_without_keys_are_in_one_partition(spark: SparkSession) -> None:
    definition = sw.Sliding(on="id", n=sw.count().over("all"))
    with pytest.raises(Exception, match="they are in several partitions"):
        spark.range(0, 6, 1, 2).transform(definition, presorted=True).collect()
    assert [row.n for row in spark.range(0, 6, 1, 1).transform(definition, presorted=True).collect()] == [*range(1, 7)]
