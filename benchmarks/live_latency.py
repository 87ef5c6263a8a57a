"""The latency of single events: how long the slowest of ten million calls of `push` take, against the median.

One stream with a maximum and a mean over the last 100,000 rows, and beside it the same two windows kept by Two-Stacks
Lite, whose flips go over the whole window. A step that only makes the event shows what the machine adds by itself:
interrupts count as the process's own time. The garbage collector runs as it always does. Processor time is measured: by
the clock a machine with other work takes a process off its core for 4 ms at a time, whatever it runs.

The stream is at work when measuring begins: all it needs is compiled, and its windows have gone over to arrays. How
long the slowest event takes until then is a line of its own.

    python benchmarks/live_latency.py [--quick]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import describe_machine, make_console, save_csv, say_saved
from rich.table import Table

import slidewise as sw

ROWS = 100_000
MOST = 5_000_000  # events after which a stream is measured, whatever is compiled by then
SHARES = (50, 99, 99.99, 99.999, 100)


def latencies(step: Callable[[int], Any], count: int) -> list[float]:
    """Percentiles of the processor time of a step, in microseconds."""
    taken = np.empty(count, np.int64)
    clock = time.thread_time_ns
    for i in range(count):
        start = clock()
        step(i)
        taken[i] = clock() - start
    return [float(x) / 1e3 for x in np.percentile(taken, SHARES)]


def live_step(values: list[float], at_work: bool = False) -> Callable[[int], Any]:
    """Events of a stream; `at_work` once its windows are full, lie in arrays, and all it needs is compiled."""
    health = sw.Sliding(on="t", peak=sw.max("x").over(rows=ROWS), mean=sw.mean("x").over(rows=ROWS))
    live = health.live()
    push = live.push
    number = 0

    def step(i: int) -> Any:
        nonlocal number
        number += 1
        return push({"t": number, "x": values[i & 0xFFFF]})

    while at_work and (number < 2 * ROWS or live.event_pass is None) and number < MOST:
        step(number)
    return step


def live_at_work(values: list[float]) -> Callable[[int], Any]:
    return live_step(values, at_work=True)


def event_alone(values: list[float]) -> Callable[[int], Any]:
    """A step that makes the event, and nothing of it."""

    def step(i: int) -> Any:
        return {"t": i, "x": values[i & 0xFFFF]}

    return step


def two_stacks_step(values: list[float]) -> Callable[[int], Any]:
    windows = [sw.TwoStacksLite(sw.max), sw.TwoStacksLite(sw.mean)]
    for window in windows:
        for i in range(ROWS):
            window.insert(values[i & 0xFFFF])

    def step(i: int) -> Any:
        answers = []
        for window in windows:
            window.insert(values[i & 0xFFFF])
            window.evict()
            answers.append(window.query())
        return answers

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer events")
    quick = parser.parse_args().quick
    console = make_console(110)
    machine = describe_machine(["numpy", "numba"])
    count = 300_000 if quick else 10_000_000
    values = [random.Random(4).random() for _ in range(1)] + [random.random() for _ in range(0xFFFF)]
    rows = []
    shown = Table("", *(f"p{share}" for share in SHARES), "p99.99 / median", "worst / median")
    for name, make, size in [
        ("live.push", live_at_work, count),
        ("live.push from the first event on", live_step, 10 * ROWS),
        ("the event alone", event_alone, count),
        ("Two-Stacks Lite, interpreted", two_stacks_step, count // 10),
    ]:
        found = latencies(make(values), size)
        rows.append((name, size, *found))
        ratios = [found[2] / found[0], found[-1] / found[0]]
        shown.add_row(f"{name}, {size:,} events", *(f"{x:.3g} us" for x in found), *(f"{x:.3g}" for x in ratios))
    console.print(shown)
    if quick:
        console.print("a quick run is not saved")
        return
    fields = ("contender", "events", *(f"p{share}_us" for share in SHARES))
    say_saved(console, [save_csv("live_latency.csv", machine, fields, rows)])


if __name__ == "__main__":
    sys.exit(main())
