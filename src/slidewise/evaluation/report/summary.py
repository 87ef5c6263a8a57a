"""Summary of the raw tables: medians with their spread, percentiles, and growth from a small window to a large."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.evaluation.experiments import BEST
from slidewise.evaluation.result_store import ResultRows, ResultStore

PERCENTILES = (50.0, 99.9, 99.99, 99.999)
CONSTANT, GROWS, NOT_CLEAR = "constant", "grows", "not clear"


@dataclass(frozen=True)
class Speed:
    """Nanoseconds of a round over the repetitions: median, least and most."""

    median: float
    least: float
    most: float

    @property
    def per_second(self) -> float:
        """Million rounds per second, by the median."""
        return 1e3 / self.median

    @property
    def spread(self) -> float:
        """The most over the least."""
        return self.most / self.least


@dataclass(frozen=True)
class Latency:
    """Nanoseconds: of the rounds of all repetitions, and the longest round that every repetition had."""

    rounds: int
    least: float
    percentiles: tuple[float, ...]
    most: float
    longest_in_all: float  # the most of the rounds' least over all repetitions: the algorithm's, not the machine's
    slow: float  # share of the rounds that took over a microsecond longer than the same round in another repetition


Curve = dict[tuple[str, str, int], Speed]


class Results:
    """The tables of a run, and the statistics made from them."""

    def __init__(self, store: ResultStore) -> None:
        self.timings = store.rows("timings")
        self.counts = store.rows("counts")
        self.worst = store.rows("worst")
        self.noise = store.rows("noise")
        self.skipped = store.rows("skipped")
        self.allocations = store.rows("allocations")
        self.compiled = store.rows("compiled")
        self.compiling = (store.rows("compiling") or [{}])[0]
        self.seconds = store.seconds()
        self.clock = (store.rows("clock") or [{}])[0]
        self.source = (store.rows("source") or [{}])[0]
        self.machine = store.machine()
        self.settings = store.settings
        self._ticks = _grouped(store.rows("ticks"), ("workload", "operator", "n", "algorithm", "repetition"))
        self._latencies: dict[tuple[str, str, str, int], Latency] = {}

    def speeds(self, workload: str) -> Curve:
        """The speed by operator, algorithm and n (the width, for events)."""
        groups = _grouped([row for row in self.timings if row["workload"] == workload], ("operator", "algorithm", "n"))
        speeds = {}
        for key, rows in groups.items():
            ns = [row["ns_per_round"] for row in rows]
            speeds[key] = Speed(median(ns), min(ns), max(ns))
        return speeds

    def histogram(
        self, workload: str, operator: str, n: int, algorithm: str, best: bool = False
    ) -> tuple[Array, Array]:
        """Nanoseconds and how many rounds took that long: in all repetitions, or the least of each round."""
        rows: ResultRows = []
        for (kind, of, size, name, repetition), histogram in self._ticks.items():
            if (kind, of, size, name) == (workload, operator, n, algorithm) and (repetition == BEST) == best:
                rows += histogram
        ns = np.array([row["ns"] for row in rows])
        order = np.argsort(ns)
        return ns[order], np.array([row["rounds"] for row in rows], np.int64)[order]

    def latencies(self, workload: str) -> dict[tuple[str, str, int], Latency]:
        """The latency by operator, algorithm and n."""
        keys = dict.fromkeys((of, name, n) for kind, of, n, name, _ in self._ticks if kind == workload)
        for key in keys:
            if (workload, *key) not in self._latencies:
                self._latencies[workload, *key] = self._latency(workload, *key)
        return {key: self._latencies[workload, *key] for key in keys}

    def _latency(self, workload: str, operator: str, algorithm: str, n: int) -> Latency:
        ns, rounds = self.histogram(workload, operator, n, algorithm)
        best, of_best = self.histogram(workload, operator, n, algorithm, best=True)
        total = int(rounds.sum())
        repetitions = max(round(total / int(of_best.sum())), 1)
        # Rounds that are slow in all repetitions are the algorithm's; what is above their number is the machine's.
        slow = int(rounds[ns > 1_000].sum()) - repetitions * int(of_best[best > 1_000].sum())
        return Latency(
            total, float(ns[0]), percentiles(ns, rounds), float(ns[-1]), float(best[-1]), max(slow, 0) / total
        )

    def totals_agree(self) -> bool:
        """Whether all algorithms gave the same answers, wherever they ran side by side."""
        for rows in _grouped(self.timings, ("workload", "operator", "n")).values():
            totals = [float(row["total"]) for row in rows]
            exact = rows[0]["operator"] in ("sum", "bloom", "max")
            if exact and len({row["total"] for row in rows}) > 1:
                return False
            if not np.allclose(totals, totals[0], rtol=1e-9, atol=0):
                return False
        return True

    def worst_calls(self, algorithm: str, n: int) -> int | None:
        counts = [
            row for row in self.counts if (row["algorithm"], row["workload"], row["n"]) == (algorithm, "static", n)
        ]
        return max((row["worst"] for row in counts), default=None)


def percentiles(ns: Array, rounds: Array) -> tuple[float, ...]:
    """Of rounds given as a histogram in order of time: the least time that so many of a hundred rounds do not exceed.

    >>> percentiles(np.array([1.0, 5.0, 9.0]), np.array([90_000, 9_000, 1_000]))
    (1.0, 9.0, 9.0, 9.0)
    """
    reached = np.cumsum(rounds)
    wanted = [int(np.ceil(reached[-1] * p / 100)) for p in PERCENTILES]
    return tuple(float(ns[np.searchsorted(reached, rank)]) for rank in wanted)


def growth_of_calls(small: int | None, large: int | None) -> str:
    """Whether the worst number of calls grows with the window; it is exact, so one more call is growth.

    >>> growth_of_calls(6, 6), growth_of_calls(1024, 1048576)
    ('constant', 'grows')
    """
    if small is None or large is None:
        return NOT_CLEAR
    return CONSTANT if large <= small else GROWS


def growth_of_time(small: float, large: float, factor: float) -> str:
    """Whether the worst time grows, where the window grew by a factor.

    Caches and page tables make single accesses some times slower in a large window: up to the fifth root of the factor
    (4 of 1,024) is constant, above its square root (32) is growth, and between them nothing is said.

    >>> growth_of_time(200, 700, 1024), growth_of_time(200, 2_000, 1024), growth_of_time(200, 20_000, 1024)
    ('constant', 'not clear', 'grows')
    """
    ratio = large / small
    return CONSTANT if ratio <= factor**0.2 else GROWS if ratio >= factor**0.5 else NOT_CLEAR


def _grouped(rows: ResultRows, names: tuple[str, ...]) -> dict[Any, ResultRows]:
    groups: dict[Any, ResultRows] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups
