"""One event at a time from Python: evict, insert and query a window's maximum, against what people use today.

Each contender slides a window of n rows over the same values, several times from the start, in turns with the others.
A batch of rounds gives the cost of a round: the median batch counts. Rounds are also timed one by one, and the best of
all passes counts for each round: what the machine does in between is left out, and what the algorithm does stays,
because it comes back in the same round of every pass. `random` are random values; `falling` values with a peak once in
n rows are what a monotone deque fears: the peak throws all others out in one round.

    python benchmarks/per_event.py [--quick]
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from common import RESULTS, describe_machine, make_console, save_csv, say_saved
from rich.console import Console
from rich.table import Table

import slidewise as sw


class MonotoneDeque:
    """What people write by hand for a sliding maximum."""

    def __init__(self) -> None:
        self.candidates: deque[tuple[int, float]] = deque()
        self.start = self.stop = 0

    def insert(self, x: float) -> None:
        candidates = self.candidates
        while candidates and candidates[-1][1] <= x:
            candidates.pop()
        candidates.append((self.stop, x))
        self.stop += 1

    def evict(self) -> None:
        self.start += 1
        if self.candidates[0][0] < self.start:
            self.candidates.popleft()

    def query(self) -> float:
        return self.candidates[0][1]


def by_hand(swag: Any) -> Callable[[float], Any]:
    evict, insert, query = swag.evict, swag.insert, swag.query

    def one_round(x: float) -> Any:
        evict()
        insert(x)
        return query()

    return one_round


def ours(algorithm: Any) -> Callable[[int, list[float]], Callable[[float], Any]]:
    def make(_n: int, fill: list[float]) -> Callable[[float], Any]:
        window = algorithm()
        for x in fill:
            window.insert(x)
        return by_hand(window)

    return make


def river_rolling_max(n: int, fill: list[float]) -> Callable[[float], Any]:
    from river import stats

    window = stats.RollingMax(window_size=n)
    for x in fill:
        window.update(x)
    update, get = window.update, window.get

    def one_round(x: float) -> Any:
        update(x)
        return get()

    return one_round


CONTENDERS: dict[str, Callable[[int, list[float]], Callable[[float], Any]]] = {
    "DabaLite": ours(lambda: sw.DabaLite(sw.max)),
    "Daba": ours(lambda: sw.Daba(sw.max)),
    "TwoStacksLite": ours(lambda: sw.TwoStacksLite(sw.max)),
    "SlickDeque": ours(lambda: sw.SlickDeque(sw.max)),
    "by hand: monotone deque": ours(MonotoneDeque),
    "river RollingMax": river_rolling_max,
}


def random_values(n: int) -> Iterator[float]:
    choose = random.Random(n)
    return cycle([choose.random() for _ in range(65_536)])


def falling_values(n: int) -> Iterator[float]:
    return cycle(float(n - i) for i in range(n))


PATTERNS = {"random": random_values, "falling": falling_values}


class Result(NamedTuple):
    values: str
    n: int
    contender: str
    ns_per_round: float
    p50_ns: float
    p99_99_ns: float
    worst_ns: float
    rounds: int


def measure(pattern: str, n: int, passes: int, rounds: int) -> list[Result]:
    """All contenders over the same values, pass by pass in turns."""
    source = PATTERNS[pattern](n)
    fill = list(islice(source, n))
    timed, batch = list(islice(source, rounds)), list(islice(source, rounds))
    costs: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    best: dict[str, list[int]] = {}
    clock = time.perf_counter_ns
    for _ in range(passes):
        for name, make in CONTENDERS.items():
            # River's window costs up to a hundred times more: fewer rounds keep the run short.
            count = rounds // 10 if name.startswith("river") else rounds
            one_round = make(n, fill)
            took = []
            gc.collect()
            gc.disable()
            for x in timed[:count]:
                begin = clock()
                one_round(x)
                took.append(clock() - begin)
            begin = clock()
            for x in batch[:count]:
                one_round(x)
            costs[name].append((clock() - begin) / count)
            gc.enable()
            best[name] = list(map(min, best[name], took)) if name in best else took
    results = []
    for name in CONTENDERS:
        took = sorted(best[name])
        p50, tail, worst = took[len(took) // 2], took[int(len(took) * 0.9999)], took[-1]
        results.append(Result(pattern, n, name, statistics.median(costs[name]), p50, tail, worst, len(took)))
    return results


def show(console: Console, results: list[Result]) -> None:
    for (pattern, n), group in groups(results).items():
        base = next(r for r in group if r.contender == "DabaLite").ns_per_round
        table = Table(title=f"{pattern} values, n = {n:,}", title_justify="left")
        for column in ("contender", "ns per round", "x DabaLite", "p50", "p99.99", "worst", "rounds"):
            table.add_column(column, justify="left" if column == "contender" else "right")
        for r in group:
            cells = (r.ns_per_round, r.p50_ns, r.p99_99_ns, r.worst_ns)
            cost, p50, tail, worst = (f"{cell:,.0f}" for cell in cells)
            table.add_row(r.contender, cost, f"{r.ns_per_round / base:.2f}", p50, tail, worst, f"{r.rounds:,}")
        console.print(table)


def groups(results: list[Result]) -> dict[tuple[str, int], list[Result]]:
    found: dict[tuple[str, int], list[Result]] = {}
    for result in results:
        found.setdefault((result.values, result.n), []).append(result)
    return found


def plot(results: list[Result], machine: str) -> Path:
    """From the median to the worst round, on a logarithmic scale: what a latency-sensitive user looks at."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    cases = groups(results)
    figure, axes = pyplot.subplots(1, len(cases), figsize=(4.2 * len(cases), 3.6), sharex=True, sharey=True)
    for axis, ((pattern, n), group) in zip(axes, cases.items(), strict=True):
        for y, r in enumerate(reversed(group)):
            colour = "tab:blue" if r.contender in sw.__all__ else "tab:gray"
            axis.plot([r.p50_ns, r.worst_ns], [y, y], color=colour, linewidth=2)
            axis.plot(r.p50_ns, y, "o", color=colour)
            axis.plot(r.p99_99_ns, y, "|", color=colour, markersize=12)
            axis.plot(r.worst_ns, y, ">", color=colour)
        axis.set_yticks(range(len(group)), [r.contender for r in reversed(group)])
        axis.set_xscale("log")
        axis.set_title(f"{pattern} values, n = {n:,}", fontsize=10)
        axis.set_xlabel("ns: median •, p99.99 |, worst >")
        axis.grid(axis="x", alpha=0.3)
    figure.suptitle(f"Latency of one round (evict, insert, query) of a sliding maximum\n{machine}", fontsize=9)
    figure.tight_layout()
    path = RESULTS / "per_event.png"
    figure.savefig(path, dpi=120)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two passes instead of seven, and nothing is saved")
    options = parser.parse_args()
    if find_spec("river") is None:
        sys.exit("river is not installed; run `make bench`, which installs the bench extra")
    console = make_console(width=110)
    machine = describe_machine(["river"])
    console.print(machine, highlight=False)
    results: list[Result] = []
    cases = [(pattern, n) for pattern in PATTERNS for n in (1_000, 100_000)]
    for i, (pattern, n) in enumerate(cases, 1):
        with console.status(f"{i} of {len(cases)}: {pattern} values, n = {n:,} (some minutes in all)"):
            found = measure(pattern, n, passes=2 if options.quick else 7, rounds=40_000)
        results += found
        show(console, found)
    if not options.quick:
        raw = save_csv("per_event.csv", machine, Result._fields, results)
        say_saved(console, [raw, plot(results, machine)])


if __name__ == "__main__":
    main()
