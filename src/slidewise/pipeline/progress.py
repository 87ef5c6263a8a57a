"""Progress of a job's stages in the terminal: a bar over Spark's tasks while a stage runs, and its time in the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.status import StatusTracker

POLL = 0.25


class TerminalStages:
    """Shows stages, one at a time; nothing where the output is no terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.spark: SparkSession | None = None

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
        if self.spark is None:
            return
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


def tasks_of(tracker: StatusTracker) -> tuple[int, int]:
    """The number of tasks of running stages that are done, and of all."""
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)
