"""Streams on Spark that start warm: a batch DataFrame fills their state before the first micro-batch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytest.importorskip("google.protobuf", reason="state on streams needs protobuf")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from spark_data import QUIET
from streams import SETTINGS, Files, answered, run, settings

import slidewise as sw
from slidewise.spark.state.seven_bits import encode_text
from slidewise.spark.worker import runtime

pytestmark = QUIET
START = datetime(2024, 3, 1, tzinfo=UTC)
SCHEMA = "k string, ts timestamp, x double, id bigint"
FEATURES = sw.Sliding(
    by="k",
    on="ts",
    total=sw.sum("x").over("60s"),
    last=sw.collect("x").over(rows=3),
    cells=sw.max("x").over("40s", grain="10s"),
    middle=sw.median("x").over("30s"),
    all=sw.count().over("all"),
    share=sw.col("x") / sw.sum(sw.col("x") * 2).over("50s"),
)


def events(count: int, seed: int) -> pa.Table:
    choose = random.Random(seed)
    seconds = sorted(choose.randrange(300) + choose.choice([0, 0.25]) for _ in range(count))
    return pa.table(
        {
            "k": [choose.choice(["a", "b", "c", None]) for _ in seconds],
            "ts": pa.array([START + timedelta(seconds=s) for s in seconds], pa.timestamp("us", "UTC")),
            "x": [choose.choice([0.25, 1.5, 3.0]) for _ in seconds],
            "id": pa.array(range(count), pa.int64()),
        }
    )


def much_later(table: pa.Table) -> pa.Table:
    """A row that moves the watermark past all others, and stays waiting."""
    end = pa.array([START + timedelta(seconds=400)], table.schema.field("ts").type)
    return table.slice(0, 1).set_column(1, "ts", end)


@pytest.fixture(scope="module", autouse=True)
def streaming(spark: SparkSession) -> Iterator[None]:
    with settings(spark, SETTINGS):
        yield


@pytest.fixture
def here(tmp_path: Path, spark: SparkSession) -> Any:
    """A stream of files, and `go` to run a definition over it from where it last was."""

    class Here:
        files = Files(spark, tmp_path / "in")
        stream = files.stream(SCHEMA)
        out = tmp_path / "out"

        def go(self, definition: sw.Sliding = FEATURES, **options: Any) -> dict[str, int]:
            df = self.stream.withWatermark("ts", "5 seconds").transform(definition, **{"shards": 3, **options})
            counts = [
                one["observedMetrics"]["slidewise"].asDict() for one in run(df, self.out, tmp_path / "checkpoint")
            ]
            return {name: sum(one[name] or 0 for one in counts) for name in ("answered", "dropped", "before_history")}

    return Here()


def test_rows_after_a_history_have_the_answers_of_both(spark: SparkSession, here: Any) -> None:
    """The history lacks a column that only rides along; some of its rows come again; the second start changes it."""
    table = events(160, 4)
    until = table["ts"][100].as_py()
    is_old = [time <= until for time in table["ts"].to_pylist()]
    history = spark.createDataFrame(table.filter(pa.array(is_old)).drop_columns(["id"]))
    new = table.filter(pa.array([not old for old in is_old]))
    here.files.add(pa.concat_tables([table.filter(pa.array(is_old)).slice(60), new.slice(0, 20)]))
    first = here.go(history=history)
    again = sum(is_old) - 60
    assert first["before_history"] == again
    here.files.add(new.slice(20))
    here.files.add(much_later(table))
    second = here.go(history=history.limit(1))  # which nobody reads any more
    assert first["answered"] + second["answered"] == len(new)
    assert second["before_history"] == second["dropped"] == 0
    expected = FEATURES(table).filter(pa.array([not old for old in is_old]))
    found = answered(here.out).sort_by("id")
    for name in ("k", "x", "id", *FEATURES.columns):
        assert found[name].to_pylist() == expected[name].to_pylist(), name


def test_a_history_may_end_before_or_after_its_newest_row(spark: SparkSession, here: Any) -> None:
    table = events(60, 5)
    until = table["ts"][30].as_py()
    here.files.add(table)
    end = table.slice(0, 1).set_column(
        1, "ts", pa.array([START + timedelta(seconds=400)], table.schema.field("ts").type)
    )
    here.files.add(end)
    counts = here.go(history=spark.createDataFrame(table), history_until=until)
    is_old = [time <= until for time in table["ts"].to_pylist()]
    assert counts["before_history"] == sum(is_old)
    expected = FEATURES(table).filter(pa.array([not old for old in is_old]))
    assert answered(here.out).sort_by("id")["all"].to_pylist() == expected["all"].to_pylist()


def test_mistakes_are_named_before_anything_runs(spark: SparkSession, here: Any) -> None:
    history = spark.createDataFrame(events(3, 1))
    stream = here.stream.withWatermark("ts", "5 seconds")
    for options, message in (
        ({"history": history.drop("x")}, "column 'x' not found; the history has k, ts, id"),
        ({"history": history.withColumn("x", F.col("x").cast("float"))}, "'x' has Spark's type float, and the stream"),
        ({"history": here.stream}, "history= is a batch DataFrame of Spark with earlier rows, not a stream"),
        ({"history": events(3, 1)}, "history= is a batch DataFrame of Spark with earlier rows, not Table"),
        ({"history": history, "history_until": "now"}, "history_until= is a datetime"),
        ({"history": history, "history_until": datetime(2024, 3, 1)}, "has no zone"),
        ({"history_until": START}, "and there is no history="),
    ):
        with pytest.raises(sw.SlidewiseError, match=message):
            stream.transform(FEATURES, **options)
    with pytest.raises(sw.SlidewiseError, match="history= is not for a batch DataFrame"):
        history.transform(FEATURES, history=history)
    assert "the state begins with that after the history" in str(FEATURES.explain(stream, history=history))


def test_a_wrong_date_in_a_history_does_not_silence_a_stream(spark: SparkSession, here: Any) -> None:
    table = events(9, 2)
    here.files.add(table)
    history = spark.createDataFrame(table).withColumn("ts", F.expr("ts + interval 100 years"))
    stream = here.stream.transform(FEATURES, watermark="5 seconds", ahead="1 day", history=history, shards=2)
    with pytest.raises(Exception, match=r"the history ends [0-9,]* s later than ahead= allows"):
        run(stream, here.out, here.out.parent / "another")


def test_null_times_in_a_history_are_counted(spark: SparkSession, here: Any) -> None:
    table = events(9, 2)
    here.files.add(table)
    history = spark.createDataFrame(table).withColumn("ts", F.when(F.col("id") != 3, F.col("ts")))
    with pytest.raises(Exception, match="the history's time 'ts' is null in 1 rows of shard"):
        here.go(history=history)
    counts = here.go(history=history.where("ts is not null"))
    assert counts["before_history"] == 9, "a start that failed leaves no trace"


def test_a_worker_says_once_that_a_history_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of Spark's workers is not that of the tests; so what a worker does is done here."""
    monkeypatch.setattr(runtime, "_NOTED", set())
    state: dict[tuple[int], tuple[str]] = {}

    def note(run: str, batch: int) -> None:
        runner = runtime.ShardRunner.__new__(runtime.ShardRunner)
        runner._run, runner._batch = run, batch
        runner._pages = SimpleNamespace(
            updateValue=state.__setitem__, getValue=state.get, containsKey=state.__contains__
        )
        runner._note_history()

    state[(runtime.HISTORY_RUN,)] = (encode_text(b"first run"),)
    note("first run", 0)
    note("first run", 1)
    with pytest.warns(UserWarning, match="history= is ignored: the query goes on from micro-batch 2"):
        note("second run", 2)
    note("second run", 3)
