"""What tests of a stream's stored state share: pages as a reader gets them, and lives that go on from them."""

from __future__ import annotations

import random
from typing import Any

import lanes
import pyarrow as pa
from shards import SECOND, Stream, terms_of, times_of

import slidewise as sw
from slidewise.live.live import Live
from slidewise.operators.values.equality import same
from slidewise.spark.inspect.opened_shard import OpenedShard
from slidewise.spark.inspect.written_query import ShardHead, WrittenQuery, written_queries
from slidewise.spark.state.pages import MemoryStore
from slidewise.stream_state import live_of_shards

SHARD = 3  # as `Stream` calls it


def described(definition: sw.Sliding, schema: pa.Schema, forget_after: int | None = None, **options: Any) -> Stream:
    """A stream on one shard whose pages say which definition wrote them."""
    stream = Stream(definition, schema, forget_after)
    stream.terms = terms_of(definition, schema, forget_after, True, **options)
    return stream


def store_of(stream: Stream) -> MemoryStore:
    """The pages of a stream, as a reader of its checkpoint gets them."""
    return MemoryStore({**stream.store.pages, **stream.store.trail})


def queries_of(store: MemoryStore, definition: sw.Sliding | None = None) -> dict[str, WrittenQuery]:
    return written_queries([ShardHead.of(SHARD, store)], definition)


def opened(stream: Stream) -> OpenedShard:
    store = store_of(stream)
    return OpenedShard(store, SHARD, queries_of(store, stream.definition))


def live_of(stream: Stream, waiting: bool = False, **options: Any) -> Live:
    """The live definition that goes on from a stream, as `live_from` makes it."""
    shard = opened(stream)

    def make(generations: dict[str, int]) -> Live:
        if generations and stream.definition.every is None:
            return Live(stream.definition, generations=generations, **options)
        return stream.definition.live(**options)

    return live_of_shards(stream.definition, make, [shard], shard.directory.released, waiting)


def up_to(table: pa.Table, on: str, cut: int) -> tuple[pa.Table, pa.Table]:
    """The rows at or before a time in microseconds, and those after it, both in the order of time."""
    table = lanes.in_time_order(sw.Sliding(on=on, n=sw.count().over(rows=1)), table)
    times = times_of(table, on)
    return table.filter(pa.array(times <= cut)), table.filter(pa.array(times > cut))


def fed(stream: Stream, table: pa.Table, cut: int, seed: int) -> None:
    """Push rows in random order and random pieces; then the watermark comes to a time in microseconds."""
    choose = random.Random(seed)
    order = list(range(len(table)))
    choose.shuffle(order)
    times = times_of(table, stream.definition.on or "")
    for stop in (cut - 40 * SECOND, cut):
        due = [i for i in order if times[i] <= stop or stop == cut]
        order = [i for i in order if i not in set(due)]
        for at in range(0, len(due), 17):
            stream.push(table.take(pa.array(due[at : at + 17], pa.int64())), 0)
        stream.push(table.slice(0, 0), stop // 1_000)


def assert_equal(found: Any, expected: Any, what: str) -> None:
    """Answers are equal, floats up to the last bits, since sums depend on the order of their parts."""
    assert same(found, expected, 1e-12), f"{what}: {found} instead of {expected}"
