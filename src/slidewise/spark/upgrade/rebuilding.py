"""Cells and states of new aggregates, rebuilt from the rows that are stored: for all small keys of a page at once, and
piece by piece for large ones."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.engine.cells import CellBatch, Cells, StoredCells
from slidewise.engine.running import RunningBatch, StoredStates
from slidewise.engine.running_pane import RunningPane
from slidewise.engine.window_spec import WindowSpec
from slidewise.spark.sort.sorted_rows import SortedRows
from slidewise.spark.state.cell_table import CellTables


def spec_name(spec: WindowSpec) -> str:
    """The name of a spec: that of its first member, which is in no other."""
    return spec.members[0].name


class Rebuilt(ABC):
    """What one spec keeps of a page's keys, made of their rows."""

    def __init__(self, spec: WindowSpec, keys: int) -> None:
        self.spec = spec

    @staticmethod
    def of(spec: WindowSpec, keys: int) -> Rebuilt:
        """The cells, or the states, of so many keys, which have no rows yet."""
        return RebuiltStates(spec, keys) if spec.running else RebuiltCells(spec, keys)

    @abstractmethod
    def add(self, rows: SortedRows, first: int) -> None:
        """Take in rows of keys, the first of which has this number; of one key, or of keys that have had none yet."""


class RebuiltStates(Rebuilt):
    """The states of windows over everything so far."""

    def __init__(self, spec: WindowSpec, keys: int) -> None:
        super().__init__(spec, keys)
        self.panes = [RunningPane(spec) for _ in range(keys)]

    def add(self, rows: SortedRows, first: int) -> None:
        assert rows.times is not None
        before = StoredStates([*self.panes[first : first + rows.keys]])
        after = list(RunningBatch(rows, self.spec, rows.times.data, before, True).kept())
        for pane in after:
            pane.settle()
        self.panes[first : first + rows.keys] = after


class RebuiltCells(Rebuilt):
    """The cells of windows with a grain."""

    def __init__(self, spec: WindowSpec, keys: int) -> None:
        super().__init__(spec, keys)
        self._cells: dict[int, tuple[Array, Cells]] = {}  # by the number of a first key: the keys of cells, and these

    def add(self, rows: SortedRows, first: int) -> None:
        assert rows.times is not None
        before = StoredCells(np.zeros(rows.keys, np.int64), None)
        if rows.keys == 1 and first in self._cells:
            of, cells = self._cells[first]
            mine = of == first
            before = StoredCells.of_first(cells.taken(mine), 1)
            self._cells[first] = of[~mine], cells.taken(~mine)
        batch = CellBatch(rows, self.spec, rows.times.data, before, True)
        stops, cells = batch.cells_after(waits=False)
        self._put(first + np.repeat(np.arange(rows.keys), np.diff(stops)), cells, first)

    def _put(self, of: Array, cells: Cells, first: int) -> None:
        if first in self._cells and len(self._cells[first][0]):
            others, older = self._cells[first]
            parts = [a.joined(b) for a, b in zip(older.parts, cells.parts, strict=True)]
            of, cells = np.concatenate([others, of]), Cells(np.concatenate([older.places, cells.places]), parts)
        self._cells[first] = of, cells

    def table(self, tables: CellTables) -> tuple[pa.Table, Array]:
        """All cells as a table, and the keys that they are of."""
        pieces = [(of, tables.table(cells)) for of, cells in self._cells.values() if len(of)]
        if not pieces:
            return tables.schema.empty_table(), np.zeros(0, np.int64)
        of = np.concatenate([of for of, _ in pieces])
        order = np.argsort(of, kind="stable")
        return pa.concat_tables([table for _, table in pieces]).take(pa.array(order)), of[order]
