"""Answers at other times: `as_of` on tables and on Spark against range joins and rolling windows over a union; reads.

The work: labels that ask for a maximum and a mean over 7 days of events, by card. Peers run as installed, on all cores;
every peer's answers are compared with ours before anything is timed. Contenders take turns, and the median turn counts.
A rival on Spark that takes far longer than the target allows is stopped, and counts as the time it had ("over").

    python benchmarks/as_of.py [--quick] [--only tables|spark|live]
"""

from __future__ import annotations

import argparse
import csv
import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import RESULTS, describe_machine, make_console, save_csv, say_saved
from rich.console import Console

import slidewise as sw

FIELDS = ("part", "work", "rival", "ours_seconds", "rival_seconds", "ratio", "target", "met")
CARD = sw.Sliding(by="card", on="ts", top=sw.max("amount").over("7 days"), mean=sw.mean("amount").over("7 days"))
DAY = 86_400 * 10**6
SPAN = 60 * DAY
Line = tuple[str, str, str, float, Any, float, float, str]


def make_tables(labels: int, events: int, cards: int) -> tuple[pa.Table, pa.Table]:
    """Labels and events within 60 days, each in the order of their times, as a log has them."""
    choose = np.random.default_rng(5)

    def table(rows: int) -> dict[str, Any]:
        times = pa.array(np.sort(choose.integers(0, SPAN, rows)), pa.timestamp("us"))
        return {"card": choose.integers(0, cards, rows), "ts": times}

    asked = pa.table({**table(labels), "id": np.arange(labels)})
    return asked, pa.table({**table(events), "amount": choose.random(events)})


def union_of(labels: pa.Table, events: pa.Table) -> pa.Table:
    """Both in the order of their times; a label comes behind the events of its time, and has no amount."""
    both = pa.concat_tables(
        [events.append_column("id", pa.nulls(len(events), pa.int64())),
         labels.select(["card", "ts"]).append_column("amount", pa.nulls(len(labels), pa.float64()))
         .append_column("id", labels.column("id"))]
    )  # fmt: skip
    return both.take(pa.array(np.argsort(both.column("ts").cast(pa.int64()).to_numpy(), kind="stable")))


def peers_on_tables(labels: pa.Table, events: pa.Table) -> dict[str, Callable[[], dict[str, Any]]]:
    """Each peer's answers, in the labels' order."""
    import duckdb
    import polars as pl

    connection = duckdb.connect()
    connection.register("labels", labels)
    connection.register("events", events)
    query = """
        SELECT l.id, max(e.amount) AS top, avg(e.amount) AS mean FROM labels l
        LEFT JOIN events e ON e.card = l.card AND e.ts <= l.ts AND e.ts > l.ts - INTERVAL 7 DAY
        GROUP BY l.id ORDER BY l.id"""
    asked, happened = pl.from_arrow(labels), pl.from_arrow(events)
    frames = labels.to_pandas(), events.to_pandas()

    def by_polars_union() -> Any:
        """Labels among the events, as rows without an amount, and windows over them all."""
        both = pl.concat([happened, asked], how="diagonal").sort("ts", maintain_order=True)
        rolled = both.rolling("ts", period="7d", group_by="card").agg(
            pl.col("amount").max().alias("top"), pl.col("amount").mean().alias("mean"), pl.col("id").last()
        )
        return rolled.filter(pl.col("id").is_not_null()).sort("id")

    def by_polars_join() -> Any:
        joined = asked.lazy().with_columns((pl.col("ts") - timedelta(days=7)).alias("since")).join_where(
            happened.lazy().rename({"card": "card_2", "ts": "ts_2"}),
            pl.col("card") == pl.col("card_2"),
            pl.col("ts") >= pl.col("ts_2"),
            pl.col("since") < pl.col("ts_2"),
        )  # fmt: skip
        found = joined.group_by("id").agg(pl.col("amount").max().alias("top"), pl.col("amount").mean().alias("mean"))
        return asked.select("id").join(found.collect(engine="streaming"), on="id", how="left").sort("id")

    def by_pandas() -> Any:
        import pandas as pd

        both = pd.concat([frames[1], frames[0]]).sort_values("ts", kind="stable").set_index("ts")
        rolled = both.groupby("card")["amount"].rolling("7D", min_periods=1)
        found = pd.DataFrame({"top": rolled.max(), "mean": rolled.mean()})
        found["id"] = both.sort_values("card", kind="stable")["id"].to_numpy()
        return found[found["id"].notna()].sort_values("id")

    return {
        "DuckDB, range join": lambda: connection.sql(query).to_arrow_table(),
        "polars, rolling over the union": by_polars_union,
        "polars, join_where": by_polars_join,
        "pandas, groupby.rolling over the union": by_pandas,
    }


def check_equal(name: str, found: Any, ours: pa.Table) -> None:
    """A peer's maxima are ours, and its means up to rounding; no row is a null."""
    for column, exact in (("top", True), ("mean", False)):
        mine = ours.column(column).to_pandas().to_numpy()
        theirs = np.asarray(found[column], np.float64)
        same = np.isnan(mine) & np.isnan(theirs)
        same |= mine == theirs if exact else np.isclose(mine, theirs, rtol=1e-9, atol=0)
        assert same.all(), f"{name}: {column} differs in {(~same).sum()} of {len(same)} rows"


def timed(run: Callable[[], Any]) -> float:
    gc.collect()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def tables(console: Console, quick: bool) -> list[Line]:
    counts = (100_000, 1_000_000, 1_000) if quick else (1_000_000, 10_000_000, 10_000)
    labels, events = make_tables(*counts)
    work = f"{counts[0]:,} labels over {counts[1]:,} events, {counts[2]:,} cards"
    ours, union = CARD.as_of(labels, events), union_of(labels, events)
    assert CARD(union.slice(0, 1_000)).num_rows == 1_000  # compiled
    lines: list[Line] = []
    turns = 3 if quick else 5
    for name, run in peers_on_tables(labels, events).items():
        check_equal(name, run(), ours)
        mine, theirs = [], []
        for _ in range(turns):
            mine.append(timed(lambda: CARD.as_of(labels, events)))
            if not theirs or theirs[0] < 20:
                theirs.append(timed(run))
        target = 10.0 if name.startswith("DuckDB") else 5.0
        lines.append(line("tables", work, name, mine, theirs, target))
        console.print(*lines[-1], sep=" | ", soft_wrap=True)
    mine, theirs = [], []
    for _ in range(turns):
        mine.append(timed(lambda: CARD.as_of(labels, events)))
        theirs.append(timed(lambda: CARD(union)))
    lines.append(line("tables", work, "definition(table) over the union", mine, theirs, 1.0))
    console.print(*lines[-1], sep=" | ", soft_wrap=True)
    return lines


def line(part: str, work: str, rival: str, ours: list[float], theirs: list[float], target: float) -> Line:
    """How many times as fast as the rival."""
    mine, other = statistics.median(ours), statistics.median(theirs)
    ratio = other / mine
    return part, work, rival, round(mine, 3), round(other, 3), round(ratio, 2), target, met(ratio >= target)


def met(holds: bool) -> str:
    return "met" if holds else "missed"


def on_spark(console: Console, quick: bool) -> list[Line]:
    """Against the floor of moving rows, and against range joins; these take time by the square of a card's events."""
    from spark_batch import session

    labels, events = (100_000, 1_000_000) if quick else (1_000_000, 10_000_000)
    spark = session()
    lines: list[Line] = []
    for cards in (events // 1_000, events // 10_000):
        lines += over_cards(spark, console, (labels, events, cards), floors=cards == events // 1_000, quick=quick)
    spark.stop()
    return lines


def over_cards(spark: Any, console: Console, counts: tuple[int, int, int], floors: bool, quick: bool) -> list[Line]:
    from pyspark.sql import functions as F
    from spark_batch import Work, compare, run

    work = f"{counts[0]:,} labels over {counts[1]:,} events, {counts[2]:,} cards"
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as directory:
        labels, events = written(spark, Path(directory), counts)
        both = events.unionByName(labels, allowMissingColumns=True)
        shuffled = both.repartition(F.xxhash64("card"))
        arranged = shuffled.sortWithinPartitions("card", "ts")

        def identity(batches: Iterator[Any]) -> Iterator[Any]:  # in here, so that it is pickled by value
            yield from batches

        def joined() -> Any:
            e = events.select(F.col("card").alias("c"), F.col("ts").alias("t"), "amount")
            near = (F.col("c") == F.col("card")) & (F.col("t") <= F.col("ts"))
            near &= F.col("t") > F.col("ts") - F.expr("INTERVAL 7 DAYS")
            return labels.join(e, near, "left").groupBy("id").agg(
                F.max("amount").alias("top"), F.avg("amount").alias("mean")
            )  # fmt: skip

        def ours() -> Any:
            return CARD.as_of(labels, events)

        if floors:
            check_on_spark(CARD, labels, events, joined)
        run(spark, ours)  # the first query of a session is slower than any other
        rivals = [Work("spark", work, ours, joined, "Spark's range join with groupBy", 20.0)]
        if floors:
            name = "identity mapInArrow over the union, shuffled"
            rivals += [
                Work("spark", work, ours, lambda: arranged.mapInArrow(identity, both.schema), f"{name} and sorted",
                     1.25, True),
                Work("spark", work, ours, lambda: shuffled.mapInArrow(identity, both.schema), f"{name} only",
                     1.25, True),
            ]  # fmt: skip
        for one in rivals:
            mine, theirs, stopped = compare(spark, one, 1 if quick else 3)
            ratio = mine / theirs if one.floor else theirs / mine
            lines.append(
                ("spark", work, one.rival_name, round(mine, 2), f"over {theirs:.0f}" if stopped else round(theirs, 2),
                 round(ratio, 2), one.target, met(one.met(ratio)))
            )  # fmt: skip
            console.print(*lines[-1], sep=" | ", soft_wrap=True)
    return lines


def written(spark: Any, directory: Path, counts: tuple[int, int, int]) -> list[Any]:
    """Labels and events as DataFrames of Parquet files."""
    frames = []
    for name, table in zip(("labels", "events"), make_tables(*counts), strict=True):
        zoned = table.set_column(1, "ts", table.column("ts").cast(pa.timestamp("us", "UTC")))
        parts = directory / name
        parts.mkdir()
        size = -(-len(zoned) // 4)
        for i in range(4):
            pq.write_table(zoned.slice(i * size, size), parts / f"{i}.parquet")
        frames.append(spark.read.parquet(str(parts)))
    return frames


def check_on_spark(definition: sw.Sliding, labels: Any, events: Any, joined: Callable[[], Any]) -> None:
    """The range join's answers are ours, for the labels of a hundredth of the cards."""
    some = "card % 100 = 3"
    mine = definition.as_of(labels.where(some), events.where(some)).orderBy("id").toArrow()
    theirs = joined().join(labels.where(some).select("id"), "id").orderBy("id").toArrow()
    assert mine.column("id").equals(theirs.column("id"))
    check_equal("Spark's range join", {n: theirs.column(n).to_pandas().to_numpy() for n in ("top", "mean")}, mine)


def with_saved(lines: list[Line], parts: set[str]) -> list[Any]:
    """The lines of earlier runs of other parts, and these."""
    path = RESULTS / "as_of.csv"
    if not path.exists():
        return list(lines)
    with path.open(newline="") as file:
        saved = list(csv.reader(row for row in file if not row.startswith("#")))[1:]
    return [*(tuple(row) for row in saved if row[0] not in parts), *lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, fewer turns, nothing saved")
    parser.add_argument("--only", choices=("tables", "spark", "live"), help="one part; its lines replace those saved")
    options = parser.parse_args()
    console = make_console(170)
    machine = describe_machine(["numpy", "numba", "pyarrow", "pandas", "polars", "duckdb", "pyspark"])
    console.print(machine)
    lines: list[Line] = []
    parts: dict[str, Callable[[Console, bool], list[Line]]] = {"tables": tables, "spark": on_spark, "live": live}
    for part, run in parts.items():
        if options.only in (None, part):
            lines += run(console, options.quick)
    if not options.quick:
        rows = with_saved(lines, {row[0] for row in lines})
        say_saved(console, [save_csv("as_of.csv", machine, FIELDS, rows)])


def live(console: Console, quick: bool) -> list[Line]:
    from as_of_live import reads

    return reads(console, quick)


if __name__ == "__main__":
    main()
