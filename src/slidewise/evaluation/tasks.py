"""The experiments: each one runs all algorithms in turn, several times over, and gives the rows of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from slidewise.evaluation.applying import applies, growth_sizes
from slidewise.evaluation.events import Events, make_events, read_events
from slidewise.evaluation.measure import windows
from slidewise.evaluation.measure.clock import Clock, calibrate, measure_noise
from slidewise.evaluation.measure.counts import count
from slidewise.evaluation.measure.windows import Timing
from slidewise.evaluation.settings import Settings
from slidewise.evaluation.store import Rows, Tables

APART = 10_000  # microseconds, about, from one event to the next: only for the estimate
BEST = -1  # stands for a repetition: of each round the shortest of all repetitions
MOST_COUNTED = 2_000_000  # rounds of events whose calls are counted
SHORT = 1 << 16  # ticks
WORST = 50  # rounds of a latency experiment that are kept one by one


@dataclass(frozen=True)
class Task:
    """An experiment: its name, how many rounds of which operator it has (for the estimate), and how to run it."""

    name: str
    work: tuple[tuple[str, str, int], ...]  # algorithm, operator, rounds
    run: Callable[[], Tables]


class Tasks:
    """All experiments of a run."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def clock(self) -> Clock:
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

    def __iter__(self) -> Iterator[Task]:
        s = self.settings
        yield Task("counts", (), self._counts)
        yield Task("counts of events", (), self._event_counts)
        yield Task("allocations", (), self._allocations)
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
        names = self.settings.beside if operator == "max" else self.settings.everyone
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

    def _fits(self, algorithm: str, operator: str, n: int, tables: Tables, said: dict[str, Any]) -> bool:
        size = windows.window_bytes(algorithm, operator, n)
        if size <= self.settings.memory:
            return True
        row = {**said, "algorithm": algorithm, "why": f"its arrays would take {size / 2**30:.1f} GiB"}
        if row not in tables["skipped"]:
            tables["skipped"].append(row)
        return False

    def _row(
        self, said: dict[str, Any], algorithm: str, repetition: int, rounds: int, timing: Timing
    ) -> dict[str, Any]:
        ns = self.clock.ns(timing.ticks) / max(rounds, 1)
        return {
            **said,
            "algorithm": algorithm,
            "repetition": repetition,
            "rounds": rounds,
            "ticks": timing.ticks,
            "ns_per_round": float(ns),
            "total": str(timing.total),
            "allocations": timing.allocations,
            "switches": timing.switches,
        }

    def _throughput(self, workload: str, operator: str, n: int) -> Task:
        rounds = self.settings.rounds_at(operator, n)
        loop = windows.rounds if workload == "throughput" else windows.fill_and_drain

        def run() -> Tables:
            values = windows.values_of(operator, self.settings.seed)
            said = {"workload": workload, "operator": operator, "n": n}
            tables: Tables = {"timings": [], "skipped": []}
            for repetition, algorithm in self._turns(operator, n):
                if self._fits(algorithm, operator, n, tables, said):
                    timing = loop(algorithm, operator, values, n, rounds)
                    tables["timings"].append(self._row(said, algorithm, repetition, rounds, timing))
            return tables

        return Task(f"{workload} {operator} n={n}", self._work(operator, n, rounds + n), run)

    def _latency(self, operator: str, n: int, rounds: int, workload: str) -> Task:
        def run() -> Tables:
            values = windows.values_of(operator, self.settings.seed)
            said = {"workload": workload, "operator": operator, "n": n}

            def once(algorithm: str, gaps: Any, _gone: Any) -> Timing:
                return windows.rounds(algorithm, operator, values, n, rounds, gaps)

            return self._each_round(said, n, rounds, once)

        return Task(f"{workload} {operator} n={n}", self._work(operator, n, rounds + n), run)

    def _over_time(self, width: int) -> Task:
        operator = "relative_variation"

        def run() -> Tables:
            stream = self.events
            said = {"workload": "events", "operator": operator, "n": width}
            tables: Tables = {"timings": [], "skipped": []}
            end = len(stream.times)
            rounds = end - stream.start(width)
            if rounds < 1:
                return {"skipped": [{**said, "algorithm": "all", "why": "no event is older than the window is long"}]}
            most = stream.most(width)
            for repetition, algorithm in self._turns(operator, most):
                if self._fits(algorithm, operator, most + 1, tables, said):
                    timing = windows.events(algorithm, stream, width, end)
                    row = self._row(said, algorithm, repetition, rounds, timing)
                    tables["timings"].append(row | {"most": most})
            return tables

        return Task(f"events {width / 1e6:g}s", self._work(operator, width // APART, self.settings.events), run)

    def _events_latency(self) -> Task:
        operator, wanted = "relative_variation", self.settings.events_latency

        def run() -> Tables:
            stream, width = self.events, self.latency_width
            skipped: Rows = []
            if width != wanted:
                why = "the events do not last longer" + (f"; {width / 1e6:g} s instead" if width else "")
                of = {"workload": "events latency", "operator": operator, "n": wanted}
                skipped.append({**of, "algorithm": "all", "why": why})
            if width is None:
                return {"skipped": skipped}
            said = {"workload": "events latency", "operator": operator, "n": width}
            end = len(stream.times)
            rounds = end - stream.start(width)
            source = {"source": stream.source, "events": end, "dropped": stream.dropped}

            def once(algorithm: str, gaps: Any, gone: Any) -> Timing:
                return windows.events(algorithm, stream, width, end, gaps, gone)

            return {"source": [source], "skipped": skipped, **self._each_round(said, stream.most(width), rounds, once)}

        return Task("events latency", self._work(operator, wanted // APART, self.settings.events), run)

    def _each_round(
        self, said: dict[str, Any], rows: int, rounds: int, once: Callable[[str, Any, Any], Timing]
    ) -> Tables:
        """Time every round; keep how often each number of ticks was seen, and the worst rounds one by one."""
        noise = asdict(measure_noise(self.clock, self.settings.noise_rounds))
        tables: Tables = {"timings": [], "ticks": [], "worst": [], "noise": [{**said, **noise}]}
        best: dict[str, Any] = {}
        gaps, gone = np.ones(rounds, np.int64), np.ones(rounds, np.int64)
        for repetition, algorithm in self._turns(said["operator"], rows):
            timing = once(algorithm, gaps, gone)
            row = self._row(said, algorithm, repetition, rounds, timing)
            tables["timings"].append(row)
            tables["ticks"] += _histogram({**said, "algorithm": algorithm, "repetition": repetition}, gaps)
            best[algorithm] = np.minimum(best[algorithm], gaps) if algorithm in best else gaps.copy()
        for algorithm, ticks in best.items():
            tables["ticks"] += _histogram({**said, "algorithm": algorithm, "repetition": BEST}, ticks)
            for at in _longest(ticks):
                row = {**said, "algorithm": algorithm, "round": at, "ns": float(self.clock.ns(ticks[at]))}
                before = float(self.clock.ns(ticks[at - 1])) if at else None
                left = int(gone[at]) if said["workload"] == "events latency" else 1
                tables["worst"].append({**row, "ns_before": before, "evicted": left})
        for row in tables["ticks"]:
            row["ns"] = float(self.clock.ns(row["ticks"]))
        return tables

    def _counts(self) -> Tables:
        s = self.settings
        values = windows.values_of("sum", s.seed)
        rows: Rows = []
        runs = [("static", s.count_n, 4 * s.count_n), ("fill and drain", s.count_n, 4 * s.count_n)]
        for algorithm in s.everyone:
            large = s.growth[1] if algorithm in s.algorithms else s.latency_n  # no claim is about the others
            for workload, n, rounds in (*runs, ("static", s.growth[0], 4 * s.growth[0]), ("static", large, 0)):
                if algorithm == "Recalc" and n > s.count_n:
                    continue  # n calls a round, by its definition
                found = count(algorithm, workload, values, n, rounds or s.count_rounds)
                if found is not None and asdict(found) not in rows:
                    rows.append(asdict(found))
        return {"counts": rows}

    def _event_counts(self) -> Tables:
        """The calls over the first events of the experiment of latency."""
        s, stream = self.settings, self.events
        width = self.latency_width
        if width is None:
            return {"counts": []}
        rounds = min(10 * s.count_rounds, MOST_COUNTED)
        end = stream.start(width) + rounds
        rows: Rows = []
        for algorithm in s.algorithms:
            found = count(algorithm, "events", stream.values[:end], width, rounds, stream.times[:end])
            rows += [asdict(found)] if found is not None else []
        return {"counts": rows}

    def _allocations(self) -> Tables:
        """How often memory is asked for in few rounds and in many: equally often, if the rounds ask for none."""
        rows: Rows = []
        for operator in self.settings.operators:
            values = windows.values_of(operator, self.settings.seed)
            for algorithm in self._names(operator):
                few, many = (windows.rounds(algorithm, operator, values, 64, m).allocations for m in (64, 64 * 64))
                rows.append({"operator": operator, "algorithm": algorithm, "few": few, "many": many})
        return {"allocations": rows, "clock": [asdict(self.clock)]}


def _longest(ticks: Any) -> list[int]:
    """The rounds that took longest, the longest first."""
    some = np.argpartition(ticks, -min(WORST, len(ticks)))[-WORST:]
    found: list[int] = some[np.argsort(ticks[some])][::-1].tolist()
    return found


def _histogram(said: dict[str, Any], gaps: Any) -> Rows:
    """How often each number of ticks was seen: counted up to SHORT, and sorted above, where there are few."""
    short = (gaps >= 0) & (gaps < SHORT)
    often = np.bincount(gaps[short])
    ticks, seen = np.unique(gaps[~short], return_counts=True)
    few = np.flatnonzero(often)
    pairs = [*zip(few.tolist(), often[few].tolist(), strict=True), *zip(ticks.tolist(), seen.tolist(), strict=True)]
    return [{**said, "ticks": t, "rounds": c} for t, c in pairs]
