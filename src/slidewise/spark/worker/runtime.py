"""The entry points of Spark's Python workers: functions of record batches, and the calls of a stream's shards."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from importlib import import_module
from socket import gethostname
from typing import TYPE_CHECKING, Any

from slidewise.errors import OperatorFailedError, SlidewiseError, SnapshotError
from slidewise.kernels.compiler.threads import stay_single
from slidewise.spark.state.buckets import HASH
from slidewise.spark.state.directory import MicroBatch
from slidewise.spark.state.pages import DIRECTORY, HISTORY_RUN, RESTORE, TRAIL
from slidewise.spark.state.seven_bits import decode_text, encode_text
from slidewise.spark.stream import packing
from slidewise.spark.stream.beat_shard import make_shard
from slidewise.spark.stream.history import NUMBER, PAGE, TIMER
from slidewise.spark.stream.output import output_frames
from slidewise.spark.stream.packing import DATA
from slidewise.spark.stream.shard_labels import labelled_shard
from slidewise.spark.upgrade.upgrade import call_shard

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle

    from slidewise.spark.stream.shard import QueryTerms

# The property with the number of the state's partitions: the setting may have changed since the query first started.
_PARTITIONS = "spark.sql.streaming.internal.stateStore.partitions"


def run_task(payload: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run a function of this package over record batches, see `worker.task`."""
    stay_single()
    module, function, arguments = unpickled(payload)
    try:
        yield from getattr(import_module(module), function)(*arguments, batches)
    except SlidewiseError as error:  # its text says all; a traceback of this package is of no use
        raise error.with_traceback(None) from None


def unpickled(payload: bytes) -> Any:
    """What a driver has pickled; an error that says what to do where it needs a module that is not here."""
    from pyspark import cloudpickle

    try:
        return cloudpickle.loads(payload)
    except ModuleNotFoundError as error:
        missing = error.name
    raise OperatorFailedError(
        f"an operator of this definition needs the module {missing!r}, which {sys.executable} on {gethostname()} does "
        "not have; send it before the transformation, spark.sparkContext.addPyFile('...') or over Spark Connect "
        "spark.addArtifacts('...', pyfile=True), or install it there"
    )


class ShardRunner:
    """Runs a definition's shards in one worker, one after the other, on the state that Spark has for each."""

    def __init__(self, payload: bytes, handle: StatefulProcessorHandle, pages: MapState) -> None:
        stay_single()
        # PySpark says so for each column of times, to nobody who could do anything about it.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        terms, names, self._types = unpickled(payload)
        self._names = [HASH, *names]
        self._terms: QueryTerms = terms
        self._shard = make_shard(terms)
        self._handle = handle
        self._pages = pages
        self._query = local_property("sql.streaming.queryId") or ""
        self._run = local_property("spark.jobGroup.id") or ""
        number = local_property("streaming.sql.batchId")
        self._batch = None if number is None else int(number)
        self._partitions = int(local_property(_PARTITIONS) or local_property("spark.sql.shuffle.partitions") or 1)
        self._shards: set[int] = set()

    def call(
        self, label: int, frames: Iterable[pd.DataFrame], watermark: int, clock: int, fired: bool
    ) -> Iterator[pd.DataFrame]:
        """Take in a shard's blobs, and yield its answers; `watermark` and `clock` are in milliseconds."""
        shard = labelled_shard(label)
        if self._terms.warm and shard == 0:
            self._note_history()
        self._check_partition(shard)
        batch = MicroBatch(self._batch, clock, shard in self._shards)
        self._shards.add(shard)
        tables = [packing.from_blob(blob).rename_columns(self._names) for frame in frames for blob in frame[DATA]]
        store = MapStateStore(self._pages, (self._query, shard))
        try:
            result = call_shard(self._shard, self._terms, store, shard, tables, watermark, batch)
        except SlidewiseError as error:  # its text says all; a traceback of this package is of no use
            raise error.with_traceback(None) from None
        if result.timer != result.timer_before:
            if result.timer_before is not None and not fired:
                self._handle.deleteTimer(result.timer_before)
            if result.timer is not None:
                self._handle.registerTimer(result.timer)
        refused = (result.dropped, result.ahead, result.before_history)
        yield from output_frames(result.table, refused, self._types, self._terms.late_to is not None)

    def load(self, label: int, pages: pd.DataFrame) -> None:
        """Store pages of a shard's history, before the first micro-batch; its timer stands beside its directory."""
        store = MapStateStore(self._pages, (self._query, labelled_shard(label)))
        if labelled_shard(label) == 0:
            store.put(HISTORY_RUN, self._run.encode())
        for number, page, timer in zip(pages[NUMBER], pages[PAGE], pages[TIMER], strict=True):
            store.put(int(number), bytes(page))
            if timer > 0:
                self._handle.registerTimer(int(timer))

    def _note_history(self) -> None:
        """Say once, in the log of a worker, that a history is ignored, where the query began before this run of it."""
        if self._batch and self._run not in _NOTED:
            began = self._pages.getValue((HISTORY_RUN,)) if self._pages.containsKey((HISTORY_RUN,)) else None
            if began is None or began[0] != encode_text(self._run.encode()):
                warnings.warn(f"history= is ignored: the query goes on from micro-batch {self._batch}", stacklevel=2)
        _NOTED.add(self._run)

    def _check_partition(self, shard: int) -> None:
        """Shards of one task must be of one partition; otherwise the state is another's."""
        for other in self._shards:
            if (shard - other) % self._partitions:
                raise SnapshotError(
                    f"shards {other} and {shard} lie in one of {self._partitions} partitions of the state, and belong "
                    f"into two: files of the checkpoint were exchanged; {RESTORE}"
                )
            return


_NOTED: set[str] = set()  # runs of queries whose history was taken in, or that were told that it is ignored
_STORED: set[tuple[str, int, int]] = set()  # queries, shards and pages that this process knows to be stored


class MapStateStore:
    """A `PageStore` in a map state of Spark, where pages lie as text; `shard` is the query's id and the shard.

    Spark logs a warning for each page that is asked for and not there. That can be the directory and the trail alone,
    which are looked for before they are asked for when a process first meets a shard.
    """

    def __init__(self, state: MapState, shard: tuple[str, int]) -> None:
        self._state = state
        self._shard = shard

    def get(self, number: int) -> bytes | None:
        page = (*self._shard, number)
        if (number == DIRECTORY or number >= TRAIL) and page not in _STORED:
            if not self._state.containsKey((number,)):
                return None
            _STORED.add(page)
        value = self._state.getValue((number,))
        return None if value is None else decode_text(value[0])

    def put(self, number: int, page: bytes) -> None:
        self._state.updateValue((number,), (encode_text(page),))

    def remove(self, number: int) -> None:
        self._state.removeKey((number,))


def local_property(name: str) -> str | None:
    """A local property of the Spark task, or None."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return None if context is None else context.getLocalProperty(name)
