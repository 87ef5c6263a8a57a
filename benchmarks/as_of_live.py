"""Reads of a live definition: `get` over small and large windows, its calls of combine, and `get_many` against it.

The definition is one maximum and one mean over a stretch of time. Reads are as of times anywhere in the window's
future, at several phases of the structure, and the median read counts. Contenders take turns.

    python benchmarks/as_of_live.py [--quick]
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import random
import statistics
import time
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from common import describe_machine, make_console
from rich.console import Console

import slidewise as sw
from slidewise.engine import window_spec
from slidewise.operators.traits import PLAIN

TARGET = 20e-6
Line = tuple[str, str, str, float, Any, float, float, str]


def definition(rows: int) -> sw.Sliding:
    """One event comes at each unit of time, so this is how many rows a window holds."""
    return sw.Sliding(by="card", on="ts", top=sw.max("amount").over(rows), mean=sw.mean("amount").over(rows))


def filled(rows: int) -> Any:
    live = definition(rows).live()
    times = np.arange(rows)
    amounts = np.random.default_rng(5).random(rows)
    live.push_many(pa.table({"card": np.zeros(rows, np.int64), "ts": times, "amount": amounts}))
    live.push({"card": 0, "ts": rows, "amount": 0.5})  # which builds the windows
    return live


def push_on(live: Any, start: int, count: int) -> int:
    choose = random.Random(start)
    for at in range(start, start + count):
        live.push({"card": 0, "ts": at, "amount": choose.random()})
    return start + count


def read_times(live: Any, now: int, rows: int, reads: int) -> list[float]:
    """Seconds of each read, as of times in the window's future."""
    choose = random.Random(rows + now)
    seconds = []
    for _ in range(reads):
        at = now + choose.randrange(rows)
        start = time.perf_counter()
        live.get({"card": 0}, at=at)
        seconds.append(time.perf_counter() - start)
    return seconds


def counted(operator: sw.Operator, calls: list[int]) -> sw.Operator:
    """The operator with its calls of combine counted."""

    def combine(a: Any, b: Any) -> Any:
        calls[0] += 1
        return operator.combine(a, b)

    return dataclasses.replace(operator, combine=combine, builtin=False, traits=PLAIN)


def worst_calls(rows: int) -> int:
    """The most calls of combine that a read makes for one aggregate, at a few phases of the structure."""
    calls = [0]
    live: Any = sw.Sliding(by="card", on="ts", top=counted(sw.max, calls)("amount").over(rows)).live()
    now, worst = push_on(live, 0, rows), 0
    choose = random.Random(rows)
    for _ in range(4):
        now = push_on(live, now, rows // 5)
        for _ in range(500):
            calls[0] = 0
            live.get({"card": 0}, at=now + choose.randrange(rows))
            worst = max(worst, calls[0])
    return worst


def single_reads(rows: int, phases: int, reads: int) -> list[float]:
    live = filled(rows)
    now = rows
    seconds: list[float] = []
    for _ in range(phases):
        now = push_on(live, now + 1, rows // (2 * phases)) - 1
        seconds += read_times(live, now, rows, reads)
    return seconds


def many_reads(keys: int, rows: int, requests: int, turns: int) -> tuple[list[float], list[float]]:
    """Seconds of `get_many`, and of as many `get`, in turn; a tenth of the latter are timed."""
    choose = np.random.default_rng(7)
    live = definition(rows).live()
    events = keys * rows
    table = {"card": np.arange(events) % keys, "ts": np.arange(events) // keys, "amount": choose.random(events)}
    for event in pa.table(table).to_pylist():
        live.push(event)
    asked = pa.table({"card": choose.integers(0, keys, requests), "ts": rows + choose.integers(0, rows, requests)})
    some = asked.slice(0, requests // 10).to_pylist()
    answered = live.get_many(asked)
    for row, answers in zip(some, answered.slice(0, len(some)).to_pylist(), strict=True):
        found = live.get(row, at=row["ts"])
        assert found == {name: answers[name] for name in found}, (row, found, answers)
    ours, theirs = [], []
    for _ in range(turns):
        start = time.perf_counter()
        live.get_many(asked)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        for row in some:
            live.get(row, at=row["ts"])
        theirs.append(10 * (time.perf_counter() - start))
    return ours, theirs


def pushes(rows: int, turns: int) -> tuple[list[float], list[float]]:
    """Seconds of pushes, and of pushes into windows that cannot be read as of a later time, in turn."""
    with patch.object(window_spec, "_INDEXED", {}):
        plain = definition(rows).live()
        push_on(plain, 0, rows)
    live = definition(rows).live()
    now = push_on(live, 0, rows)
    ours, theirs = [], []
    for _ in range(turns):
        for contender, seconds in ((live, ours), (plain, theirs)):
            start = time.perf_counter()
            push_on(contender, now, 2_000)
            seconds.append((time.perf_counter() - start) / 2_000)
        now += 2_000
    return ours, theirs


def line(work: str, rival: str, ours: float, theirs: float, target: float) -> Line:
    ratio = theirs / ours
    met = "met" if ratio >= target else "missed"
    return "live", work, rival, float(f"{ours:.3g}"), float(f"{theirs:.3g}"), round(ratio, 2), target, met


def reads(console: Console, quick: bool) -> list[Line]:
    """The lines of `benchmarks/as_of.py` about reads."""
    lines: list[Line] = []

    def add(new: Line) -> None:
        lines.append(new)
        console.print(*new, sep=" | ", soft_wrap=True)

    for rows in (1_000, 100_000 if quick else 1_000_000):
        found = statistics.median(single_reads(rows, 4, 500 if quick else 2_000))
        add(line(f"get over {rows:,} rows", "20 us", found, TARGET, 1.0))
    for rows in (1_000, 10_000) if quick else (1_000, 100_000):
        bound = 3 * math.log2(rows) + 3
        add(line(f"calls of a get over {rows:,} rows, at worst", "3 log2 n + 3 calls", worst_calls(rows), bound, 1.0))
    turns = 3 if quick else 7
    for keys, rows in ((1_000, 50), (10, 5_000)):
        ours, theirs = (statistics.median(part) for part in many_reads(keys, rows, 100_000, turns))
        add(line(f"get_many of 100,000, {keys:,} keys of {rows:,} rows", "as many get", ours, theirs, 20.0))
    ours, theirs = (statistics.median(part) for part in pushes(1_000, 3 * turns))
    add(line("push into windows of 1,000 rows", "push without the index of reads", ours, theirs, 0.9))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller windows and fewer turns")
    console = make_console(150)
    console.print(describe_machine(["numpy", "numba", "pyarrow"]))
    reads(console, parser.parse_args().quick)


if __name__ == "__main__":
    main()
