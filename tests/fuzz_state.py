"""Stored state changed at random, with the checksums made anew, for as long as you say: `python tests/fuzz_state.py`.

Each kind of state is taken through by a child process of limited memory and time, some hundred changes at once. A
crash, a hang, memory beyond a multiple of the input, and an error that is none of Slidewise's are told with the seed;
`--kind "rows" --seed 17 --cases 1` does that one again, in this process.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import resource
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = 200  # of a child
SECONDS = 60  # that a case may take, on a busy machine
ROOM = 2 << 30  # bytes beyond what a child needs to begin with
GROWTH = 64 << 20  # bytes that a case may add to the most there was, besides
TIMES = 400  # so many for each byte of the input

Case = Callable[[random.Random], tuple[bool, int]]


def targets() -> dict[str, Callable[[], Case]]:
    """By name, what makes a kind of state and gives a function that tries one change: whether it was read, its size."""
    import fuzz_pages
    import fuzz_snapshots

    found: dict[str, Callable[[], Case]] = {}
    for kind in (*fuzz_snapshots.kinds(), *fuzz_snapshots.golden_kinds()):
        found[f"snapshot: {kind.name}"] = lambda kind=kind: _snapshots(kind)
    for kind in fuzz_pages.kinds():
        found[f"pages: {kind.name}"] = lambda kind=kind: fuzz_pages.Target(kind).tried
    return found


def _snapshots(kind: Any) -> Case:
    import fuzz_snapshots

    target = fuzz_snapshots.Target(kind)

    def tried(draw: random.Random) -> tuple[bool, int]:
        blob = target.crafted(draw)
        return fuzz_snapshots.exercise(kind, blob), len(blob)

    if not fuzz_snapshots.exercise(kind, target.blob):
        raise AssertionError("as it is, the state is read")
    return tried


def child(name: str, seed: int, cases: int, here: bool) -> int:
    """Some changes of one kind; how many went wrong. Each is announced, so that it is known at which a child died."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    tried = targets()[name]()
    wrong = read = 0
    if not here:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
    for one in range(seed, seed + cases):
        sys.stdout.write(f"seed {one}\n")
        sys.stdout.flush()
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        size = 0
        try:
            was_read, size = tried(random.Random(f"{name} {one}"))
            read += was_read
        except Exception as error:
            wrong += 1
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{os.path.basename(last.filename)}:{last.lineno}"
            sys.stdout.write(f"wrong {one} {type(error).__name__} at {where}: {str(error)[:200]!r}\n")
            if here:
                traceback.print_exc()
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        if grown > GROWTH + TIMES * size:
            wrong += 1
            sys.stdout.write(f"wrong {one} memory grew by {grown >> 20} MB for {size} bytes\n")
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.write(f"done {cases} read {read} wrong {wrong}\n")
    return wrong


def parent(minutes: float, seed: int, only: list[str]) -> int:
    """One child after the other until the time is over; how many cases went wrong."""
    names = [name for name in targets() if not only or any(one in name for one in only)]
    ends = time.monotonic() + 60 * minutes
    cases = read = wrong = 0
    seen: set[str] = set()
    while time.monotonic() < ends:
        for name in names:
            if time.monotonic() >= ends:
                break
            command = [sys.executable, __file__, "--kind", name, "--seed", str(seed), "--cases", str(CASES), "--child"]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS * CASES)
            lines = done.stdout.splitlines()
            cases += sum(line.startswith("seed ") for line in lines)
            for line in lines:
                if line.startswith("wrong ") and line.partition(" ")[2].partition(" ")[2] not in seen:
                    seen.add(line.partition(" ")[2].partition(" ")[2])
                    sys.stdout.write(f"{name}: {line}\n")
                wrong += line.startswith("wrong ")
            if lines and lines[-1].startswith("done "):
                read += int(lines[-1].split()[3])
            else:
                wrong += 1
                last = next((line for line in reversed(lines) if line.startswith("seed ")), "before the first")
                sys.stdout.write(f"{name}: died at {last}, status {done.returncode}\n{done.stderr[-3000:]}\n")
            sys.stdout.flush()
        seed += CASES
        left = max(0.0, ends - time.monotonic()) / 60
        sys.stdout.write(f"{cases} cases, {read} read, {wrong} wrong, {left:.0f} minutes to go\n")
        sys.stdout.flush()
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to go on (5)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed of each kind (0)")
    parser.add_argument("--kind", action="append", default=[], help="only kinds with this in their names")
    parser.add_argument("--cases", type=int, help="so many of one kind, in this process")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, HERE)
    if options.cases is None:
        return 1 if parent(options.minutes, options.seed, options.kind) else 0
    return 1 if child(options.kind[0], options.seed, options.cases, not options.child) else 0


if __name__ == "__main__":
    raise SystemExit(main())
