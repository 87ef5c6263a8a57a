"""Tables, `rolling` and `as_of` with one thread and with several: the same answers, by the clock.

Turns alternate between one thread and as many as `--threads` says; the medians of both are compared, and the fastest
turns. Beside each pair goes a control that shares out hashing, which needs no memory: what threads can gain on the
machine as it is just then. Answers of both are compared, bit for bit, before anything is timed. A run replaces the
lines of its works among those saved.

    python benchmarks/threads.py [--quick] [--rows 1000000] [--threads 2] [--only WORD]
"""

from __future__ import annotations

import argparse
import csv
import gc
import hashlib
import os
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from common import RESULTS, describe_machine, make_console, save_csv, say_saved

import slidewise as sw
from slidewise.kernels.compiler.threads import VARIABLE, share_out

FIELDS = ("part", "work", "rows", "one_thread_ms", "threads_ms", "ratio", "of_fastest", "control", "target", "met")
MANY = 5_000_000  # rows from which on a few works stand for all
TARGET = 1.7
TWO = {"peak": sw.max("x").over("10 minutes"), "mean": sw.mean("x").over("10 minutes")}
SIX = TWO | {
    "spread": sw.stddev("x").over("1 hour"),
    "low": sw.min("x").over(rows=100),
    "total": sw.sum("x").over(rows=1_000),
    "n": sw.count().over("1 hour"),
}
BLOCK = b"x" * 1_000_000
Work = tuple[str, str, int, Callable[[], Any]]


def table(rows: int, keys: int, shuffled: bool, text: bool) -> pa.Table:
    """Events of so many keys, one every five seconds each on average, in the order of their times or in none."""
    choose = np.random.default_rng(3)
    times = choose.integers(0, rows * 5_000_000 // keys, rows)
    numbers = choose.integers(0, keys, rows)
    names = pa.array([f"key {i}" for i in range(keys)]).take(pa.array(numbers)) if text else pa.array(numbers)
    times = times if shuffled else np.sort(times)
    return pa.table({"k": names, "ts": pa.array(times, pa.timestamp("us")), "x": choose.random(rows)})


def tables(rows: int) -> Iterator[Work]:
    two, six = (sw.Sliding(by="k", on="ts", columns=columns) for columns in (TWO, SIX))
    for keys in (10, 1_000, 100_000):
        for shuffled in (False, True):
            for text in (False, True):
                if rows >= MANY and (text == shuffled or (text and keys != 1_000)):
                    continue
                events = table(rows, keys, shuffled, text)
                what = f"{keys:,} {'text' if text else 'int'} keys, {'shuffled' if shuffled else 'by time'}"
                yield "definition", f"2 aggregates, {what}", rows, lambda events=events: two(events)
    events = table(rows, 1_000, True, False)
    yield "definition", "6 aggregates, 1,000 int keys, shuffled", rows, lambda: six(events)
    frame = events.to_pandas()
    yield "definition", "2 aggregates, pandas, 1,000 int keys, shuffled", rows, lambda: two(frame)


def rolling(rows: int) -> Iterator[Work]:
    choose = np.random.default_rng(4)
    x, times, keys = choose.random(rows), np.cumsum(choose.integers(0, 3, rows)), choose.integers(0, 1_000, rows)
    for op in (sw.max, sw.mean, sw.stddev, sw.m4, sw.skew):
        for n in (10, 1_000, 100_000) if rows < MANY else (1_000,):
            yield "rolling", f"{op.name}, {n:,} rows", rows, lambda op=op, n=n: sw.rolling(x, op, rows=n)
        yield "rolling", f"{op.name}, time", rows, lambda op=op: sw.rolling(x, op, times=times, last=1_000)
        yield "rolling", f"{op.name}, 100 rows, 1,000 keys", rows, lambda op=op: sw.rolling(x, op, rows=100, by=keys)


def labels(rows: int) -> Iterator[Work]:
    card = sw.Sliding(by="k", on="ts", columns=TWO)
    for shuffled in (False, True) if rows < MANY else (True,):
        events, asked = table(rows, 1_000, shuffled, False), table(rows // 2, 1_000, shuffled, False)
        asked = asked.drop_columns(["x"])
        what = f"{rows // 2:,} labels over events of 1,000 keys, {'shuffled' if shuffled else 'by time'}"
        yield "as_of", what, rows, lambda asked=asked, events=events: card.as_of(asked, events)


def control() -> None:
    share_out(32, 32, lambda a, b: [hashlib.sha256(BLOCK).digest() for _ in range(a, b)], 32)


def timed(run: Callable[[], Any], threads: str) -> float:
    os.environ[VARIABLE] = threads
    gc.collect()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def answer(run: Callable[[], Any], threads: str) -> Any:
    os.environ[VARIABLE] = threads
    return run()


def same(one: Any, other: Any) -> bool:
    """Whether two answers have the same bits."""
    if isinstance(one, np.ndarray):
        return np.ma.filled(one, 0).tobytes() == np.ma.filled(other, 0).tobytes()
    return bool(one.equals(other))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three turns, nothing saved")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each table and series")
    parser.add_argument("--threads", default="2", help="how many, against one")
    parser.add_argument("--only", default="", metavar="WORD", help="only works with this word")
    options = parser.parse_args()
    console = make_console(150)
    machine = f"{describe_machine(['numpy', 'numba', 'pyarrow'])}; 1 thread against {options.threads}"
    console.print(machine)
    turns = 3 if options.quick or options.rows >= MANY else 7
    lines = []
    makers = {"definition": tables, "rolling": rolling, "as_of": labels}
    chosen = [makers[options.only]] if options.only in makers else makers.values()
    for part, what, rows, run in chain.from_iterable(make(options.rows) for make in chosen):
        if options.only not in f"{part} {what}":
            continue
        assert same(answer(run, "1"), answer(run, options.threads)), what
        ours: list[tuple[float, float]] = []
        controls: list[tuple[float, float]] = []
        for _ in range(turns):
            controls.append((timed(control, "1"), timed(control, options.threads)))
            ours.append((timed(run, "1"), timed(run, options.threads)))
        one, several = (statistics.median(times) * 1e3 for times in zip(*ours, strict=True))
        fastest = min(turn[0] for turn in ours) / min(turn[1] for turn in ours)
        bound = statistics.median(turn[0] for turn in controls) / statistics.median(turn[1] for turn in controls)
        ratio = round(one / several, 2)
        line = (part, what, rows, round(one, 1), round(several, 1), ratio, round(fastest, 2), round(bound, 2), TARGET)
        lines.append((*line, "met" if ratio >= TARGET else "missed"))
        console.print(*lines[-1], sep=" | ", soft_wrap=True)
    if not options.quick:
        say_saved(console, [save_csv("threads.csv", machine, FIELDS, with_saved(lines))])


def with_saved(lines: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The lines saved before, with these in the places of those of the same work."""
    new = {(part, what, str(rows)): line for line in lines for part, what, rows in [line[:3]]}
    path = RESULTS / "threads.csv"
    saved: list[tuple[Any, ...]] = []
    if path.exists():
        with path.open(newline="") as file:
            saved = [tuple(row) for row in csv.reader(line for line in file if not line.startswith("#"))][1:]
    return [new.pop(row[:3], row) for row in saved] + list(new.values())


if __name__ == "__main__":
    main()
