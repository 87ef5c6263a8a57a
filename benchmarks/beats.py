"""Answers on a beat against Spark's `groupBy(window(ts, "10 minutes", "1 second"), key)`, in batch and on a stream.

Both sides read the same Parquet files and write to Parquet on local[2]; turns are interleaved, their median counts, and
in every turn the rows of both are compared. Both sides are warmed up on a few rows. On a stream the time is that of the
micro-batch that takes the rows in, the second one, alone, and with those after it by which all beats are out; Spark
keeps its windows in its default store, Slidewise its slices in RocksDB.

    python benchmarks/beats.py [--quick] [--only WORD] [--turns N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import describe_machine, make_console, save_csv, say_saved
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.table import Table

import slidewise as sw
from slidewise.pipeline.spark_session import run_stream

SCHEMA = "k long, ts timestamp, x long"
EPOCH = 1_700_000_000_000_000
FIELDS = ["work", "rows out", "ours, s", "theirs, s", "ratio", "target", "met"]
HOP = sw.Sliding(
    by="k",
    on="ts",
    every="1 second",
    n=sw.count().over("10 minutes", closed="left"),
    top=sw.max("x").over("10 minutes", closed="left"),
    total=sw.sum("x").over("10 minutes", closed="left"),
)
_STORE = "spark.sql.streaming.stateStore"
_PROVIDERS = "org.apache.spark.sql.execution.streaming.state."


class Line(NamedTuple):
    """One line of the results."""

    work: str
    rows: int
    ours: float
    theirs: float
    target: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours


def events(count: int, keys: int, seconds: int) -> pa.Table:
    """Rows in order of time, at whole milliseconds."""
    choose = np.random.default_rng(7)
    times = EPOCH + np.sort(choose.integers(0, seconds * 1_000, count)) * 1_000
    return pa.table(
        {
            "k": choose.integers(0, keys, count),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "x": choose.integers(-1_000, 1_000, count),
        }
    )


def hops(df: DataFrame) -> DataFrame:
    """The same in Spark's own words: a window's end is our beat."""
    found = df.groupBy(F.window("ts", "10 minutes", "1 second"), "k").agg(
        F.count("*").alias("n"), F.max("x").alias("top"), F.sum("x").alias("total")
    )
    return found.select("k", F.col("window.end").alias("ts"), "n", "top", "total")


def check_same(mine: Path, theirs: Path) -> int:
    """Both sinks hold the same rows; how many."""
    order = [("k", "ascending"), ("ts", "ascending")]
    one, two = (pq.read_table(path).select(["k", "ts", "n", "top", "total"]).sort_by(order) for path in (mine, theirs))
    if not all(one.column(name).equals(two.column(name)) for name in one.column_names):
        raise SystemExit(f"the rows differ: {len(one)} are ours, and {len(two)} are Spark's")
    return len(one)


class Bench:
    def __init__(self, spark: SparkSession, folder: Path, quick: bool, turns: int) -> None:
        self.spark = spark
        self.folder = folder
        self.quick = quick
        self.turns = turns
        self._count = 0

    def place(self) -> Path:
        self._count += 1
        return self.folder / str(self._count)


def batch(bench: Bench) -> Iterator[Line]:
    """A table of one hour."""
    count, keys = (20_000 if bench.quick else 200_000), 100
    table, source, small = events(count, keys, 3_600), bench.place(), bench.place()
    pq.write_table(table, source)
    pq.write_table(table.slice(0, 1_000), small)
    sides: dict[str, Callable[[DataFrame], DataFrame]] = {"ours": lambda df: df.transform(HOP), "theirs": hops}
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():  # warms up
        side(bench.spark.read.parquet(str(small))).write.parquet(str(bench.place()))
    rows = 0
    for _ in range(bench.turns):
        sinks = {}
        for name, side in sides.items():
            sinks[name] = bench.place()
            begins = perf_counter()
            side(bench.spark.read.parquet(str(source))).write.parquet(str(sinks[name]))
            taken[name].append(perf_counter() - begins)
        rows = check_same(sinks["ours"], sinks["theirs"])
    ours, theirs = (statistics.median(taken[name]) for name in ("ours", "theirs"))
    yield Line(f"batch: {count:,} rows, {keys} keys, 1 hour", rows, ours, theirs, 20)


def stream(bench: Bench) -> Iterator[Line]:
    """One micro-batch, after one that warms the workers up, and a last row that moves the watermark past all beats."""
    count, keys = (5_000 if bench.quick else 50_000), 100
    table = events(count, keys, 900)
    source, small = bench.place(), bench.place()
    warm = table.slice(0, 200).set_column(1, "ts", _shifted(table.slice(0, 200), -7_200))
    last = table.slice(0, 1).set_column(1, "ts", _shifted(table.slice(len(table) - 1, 1), 7_200))
    for folder, pieces in ((source, (warm, table, last)), (small, (warm, table.slice(0, 200), last))):
        folder.mkdir()
        for i, one in enumerate(pieces):
            pq.write_table(one, folder / f"{i}.parquet")
            os.utime(folder / f"{i}.parquet", (10**9 + i, 10**9 + i))
    sides: dict[str, tuple[str, Callable[[DataFrame], DataFrame]]] = {
        "ours": ("RocksDBStateStoreProvider", lambda df: df.transform(HOP, shards=4)),
        "theirs": ("HDFSBackedStateStoreProvider", hops),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    rows = 0
    for turn in range(1 + bench.turns):  # the first one, over few rows, warms up
        sinks = {}
        for name, (provider, side) in sides.items():
            bench.spark.conf.set(f"{_STORE}.providerClass", _PROVIDERS + provider)
            sinks[name], checkpoint = bench.place(), bench.place()
            seconds = _streamed(bench, source if turn else small, side, sinks[name], checkpoint)
            taken[name] += [seconds] if turn else []
        rows = check_same(sinks["ours"], sinks["theirs"])
    for i, what in enumerate(("", ", and those after it, until all beats are out")):
        ours, theirs = (statistics.median(one[i] for one in taken[name]) for name in ("ours", "theirs"))
        yield Line(f"stream: a micro-batch of {count:,} rows, {keys} keys, 15 minutes{what}", rows, ours, theirs, 20)


def _shifted(table: pa.Table, seconds: int) -> pa.Array:
    times = table.column("ts").cast(pa.int64()).to_numpy() + seconds * 1_000_000
    return pa.array(times, pa.timestamp("us", "UTC"))


def _streamed(bench: Bench, source: Path, side: Any, sink: Path, checkpoint: Path) -> tuple[float, float]:
    """Seconds of the second micro-batch, and of that and all after it; the first one warms up."""
    df = bench.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))
    writer = side(df.withWatermark("ts", "10 seconds")).writeStream.format("parquet").outputMode("append")
    writer = writer.option("path", str(sink)).option("checkpointLocation", str(checkpoint))
    query = run_stream(writer.trigger(availableNow=True).start)
    progress = list(query.recentProgress)
    second = [i for i, one in enumerate(progress) if one.numInputRows][1]
    seconds = [one.durationMs["triggerExecution"] / 1_000 for one in progress[second:]]
    return seconds[0], sum(seconds)


def session() -> SparkSession:
    builder: Any = SparkSession.builder
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        f"{_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    }
    builder = builder.master("local[2, 4]").appName("slidewise beats")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows; nothing is saved")
    parser.add_argument("--only", default="", help="only works whose name has this word")
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    console = make_console(120)
    machine = describe_machine(["pyspark", "numba", "pyarrow", "pandas"])
    console.print(machine)
    works = {"batch": batch, "stream": stream}
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as folder:
        spark = session()
        bench = Bench(spark, Path(folder), given.quick, given.turns)
        for name, work in works.items():
            if given.only in name:
                for line in work(bench):
                    lines.append(line)
                    console.print(f"{line.work}: {line.ours:.2f} s against {line.theirs:.2f} s, {line.ratio:.1f} x")
        spark.stop()
    shown = Table(*FIELDS)
    cells = [
        [
            one.work,
            f"{one.rows}",
            f"{one.ours:.2f}",
            f"{one.theirs:.2f}",
            f"{one.ratio:.1f}",
            f"{one.target:g}",
            f"{one.ratio >= one.target}",
        ]
        for one in lines
    ]
    for row in cells:
        shown.add_row(*row)
    console.print(shown)
    if not given.quick and not given.only:
        say_saved(console, [save_csv("beats.csv", machine, FIELDS, cells)])


if __name__ == "__main__":
    main()
