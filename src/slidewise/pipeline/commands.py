"""`slidewise run` and `slidewise demo`: a job from a file on Spark, with a bar while it runs and a table at the end."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from slidewise.errors import SlidewiseError
from slidewise.pipeline.demo_job import EVENTS, JOB, RESULT, check_folder, write_job
from slidewise.pipeline.job.job import Job, read_job
from slidewise.pipeline.job.outputs import check_free, output_path
from slidewise.pipeline.progress import TerminalStages
from slidewise.pipeline.replay import check_replay, replay
from slidewise.pipeline.report.page import rows_of, write_report
from slidewise.pipeline.run import Summary, run, timed
from slidewise.pipeline.spark_session import start
from slidewise.pipeline.synthetic_events import write_events
from slidewise.pipeline.warming.beside import Beside, compiling_beside
from slidewise.spark.failures import reason
from slidewise.spark.ship.ship import ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START, SHIP = "start Spark", "ship Slidewise"
REPORT, MAKE, REPLAY = "report", "make events", "replay as a stream"
BROKEN = 60  # of the demonstration's lines


@dataclass(frozen=True)
class RunSettings:
    """The options of the command line for a run."""

    master: str | None = None
    conf: dict[str, str] = field(default_factory=dict)
    overwrite: bool = False
    verbose: bool = False
    replay: bool = False
    imports: bool = False
    ship: bool = False

    @classmethod
    def of(cls, options: argparse.Namespace) -> RunSettings:
        imports, replay, ship = (getattr(options, name, False) for name in ("allow_imports", "replay", "ship"))
        return cls(options.master, dict(options.conf), options.overwrite, options.verbose, replay, imports, ship)


def run_file(path: str | Path, settings: RunSettings, console: Console | None = None) -> Summary:
    """Run the job that a file describes."""
    job = read_job(path, imports=settings.imports)
    check_free(job, settings.overwrite)
    return _run_job(Path(path), job, settings, console or Console(highlight=False), {})


def demo(folder: str, file: str | None, events: int, settings: RunSettings, console: Console | None = None) -> Summary:
    """Make events, or take a file of them; write the job into the folder, and run it there."""
    console = console or Console(highlight=False)
    parent = Path(folder)
    source = parent / EVENTS if file is None else Path(file)
    if file is not None and not source.is_file():
        raise SlidewiseError(f"there is no file {source}; leave it out, and events are made")
    check_folder(parent, [RESULT, JOB, *([EVENTS] if file is None else [])], settings.overwrite)
    parent.mkdir(parents=True, exist_ok=True)
    job = write_job(parent, source.name if file is None else str(source.resolve()))  # first: it says whose all is
    seconds: dict[str, float] = {}
    if file is None:
        with timed(TerminalStages(console), MAKE, seconds):
            write_events(source, events, malformed=min(BROKEN, events // 1_000))
    summary = _run_job(job, read_job(job), settings, console, seconds)
    console.print(f"the job        {job}")
    return summary


def _run_job(file: Path, job: Job, settings: RunSettings, console: Console, seconds: dict[str, float]) -> Summary:
    """Run the job of a file on a session of its own, replay it and report on it; `seconds` are of stages before."""
    if settings.replay:
        check_replay(job)
    stages = TerminalStages(console)
    wanted = Beside(file, job.labels is not None, settings.replay)
    master, conf = settings.master or job.master, {**job.conf, **settings.conf}
    with compiling_beside(wanted, job, master, conf), session_of(job, settings, stages, seconds) as spark:
        check = partial(check_replay, job) if settings.replay else None
        summary = run(job, spark, settings.overwrite, stages, check)
        summary.seconds = {**seconds, **summary.seconds}
        if settings.replay:
            with timed(stages, REPLAY, summary.seconds):
                summary.replayed = str(replay(job, spark))
        if job.report is not None:
            with timed(stages, REPORT, summary.seconds):
                write_report(spark, job, summary)
    _show(console, job, summary)
    return summary


@contextmanager
def session_of(
    job: Job | None, settings: RunSettings, stages: TerminalStages, seconds: dict[str, float]
) -> Iterator[SparkSession]:
    """A session for a job, or for none, which ends with it; what fails there is an error of one sentence."""
    master, conf = (None, {}) if job is None else (job.master, job.conf)
    with tempfile.TemporaryDirectory(prefix="slidewise-") as folder:
        log = None if settings.verbose else Path(folder, "spark.log")
        spark = None
        try:
            with timed(stages, START, seconds):
                spark = stages.spark = start(settings.master or master or "local[*]", {**conf, **settings.conf}, log)
            if settings.ship:
                with timed(stages, SHIP, seconds):
                    ship(spark, streams=settings.replay or (job is not None and job.stream is not None))
            yield spark
        except SlidewiseError:
            raise
        except Exception as error:
            if settings.verbose:
                raise
            raise SlidewiseError(_failure(error, spark, log)) from error
        finally:
            if spark is not None:
                spark.stop()


def _failure(error: Exception, spark: SparkSession | None, log: Path | None) -> str:
    """The message of a job that failed; where Spark did not start, with the end of its log."""
    message = reason(error)
    if spark is None and log is not None and log.exists():
        last = log.read_text(errors="replace").strip().splitlines()[-3:]
        message = "\n  ".join([f"Spark did not start: {message}", *last])
    return f"{message}\n(--verbose shows the whole error, and Spark's log)"


def _show(console: Console, job: Job, summary: Summary) -> None:
    table = Table("rows", "", box=SIMPLE_HEAD, show_footer=False)
    table.columns[1].justify = "right"
    for name, count in rows_of(summary):
        table.add_row(name, count)
    times = Table("stage", "seconds", box=SIMPLE_HEAD)
    times.columns[1].justify = "right"
    for stage, took in summary.seconds.items():
        times.add_row(stage, f"{took:.1f}")
    grid = Table.grid(padding=(0, 4))
    grid.add_row(table, times)
    console.print(grid)
    if summary.warning:
        console.print(f"warning: {summary.warning}\n", soft_wrap=True, markup=False, style="bold red")
    console.print(f"{summary.rows_per_second:,.0f} rows/s from the first byte read to the last row written\n")
    if summary.replayed:
        console.print(f"as a stream: {summary.replayed}\n", soft_wrap=True)
    console.print(f"rows           {output_path(job, 'rows')}", soft_wrap=True)
    if summary.rejected:
        console.print(f"rejected       {output_path(job, 'rejected')}", soft_wrap=True)
    if summary.out_of_order and not summary.repaired:
        console.print(f"out of order   {output_path(job, 'out_of_order')}", soft_wrap=True)
    if summary.ahead:
        console.print(f"ahead          {output_path(job, 'ahead')}", soft_wrap=True)
    for folder in summary.leftovers:
        console.print(f"left over      {folder}: of a run that was stopped; --overwrite removes it", soft_wrap=True)
    if job.report is not None:
        console.print(f"report         {Path(job.report, 'report.html')}, report.png", soft_wrap=True)
