"""A shard's pages, opened for reading: its directory, its keys a page at a time, and the sizes of its pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.engine.computed.columns import extended_schema
from slidewise.errors import SnapshotError
from slidewise.spark.inspect.written_query import WrittenQuery
from slidewise.spark.state import buckets as B
from slidewise.spark.state.buckets import Buckets, KeyTable
from slidewise.spark.state.directory import Directory, WaitingPage
from slidewise.spark.state.large_key import LargeKey
from slidewise.spark.state.page_checks import stored_schema
from slidewise.spark.state.pages import (
    DESCRIPTION,
    DIRECTORY,
    HISTORY_RUN,
    LARGE_KEY_BITS,
    RESTORE,
    TRAIL,
    MemoryStore,
    Pages,
    page_fingerprint,
    table_from_bytes,
)
from slidewise.spark.state.shard_state import ShardState
from slidewise.spark.state.stored_specs import stored_specs
from slidewise.spark.stream.beat_shard import BeatShard
from slidewise.spark.stream.shard import QueryTerms, lifetime

KINDS = ("directory", "waiting rows", "keys", "large keys", "other")


class OpenedShard:
    """The state of one shard; nothing is written to its store. With `partial`, the store has the pages of some keys
    only, and the others are passed over."""

    def __init__(
        self, store: MemoryStore, shard: int, queries: Mapping[str, WrittenQuery], partial: bool = False
    ) -> None:
        self.store = store
        self._partial = partial
        self.shard = shard
        page = store.get(DIRECTORY)
        if page is None:
            raise SnapshotError(f"shard {shard} has pages, and no directory; {RESTORE}")
        fingerprint = page_fingerprint(page)
        # A page whose header is damaged has no fingerprint that is known; its checksum tells, whichever query reads it.
        self.query = queries.get(fingerprint) or next(iter(queries.values()))
        self.definition = self.query.definition
        self.pages = Pages(store, self.query.fingerprint, shard)
        self.directory = Directory(self.pages)
        self.schema = stored_schema(self.directory.schema, B.HASH, self.definition)
        self.specs = stored_specs(self.definition, self.directory.generations)
        self.lifetime = lifetime(self.specs, self.query.forget_after)

    @property
    def on(self) -> str:
        return str(self.definition.on)

    @cached_property
    def beats(self) -> BeatShard | None:
        """What reads slices, where the definition answers on a beat."""
        if self.definition.every is None:
            return None
        return BeatShard(QueryTerms(self.definition, self.query.fingerprint, {}))

    @cached_property
    def state(self) -> ShardState:
        """The state of the keys of a definition that does not answer on a beat."""
        schema = extended_schema(self.definition, self.schema)
        sliding = [spec for spec in self.specs if not spec.running]
        return ShardState(self.pages, self.directory, schema, self.definition, sliding, {})

    @cached_property
    def buckets(self) -> Buckets:
        if self.beats is not None:
            return self.beats.buckets(self.pages, self.directory, self.schema)
        return self.state.buckets

    @property
    def parts(self) -> int:
        """How many parts the state of a key has."""
        return 1 if self.beats is not None else len(self.state.parts)

    def key_pages(self) -> Iterator[KeyTable]:
        """The keys of each page, one page after the other; none stays in memory."""
        for place, bucket in enumerate(self.directory.buckets):
            if self._partial and bucket.page not in self.store:
                continue
            yield self.buckets.read([place])
            self.pages.spill()

    def large_key(self, part: int, number: int) -> LargeKey:
        """A key with pages of its own, in a part of the state."""
        return self.state.parts[part].large_key(number)

    def waiting_rows(self, waiting: WaitingPage) -> pa.Table:
        """The rows of a page that wait."""
        payload = self.pages.read(waiting.page)
        if payload is None:
            raise SnapshotError(f"page {waiting.page} of waiting rows is not there; {RESTORE}")
        return table_from_bytes(payload, self.schema, (B.HASH, self.on))

    def page_bytes(self, number: int) -> int:
        """How many bytes a page has as it is stored, before it is written as text."""
        return len(self.store.get(number) or b"")

    @cached_property
    def large_bytes(self) -> dict[int, int]:
        """The bytes of all pages of each large key, by its number."""
        bytes_of: dict[int, int] = {}
        for number, page in self.store.items():
            if number < HISTORY_RUN and number >> LARGE_KEY_BITS:
                large = number >> LARGE_KEY_BITS
                bytes_of[large] = bytes_of.get(large, 0) + len(page)
        return bytes_of

    def kind_of(self, number: int) -> str:
        """Which kind of page has a number."""
        if number in (DIRECTORY, TRAIL, TRAIL + 1):
            return "directory"
        if number in (DESCRIPTION, HISTORY_RUN):
            return "other"
        if number >> LARGE_KEY_BITS:
            return "large keys"
        if number in self._waiting_numbers:
            return "waiting rows"
        return "keys" if number in self._key_numbers else "other"

    @cached_property
    def _waiting_numbers(self) -> set[int]:
        return {waiting.page for waiting in self.directory.waiting}

    @cached_property
    def _key_numbers(self) -> set[int]:
        return {bucket.page for bucket in self.directory.buckets}


def key_bytes(opened: OpenedShard, place: int, keys: KeyTable) -> Array:
    """The bytes of each key of a page: its share of the page, by what it has in it, and those of its own pages."""
    weights = np.zeros(len(keys))
    for name in keys.table.column_names:
        column = keys.table.column(name)
        if name == B.STATES:
            weights += np.array(_lengths(column), np.float64)
        else:
            weights += column.nbytes / len(keys)
    for i, part in enumerate(keys.parts):
        if len(part):
            weights += keys.numbers(B.part_column(B.COUNT, i)) * (part.nbytes / len(part))
    shares = np.cumsum(weights) / max(float(weights.sum()), 1.0)
    ends = np.rint(shares * opened.page_bytes(opened.directory.buckets[place].page)).astype(np.int64)
    sizes: Array = np.diff(ends, prepend=0)
    for i in range(opened.parts):
        own = [opened.large_bytes.get(number, 0) for number in keys.numbers(B.part_column(B.LARGE, i)).tolist()]
        sizes += np.array(own, np.int64)
    return sizes


def _lengths(column: pa.ChunkedArray) -> list[int]:
    return [len(data or b"") for data in column.to_pylist()]
