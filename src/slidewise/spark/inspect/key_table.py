"""The keys of a shard as a table, a page at a time: how much each holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.spark.inspect.opened_shard import OpenedShard, key_bytes
from slidewise.spark.state import buckets as B
from slidewise.spark.state.buckets import KeyTable

MEASURES = ("shard", "newest", "rows", "cells", "bytes", "large")


def measure_names(by: Iterable[str]) -> list[str]:
    """The names of the columns behind the keys'; where a key has one of them, it is called `state_...`.

    >>> measure_names(["rows"])
    ['shard', 'newest', 'state_rows', 'cells', 'bytes', 'large']
    """
    taken = set(by)
    return [f"state_{name}" if name in taken else name for name in MEASURES]


def key_tables(opened: OpenedShard) -> Iterator[pa.Table]:
    """The keys of each page: their columns, the shard, the newest time, how many rows and cells are stored of them, how
    many bytes, and whether they have pages of their own. On a beat cells are slices, and the newest time is unknown."""
    for place, keys in enumerate(opened.key_pages()):
        counts, cells, large = _held(opened, keys)
        newest = pa.array(keys.numbers(B.NEWEST))
        if opened.beats is not None:
            newest = pa.nulls(len(keys), pa.int64())
        columns = [
            *(keys.table.column(name) for name in opened.definition.by),
            pa.array(np.full(len(keys), opened.shard, np.int64)),
            newest.cast(opened.schema.field(opened.on).type),
            pa.array(counts),
            pa.array(cells),
            pa.array(key_bytes(opened, place, keys)),
            pa.array(large),
        ]
        yield pa.table(columns, names=[*opened.definition.by, *measure_names(opened.definition.by)])


def _held(opened: OpenedShard, keys: KeyTable) -> tuple[Array, Array, Array]:
    """How many rows and cells, or slices, are stored of each key, and whether it has pages of its own."""
    rows, cells = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
    large = np.zeros(len(keys), np.bool_)
    for i in range(opened.parts):
        held = cells if i or opened.beats is not None else rows
        held += keys.numbers(B.part_column(B.COUNT, i))
        numbers = keys.numbers(B.part_column(B.LARGE, i))
        large |= numbers > 0
        for k in np.flatnonzero(numbers).tolist():
            held[k] += opened.large_key(i, int(numbers[k])).stored
    return rows, cells, large
