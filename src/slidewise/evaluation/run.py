"""Compile, say how long it will take, and run what is not done yet, with a bar."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from slidewise.evaluation.applying import RECALC_MOST
from slidewise.evaluation.measure import windows
from slidewise.evaluation.measure.compiling import compile_all
from slidewise.evaluation.settings import Settings
from slidewise.evaluation.store import Store
from slidewise.evaluation.tasks import Task, Tasks

TRIAL = 2_000  # rounds by which the estimate is made


def run(folder: Path, settings: Settings, resume: bool, console: Console, processes: int | None = None) -> Store:
    """Run the experiments that the folder does not have, each one kept as soon as it is whole.

    Loops are compiled in so many processes, by default as many as there are cores; experiments run in this one alone.
    """
    store = Store(folder, settings, resume)
    tasks = Tasks(settings)
    todo = [task for task in tasks if not store.has(task.name)]
    done = sum(1 for _ in tasks) - len(todo)
    if done:
        console.print(f"{done} experiments are done already")
    if not todo:
        return store
    with _progress(console) as progress:
        costs = _costs(todo, tasks, store, progress, processes or os.cpu_count() or 1)
        seconds = [_estimate(task, costs) for task in todo]
        console.print(f"{len(todo)} to do, about {_told(sum(seconds))}; stop at any time, and go on with --resume")
        bar = progress.add_task("", total=max(sum(seconds), 1e-9))
        for task, cost in zip(todo, seconds, strict=True):
            progress.update(bar, description=task.name)
            began = perf_counter()
            store.save(task.name, task.run(), perf_counter() - began)
            progress.advance(bar, cost)
    return store


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description:<34}"), BarColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


def _costs(
    todo: list[Task], tasks: Tasks, store: Store, progress: Progress, processes: int
) -> dict[tuple[str, str], float]:
    """Nanoseconds of a round, from a short trial of each algorithm and operator, once its loops are compiled."""
    wanted = list(dict.fromkeys((algorithm, operator) for task in todo for algorithm, operator, _ in task.work))
    bar = progress.add_task("compile", total=len(wanted))
    compiled = compile_all(wanted, processes, lambda said: progress.update(bar, description=said, advance=1))
    if wanted and not store.has("compiling"):
        store.save("compiling", compiled)
    progress.remove_task(bar)
    return {(algorithm, operator): _trial(tasks, algorithm, operator) for algorithm, operator in wanted}


def _trial(tasks: Tasks, algorithm: str, operator: str) -> float:
    if operator == "relative_variation":
        stream = tasks.events
        width = max(int(stream.times[min(TRIAL, len(stream.times) - 1)] - stream.times[0]) // 4, 1)
        end = min(stream.start(width) + TRIAL, len(stream.times))
        return float(tasks.clock.ns(windows.events(algorithm, stream, width, end).ticks)) / TRIAL
    values = windows.values_of(operator, tasks.settings.seed)
    n = RECALC_MOST if algorithm == "Recalc" else 512
    return float(tasks.clock.ns(windows.rounds(algorithm, operator, values, n, TRIAL).ticks)) / TRIAL


def _estimate(task: Task, costs: dict[tuple[str, str], float]) -> float:
    """Seconds: the rounds at their trial's pace, and what comes beside them."""
    return 0.05 + sum(costs[algorithm, operator] * rounds * 1e-9 for algorithm, operator, rounds in task.work)


def _told(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5_400 else f"{seconds / 3_600:.1f} hours"


def elapsed_since(began: float) -> str:
    """How long it took, in words."""
    return _told(perf_counter() - began)
