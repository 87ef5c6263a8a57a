"""Audits on Spark: what the audit of tables finds, compared where the rows are; and feature sets there."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from audit.test_audit import CARD, EVENTS, SERVED, audit, found, replaced

pytest.importorskip("pyspark", reason="pyspark is not installed")

from definitions import test_feature_set as feature_sets
from pyspark.sql import SparkSession
from spark_data import QUIET

import slidewise as sw
from slidewise.audit.page import html_of

pytestmark = QUIET


def on_spark(spark: SparkSession, table: pa.Table) -> Any:
    """The table as a DataFrame of several partitions."""
    return spark.createDataFrame(table).repartition(3)


def test_what_live_served_is_what_spark_recomputes(spark: SparkSession) -> None:
    of = audit(on_spark(spark, SERVED), on_spark(spark, EVENTS))
    assert of
    assert (of.rows, of.answers, of.unequal) == (400, 2000, 0)
    assert str(of) == str(audit(SERVED, EVENTS))
    assert len(of.differences) == 0


@pytest.mark.parametrize("parallel", ["by_key", "auto"])
def test_planted_errors_are_those_that_tables_find(spark: SparkSession, conf: Any, parallel: str) -> None:
    conf({"spark.sql.execution.arrow.maxRecordsPerBatch": "20"})  # several batches in a task
    bad = SERVED
    for row, column, value in (
        (5, "spent", 0.5),
        (70, "spent", None),
        (200, "spent", float("nan")),
        (90, "seen", 1000),
        (91, "shops", ["z"]),
        (399, "spread", -1.0),
        *((row, "last3", float(row)) for row in range(0, 400, 7)),
    ):
        bad = replaced(bad, row, column, value)
    lost = EVENTS.slice(1)
    of = audit(on_spark(spark, bad), on_spark(spark, lost), parallel=parallel, limit=20)
    plain = audit(bad, lost, limit=20)
    assert found(of) == found(plain) != set()
    assert str(of) == str(plain)
    assert of.listed["row"].null_count == len(of.listed)
    assert str(of.listed.drop_columns("row").to_pylist()) == str(plain.listed.drop_columns("row").to_pylist())
    assert str(of.columns.to_pylist()) == str(plain.columns.to_pylist())
    for name, column in of.by_column.items():
        assert column.buckets.tolist() == plain.by_column[name].buckets.tolist()
    assert of.timeline.rows.tolist() == plain.timeline.rows.tolist()
    assert f"Spark {spark.version}" in html_of(of)


def test_an_empty_log_on_spark(spark: SparkSession) -> None:
    of = audit(
        spark.createDataFrame(SERVED.slice(0, 0), schema=spark.createDataFrame(SERVED).schema),
        spark.createDataFrame(EVENTS),
    )
    assert of
    assert of.answers == 0
    assert "nothing was compared" in html_of(of)


def test_names_that_need_quotes_and_times_that_are_numbers(spark: SparkSession) -> None:
    definition = sw.Sliding(by="a key.`", on="t", columns={"n.`": sw.count().over(2.5)})
    events = spark.createDataFrame(pa.table({"a key.`": ["x", None], "t": [1.0, 2.0]}))
    log = spark.createDataFrame(pa.table({"a key.`": ["x", None], "t": [3.0, 3.0], "n.`": [1, 5]}))
    of = definition.audit(log, events)
    [row] = of.differences.to_pylist()
    assert (row["a key.`"], row["t"], row["column"], row["difference"]) == (None, 3.0, "n.`", 4.0)


@pytest.mark.parametrize(
    ("change", "more", "said"),
    [
        (lambda log: log.drop("served_at"), {}, "column 'served_at' not found"),
        (lambda log: log.drop(*CARD.columns), {}, "none of the answers"),
        (
            lambda log: log.selectExpr("* except (spent)", "cast(spent as string) spent"),
            {},
            "holds string, but 'spent'",
        ),
        (
            lambda log: log.selectExpr("* except (served_at)", "if(seen < 2, null, served_at) served_at"),
            {},
            "nulls, and",
        ),
        (lambda log: log, {"shards": 4}, "shards="),
        (lambda log: log, {"tolerance": 2}, "tolerance= is a share"),
    ],
)
def test_what_spark_refuses(spark: SparkSession, change: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=said):
        audit(change(spark.createDataFrame(SERVED)), spark.createDataFrame(EVENTS), **more)


def test_one_side_only_on_spark(spark: SparkSession) -> None:
    with pytest.raises(sw.SlidewiseError):
        audit(spark.createDataFrame(SERVED), EVENTS)
    with pytest.raises(sw.SlidewiseError):
        audit(SERVED, spark.createDataFrame(EVENTS))


def test_streams_are_refused(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(sw.SlidewiseError, match="not a stream"):
        audit(stream, spark.createDataFrame(EVENTS))
    with pytest.raises(sw.SlidewiseError, match="tables and batch DataFrames"):
        feature_sets.FEATURES.as_of(spark.createDataFrame(feature_sets.LABELS), {"card": stream, "shop": stream})


@pytest.mark.rule(19)
def test_a_feature_set_on_spark(spark: SparkSession) -> None:
    """Columns and answers are those of tables."""
    labels = feature_sets.LABELS.append_column("number", pa.array(range(len(feature_sets.LABELS))))
    events = spark.createDataFrame(feature_sets.EVENTS)
    answers = feature_sets.FEATURES.as_of(spark.createDataFrame(labels), {"card": events, "shop": events})
    expected = feature_sets.FEATURES.as_of(labels, feature_sets.EVENTS)
    assert answers.columns == expected.column_names
    assert answers.toArrow().sort_by("number").to_pylist() == expected.to_pylist()
    with pytest.raises(sw.InputError, match="'shop': the labels have a column 'shop_seen' already"):
        feature_sets.FEATURES.as_of(spark.createDataFrame(labels.append_column("shop_seen", labels["number"])), events)
