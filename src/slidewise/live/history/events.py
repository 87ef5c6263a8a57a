"""Events that may be given again, as they came: dicts of single ones, and tables of batches, by numbers of arrival."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.live.waiting.waiting_tables import python_rows

if TYPE_CHECKING:
    import pyarrow as pa

FEW = 32  # rows of a batch below which they are kept as dicts
_MOST_TABLES, _SPARE = 512, 4_096


class KeptRows(NamedTuple):
    """Rows of a table by their numbers, which grow."""

    numbers: Array
    table: pa.Table


class EventLog:
    """Events by the numbers of their arrival.

    A table stays as long as one of its rows may be revised. Where more rows are held than twice those that may, or many
    tables, they are put together: `living` gives the numbers of all that may be.
    """

    def __init__(self, living: Callable[[], Array]) -> None:
        self._living = living
        self._single: dict[int, dict[str, Any]] = {}
        self._batches: list[KeptRows] = []
        self._starts: list[int] = []  # the first number of each batch
        self._first_numbers = np.empty(0, np.int64)  # the same
        self._alive = np.empty(0, np.int64)  # how many rows of each batch may be revised
        self._held = self._kept = 0  # rows of tables, and those that may be revised

    def add(self, number: int, event: dict[str, Any]) -> None:
        """Keep one event."""
        self._single[number] = event

    def add_table(self, table: pa.Table, numbers: Array) -> None:
        """Keep the rows of a table, which is copied: it may be a small part of a large one."""
        if not len(numbers):
            return
        if len(numbers) < FEW:
            self._single.update(zip(numbers.tolist(), python_rows(table), strict=True))
            return
        self._append(KeptRows(numbers, table.take(np.arange(len(numbers)))), len(numbers))

    def _append(self, batch: KeptRows, alive: int) -> None:
        self._batches.append(batch)
        self._starts.append(int(batch.numbers[0]))
        self._first_numbers = np.append(self._first_numbers, batch.numbers[0])
        self._alive = np.append(self._alive, alive)
        self._held += len(batch.numbers)
        self._kept += alive

    def drop(self, numbers: Array) -> None:
        """Forget events."""
        single = self._single
        if not self._batches:
            for number in numbers.tolist():
                del single[number]
            return
        if single:
            rest = [number for number in numbers.tolist() if single.pop(number, None) is None]
            numbers = np.array(rest, np.int64)
        if not len(numbers):
            return
        of_batches = np.searchsorted(self._first_numbers, numbers, "right") - 1
        self._alive -= np.bincount(of_batches, minlength=len(self._alive))
        self._kept -= len(numbers)

    def tidy(self) -> None:
        """Let go of rows that were forgotten, where it is worth it."""
        dead = 0
        while dead < len(self._batches) and not self._alive[dead]:
            dead += 1
        if dead > 8 or (dead and dead == len(self._batches)):
            self._held -= sum(len(batch.numbers) for batch in self._batches[:dead])
            del self._batches[:dead], self._starts[:dead]
            self._first_numbers, self._alive = self._first_numbers[dead:].copy(), self._alive[dead:].copy()
        if self._held > 2 * self._kept + _SPARE or len(self._batches) > _MOST_TABLES:
            self._put_together()

    def _put_together(self) -> None:
        """Take the living rows of all tables into new ones, neighbours of one schema into one."""
        import pyarrow as pa

        living = np.sort(self._living())
        groups: list[list[KeptRows]] = []
        for batch in self._batches:
            first, last = np.searchsorted(living, [batch.numbers[0], batch.numbers[-1] + 1])
            rows = np.flatnonzero(np.isin(batch.numbers, living[first:last], assume_unique=True))
            if len(rows):
                rest = KeptRows(batch.numbers[rows], batch.table.take(rows))
                if groups and groups[-1][0].table.schema == rest.table.schema:
                    groups[-1].append(rest)
                else:
                    groups.append([rest])
        self._batches, self._starts, self._held, self._kept = [], [], 0, 0
        self._first_numbers = self._alive = np.empty(0, np.int64)
        for group in groups:
            joined = pa.concat_tables([batch.table for batch in group]).combine_chunks()
            numbers = np.concatenate([batch.numbers for batch in group])
            # numbers of single events may lie between those of a table: that is fine, they are looked up first
            self._append(KeptRows(numbers, joined), len(numbers))

    def get(self, number: int) -> dict[str, Any]:
        """One event."""
        event = self._single.get(number)
        if event is not None:
            return event
        batch = self._batches[bisect_right(self._starts, number) - 1]
        return python_rows(batch.table.slice(int(np.searchsorted(batch.numbers, number)), 1))[0]

    def many(self, numbers: list[int]) -> list[dict[str, Any]]:
        """Events, in this order."""
        return [self.get(number) for number in numbers]

    def as_table(self, numbers: Array, schema: pa.Schema) -> pa.Table | None:
        """Events as a table of a schema; None where some of them came otherwise."""
        import pyarrow as pa

        if not self._batches or (self._single and any(number in self._single for number in numbers.tolist())):
            return None
        of_batches = np.searchsorted(self._first_numbers, numbers, "right") - 1
        order = np.argsort(of_batches, kind="stable")
        parts = []
        ids, starts = np.unique(of_batches[order], return_index=True)
        for at, rows in zip(ids.tolist(), np.split(order, starts[1:]), strict=True):
            batch = self._batches[at]
            if batch.table.schema != schema:
                return None
            parts.append(batch.table.take(np.searchsorted(batch.numbers, numbers[rows])))
        table = pa.concat_tables(parts)
        return table if (order[:-1] < order[1:]).all() else table.take(np.argsort(order))
