"""The state in a query's checkpoint, on the driver: its keys as a DataFrame, summaries, checks, and its shards."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError
from slidewise.import_paths import Imports
from slidewise.spark.column_names import numbered_schema
from slidewise.spark.failures import reason
from slidewise.spark.inspect.check import Problem
from slidewise.spark.inspect.key_table import measure_names
from slidewise.spark.inspect.opened_shard import OpenedShard
from slidewise.spark.inspect.shard_tasks import REPORT, check, find_key, list_keys, shards_of, sum_up
from slidewise.spark.inspect.summary import Scale
from slidewise.spark.inspect.written_query import ShardHead, WrittenQuery, written_queries
from slidewise.spark.state.directory import Directory
from slidewise.spark.state.pages import DIRECTORY, TRAIL, MemoryStore, Pages, page_fingerprint
from slidewise.spark.stream.checkpoint import check_path, read_pages
from slidewise.spark.worker.task import check_python, task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PAGES = "shard bigint, number bigint, page string"


class CheckpointState:
    """The state of a stopped query, or of the last finished micro-batch of one that runs. Nothing is written to it.

    `definition` is given where the checkpoint does not hold it, and `operator` where it is of several operators with
    state. What a definition in the checkpoint names is imported only where `imports` allows it.
    """

    def __init__(
        self,
        session: SparkSession,
        checkpoint: str | Path,
        definition: Definition | None = None,
        operator: int | None = None,
        imports: Imports = False,
    ) -> None:
        check_python(session)
        self.checkpoint = str(checkpoint)
        self._pages = _pages_of(session, self.checkpoint, operator)
        self._heads = self._read_heads()
        self.queries = written_queries(
            [ShardHead.of(shard, pages) for shard, pages in self._heads.items()], definition, imports
        )

    def _read_heads(self) -> dict[int, MemoryStore]:
        """Of each shard its directory, its trail and its description."""
        try:
            rows = self._pages.where(f"number <= {DIRECTORY} or number >= {TRAIL}").collect()
        except Exception as error:
            raise SlidewiseError(
                f"Spark cannot read the state in {self.checkpoint}: {reason(error)} Where a file of it is damaged or "
                "missing, restore the whole checkpoint from a copy; Spark's log names the file"
            ) from error
        heads = dict(shards_of(sorted(rows, key=lambda row: int(row[0]))))
        if not heads:
            raise SlidewiseError(
                f"the checkpoint {self.checkpoint} has no state yet: no micro-batch with rows has finished"
            )
        return heads

    @property
    def query(self) -> WrittenQuery:
        """The query that wrote the state; one of two where an upgrade has not met all shards yet."""
        return next(iter(self.queries.values()))

    @cached_property
    def directories(self) -> dict[int, Directory]:
        """The directories of the shards, as far as they can be read."""
        readable = {}
        for shard, pages in self._heads.items():
            fingerprint = page_fingerprint(pages.get(DIRECTORY) or b"")
            try:
                readable[shard] = Directory(Pages(pages, fingerprint, shard))
            except (SlidewiseError, ValueError):
                continue
        return readable

    @property
    def damaged(self) -> bool:
        """Whether the directory of a shard cannot be read."""
        return len(self.directories) < len(self._heads)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the stream's rows."""
        for directory in self.directories.values():
            return pa.ipc.read_schema(pa.py_buffer(directory.schema))
        raise SlidewiseError(
            f"no shard of {self.checkpoint} has a directory that can be read; slidewise state --check says more"
        )

    @property
    def released(self) -> int | None:
        """The time up to which the stream has taken rows in, in microseconds."""
        times = [directory.released for directory in self.directories.values() if directory.released is not None]
        return max(times, default=None)

    @property
    def scale(self) -> Scale | None:
        """The moments between which rows wait."""
        waiting = [page for directory in self.directories.values() for page in directory.waiting]
        if not waiting:
            return None
        return Scale(min(page.first for page in waiting), max(page.last for page in waiting))

    def keys(self) -> DataFrame:
        """A DataFrame of all keys, see `key_tables`."""
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import BooleanType, LongType, StructField, StructType

        by, schema = self.query.definition.by, self.schema
        shard, newest, rows, cells, size, large = measure_names(by)

        def field(name: str, column: str) -> StructField:
            return StructField(name, from_arrow_type(schema.field(column).type, prefer_timestamp_ntz=True))

        fields = [field(name, name) for name in by]
        fields += [StructField(shard, LongType()), field(newest, str(self.query.definition.on))]
        fields += [StructField(name, LongType()) for name in (rows, cells, size)]
        whole = StructType([*fields, StructField(large, BooleanType())])
        numbered = numbered_schema(whole)
        tasks = task(list_keys, self.queries, numbered.names)
        return self._pages.mapInArrow(tasks, numbered).toDF(*whole.names)

    def summaries(self, largest: int) -> list[dict[str, Any]]:
        """What each shard holds, see `shard_summary`, by shard; an `error` where one cannot be read."""
        return [summary for _, summary in self._reports(task(sum_up, self.queries, largest, self.scale))]

    def check(self) -> tuple[int, list[Problem]]:
        """How many pages there are, and all that is wrong in them."""
        pages, problems = 0, []
        for shard, report in self._reports(task(check, self.queries)):
            pages += report["pages"]
            problems += [Problem(shard, page, what) for page, what in report["problems"]]
        return pages, problems

    def _reports(self, tasks: Any) -> list[tuple[int, Any]]:
        rows = self._pages.mapInArrow(tasks, REPORT).collect()
        return sorted(((row.shard, json.loads(row.report)) for row in rows), key=lambda item: item[0])

    def shards(self) -> Iterator[OpenedShard]:
        """The shards, opened here, one after the other: a partition of the state is in memory at a time."""
        for shard, store in shards_of(self._pages.toLocalIterator()):
            yield OpenedShard(store, shard, self.queries)

    def shards_of_key(self, key: Mapping[str, str]) -> list[OpenedShard]:
        """The shards that a key lies in, with the pages that it lies in, and no others; keys are given as text."""
        rows = self._pages.mapInArrow(task(find_key, self.queries, dict(key)), _PAGES).collect()
        return [OpenedShard(store, shard, self.queries, partial=True) for shard, store in shards_of(rows)]


def check_folder(checkpoint: str) -> None:
    """Refuse a path of this machine that is no checkpoint, or one without state, before Spark is asked."""
    if "://" in checkpoint:
        return
    path = Path(checkpoint)
    if not path.is_dir():
        raise SlidewiseError(f"there is no folder {checkpoint}; give the checkpointLocation of a streaming query")
    if not (path / "offsets").is_dir():
        raise SlidewiseError(
            f"{checkpoint} is no checkpoint of a streaming query: it has no folder 'offsets'; give the "
            "checkpointLocation, not the output"
        )
    if not any((path / "commits").glob("[0-9]*")):
        raise SlidewiseError(f"the checkpoint {checkpoint} has no state yet: no micro-batch has finished")
    check_path(checkpoint)


def _pages_of(session: SparkSession, checkpoint: str, operator: int | None) -> DataFrame:
    """The pages of a checkpoint; an error says what there is instead of one that a definition wrote."""
    check_folder(checkpoint)
    try:
        return read_pages(session, checkpoint, operator)
    except SlidewiseError:
        raise
    except Exception as error:
        raise SlidewiseError(
            f"{checkpoint} has no state that a definition of Slidewise has written: {reason(error)}"
        ) from error
