"""A stream's shard without Spark: pages in a dict, and a watermark that follows the rows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import lanes
import numpy as np
import pyarrow as pa

import slidewise as sw
from slidewise.engine.computed.columns import extended_schema, result_types
from slidewise.spark.state.buckets import HASH
from slidewise.spark.state.directory import MicroBatch
from slidewise.spark.state.pages import DESCRIPTION, TRAIL
from slidewise.spark.stream.beat_shard import make_shard
from slidewise.spark.stream.history import ShardHistory
from slidewise.spark.stream.query_description import describe_query, query_fingerprint
from slidewise.spark.stream.shard import QueryTerms, UpgradeTerms
from slidewise.spark.types import answer_type_of
from slidewise.spark.upgrade.upgrade import call_shard
from slidewise.windows import Duration

FINGERPRINT = "ab" * 16
SECOND = 1_000_000


class Store:
    """Pages in a dict, which counts what is read and written; those of the trail lie apart, and are not counted."""

    def __init__(self) -> None:
        self.pages: dict[int, bytes] = {}
        self.trail: dict[int, bytes] = {}
        self.read: list[int] = []
        self.written: list[int] = []
        self.bytes = 0

    def get(self, number: int) -> bytes | None:
        if number in (TRAIL, TRAIL + 1):
            return self.trail.get(number)
        self.read.append(number)
        known = number in self.pages or not self.pages or number == DESCRIPTION
        assert known, "a page was asked for that is not there"
        return self.pages.get(number)

    def put(self, number: int, page: bytes) -> None:
        if number in (TRAIL, TRAIL + 1):
            self.trail[number] = page
            return
        self.written.append(number)
        self.bytes += len(page)
        self.pages[number] = page

    def remove(self, number: int) -> None:
        self.written.append(number)
        self.pages.pop(number, None)


class Stream:
    """A definition on one shard: `push` rows of a table, then move the watermark on."""

    def __init__(
        self, definition: sw.Sliding, schema: pa.Schema, forget_after: int | None = None, **options: Any
    ) -> None:
        self.definition = definition
        self.terms = terms_of(definition, schema, forget_after, **options)
        self.store = Store()
        self.found: list[dict[str, Any]] = []
        self.dropped = self.ahead = self.before_history = 0
        self.timer: int | None = None

    def load(self, table: pa.Table, until: int, most: int) -> None:
        """Fill the state with rows up to a time in microseconds, some of which are taken in at once."""
        times = times_of(table, self.definition.on or "")
        table = self._hashed(table).take(pa.array(np.argsort(times, kind="stable")))
        with patch("slidewise.spark.stream.history._PIECE", most):
            loading = ShardHistory(make_shard(self.terms), self.definition.on or "", 3, table.schema)
            mark = pa.table([pa.nulls(1, field.type) for field in table.schema], schema=table.schema)
            loading.add(mark, pa.chunked_array([[until]]))
            for start in range(0, len(table), 7):
                loading.add(table.slice(start, 7), pa.chunked_array([pa.nulls(len(table[start : start + 7]))]))
            for batch in loading.pages():
                _, number, page, timer = (column[0].as_py() for column in batch.columns)
                self.store.put(number, page)
                self.timer = timer or self.timer

    def upgrade(
        self, definition: sw.Sliding, schema: pa.Schema, forget_after: int | None = None, **options: Any
    ) -> None:
        """Go on with another definition, over a stream with this schema."""
        hashed = pa.schema([pa.field(HASH, pa.int64()), *schema])
        upgrade = UpgradeTerms((self.definition,), hashed)
        self.definition = definition
        self.terms = terms_of(definition, schema, forget_after, True, upgrade=upgrade, **options)

    def _hashed(self, table: pa.Table) -> pa.Table:
        """The rows behind the hashes of their keys."""
        keys = [lanes.key_of(self.definition, row) for row in table.to_pylist()]
        hashes = pa.array([random.Random(key).randrange(-(2**63), 2**63) for key in keys], pa.int64())
        return table.add_column(0, HASH, hashes)

    def push(self, table: pa.Table, watermark: int, clock: int = 0, batch: int | None = None) -> list[dict[str, Any]]:
        """Rows, and the watermark and the clock of the call in milliseconds; the rows that are answered."""
        self.store.read, self.store.written, self.store.bytes = [], [], 0
        shard, rows = make_shard(self.terms), [self._hashed(table)]
        went = call_shard(shard, self.terms, self.store, 3, rows, watermark, MicroBatch(batch, clock))
        if self.terms.upgrade is None:
            assert len(set(self.store.read)) == len(self.store.read), "a page was read twice"
            assert len(set(self.store.written)) == len(self.store.written), "a page was written twice"
        self.dropped += went.dropped
        self.ahead += went.ahead
        self.before_history += went.before_history
        self.timer = went.timer
        rows = [] if went.table is None else went.table.to_pylist()
        self.found += rows
        return rows


def terms_of(
    definition: sw.Sliding,
    schema: pa.Schema,
    forget_after: int | None = None,
    described: bool = False,
    **options: Any,
) -> QueryTerms:
    """The terms of a definition over a stream with this schema, in one shard; its pages may say which one it is."""
    whole = extended_schema(definition, schema)
    kinds = {
        name: answer_type_of(one, [whole.field(column).type for column in one.columns])
        for name, one in definition.aggregates.items()
    }
    columns = result_types(definition, kinds, lambda name: schema.field(name).type)
    fingerprint = FINGERPRINT
    if described:
        names = [(field.name, str(field.type)) for field in schema]
        fingerprint = query_fingerprint(definition, names, 1, forget_after)
        lifetime = None if forget_after is None else Duration(forget_after * 1_000)
        options["description"] = describe_query(definition, names, 1, lifetime)
    return QueryTerms(definition, fingerprint, kinds, forget_after, columns=columns, shards=1, **options)


def times_of(table: pa.Table, on: str) -> Any:
    return np.array(table.column(on).cast(pa.int64()).to_pylist(), np.int64)


def played(stream: Stream, table: pa.Table, seed: int, delay: int = 4 * SECOND, most: int = 20) -> None:
    """Rows in random order within the delay, cut at random places; in the end the watermark passes them all."""
    choose = random.Random(seed)
    times = times_of(table, stream.definition.on or "")
    arrival = sorted(range(len(times)), key=lambda i: times[i] + choose.random() * delay)
    watermark = newest = at = 0
    while at < len(times):
        some = arrival[at : at + choose.randrange(1, most + 1)]
        at += len(some)
        stream.push(table.take(pa.array(some, pa.int64())), watermark)
        newest = max(newest, int(times[some].max()))
        watermark = max(watermark, (newest - delay) // 1_000)
    stream.push(table.slice(0, 0), newest // 1_000 + 1)


@contextmanager
def small_pages(size: int, slots: int = 2) -> Iterator[None]:
    """Pages so small that a few rows fill them, and keys are soon large."""
    with (
        patch("slidewise.spark.state.buckets.MAX_PAGE_BYTES", size),
        patch("slidewise.spark.state.waiting_rows.MAX_WAITING_BYTES", size),
        patch("slidewise.spark.state.shard_state.MAX_PAGE_BYTES", size),
        patch("slidewise.spark.state.large_key.CHUNK_BYTES", size // 3),
        patch("slidewise.spark.state.large_key.LARGE_CHUNK_BYTES", 2 * size),
        patch("slidewise.spark.state.chunk_window.SLOTS", slots),
    ):
        yield
