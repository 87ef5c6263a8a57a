"""Definitions on streams: the answers of a table, whatever the micro-batches and the order of arrival."""

from __future__ import annotations

import random
import shutil
import sys
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytest.importorskip("google.protobuf", reason="state on streams needs protobuf")

import definitions.test_lanes as features
import lanes
import numpy as np
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from spark_data import QUIET
from streams import CHANGELOG, PROVIDER, SETTINGS, Files, answered, run, settings

import slidewise as sw
from slidewise.pipeline.spark_session import run_stream

pytestmark = QUIET
cloudpickle.register_pickle_by_value(features)
cloudpickle.register_pickle_by_value(sys.modules[__name__])
# Numbers as times, and rows in input order, are not for streams: `test_errors_before_anything_runs`.
CASES = {name: case for name, case in features.BY_NAME.items() if lanes.clocked(case) and name not in features.BY_TYPE}


@pytest.fixture(scope="module", autouse=True)
def streaming(spark: SparkSession) -> Iterator[None]:
    with settings(spark, SETTINGS):
        yield


@pytest.fixture(scope="module")
def answers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All cases in one lane: random micro-batches, rows in random order within the watermark's delay."""

    def lane(definition: sw.Sliding, table: pa.Table) -> pa.Table:
        here = tmp_path_factory.mktemp("stream")
        choose = random.Random(len(table))
        on = table.schema.get_field_index("ts")
        times = np.array(table.column("ts").cast(pa.int64()).to_pylist(), np.int64)
        delay = int(np.ptp(times)) // 5_000_000 + 1
        arrival = sorted(range(len(times)), key=lambda i: times[i] + choose.random() * delay * 1e6)
        cuts = [0, *sorted(choose.sample(range(1, len(times)), choose.choice([1, 2, 3]))), len(times)]
        files = Files(spark, here / "in")
        # The watermark moves on with one more row, which stays waiting.
        end = pa.array([int(times.max()) + delay * 10**6 + 1_000], table.schema.field("ts").type)
        end = table.slice(0, 1).set_column(on, "ts", end)
        for a, b in pairwise(cuts):
            piece = table.take(pa.array(arrival[a:b], pa.int64()))
            files.add(piece if b < len(times) else pa.concat_tables([piece, end]))
        stream = files.stream(spark.createDataFrame(table.combine_chunks()).schema)
        found = stream.withWatermark("ts", f"{delay} seconds").transform(definition, shards=3)
        run(found, here / "out", here / "checkpoint")
        return answered(here / "out")

    lanes.LANES["spark_stream"] = lane
    try:
        return lanes.run_together("spark_stream", list(CASES.values()))
    finally:
        del lanes.LANES["spark_stream"]


@pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")
@pytest.mark.parametrize("name", CASES)
def test_every_feature_on_a_stream(answers: dict[str, Any], name: str) -> None:
    case, found = answers[name]
    lanes.assert_same(case, found, lanes.direct(case.definition, case.table))


START = datetime(2024, 3, 1, tzinfo=UTC)
SCHEMA = "k string, ts timestamp, x double"
SUM = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("10s"), n=sw.count().over(rows=2))


def rows(*given: tuple[str, float, float]) -> pa.Table:
    keys, seconds, values = zip(*given, strict=True)
    times = pa.array([START + timedelta(seconds=s) for s in seconds], pa.timestamp("us", "UTC"))
    return pa.table({"k": list(keys), "ts": times, "x": list(values)})


@pytest.fixture
def here(tmp_path: Path, spark: SparkSession) -> Any:
    """A stream of files, and `go` to run a definition over it from where it last was."""

    class Here:
        files = Files(spark, tmp_path / "in")
        out = tmp_path / "out"
        stream = files.stream(SCHEMA)

        def go(self, definition: sw.Sliding = SUM, then: Any = None, **options: Any) -> list[Any]:
            df = self.stream.withWatermark("ts", "5 seconds").transform(definition, **{"shards": 2, **options})
            return run(df if then is None else then(df), self.out, tmp_path / "checkpoint")

        def found(self) -> list[tuple[Any, ...]]:
            table = answered(self.out).to_pylist()
            return sorted(
                (row["k"], (row["ts"].replace(tzinfo=UTC) - START).total_seconds(), row["s"], row["n"]) for row in table
            )

    return Here()


def test_late_rows_are_dropped_and_counted_and_idle_keys_are_answered(here: Any) -> None:
    here.files.add(rows(("a", 10, 1.0), ("idle", 10, 5.0), ("a", 15, 2.0)))
    here.files.add(rows(("a", 16, 8.0)))  # the watermark is 10 s here: rows at and before it are released
    here.files.add(rows(("a", 10, 16.0), ("a", 9.999, 32.0), ("a", 10.001, 64.0), ("a", 21, 4.0)))
    progress = here.go()
    released = [("a", 10, 1.0, 1), ("a", 10.001, 65.0, 2), ("a", 15, 67.0, 2), ("a", 16, 75.0, 2), ("idle", 10, 5.0, 1)]
    assert here.found() == released
    counted = [one.observedMetrics["slidewise"] for one in progress if "slidewise" in one.observedMetrics]
    assert sum(one.dropped or 0 for one in counted) == 2
    assert sum(one.answered or 0 for one in counted) == 5
    here.files.add(rows(("b", 40, 1.0)))  # from the checkpoint: nothing twice, and what waited comes
    here.go()
    assert here.found() == sorted([*released, ("a", 21, 14.0, 2)])


@pytest.mark.parametrize("lists", [False, True], ids=["as rows", "in blobs"])
def test_rows_from_the_future_do_not_move_the_watermark_and_come_out_with_late_ones(here: Any, lists: bool) -> None:
    future = 80 * 365 * 86_400
    here.files.add(rows(("a", 10, 1.0), ("a", future, 2.0), ("a", 15, 2.0)))
    here.files.add(rows(("a", 16, 8.0), ("b", future, 9.0)))  # the watermark is 10 s here
    here.files.add(rows(("a", 9, 32.0), ("a", 30, 4.0)))
    definition = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("10s"), n=sw.count().over(rows=2))
    wide = here.stream.withColumn("list", F.array("x")) if lists else here.stream
    df = wide.transform(definition, watermark="5s", ahead="1 day", late_to="why", shards=2)
    assert df.columns[-3:] == ["s", "n", "why"]
    progress = run(df, here.out, here.out.parent / "checkpoint")
    found = {(row["x"], row["s"], row["n"], row["why"]) for row in answered(here.out).to_pylist()}
    assert found == {
        (1.0, 1.0, 1, None),
        (2.0, 3.0, 2, None),
        (8.0, 11.0, 2, None),
        (2.0, None, None, "ahead"),
        (9.0, None, None, "ahead"),
        (32.0, None, None, "late"),
    }
    assert len(answered(here.out)) == len(found)
    counted = [one.observedMetrics["slidewise"] for one in progress if "slidewise" in one.observedMetrics]
    assert [sum(one[name] or 0 for one in counted) for name in ("answered", "dropped", "ahead")] == [3, 1, 2]


def test_what_waits_is_flushed_and_the_stream_goes_on(here: Any) -> None:
    """The answers of a bounded run and its flush are the table's; after more rows, those of the stream alone are."""
    definition = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("10s"), n=sw.count().over("3s"))
    batches = [rows(*((f"k{i % 7}", 10 * n + i / 10, float(i)) for i in range(90))) for n in range(3)]
    for one in batches[:2]:
        here.files.add(one)
    checkpoint = here.out.parent / "checkpoint"

    def of(table: pa.Table) -> list[tuple[Any, ...]]:
        return sorted((row["k"], row["ts"].replace(tzinfo=UTC), row["s"], row["n"]) for row in table.to_pylist())

    here.go(definition)
    first = of(answered(here.out))
    stream = here.stream.withWatermark("ts", "5 seconds")
    waiting = of(definition.flush(stream, str(checkpoint), shards=2).toArrow())
    assert waiting
    assert sorted(first + waiting) == of(definition(pa.concat_tables(batches[:2])))
    here.files.add(batches[2])
    here.go(definition)
    second = definition.flush(stream, str(checkpoint), shards=2)
    assert sorted(of(answered(here.out)) + of(second.toArrow())) == of(definition(pa.concat_tables(batches)))
    with pytest.raises(Exception, match=r"the checkpoint has 2 shards and this query 3: .* say shards=2"):
        definition.flush(stream, str(checkpoint), shards=3).toArrow()


def test_state_of_two_partitions_exchanged_is_refused(here: Any, spark: SparkSession) -> None:
    state = here.out.parent / "checkpoint" / "state" / "0"
    for second in (10, 20):
        here.files.add(rows(*((f"key {i}", second + i / 10, 1.0) for i in range(20))))
    with settings(spark, {"spark.sql.shuffle.partitions": "2"}):
        here.go(shards=4)
        for old, new in (("0", "kept"), ("1", "0"), ("kept", "1")):
            (state / old).rename(state / new)
        shutil.copytree(here.out.parent / "checkpoint", here.out.parent / "copy")  # which nobody has in memory
        before = len(here.found())
        for second in (30, 40):
            here.files.add(rows(*((f"key {i}", second + i / 10, 1.0) for i in range(20))))
        df = here.stream.withWatermark("ts", "5 seconds").transform(SUM, shards=4)
        with pytest.raises(Exception, match=r"lie in one of 2 partitions of the state, and belong into two"):
            run(df, here.out, here.out.parent / "copy")
    assert len(here.found()) == before


def test_a_changed_definition_is_refused_with_both_fingerprints(here: Any) -> None:
    here.files.add(rows(("a", 10, 1.0), ("b", 20, 1.0)))
    here.go()
    here.files.add(rows(("a key that was not there before", 21, 1.0)))
    other = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("11s"), n=sw.count().over(rows=2))
    with pytest.raises(Exception, match=r"its fingerprint is [0-9a-f]{32}, and this query's [0-9a-f]{32}") as told:
        here.go(other)
    assert "(aggregate 's' was sw.sum('x').over('10 seconds') and is sw.sum('x').over('11 seconds'))" in str(told.value)
    with pytest.raises(Exception, match=r"the checkpoint has 2 shards and this query 3: .* say shards=2"):
        here.go(shards=3)
    assert [row[0] for row in here.found()] == ["a"]  # nothing came of the two that were refused


def test_state_ends_with_the_windows(here: Any) -> None:
    definition = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("10s"), n=sw.count().over("3s"))
    here.files.add(rows(*((f"key {i}", 10.0 + i / 100, 1.0) for i in range(200))))
    here.files.add(rows(("z", 13, 1.0)))
    here.files.add(rows(("z", 100, 1.0)))
    progress = here.go(definition)
    assert len(here.found()) == 201
    # Two shards: a directory, a trail of two and the query's words each, the one row that waits, and its timer. Timers
    # count twice.
    assert progress[-1].stateOperators[0].numRowsTotal <= 11


def test_a_further_stateful_operator_is_refused_by_spark(here: Any) -> None:
    here.files.add(rows(("a", 10, 1.0)))
    with pytest.raises(Exception, match=r"(?i)watermark"):
        here.go(then=lambda df: df.groupBy(F.window("ts", "5 seconds")).count())


def test_errors_before_anything_runs(here: Any, spark: SparkSession) -> None:
    stream = here.stream
    with pytest.raises(sw.SlidewiseError, match=r"has no watermark.*stream\.withWatermark\('ts', '30 seconds'\)"):
        stream.transform(SUM)
    marked = stream.withWatermark("ts", "5 seconds")
    other = marked.withColumnRenamed("ts", "at").withColumn("ts", F.col("at") + F.expr("interval 1 second"))
    with pytest.raises(sw.SlidewiseError, match="has a watermark on 'at', and not on the time 'ts'"):
        other.transform(SUM)
    with pytest.raises(sw.SlidewiseError, match=r"'n' is over the next 5 seconds, and on a stream a row is answered"):
        marked.transform(sw.Sliding(by="k", on="ts", n=sw.count().over(next="5s")))
    with pytest.raises(sw.InputError, match=r"on='x' has Spark's type double; on a stream it must be a timestamp"):
        marked.transform(sw.Sliding(by="k", on="x", n=sw.count().over(5)))
    with pytest.raises(
        sw.SlidewiseError, match=r"on 'ts' already, which believes every row.*watermark='30 seconds', ahead="
    ):
        marked.transform(SUM, ahead="1 day")
    with pytest.raises(sw.SlidewiseError, match=r"on 'ts' already; leave out withWatermark, or watermark="):
        marked.transform(SUM, watermark="5s")
    with pytest.raises(sw.SlidewiseError, match=r"ahead= needs watermark="):
        stream.transform(SUM, ahead="1 day")
    with pytest.raises(sw.SlidewiseError, match=r"ahead_of='stream' is for live\(\)"):
        stream.transform(SUM, watermark="5s", ahead="1 day", ahead_of="stream")
    with pytest.raises(sw.SlidewiseError, match="late_to='s' is a column already"):
        marked.transform(SUM, late_to="s")
    with pytest.raises(sw.SlidewiseError, match=r"late_to= is the name of a column.*a function is for live"):
        marked.transform(SUM, late_to=print)
    with pytest.raises(sw.SlidewiseError, match=r"late_to= is not for every='5 seconds'"):
        marked.transform(sw.Sliding(by="k", on="ts", every="5s", n=sw.count().over("10s")), late_to="why")
    with pytest.raises(sw.SlidewiseError, match="parallel= is not for a stream, which takes shards=, forget_after="):
        marked.transform(SUM, parallel="by_time")
    with pytest.raises(sw.SlidewiseError, match=r"shard= is not known.*did you mean 'shards'"):
        marked.transform(SUM, shard=3)
    with pytest.raises(sw.SlidewiseError, match="shards= is a number from 1 to 65536, not 0"):
        marked.transform(SUM, shards=0)
    with pytest.raises(sw.SlidewiseError, match="forget_after=5 seconds is shorter than the window of 's', 10 seconds"):
        marked.transform(SUM, forget_after="5s")
    with pytest.raises(sw.SlidewiseError, match="shards= is not for a batch DataFrame"):
        spark.createDataFrame(rows(("a", 1, 1.0))).transform(SUM, shards=2)
    assert "a stream in 7 shards of keys" in str(SUM.explain(marked, shards=7))
    told = str(SUM.explain(stream, watermark="5s", ahead="1 day", late_to="why"))
    assert "5 seconds behind the newest row; rows more than 1 day ahead of the clock are put aside; rows that" in told


def test_settings_are_asked_for(here: Any, spark: SparkSession) -> None:
    marked = here.stream.withWatermark("ts", "5 seconds")
    with (
        settings(spark, {PROVIDER: "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"}),
        pytest.raises(sw.SlidewiseError, match=r"needs RocksDB.*spark\.conf\.set\(.*RocksDBStateStoreProvider"),
    ):
        marked.transform(SUM)
    with settings(spark, {CHANGELOG: "false"}), pytest.warns(UserWarning, match="without changelog checkpointing"):
        marked.transform(SUM)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        marked.transform(SUM)


def test_columns_of_any_name_and_kind_ride_along(here: Any, tmp_path: Path) -> None:
    here.files.add(rows(("a", 1, 1.0), ("a", 2, 2.0)))
    here.files.add(rows(("b", 20, 3.0)))
    wide = here.stream.withColumn("a.b", F.struct("k", "x")).withColumn("`q`", F.array("x"))
    wide = wide.withColumn("m", F.create_map("k", "ts")).withColumn("d", F.col("x").cast("decimal(9,2)"))
    df = wide.withWatermark("ts", "5 seconds").transform(SUM)
    assert df.columns == ["k", "ts", "x", "a.b", "`q`", "m", "d", "s", "n"]
    run_stream(df.writeStream.format("memory").queryName("wide").trigger(availableNow=True).start)
    found = df.sparkSession.table("wide").orderBy("ts").collect()
    assert [(row["a.b"].x, row["`q`"], str(row["d"]), row["s"]) for row in found] == [
        (1.0, [1.0], "1.00", 1.0),
        (2.0, [2.0], "2.00", 3.0),
    ]
    assert [next(iter(row["m"].values())) for row in found] == [row["ts"] for row in found]


PLAIN = {
    "b": "boolean", "i8": "tinyint", "i16": "smallint", "i32": "int", "i64": "bigint", "f32": "float", "f64": "double",
    "day": "date", "at": "timestamp", "local": "timestamp_ntz", "raw": "binary",
}  # fmt: skip


# Whether Spark takes for nullable whatever comes out of a state, which it does since 4.3.
NULLABLE = "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled"


@pytest.mark.parametrize(("lists", "nullable"), [(False, "false"), (True, "true")], ids=["as rows", "in blobs"])
def test_values_of_every_plain_type_come_out_as_they_went_in(
    here: Any, spark: SparkSession, lists: bool, nullable: str
) -> None:
    """Nulls and NaN apart, columns that are never null, times in another zone than UTC; and late rows are counted."""
    batches = [rows(("a", 1, 1.0), ("a", 2, float("nan")), ("", 3, 3.0)), rows(("a", 20, 4.0)), rows(("a", 21, 5.0))]
    for one in (*batches, rows(("late", 3, 5.0), ("a", 40, 6.0))):  # rows up to 15 s are released before the last
        here.files.add(one)
    number = F.second("ts")
    texts = {"boolean": "true", "date": "2015-11-01", "binary": "x"}
    texts |= dict.fromkeys(("timestamp", "timestamp_ntz"), "2015-11-01 01:30:00.123456")
    values = {name: F.lit(texts.get(kind, "3")).cast(kind) for name, kind in PLAIN.items()}
    maybe = [F.when(number != 2, value).alias(name) for name, value in values.items()]
    never = [F.col(name).alias(f"never_{name}") for name in ("one", "half", "yes", "raw_one")]
    first = [F.lit(1).alias("one"), F.lit(0.5).alias("half"), F.lit(True).alias("yes"), F.lit(b"1").alias("raw_one")]
    always = [F.lit("é").alias("text"), *([F.array("x").alias("list")] if lists else [])]
    with settings(spark, {"spark.sql.session.timeZone": "America/New_York", NULLABLE: nullable}):
        wide = here.stream.select("*", *first).select("*", *maybe, *never, *always)
        df = wide.withWatermark("ts", "5 seconds").transform(SUM, shards=1)
        assert not all(field.nullable for field in df.schema.fields)
        assert [field.nullable for field in df.schema.fields] == [*(f.nullable for f in wide.schema.fields), True, True]
        query = run_stream(df.writeStream.format("memory").queryName("plain").trigger(availableNow=True).start)
        found = spark.table("plain").drop("s", "n").orderBy("ts").collect()
        taken = spark.createDataFrame(pa.concat_tables(batches))
        expected = taken.select("*", *first).select("*", *maybe, *never, *always).orderBy("ts").collect()
    assert list(map(repr, found)) == list(map(repr, expected))
    counted = [one.observedMetrics["slidewise"] for one in query.recentProgress if "slidewise" in one.observedMetrics]
    assert [sum(getattr(one, name) or 0 for one in counted) for name in ("answered", "dropped")] == [5, 1]


def test_an_operator_that_raises_stops_the_query_and_nothing_is_lost(here: Any, tmp_path: Path) -> None:
    here.files.add(rows(*(("a", i, float(i)) for i in range(20))))
    here.files.add(rows(*(("a", 20 + i, float(i)) for i in range(20))))
    flag = tmp_path / "repaired"

    def picky(x: float) -> Any:
        if x == 13.0 and not flag.exists():
            raise ValueError("13")
        return x

    own = sw.operator(name="own", identity=0.0, lift=picky, combine=lambda a, b: a + b)
    definition = sw.Sliding(by="k", on="ts", s=own("x").over("10s"), n=sw.count().over(rows=2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception, match=r"column 's': .*ValueError.*13"):
            here.go(definition)
        flag.touch()
        here.go(definition)
    found = here.found()
    assert len(found) == 35
    assert [s for _, _, s, _ in found[:12]] == [float(sum(range(max(0, i - 9), i + 1))) for i in range(12)]


def test_a_sink_that_cannot_be_written_for_a_while(here: Any, tmp_path: Path) -> None:
    here.files.add(rows(*(("a", i, 1.0) for i in range(20))))
    here.go()
    before = here.found()
    here.out.rename(tmp_path / "away")
    here.out.write_text("in the way")
    here.files.add(rows(*(("a", 20 + i, 1.0) for i in range(20))))
    with pytest.raises(Exception, match=r"(?i)out"):
        here.go()
    here.out.unlink()
    (tmp_path / "away").rename(here.out)
    here.go()
    assert here.found()[: len(before)] == before
    assert [s for _, _, s, _ in here.found()] == [float(min(i + 1, 10)) for i in range(35)]
