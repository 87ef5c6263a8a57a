"""Definitions over Spark tables: the answers of a table in memory, whatever the partitions and the plan."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java, and there is none", allow_module_level=True)

import definitions.test_lanes as features  # noqa: E402
import lanes  # noqa: E402
from pyspark import cloudpickle  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402
from pyspark.sql import types as T  # noqa: E402

import slidewise as sw  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"
)
cloudpickle.register_pickle_by_value(features)
cloudpickle.register_pickle_by_value(sys.modules[__name__])
# Spark's TIMESTAMP has microseconds, and its rows have no order of their own.
NOT_ON_SPARK = {"in input order", "times as timestamp[ns], last 4s"}
CASES = {name: case for name, case in features.BY_NAME.items() if name not in NOT_ON_SPARK}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .appName("slidewise tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def answers(spark: SparkSession) -> dict[str, Any]:
    def on_spark(definition: sw.Sliding, table: pa.Table) -> pa.Table:
        return spark.createDataFrame(table.combine_chunks()).transform(definition).toArrow()

    lanes.LANES["spark_batch"] = on_spark
    try:
        return lanes.run("spark_batch", list(CASES.values()))
    finally:
        del lanes.LANES["spark_batch"]


@pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")
@pytest.mark.parametrize("name", CASES)
def test_every_feature_on_spark(answers: dict[str, Any], name: str) -> None:
    lanes.assert_same(CASES[name], answers[name], features.expected(name))


def events(count: int = 5_000, keys: int = 40) -> pa.Table:
    choose = np.random.default_rng(3)
    return pa.table(
        {
            "k": choose.integers(0, keys, count),
            "ts": pa.array(choose.integers(0, 10**6, count) * 1_000, pa.timestamp("us", "UTC")),
            "x": choose.random(count),
            "id": np.arange(count),
        }
    )


HEALTH = sw.Sliding(
    by="k",
    on="ts",
    top=sw.max("x").over("20s"),
    mean=sw.mean("x").over("20s"),
    last=sw.collect("id").over(rows=3),
    all=sw.count().over("all"),
)


def same_rows(found: Any, expected: pa.Table) -> bool:
    names = ["id", *HEALTH.columns]
    return bool(found.select(*names).toArrow().sort_by("id").to_pylist() == expected.select(names).to_pylist())


def test_types_and_columns(spark: SparkSession) -> None:
    found = spark.createDataFrame(events(100)).transform(HEALTH)
    assert found.columns == ["k", "ts", "x", "id", "top", "mean", "last", "all"]
    assert [found.schema[name].dataType for name in HEALTH.columns] == [
        T.DoubleType(),
        T.DoubleType(),
        T.ArrayType(T.LongType()),
        T.LongType(),
    ]
    assert all(found.schema[name].nullable for name in HEALTH.columns)


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_partitions_do_not_matter(spark: SparkSession, partitions: int) -> None:
    table = events()
    spread = spark.createDataFrame(table).repartition(partitions)
    assert same_rows(spread.transform(HEALTH), HEALTH(table))


def test_after_joins_and_hints(spark: SparkSession) -> None:
    """What adaptive execution may do to a plan: a broadcast, a skewed join, a rebalance."""
    table = events()
    expected = HEALTH(table)
    df = spark.createDataFrame(table)
    names = spark.range(40).select(F.col("id").alias("k"), F.lit("m").alias("name"))
    assert same_rows(df.join(names, "k").transform(HEALTH), expected)
    assert same_rows(df.join(F.broadcast(names), "k").transform(HEALTH), expected)
    assert same_rows(df.hint("merge").join(names, "k").transform(HEALTH), expected)
    assert same_rows(df.hint("rebalance", "k").transform(HEALTH), expected)


def test_one_shuffle_and_one_sort(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    spark.createDataFrame(events(100)).transform(HEALTH).explain()
    plan = capsys.readouterr().out
    assert plan.count("Exchange") == 1
    assert plan.count("xxhash64") == 1
    assert plan.count("Sort ") == 1


def test_presorted_rows_are_neither_shuffled_nor_sorted_but_verified(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    table = events(300)
    df = spark.createDataFrame(table.sort_by([("k", "ascending"), ("ts", "ascending")])).coalesce(1)
    found = df.transform(HEALTH, presorted=True)
    found.explain()
    assert "Exchange" not in capsys.readouterr().out
    assert same_rows(found, HEALTH(table))
    wrong = spark.createDataFrame(table.sort_by([("k", "ascending"), ("ts", "descending")])).coalesce(1)
    with pytest.raises(Exception, match="not sorted by key and time"):
        wrong.transform(HEALTH, presorted=True).collect()


def test_passengers_of_every_type(spark: SparkSession) -> None:
    df = spark.sql(
        "SELECT 1 AS k, TIMESTAMP'2024-03-01' AS ts, 1.5D AS x, CAST(2.50 AS DECIMAL(9,2)) AS money, "
        "named_struct('a', 1, 'b', array('x')) AS nested, map('a', 1) AS mapped, X'00ff' AS raw, "
        "DATE'2024-03-01' AS day"
    )
    found = df.transform(sw.Sliding(by="k", on="ts", top=sw.max("x").over("1h"), first=sw.min("day").over(rows=2)))
    row = found.collect()[0]
    assert (row.top, row.first, row.nested.b, row.mapped) == (1.5, row.day, ["x"], {"a": 1})
    assert str(row.money) == "2.50"


def test_an_operator_of_ones_own_with_lambdas(spark: SparkSession) -> None:
    scale = 2.0
    own = sw.operator(name="own", identity=0.0, lift=lambda x: x * scale, combine=lambda a, b: a + b)
    table = events(200)
    definition = sw.Sliding(by="k", on="ts", own=own("x").over(rows=3))
    found = spark.createDataFrame(table).transform(definition).toArrow().sort_by("id")
    assert found["own"].to_pylist() == pytest.approx(definition(table)["own"].to_pylist())


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (sw.Sliding(by="kk", on="ts", a=sw.count().over("1s")), "'kk' not found; the DataFrame has k, ts, x, id"),
        (sw.Sliding(by="k", on="ts", x=sw.count().over("1s")), "has a column 'x' already"),
        (sw.Sliding(by="k", a=sw.count().over(rows=2)), "have no order; give the definition a time column"),
        (sw.Sliding(by="k", on="ts", a=sw.count().over(5)), "'a': on='ts' holds times, but the window is 5"),
        (sw.Sliding(by="k", on="x", a=sw.count().over("5s")), "'a': on='x' holds numbers"),
        (sw.Sliding(by="k", on="ts", a=sw.sum("ts").over("5s")), "column 'a': sum takes numbers, but 'ts' holds times"),
        (sw.Sliding(by="k", on="ts", a=sw.countmin("x").over("5s")), "an object that no table can hold"),
        (sw.Sliding(by="k", on="ts", a=sw.count().where("x").over("5s")), "needs a boolean column"),
    ],
)
def test_mistakes_are_found_before_anything_runs(spark: SparkSession, definition: sw.Sliding, message: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=message):
        spark.createDataFrame(events(10)).transform(definition)


def test_errors_of_rows_reach_the_driver(spark: SparkSession) -> None:
    null = spark.sql("SELECT 1 AS k, CAST(NULL AS TIMESTAMP) AS ts, 1L AS x")
    with pytest.raises(Exception, match="the time 'ts' is null"):
        null.transform(sw.Sliding(by="k", on="ts", a=sw.count().over("1s"))).collect()
    large = spark.sql("SELECT 1 AS k, TIMESTAMP'2024-03-01' AS ts, 4611686018427387904L AS x FROM range(2)")
    with pytest.raises(Exception, match="does not fit into a 64-bit integer"):
        large.transform(sw.Sliding(by="k", on="ts", a=sw.sum("x").over("1s"))).collect()
