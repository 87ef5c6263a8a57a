"""What a shard keeps of its keys: small ones in pages that they share, large ones in pages of their own."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.definition import Definition
from slidewise.engine.window_spec import WindowSpec
from slidewise.spark.sort.sorted_rows import SortedRows, named
from slidewise.spark.state import buckets as B
from slidewise.spark.state.buckets import Buckets, Keys
from slidewise.spark.state.cell_state import KeptCells
from slidewise.spark.state.directory import Directory
from slidewise.spark.state.large_key import LargeKey, Windowed, windowed
from slidewise.spark.state.pages import LARGEST, Pages
from slidewise.spark.state.runs import Runs, distinct, ranges
from slidewise.spark.state.window_state import Kept
from slidewise.spark.stream.answers import sliding
from slidewise.windows.kind import Keeps


class Keeping:
    """The keys of a shard during one call. `schema` is that of the rows, `specs` are the windows that slide, and
    `answers` the types of their answers. Windows with a grain keep cells, each a part of its own; the others share
    the rows, which are part 0."""

    def __init__(
        self,
        pages: Pages,
        directory: Directory,
        schema: Any,
        definition: Definition,
        specs: list[WindowSpec],
        answers: dict[str, Any],
    ) -> None:
        self.directory = directory
        by_rows = [spec for spec in specs if spec.keeps is Keeps.ROWS]
        rows = KeptRows(pages, directory, schema, definition, by_rows, answers)
        celled = enumerate((spec for spec in specs if spec.keeps is Keeps.CELLS), 1)
        cells = [KeptCells(pages, directory, definition, spec, i, schema, answers) for i, spec in celled]
        self.parts: list[KeptRows | KeptCells] = [rows, *cells]
        keys = B.keys_schema(schema, definition.by, len(self.parts))
        self.buckets = Buckets(pages, directory, keys, [part.schema for part in self.parts])


class KeptRows(Kept):
    """The rows that windows without a grain share."""

    def __init__(
        self,
        pages: Pages,
        directory: Directory,
        schema: Any,
        definition: Definition,
        specs: list[WindowSpec],
        answers: dict[str, Any],
    ) -> None:
        import pyarrow as pa

        super().__init__(definition, answers)
        self._pages = pages
        self._directory = directory
        self._specs = specs
        self._large: dict[int, LargeKey] = {}
        assert definition.on is not None
        needed = {definition.on: None}
        for aggregate in definition.columns.values():
            if aggregate.window is not None and aggregate.window.keeps is not Keeps.CELLS:
                needed |= dict.fromkeys(aggregate.columns)
                needed |= {} if aggregate.condition is None else {aggregate.condition: None}
        self.schema = pa.schema([schema.field(name) for name in needed])

    @cached_property
    def _groups(self) -> list[Windowed]:
        none = SortedRows(self.schema.empty_table(), self._definition, np.zeros(0, np.int64))
        return windowed(self._specs, none)

    def large_key(self, number: int) -> LargeKey:
        if number not in self._large:
            self._large[number] = LargeKey(self._pages, self._definition, self._groups, self.schema, number)
        return self._large[number]

    def _slide_small(
        self, before: Keys, table: Any, each: Array, runs: Runs, large: Array
    ) -> tuple[dict[str, Any], Any, Array]:
        import pyarrow as pa

        old = np.repeat(runs.first[runs.connected], before.numbers(B.COUNT))
        both = np.concatenate([old, each])
        order = np.argsort(both, kind="stable")
        rows = table.select(self.schema.names)
        if len(old):
            rows = pa.concat_tables([before.rows, rows]).take(pa.array(order))
        rows = rows.combine_chunks()
        which, codes = distinct(both[order])

        def where(row: int) -> str:
            return named(self._definition, table, max(int(order[row]) - len(old), 0), ())

        found, from_here = sliding(self._definition, self._specs, rows, codes, order < len(old), where)
        stops = np.searchsorted(codes, np.arange(len(which)), side="right")
        counts, firsts = np.zeros(len(large), np.int64), np.zeros(len(large), np.int64)
        mine = np.flatnonzero(large == 0)
        of = np.searchsorted(which, runs.last[mine])
        counts[mine], firsts[mine] = stops[of] - from_here[of], from_here[of]
        for k in np.flatnonzero(counts * (rows.nbytes / len(rows)) > LARGEST).tolist():
            large[k] = self._directory.new_large()
            self.large_key(int(large[k])).begin(rows.slice(int(firsts[k]), int(counts[k])))
            counts[k] = 0
        return found, rows.take(pa.array(ranges(firsts, counts))), counts

    def _taken_in(self, rows: Any) -> Any:
        return rows.select(self.schema.names)
