"""What a shard keeps of its keys for one window with a grain: cells, in pages that keys share or in pages of their own.

Cells are never more than the window has grains and one, so neither is what is kept, however many rows come.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.definition import Definition
from slidewise.engine.cells import CellBatch, Cells, StoredCells
from slidewise.engine.window_spec import WindowSpec
from slidewise.spark.error_rows import fault, said
from slidewise.spark.sort.sorted_rows import SortedRows, named
from slidewise.spark.state.buckets import COUNT, Keys, of_part
from slidewise.spark.state.cell_table import CellTables
from slidewise.spark.state.directory import Directory
from slidewise.spark.state.large_cells import LargeCells
from slidewise.spark.state.pages import LARGEST, Pages
from slidewise.spark.state.runs import Runs, distinct, ranges
from slidewise.spark.state.window_state import Kept


class KeptCells(Kept):
    """The cells of one spec; `part` is its number among the parts of `Keys`."""

    def __init__(
        self,
        pages: Pages,
        directory: Directory,
        definition: Definition,
        spec: WindowSpec,
        part: int,
        schema: Any,
        answers: dict[str, Any],
    ) -> None:
        super().__init__(definition, answers)
        self._pages = pages
        self._directory = directory
        self._spec = spec
        self._part = part
        self._input = schema
        self._large: dict[int, LargeCells] = {}

    @cached_property
    def _tables(self) -> CellTables:
        return CellTables(self._definition, self._spec, self._input)

    @property
    def schema(self) -> Any:
        return self._tables.schema

    def large_key(self, number: int) -> LargeCells:
        if number not in self._large:
            self._large[number] = LargeCells(self._pages, self._definition, self._tables, number)
        return self._large[number]

    def _slide_small(
        self, before: Keys, table: Any, each: Array, runs: Runs, large: Array
    ) -> tuple[dict[str, Any], Any, Array]:
        import pyarrow as pa

        which, codes = distinct(each)
        rows = SortedRows(table, self._definition, codes)
        there = np.zeros(len(which), np.int64)
        had = before.numbers(of_part(COUNT, self._part))
        there[np.searchsorted(which, runs.first[runs.connected][had > 0])] = had[had > 0]
        old = self._tables.cells(before.parts[self._part]) if had.any() else None
        try:
            celled = self._celled(self._spec, rows, there, old)
            arrays = celled.arrays()
            stops, cells = celled.cells_after(waits=False)
        except Exception as error:
            raise self._blamed(error, rows, there, old) from error
        kept = self._tables.table(cells)
        counts, firsts = np.zeros(len(large), np.int64), np.zeros(len(large), np.int64)
        mine = np.flatnonzero(large == 0)
        of = np.searchsorted(which, runs.last[mine])
        counts[mine], firsts[mine] = stops[of + 1] - stops[of], stops[of]
        for k in np.flatnonzero(counts * (kept.nbytes / max(len(kept), 1)) > LARGEST).tolist():
            large[k] = self._directory.new_large()
            self.large_key(int(large[k])).begin(kept.slice(int(firsts[k]), int(counts[k])))
            counts[k] = 0
        found = {one.name: array for one, array in zip(self._spec.members, arrays, strict=True)}
        return found, kept.take(pa.array(ranges(firsts, counts))), counts

    def _celled(self, spec: WindowSpec, rows: SortedRows, there: Array, old: Cells | None) -> CellBatch:
        assert rows.times is not None
        return CellBatch(rows, spec, rows.times.data, StoredCells(there, old), True)

    def _blamed(self, error: Exception, rows: SortedRows, there: Array, old: Cells | None) -> Exception:
        """The error with the column and the row that it is about."""

        def tried(spec: WindowSpec, count: int) -> object:
            part = rows.first(count)
            had = there[: part.keys]
            celled = self._celled(spec, part, had, None if old is None else old.taken(slice(0, int(had.sum()))))
            return celled.arrays(), celled.cells_after(waits=False)

        found = fault(self._spec, tried, rows.count)
        return error if found is None else said(error, found[0], named(self._definition, rows.table, found[1], ()))
