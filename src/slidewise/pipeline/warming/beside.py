"""Kernels of a job compiled by a process beside it, while Spark starts and reads: workers then find them on disk.

The process ends with the job, however that ends: it is killed, and it ends by itself once nobody holds the other end
of its input. What it fails at, workers compile as ever. A note in the cache says that a job's kernels are all there, so
that the next run of the same file starts none.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import iglob
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from slidewise.definition_files import own_paths
from slidewise.kernels.compiler.cache import NOTE, cache_folder
from slidewise.kernels.compiler.threads import stay_single
from slidewise.kernels.compiler.tiers import compile_always
from slidewise.pipeline.job.job import ROW, Job
from slidewise.pipeline.run import in_one_order
from slidewise.pipeline.spark_session import workers_python
from slidewise.pipeline.warming.column_types import ColumnTypes, type_called, types_for
from slidewise.pipeline.warming.command import cores, read_definition, with_columns

LEAST_BYTES = 8 * 2**20  # of a source; the rows of smaller ones are few, and plain Python answers many of them
_MOST_FILES = 1_000  # of a source that are looked at


class Beside(NamedTuple):
    """A job's file, and the lanes that its definition runs through."""

    file: Path
    labels: bool = False
    replay: bool = False


@contextmanager
def compiling_beside(
    wanted: Beside, job: Job, master: str | None, conf: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes] | None]:
    """Compile what a job needs while it runs, where that pays: its workers are on this machine, and its rows many."""
    process = None
    with suppress(OSError):
        if cores() > 1 and _runs_here(master, conf) and is_large(job) and not _is_done(wanted):
            process = _started(wanted)
    try:
        yield process
    finally:
        if process is not None:
            with suppress(OSError):
                process.kill()
            process.communicate()


def is_large(job: Job) -> bool:
    """Whether a job's source has many rows, as far as files of this machine tell."""
    total = 0
    for number, size in enumerate(_sizes(job)):
        total += size
        if total >= LEAST_BYTES or number >= _MOST_FILES:
            break
    return total >= LEAST_BYTES


def _sizes(job: Job) -> Iterator[int]:
    for pattern in job.paths:
        for path in iglob(pattern) if "://" not in pattern else ():
            files = Path(path).rglob("*") if os.path.isdir(path) else [path]
            for file in files:
                with suppress(OSError):
                    yield os.path.getsize(file)


def _runs_here(master: str | None, conf: Mapping[str, str]) -> bool:
    """Whether Spark's workers are processes of this machine and of this Python, so that they share the cache."""
    python = shutil.which(workers_python(conf))
    is_local = (master or "local").startswith("local")
    return is_local and python is not None and Path(python).parent == Path(sys.executable).parent


def _started(wanted: Beside) -> subprocess.Popen[bytes]:
    """The process; of a session of its own, so that Ctrl-C reaches the job alone."""
    words = [str(wanted.file), *(name for name in ("labels", "replay") if getattr(wanted, name))]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _is_done(wanted: Beside) -> bool:
    """Whether all has been compiled already, or nothing is kept."""
    folder = cache_folder()
    if folder is None:
        return True
    try:
        folder.read(_note(wanted))
    except OSError:
        return False
    return True


def _note(wanted: Beside) -> str:
    """The name of the note that all is there which a file with this text needs."""
    from llvmlite.binding import get_host_cpu_name

    parts = (wanted.file.read_bytes(), wanted.labels, wanted.replay, get_host_cpu_name())
    return f"job-{hashlib.blake2b(repr(parts).encode(), digest_size=20).hexdigest()}{NOTE}"


def compile_job(wanted: Beside) -> None:
    """Compile, in this process, what a job needs."""
    from slidewise.pipeline.warming.lanes import lanes_of_job, run_lanes
    from slidewise.pipeline.warming.made_rows import made_tables

    definition, known = read_definition(str(wanted.file))
    own = {name for name, _ in own_paths(definition.columns)}
    columns = {name: column for name, column in definition.columns.items() if name not in own}
    if not columns:
        return
    definition = with_columns(definition, columns)
    if not wanted.labels:
        definition = in_one_order(definition)
        known[ROW] = type_called("bigint")
    types = types_for(definition, known)[0].types
    lanes = lanes_of_job(wanted.labels, wanted.replay)
    for table in made_tables(definition, ColumnTypes({name: types[name] for name in definition.event_needs})):
        run_lanes(definition, table, lanes)


def main(arguments: list[str]) -> None:
    """Compile what the job needs whose file is named, and note that it is done."""
    Thread(target=_end_with_the_job, daemon=True).start()
    stay_single()
    compile_always()
    wanted = Beside(Path(arguments[0]), "labels" in arguments[1:], "replay" in arguments[1:])
    note = _note(wanted)
    folder = cache_folder()
    compile_job(wanted)
    if folder is not None:
        folder.write(note, b"")


def _end_with_the_job() -> None:
    """End once the job's process has: it holds the other end of the input, and writes nothing."""
    while os.read(0, 1):  # not `sys.stdin`, whose lock Python needs as it ends
        pass
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
