"""Rows of Arrow tables that wait for the watermark: each table sorted by time, so that what is due is its front."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import check_times_of_day
from slidewise.live.types import Key, Time

if TYPE_CHECKING:
    import pyarrow as pa

    from slidewise.live.waiting.reorder_buffer import Event


class WaitingRun(NamedTuple):
    """Rows of a table in the order of their times, those of equal time as they came: their times as numbers, and the
    numbers of their arrival."""

    table: pa.Table
    times: Array
    numbers: Array

    def rows(self, start: int, stop: int) -> WaitingRun:
        """Some of the rows."""
        return WaitingRun(self.table.slice(start, stop - start), self.times[start:stop], self.numbers[start:stop])


class WaitingTables:
    """Runs in a heap, by the oldest time of each. What is asked for before a time costs by the runs that have it."""

    def __init__(self) -> None:
        self.count = 0  # rows
        self.key_of: Callable[[Any], Key]
        self._heap: list[tuple[Time, int, WaitingRun]] = []

    def add(self, run: WaitingRun) -> None:
        """Let rows wait."""
        if len(run.times):
            heappush(self._heap, (run.times[:1].tolist()[0], int(run.numbers[0]), run))
            self.count += len(run.times)

    def take_before(self, time: Time, more: int = 0) -> list[WaitingRun]:
        """Take out the rows before a time; of a run that has some, as many as this at least, if it has them."""
        due = []
        while self._heap and self._heap[0][0] < time:
            run = heappop(self._heap)[2]
            self.count -= len(run.times)
            k = max(rows_before(run.times, time), min(more, len(run.times)))
            due.append(run.rows(0, k))
            self.add(run.rows(k, len(run.times)))
        return due

    def take_all(self) -> list[WaitingRun]:
        """Take out all rows."""
        runs = [run for _, _, run in self._heap]
        self._heap = []
        self.count = 0
        return runs

    def schema_is(self, schema: pa.Schema) -> bool:
        """Whether all tables that wait are of this schema."""
        return not self._heap or self._heap[0][2].table.schema is schema or self._heap[0][2].table.schema == schema

    def __iter__(self) -> Iterator[Event]:
        """The rows as events."""
        for _, _, run in self._heap:
            yield from self.events(run)

    def events(self, run: WaitingRun) -> list[Event]:
        """The rows of a run as events."""
        from slidewise.live.waiting.reorder_buffer import Event

        rows = zip(python_rows(run.table), run.times.tolist(), run.numbers.tolist(), strict=True)
        return [Event(row, self.key_of(row), time, number, None, None) for row, time, number in rows]


def rows_before(times: Array, time: Time) -> int:
    """How many of some times, which are sorted, lie before a time.

    >>> rows_before(np.array([1, 2, 2, 5]), 2), rows_before(np.array([1, 2]), 2**70), rows_before(np.array([1]), -2**70)
    (1, 2, 0)
    """
    if times.dtype.kind == "i":
        time = math.ceil(time)
        info = np.iinfo(np.int64)
        if not info.min <= time <= info.max:
            return len(times) if time > 0 else 0
    return int(np.searchsorted(times, times.dtype.type(time)))


def python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """A table's rows as dicts."""
    for name in table.column_names:
        check_times_of_day(table.column(name), repr(name))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
