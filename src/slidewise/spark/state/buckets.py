"""Small keys in pages that they share: a bucket is a page of the keys whose hashes lie in one range, and their rows.

The payload of such a page is Arrow record batches without their schemas, each but the last behind its length (4 bytes,
little-endian). The first has a row for each key: its columns, its hash, its newest time, how many rows it has, its
running states, and the number that a large key has, or 0. The second has the rows of all keys, one key after
the other, oldest first: the time and the columns that are aggregated. For each window with a grain there is one more of
the same kind with cells instead of rows, and the first has how many of these a key has, and its number there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.errors import SnapshotError
from slidewise.spark.state.directory import Bucket, Directory
from slidewise.spark.state.page_checks import check_page_keys, check_row_order, reading, require
from slidewise.spark.state.pages import MAX_PAGE_BYTES, Pages, batch_to_bytes, one_batch, table_from_bytes

LOWEST = -(2**63)
HASH, NEWEST, COUNT, STATES, LARGE = (f"slidewise {name}" for name in ("hash", "newest", "rows", "states", "large"))


def part_column(name: str, part: int) -> str:
    """The name of COUNT or LARGE for a part: rows are part 0, and the cells of windows with a grain have the others."""
    return f"{name} {part}" if part else name


def keys_schema(schema: pa.Schema, by: Sequence[str], parts: int = 1, missing: Sequence[str] = ()) -> pa.Schema:
    """The schema of a page's keys, whose state has so many parts; `schema` is that of the rows.

    The columns `missing` count the rows that windows still lack, see `warming`.
    """
    of_key = [(HASH, pa.int64()), (NEWEST, pa.int64()), (COUNT, pa.int64()), (STATES, pa.binary()), (LARGE, pa.int64())]
    of_key += [(part_column(name, i), pa.int64()) for i in range(1, parts) for name in (COUNT, LARGE)]
    of_key += [(name, pa.int64()) for name in missing]
    return pa.schema([*(schema.field(name) for name in by), *(pa.field(*field) for field in of_key)])


@dataclass(slots=True)
class KeyTable:
    """Keys and their state: `table` has a row for each key, and each of `parts` the rows, or the cells, of all keys,
    one key after the other."""

    table: pa.Table
    parts: list[pa.Table]

    def __len__(self) -> int:
        return len(self.table)

    def numbers(self, name: str) -> Array:
        """A column of the keys' table as an array."""
        array: Array = self.table.column(name).to_numpy()
        return array

    @property
    def rows(self) -> pa.Table:
        return self.parts[0]

    def offsets(self, part: int) -> Array:
        """Where each key's rows of a part begin and end."""
        counts = self.numbers(part_column(COUNT, part))
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])

    def taken(self, which: Array) -> KeyTable:
        """Some of the keys, in this order, with their rows."""
        parts = list(self.parts)
        for i, rows in enumerate(parts):
            if len(rows):
                offsets = self.offsets(i)
                parts[i] = rows.take(pa.array(ranges(offsets[which], np.diff(offsets)[which])))
        return KeyTable(self.table.take(pa.array(which)), parts)


class Buckets:
    """The pages of a shard's keys. `keys_schema` is that of the keys, and `schemas` are those of the parts."""

    def __init__(
        self,
        pages: Pages,
        directory: Directory,
        keys_schema: pa.Schema,
        schemas: list[pa.Schema],
        of_page: Callable[[Array], int] = np.max,
    ) -> None:
        self._pages = pages
        self._directory = directory
        self._keys_schema = keys_schema
        self._schemas = schemas
        self._of_page = of_page  # the time that the directory has for a page, of those of its keys

    def empty(self) -> KeyTable:
        return KeyTable(self._keys_schema.empty_table(), [schema.empty_table() for schema in self._schemas])

    def read(self, places: list[int]) -> KeyTable:
        """All keys of these buckets."""
        if not places:
            return self.empty()
        tables: list[list[pa.Table]] = []  # of each page: its keys, and its parts
        for place in places:
            bucket = self._directory.buckets[place]
            payload = self._pages.read(bucket.page)
            if payload is None:
                raise SnapshotError(f"page {bucket.page} of keys is not there; restore the checkpoint from a copy")
            pieces = []
            for _ in self._schemas:
                length = int.from_bytes(payload[:4], "little")
                pieces.append(payload[4 : 4 + length])
                payload = payload[4 + length :]
            schemas = [self._keys_schema, *self._schemas]
            pieces.append(payload)
            records = zip(pieces, schemas, self._never_null, strict=True)
            tables.append([table_from_bytes(data, schema, names) for data, schema, names in records])
            with reading(f"page {bucket.page} of keys"):
                self._check(place, KeyTable(tables[-1][0], tables[-1][1:]))
        table, *parts = [pa.concat_tables(some) for some in zip(*tables, strict=True)]
        return KeyTable(table, parts)

    @cached_property
    def _never_null(self) -> list[list[str]]:
        """For the keys and each part the columns that always have a value: our own, and the time of rows."""
        numbers = [part_column(name, i) for i in range(len(self._schemas)) for name in (COUNT, LARGE)]
        columns = [[HASH, NEWEST, *numbers, *self._directory.warming.columns]]
        for i, schema in enumerate(self._schemas):
            own = [field.name for field in schema if str(field.type) in ("int64", "double", "bool")]
            columns.append(own if i or self._of_page is not np.max else [schema.names[0]])
        return columns

    def _check(self, place: int, keys: KeyTable) -> None:
        """Check that a page's keys are those of its range of hashes, and that their rows are as they say, in order."""
        buckets, hashes, parts = self._directory.buckets, keys.numbers(HASH), range(len(keys.parts))
        counts = [keys.numbers(part_column(COUNT, i)) for i in parts]
        large = [keys.numbers(part_column(LARGE, i)) for i in parts]
        check_page_keys(keys, hashes, counts, large, self._directory.next_large)
        require(len(keys) and hashes[0] >= buckets[place].low, "keys are of other hashes")
        require(place + 1 == len(buckets) or hashes[-1] < buckets[place + 1].low, "keys are of other hashes")
        for name in self._directory.warming.columns:
            require((keys.numbers(name) >= 0).all(), "keys lack a negative number of rows")
        newest = keys.numbers(NEWEST)
        require(self._of_page(newest) == buckets[place].newest, "keys have other times than the directory says")
        if self._of_page is np.max:
            released = self._directory.released
            require(released is None or buckets[place].newest <= released, "keys are newer than what was released")
            for i, part in enumerate(keys.parts):
                check_row_order(part.column(0).cast("int64").to_numpy(), keys.offsets(i), once=i > 0, newest=newest)
            for part in keys.parts[1:]:
                require((part.column(1).to_numpy() > 0).all(), "cells have no rows")

    def write(self, places: list[int], keys: KeyTable) -> None:
        """Replace the keys of these buckets by others, sorted by hash; buckets that are full are split."""
        directory = self._directory
        if not directory.buckets:
            directory.buckets.append(Bucket(LOWEST, directory.new_page(), LOWEST, 0))
            places = [0]
        lows = [bucket.low for bucket in directory.buckets]
        keys = KeyTable(keys.table.combine_chunks(), [part.combine_chunks() for part in keys.parts])
        hashes, offsets = keys.numbers(HASH), [keys.offsets(i) for i in range(len(keys.parts))]
        sizes = np.arange(len(keys) + 1) * (keys.table.nbytes / max(len(keys), 1))
        for before, part in zip(offsets, keys.parts, strict=True):
            sizes += before * (part.nbytes / max(len(part), 1))
        made: list[Bucket] = []
        for place, bucket in enumerate(directory.buckets):
            if place not in places:
                made.append(bucket)
                continue
            stop = len(keys) if place + 1 == len(lows) else int(np.searchsorted(hashes, lows[place + 1]))
            self._put(bucket, keys, (sizes, offsets), int(np.searchsorted(hashes, bucket.low)), stop, made)
        directory.buckets = [made[0]._replace(low=LOWEST), *made[1:]] if made else []

    def _put(
        self, bucket: Bucket, keys: KeyTable, before: tuple[Array, list[Array]], a: int, b: int, made: list[Bucket]
    ) -> None:
        """Keys [a, b) into the bucket; `before` are the bytes, and each part's rows, of all keys before each."""
        if a == b:
            self._pages.drop(bucket.page)
            return
        hashes = keys.numbers(HASH)
        sizes, offsets = before
        if sizes[b] - sizes[a] > MAX_PAGE_BYTES and hashes[a] != hashes[b - 1]:
            middle = a + int(np.searchsorted(sizes[a : b + 1], (sizes[a] + sizes[b]) / 2))
            middle = int(np.searchsorted(hashes, hashes[min(max(middle, a + 1), b - 1)]))  # equal hashes stay together
            middle = middle if middle > a else int(np.searchsorted(hashes, hashes[a], side="right"))
            self._put(bucket, keys, before, a, middle, made)
            more = Bucket(int(hashes[middle]), self._directory.new_page(), LOWEST, 0)
            self._put(more, keys, before, middle, b, made)
            return
        table = keys.table.slice(a, b - a)
        parts = [rows.slice(int(o[a]), int(o[b] - o[a])) for rows, o in zip(keys.parts, offsets, strict=True)]
        *records, last = [batch_to_bytes(one_batch(piece)) for piece in (table, *parts)]
        self._pages.write(bucket.page, b"".join(len(data).to_bytes(4, "little") + data for data in records) + last)
        large = sum(int((table.column(name).to_numpy() > 0).sum()) for name in self._large_names)
        made.append(bucket._replace(newest=int(self._of_page(table.column(NEWEST).to_numpy())), large=large))

    @property
    def _large_names(self) -> list[str]:
        return [part_column(LARGE, i) for i in range(len(self._schemas))]

    def expire(self, until: int) -> list[tuple[int, int]]:
        """Drop the pages whose newest row is at or before this time; the parts and numbers of the large keys there."""
        alive, large = [], []
        for place, bucket in enumerate(self._directory.buckets):
            if bucket.newest > until:
                alive.append(bucket)
                continue
            if bucket.large:
                keys = self.read([place])
                for i, name in enumerate(self._large_names):
                    large += [(i, number) for number in keys.numbers(name).tolist() if number]
            self._pages.drop(bucket.page)
        self._directory.buckets = [alive[0]._replace(low=LOWEST), *alive[1:]] if alive else []
        return large


def ranges(firsts: Array, counts: Array) -> Array:
    """The numbers firsts[k], firsts[k] + 1, ... of so many each, one after the other."""
    shift: Array = np.repeat(firsts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    return np.arange(len(shift)) + shift
