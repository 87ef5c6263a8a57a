"""Merge of sorted runs on disk: their heads are in memory, and rows that come before all unread ones go out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from slidewise.spark.sort.spill import Run, SpillFile, sort_memory

SortKey = tuple[Any, ...]


def merge_runs(
    spill: SpillFile, runs: list[Run], names: list[str], sort_as_one: Callable[[list[pa.Table]], pa.Table]
) -> Iterator[pa.Table]:
    """The rows of runs that are sorted by these columns, as tables in order; `sort_as_one` sorts some tables as one."""
    share = sort_memory() // (3 * len(runs))  # what goes out is there three times for a moment
    heads = [_RunHead(spill.read(run), names) for run in runs]
    while heads:
        for head in heads:
            head.fill(share)
        # Unread rows come at or after the last row of their head, so all up to the first of these can go.
        cut = min((head.last for head in heads if head.more), default=None)
        parts = [part for head in heads if len(part := head.up_to(cut))]
        heads = [head for head in heads if head.more or len(head.table)]
        if parts:
            yield parts[0] if len(parts) == 1 else sort_as_one(parts)


class _RunHead:
    """The rows of a run that are in memory, and whether more are on disk."""

    def __init__(self, blocks: Iterator[pa.Table], names: list[str]) -> None:
        self._blocks = blocks
        self._names = names
        self.table: pa.Table = next(blocks)
        self._next = next(blocks, None)

    @property
    def more(self) -> bool:
        return self._next is not None

    @property
    def last(self) -> SortKey:
        return self._sort_key(len(self.table) - 1)

    def fill(self, share: int) -> None:
        """Read on where less than half of so many bytes are left: one block at least, so that there is a last row."""
        size = self.table.nbytes
        if self._next is None or (len(self.table) and size >= share // 2):
            return
        tables = [self.table]
        while self._next is not None and (len(tables) == 1 or size < share):
            tables.append(self._next)
            size += self._next.nbytes
            self._next = next(self._blocks, None)
        self.table = pa.concat_tables(tables).combine_chunks()

    def up_to(self, cut: SortKey | None) -> pa.Table:
        """Take out the rows up to a sort key, or all of them; all, too, where it is the last one's."""
        count = len(self.table)
        if cut is not None and self.last != cut:
            count = bisect_right(range(count), cut, key=self._sort_key)
        taken, self.table = self.table.slice(0, count), self.table.slice(count)
        return taken

    def _sort_key(self, row: int) -> SortKey:
        return tuple(_comparable(self.table.column(name)[row]) for name in self._names)


def _comparable(scalar: pa.Scalar) -> tuple[int, Any]:
    """A value that Python orders as Spark does: nulls first, NaN last, text by its bytes, times as their numbers."""
    if not scalar.is_valid:
        return 0, 0
    if hasattr(scalar, "as_buffer"):
        return 1, scalar.as_buffer().to_pybytes()
    value = scalar.value if hasattr(scalar, "value") else scalar.as_py()
    return (2, 0) if value != value else (1, value)
