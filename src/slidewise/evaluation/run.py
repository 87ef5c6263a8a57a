"""The run: compile, estimate how long it will take, and run the experiments that are not done yet, with a bar."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from slidewise.evaluation.applicability import RECALC_MOST
from slidewise.evaluation.experiments import Experiment, Experiments
from slidewise.evaluation.measure import timed_runs
from slidewise.evaluation.measure.compiling import compile_all
from slidewise.evaluation.result_store import ResultStore
from slidewise.evaluation.settings import ExperimentSettings

TRIAL = 2_000  # rounds by which the estimate is made


def run(
    folder: Path, settings: ExperimentSettings, resume: bool, console: Console, processes: int | None = None
) -> ResultStore:
    """Run the experiments that the folder does not have, each one kept as soon as it is whole.

    Loops are compiled in so many processes, by default as many as there are cores; experiments run in this one alone.
    """
    store = ResultStore(folder, settings, resume)
    experiments = Experiments(settings)
    todo = [experiment for experiment in experiments if not store.has(experiment.name)]
    done = sum(1 for _ in experiments) - len(todo)
    if done:
        console.print(f"{done} experiments are done already")
    if not todo:
        return store
    with _progress(console) as progress:
        costs = _costs(todo, experiments, store, progress, processes or os.cpu_count() or 1)
        seconds = [_estimate(experiment, costs) for experiment in todo]
        console.print(
            f"{len(todo)} to do, about {_duration_text(sum(seconds))}; stop at any time, and go on with --resume"
        )
        bar = progress.add_task("", total=max(sum(seconds), 1e-9))
        for experiment, cost in zip(todo, seconds, strict=True):
            progress.update(bar, description=experiment.name)
            began = perf_counter()
            store.save(experiment.name, experiment.run(), perf_counter() - began)
            progress.advance(bar, cost)
    return store


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description:<34}"), BarColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


def _costs(
    todo: list[Experiment], experiments: Experiments, store: ResultStore, progress: Progress, processes: int
) -> dict[tuple[str, str], float]:
    """Nanoseconds of a round, from a short trial of each algorithm and operator, once its loops are compiled."""
    wanted = list(
        dict.fromkeys((algorithm, operator) for experiment in todo for algorithm, operator, _ in experiment.work)
    )
    bar = progress.add_task("compile", total=len(wanted))
    compiled = compile_all(wanted, processes, lambda text: progress.update(bar, description=text, advance=1))
    if wanted and not store.has("compiling"):
        store.save("compiling", compiled)
    progress.remove_task(bar)
    return {(algorithm, operator): _trial(experiments, algorithm, operator) for algorithm, operator in wanted}


def _trial(experiments: Experiments, algorithm: str, operator: str) -> float:
    if operator == "relative_variation":
        stream = experiments.events
        width = max(int(stream.times[min(TRIAL, len(stream.times) - 1)] - stream.times[0]) // 4, 1)
        end = min(stream.start(width) + TRIAL, len(stream.times))
        return float(experiments.clock.ns(timed_runs.events(algorithm, stream, width, end).ticks)) / TRIAL
    values = timed_runs.values_of(operator, experiments.settings.seed)
    n = RECALC_MOST if algorithm == "Recalc" else 512
    return float(experiments.clock.ns(timed_runs.rounds(algorithm, operator, values, n, TRIAL).ticks)) / TRIAL


def _estimate(experiment: Experiment, costs: dict[tuple[str, str], float]) -> float:
    """Seconds: the rounds at their trial's pace, and what comes beside them."""
    return 0.05 + sum(costs[algorithm, operator] * rounds * 1e-9 for algorithm, operator, rounds in experiment.work)


def _duration_text(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5_400 else f"{seconds / 3_600:.1f} hours"


def elapsed_since(began: float) -> str:
    """How long it took, in words."""
    return _duration_text(perf_counter() - began)
