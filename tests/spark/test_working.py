"""What a worker does with a shard's calls: it asks for no page that is not there, and refuses exchanged state."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark import cloudpickle
from shards import FINGERPRINT

import slidewise as sw
from slidewise.spark.stream.packing import to_blobs
from slidewise.spark.stream.shard import QueryTerms
from slidewise.spark.stream.shard_labels import shard_label
from slidewise.spark.worker import runtime as working

COUNT = sw.Sliding(by="k", on="ts", n=sw.count().over("10s"))
SCHEMA = pa.schema([("hash", pa.int64()), ("k", pa.string()), ("ts", pa.timestamp("us", "UTC"))])


class MapState:
    """Spark's map state; it minds when a page is asked for that is not there."""

    def __init__(self) -> None:
        self.pages: dict[int, str] = {}
        self.looked_for = 0

    def containsKey(self, key: tuple[int]) -> bool:
        self.looked_for += 1
        return key[0] in self.pages

    def getValue(self, key: tuple[int]) -> tuple[str]:
        return (self.pages[key[0]],)

    def updateValue(self, key: tuple[int], value: tuple[str]) -> None:
        self.pages[key[0]] = value[0]

    def removeKey(self, key: tuple[int]) -> None:
        del self.pages[key[0]]


class Task:
    """The tasks of one partition of a query, one for each micro-batch; shards' states stay."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, partitions: int) -> None:
        self.states: dict[int, MapState] = {}
        self._properties = {"sql.streaming.queryId": str(random.random()), working._PARTITIONS: str(partitions)}
        self._batch = 0
        monkeypatch.setattr(working, "local_property", self._properties.get)

    def run(self, *shards: int) -> int:
        """A row for each of these shards; how often pages were looked for."""
        self._properties["streaming.sql.batchId"] = str(self._batch)
        self._batch += 1
        terms = QueryTerms(COUNT, FINGERPRINT, {"n": pa.int64()})
        handle = SimpleNamespace(registerTimer=lambda _: None, deleteTimer=lambda _: None)
        kinds = [pa.string(), SCHEMA.field("ts").type, pa.int64()]
        one = working.ShardRunner(cloudpickle.dumps((terms, ["k", "ts"], kinds)), handle, None)
        before = sum(state.looked_for for state in self.states.values())
        for shard in shards:
            one._pages = self.states.setdefault(shard, MapState())
            rows = pa.table([[5], ["a"], pa.array([self._batch * 10**6], SCHEMA.field(2).type)], schema=SCHEMA)
            [(blob, _)] = to_blobs(rows)
            list(one.call(shard_label(shard), [{"data": [blob]}], self._batch * 1_000 - 500, 0, False))
        return sum(state.looked_for for state in self.states.values()) - before


def test_pages_that_are_not_there_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(monkeypatch, 2)
    # Each of the two shards' directory until it is there, and the pages of the trail.
    assert [task.run(1, 3) for _ in range(6)] == [2, 4, 2, 2, 0, 0]


def test_shards_of_two_partitions_in_one_task_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(monkeypatch, 2)
    task.run(1, 3, 5)
    with pytest.raises(sw.SnapshotError, match="shards 1 and 4 lie in one of 2 partitions of the state"):
        task.run(1, 4)
