"""Sorted runs spilled to disk: blocks in one file without a name, which is gone with the process."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import IO, NamedTuple

import pyarrow as pa

from slidewise.errors import SlidewiseError

# Bytes of rows that a task sorts at once: the most and the least; and how many blocks on disk are as many, about.
MEMORY = 32 * 2**20
MIN_MEMORY = 2**20
BLOCKS = 128


class Block(NamedTuple):
    """The place of some serialised rows in the file."""

    start: int
    length: int


Run = list[Block]


@cache
def sort_memory() -> int:
    """Bytes of rows to sort at once: less where Spark limits the memory of its workers."""
    if sys.platform == "win32":
        return MEMORY
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return MEMORY if limit == resource.RLIM_INFINITY else max(MIN_MEMORY, min(MEMORY, limit // 24))


class SpillFile:
    """A file of sorted runs in one of Spark's own directories; there is none before the first run."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._folder = _folder()
        self._file: IO[bytes] | None = None
        self._end = 0

    def write(self, tables: Iterable[pa.Table]) -> None:
        """Add a run, which comes as one table or several."""
        run: Run = []
        for table in tables:
            rows = max(1, len(table) * (sort_memory() // BLOCKS) // max(table.nbytes, 1))
            for start in range(0, len(table), rows):
                run.append(self._append(table.slice(start, rows)))
        self.runs.append(run)

    def read(self, run: Run) -> Iterator[pa.Table]:
        """A run's rows, block by block."""
        for block in run:
            assert self._file is not None
            self._file.seek(block.start)
            with pa.ipc.open_stream(pa.py_buffer(self._file.read(block.length))) as reader:
                yield reader.read_all()

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # closing flushes once more what a full disk did not take
                self._file.close()

    def _append(self, table: pa.Table) -> Block:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(table)
        data = sink.getvalue()
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, prefix="slidewise-")  # noqa: SIM115
            self._file.seek(self._end)
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            raise SlidewiseError(
                f"rows of this task do not fit into memory at once, and {self._folder or tempfile.gettempdir()} does "
                f"not take them ({error}); make room there, let spark.local.dir name another directory, or spread keys "
                "over more tasks (spark.sql.shuffle.partitions)"
            ) from error
        block = Block(self._end, len(data))
        self._end += len(data)
        return block


def _folder() -> str | None:
    """The first of Spark's directories for such files that can be written to."""
    for folder in os.environ.get("SPARK_LOCAL_DIRS", "").split(","):
        if folder and os.access(folder, os.W_OK):
            return folder
    return None
