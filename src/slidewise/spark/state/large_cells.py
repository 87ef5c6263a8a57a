"""A key whose cells have pages of their own: chunks of cells, and DABA Lite over the chunks, as `large_key` has rows.

New rows come as cells of one row each, and are folded into the open cell and those behind it once they are answered.
The open cell never leaves the open chunk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.operator_types import readied
from slidewise.definition import Definition
from slidewise.engine.answers import check_inputs, typed
from slidewise.engine.batch import columns_of
from slidewise.engine.bounds import spec_bounds
from slidewise.engine.cells import Cells
from slidewise.engine.window_spec import WindowSpec
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.passes.spanning import Spanning
from slidewise.spark.sort.sorted_rows import SortedRows
from slidewise.spark.state.cell_table import NEWEST, CellTables, state_of
from slidewise.spark.state.chunk_window import State
from slidewise.spark.state.large_key import LargeKey, Windowed
from slidewise.spark.state.pages import Pages


class LargeCells(LargeKey):
    """One key's chunks of cells of one spec."""

    _stay = 1

    def __init__(self, pages: Pages, definition: Definition, tables: CellTables, number: int) -> None:
        self._tables = tables
        self._rows: Any = None
        self._passed = 0  # how many cells of the open chunk, and rows behind them, no later window holds
        super().__init__(pages, definition, tables.groups, tables.schema, number)

    def push(self, rows: Any) -> dict[str, Any]:
        self._rows = SortedRows(rows, self._definition, np.zeros(len(rows), np.int64))
        self._passed = 2**62
        return super().push(self._tables.table(self._tables.lifted(self._rows)))

    def _answers(
        self, w: int, table: Any, positions: Array, before: int, old: int, whole: bool
    ) -> tuple[list[Any], int]:
        group = self._groups[w]
        cells = self._tables.cells(table, group.spec.members)
        starts, ends = spec_bounds(group.spec, cells.places, np.array([0, len(cells)]), True)
        first = int(starts[-1])
        self._passed = min(self._passed, max(first - before, 0))
        starts, ends = starts[old:], ends[old:]
        if whole:
            members = zip(group.spec.members, cells.parts, strict=True)
            found = [part.windows(starts, ends, one.least) for one, part in members]
        else:
            found = self._between(w, cells, np.minimum(starts, before), np.maximum(ends, before), before)
        columns, _ = columns_of(self._rows, group.spec)
        types = [self._rows.kind_of(name) for name in group.spec.columns]
        arrays = []
        for one, answers in zip(group.spec.members, found, strict=True):
            check_inputs(one.operator, group.spec.columns, columns, types)
            arrays.append(typed(one.operator, readied(one.operator, columns), types, answers))
        return arrays, first

    def _between(self, w: int, cells: Cells, starts: Array, ends: Array, before: int) -> list[Answers]:
        """The answers over the cells [starts, before), the chunks between, and the cells [before, ends)."""
        group, middle = self._groups[w], self._windows[w].query()
        counts = cells.parts[0].counts
        total = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        rows = total[ends] - total[starts] + (0 if middle is None else middle[0])
        full = counts > 0
        place = np.concatenate([np.zeros(1, np.int64), np.cumsum(full)])
        starts, ends, h = place[starts], place[ends], int(place[before])
        found = []
        for j, (one, run) in enumerate(zip(group.spec.members, group.passes, strict=True)):
            enough = rows >= one.least
            if run is None:
                found.append(Answers([rows], enough))
                continue
            assert isinstance(run, Spanning)
            ok = enough & (rows > 0)
            fields = [field[full] for field in cells.parts[j].fields]
            state = None if middle is None else middle[1][j]
            found.append(run.answers_of_partials(fields, h, state, starts, ends, ok).limited(ok))
        return found

    @property
    def _never_null(self) -> list[str]:
        return list(self._schema.names)

    def _times(self, rows: Any) -> Array:
        array: Array = rows.column(NEWEST).to_numpy()
        return array

    def _newest(self, rows: Any) -> int:
        return int(rows.column(NEWEST)[-1].as_py())

    def _is_in(self, spec: WindowSpec, place: int, last: int) -> bool:
        return bool(place >= spec.cut(last))

    def _fold(self, group: Windowed, chunk: Any) -> State:
        found: State = state_of(group, self._tables.cells(chunk, group.spec.members))
        return found

    def _append(self, tail: Any, rows: Any) -> None:
        import pyarrow as pa

        both = pa.concat_tables([tail, rows]).slice(self._passed)
        super()._append(tail.slice(0, 0), self._tables.table(self._tables.folded(self._tables.cells(both))))
