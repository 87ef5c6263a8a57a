"""Definitions on Spark against the transport floor, Spark's own window functions, and time in slices against keys.

Every query reads the same Parquet files and writes to Spark's no-op sink, on local[2] with Spark's default settings.
Contenders take turns, and the median turn counts. A rival that takes far longer than the target allows is stopped, and
counts as the time it had until then ("over"). With --only, the lines of those works replace the ones saved before.

    python benchmarks/spark_batch.py [--quick] [--only WORD]
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
from common import RESULTS, describe_machine, make_console, save_csv, say_saved
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.table import Table

import slidewise as sw

FIELDS = ("group", "work", "rival", "ours_seconds", "rival_seconds", "ratio", "target", "met")
TREE = "spark.sql.window.segmentTree.enabled"


@dataclass
class Work:
    """One row of the table: us against one rival, with a target for how many times faster (or, at a floor, slower)."""

    group: str
    what: str
    ours: Callable[[], DataFrame]
    rival: Callable[[], DataFrame]
    rival_name: str
    target: float
    floor: bool = False  # the rival is a floor: we may take at most `target` times as long
    conf: dict[str, str] = field(default_factory=dict)

    def met(self, ratio: float) -> bool:
        return ratio <= self.target if self.floor else ratio >= self.target


def rise() -> sw.Operator:
    """The largest rise from a value to a later one in the window: lowest, highest, rise."""
    return sw.operator(
        name="rise",
        identity=(float("inf"), float("-inf"), 0.0),
        lift=lambda x: (x, x, 0.0),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2], b[1] - a[0])),
        lower=lambda state: state[2],
    )


def six(rows: int) -> dict[str, Any]:
    """Six aggregates over two windows, one of rows and one of about as many seconds."""
    by_rows = {"a": sw.max("x"), "b": sw.mean("x"), "c": sw.stddev("x")}
    by_time = {"d": sw.max("x"), "e": sw.sum("x"), "f": sw.min("x")}
    return {name: one.over(rows=rows) for name, one in by_rows.items()} | {
        name: one.over(f"{rows} seconds", closed="both") for name, one in by_time.items()
    }


def over(function: str, rows: int, timed: bool) -> str:
    frame = (
        f"RANGE BETWEEN INTERVAL {rows} SECONDS PRECEDING AND CURRENT ROW"
        if timed
        else f"ROWS BETWEEN {rows - 1} PRECEDING AND CURRENT ROW"
    )
    return f"{function} OVER (PARTITION BY k ORDER BY ts {frame})"


def windowed(df: DataFrame, functions: dict[str, str]) -> Callable[[], DataFrame]:
    return lambda: df.selectExpr("*", *(f"{text} AS {name}" for name, text in functions.items()))


def defined(df: DataFrame, by: str | None = "k", parallel: str = "auto", **columns: Any) -> Callable[[], DataFrame]:
    definition = sw.Sliding(by=by, on="ts", columns=columns)
    return lambda: df.transform(definition, parallel=parallel)


def identity(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def floor_of(df: DataFrame) -> Callable[[], DataFrame]:
    """The same shuffle and sort, and an identity where the kernels would be."""
    arranged = df.repartition(F.xxhash64("k")).sortWithinPartitions("k", "ts")
    return lambda: arranged.mapInArrow(identity, df.schema)


SIX_OF_SPARK = {
    **{n: over(f, 1_000, False) for n, f in {"a": "max(x)", "b": "avg(x)", "c": "stddev_samp(x)"}.items()},
    **{n: over(f, 1_000, True) for n, f in {"d": "max(x)", "e": "sum(x)", "f": "min(x)"}.items()},
}
ONE = {"max": (sw.max, "max(x)"), "sum": (sw.sum, "sum(x)"), "stddev": (sw.stddev, "stddev_samp(x)")}


def works(read: Callable[[int, int], DataFrame], large: int, small: int) -> Iterator[Work]:
    for keys in (10, 1_000, 100_000):
        df = read(large, keys)
        size = f"{large:,} rows, {keys:,} keys"
        floor = floor_of(df)
        one = defined(df, a=sw.max("x").over(rows=1_000))
        yield Work("floor", f"max over 1,000 rows; {size}", one, floor, "identity mapInArrow", 1.25, True)
        yield Work("floor", f"six aggregates, two windows; {size}", defined(df, **six(1_000)), floor,
                   "identity mapInArrow", 1.6, True)  # fmt: skip
    df = read(small, 10)
    for conf in ({}, {TREE: "true"}):
        rival = "Spark windows, segment tree" if conf else "Spark windows"
        for rows in (1_000, 10_000):
            for name, (ours, theirs) in ONE.items():
                for timed in (False, True):
                    aggregate = ours("x").over(f"{rows} seconds", closed="both") if timed else ours("x").over(rows=rows)
                    target = 1.0 if conf else 4.0 if rows == 1_000 else 20.0
                    what = f"{name} over {rows:,} {'seconds' if timed else 'rows'}; {small:,} rows, 10 keys"
                    theirs_over = windowed(df, {"a": over(theirs, rows, timed)})
                    yield Work("windows", what, defined(df, a=aggregate), theirs_over, rival, target, conf=conf)
        what = f"six aggregates, two windows of 1,000; {small:,} rows, 10 keys"
        target = 1.0 if conf else 4.0
        yield Work("windows", what, defined(df, **six(1_000)), windowed(df, SIX_OF_SPARK), rival, target, conf=conf)
    yield from custom(df, small)
    df = read(large, 1)
    timed_one = {"a": sw.max("x").over("10 minutes"), "b": sw.mean("x").over("10 minutes")}
    yield Work("slices", f"max and mean over 10 minutes, one key; {large:,} rows",
               defined(df, parallel="by_time", **timed_one), defined(df, parallel="by_key", **timed_one),
               "parallel='by_key'", 1.5)  # fmt: skip
    for keys in (1_000, 10_000):
        yield from sessions(read(large, keys), large, keys)


def sessions(df: DataFrame, large: int, keys: int) -> Iterator[Work]:
    """The sum of each row's session so far, with three rows in ten left, so that many are more than 3 s apart.

    Spark's `session_window` gives a row for each session, which is joined back to the events: the sum of the whole
    session, and a cheaper question. Window functions can number sessions by hand, and give the sum so far. What rows
    cost on their way to Python and back, with nothing done to them, is compared with both sides.
    """
    events = df.where("hash(ts, k) % 10 in (0, 3, 6)")
    size = f"{large * 3 // 10:,} rows, {keys:,} keys"
    what = f"sum over the session so far, gaps of 3 seconds; {size}"
    ours = defined(events, a=sw.sum("x").over(gap="3 seconds"))

    def joined() -> DataFrame:
        spans = F.session_window("ts", "3 seconds").alias("span")
        sums = events.groupBy("k", spans).agg(F.sum("x").alias("a"))
        flat = sums.select("k", F.col("span.start").alias("low"), F.col("span.end").alias("high"), "a")
        within = (events.ts >= flat.low) & (events.ts < flat.high)
        return events.join(flat, (events.k == flat.k) & within).select(events["*"], flat.a)

    far = "coalesce(ts - lag(ts) OVER (PARTITION BY k ORDER BY ts) > INTERVAL 3 SECONDS, true)"
    number = "sum(cast(starts AS int)) OVER (PARTITION BY k ORDER BY ts RANGE UNBOUNDED PRECEDING)"
    so_far = "sum(x) OVER (PARTITION BY k, session ORDER BY ts RANGE UNBOUNDED PRECEDING)"

    def numbered() -> DataFrame:
        marked = events.selectExpr("*", f"{far} AS starts").selectExpr("*", f"{number} AS session")
        return marked.selectExpr("k", "ts", "x", "load", f"{so_far} AS a")

    def moved() -> DataFrame:
        return events.repartition(F.xxhash64("k")).mapInArrow(identity, events.schema)

    nothing = f"the shuffle and an identity mapInArrow, nothing else; {size}"
    yield Work("sessions", what, ours, joined, "session_window, joined back", 5)
    yield Work("sessions", nothing, moved, joined, "session_window, joined back", 5)
    yield Work("sessions", what, ours, moved, "identity mapInArrow, unsorted", 1.25, True)
    yield Work("sessions", what, ours, numbered, "Spark windows, sessions numbered by hand", 1)


def custom(df: DataFrame, small: int) -> Iterator[Work]:
    import pandas as pd
    from pyspark.sql.functions import pandas_udf

    def largest_rise(x: Any) -> Any:
        return float((x - x.cummin()).max())

    largest_rise.__annotations__ = {"x": pd.Series, "return": float}  # as types, which pandas_udf reads

    from pyspark.sql.window import Window

    frame = Window.partitionBy("k").orderBy("ts").rowsBetween(-999, 0)
    size = f"over 1,000 rows; {small:,} rows, 10 keys"
    distinct = over("approx_count_distinct(load)", 1_000, False)
    yield Work("custom", f"approximate distinct {size}", defined(df, a=sw.hyperloglog(p=9)("load").over(rows=1_000)),
               windowed(df, {"a": distinct}), "approx_count_distinct", 20)  # fmt: skip
    collected = over("collect_list(load)", 1_000, False)
    counted = f"size(filter({collected}, v -> v = array_max({collected})))"
    yield Work("custom", f"maxcount {size}", defined(df, a=sw.maxcount("load").over(rows=1_000)),
               windowed(df, {"a": counted}), "collect_list", 20)  # fmt: skip
    udf = pandas_udf(largest_rise, "double")
    yield Work("custom", f"a user's operator, largest rise, {size}", defined(df, a=rise()("x").over(rows=1_000)),
               lambda: df.select("*", udf("x").over(frame).alias("a")), "pandas UDF over the frame", 20)  # fmt: skip


def run(spark: SparkSession, make: Callable[[], DataFrame], limit: float | None = None) -> tuple[float, bool]:
    """Seconds, and whether it was stopped at the limit."""
    stopped = threading.Event()

    def stop() -> None:
        stopped.set()
        spark.sparkContext.cancelJobGroup("timed")

    df = make()
    spark.sparkContext.setJobGroup("timed", "timed", interruptOnCancel=True)
    timer = threading.Timer(limit, stop) if limit else None
    start = time.perf_counter()
    if timer:
        timer.start()
    try:
        df.write.format("noop").mode("overwrite").save()
    except Exception:
        if not stopped.is_set():  # it failed by itself, which is no time to compare with
            raise
    finally:
        if timer:
            timer.cancel()
    return time.perf_counter() - start, stopped.is_set()


def compare(spark: SparkSession, work: Work, turns: int) -> tuple[float, float, bool]:
    """Our median seconds, the rival's, and whether the rival was stopped; once both are warm.

    A rival that takes more than 20 s has one turn.
    """
    ours = run(spark, work.ours)[0]
    for name, value in work.conf.items():
        spark.conf.set(name, value)
    try:
        limit = None if work.floor else max(60.0, 1.3 * work.target * ours)
        theirs, stopped = run(spark, work.rival, limit)
        mine: list[float] = []
        once = stopped or (theirs > 20 and not work.floor)
        rivals: list[float] = [theirs] if once else []
        for _ in range(turns):
            mine.append(run(spark, work.ours)[0])
            if not once:
                rivals.append(run(spark, work.rival)[0])
    finally:
        for name in work.conf:
            spark.conf.unset(name)
    return statistics.median(mine), statistics.median(rivals), stopped


def session() -> SparkSession:
    builder = SparkSession.builder.master("local[2, 4]").appName("slidewise benchmark")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "8g",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def reader(spark: SparkSession, directory: str) -> Callable[[int, int], DataFrame]:
    """Events of so many keys, one a second each, in no order, as Parquet files."""

    def read(rows: int, keys: int) -> DataFrame:
        path = f"{directory}/{rows}_{keys}"
        if not os.path.exists(path):
            micros = (F.col("id") * 1_000_000 / keys).cast("bigint") + 1_700_000_000_000_000
            spark.range(rows).select(
                (F.col("id") % keys).alias("k"),
                F.timestamp_micros(micros).alias("ts"),
                F.rand(3).alias("x"),
                F.floor(F.rand(4) * 1_000).alias("load"),
            ).repartition(4).write.parquet(path)
        return spark.read.parquet(path)

    return read


def draw(rows: list[tuple[Any, ...]]) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [row for row in rows if row[0] != "floor"]
    figure, axes = plt.subplots(1, 2, figsize=(16, 0.3 * len(shown) + 2), width_ratios=[1, 2.2])
    for axis, part, title in (
        (axes[0], [row for row in rows if row[0] == "floor"], "time / transport floor (less is better)"),
        (axes[1], shown, "times as fast as the rival (more is better)"),
    ):
        labels = [f"{row[1]}\nagainst {row[2]}" if axis is axes[0] else f"{row[1]} | {row[2]}" for row in part]
        axis.barh(labels, [row[5] for row in part], color=["#3b7dd8" if row[7] == "met" else "#d8743b" for row in part])
        axis.scatter([row[6] for row in part], labels, marker="|", color="black", s=120, label="target")
        axis.set_title(title, fontsize=10)
        axis.tick_params(labelsize=7)
        axis.invert_yaxis()
        axis.legend(loc="lower right", fontsize=8)
    axes[1].set_xscale("log")
    figure.tight_layout()
    path = RESULTS / "spark_batch.png"
    figure.savefig(path, dpi=110)
    return path


def with_saved(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The lines of earlier runs, with these in the places of those of the same work; each compares two alone."""
    new = {row[:3]: row for row in rows}
    with (RESULTS / "spark_batch.csv").open(newline="") as file:
        saved = list(csv.reader(line for line in file if not line.startswith("#")))[1:]
    found = [(*row[:5], float(row[5]), float(row[6]), row[7]) for row in saved]
    return [new.pop(row[:3], row) for row in found] + list(new.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, one turn, nothing saved")
    parser.add_argument(
        "--only", default="", metavar="WORD", help="only works with this word; their lines replace those saved"
    )
    options = parser.parse_args()
    turns = 1 if options.quick else 3
    large, small = (500_000, 100_000) if options.quick else (5_000_000, 1_000_000)
    console = make_console(170)
    machine = describe_machine(["pyspark", "numba", "pyarrow", "pandas"])
    console.print(machine)
    spark = session()
    rows: list[tuple[Any, ...]] = []
    with tempfile.TemporaryDirectory() as directory:
        read = reader(spark, directory)
        run(spark, floor_of(read(large, 10)))  # the first query of a session is slower than any other
        for work in works(read, large, small):
            if options.only not in f"{work.group} {work.what} {work.rival_name}":
                continue
            ours, theirs, stopped = compare(spark, work, turns)
            ratio = ours / theirs if work.floor else theirs / ours
            met = "met" if work.met(ratio) else "missed"
            rows.append((work.group, work.what, work.rival_name, round(ours, 2),
                         f"over {theirs:.0f}" if stopped else round(theirs, 2),
                         round(ratio, 2), work.target, met))  # fmt: skip
            console.print(*rows[-1], sep=" | ", soft_wrap=True)
    spark.stop()
    table = Table("work", "rival", "ours s", "rival s", "ratio", "target", "")
    for row in rows:
        table.add_row(*map(str, row[1:]))
    console.print(table)
    if not options.quick:
        rows = with_saved(rows) if options.only else rows
        say_saved(console, [save_csv("spark_batch.csv", machine, FIELDS, rows), draw(rows)])


if __name__ == "__main__":
    main()
