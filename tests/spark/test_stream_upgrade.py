"""Streams on Spark that change while they run: another definition goes on from the checkpoint of the one before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytest.importorskip("google.protobuf", reason="state on streams needs protobuf")

from golden_checkpoint import DEFINITIONS, files, unpacked
from golden_checkpoint import DELAY as GOLDEN_DELAY
from golden_checkpoint import SCHEMA as GOLDEN_SCHEMA
from golden_checkpoint import START as GOLDEN_START
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from spark_data import QUIET
from streams import SETTINGS, Files, answered, run, settings, started

import slidewise as sw

pytestmark = QUIET
START = datetime(2024, 3, 1, tzinfo=UTC)
SCHEMA = "k string, ts timestamp, x double, id bigint"
OLD = sw.Sliding(
    by="k",
    on="ts",
    total=sw.sum("x").over("60s"),
    last=sw.collect("x").over(rows=3),
    cells=sw.max("x").over("40s", grain="10s"),
    all=sw.count().over("all"),
)
NEW = sw.Sliding(
    by="k",
    on="ts",
    sum=sw.sum("x").over("60s"),
    middle=sw.median("x").over("30s"),
    coarse=sw.max("x").over("20s", grain="20s"),
    all=sw.count().over("all"),
    share=sw.sum(sw.col("x") * 2).over("50s") / sw.count().over("20s"),
    longer=sw.sum("x").over("90s"),
    ids=sw.max("id").over(rows=4),
)
COMPLETE = ("sum", "middle", "coarse", "all", "share")


def events(count: int, seed: int) -> pa.Table:
    choose = random.Random(seed)
    seconds = sorted(choose.randrange(600) + choose.choice([0, 0.25]) for _ in range(count))
    return pa.table(
        {
            "k": [choose.choice(["a", "b", "c", None]) for _ in seconds],
            "ts": pa.array([START + timedelta(seconds=s) for s in seconds], pa.timestamp("us", "UTC")),
            "x": [choose.choice([0.25, 1.5, 3.0]) for _ in seconds],
            "id": pa.array(range(count), pa.int64()),
        }
    )


def much_later(table: pa.Table, seconds: int) -> pa.Table:
    """A row that moves the watermark past all others, and stays waiting."""
    end = pa.array([START + timedelta(seconds=seconds)], table.schema.field("ts").type)
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
        stream = files.stream(SCHEMA).withWatermark("ts", "5 seconds")
        checkpoint = tmp_path / "checkpoint"

        def go(self, definition: sw.Sliding, out: str, **options: Any) -> pa.Table:
            """The rows that are answered, sorted."""
            df = self.stream.transform(definition, **{"shards": 3, **options})
            run(df, tmp_path / out, self.checkpoint)
            return answered(tmp_path / out).sort_by("id")

    return Here()


def compare(found: pa.Table, expected: pa.Table, names: tuple[str, ...]) -> None:
    expected = expected.take(pa.array([expected["id"].to_pylist().index(number) for number in found["id"].to_pylist()]))
    for name in ("k", *names):
        assert found[name].to_pylist() == expected[name].to_pylist(), name


def test_another_definition_goes_on_and_the_first_one_again(spark: SparkSession, here: Any) -> None:
    table = events(300, 4)
    here.files.add(table.slice(0, 120))
    first = here.go(OLD, "first")
    here.files.add(table.slice(120, 30))
    wrong = "upgrade_from=.* aggregate 'sum' is new"
    with pytest.raises(StreamingQueryException, match=wrong):
        here.go(NEW, "second")
    for options, message in (
        ({"shards": 4, "checkpoint": here.checkpoint}, "the checkpoint has 3 shards and this query 4"),
        ({"shards": 3, "checkpoint": here.checkpoint / "nowhere"}, "there is no folder"),
    ):
        with pytest.raises(sw.SlidewiseError, match=message):
            NEW.explain(here.stream, upgrade_from=OLD, **options)
    text = str(NEW.explain(here.stream, upgrade_from=OLD, shards=3, checkpoint=here.checkpoint))
    second = here.go(NEW, "second", upgrade_from=OLD, warm="null")
    here.files.add(table.slice(150, 50))  # all shards were converted, so nobody needs the old definition any more
    second = here.go(NEW, "second", warm="null")
    expected = NEW(table)
    compare(second, expected, COMPLETE)
    expected_of = {row["id"]: row for row in expected.to_pylist()}
    for name in ("longer", "ids"):
        nulls = [row["id"] for row in second.to_pylist() if row[name] is None]
        assert 0 < len(nulls) < len(second) // 2
        for row in second.to_pylist():
            assert row[name] in (None, expected_of[row["id"]][name])
    # explain() has told from when on the longer window is complete
    incomplete = max(row["ts"] for row in second.to_pylist() if row["longer"] is None)
    complete = min(row["ts"] for row in second.to_pylist() if row["longer"] is not None)
    told = datetime.fromisoformat(text.split("longer  rebuilt, complete from ")[1].split(" on", 1)[0])
    assert incomplete < told.replace(tzinfo=None) <= complete

    here.files.add(table.slice(200))
    here.files.add(much_later(table, 700))
    third = here.go(OLD, "third", upgrade_from=[OLD, NEW], warm="null")
    compare(third, OLD(table), ("total", "cells", "all"))
    assert first["id"].to_pylist() + second["id"].to_pylist() + third["id"].to_pylist() == list(range(300))


def test_explain_tells_what_becomes_of_each_column(here: Any) -> None:
    text = str(NEW.explain(here.stream, upgrade_from=OLD))
    for line in (
        "sum     kept",
        "middle  rebuilt",
        "all     kept",
        "share   rebuilt",
        "longer  rebuilt, complete from 30 seconds after the upgrade on",
        "ids     new, complete for a key once it has 4 rows",
    ):
        assert f"    {line}\n" in f"{text}\n", text


def test_mistakes_are_named_before_anything_runs(here: Any) -> None:
    other = sw.Sliding(by="x", on="ts", total=sw.sum("x").over("60s"))
    for options, message in (
        ({"upgrade_from": other}, "by= was 'x' and is 'k', which no upgrade can change"),
        ({"upgrade_from": "old.toml"}, "upgrade_from= is the definition that the checkpoint was written by"),
        ({"upgrade_from": []}, "upgrade_from= is the definition"),
        ({"upgrade_from": OLD, "warm": "cold"}, "warm= is 'partial', .* or 'null', not 'cold'"),
    ):
        with pytest.raises(sw.SlidewiseError, match=message):
            here.stream.transform(NEW, **options)
    with pytest.raises(sw.SlidewiseError, match="checkpoint= is for upgrade_from="):
        NEW.explain(here.stream, checkpoint=here.checkpoint)


def test_a_checkpoint_is_spread_over_more_partitions(spark: SparkSession, here: Any) -> None:
    """What Spark offers where another number of shards is wanted for more tasks: its shards stay what they are."""
    if not hasattr(spark, "_streamingCheckpointManager"):
        pytest.skip("this Spark cannot repartition a checkpoint")
    table = events(200, 5)
    here.files.add(table.slice(0, 120))
    format_2 = {"spark.sql.streaming.stateStore.checkpointFormatVersion": "2"}
    with settings(spark, format_2):
        here.go(OLD, "out")
        spark._streamingCheckpointManager.repartition(str(here.checkpoint), 3)
        here.files.add(table.slice(120))
        here.files.add(much_later(table, 700))
        found = here.go(OLD, "out")
    compare(found, OLD(table), tuple(OLD.columns))
    assert len(found) == len(table)
    assert len([path for path in (here.checkpoint / "state" / "0").iterdir() if path.name.isdigit()]) == 3


def upgraded_from(name: str) -> sw.Sliding:
    """Another definition than that of a checkpoint written before."""
    old = DEFINITIONS[name].columns
    columns = {"total": old["total"], "shorter": sw.stddev("x").over("100s"), "top": old["top"]}
    if name == "beats":
        columns = {"total": old["total"], "shorter": sw.sum("x").over("100s"), "third": old["middle"]}
    elif name == "grain":
        columns |= {"shorter": sw.sum("x").over("100s", grain="20s"), "number": sw.count().over("200s")}
    return sw.Sliding(by="k", on="ts", columns=columns, every=DEFINITIONS[name].every)


def test_checkpoints_written_before_are_upgraded(spark: SparkSession, tmp_path: Path) -> None:
    """With a key whose rows lie in chunks of their own, and rows that wait."""
    unpacked(tmp_path)
    tables = files()
    table = pa.concat_tables(tables)
    end = pa.array([GOLDEN_START + timedelta(hours=1)], table.schema.field("ts").type)
    source = Files(spark, tmp_path / "in")
    for each in (*tables[:-1], pa.concat_tables([tables[-1], table.slice(0, 1).set_column(1, "ts", end)])):
        source.add(each)
    stream = source.stream(GOLDEN_SCHEMA).withWatermark("ts", GOLDEN_DELAY)
    queries = {
        name: started(
            stream.transform(upgraded_from(name), shards=2, upgrade_from=old),
            tmp_path / "found" / name,
            tmp_path / "checkpoint" / name,
        )
        for name, old in DEFINITIONS.items()
    }
    for name, query in queries.items():
        query.awaitTermination()
        new = upgraded_from(name)
        order = ["k", "ts"] if new.every else ["id"]
        truth = new(table)
        expected = {tuple(row[column] for column in order): row for row in truth.to_pylist()}
        found = answered(tmp_path / "found" / name).select(truth.column_names).cast(truth.schema).to_pylist()
        assert len(found) > 50
        for row in found:
            for column in new.columns:
                assert row[column] == expected[tuple(row[key] for key in order)][column], (row, column)
