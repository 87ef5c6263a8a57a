"""Mistakes: found before anything runs where names and types tell, and named by key and time where rows do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark.sql import SparkSession
from spark_data import QUIET, events

import slidewise as sw

pytestmark = QUIET


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (sw.Sliding(by="kk", on="ts", a=sw.count().over("1s")), "'kk' not found; the DataFrame has k, ts, x, id"),
        (sw.Sliding(by="k", on="ts", x=sw.count().over("1s")), "has a column 'x' already"),
        (sw.Sliding(by="k", a=sw.count().over(rows=2)), "have no order; give the definition a time column"),
        (sw.Sliding(by="k", on="ts", a=sw.count().over(5)), "'a': on='ts' holds times, but the window is 5"),
        (sw.Sliding(by="k", on="x", a=sw.count().over("5s")), "'a': on='x' holds numbers"),
        (sw.Sliding(by="k", on="x", a=sw.count().over("1 month")), "'a': on='x' holds numbers"),
        (sw.Sliding(by="k", on="ts", a=sw.sum("ts").over("5s")), "column 'a': sum takes numbers, but 'ts' holds times"),
        (sw.Sliding(by="k", on="ts", a=sw.countmin("x").over("5s")), "an object that no table can hold"),
        (sw.Sliding(by="k", on="ts", a=sw.count().where("x").over("5s")), "needs a boolean column"),
    ],
)
def test_mistakes_are_found_before_anything_runs(spark: SparkSession, definition: sw.Sliding, message: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=message):
        spark.createDataFrame(events(10)).transform(definition)


def test_keys_in_which_different_texts_are_equal_are_refused(spark: SparkSession) -> None:
    rows = spark.sql("SELECT 'a' COLLATE UTF8_LCASE AS k, id AS t FROM range(3)")
    with pytest.raises(sw.SlidewiseError, match="in which different texts are equal; make it plain"):
        rows.transform(sw.Sliding(by="k", on="t", n=sw.count().over(1)))


ROWS = """
SELECT IF(id < 90000, 'a', 'b') AS machine, TIMESTAMP'2024-03-01' + make_dt_interval(0, 0, 0, id) AS ts,
       IF(id IN (95000, 95003), 4611686018427387904L, 1L) AS x FROM range(100000)
"""


@pytest.mark.parametrize("parallel", ["by_key", "by_time"])
@pytest.mark.parametrize("others", [[], ["max", "count"]])
def test_a_sum_that_does_not_fit_is_named(spark: SparkSession, parallel: str, others: list[str]) -> None:
    columns = {"total": sw.sum("x").over("10s"), **{name: getattr(sw, name)("x").over("10s") for name in others}}
    with pytest.raises(Exception, match="does not fit") as raised:
        spark.sql(ROWS).transform(sw.Sliding(by="machine", on="ts", columns=columns), parallel=parallel).collect()
    text = str(raised.value)
    assert "SumOverflowError: column 'total': " in text
    assert "at machine=b, ts=2024-03-02 02:23:23" in text
    assert len(text.splitlines()) < 8  # no page of Java, nor of Python


def test_a_running_sum_that_does_not_fit_is_named(spark: SparkSession) -> None:
    definition = sw.Sliding(by="machine", on="ts", total=sw.sum("x").over("all"), n=sw.count("x").over("all"))
    with pytest.raises(Exception, match="at machine=b, ts=2024-03-02 02:23:23"):
        spark.sql(ROWS).transform(definition).collect()


@pytest.mark.parametrize("parallel", ["by_key", "by_time"])
def test_rows_without_a_time_are_counted_and_named(spark: SparkSession, parallel: str) -> None:
    rows = spark.sql(
        "SELECT IF(id < 50, 'a', 'b') AS machine, IF(id IN (60, 70), NULL, TIMESTAMP'2024-03-01') AS ts FROM range(100)"
    )
    definition = sw.Sliding(by="machine", on="ts", n=sw.count().over("1s"))
    with pytest.raises(Exception, match=r"the time 'ts' is null in 2 of .* rows, first under machine=b; fill these in"):
        rows.transform(definition, parallel=parallel).collect()
    with pytest.raises(Exception, match="the time 'ts' is null in 2 of 100 rows; fill these in"):
        rows.coalesce(1).transform(sw.Sliding(on="ts", n=sw.count().over("all"))).collect()


@pytest.mark.filterwarnings("ignore:operator 'own' cannot be compiled")
def test_an_operator_that_raises_is_named(spark: SparkSession) -> None:
    def lift(x: int) -> tuple[str, float]:
        return str(x), 1 / (x - 4611686018427387904)

    own = sw.operator(name="own", identity=("", 0.0), lift=lift, combine=max, lower=lambda state: state[0])
    definition = sw.Sliding(by="machine", on="ts", most=sw.max("x").over(rows=3), own=own("x").over(rows=3))
    rows = spark.sql(ROWS).filter("machine = 'b'")
    with pytest.raises(Exception, match="OperatorFailedError: column 'own': ZeroDivisionError") as raised:
        rows.transform(definition).collect()
    assert "test_mistakes.py, line" in str(raised.value)
    assert "at machine=b, ts=2024-03-02 02:23:20" in str(raised.value)


def test_workers_without_slidewise_say_what_to_set(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workers' Python is given by the session; here it finds nothing but PySpark and what that needs."""
    hidden = tmp_path / "slidewise"
    hidden.mkdir()
    (hidden / "__init__.py").write_text("raise ImportError('there is none')")
    df = spark.createDataFrame(events(10))
    definition = sw.Sliding(by="k", on="ts", n=sw.count().over("1s"))

    def first(batches: Any) -> Any:
        import sys

        sys.modules.pop("slidewise", None)
        for name in [name for name in sys.modules if name.startswith("slidewise.")]:
            del sys.modules[name]
        sys.path.insert(0, os.fspath(hidden.parent))
        try:
            yield from task(batches)
        finally:
            sys.path.remove(os.fspath(hidden.parent))

    from slidewise.spark.batch.evaluator import evaluate_partition
    from slidewise.spark.schema import result_schema
    from slidewise.spark.worker.task import task as made

    task = made(evaluate_partition, definition, {}, None, None, False, True)
    with pytest.raises(Exception, match=r"cannot import what Slidewise needs \(there is none\)"):
        df.mapInArrow(first, result_schema(definition, df.schema)).collect()
