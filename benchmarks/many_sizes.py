"""One operator over 1, 2, 4, 8 and 16 windows at once: one structure for all of them against one for each.

Live, `push` with the default for each window (DABA Lite; for counts, subtracting), with the fastest algorithm for each
(`spikes=True`), and with FlatFIT's partials shared by all. On arrays, the kernels' pass for each window against one of
shared scans, as `SlideSide` does it, for users' operators of three fields; and the built-in maximum, with a pass of
its own. In "apart" each window is longer than the one before by the same factor, up to 4,000 rows; in "near" they lie
between 850 and 1,000. Contenders take turns, and the median turn counts.

    python benchmarks/many_sizes.py [--quick]
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
from common import describe_machine, make_console, save_csv, say_saved
from numba import njit
from rich.table import Table

import slidewise as sw
from slidewise.swag.structures.scans import grouped

COUNTS = (1, 2, 4, 8, 16)
KEYS = 3
NEVER = 10**9


def sizes_of(count: int, spread: str) -> list[int]:
    if spread == "near":
        return [1_000] if count == 1 else [850 + 150 * i // (count - 1) for i in range(count)]
    return sorted({round(4_000 ** ((i + 1) / count)) for i in range(count)})


def timed(run: Callable[[], Any]) -> float:
    gc.collect()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def medians(contenders: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, run in contenders.items():
            times[name].append(timed(run))
    return {name: statistics.median(found) for name, found in times.items()}


def live_contenders(
    operator: sw.Operator, sizes: list[int], by_time: bool, events: list[Any]
) -> dict[str, Callable[[], Any]]:
    windows = [{"last": size} if by_time else {"rows": size} for size in sizes]
    columns = {f"last_{size}": operator("x").over(**window) for size, window in zip(sizes, windows, strict=True)}
    definition = sw.Sliding(by="key", on="t", columns=columns)
    answers: dict[str, Any] = {}

    def pushes(name: str, fewest: int, spikes: bool) -> Callable[[], None]:
        def run() -> None:
            with patch("slidewise.choosing.share_from", lambda _algorithm: fewest):
                push = definition.live(spikes=spikes).push
            for event in events:
                answer = push(event)
            answers[name] = answer
            assert answer == next(iter(answers.values()))

        return run

    return {
        "the default each": pushes("the default each", NEVER, False),
        "the fastest each": pushes("the fastest each", NEVER, True),
        "shared": pushes("shared", 1, True),
    }


rise = sw.operator(
    name="rise",
    identity=(-np.inf, np.inf, 0.0),
    lift=lambda x: (x, x, 0.0),
    combine=lambda a, b: (max(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2], b[0] - a[1])),
    lower=lambda s: s[2],
)


def _merge(a: Any, b: Any) -> Any:
    n, d = a[0] + b[0], b[1] - a[1]
    return n, a[1] + d * b[0] / n, a[2] + b[2] + d * d * a[0] * b[0] / n


spread = sw.operator(
    name="spread",
    identity=(0.0, 0.0, 0.0),
    lift=lambda x: (1.0, x, 0.0),
    combine=_merge,
    lower=lambda s: s[2] / s[0],
)


def shared_scans(operator: sw.Operator) -> Callable[[Any, list[int]], Any]:
    """A compiled pass that does what SlideSide does, for an operator of three floats."""
    lift, combine, lower = [njit(function) for function in (operator.lift, operator.combine, operator.lower)]

    @njit(nogil=True)  # type: ignore[untyped-decorator]
    def run(x: Any, sizes: Any, s0: Any, s1: Any, s2: Any, out: Any) -> None:
        for boundary in range(0, len(x), sizes[0]):
            oldest = max(0, boundary - sizes[-1] + 1)
            if boundary > oldest:
                before = lift(x[boundary - 1])
                for p in range(boundary - 1, oldest - 1, -1):
                    if p < boundary - 1:
                        before = combine(lift(x[p]), before)
                    s0[p - oldest], s1[p - oldest], s2[p - oldest] = before
            behind = lift(x[boundary])
            for i in range(boundary, min(boundary + sizes[0], len(x))):
                if i > boundary:
                    behind = combine(behind, lift(x[i]))
                for j in range(len(sizes)):
                    p = max(i - sizes[j] + 1, 0)
                    if p < boundary:
                        out[j, i] = lower(combine((s0[p - oldest], s1[p - oldest], s2[p - oldest]), behind))
                    else:
                        out[j, i] = lower(behind)

    def over(x: Any, sizes: list[int]) -> Any:
        out = np.empty((len(sizes), len(x)))
        done = 0
        for group in grouped(sizes):
            room = [np.empty(group[-1]) for _ in range(3)]
            run(x, np.array(group), *room, out[done : done + len(group)])
            done += len(group)
        return out

    return over


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer events and turns")
    quick = parser.parse_args().quick
    console = make_console(110)
    machine = describe_machine(["numpy", "numba"])
    console.print(machine)
    choose = random.Random(7)
    count, turns = (6_000, 3) if quick else (12_000, 5)
    events = [{"key": i % KEYS, "t": i // KEYS, "x": choose.random()} for i in range(count)]
    rows: list[tuple[Any, ...]] = []

    shown = Table("live, us per event", "windows", "the default each", "the fastest each", "shared", "gain")
    for operator in (sw.max, sw.mean, sw.count, rise):
        for by_time in (False, True):
            for number in COUNTS:
                found = medians(live_contenders(operator, sizes_of(number, "apart"), by_time, events), turns)
                gain = found["the fastest each"] / found["shared"]
                what = f"{operator.name} over {'time' if by_time else 'rows'}"
                for name, seconds in found.items():
                    rows.append(("live", what, "apart", number, name, seconds / count * 1e6))
                shown.add_row(what, str(number), *(f"{s / count * 1e6:.1f}" for s in found.values()), f"{gain:.2f}")
    console.print(shown)

    x = np.random.default_rng(7).normal(size=100_000 if quick else 1_000_000)
    shown = Table("arrays, ns per row", "sizes", "", "a pass each", "shared scans", "gain")
    for operator in (rise, spread):
        together = shared_scans(operator)
        for kind in ("apart", "near"):
            for number in COUNTS:
                sizes = sizes_of(number, kind)
                each = [sw.rolling(x, operator, rows=size) for size in sizes]
                np.testing.assert_allclose(together(x, sizes), each, rtol=1e-7, atol=1e-9)
                contenders = {
                    "a pass each": lambda o=operator, s=sizes: [sw.rolling(x, o, rows=size) for size in s],
                    "shared scans": lambda run=together, s=sizes: run(x, s),
                }
                found = medians(contenders, turns)
                for name, seconds in found.items():
                    rows.append(("arrays", operator.name, kind, number, name, seconds / len(x) * 1e9))
                gain = found["a pass each"] / found["shared scans"]
                times = (f"{s / len(x) * 1e9:.1f}" for s in found.values())
                shown.add_row(operator.name, str(number), kind, *times, f"{gain:.2f}")
    for number in COUNTS:
        sizes = sizes_of(number, "apart")
        found = medians({"a pass each": lambda s=sizes: [sw.rolling(x, sw.max, rows=size) for size in s]}, turns)
        rows.append(("arrays", "max", "apart", number, "a pass each", found["a pass each"] / len(x) * 1e9))
        shown.add_row("max", str(number), "apart", f"{found['a pass each'] / len(x) * 1e9:.1f}", "", "")
    console.print(shown)
    if quick:
        console.print("a quick run is not saved")
        return
    fields = ("part", "operator", "spread", "windows", "contender", "us_per_event_or_ns_per_row")
    say_saved(console, [save_csv("many_sizes.csv", machine, fields, rows)])


if __name__ == "__main__":
    sys.exit(main())
