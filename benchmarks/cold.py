"""The first answer on a machine that has compiled nothing yet, in processor seconds of one process.

Each turn is a fresh process with a cache of its own (`SLIDEWISE_CACHE_DIR`): an empty folder (cold), one that holds the
machine code of the case (warm), or an empty one with `SLIDEWISE_COMPILE=always`, where nothing runs as plain Python.
The first call counts whatever it imports, compiles, loads and runs; the start of Python, `import slidewise` and making
the data come before it, and are in the whole. The second call follows in the same process. The reference is what Numba
alone costs: `import numba`, and one trivial function compiled. All take turns, and the median turn counts.

    python benchmarks/cold.py [--quick] [--turns N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from common import describe_machine, make_console, save_csv, say_saved
from rich.progress import track
from rich.table import Table

FIELDS = ("case", "rows", "cache", "first call, s", "second call, ms", "whole process, s", "first / reference", "met")
COLD, WARM, COMPILED = "cold", "warm", "cold, all compiled"
REFERENCE = "import numba, compile one function"

_REFERENCE = """
import json, time
began = time.process_time()
import numba
numba.njit(lambda x: x + 1)(1)
first = time.process_time()
print(json.dumps([first - began, 0.0, first]))
"""
_HEAD = """
import json, sys, time
import numpy as np
import slidewise as sw
rows = int(sys.argv[1])
choose = np.random.default_rng(3)
x = choose.normal(size=rows)
"""
_ARRAY = "call = lambda: sw.rolling(x, sw.{operator}, rows=100)"
_DEFINITION = """
import pyarrow as pa
times = pa.array(np.sort(choose.integers(0, rows * 1_000_000, rows)), pa.timestamp("us", "UTC"))
users = pa.array(choose.integers(0, max(rows // 50, 1), rows)).cast(pa.string())
table = pa.table({"user": users, "ts": times, "x": x})
aggregates = {"n": sw.count(), **{op.name: op("x") for op in (sw.sum, sw.mean, sw.max, sw.stddev, sw.median)}}
columns = {name: aggregate.over(f"{rows} seconds") for name, aggregate in aggregates.items()}
definition = sw.Sliding(by="user", on="ts", **columns)
call = lambda: definition(table)
"""
_CALLS = """
began = time.process_time()
call()
first = time.process_time()
call()
print(json.dumps([first - began, time.process_time() - first, first]))
"""


class Case(NamedTuple):
    """What is called, over how many rows, and within how many seconds the first call is to answer."""

    name: str
    rows: int
    text: str
    target: float | None


class Turn(NamedTuple):
    """Processor seconds of the first call and of the second, and of the whole process up to the first answer."""

    first: float
    second: float
    whole: float


FEW, MANY = 1_000, 1_000_000
CASES = [
    Case("max", FEW, _ARRAY.format(operator="max"), 0.7),
    Case("sum", FEW, _ARRAY.format(operator="sum"), 0.7),
    Case("standard deviation", FEW, _ARRAY.format(operator="stddev"), None),
    Case("median", FEW, _ARRAY.format(operator="median"), 2.0),
    Case("six aggregates", FEW, _DEFINITION, 4.0),
    Case("max", MANY, _ARRAY.format(operator="max"), None),
    Case("six aggregates", MANY, _DEFINITION, None),
]


def run(text: str, rows: int, folder: Path, compile_all: bool = False) -> Turn:
    """One turn in a process of its own."""
    environment = {**os.environ, "SLIDEWISE_CACHE_DIR": str(folder), "SLIDEWISE_THREADS": "1"}
    environment["SLIDEWISE_COMPILE"] = "always" if compile_all else ""
    command = [sys.executable, "-c", text, str(rows)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{text}\n{done.stderr}")
    return Turn(*json.loads(done.stdout))


def measure(cases: list[Case], turns: int) -> tuple[dict[tuple[Case, str], Turn], Turn]:
    """The median turn of each case with each cache, and of the reference."""
    taken: dict[tuple[Case, str], list[Turn]] = {(case, cache): [] for case in cases for cache in (COLD, WARM)}
    references = []
    with tempfile.TemporaryDirectory() as name:
        filled = {case: Path(name) / f"warm{i}" for i, case in enumerate(cases)}
        compiled = {}
        for case, folder in track(filled.items(), "compile", disable=not sys.stdout.isatty(), transient=True):
            compiled[case, COMPILED] = run(f"{_HEAD}{case.text}{_CALLS}", case.rows, folder, compile_all=True)
        for turn in track(range(turns), "turns", disable=not sys.stdout.isatty(), transient=True):
            references.append(run(_REFERENCE, 0, Path(name)))
            for i, case in enumerate(cases):
                text = f"{_HEAD}{case.text}{_CALLS}"
                taken[case, COLD].append(run(text, case.rows, Path(name) / f"cold{turn}-{i}"))
                taken[case, WARM].append(run(text, case.rows, filled[case]))
    medians = {key: median_turn(found) for key, found in taken.items()}
    return medians | compiled, median_turn(references)


def median_turn(found: list[Turn]) -> Turn:
    return Turn(*(statistics.median(parts) for parts in zip(*found, strict=True)))


def rows_of(medians: dict[tuple[Case, str], Turn], reference: Turn) -> list[tuple[object, ...]]:
    """The lines of the results."""
    lines: list[tuple[object, ...]] = []
    for (case, cache), turn in sorted(medians.items(), key=lambda item: (CASES.index(item[0][0]), item[0][1])):
        target = case.target if cache == COLD else None
        met = "" if target is None else f"{'yes' if turn.first <= target else 'NO'}, {target} s"
        seconds = (f"{turn.first:.3f}", f"{1000 * turn.second:.2f}", f"{turn.whole:.2f}")
        lines.append((case.name, case.rows, cache, *seconds, f"{turn.first / reference.first:.2f}", met))
    lines.append((REFERENCE, "", "", f"{reference.first:.3f}", "", f"{reference.whole:.2f}", "1.00", ""))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one turn, and few rows only")
    parser.add_argument("--turns", type=int, default=5)
    wanted = parser.parse_args()
    cases = [case for case in CASES if not wanted.quick or case.rows == FEW]
    lines = rows_of(*measure(cases, 1 if wanted.quick else wanted.turns))
    console = make_console(120)
    table = Table(*FIELDS, title="The first answer, processor seconds", title_justify="left")
    for line in lines:
        table.add_row(*map(str, line))
    console.print(table)
    machine = describe_machine(["numba", "llvmlite", "numpy", "pyarrow"])
    console.print(machine)
    say_saved(console, [save_csv("cold.csv", machine, FIELDS, lines)])


if __name__ == "__main__":
    main()
