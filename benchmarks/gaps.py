"""The event after a long gap: many rows leave a time window at once. Calls of the operator, and time, by algorithm.

A window of time is filled with one row a second, slid for a while with a query at each event, and then an event comes
after a gap that lets 10,000 rows leave: nearly half of 20,001 rows ("half"), or all of 10,001 but one ("all"). The gap
comes at several phases of the algorithms' cycles, and the worst counts. `after` is the worst of the 2,000 events that
follow, where work may have been put off to; `usual` is the worst of those before.

    python benchmarks/gaps.py [--quick]
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import statistics
import sys
import time
from typing import Any, NamedTuple

from common import describe_machine, make_console, save_csv, say_saved
from rich.table import Table

import slidewise as sw
from slidewise.swag import ALGORITHMS
from slidewise.swag.interface import Swag

LEAVE = 10_000
AFTER = 2_000


class Found(NamedTuple):
    usual: int
    calls: int
    after: int
    microseconds: float


def counting(operator: sw.Operator) -> tuple[sw.Operator, list[int]]:
    calls = [0]

    def counted(function: Any) -> Any:
        def call(a: Any, b: Any) -> Any:
            calls[0] += 1
            return function(a, b)

        return call

    inverse = None if operator.inverse is None else counted(operator.inverse)
    return dataclasses.replace(operator, combine=counted(operator.combine), inverse=inverse), calls


def operator_for(algorithm: type[Swag]) -> sw.Operator:
    return sw.max if algorithm is sw.SlickDeque else sw.count if algorithm is sw.SubtractOnEvict else sw.sum


def run(algorithm: type[Swag], rows: int, phase: int, gap: int) -> Found:
    """Calls by counting, then the time of the same event without counting."""
    operator, calls = counting(operator_for(algorithm))
    asks = algorithm is not sw.Recalc  # which would take n calls at each event
    usual = after = 0
    window = sw.Timed(algorithm(operator), last=rows)
    for t in range(rows + phase):
        before = calls[0]
        window.insert(t, t * 7919 % 10_007)
        if asks:
            window.query()
        usual = max(usual, calls[0] - before) if t > rows else 0
    now = rows + phase - 1 + gap
    before = calls[0]
    window.insert(now, 1)
    window.query()
    at_once = calls[0] - before
    for t in range(now + 1, now + AFTER):
        before = calls[0]
        window.insert(t, t * 7919 % 10_007)
        if asks:
            window.query()
        after = max(after, calls[0] - before)
    plain = sw.Timed(algorithm(operator_for(algorithm)), last=rows)
    for t in range(rows + phase):
        plain.insert(t, t * 7919 % 10_007)
        if asks:
            plain.query()
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    plain.insert(now, 1)
    plain.query()
    took = time.perf_counter() - start
    gc.enable()
    assert len(plain) == rows + 1 - gap
    return Found(usual, at_once, after, took * 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer phases")
    quick = parser.parse_args().quick
    console = make_console(110)
    machine = describe_machine(["numpy", "numba"])
    console.print(machine)
    phases = [100, 7_000] if quick else [100, 2_500, 5_000, 7_000, 9_999, 15_000, 20_001]
    rows: list[tuple[Any, ...]] = []
    shown = Table("10,000 rows leave", "of", "worst calls before", "at the gap", "after it", "us at the gap, median")
    for kind, size in (("half", 2 * LEAVE + 1), ("all", LEAVE + 1)):
        for algorithm in ALGORITHMS:
            found = [run(algorithm, size, phase, LEAVE) for phase in phases]
            worst = [max(one[i] for one in found) for i in range(3)]
            usual, at_gap, after = worst if algorithm is not sw.Recalc else (size - 1, worst[1], worst[1])
            took = statistics.median(one.microseconds for one in found)
            rows.append((kind, algorithm.__name__, usual, at_gap, after, round(took, 1)))
            shown.add_row(algorithm.__name__, kind, *(f"{n:,}" for n in (usual, at_gap, after)), f"{took:,.0f}")
    console.print(shown)
    if quick:
        console.print("a quick run is not saved")
        return
    fields = ("gap", "algorithm", "worst_calls_before", "calls_at_the_gap", "worst_calls_after", "us_at_the_gap")
    say_saved(console, [save_csv("gaps.csv", machine, fields, rows)])


if __name__ == "__main__":
    sys.exit(main())
