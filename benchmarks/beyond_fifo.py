"""Beyond first in, first out: what FiBA costs where rows are in order, and what rows that come late cost.

Rounds are evict, insert and query of an int64 sum in a window of 2^14 rows, inside compiled code; contenders take
turns, and the median counts. Calls of `combine` are counted in the interpreted classes. Late rows come d places
from the young end of such a window. Live events go through a definition, one by one.

    python benchmarks/beyond_fifo.py [--quick]
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time
from typing import Any

import numpy as np
from common import describe_machine, make_console, save_csv, say_saved
from rich.table import Table

import slidewise as sw
from slidewise.operators.traits import PLAIN

N = 2**14
COMPILED = [sw.Fiba, sw.DabaLite, sw.TwoStacksLite]


def compiled_rounds(rounds: int, turns: int) -> dict[str, float]:
    """Rounds per second inside compiled code."""
    choose = np.random.default_rng(1)
    values = choose.integers(0, 100, rounds)
    windows: dict[str, Any] = {}
    for algorithm in COMPILED:
        window = windows[algorithm.__name__] = sw.compiled(algorithm, sw.sum, "int64")
        window.insert_many(choose.integers(0, 100, N))
        window.rounds(values[:1000])
    seconds: dict[str, list[float]] = {name: [] for name in windows}
    for _ in range(turns):
        for name, window in windows.items():
            start = time.perf_counter()
            window.rounds(values)
            seconds[name].append(time.perf_counter() - start)
    return {name: rounds / statistics.median(taken) for name, taken in seconds.items()}


def counted() -> tuple[sw.Operator, list[int]]:
    calls = [0]

    def combine(a: int, b: int) -> int:
        calls[0] += 1
        return a + b

    return dataclasses.replace(sw.count, combine=combine, builtin=False, traits=PLAIN), calls


def calls_per_round(rounds: int) -> dict[str, float]:
    """Calls of combine in a window of N rows in order."""
    found = {}
    for name, make in {
        **{f"Fiba, min_arity={arity}": lambda op, arity=arity: sw.Fiba(op, arity) for arity in (2, 4, 8)},
        "DabaLite": sw.DabaLite,
    }.items():
        operator, calls = counted()
        window = make(operator)
        for i in range(N):
            window.insert(i)
        before = calls[0]
        for i in range(rounds):
            window.evict()
            window.insert(i)
            window.query()
        found[name] = (calls[0] - before) / rounds
    return found


def late_rows(rows: int, turns: int) -> list[tuple[int, float, float]]:
    """For each distance: calls of combine, and microseconds, of a late row; the row that leaves is not counted."""
    found = []
    for d in (1, 10, 100, 1_000, 8_000):
        calls_each, seconds_each = [], []
        for _ in range(turns):
            operator, calls = counted()
            window = sw.Fiba(operator)
            window.bulk_insert((10 * i, i) for i in range(N))
            taken, before, spent = 0.0, 0, 0
            for i in range(rows):
                window.evict()
                window.insert(10 * (N + i), i)
                before = calls[0]
                start = time.perf_counter()
                window.insert(10 * (N + i - d) + 5, i)
                taken += time.perf_counter() - start
                spent += calls[0] - before
            calls_each.append(spent / rows)
            seconds_each.append(taken / rows)
        found.append((d, statistics.median(calls_each), 1e6 * statistics.median(seconds_each)))
    return found


def live_events(rows: int, turns: int) -> dict[str, float]:
    """Microseconds for an event of a maximum and a mean over 1,000 rows, and for an answer that a late one changes."""
    definition = sw.Sliding(on="t", peak=sw.max("x").over(10_000), mean=sw.mean("x").over(10_000))
    values = np.random.default_rng(2).random(rows).tolist()
    seconds: dict[str, list[float]] = {}
    for _ in range(turns):
        for name, made in {
            "live()": definition.live(),
            "live(late='wait:0')": definition.live(late="wait:0"),
            "live(late='revise'), in order": definition.live(late="revise"),
        }.items():
            start = time.perf_counter()
            for i, x in enumerate(values):
                made.push({"t": 10 * i, "x": x})
            seconds.setdefault(name, []).append((time.perf_counter() - start) / rows)
        given = 0
        start = time.perf_counter()
        for i in range(20):
            given += len(made.push({"t": 10 * (rows - 900 + 40 * i) + 5, "x": 2.0 + i}))
        seconds.setdefault("live(late='revise'), an answer given again", []).append(
            (time.perf_counter() - start) / given
        )
    return {name: 1e6 * statistics.median(taken) for name, taken in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    quick = parser.parse_args().quick
    console = make_console(100)
    machine = describe_machine(["numba", "numpy"])
    rows: list[tuple[str, str, float, str]] = []
    for name, rate in compiled_rounds(200_000 if quick else 2_000_000, 5 if quick else 15).items():
        rows.append(("compiled rounds, int64 sum, n = 2^14", name, rate / 1e6, "million/s"))
    for name, calls in calls_per_round(N if quick else 4 * N).items():
        rows.append(("calls of combine per round, n = 2^14", name, calls, "calls"))
    for d, calls, micros in late_rows(500 if quick else 3_000, 1 if quick else 5):
        rows.append((f"a row {d} places late, interpreted", "Fiba", calls, "calls"))
        rows.append((f"a row {d} places late, interpreted", "Fiba", micros, "us"))
    for name, micros in live_events(2_000 if quick else 5_000, 1 if quick else 5).items():
        rows.append(("an event of max and mean over 1,000 rows", name, micros, "us"))
    table = Table(title="Beyond first in, first out")
    for heading in ("what", "which", "value", "unit"):
        table.add_column(heading)
    for what, which, value, unit in rows:
        table.add_row(what, which, f"{value:.3g}", unit)
    console.print(table)
    if not quick:
        say_saved(console, [save_csv("beyond_fifo.csv", machine, ("what", "which", "value", "unit"), rows)])


if __name__ == "__main__":
    main()
