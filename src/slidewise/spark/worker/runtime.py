"""What Spark's workers run: functions of record batches, and the calls of a stream's shards."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from slidewise.errors import SlidewiseError, SnapshotError
from slidewise.kernels.compiler.threads import stay_single
from slidewise.spark.state.buckets import HASH
from slidewise.spark.state.directory import MicroBatch
from slidewise.spark.state.pages import DIRECTORY, RESTORE, TRAIL
from slidewise.spark.state.seven_bits import as_bytes, as_text
from slidewise.spark.stream import packing
from slidewise.spark.stream.beat_shard import shard_of
from slidewise.spark.stream.output import answers
from slidewise.spark.stream.packing import DATA
from slidewise.spark.stream.shard_labels import hashed

# Where Spark says how many partitions the state has, since the setting may have changed after the query first started.
_PARTITIONS = "spark.sql.streaming.internal.stateStore.partitions"


def run(payload: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    """A function of a module of this package over record batches, see `workers.task`."""
    from pyspark import cloudpickle

    stay_single()
    module, function, given = cloudpickle.loads(payload)
    try:
        yield from getattr(import_module(module), function)(*given, batches)
    except SlidewiseError as error:  # it says all; the way that led to it is of no use
        raise error.with_traceback(None) from None


class Working:
    """The definition in one worker; shards come one after the other."""

    def __init__(self, payload: bytes, handle: Any, pages: Any) -> None:
        from pyspark import cloudpickle

        stay_single()
        # PySpark says so for each column of times, to nobody who could do anything about it.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        terms, names, self._kinds = cloudpickle.loads(payload)
        self._names = [HASH, *names]
        self._shard = shard_of(terms)
        self._late_to = terms.late_to
        self._handle = handle
        self._pages = pages
        self._query = local_property("sql.streaming.queryId") or ""
        number = local_property("streaming.sql.batchId")
        self._batch = None if number is None else int(number)
        self._partitions = int(local_property(_PARTITIONS) or local_property("spark.sql.shuffle.partitions") or 1)
        self._called: set[int] = set()

    def call(self, label: int, frames: Iterable[Any], watermark: int, clock: int, fired: bool) -> Iterator[Any]:
        """Take in a shard's blobs, and yield its answers as pandas tables; times are in milliseconds."""
        shard = hashed(label)
        self._check_partition(shard)
        batch = MicroBatch(self._batch, clock, shard in self._called)
        self._called.add(shard)
        tables = [packing.table_of(blob).rename_columns(self._names) for frame in frames for blob in frame[DATA]]
        try:
            went = self._shard.call(MapStore(self._pages, (self._query, shard)), shard, tables, watermark, batch)
        except SlidewiseError as error:  # it says all; the way that led to it is of no use
            raise error.with_traceback(None) from None
        if went.timer != went.timer_before:
            if went.timer_before is not None and not fired:
                self._handle.deleteTimer(went.timer_before)
            if went.timer is not None:
                self._handle.registerTimer(went.timer)
        yield from answers(went.table, went.dropped, went.ahead, self._kinds, self._late_to is not None)

    def _check_partition(self, shard: int) -> None:
        """Shards that come to one task belong to one partition; else the state is another's."""
        for other in self._called:
            if (shard - other) % self._partitions:
                raise SnapshotError(
                    f"shards {other} and {shard} lie in one of {self._partitions} partitions of the state, and belong "
                    f"into two: files of the checkpoint were exchanged; {RESTORE}"
                )
            return


_SEEN: set[tuple[str, int, int]] = set()  # queries, shards and pages that this process knows to be there


class MapStore:
    """A map state of Spark as a place for pages, which lie there as text; `shard` is the query's id and the shard.

    Spark logs a warning for each page that is asked for and not there. That can be the directory and the trail alone,
    which are looked for before they are asked for when a process first meets a shard.
    """

    def __init__(self, state: Any, shard: tuple[str, int]) -> None:
        self._state = state
        self._shard = shard

    def get(self, number: int) -> bytes | None:
        page = (*self._shard, number)
        if (number == DIRECTORY or number >= TRAIL) and page not in _SEEN:
            if not self._state.containsKey((number,)):
                return None
            _SEEN.add(page)
        found = self._state.getValue((number,))
        return None if found is None else as_bytes(found[0])

    def put(self, number: int, page: bytes) -> None:
        self._state.updateValue((number,), (as_text(page),))

    def remove(self, number: int) -> None:
        self._state.removeKey((number,))


def local_property(name: str) -> str | None:
    """What Spark says of the task under this name, if anything."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return None if context is None else context.getLocalProperty(name)
