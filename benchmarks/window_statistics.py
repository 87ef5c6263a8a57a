"""Ranks, least squares, shape and counts of values over windows, against pandas and polars.

Within a case the contenders take turns, and everyone's median turn counts; a case is one run. Preparing a peer's own
kind of table is not timed, nor is anyone's first call. Everyone has one thread. Peers that go row by row get the first
rows only, and what all would take is their pace. Answers are compared first: peers may drift in their last digits.

A case is a function of the data and the window's length that gives its contenders, ours first; `CASES` lists them all,
with the lengths of windows, the peers that the target is about and the target itself. To add one, write such a function
and append it there; one that needs rows of another kind makes them of `Data` itself, as `weights` does, and one that
runs on Spark brings its own numbers to `lines`. With --only, its lines replace the ones saved before.

    python benchmarks/window_statistics.py [--quick] [--only CASE] [--rows N] [--turns N]
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ["POLARS_MAX_THREADS"] = os.environ["SLIDEWISE_THREADS"] = "1"

import numpy as np
import pandas as pd
import polars as pl
from common import RESULTS, describe_machine, make_console, save_csv, say_saved
from rich.table import Table

import slidewise as sw
from slidewise.kernels.compiler.threads import VARIABLE

OURS = "slidewise"
FIELDS = ("case", "window", "rows", "contender", "million rows/s", "ours / theirs", "target", "met")
SLOW = 20_000  # rows for peers that call a function for each window
ROWS_AND_WINDOWS = 50_000_000  # rows that such a peer reads at most, all its windows together


class Data(NamedTuple):
    """The columns: random numbers, others near a line through them, weights, and a few whole numbers with ties."""

    x: Any
    y: Any
    w: Any
    few: Any


class Contender(NamedTuple):
    """What is timed, over how many rows where these are not all, and whether its answers are ours."""

    run: Callable[[], Any]
    rows: int | None = None
    compared: bool = True


Contenders = dict[str, Contender]


def make_data(rows: int) -> Data:
    choose = np.random.default_rng(9)
    x = choose.normal(size=rows)
    return Data(x, 2 * x + choose.normal(size=rows), choose.random(rows) + 0.1, choose.integers(0, 20, rows))


def fewer(data: Data, n: int) -> int:
    """How many rows a slow peer gets."""
    return min(len(data.x), SLOW, max(ROWS_AND_WINDOWS // n, 100))


def ranks(data: Data, n: int) -> Contenders:
    column = pl.Series(data.x)
    some = min(len(data.x), 200_000)
    series = pd.Series(data.x[:some])
    return {
        OURS: Contender(lambda: sw.rolling(data.x, sw.rank, rows=n)),
        "polars": Contender(lambda: column.rolling_rank(n, method="min", min_samples=1).to_numpy()),
        "pandas": Contender(lambda: series.rolling(n, min_periods=1).rank(method="min").to_numpy(), some),
    }


def average_ranks(data: Data, n: int) -> Contenders:
    """With ties in all windows."""
    column = pl.Series(data.few)
    average = sw.rank(method="average")
    return {
        OURS: Contender(lambda: sw.rolling(data.few, average, rows=n)),
        "polars": Contender(lambda: column.rolling_rank(n, method="average", min_samples=1).to_numpy()),
    }


def slopes(data: Data, n: int) -> Contenders:
    frame = pl.DataFrame({"x": data.x, "y": data.y})
    slope = pl.rolling_cov("y", "x", window_size=n, min_samples=2) / pl.col("x").rolling_var(n, min_samples=2)
    x, y = pd.Series(data.x), pd.Series(data.y)
    return {
        OURS: Contender(lambda: sw.rolling((data.y, data.x), sw.slope, rows=n)),
        "polars": Contender(lambda: frame.select(slope).to_series().to_numpy(), compared=False),  # is off at the start
        "pandas": Contender(
            lambda: (
                y.rolling(n, min_periods=2).cov(x).to_numpy() / x.rolling(n, min_periods=2).var().to_numpy()
            )
        ),
    }  # fmt: skip


def skews(data: Data, n: int) -> Contenders:
    column, series = pl.Series(data.x), pd.Series(data.x)
    return {
        OURS: Contender(lambda: sw.rolling(data.x, sw.skew, rows=n)),
        "polars": Contender(lambda: column.rolling_skew(n, bias=False, min_samples=3).to_numpy()),
        "pandas": Contender(lambda: series.rolling(n, min_periods=3).skew().to_numpy()),
    }


def kurtoses(data: Data, n: int) -> Contenders:
    column, series = pl.Series(data.x), pd.Series(data.x)
    return {
        OURS: Contender(lambda: sw.rolling(data.x, sw.kurtosis, rows=n)),
        "polars": Contender(lambda: column.rolling_kurtosis(n, bias=False, min_samples=4).to_numpy()),
        "pandas": Contender(lambda: series.rolling(n, min_periods=4).kurt().to_numpy()),
    }


def weights(data: Data, n: int) -> Contenders:
    frame = pl.DataFrame({"x": data.x, "w": data.w})
    total = (pl.col("x") * pl.col("w")).rolling_sum(n, min_samples=1)
    mean = total / pl.col("w").rolling_sum(n, min_samples=1)
    return {
        OURS: Contender(lambda: sw.rolling((data.x, data.w), sw.weighted_mean, rows=n)),
        "polars": Contender(lambda: frame.select(mean).to_series().to_numpy()),
    }


def in_polars(data: Data, n: int, answer: pl.Expr) -> Contender:
    """A polars expression over each window, which is a group of its own."""
    some = fewer(data, n)
    frame = pl.DataFrame({"i": np.arange(some), "v": data.few[:some]})
    return Contender(lambda: frame.rolling("i", period=f"{n}i").agg(answer.alias("v"))["v"], some, compared=False)


def modes(data: Data, n: int) -> Contenders:
    return {
        OURS: Contender(lambda: sw.rolling(data.few, sw.mode, rows=n)),
        "polars": in_polars(data, n, pl.col("v").mode().min()),
    }


def top_three(data: Data, n: int) -> Contenders:
    import pyarrow as pa

    column = pa.array(data.few)
    return {
        OURS: Contender(lambda: sw.rolling(column, sw.top_k(3), rows=n), compared=False),
        "polars": in_polars(data, n, pl.col("v").value_counts(sort=True).head(3)),
    }


def entropies(data: Data, n: int) -> Contenders:
    return {
        OURS: Contender(lambda: sw.rolling(data.few, sw.entropy, rows=n)),
        "polars": in_polars(data, n, pl.col("v").unique_counts().entropy(2)),
    }


def histograms(data: Data, n: int) -> Contenders:
    import pyarrow as pa

    column = pa.array(data.few)
    histogram = sw.histogram(edges=[5.0, 10.0, 15.0])
    counts = pl.col("v").cut([5.0, 10.0, 15.0]).value_counts()
    return {
        OURS: Contender(lambda: sw.rolling(column, histogram, rows=n), compared=False),
        "polars": in_polars(data, n, counts),
    }


def seconds(data: Data) -> Any:
    """A moment for each row, from a second to three after the one before."""
    return np.datetime64("2024-03-01", "us") + np.cumsum((data.w * 2e6).astype(np.int64) + 10**6).astype("m8[us]")


def decayed_means(data: Data, n: int) -> Contenders:
    """With a half-life of n seconds, over all rows so far. What polars means by it is another mean: each step takes it
    a part of the way to the new value, the longer the step, the further. Ours is of weighted rows."""
    times = seconds(data)
    frame = pl.DataFrame({"t": times, "x": data.x})
    mean, theirs = sw.ewm_mean(halflife=f"{n}s"), pl.col("x").ewm_mean_by("t", half_life=f"{n}s")
    return {
        OURS: Contender(lambda: sw.rolling(data.x, mean, times=times, last="all")),
        "polars": Contender(lambda: frame.select(theirs).to_series().to_numpy(), compared=False),
    }


def decayed_means_of_windows(data: Data, n: int) -> Contenders:
    """The same over the last n seconds, which polars has not: its time is that over all rows so far."""
    times = seconds(data)
    theirs = decayed_means(data, n)["polars"]
    mean = sw.ewm_mean(halflife=f"{n}s")
    return {OURS: Contender(lambda: sw.rolling(data.x, mean, times=times, last=f"{n}s")), "polars": theirs}


def slopes_on_time(data: Data, n: int) -> Contenders:
    """Over the last n seconds, with a row in each."""
    clock = np.arange(len(data.y))
    times = np.datetime64("2024-03-01", "us") + clock.astype("m8[s]").astype("m8[us]")
    frame = pl.DataFrame({"x": clock.astype(np.float64), "y": data.y})
    slope = pl.rolling_cov("y", "x", window_size=n, min_samples=2) / pl.col("x").rolling_var(n, min_samples=2)
    return {
        OURS: Contender(lambda: sw.rolling(data.y, sw.slope, times=times, last=f"{n}s")),
        "polars": Contender(lambda: frame.select(slope).to_series().to_numpy(), compared=False),  # is off at the start
    }


def sums_by_category(data: Data, n: int) -> Contenders:
    """Maps of 20 sums for each row of a table, against one sum: what each costs on the same rows. And what it costs to
    write as many keys and values, all the same, to memory that is there."""
    import pyarrow as pa

    table = pa.table({"t": np.arange(len(data.x)), "x": data.x, "kind": data.few})
    by_kind = sw.Sliding(on="t", spent=sw.sum("x").per("kind").over(rows=n))
    one = sw.Sliding(on="t", spent=sw.sum("x").over(rows=n))
    keys, values = (np.zeros(len(by_kind(table).column("spent").combine_chunks().keys)) for _ in range(2))

    def write() -> None:
        keys.fill(1.0)
        values.fill(2.0)

    return {
        OURS: Contender(lambda: by_kind(table), compared=False),
        "without categories": Contender(lambda: one(table), compared=False),
        "only writing": Contender(write, compared=False),
    }


def sums_of_top_categories(data: Data, n: int) -> Contenders:
    """Maps of the five categories of most rows and the rest, of numbers and of text."""
    import pyarrow as pa

    table = pa.table(
        {"t": np.arange(len(data.x)), "x": data.x, "kind": data.few, "text": pa.array(data.few.astype(str))}
    )
    by_kind = sw.Sliding(on="t", spent=sw.sum("x").per("kind", top=5, rest=-1).over(rows=n))
    by_text = sw.Sliding(on="t", spent=sw.sum("x").per("text", top=5).over(rows=n))
    one = sw.Sliding(on="t", spent=sw.sum("x").over(rows=n))
    return {
        OURS: Contender(lambda: by_kind(table), compared=False),
        "categories of text": Contender(lambda: by_text(table), compared=False),
        "without categories": Contender(lambda: one(table), compared=False),
    }


class Case(NamedTuple):
    """A case, the lengths of its windows, how much faster than which peers it has to be (None: nothing is said)."""

    name: str
    contenders: Callable[[Data, int], Contenders]
    windows: tuple[int, ...] = (10, 1_000, 100_000)
    target: float | None = None
    peers: tuple[str, ...] = ("polars", "pandas")


CASES = [
    Case("rank", ranks, target=2.0, peers=("polars",)),
    Case("rank, average of ties", average_ranks, target=2.0, peers=("polars",)),
    Case("slope", slopes, target=2.0),
    Case("skew", skews, target=2.0, peers=("polars",)),
    Case("kurtosis", kurtoses),
    Case("weighted mean", weights),
    Case("mode", modes, (10, 1_000)),
    Case("top 3", top_three, (10, 1_000)),
    Case("entropy", entropies, (10, 1_000)),
    Case("histogram", histograms, (10, 1_000)),
    Case("decayed mean", decayed_means, target=1.5, peers=("polars",)),
    Case("decayed mean of a window", decayed_means_of_windows),
    Case("slope on time", slopes_on_time),
    Case("sum by category", sums_by_category, (10, 1_000), target=0.33, peers=("without categories",)),
    Case("sum by top categories", sums_of_top_categories, (10, 1_000)),
]


def compare(case: str, answers: dict[str, Any], contenders: Contenders) -> None:
    """Everyone's answers against ours, up to what running sums of floats lose."""
    ours = answers[OURS]
    for name, found in answers.items():
        if name == OURS or not contenders[name].compared:
            continue
        a, b = (np.ma.filled(np.ma.asarray(side, np.float64), np.nan)[: len(found)] for side in (ours, found))
        assert np.allclose(a, b, rtol=1e-6, atol=1e-6, equal_nan=True), f"{case}: {name} has other answers"


def measured(case: str, contenders: Contenders, rows: int, turns: int) -> dict[str, float]:
    """The median time of each for all rows, in seconds; they take turns."""
    compare(case, {name: contender.run() for name, contender in contenders.items()}, contenders)
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, contender in contenders.items():
            start = time.perf_counter()
            contender.run()
            taken[name].append((time.perf_counter() - start) * rows / (contender.rows or rows))
    return {name: statistics.median(times) for name, times in taken.items()}


def lines(case: Case, n: int, rows: int, seconds: dict[str, float]) -> list[tuple[Any, ...]]:
    """A line for each contender: its pace, and how many times ours it takes."""
    found: list[tuple[Any, ...]] = []
    for name, taken in seconds.items():
        ratio = taken / seconds[OURS]
        asked = case.target if name in case.peers else None
        met = "" if asked is None or name == OURS else "yes" if ratio >= asked else "no"
        shown = "" if name == OURS else round(ratio, 2)
        found.append((case.name, n, rows, name, round(rows / taken / 1e6, 3), shown, asked or "", met))
    return found


def with_saved(case: str, lines: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The lines of earlier runs, with these in the place of those of their case."""
    with (RESULTS / "window_statistics.csv").open(newline="") as file:
        saved = [tuple(row) for row in csv.reader(line for line in file if not line.startswith("#"))][1:]
    others = {row[0] for row in saved} - {case}
    return [row for one in CASES for row in (lines if one.name == case else saved if one.name in others else [])
            if row[0] == one.name]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rows and turns, and nothing is saved")
    parser.add_argument("--only", choices=[case.name for case in CASES])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=7)
    options = parser.parse_args()
    os.environ[VARIABLE] = "1"
    console = make_console(120)
    rows, turns = (100_000, 3) if options.quick else (options.rows, options.turns)
    data = make_data(rows)
    found: list[tuple[Any, ...]] = []
    for case in CASES:
        if options.only not in (None, case.name):
            continue
        for n in case.windows:
            if n <= rows // 4:
                found += lines(case, n, rows, measured(case.name, case.contenders(data, n), rows, turns))
    table = Table(*FIELDS)
    for line in found:
        table.add_row(*map(str, line))
    console.print(table)
    if not options.quick:
        found = found if options.only is None else with_saved(options.only, found)
        machine = describe_machine(["numpy", "numba", "pandas", "polars", "pyarrow"])
        say_saved(console, [save_csv("window_statistics.csv", machine, FIELDS, found)])


if __name__ == "__main__":
    main()
