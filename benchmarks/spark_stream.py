"""Definitions on Spark streams: state written as windows grow, keys against one call per key, rows per second.

Every query reads Parquet files as a stream, one file per micro-batch (`availableNow`), on local[2] with RocksDB and
changelog checkpointing, and writes to Spark's no-op sink, or to Parquet files where the results say so. Times are those
of whole micro-batches; the first ones, in which workers start and kernels are loaded, are left out, and the median of
the others counts.

    python benchmarks/spark_stream.py [--quick] [--only WORD]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("PYTHONWARNINGS", "ignore")  # the rival's workers would warn in every call
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import describe_machine, make_console, save_csv, say_saved
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor
from rich.table import Table

import slidewise as sw
from slidewise.pipeline.spark_session import run_stream
from slidewise.spark.state.pages import HISTORY_RUN, open_page
from slidewise.spark.state.seven_bits import decode_text
from slidewise.spark.stream.checkpoint import read_pages
from slidewise.spark.stream.packing import BLOB_SCHEMA, SHARD, pack_by_shard
from slidewise.spark.stream.shard_labels import labelled_shard
from slidewise.spark.worker.task import task

SCHEMA = "k long, ts timestamp, x double"
EPOCH = 1_700_000_000_000_000
FIELDS = ["work", "what", "ours", "other", "ratio", "target", "met"]


class Batch(NamedTuple):
    """One micro-batch: its time, and what it wrote to the state."""

    rows: int
    ms: int
    written: int


class Line(NamedTuple):
    """One line of the results."""

    work: str
    what: str
    ours: str
    other: str
    ratio: float
    target: str
    met: bool


class Bench:
    def __init__(self, spark: SparkSession, directory: Path, quick: bool) -> None:
        self.spark = spark
        self.directory = directory
        self.quick = quick
        self._count = 0

    def files(self, tables: Iterable[pa.Table]) -> str:
        """A directory of files that come one after the other."""
        self._count += 1
        path = self.directory / f"input {self._count}"
        path.mkdir()
        for i, table in enumerate(tables):
            pq.write_table(table, path / f"{i}.parquet", row_group_size=100_000)
            os.utime(path / f"{i}.parquet", (10**9 + i, 10**9 + i))
        return str(path)

    def run(
        self, path: str, over: Callable[[DataFrame], DataFrame], sink: str = "noop", checkpoint: str = ""
    ) -> list[Batch]:
        """The micro-batches of a query over the files, into the no-op sink or into files; from a new checkpoint, or
        from this one."""
        self._count += 1
        stream = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(path)
        writer = (
            over(stream.withWatermark("ts", "0 seconds"))
            .writeStream.format(sink)
            .option("path", str(self.directory / f"output {self._count}"))
            .option("checkpointLocation", str(self.directory / (checkpoint or f"checkpoint {self._count}")))
            .trigger(availableNow=True)
        )
        query = run_stream(writer.start)
        return [
            Batch(
                one.numInputRows,
                one.durationMs["triggerExecution"],
                sum(op.customMetrics.get("rocksdbTotalBytesWritten", 0) for op in one.stateOperators),
            )
            for one in query.recentProgress
            if one.numInputRows
        ]


def rows(keys: Any, start: int, step: int) -> pa.Table:
    """Rows of these keys, `step` microseconds apart."""
    times = EPOCH + start + np.arange(len(keys)) * step
    values = np.random.default_rng(start % 2**32).random(len(keys))
    return pa.table({"k": keys, "ts": pa.array(times, pa.timestamp("us", "UTC")), "x": values})


def one_key(bench: Bench) -> Iterator[Line]:
    """One key, 1,000 rows per micro-batch, from two places in the cycle of DABA Lite."""
    batches = 6 if bench.quick else 26
    sizes = (10_000, 100_000, 1_000_000)
    found: dict[int, list[Batch]] = {n: [] for n in sizes}
    for part in (2, 3):  # after half a window more DABA Lite is shifting, and after three quarters shrinking
        for n in sizes:
            files = [n, n * part // 4, *[1_000] * (batches + 2)]
            starts = np.concatenate([[0], np.cumsum(files)])
            pieces = zip(starts[:-1].tolist(), files, strict=True)
            path = bench.files(rows(np.zeros(size, np.int64), a * 1_000, 1_000) for a, size in pieces)
            definition = sw.Sliding(by="k", on="ts", s=sw.sum("x").over(rows=n), m=sw.max("x").over(rows=n))
            found[n] += bench.run(path, lambda df, d=definition: df.transform(d, shards=1))[-batches:]
    worst = {n: max(batch.written for batch in found[n]) for n in sizes}
    medians = {n: statistics.median(batch.ms for batch in found[n]) for n in sizes}
    for what, by, unit in (("state bytes written, the worst batch", worst, "B"), ("time, median", medians, "ms")):
        ratio = max(by.values()) / min(by.values())
        shown = ", ".join(f"{n:,}: {value:,.0f} {unit}" for n, value in by.items())
        yield Line("one key", what, shown, "", ratio, "<= 1.3", ratio <= 1.3)


def quantiles(bench: Bench) -> Iterator[Line]:
    """The same for quantiles: what a batch costs where ranks need every value, and where counts in buckets do."""
    batches = 4 if bench.quick else 12
    for what, op in (("exact", sw.median), ("approximate=0.01", sw.quantile(0.5, approximate=0.01))):
        costs: dict[int, tuple[float, int]] = {}
        for n in (10_000, 100_000, 1_000_000):
            pieces = [(0, n), *((n + i * 1_000, 1_000) for i in range(batches + 2))]
            path = bench.files(rows(np.zeros(size, np.int64), a * 1_000, 1_000) for a, size in pieces)
            definition = sw.Sliding(by="k", on="ts", m=op("x").over(rows=n))
            found = bench.run(path, lambda df, d=definition: df.transform(d, shards=1))[-batches:]
            costs[n] = statistics.median(batch.ms for batch in found), max(batch.written for batch in found)
        ratio = max(ms for ms, _ in costs.values()) / min(ms for ms, _ in costs.values())
        shown = ", ".join(f"{n:,}: {ms:,.0f} ms and {written:,.0f} B" for n, (ms, written) in costs.items())
        yield Line("a median", f"{what}: time, and bytes written", shown, "", ratio, "", True)


class PerKey(StatefulProcessor):
    """What one would write without Slidewise: one call per key, its window in a value state."""

    def __init__(self, n: int) -> None:
        self.n = n

    def init(self, handle: Any) -> None:
        self.window = handle.getValueState("window", "rows binary")

    def handleInputRows(self, key: Any, frames: Any, _timers: Any) -> Any:
        import pandas as pd

        frame = pd.concat(frames).sort_values("ts")
        held = self.window.get()
        old = np.frombuffer(held[0]) if held is not None else np.empty(0)
        both = np.concatenate([old, frame["x"].to_numpy()])
        frame["m"] = pd.Series(both).rolling(self.n, min_periods=1).max().to_numpy()[len(old) :]
        self.window.update((both[-self.n :].tobytes(),))
        yield frame

    def close(self) -> None:
        pass


def per_key(n: int) -> Callable[[DataFrame], DataFrame]:
    def over(df: DataFrame) -> DataFrame:
        return df.groupBy("k").transformWithStateInPandas(PerKey(n), SCHEMA + ", m double", "Append", "EventTime")

    return over


def many_keys(bench: Bench) -> Iterator[Line]:
    """Many keys with few rows each against one call per key."""
    works = ((10_000, 10, 100, 10.0), (10_000, 10, 1_000, 3.0), (1_000, 1_000, 1_000, 3.0))
    for keys, each, n, target in works[:1] if bench.quick else works:
        per_file = [n, *[each] * 4]  # the first fills the windows
        starts = np.concatenate([[0], np.cumsum(per_file)]) * keys
        tables = (
            rows(np.tile(np.arange(keys), size), a, 1) for a, size in zip(starts[:-1].tolist(), per_file, strict=True)
        )
        path = bench.files(tables)
        definition = sw.Sliding(by="k", on="ts", m=sw.max("x").over(rows=n))
        ours = statistics.median(b.ms for b in bench.run(path, lambda df, d=definition: df.transform(d))[-2:])
        other = statistics.median(b.ms for b in bench.run(path, per_key(n))[-3:])
        what = f"{keys:,} keys with {each:,} rows each, window of {n:,} rows"
        ratio = other / ours
        yield Line("keys", what, f"{ours:,.0f} ms", f"{other:,.0f} ms", ratio, f">= {target:g}", ratio >= target)


class Echo(StatefulProcessor):
    """Takes in blobs and says one word: what rows cost on Spark's way into state in Python, whatever is done there."""

    def init(self, handle: Any) -> None:
        self.word = handle.getValueState("word", "word binary")

    def handleInputRows(self, _key: Any, frames: Any, _timers: Any) -> Any:
        import pandas as pd

        rows = sum(len(frame) for frame in frames)
        self.word.update((b"word",))
        yield pd.DataFrame({"rows": [rows]})

    def close(self) -> None:
        pass


def floor(df: DataFrame) -> DataFrame:
    """The same rows in the same blobs, and nothing done with them."""
    hashed = df.select(F.xxhash64("k"), "*").toDF("hash", "c0", "c1", "c2")
    blobs = hashed.mapInArrow(task(pack_by_shard, 16, False), BLOB_SCHEMA)
    return blobs.groupBy(SHARD).transformWithStateInPandas(Echo(), "rows long", "Append", "EventTime")


def sustained(bench: Bench) -> Iterator[Line]:
    """Rows per second against a shuffle alone, and against Spark's sliding windows, which copy each row 600 times."""
    size, batches, turns = 200_000, 4 if bench.quick else 24, 1 if bench.quick else 3
    tables = (
        rows(np.random.default_rng(i).integers(0, 1_000, size), i * size * 100, 100) for i in range(batches)
    )  # 10,000 rows per second of event time
    path = bench.files(tables)
    small = bench.files(rows(np.random.default_rng(i).integers(0, 1_000, 5_000), i * 500_000, 100) for i in range(4))
    windows = F.window("ts", "10 minutes", "1 second")

    def over(last: str) -> Callable[[DataFrame], DataFrame]:
        definition = sw.Sliding(by="k", on="ts", m=sw.max("x").over(last), s=sw.mean("x").over(last))
        return lambda df: df.transform(definition, shards=8)  # four for each core

    works: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
        "1 minute, files": (over("1 minute"), "parquet"),
        "shuffle, files": (lambda df: df.repartition("k"), "parquet"),
        "1 minute": (over("1 minute"), "noop"),
        "shuffle": (lambda df: df.repartition("k"), "noop"),
        "floor": (floor, "noop"),
        "10 minutes": (over("10 minutes"), "noop"),
        "windows": (lambda df: df.groupBy(windows, "k").agg(F.max("x"), F.avg("x")), "noop"),
    }
    rates: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(turns):
        for name, (work, sink) in works.items():
            found = bench.run(small if name == "windows" else path, work, sink)
            rates[name] += [batch.rows / batch.ms * 1_000 for batch in found[len(found) // 2 :]]
    rate = {name: statistics.median(found) for name, found in rates.items()}
    what = "window of 1 minute, against repartition(key)"
    yield _rates(f"{what}, both into Parquet files", rate["1 minute, files"], rate["shuffle, files"], 0.35)
    yield _rates(f"{what}, both into nothing", rate["1 minute"], rate["shuffle"], 0.35)
    yield _rates("the same, against state in Python that does nothing", rate["1 minute"], rate["floor"], 0)
    what = "window of 10 minutes, against groupBy(window(10 minutes, 1 second), key)"
    yield _rates(what, rate["10 minutes"], rate["windows"], 20)


def _rates(what: str, ours: float, other: float, target: float) -> Line:
    met = ours / other >= target
    wanted = f">= {target:g}" if target else ""
    return Line("sustained", what, f"{ours:,.0f} rows/s", f"{other:,.0f} rows/s", ours / other, wanted, met)


def warm_start(bench: Bench) -> Iterator[Line]:
    """A history of rows over 10,000 keys that fills the state, against a batch job over it, and against a replay of it
    through the stream, in large files and in small ones; and the micro-batches afterwards, against those after that.

    Spark's driver becomes faster over some dozens of micro-batches of a query, so both are compared late in theirs.
    """
    count, turns = (1_000_000, 1) if bench.quick else (10_000_000, 3)
    sizes = {"large": count // 20, "small": count // 200}
    keys, later, compared = 10_000, 40, 20

    def piece(first: int, size: int) -> pa.Table:
        return rows(np.random.default_rng(first).integers(0, keys, size), first * 1_000, 1_000)

    def pieces(size: int) -> Iterator[pa.Table]:
        return (piece(first, size) for first in range(0, count, size))

    new = [piece(count + i * 10_000, 10_000) for i in range(later)]
    history = bench.spark.read.schema(SCHEMA).parquet(bench.files(pieces(sizes["large"])))
    streamed = bench.files(new)
    replays = {name: bench.files([*pieces(size), *new]) for name, size in sizes.items()}
    definition = sw.Sliding(by="k", on="ts", m=sw.max("x").over("10 minutes"), s=sw.mean("x").over("10 minutes"))
    seconds: dict[str, list[float]] = {name: [] for name in ("batch", "warm", *replays)}
    after: dict[str, list[float]] = {"warm": [], "replay": []}
    for turn in range(turns):
        start = time.perf_counter()
        history.transform(definition).write.format("noop").mode("overwrite").save()
        seconds["batch"].append(time.perf_counter() - start)
        warm = bench.run(streamed, lambda df: df.transform(definition, history=history))
        after["warm"] += [batch.ms for batch in warm[-compared:]]
        seconds["warm"].append((warm[0].ms - statistics.median([batch.ms for batch in warm[2:]])) / 1_000)
        for name in replays if turn == 0 else ("large",):
            replayed = bench.run(replays[name], lambda df: df.transform(definition))
            seconds[name].append(sum(batch.ms for batch in replayed[:-later]) / 1_000)
            after["replay"] += [batch.ms for batch in replayed[-compared:]] if name == "large" else []
    median = {name: statistics.median(times) for name, times in seconds.items()}
    shown = {name: f"{value:.1f} s" for name, value in median.items()}
    ratio = median["warm"] / median["batch"]
    what = f"{count:,} rows of {keys:,} keys, against a batch job over them"
    yield Line("warm start", what, shown["warm"], shown["batch"], ratio, "<= 2", ratio <= 2)
    for name, size in sizes.items():
        ratio = median[name] / median["warm"]
        what = f"times as fast as replaying them in files of {size:,} rows"
        yield Line("warm start", what, shown["warm"], shown[name], ratio, ">= 10", ratio >= 10)
    ours, other = (statistics.median(after[name]) for name in ("warm", "replay"))
    what = "micro-batches of 10,000 rows afterwards, against those after a replay"
    yield Line("warm start", what, f"{ours:.0f} ms", f"{other:.0f} ms", ours / other, "<= 1.1", ours / other <= 1.1)


def read_stored_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The pages of a checkpoint, decoded, checked and decompressed; how many bytes each has."""
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("page", SHARD, "number"))
        sizes = [
            len(open_page(decode_text(text), None, labelled_shard(label), number))
            for text, label, number in zip(*columns, strict=True)
            if number != HISTORY_RUN
        ]
        yield pa.record_batch([pa.array(sizes, pa.int64())], ["bytes"])


def upgrade(bench: Bench) -> Iterator[Line]:
    """A checkpoint with rows of 10,000 keys, all in a window: its conversion to another definition, against reading its
    pages; and micro-batches before and after."""
    count, turns = (1_000_000, 1) if bench.quick else (10_000_000, 3)
    keys, later = 10_000, 12

    def piece(first: int, size: int) -> pa.Table:
        return rows(np.random.default_rng(first).integers(0, keys, size), first * 1_000, 1_000)

    path = bench.files(piece(first, count // 20) for first in range(0, count, count // 20))
    history = bench.spark.read.schema(SCHEMA).parquet(path)
    old = sw.Sliding(by="k", on="ts", m=sw.max("x").over("1 day"), s=sw.mean("x").over("1 day"))
    new = sw.Sliding(by="k", on="ts", m=sw.max("x").over("1 day"), d=sw.stddev("x").over("6 hours"))
    seconds: dict[str, list[float]] = {"read": [], "upgrade": []}
    times: dict[str, list[int]] = {"before": [], "after": []}
    for turn in range(turns):
        name, streamed = f"upgraded_{turn}", bench.directory / f"upgraded_input_{turn}"
        streamed.mkdir()

        def run(definition: sw.Sliding, first: int, name: str = name, to: Path = streamed, **options: Any) -> list[int]:
            for i in range(first, first + later):
                pq.write_table(piece(count + i * 10_000, 10_000), to / f"{i}.parquet")
                os.utime(to / f"{i}.parquet", (10**9 + i, 10**9 + i))
            batches = bench.run(str(to), lambda df: df.transform(definition, **options), checkpoint=name)
            return [batch.ms for batch in batches]

        run(old, 0, history=history)
        times["before"] += run(old, later)[2:]
        start = time.perf_counter()
        pages = read_pages(bench.spark, str(bench.directory / name))
        pages.mapInArrow(read_stored_rows, "bytes long").write.format("noop").mode("overwrite").save()
        seconds["read"].append(time.perf_counter() - start)
        upgraded = run(new, 2 * later, upgrade_from=old)
        seconds["upgrade"].append((upgraded[0] - statistics.median(upgraded[2:])) / 1_000)
        times["after"] += run(new, 3 * later)[2:]
    ours, other = (statistics.median(seconds[name]) for name in ("upgrade", "read"))
    what = f"{count:,} stored rows of {keys:,} keys, against reading their pages"
    yield Line("upgrade", what, f"{ours:.1f} s", f"{other:.1f} s", ours / other, "<= 3", ours / other <= 3)
    ours, other = (statistics.median(times[name]) for name in ("after", "before"))
    what = "micro-batches of 10,000 rows after it, against those before"
    yield Line("upgrade", what, f"{ours:.0f} ms", f"{other:.0f} ms", ours / other, "<= 1.1", ours / other <= 1.1)


def warm_up(bench: Bench) -> None:
    """Java, workers and kernels are slow at first; nobody is to pay for it who happens to be measured first."""
    path = bench.files(rows(np.arange(20_000) % 100, i * 20_000, 1) for i in range(12))
    definition = sw.Sliding(by="k", on="ts", m=sw.max("x").over("1 minute"), s=sw.mean("x").over(rows=50))
    for work in (lambda df: df.transform(definition), lambda df: df.repartition("k")):
        bench.run(path, work)


WORKS = {
    "one key": one_key,
    "a median": quantiles,
    "keys": many_keys,
    "sustained": sustained,
    "warm start": warm_start,
    "upgrade": upgrade,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer micro-batches")
    parser.add_argument("--only", default="", help="works whose name holds this word")
    options = parser.parse_args()
    console = make_console(160)
    machine = describe_machine(["pyspark", "pyarrow", "numpy", "numba"])
    console.print(machine)
    builder: Any = SparkSession.builder
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",  # of all contenders; docs/streaming.md advises it
        "spark.sql.streaming.numRecentProgressUpdates": "10000",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }
    builder = builder.master("local[2, 4]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    lines: list[Line] = []
    table = Table(*FIELDS)
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(spark, Path(directory), options.quick)
        warm_up(bench)
        for name, work in WORKS.items():
            if options.only in name:
                for line in work(bench):
                    lines.append(line)
                    console.print(line.work, "|", line.what, "|", line.ours, "|", line.other, "|", f"{line.ratio:.2f}")
    for line in lines:
        table.add_row(*[f"{part:.2f}" if isinstance(part, float) else str(part) for part in line])
    console.print(table)
    if not options.quick and not options.only:
        say_saved(console, [save_csv("spark_stream.csv", machine, FIELDS, lines)])
    spark.stop()


if __name__ == "__main__":
    main()
