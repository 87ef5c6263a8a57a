"""`slidewise warm [FILE]`: compile what a definition needs, or all built-in operators, in all cores, into the cache."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from slidewise.definition_files import own_paths
from slidewise.errors import SlidewiseError
from slidewise.kernels.compiler.cache import SUFFIX, VARIABLE, cache_folder
from slidewise.kernels.compiler.tiers import compile_always
from slidewise.operators import CATALOGUE
from slidewise.operators.examples import WINDOW, example
from slidewise.pipeline.job.definition_table import definition_document, definition_of
from slidewise.pipeline.job.job import unresolved_job
from slidewise.pipeline.warming.column_types import ColumnTypes, type_called, types_for, types_in_file, types_in_job
from slidewise.sliding import Sliding


@dataclass(frozen=True)
class WarmSettings:
    """The options of the command line for compiling ahead."""

    file: str | None = None
    types: Mapping[str, str] | None = None
    rows: str | None = None
    processes: int | None = None


class WarmTask(NamedTuple):
    """A definition as a dict, and the types of its columns, by name."""

    written: dict[str, Any]
    types: dict[str, str]


class Warmed(NamedTuple):
    """What has become of a task: what refused the definition, by lane, and the failure, if any."""

    refused: list[str]
    failed: str | None = None


def warm_command(wanted: WarmSettings, console: Console | None = None) -> int:
    """Compile, with progress on a terminal; the exit status is 1 where a part could not be run."""
    console = console or Console(highlight=False)
    say = partial(console.print, soft_wrap=True, markup=False)
    folder = cache_folder()
    if folder is None:
        raise SlidewiseError(
            f"compiled code is kept nowhere, so nothing can be compiled ahead: set {VARIABLE} to a folder of your own"
        )
    left_out: list[str] = []
    if wanted.file is None:
        if wanted.types or wanted.rows:
            raise SlidewiseError("--type and --rows say which columns a definition reads; name its file, too")
        tasks = list(_tasks_of_operators())
    else:
        described, tasks, left_out = _tasks_of_file(wanted)
        say(described)
    processes = min(wanted.processes or cores(), len(tasks))
    before = _kernels(folder.path)
    began = time.perf_counter()
    failures = _run(tasks, processes, console)
    seconds = time.perf_counter() - began
    new = len(_kernels(folder.path) - before)
    say(
        f"{new} kernels compiled in {seconds:.1f} s by {processes} process{'es' if processes > 1 else ''}, "
        f"{len(before)} were there: {folder.path}"
    )
    if left_out:
        say(f"left out: {', '.join(left_out)}; operators of your own are compiled in each process, and not kept")
    for failure in failures:
        say(f"not compiled: {failure}")
    return 1 if failures else 0


def _tasks_of_operators() -> Iterator[WarmTask]:
    """Each built-in operator over rows and over time, of floats and of whole numbers."""
    for op in CATALOGUE:
        aggregate = example(op)
        if aggregate is None:
            continue
        columns = {"rows": aggregate.over(rows=WINDOW), "time": aggregate.over("10 minutes")}
        for kind in ("double", "bigint"):
            types = {"ts": "timestamp", "key": "string", "flag": "boolean"}
            types |= dict.fromkeys(("x", "y", "ratio"), kind) | dict.fromkeys(("n", "counter"), "bigint")
            for name, column in columns.items():
                try:
                    written = Sliding(by="key", on="ts", columns={name: column}).to_dict()
                except SlidewiseError:  # an operator that has no such windows
                    continue
                yield WarmTask(written, types)


def _tasks_of_file(wanted: WarmSettings) -> tuple[str, list[WarmTask], list[str]]:
    """What a definition's columns are taken to be; its columns one by one, then all together; and what is left out."""
    assert wanted.file is not None
    definition, known = read_definition(wanted.file)
    own = {name for name, _ in own_paths(definition.columns)}
    columns = {name: column for name, column in definition.columns.items() if name not in own}
    if not columns:
        raise SlidewiseError(f"{wanted.file} has operators of your own only, which are compiled in each process")
    builtin = with_columns(definition, columns)
    if wanted.rows is not None:
        known |= types_in_file(wanted.rows)
    for name, kind in (wanted.types or {}).items():
        if name not in builtin.event_needs:
            raise SlidewiseError(f"--type {name}={kind}: the definition reads {', '.join(builtin.event_needs)}")
        known[name] = type_called(kind)
    all_types = types_for(builtin, known)
    tasks = []
    for types in all_types:
        named = {name: str(kind) for name, kind in types.types.items()}
        for name, column in columns.items() if len(columns) > 1 else ():
            tasks.append(WarmTask(with_columns(definition, {name: column}).to_dict(), named))
        tasks.append(WarmTask(builtin.to_dict(), named))
    return _described(all_types), tasks, sorted(own)


def read_definition(file: str) -> tuple[Sliding, dict[str, Any]]:
    """The definition in a file, a job's or one by itself, and the types of columns that a job knows."""
    path = Path(file)
    document = definition_document(path)
    if "definition" not in document.data or "source" not in document.data:
        return definition_of(document), {}
    return definition_of(document), types_in_job(unresolved_job(document, path.parent))


def with_columns(definition: Sliding, columns: Mapping[str, Any]) -> Sliding:
    """The definition with these columns instead of its own."""
    return Sliding(definition.by, definition.on, definition.ties, columns, definition.every, definition.offset)


def _described(all_types: list[ColumnTypes]) -> str:
    types = all_types[0]
    if not types.supposed:
        return f"columns: {types}"
    also = ", numbers also whole" if len(all_types) > 1 else ""
    return (
        f"columns: {types}; {', '.join(types.supposed)}: supposed{also}. Say what they are with "
        f"--type {types.supposed[0]}=..., or --rows FILE"
    )


def _run(tasks: list[WarmTask], processes: int, console: Console) -> list[str]:
    """Run the tasks; those that failed, each with the reason."""
    failures = dict[str, None]()
    columns = (TextColumn("compile"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        Progress(*columns, console=console, disable=not console.is_terminal) as progress,
        ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=compile_always) as pool,
    ):
        bar = progress.add_task("", total=len(tasks))
        running: dict[Future[Warmed], WarmTask] = {pool.submit(run_task, task): task for task in tasks}
        try:
            for done in as_completed(running):
                progress.advance(bar)
                failed = done.result().failed
                if failed is not None:
                    failures[f"{', '.join(running[done].written['columns'])}: {failed}"] = None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return list(failures)


def run_task(task: WarmTask) -> Warmed:
    """Compile, in this process, all that a task needs."""
    from slidewise.pipeline.warming.lanes import run_lanes
    from slidewise.pipeline.warming.made_rows import made_tables

    refused: list[str] = []
    try:
        definition = Sliding.from_dict(task.written)
        types = ColumnTypes({name: type_called(kind) for name, kind in task.types.items()})
        used = ColumnTypes({name: types.types[name] for name in definition.event_needs})
        for table in made_tables(definition, used):
            refused = run_lanes(definition, table)
    except Exception as error:
        return Warmed(refused, f"{type(error).__name__}: {error}")
    return Warmed(refused)


def _kernels(folder: Path) -> set[str]:
    return {name for name in os.listdir(folder) if name.endswith(SUFFIX)}


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
