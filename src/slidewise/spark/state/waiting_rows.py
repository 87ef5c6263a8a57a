"""Rows that wait for the watermark, in pages ordered by time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from slidewise.errors import SnapshotError
from slidewise.spark.sort.sorted_rows import microseconds
from slidewise.spark.state.buckets import HASH
from slidewise.spark.state.directory import Directory, WaitingPage
from slidewise.spark.state.pages import RESTORE, Pages, batch_to_bytes, one_batch, table_from_bytes

MAX_WAITING_BYTES = 1_048_576  # bytes of a page's rows; what is written and read but once may lie in larger pages
MAX_SMALL_PAGES = 32


def take_due(
    pages: Pages, directory: Directory, schema: pa.Schema, on: str, until: int
) -> tuple[list[pa.Table], list[pa.Table]]:
    """The waiting rows at or before a time, and those after it that lay in the same pages, which are dropped."""
    due, rest, untouched = [], [], []
    small = {waiting.page for waiting in directory.waiting if waiting.size < MAX_WAITING_BYTES // 32}
    small = small if len(small) > MAX_SMALL_PAGES else set()  # these are merged
    for waiting in directory.waiting:
        if waiting.first > until and waiting.page not in small:
            untouched.append(waiting)
            continue
        payload = pages.read(waiting.page)
        if payload is None:
            raise SnapshotError(f"page {waiting.page} of waiting rows is not there; {RESTORE}")
        directory.drop_page(waiting.page)
        table = table_from_bytes(payload, schema, (HASH, on))
        times = microseconds(table, on)
        real = (len(payload), int(times.min()), int(times.max())) if len(times) else None
        if real != (waiting.size, waiting.first, waiting.last):
            raise SnapshotError(f"page {waiting.page} of waiting rows is not the one that was written last; {RESTORE}")
        if waiting.last <= until:
            due.append(table)
            continue
        is_due = times <= until
        due.append(table.filter(is_due))
        rest.append(table.filter(~is_due))
    directory.waiting = untouched
    return due, rest


def put_waiting(pages: Pages, directory: Directory, table: pa.Table, on: str) -> None:
    """Put rows into new pages, ordered by time; in a page rows of a key lie together, which compresses well."""
    if not len(table):
        return
    times = microseconds(table, on)
    order = np.argsort(times, kind="stable")
    table, times = table.take(pa.array(order)).combine_chunks(), times[order]
    count = max(1, -(-table.nbytes // MAX_WAITING_BYTES))
    cuts = np.linspace(0, len(table), min(count, len(table)) + 1).astype(np.int64).tolist()
    for a, b in pairwise(cuts):
        number = directory.new_page()
        piece = table.slice(a, b - a)
        by_key = np.argsort(piece.column(HASH).to_numpy(), kind="stable")
        payload = batch_to_bytes(one_batch(piece.take(pa.array(by_key))))
        pages.write(number, payload)
        directory.waiting.append(WaitingPage(number, int(times[a]), int(times[b - 1]), len(payload)))
    directory.waiting.sort(key=lambda waiting: waiting.first)
