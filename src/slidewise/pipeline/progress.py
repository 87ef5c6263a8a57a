"""A job's stages in the terminal: a bar over Spark's tasks while a stage runs, and its time when it is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

POLL = 0.25


class Stages:
    """Shows stages, one at a time; nothing where the output is no terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.spark: Any = None

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        if not self.console.is_terminal:
            yield
            return
        columns = (
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description:<24}"),
            BarColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self.console) as progress:
            task = progress.add_task(name, total=None)
            stop = Event()
            follower = Thread(target=self._follow, args=(progress, task, stop), daemon=True)
            follower.start()
            try:
                yield
                progress.update(task, total=1, completed=1)
            finally:
                stop.set()
                follower.join(timeout=5)

    def _follow(self, progress: Progress, task: TaskID, stop: Event) -> None:
        """The tasks of the jobs that run, from Spark's status tracker; only a session with a context has one."""
        try:
            tracker = self.spark.sparkContext.statusTracker()
        except Exception:
            return
        while not stop.wait(POLL):
            try:
                done, total = tasks_of(tracker)
            except Exception:
                return
            if total and not stop.is_set():
                progress.update(task, completed=done, total=total)


def tasks_of(tracker: Any) -> tuple[int, int]:
    """How many tasks of the stages that run are done, and how many there are."""
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    found = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in found), sum(stage.numTasks for stage in found)
