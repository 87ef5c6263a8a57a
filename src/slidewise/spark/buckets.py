"""Small keys in pages that they share: a page holds the keys whose hashes lie in one stretch, and their windows' rows.

The payload of such a page: the length of the first part (4 bytes, little-endian), then two Arrow record batches without
their schemas. The first has a row for each key: its columns, its hash, its newest time, how many rows it has, its
running states, and the page of its own that a large key has, or 0. The second has the rows of all keys, one key after
the other, oldest first: the time and the columns that are aggregated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slidewise.spark.directory import Bucket, Directory
from slidewise.spark.pages import LARGEST, Pages, record, record_from

Array = Any
LOWEST = -(2**63)
HASH, NEWEST, COUNT, STATES, LARGE = (f"slidewise {name}" for name in ("hash", "newest", "rows", "states", "large"))


def keys_schema(schema: Any, by: Sequence[str]) -> Any:
    """The schema of a page's keys; `schema` is that of the rows."""
    import pyarrow as pa

    of_key = [(HASH, pa.int64()), (NEWEST, pa.int64()), (COUNT, pa.int64()), (STATES, pa.binary()), (LARGE, pa.int64())]
    return pa.schema([*(schema.field(name) for name in by), *(pa.field(*one) for one in of_key)])


@dataclass(slots=True)
class Keys:
    """Keys, and their windows' rows: `table` has a row for each key, `rows` those of all keys, one after the other."""

    table: Any
    rows: Any

    def __len__(self) -> int:
        return len(self.table)

    def numbers(self, name: str) -> Array:
        return self.table.column(name).to_numpy()

    @property
    def offsets(self) -> Array:
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.numbers(COUNT), dtype=np.int64)])

    def taken(self, which: Array) -> Keys:
        """Some of the keys, in this order, with their rows."""
        import pyarrow as pa

        rows = self.rows
        if len(rows):
            offsets = self.offsets
            counts = np.diff(offsets)[which]
            shift = np.repeat(offsets[which] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
            rows = rows.take(pa.array(np.arange(len(shift)) + shift))
        return Keys(self.table.take(pa.array(which)), rows)


class Buckets:
    """The pages of a shard's keys. `keys_schema` and `rows_schema` are those of the two parts."""

    def __init__(
        self, pages: Pages, directory: Directory, keys_schema: Any, rows_schema: Any, of_page: Any = np.max
    ) -> None:
        self._pages = pages
        self._directory = directory
        self._keys_schema = keys_schema
        self._rows_schema = rows_schema
        self._of_page = of_page  # which of its keys' times the directory has for a page

    def empty(self) -> Keys:
        return Keys(self._keys_schema.empty_table(), self._rows_schema.empty_table())

    def read(self, places: list[int]) -> Keys:
        """All keys of these buckets."""
        import pyarrow as pa

        tables, rows = [], []
        for place in places:
            payload = self._pages.read(self._directory.buckets[place].page)
            assert payload is not None
            length = int.from_bytes(payload[:4], "little")
            tables.append(record_from(payload[4 : 4 + length], self._keys_schema))
            rows.append(record_from(payload[4 + length :], self._rows_schema))
        return Keys(pa.concat_tables(tables), pa.concat_tables(rows)) if tables else self.empty()

    def write(self, places: list[int], keys: Keys) -> None:
        """Put keys, sorted by hash, into these buckets in place of what is there, and into more where they are full."""
        directory = self._directory
        if not directory.buckets:
            directory.buckets.append(Bucket(LOWEST, directory.new_page(), LOWEST, 0))
            places = [0]
        lows = [bucket.low for bucket in directory.buckets]
        keys = Keys(keys.table.combine_chunks(), keys.rows.combine_chunks())
        hashes, offsets = keys.numbers(HASH), keys.offsets
        sizes = offsets * (keys.rows.nbytes / max(len(keys.rows), 1))
        sizes += np.arange(len(keys) + 1) * (keys.table.nbytes / max(len(keys), 1))
        made: list[Bucket] = []
        for place, bucket in enumerate(directory.buckets):
            if place not in places:
                made.append(bucket)
                continue
            stop = len(keys) if place + 1 == len(lows) else int(np.searchsorted(hashes, lows[place + 1]))
            self._put(bucket, keys, (sizes, offsets), int(np.searchsorted(hashes, bucket.low)), stop, made)
        directory.buckets = [made[0]._replace(low=LOWEST), *made[1:]] if made else []

    def _put(self, bucket: Bucket, keys: Keys, before: tuple[Array, Array], a: int, b: int, made: list[Bucket]) -> None:
        """Keys [a, b) into the bucket; `before` are the bytes and the rows of all keys before each."""
        if a == b:
            self._pages.drop(bucket.page)
            return
        hashes = keys.numbers(HASH)
        sizes, offsets = before
        if sizes[b] - sizes[a] > LARGEST and hashes[a] != hashes[b - 1]:
            middle = a + int(np.searchsorted(sizes[a : b + 1], (sizes[a] + sizes[b]) / 2))
            middle = int(np.searchsorted(hashes, hashes[min(max(middle, a + 1), b - 1)]))  # equal hashes stay together
            middle = middle if middle > a else int(np.searchsorted(hashes, hashes[a], side="right"))
            self._put(bucket, keys, before, a, middle, made)
            more = Bucket(int(hashes[middle]), self._directory.new_page(), LOWEST, 0)
            self._put(more, keys, before, middle, b, made)
            return
        table = keys.table.slice(a, b - a)
        rows = keys.rows.slice(int(offsets[a]), int(offsets[b] - offsets[a]))
        first = record(_one_batch(table))
        self._pages.write(bucket.page, len(first).to_bytes(4, "little") + first + record(_one_batch(rows)))
        large = int((table.column(LARGE).to_numpy() > 0).sum())
        made.append(bucket._replace(newest=int(self._of_page(table.column(NEWEST).to_numpy())), large=large))

    def expire(self, until: int) -> list[int]:
        """Drop the pages whose newest row is at or before this time; the numbers of the large keys that were there."""
        kept, large = [], []
        for place, bucket in enumerate(self._directory.buckets):
            if bucket.newest > until:
                kept.append(bucket)
                continue
            if bucket.large:
                found = self.read([place]).numbers(LARGE)
                large += found[found > 0].tolist()
            self._pages.drop(bucket.page)
        self._directory.buckets = [kept[0]._replace(low=LOWEST), *kept[1:]] if kept else []
        return large


def _one_batch(table: Any) -> Any:
    import pyarrow as pa

    batches = table.combine_chunks().to_batches()
    if batches:
        return batches[0]
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in table.schema], schema=table.schema)
