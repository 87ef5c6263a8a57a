"""The experiments: each runs all algorithms in turn, several times over, and returns the rows of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.evaluation.applicability import applies, growth_sizes
from slidewise.evaluation.events import Events, make_events, read_events
from slidewise.evaluation.measure import timed_runs
from slidewise.evaluation.measure.clock import CycleClock, calibrate, measure_noise
from slidewise.evaluation.measure.counts import count
from slidewise.evaluation.measure.timed_runs import Timing
from slidewise.evaluation.result_store import ResultRows, ResultTables
from slidewise.evaluation.settings import ExperimentSettings

APART = 10_000  # microseconds, about, from one event to the next: only for the estimate
BEST = -1  # stands for a repetition: of each round the shortest of all repetitions
MOST_COUNTED = 2_000_000  # rounds of events whose calls are counted
SHORT = 1 << 16  # ticks
WORST = 50  # rounds of a latency experiment that are kept one by one


@dataclass(frozen=True)
class Experiment:
    """An experiment: its name, how many rounds of which operator it has (for the estimate), and how to run it."""

    name: str
    work: tuple[tuple[str, str, int], ...]  # algorithm, operator, rounds
    run: Callable[[], ResultTables]


class Experiments:
    """All experiments of a run."""

    def __init__(self, settings: ExperimentSettings) -> None:
        self.settings = settings

    @cached_property
    def clock(self) -> CycleClock:
        return calibrate()

    @cached_property
    def events(self) -> Events:
        s = self.settings
        return read_events(Path(s.data), s.events) if s.data else make_events(s.events, s.seed)

    @cached_property
    def latency_width(self) -> int | None:
        """The window of the latency over events: the longest of the experiments that half of them last, if need be."""
        s, stream = self.settings, self.events
        lasts = int(stream.times[-1] - stream.times[0])
        if lasts > s.events_latency:
            return s.events_latency
        return max((width for width in s.widths if 2 * width <= lasts and width < s.events_latency), default=None)

    def __iter__(self) -> Iterator[Experiment]:
        s = self.settings
        yield Experiment("counts", (), self._counts)
        yield Experiment("counts of events", (), self._event_counts)
        yield Experiment("allocations", (), self._allocations)
        for operator in s.operators:
            yield self._latency(operator, s.latency_n, s.latency_rounds, "latency")
        for operator in s.operators:
            sizes = growth_sizes(s, operator)
            for n in sizes:
                yield self._latency(operator, n, min(s.growth_rounds, 4 * sizes[1]), "growth")
        for workload in ("throughput", "fill and drain"):
            for operator in s.operators:
                for n in s.sizes:
                    yield self._throughput(workload, operator, n)
        for width in s.widths:
            yield self._over_time(width)
        yield self._events_latency()

    def _names(self, operator: str, n: int = 1) -> tuple[str, ...]:
        """The algorithms that are run for an operator and a window of n rows."""
        names = self.settings.compared if operator == "max" else self.settings.all_algorithms
        return tuple(name for name in names if applies(name, operator, n))

    def _turns(self, operator: str, n: int) -> Iterator[tuple[int, str]]:
        """Every repetition of every algorithm; each repetition begins with another algorithm."""
        names = self._names(operator, n)
        for repetition in range(self.settings.repetitions):
            at = repetition % len(names)
            for algorithm in names[at:] + names[:at]:
                yield repetition, algorithm

    def _work(self, operator: str, n: int, rounds: int) -> tuple[tuple[str, str, int], ...]:
        return tuple((name, operator, rounds * self.settings.repetitions) for name in self._names(operator, n))

    def _fits(self, algorithm: str, operator: str, n: int, tables: ResultTables, labels: dict[str, Any]) -> bool:
        size = timed_runs.window_bytes(algorithm, operator, n)
        if size <= self.settings.memory:
            return True
        row = {**labels, "algorithm": algorithm, "why": f"its arrays would take {size / 2**30:.1f} GiB"}
        if row not in tables["skipped"]:
            tables["skipped"].append(row)
        return False

    def _row(
        self, labels: dict[str, Any], algorithm: str, repetition: int, rounds: int, timing: Timing
    ) -> dict[str, Any]:
        ns = self.clock.ns(timing.ticks) / max(rounds, 1)
        return {
            **labels,
            "algorithm": algorithm,
            "repetition": repetition,
            "rounds": rounds,
            "ticks": timing.ticks,
            "ns_per_round": float(ns),
            "total": str(timing.total),
            "allocations": timing.allocations,
            "switches": timing.switches,
        }

    def _throughput(self, workload: str, operator: str, n: int) -> Experiment:
        rounds = self.settings.rounds_at(operator, n)
        loop = timed_runs.rounds if workload == "throughput" else timed_runs.fill_and_drain

        def run() -> ResultTables:
            values = timed_runs.values_of(operator, self.settings.seed)
            labels = {"workload": workload, "operator": operator, "n": n}
            tables: ResultTables = {"timings": [], "skipped": []}
            for repetition, algorithm in self._turns(operator, n):
                if self._fits(algorithm, operator, n, tables, labels):
                    timing = loop(algorithm, operator, values, n, rounds)
                    tables["timings"].append(self._row(labels, algorithm, repetition, rounds, timing))
            return tables

        return Experiment(f"{workload} {operator} n={n}", self._work(operator, n, rounds + n), run)

    def _latency(self, operator: str, n: int, rounds: int, workload: str) -> Experiment:
        def run() -> ResultTables:
            values = timed_runs.values_of(operator, self.settings.seed)
            labels = {"workload": workload, "operator": operator, "n": n}

            def once(algorithm: str, gaps: Array, _gone: Array) -> Timing:
                return timed_runs.rounds(algorithm, operator, values, n, rounds, gaps)

            return self._each_round(labels, n, rounds, once)

        return Experiment(f"{workload} {operator} n={n}", self._work(operator, n, rounds + n), run)

    def _over_time(self, width: int) -> Experiment:
        operator = "relative_variation"

        def run() -> ResultTables:
            stream = self.events
            labels = {"workload": "events", "operator": operator, "n": width}
            tables: ResultTables = {"timings": [], "skipped": []}
            end = len(stream.times)
            rounds = end - stream.start(width)
            if rounds < 1:
                return {"skipped": [{**labels, "algorithm": "all", "why": "no event is older than the window is long"}]}
            most = stream.most(width)
            for repetition, algorithm in self._turns(operator, most):
                if self._fits(algorithm, operator, most + 1, tables, labels):
                    timing = timed_runs.events(algorithm, stream, width, end)
                    row = self._row(labels, algorithm, repetition, rounds, timing)
                    tables["timings"].append(row | {"most": most})
            return tables

        return Experiment(f"events {width / 1e6:g}s", self._work(operator, width // APART, self.settings.events), run)

    def _events_latency(self) -> Experiment:
        operator, wanted = "relative_variation", self.settings.events_latency

        def run() -> ResultTables:
            stream, width = self.events, self.latency_width
            skipped: ResultRows = []
            if width != wanted:
                why = "the events do not last longer" + (f"; {width / 1e6:g} s instead" if width else "")
                of = {"workload": "events latency", "operator": operator, "n": wanted}
                skipped.append({**of, "algorithm": "all", "why": why})
            if width is None:
                return {"skipped": skipped}
            labels = {"workload": "events latency", "operator": operator, "n": width}
            end = len(stream.times)
            rounds = end - stream.start(width)
            source = {"source": stream.source, "events": end, "dropped": stream.dropped}

            def once(algorithm: str, gaps: Array, gone: Array) -> Timing:
                return timed_runs.events(algorithm, stream, width, end, gaps, gone)

            return {
                "source": [source],
                "skipped": skipped,
                **self._each_round(labels, stream.most(width), rounds, once),
            }

        return Experiment("events latency", self._work(operator, wanted // APART, self.settings.events), run)

    def _each_round(
        self, labels: dict[str, Any], rows: int, rounds: int, once: Callable[[str, Array, Array], Timing]
    ) -> ResultTables:
        """Time every round; keep how often each number of ticks was seen, and the worst rounds one by one."""
        noise = asdict(measure_noise(self.clock, self.settings.noise_rounds))
        tables: ResultTables = {"timings": [], "ticks": [], "worst": [], "noise": [{**labels, **noise}]}
        best: dict[str, Array] = {}
        gaps, gone = np.ones(rounds, np.int64), np.ones(rounds, np.int64)
        for repetition, algorithm in self._turns(labels["operator"], rows):
            timing = once(algorithm, gaps, gone)
            row = self._row(labels, algorithm, repetition, rounds, timing)
            tables["timings"].append(row)
            tables["ticks"] += _histogram({**labels, "algorithm": algorithm, "repetition": repetition}, gaps)
            best[algorithm] = np.minimum(best[algorithm], gaps) if algorithm in best else gaps.copy()
        for algorithm, ticks in best.items():
            tables["ticks"] += _histogram({**labels, "algorithm": algorithm, "repetition": BEST}, ticks)
            for at in _longest(ticks):
                row = {**labels, "algorithm": algorithm, "round": at, "ns": float(self.clock.ns(ticks[at]))}
                before = float(self.clock.ns(ticks[at - 1])) if at else None
                left = int(gone[at]) if labels["workload"] == "events latency" else 1
                tables["worst"].append({**row, "ns_before": before, "evicted": left})
        for row in tables["ticks"]:
            row["ns"] = float(self.clock.ns(row["ticks"]))
        return tables

    def _counts(self) -> ResultTables:
        s = self.settings
        values = timed_runs.values_of("sum", s.seed)
        rows: ResultRows = []
        runs = [("static", s.count_n, 4 * s.count_n), ("fill and drain", s.count_n, 4 * s.count_n)]
        for algorithm in s.all_algorithms:
            large = s.growth[1] if algorithm in s.algorithms else s.latency_n  # no claim is about the others
            for workload, n, rounds in (*runs, ("static", s.growth[0], 4 * s.growth[0]), ("static", large, 0)):
                if algorithm == "Recalc" and n > s.count_n:
                    continue  # n calls a round, by its definition
                counted = count(algorithm, workload, values, n, rounds or s.count_rounds)
                if counted is not None and asdict(counted) not in rows:
                    rows.append(asdict(counted))
        return {"counts": rows}

    def _event_counts(self) -> ResultTables:
        """The calls over the first events of the experiment of latency."""
        s, stream = self.settings, self.events
        width = self.latency_width
        if width is None:
            return {"counts": []}
        rounds = min(10 * s.count_rounds, MOST_COUNTED)
        end = stream.start(width) + rounds
        rows: ResultRows = []
        for algorithm in s.algorithms:
            counted = count(algorithm, "events", stream.values[:end], width, rounds, stream.times[:end])
            rows += [asdict(counted)] if counted is not None else []
        return {"counts": rows}

    def _allocations(self) -> ResultTables:
        """How often memory is asked for in few rounds and in many: equally often, if the rounds ask for none."""
        rows: ResultRows = []
        for operator in self.settings.operators:
            values = timed_runs.values_of(operator, self.settings.seed)
            for algorithm in self._names(operator):
                few, many = (timed_runs.rounds(algorithm, operator, values, 64, m).allocations for m in (64, 64 * 64))
                rows.append({"operator": operator, "algorithm": algorithm, "few": few, "many": many})
        return {"allocations": rows, "clock": [asdict(self.clock)]}


def _longest(ticks: Array) -> list[int]:
    """The rounds that took longest, the longest first."""
    longest = np.argpartition(ticks, -min(WORST, len(ticks)))[-WORST:]
    rounds: list[int] = longest[np.argsort(ticks[longest])][::-1].tolist()
    return rounds


def _histogram(labels: dict[str, Any], gaps: Array) -> ResultRows:
    """How often each number of ticks was seen: counted up to SHORT, and sorted above, where there are few."""
    short = (gaps >= 0) & (gaps < SHORT)
    often = np.bincount(gaps[short])
    ticks, seen = np.unique(gaps[~short], return_counts=True)
    few = np.flatnonzero(often)
    pairs = [*zip(few.tolist(), often[few].tolist(), strict=True), *zip(ticks.tolist(), seen.tolist(), strict=True)]
    return [{**labels, "ticks": t, "rounds": c} for t, c in pairs]
