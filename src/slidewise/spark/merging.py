"""Sorted runs on disk made one: their heads are in memory, and what lies before all that is unread goes out."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any

from slidewise.spark.spilling import Run, Spilled, memory

Place = tuple[Any, ...]


def merged(spilled: Spilled, runs: list[Run], names: list[str], arranged: Callable[[list[Any]], Any]) -> Iterator[Any]:
    """The rows of runs that are sorted by these columns as tables in order; `arranged` sorts some tables as one.

    Rows that are equal in these columns come in one table, so that `arranged` may sort them by more.
    """
    share = memory() // len(runs)
    heads = [_Head(spilled.read(run), names) for run in runs]
    while heads:
        for head in heads:
            head.fill(share)
        cut = min((head.last for head in heads if head.more), default=None)
        parts = [part for head in heads if len(part := head.before(cut))]
        heads = [head for head in heads if len(head.table)]
        if parts:
            yield parts[0] if len(parts) == 1 else arranged(parts)


class _Head:
    """The rows of a run that are in memory, and whether more are on disk; those begin at or after the last row here."""

    def __init__(self, blocks: Iterator[Any], names: list[str]) -> None:
        self._blocks = blocks
        self._names = names
        self.table: Any = next(blocks)
        self._next = next(blocks, None)

    @property
    def more(self) -> bool:
        return self._next is not None

    @property
    def last(self) -> Place:
        return self._place(len(self.table) - 1)

    def fill(self, share: int) -> None:
        """Read on where all rows are of one place: up to this many bytes, and to another place at least."""
        import pyarrow as pa

        if self._next is None or self._place(0) != self.last:
            return
        tables, size = [self.table], 0
        first = self._place(0)
        while self._next is not None and (size < share or self.last == first):
            tables.append(self._next)
            size += self._next.nbytes
            self.table, self._next = self._next, next(self._blocks, None)
        self.table = pa.concat_tables(tables).combine_chunks()

    def before(self, cut: Place | None) -> Any:
        """Take out the rows before a place, or all of them."""
        count = len(self.table) if cut is None else bisect_left(range(len(self.table)), cut, key=self._place)
        found, self.table = self.table.slice(0, count), self.table.slice(count)
        return found

    def _place(self, row: int) -> Place:
        return tuple(_comparable(self.table.column(name)[row]) for name in self._names)


def _comparable(scalar: Any) -> tuple[int, Any]:
    """A value that Python orders as Spark does: nulls first, NaN last; times as numbers, since some have no date."""
    if not scalar.is_valid:
        return 0, 0
    value = scalar.value if hasattr(scalar, "value") else scalar.as_py()
    return (2, 0) if value != value else (1, value)
