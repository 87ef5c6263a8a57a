"""A look inside the checkpoint of a stream on Spark: its keys, `slidewise state`, and a live definition from it."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytest.importorskip("google.protobuf", reason="state on streams needs protobuf")

from pyspark.sql import SparkSession
from rich.console import Console
from spark_data import QUIET
from stored_streams import assert_equal, up_to
from streams import SETTINGS, Files, answered, run, settings

import slidewise as sw
from slidewise.cli import main
from slidewise.pipeline.state.command import StateSettings, look
from slidewise.pipeline.state.picture import write_picture
from slidewise.pipeline.state.text import show

pytestmark = QUIET
START = datetime(2024, 3, 1, tzinfo=UTC)
SCHEMA = "machine bigint, site string, ts timestamp, temp double"
HEALTH = sw.Sliding(
    by=["machine", "site"],
    on="ts",
    peak=sw.max("temp").over("60s"),
    recent=sw.mean("temp").over(rows=3),
    minutes=sw.sum("temp").over("120s", grain="10s"),
    events=sw.count().over("all"),
    warm=sw.count().where(sw.col("temp") > 2).over("60s") / sw.count().over("60s"),
)


def events(count: int) -> pa.Table:
    choose = random.Random(5)
    seconds = sorted(choose.randrange(400) for _ in range(count))
    return pa.table(
        {
            "machine": pa.array([choose.choice([1, 2, 7]) for _ in seconds], pa.int64()),
            "site": [choose.choice(["a", "b"]) for _ in seconds],
            "ts": pa.array([START + timedelta(seconds=s) for s in seconds], pa.timestamp("us", "UTC")),
            "temp": [choose.choice([0.5, 1.5, 3.0, None]) for _ in seconds],
        }
    )


class Stopped:
    """A stream that was stopped after some of its rows."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.out, self.checkpoint = spark, folder / "out", folder / "checkpoint"
        self.table = events(600)
        self.files = Files(spark, folder / "in")
        for start in range(0, 400, 100):
            self.files.add(self.table.slice(start, 100))
        self.go()

    def go(self) -> None:
        stream = self.files.stream(SCHEMA).withWatermark("ts", "20 seconds")
        run(stream.transform(HEALTH, shards=3), self.out, self.checkpoint)

    def look(self, **options: Any) -> dict[str, Any]:
        return look(self.spark, StateSettings(str(self.checkpoint), **options))

    def files_of_checkpoint(self) -> dict[str, bytes]:
        return {str(p.relative_to(self.checkpoint)): p.read_bytes() for p in self.checkpoint.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def stopped(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stopped]:
    with settings(spark, SETTINGS):
        yield Stopped(spark, tmp_path_factory.mktemp("stream"))


def text_of(found: dict[str, Any]) -> str:
    console = Console(record=True, width=160, file=open("/dev/null", "w"))  # noqa: SIM115
    show(console, found)
    return console.export_text()


def test_a_look_inside_changes_nothing_and_says_what_there_is(stopped: Stopped, tmp_path: Path) -> None:
    before = stopped.files_of_checkpoint()
    found = stopped.look()
    rows = sw.read_state(stopped.spark, str(stopped.checkpoint)).collect()
    checked = stopped.look(check=True)
    live = HEALTH.live_from(stopped.spark, str(stopped.checkpoint))
    assert stopped.files_of_checkpoint() == before

    newest = max(row["ts"] for row in stopped.table.slice(0, 400).to_pylist())
    watermark = newest - timedelta(seconds=20)
    assert found["watermark"] == str(watermark)
    released, waiting = up_to(stopped.table.slice(0, 400), "ts", int(watermark.timestamp() * 1_000_000))
    total = found["total"]
    assert total["waiting"]["rows"] == sum(total["waiting"]["over_time"]) == len(waiting) > 0
    last_times: dict[Any, Any] = {}
    for row in released.to_pylist():
        last_times[row["machine"], row["site"]] = row["ts"]
    assert {(row.machine, row.site): row.newest.replace(tzinfo=UTC) for row in rows} == last_times
    assert total["keys"] == len(rows) == len(last_times)
    assert [total[name] for name in ("rows", "cells", "bytes")] == [
        sum(row.rows for row in rows),
        sum(row.cells for row in rows),
        sum(shard["bytes"] for shard in found["shards"]),
    ]
    assert sum(row.bytes for row in rows) == total["bytes_by_kind"]["keys"]
    assert found["definition"] == HEALTH.to_dict()
    assert checked["problems"] == []
    assert checked["pages"] == total["pages"]
    assert json.loads(json.dumps(found)) == found
    text = text_of(found)
    for part in ("machine=7, site=a", "waiting rows", "up to", "sw.max('temp').over('1 minute')"):
        assert part in text
    for name in ("picture.png", "picture.svg"):
        write_picture(found, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1_000

    key = stopped.look(key=("machine=7", "site=a"))["keys"][0]
    assert str(key["as_of"]) == str(watermark + timedelta(microseconds=1))
    assert_equal(key["answers"], live.get({"machine": 7, "site": "a"}, at=key["as_of"]), "the key")
    by_name = {window["name"]: window for window in key["windows"]}
    mine = [row for row in released.to_pylist() if (row["machine"], row["site"]) == (7, "a")]
    assert by_name["events"]["rows"] == by_name["events"]["answer"] == len(mine)
    assert by_name["recent"]["rows"] == len([row for row in mine[-3:] if row["temp"] is not None])
    assert "sw.count().over('all')" in text_of(stopped.look(key=("machine=7", "site=a")))
    with pytest.raises(sw.SlidewiseError, match="no key machine=9, site=a"):
        stopped.look(key=("machine=9", "site=a"))


def test_the_command_line(
    stopped: Stopped, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def session(*_: Any) -> Iterator[SparkSession]:
        yield stopped.spark

    monkeypatch.setattr("slidewise.pipeline.state.command.session_of", session)

    def state(*options: str) -> str:
        assert main(["state", str(stopped.checkpoint), *options]) == 0
        return capsys.readouterr().out

    assert json.loads(state("--json", "--largest", "2"))["total"]["largest"][1]["bytes"] > 0
    (tmp_path / "health.toml").write_text(HEALTH.to_toml())
    picture = tmp_path / "state.svg"
    assert "the largest keys" in state("--definition", str(tmp_path / "health.toml"), "--plot", str(picture))
    assert picture.read_text().startswith("<?xml")
    assert "all 12 pages, and what is in them" in state("--check", "--operator", "0")
    key = json.loads(state("--key", "site=b", "--key", "machine=1", "--json"))["keys"][0]
    assert (key["key"], len(key["windows"])) == ({"machine": 1, "site": "b"}, 6)
    for options, message in (
        (["--key", "7"], "write --key machine=... for each"),
        (["--key", "machin=7"], "did you mean 'machine'"),
        (["--key", "machine=7"], "--key gives no 'site'"),
        (["--plot", "state.gif"], "ends with .png or .svg"),
    ):
        assert main(["state", str(stopped.checkpoint), *options]) == 2
        assert message in capsys.readouterr().err


def test_a_live_definition_goes_on_as_the_stream_does(stopped: Stopped, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(stopped.checkpoint, copy)
    live = HEALTH.live_from(stopped.spark, str(copy), late="wait:20s", waiting=True)
    stopped.files.add(stopped.table.slice(400))
    stopped.go()
    pushed = [row for event in stopped.table.slice(400).to_pylist() for row in live.push(event)]
    pushed = [{**row, "ts": row["ts"].replace(tzinfo=None)} for row in pushed]
    names = ("machine", "site", "ts", "events")
    of_stream = {tuple(row[name] for name in names): row for row in answered(stopped.out).to_pylist()}  # times in UTC
    assert len(pushed) > 100
    for row in pushed:
        expected = of_stream[tuple(row[name] for name in names)]
        compared = ("peak", "minutes", "events", "warm")
        assert_equal([row[name] for name in compared], [expected[name] for name in compared], f"at {row}")


def test_what_is_no_such_checkpoint_is_an_error(spark: SparkSession, tmp_path: Path, stopped: Stopped) -> None:
    def fails(path: Path, match: str, **more: Any) -> None:
        with pytest.raises(sw.SlidewiseError, match=match):
            sw.read_state(spark, str(path), **more)

    fails(tmp_path / "nothing", "there is no folder")
    fails(stopped.out, "is no checkpoint of a streaming query")
    (tmp_path / "empty" / "offsets").mkdir(parents=True)
    fails(tmp_path / "empty", "no micro-batch has finished")
    shutil.copytree(stopped.checkpoint, tmp_path / "a copy")
    fails(tmp_path / "a copy", "cannot open the checkpoint .*a copy', since it writes ' ' in a path")
    other = sw.Sliding(by=["machine", "site"], on="ts", peak=sw.max("temp").over("61s"))
    fails(stopped.checkpoint, "aggregate 'peak' was .*1 minute.* and is .*61 seconds", definition=other)
    counted = stopped.files.stream(SCHEMA).groupBy("machine").count().writeStream.outputMode("complete")
    counted = counted.format("memory").queryName("counted").option("checkpointLocation", str(tmp_path / "other"))
    counted.trigger(availableNow=True).start().awaitTermination()
    fails(tmp_path / "other", "no operator of it has state as definitions keep it")
    fails(tmp_path / "other", "has no state that a definition|cannot read the state", operator=0)
