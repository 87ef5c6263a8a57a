"""Rows ahead of the watermark, in pages ordered by time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.errors import SnapshotError
from slidewise.spark.state.buckets import HASH
from slidewise.spark.state.directory import Directory, Waiting
from slidewise.spark.state.pages import RESTORE, Pages, record, record_from

LARGEST = 262_144  # bytes of a page's rows; what is written and read but once may lie in larger pages
MOST_SMALL = 32


def ready(pages: Pages, directory: Directory, schema: Any, on: str, until: int) -> tuple[list[Any], list[Any]]:
    """The rows at or before a time, and those after it that lay in the same pages, which are dropped."""
    found, rest, kept = [], [], []
    small = {one.page for one in directory.waiting if one.size < LARGEST // 8}
    small = small if len(small) > MOST_SMALL else set()  # these are brought together
    for one in directory.waiting:
        if one.first > until and one.page not in small:
            kept.append(one)
            continue
        payload = pages.read(one.page)
        if payload is None:
            raise SnapshotError(f"page {one.page} of waiting rows is not there; {RESTORE}")
        directory.drop_page(one.page)
        table = record_from(payload, schema, (HASH, on))
        times = ticks(table, on)
        found_in = (len(payload), int(times.min()), int(times.max())) if len(times) else None
        if found_in != (one.size, one.first, one.last):
            raise SnapshotError(f"page {one.page} of waiting rows is not the one that was written last; {RESTORE}")
        if one.last <= until:
            found.append(table)
            continue
        due = times <= until
        found.append(table.filter(due))
        rest.append(table.filter(~due))
    directory.waiting = kept
    return found, rest


def wait(pages: Pages, directory: Directory, table: Any, on: str) -> None:
    """Put rows into pages of their own, ordered by time; in a page rows of a key lie together, which squeezes well."""
    import pyarrow as pa

    if not len(table):
        return
    times = ticks(table, on)
    order = np.argsort(times, kind="stable")
    table, times = table.take(pa.array(order)).combine_chunks(), times[order]
    count = max(1, -(-table.nbytes // LARGEST))
    cuts = np.linspace(0, len(table), min(count, len(table)) + 1).astype(np.int64).tolist()
    for a, b in pairwise(cuts):
        number = directory.new_page()
        piece = table.slice(a, b - a)
        together = np.argsort(piece.column(HASH).to_numpy(), kind="stable")
        payload = record(piece.take(pa.array(together)).combine_chunks().to_batches()[0])
        pages.write(number, payload)
        directory.waiting.append(Waiting(number, int(times[a]), int(times[b - 1]), len(payload)))
    directory.waiting.sort(key=lambda one: one.first)


def ticks(table: Any, on: str) -> Array:
    """Times as microseconds."""
    import pyarrow as pa

    column = table.column(on).combine_chunks()
    array: Array = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return array
