"""Medians and quantiles over windows against pandas, polars and bottleneck, and on Spark against percentile_approx.

Within a case the contenders take turns, and everyone's median turn counts. Preparing a peer's own kind of table is not
timed, nor is anyone's first call. Everyone may use all processors, and time is the clock's; Slidewise is measured with
one thread, too. Answers are compared with NumPy's at some windows, and between contenders at all of them.

    python benchmarks/percentiles.py [--rows N] [--turns N] [--spark]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import bottleneck
import numpy as np
import pandas as pd
import polars as pl
from common import describe_machine, make_console, save_csv, say_saved
from rich.table import Table

import slidewise as sw
from slidewise.kernels.compiler.threads import VARIABLE

OURS, SINGLE = "slidewise", "slidewise, one thread"
KEYS = 1_000
TEETH = 1_777  # rows of a tooth: windows hold no whole number of them
SLOW = 500_000  # rows for pandas, which is slow
FIELDS = ("case", "window", "rows", "contender", "million rows/s", "ours / theirs")

Contenders = dict[str, Callable[[], Any]]


def data(rows: int) -> dict[str, Any]:
    choose = np.random.default_rng(5)
    values = choose.random(rows)
    return {"random": values, "sorted": np.sort(values), "sawtooth": np.arange(rows) % TEETH / TEETH}


def by_rows(x: Any, n: int) -> Contenders:
    column = pl.Series(x)
    found: Contenders = {
        OURS: lambda: sw.rolling(x, sw.median, rows=n),
        SINGLE: single(lambda: sw.rolling(x, sw.median, rows=n)),
        "bottleneck": lambda: bottleneck.move_median(x, n, min_count=1),
        "polars": lambda: column.rolling_median(n, min_samples=1).to_numpy(),
    }
    return found


def single(run: Callable[[], Any]) -> Callable[[], Any]:
    def alone() -> Any:
        os.environ[VARIABLE] = "1"
        try:
            return run()
        finally:
            del os.environ[VARIABLE]

    return alone


def pandas(x: Any, n: int, rows: int) -> dict[str, float]:
    """What all rows would take, by the pace of the first ones: pandas is far behind."""
    series = pd.Series(x[:SLOW])
    start = time.perf_counter()
    series.rolling(n, min_periods=1).median()
    return {"pandas": (time.perf_counter() - start) * rows / len(series)}


def by_keys(x: Any, n: int) -> Contenders:
    keys = np.random.default_rng(6).integers(0, KEYS, len(x))
    frame = pl.DataFrame({"k": keys, "x": x})
    median = pl.col("x").rolling_median(n, min_samples=1).over("k")
    return {
        OURS: lambda: sw.rolling(x, sw.median, rows=n, by=keys),
        SINGLE: single(lambda: sw.rolling(x, sw.median, rows=n, by=keys)),
        "polars": lambda: frame.select(median).to_series().to_numpy(),
    }


def by_time(x: Any, n: int) -> Contenders:
    times = np.cumsum(np.random.default_rng(7).integers(1, 2_000, len(x)))
    width = n * 1_000
    frame = pl.DataFrame({"t": times, "x": x})
    median = pl.col("x").rolling_median_by("t", f"{width}i")
    return {
        OURS: lambda: sw.rolling(x, sw.median, times=times, last=width),
        SINGLE: single(lambda: sw.rolling(x, sw.median, times=times, last=width)),
        "polars": lambda: frame.select(median).to_series().to_numpy(),
    }


def several(x: Any, n: int) -> Contenders:
    """Three quantiles of one column and window."""
    shares = (0.5, 0.9, 0.99)
    table = pl.DataFrame({"x": x})
    health = sw.Sliding(columns={f"p{q}": sw.quantile(q)("x").over(rows=n) for q in shares})
    columns = [
        pl.col("x").rolling_quantile(q, interpolation="linear", window_size=n, min_samples=1).alias(f"p{q}")
        for q in shares
    ]
    return {
        OURS: lambda: np.asarray(health(table)["p0.99"]),
        SINGLE: single(lambda: np.asarray(health(table)["p0.99"])),
        "polars": lambda: np.asarray(table.with_columns(columns)["p0.99"]),
    }


def measured(contenders: Contenders, turns: int) -> tuple[dict[str, float], dict[str, Any]]:
    answers = {name: run() for name, run in contenders.items()}
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in taken.items()}, answers


def compare(x: Any, answers: dict[str, Any], n: int | None) -> None:
    """Ours against NumPy where the window is plain, and everyone's against ours up to rounding."""
    ours = np.asarray(answers[OURS])
    if n is not None:
        for i in range(0, len(x), max(1, len(x) // 50)):
            assert ours[i] == np.quantile(x[max(0, i - n + 1) : i + 1], 0.5)
    for name, found in answers.items():
        assert np.allclose(found, ours, rtol=1e-12), name


def spark_case(rows: int) -> list[tuple[Any, ...]]:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    from slidewise.pipeline.spark_session import start

    spark = start("local[2]", {"spark.sql.shuffle.partitions": "4"})
    choose = np.random.default_rng(8)
    frame = pd.DataFrame({"k": choose.integers(0, 10, rows), "ts": np.arange(rows), "x": choose.random(rows)})
    with tempfile.TemporaryDirectory() as folder:
        # From a file: Spark would compare a plan that holds the rows themselves with cached ones, for half a second.
        spark.createDataFrame(frame).write.parquet(f"{folder}/events")
        events = spark.read.parquet(f"{folder}/events").repartition(4).cache()
        events.count()
    frames = Window.partitionBy("k").orderBy("ts").rowsBetween(-99, 0)
    p99 = sw.Sliding(by="k", on="ts", p99=sw.quantile(0.99)("x").over(rows=100))
    about = sw.Sliding(by="k", on="ts", p99=sw.quantile(0.99, approximate=0.01)("x").over(rows=100))
    contenders: Contenders = {
        OURS: lambda: events.transform(p99).agg(F.sum("p99")).collect(),
        "slidewise, approximate": lambda: events.transform(about).agg(F.sum("p99")).collect(),
        "Spark percentile_approx": lambda: (
            events.withColumn("p99", F.percentile_approx("x", 0.99).over(frames)).agg(F.sum("p99")).collect()
        ),
        "Spark percentile": lambda: (
            events.withColumn("p99", F.percentile("x", 0.99).over(frames)).agg(F.sum("p99")).collect()
        ),
    }
    sorted_rows = events.repartition("k").sortWithinPartitions("k", "ts")
    # What anything written in Python costs there, whatever it does.
    contenders["Spark's shuffle, sort and way through Python alone"] = lambda: (
        sorted_rows.mapInArrow(lambda batches: batches, events.schema).agg(F.sum("x")).collect()
    )
    seconds, answers = measured(contenders, 5)
    totals = {name: found[0][0] for name, found in answers.items()}
    assert np.isclose(totals[OURS], totals["Spark percentile"], rtol=1e-12), totals
    spark.stop()
    return lines("on Spark, 99 %", 100, rows, seconds)


def lines(case: str, n: int, rows: int, seconds: dict[str, float]) -> list[tuple[Any, ...]]:
    return [
        (case, n, rows, name, round(rows / taken / 1e6, 3), "" if name == OURS else round(taken / seconds[OURS], 2))
        for name, taken in seconds.items()
    ]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=10_000_000)
    arguments.add_argument("--turns", type=int, default=5)
    arguments.add_argument("--spark", action="store_true", help="also measure Spark, over a million rows")
    given = arguments.parse_args()
    console = make_console(110)
    found: list[tuple[Any, ...]] = []
    values = data(given.rows)
    for kind, x in values.items():
        for n in (1_000, 100_000):
            contenders = by_rows(x, n)
            seconds, answers = measured(contenders, given.turns)
            compare(x, answers, n)
            found += lines(f"median, {kind}", n, given.rows, seconds | pandas(x, n, given.rows))
    x = values["random"]
    for case, make in (("median, 1,000 keys", by_keys), ("median, by time", by_time), ("50, 90 and 99 %", several)):
        seconds, answers = measured(make(x, 1_000), given.turns)
        compare(x, answers, None)
        found += lines(case, 1_000, given.rows, seconds)
    if given.spark:
        found += spark_case(1_000_000)
    table = Table(*FIELDS)
    for line in found:
        table.add_row(*map(str, line))
    console.print(table)
    packages = ("numpy", "numba", "pandas", "polars", "bottleneck", *(["pyspark"] if given.spark else []))
    say_saved(console, [save_csv("percentiles.csv", describe_machine(packages), FIELDS, found)])


if __name__ == "__main__":
    main()
