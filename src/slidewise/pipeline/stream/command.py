"""`slidewise run --stream`: a job over a stream from a file, with a display while it runs and a table at the end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from slidewise.errors import SlidewiseError
from slidewise.pipeline.commands import RunSettings, session_of
from slidewise.pipeline.job.job import Job, read_job
from slidewise.pipeline.progress import TerminalStages
from slidewise.pipeline.run import timed
from slidewise.pipeline.stream.checkpoint_lock import locked
from slidewise.pipeline.stream.display import StreamDisplay
from slidewise.pipeline.stream.numbers import StreamNumbers
from slidewise.pipeline.stream.prometheus import served
from slidewise.pipeline.stream.queries import check_outputs, rows_path
from slidewise.pipeline.stream.run import run_stream_job
from slidewise.pipeline.stream.source import stream_of_job
from slidewise.pipeline.stream.stop_flag import StopFlag
from slidewise.spark.upgrade.plan import plan_upgrade

STREAM = "stream"
SIGNALS = (signal.SIGTERM, signal.SIGINT)
ENDING = "ending after this micro-batch; a second signal ends it at once"


@dataclass(frozen=True)
class StreamSettings:
    """The options of the command line that only streams have."""

    metrics: int | None = None
    source_options: Mapping[str, str] = field(default_factory=dict)
    sink_options: Mapping[str, str] = field(default_factory=dict)


def stream_file(
    path: str | Path, settings: RunSettings, wanted: StreamSettings | None = None, console: Console | None = None
) -> str:
    """Run the job that a file describes over its stream; the warning where too many rows were lost, or nothing."""
    wanted, console = wanted or StreamSettings(), console or Console(highlight=False)
    _check_settings(settings)
    job = read_job(path, imports=settings.imports, stream=True)
    job = replace(
        job,
        source_options={**job.source_options, **wanted.source_options},
        sink_options={**job.sink_options, **wanted.sink_options},
    )
    stream = stream_of_job(job)
    numbers, seconds, stopping = StreamNumbers(), dict[str, float](), StopFlag()
    conf = {**job.conf, **settings.conf}
    with locked(stream.checkpoint), served(numbers, wanted.metrics) as address, ending(stopping, console) as install:
        check_outputs(job)
        upgrade = plan_upgrade(job.definition, stream.transform.get("upgrade_from"))
        if upgrade is not None:
            console.print(f"{upgrade}\nleave out upgrade_from in the next run\n", soft_wrap=True, markup=False)
        if address is not None:
            console.print(f"metrics        {address}", soft_wrap=True)
        stages = TerminalStages(console)
        with session_of(job, settings, stages, seconds) as spark:
            install()  # Spark has put its own handler in the place of ours
            display = StreamDisplay(console)
            with timed(lambda _stage: display, STREAM, seconds):
                run_stream_job(job, spark, numbers, _noting(display, stopping), stopping, conf)
    warning = warning_of(job, numbers)
    show_summary(console, job, numbers, seconds, warning)
    return warning if stream.bounded and not stopping.is_set() else ""


def _check_settings(settings: RunSettings) -> None:
    if settings.replay:
        raise SlidewiseError("--replay compares a batch job with a stream; leave it out with --stream")
    if settings.overwrite:
        raise SlidewiseError(
            "a stream goes on from its checkpoint and overwrites nothing; to begin anew, remove the checkpoint and its "
            "tables, or name others, and leave out --overwrite"
        )


def _noting(display: StreamDisplay, stopping: StopFlag) -> Callable[[StreamNumbers], None]:
    """An update of the display that says once that the stream is ending."""

    def update(numbers: StreamNumbers) -> None:
        if stopping.is_set() and not display.note:
            display.say(ENDING)
        display.update(numbers)

    return update


@contextmanager
def ending(stopping: StopFlag, console: Console) -> Iterator[Callable[[], None]]:
    """Let the first SIGTERM or Ctrl-C set `stopping`, and the second end the process at once.

    What is given installs the handlers again. Only the main thread of a process can do that; elsewhere nothing is done.
    """

    def handle(number: int, _frame: FrameType | None) -> None:
        if stopping.is_set():
            console.show_cursor(True)
            os._exit(128 + number)
        stopping.set()

    def install() -> None:
        if current_thread() is main_thread():
            for number in SIGNALS:
                signal.signal(number, handle)

    before = {number: signal.getsignal(number) for number in SIGNALS}
    install()
    try:
        yield install
    finally:
        if current_thread() is main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)


def warning_of(job: Job, numbers: StreamNumbers) -> str:
    """The warning where more rows were lost for their times than the job accepts; nothing elsewhere."""
    if not numbers.rows_in or numbers.lost <= job.late_limit * numbers.rows_in:
        return ""
    share = numbers.lost / numbers.rows_in
    return (
        f"{numbers.lost:,} of {numbers.rows_in:,} rows ({share:.1%}) are lost for their times: {numbers.late:,} late, "
        f"{numbers.ahead:,} too far ahead; give a longer watermark, put wrong dates aside (ahead = '1 day'), "
        f"or accept it with [clean] late_limit = {min(1.0, round(share + 0.05, 1))}"
    )


def counts_of(job: Job, numbers: StreamNumbers) -> list[tuple[str, str]]:
    """The counts of a run: what went in, what was dropped and why, and what came out."""
    rows = [("in", numbers.rows_in), *((f"rejected: {why}", count) for why, count in numbers.rejected.items())]
    rows.append(("late, dropped", numbers.late))
    if numbers.ahead:
        rows.append(("too far ahead, put aside", numbers.ahead))
    if numbers.before_history:
        rows.append(("in the history already", numbers.before_history))
    rows.append(("out" if job.definition.every is None else "beats out", numbers.rows_out))
    return [(name, f"{count:,}") for name, count in rows]


def show_summary(
    console: Console, job: Job, numbers: StreamNumbers, seconds: Mapping[str, float], warning: str
) -> None:
    """Print what this run did: counts, seconds, and where the rows are."""
    table = Table("rows", "", box=SIMPLE_HEAD)
    table.columns[1].justify = "right"
    for name, count in counts_of(job, numbers):
        table.add_row(name, count)
    times = Table("stage", "seconds", box=SIMPLE_HEAD)
    times.columns[1].justify = "right"
    for stage, took in seconds.items():
        times.add_row(stage, f"{took:.1f}")
    grid = Table.grid(padding=(0, 4))
    grid.add_row(table, times)
    console.print(grid)
    if warning:
        console.print(f"warning: {warning}\n", soft_wrap=True, markup=False, style="bold red")
    stream = stream_of_job(job)
    console.print(f"{numbers.batches:,} micro-batches; rows that the watermark has not passed wait in the checkpoint\n")
    console.print(f"rows           {rows_path(job) or job.sink_format}", soft_wrap=True, markup=False)
    if numbers.rejected and stream.rejected:
        console.print(f"rejected       {stream.rejected}", soft_wrap=True, markup=False)
    console.print(f"checkpoint     {stream.checkpoint}", soft_wrap=True, markup=False)
