"""Definitions over Spark tables: the answers of a table in memory, whatever the partitions and the plan."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numba
import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

import definitions.test_lanes as features
import lanes
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from spark_data import HEALTH, QUIET, events, same_rows

import slidewise as sw
from slidewise.spark.batch import dataframe as batch
from slidewise.spark.batch.time_slices import why_not_by_time

pytestmark = QUIET
cloudpickle.register_pickle_by_value(features)
cloudpickle.register_pickle_by_value(sys.modules[__name__])
# Spark's TIMESTAMP has microseconds, and its rows have no order of their own.
NOT_ON_SPARK = ("in input order", "timestamp[ns]")
CASES = {name: case for name, case in features.BY_NAME.items() if not any(part in name for part in NOT_ON_SPARK)}
CASES |= {case.name: case for case in features.LOOKING_AHEAD}
IN_SLICES = {name: case for name, case in CASES.items() if why_not_by_time(case.definition) is None}


def in_small_pieces(task: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A task that goes on with every few rows, so that keys of a few dozen rows come in several batches."""

    def small(batches: Any) -> Any:
        from slidewise.spark.batch import evaluator
        from slidewise.spark.sort import external_sort as sorting

        before = evaluator.MIN_ROWS, sorting.OUTPUT_ROWS
        evaluator.MIN_ROWS, sorting.OUTPUT_ROWS = 1, 5
        try:
            yield from task(batches)
        finally:
            evaluator.MIN_ROWS, sorting.OUTPUT_ROWS = before

    return small


def on_spark(spark: SparkSession, cases: list[lanes.Case], **options: Any) -> dict[str, Any]:
    """All cases in one lane, which is there for as long as it is needed; keys come in several batches."""
    whole = batch.task

    def lane(definition: sw.Sliding, table: pa.Table) -> pa.Table:
        df = spark.createDataFrame(table.combine_chunks())
        if "local" in df.columns:
            df = df.withColumn("local", F.col("local").cast("timestamp_ntz"))
        return df.transform(definition, **options).toArrow()

    lanes.LANES["spark_batch"] = lane
    try:
        with patch.object(batch, "task", lambda *arguments: in_small_pieces(whole(*arguments))):
            return lanes.run("spark_batch", cases)
    finally:
        del lanes.LANES["spark_batch"]


@pytest.fixture(scope="module")
def answers(spark: SparkSession) -> dict[str, Any]:
    return on_spark(spark, list(CASES.values()))


@pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")
@pytest.mark.parametrize("name", CASES)
def test_every_feature_on_spark(answers: dict[str, Any], name: str) -> None:
    lanes.assert_same(CASES[name], answers[name], features.expected(name))


@pytest.fixture(scope="module")
def answers_in_slices(spark: SparkSession) -> dict[str, Any]:
    return on_spark(spark, list(IN_SLICES.values()), parallel="by_time")


@pytest.mark.parametrize("name", IN_SLICES)
def test_every_feature_in_slices_of_time(answers_in_slices: dict[str, Any], name: str) -> None:
    lanes.assert_same(IN_SLICES[name], answers_in_slices[name], features.expected(name))


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


def test_one_shuffle_and_no_sort_of_sparks(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    spark.createDataFrame(events(100)).transform(HEALTH).explain()
    plan = capsys.readouterr().out
    assert plan.count("Exchange") == 1
    assert plan.count("xxhash64") == 1
    assert plan.count("Sort ") == 0  # workers sort


def test_workers_see_what_a_users_function_reads_now(spark: SparkSession) -> None:
    """Workers live on from job to job: a kernel that one has compiled must not outlive what it was compiled from."""
    settings = ModuleType("settings")
    doubled = numba.njit(lambda v: v * settings.K)  # type: ignore[attr-defined]
    scaled = sw.operator(
        name="scaled",
        identity=0.0,
        lift=lambda v: doubled(v) + v * settings.K,  # type: ignore[attr-defined]
        combine=lambda a, b: a + b,
        lower=lambda s: s,
    )
    definition = sw.Sliding(by="k", on="ts", total=scaled("x").over(rows=2))
    table = events(10, keys=2)
    sums = sw.Sliding(by="k", on="ts", total=sw.sum("x").over(rows=2))(table)["total"].to_pylist()
    df = spark.createDataFrame(table)
    for k in (2.0, 5.0, 2.0):
        settings.K = k  # type: ignore[attr-defined]
        found = df.transform(definition).toArrow().sort_by("id")["total"].to_pylist()
        assert found == pytest.approx([2 * k * total for total in sums])


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


@pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")
def test_answers_have_their_type_where_a_batch_has_none(spark: SparkSession) -> None:
    """Text that a user's operator would answer with, had the window enough rows."""
    definition = sw.Sliding(on="ts", text=features.words("tag").over(rows=9, at_least=9), n=sw.count().over(rows=2))
    rows = spark.sql("SELECT TIMESTAMP'2024-03-01' + make_dt_interval(0, 0, 0, id) AS ts, 'a' AS tag FROM range(5)")
    found = rows.transform(definition)
    assert found.schema["text"].dataType == T.StringType()
    assert [row.text for row in found.collect()] == [None] * 5


def test_an_operator_of_ones_own_with_lambdas(spark: SparkSession) -> None:
    scale = 2.0
    own = sw.operator(name="own", identity=0.0, lift=lambda x: x * scale, combine=lambda a, b: a + b)
    table = events(200)
    definition = sw.Sliding(by="k", on="ts", own=own("x").over(rows=3))
    found = spark.createDataFrame(table).transform(definition).toArrow().sort_by("id")
    assert found["own"].to_pylist() == pytest.approx(definition(table)["own"].to_pylist())
