"""Definitions: the cost of `push` against the SWAG calls it stands for, of batches, of tables, and of snapshots.

Contenders take turns, and the median turn counts. The events are those of 1,000 machines, each with a temperature every
few seconds; the definition is one maximum and one mean over ten minutes.

    python benchmarks/definitions.py [--quick] [--live]
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from importlib.util import find_spec
from typing import Any

import pyarrow as pa
from common import describe_machine, make_console, save_csv, say_saved
from rich.table import Table

import slidewise as sw

KEYS = 1_000
WINDOW = timedelta(minutes=10)
DEFINITION = sw.Sliding(
    by="machine", on="ts", peak=sw.max("temp").over("10 minutes"), mean=sw.mean("temp").over("10 minutes")
)
MEAN = sw.Sliding(by="machine", on="ts", mean=sw.mean("temp").over("10 minutes"))


def make_events(count: int) -> list[dict[str, Any]]:
    choose = random.Random(7)
    start = datetime(2024, 3, 1)
    gap = 5.0 / KEYS  # each machine has an event every five seconds, on average
    return [
        {
            "machine": choose.randrange(KEYS),
            "ts": start + timedelta(seconds=i * gap),
            "temp": 70 + choose.random() * 10,
        }
        for i in range(count)
    ]


def some_late(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same events, of which one in a hundred has a time some seconds before that of its place in the stream."""
    choose = random.Random(3)
    return [
        {**event, "ts": event["ts"] - timedelta(seconds=choose.randrange(1, 10))} if choose.random() < 0.01 else event
        for event in events
    ]


def timed(run: Callable[[], Any]) -> float:
    gc.collect()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def medians(contenders: dict[str, Callable[[], Callable[[], Any]]], turns: int) -> dict[str, float]:
    """The median time of each contender over interleaved turns; what a maker prepares is not timed."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, make in contenders.items():
            times[name].append(timed(make()))
    return {name: statistics.median(found) for name, found in times.items()}


def swag_calls(events: list[dict[str, Any]]) -> Callable[[], Callable[[], None]]:
    """Just the calls of insert, evict and query that the definition stands for, found out beforehand."""
    held: dict[int, deque[datetime]] = {}
    script = []
    for event in events:
        times = held.setdefault(event["machine"], deque())
        out = 0
        while times and times[0] <= event["ts"] - WINDOW:
            times.popleft()
            out += 1
        times.append(event["ts"])
        script.append((event["machine"], event["temp"], out))

    def make() -> Callable[[], None]:
        windows = [(sw.DabaLite(sw.max), sw.DabaLite(sw.mean)) for _ in range(KEYS)]

        def run() -> None:
            for key, x, out in script:
                one, two = windows[key]
                one.insert(x)
                two.insert(x)
                for _ in range(out):
                    one.evict()
                    two.evict()
                one.query()
                two.query()

        return run

    return make


def timed_by_hand(events: list[dict[str, Any]]) -> Callable[[], Callable[[], None]]:
    """A dict of `sw.Timed` windows, as one would write it without a definition."""

    def make() -> Callable[[], None]:
        windows = [
            (sw.Timed(sw.DabaLite(sw.max), last=WINDOW), sw.Timed(sw.DabaLite(sw.mean), last=WINDOW))
            for _ in range(KEYS)
        ]

        def run() -> None:
            for event in events:
                for window in windows[event["machine"]]:
                    window.insert(event["ts"], event["temp"])
                    window.query()

        return run

    return make


def river_by_hand(events: list[dict[str, Any]]) -> Callable[[], Callable[[], None]]:
    """A dict of river's means over time; it has no maximum over time."""
    from river import stats, utils  # type: ignore[import-not-found,unused-ignore]

    half = len(events) // 2

    def make() -> Callable[[], None]:
        means: dict[int, Any] = {}

        def push(event: dict[str, Any]) -> float:
            mean = means.get(event["machine"])
            if mean is None:
                mean = means[event["machine"]] = utils.TimeRolling(stats.Mean(), period=WINDOW)
            mean.update(event["temp"], t=event["ts"])
            answer: float = mean.get()
            return answer

        for event in events[:half]:
            push(event)

        def run() -> None:
            for event in events[half:]:
                push(event)

        return run

    return make


def pushes(
    events: list[dict[str, Any]], definition: sw.Sliding = DEFINITION, **options: Any
) -> Callable[[], Callable[[], None]]:
    """Single events of a stream at work, as in `batches`."""
    half = len(events) // 2
    first = pa.Table.from_pylist(events[:half])

    def make() -> Callable[[], None]:
        live = definition.live(**options)
        live.push_many(first)
        push = live.push

        def run() -> None:
            for event in events[half:]:
                push(event)

        return run

    return make


def batches(table: pa.Table, size: int, **options: Any) -> Callable[[], Callable[[], None]]:
    """Batches of a stream at work: its first half is in the windows already, and the second is timed."""
    half = len(table) // 2
    pieces = [table.slice(at, size) for at in range(half, len(table), size)]

    def make() -> Callable[[], None]:
        live = DEFINITION.live(**options)
        live.push_many(table.slice(0, half))

        def run() -> None:
            for piece in pieces:
                live.push_many(piece)

        return run

    return make


def deques_by_hand(events: list[dict[str, Any]]) -> Callable[[], Callable[[], None]]:
    """A dict of deques, written for this one definition: a sliding maximum and a float sum, one event at a time."""
    half = len(events) // 2

    def make() -> Callable[[], None]:
        rows: dict[int, deque[tuple[datetime, float]]] = {}
        peaks: dict[int, deque[tuple[datetime, float]]] = {}
        sums: dict[int, float] = {}

        def push(event: dict[str, Any]) -> dict[str, float]:
            key, time, x = event["machine"], event["ts"], event["temp"]
            held = rows.get(key)
            if held is None:
                held, peaks[key], sums[key] = rows.setdefault(key, deque()), deque(), 0.0
            peak = peaks[key]
            cut = time - WINDOW
            total = sums[key] + x
            held.append((time, x))
            while held[0][0] <= cut:
                total -= held.popleft()[1]
            while peak and peak[-1][1] < x:
                peak.pop()
            peak.append((time, x))
            while peak[0][0] <= cut:
                peak.popleft()
            sums[key] = total
            return {"peak": peak[0][1], "mean": total / len(held)}

        for event in events[:half]:
            push(event)

        def run() -> None:
            for event in events[half:]:
                push(event)

        return run

    return make


def peers_on_tables(table: pa.Table) -> dict[str, Callable[[], Callable[[], Any]]]:
    """The definition over a table, and the same from pandas, polars and DuckDB, each with its own kind of table."""
    import duckdb
    import polars as pl

    frame = table.to_pandas()
    polars = pl.from_arrow(table)
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("events", table)
    window = "(PARTITION BY machine ORDER BY ts RANGE INTERVAL 10 MINUTE PRECEDING)"
    query = f"SELECT *, max(temp) OVER w AS peak, avg(temp) OVER w AS mean FROM events WINDOW w AS {window}"

    def by_pandas() -> Any:
        grouped = frame.set_index("ts").groupby("machine")["temp"].rolling("10min")
        return grouped.max(), grouped.mean()

    def by_polars() -> Any:
        rolled = polars.rolling("ts", period="10m", group_by="machine")
        return rolled.agg(pl.col("temp").max().alias("peak"), pl.col("temp").mean().alias("mean"))

    return {
        "slidewise, pyarrow": lambda: lambda: DEFINITION(table),
        "slidewise, pandas": lambda: lambda: DEFINITION(frame),
        "slidewise, polars": lambda: lambda: DEFINITION(polars),
        "pandas groupby.rolling": lambda: by_pandas,
        "polars rolling(group_by)": lambda: by_polars,
        "DuckDB RANGE": lambda: lambda: connection.sql(query).to_arrow_table(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer events and turns")
    parser.add_argument("--live", action="store_true", help="only single events and batches, saved by themselves")
    given = parser.parse_args()
    quick = given.quick
    console = make_console(110)
    machine = describe_machine(["numpy", "numba", "pyarrow", "pandas", "polars", "duckdb"])
    console.print(machine)
    count, turns = (60_000, 3) if quick else (200_000, 5)
    if quick and given.live:
        count = 160_000  # so that rows leave
    events = make_events(count)
    table = pa.Table.from_pylist(events)
    DEFINITION(table.slice(0, 1_000))  # compile
    DEFINITION.live().push_many(table.slice(0, 1_000))

    rows: list[tuple[str, str, int, float, float]] = []

    def report(title: str, base: str, found: dict[str, float], size: int) -> None:
        shown = Table("", "us per event", f"x {base}", title=title, title_justify="left")
        for name, seconds in found.items():
            rows.append((title, name, size, seconds / size * 1e6, seconds / found[base]))
            shown.add_row(name, f"{seconds / size * 1e6:.3g}", f"{seconds / found[base]:.3g}")
        console.print(shown)

    half = count // 2
    one_by_one = {
        "the SWAG calls alone": swag_calls(events[half:]),
        "live.push": pushes(events),
        "live.push, late='wait:10s'": pushes(events, late="wait:10s"),
        "live.push, late='revise', 1 % late": pushes(some_late(events), late="revise"),
        "a dict of deques by hand": deques_by_hand(events),
        "sw.Timed in a dict": timed_by_hand(events[half:]),
    }
    if find_spec("river"):
        one_by_one["river, the mean alone"] = river_by_hand(events)
        one_by_one["live.push, the mean alone"] = pushes(events, MEAN)
    found = medians(one_by_one, turns)
    report(f"one event at a time, {KEYS:,} keys, {half:,} events", "live.push", found, half)

    sizes = [100, 1_000, 10_000, 100_000] if not quick else [100, 1_000, 10_000]
    contenders = {f"push_many of {size:,}": batches(table, size) for size in sizes}
    for size in sizes[:3]:
        contenders[f"push_many of {size:,}, late='wait:10s'"] = batches(table, size, late="wait:10s")
    revised = pa.Table.from_pylist(some_late(events))
    for size in sizes[:3]:
        contenders[f"push_many of {size:,}, late='revise', 1 % late"] = batches(revised, size, late="revise")
    found = medians({"a dict of deques by hand": deques_by_hand(events), **contenders}, max(3, turns // 2))
    report("batches", "a dict of deques by hand", found, half)

    fields = ("part", "contender", "events", "us_per_event", "ratio")
    if given.live:
        say_saved(console, [save_csv("definitions_live.csv", machine, fields, rows)])
        return
    large = pa.Table.from_pylist(make_events(100_000 if quick else 1_000_000))
    found = medians(peers_on_tables(large), 3 if quick else 5)
    report(f"tables of {len(large):,} rows, everyone as installed", "slidewise, pyarrow", found, len(large))

    live = DEFINITION.live()
    for event in events:
        live.push(event)
    blob = live.snapshot()
    held = sum(state.panes[0].held() for state in live.key_states.values())
    found = {"snapshot": timed(live.snapshot), "restore": timed(lambda: DEFINITION.restore(blob))}
    report(f"a snapshot of {held:,} rows, {len(blob) / held:.0f} bytes for each", "snapshot", found, held)
    if quick:
        console.print("a quick run is not saved")
        return
    say_saved(console, [save_csv("definitions.csv", machine, fields, rows)])


if __name__ == "__main__":
    sys.exit(main())
