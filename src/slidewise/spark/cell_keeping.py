"""What a shard keeps of its keys for one window with a grain: cells, in pages that keys share or in pages of their own.

Cells are never more than the window has grains and one, so neither is what is kept, however many rows come.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError
from slidewise.live.celled import Celled, Cells
from slidewise.live.spec import Spec
from slidewise.spark.blame import fault, said
from slidewise.spark.buckets import COUNT, Keys, of_part
from slidewise.spark.cell_table import CellTables
from slidewise.spark.directory import Directory
from slidewise.spark.large_cells import LargeCells
from slidewise.spark.pages import LARGEST, Pages
from slidewise.spark.runs import Runs, joined, ranges
from slidewise.spark.sorted_rows import SortedRows, named

Array = Any


class KeptCells:
    """The cells of one spec; `part` is its number among the parts of `Keys`."""

    def __init__(
        self,
        pages: Pages,
        directory: Directory,
        definition: Definition,
        spec: Spec,
        part: int,
        schema: Any,
        answers: dict[str, Any],
    ) -> None:
        self._pages = pages
        self._directory = directory
        self._definition = definition
        self._spec = spec
        self._part = part
        self._input = schema
        self._answers = answers
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

    def slide(self, before: Keys, table: Any, runs: Runs, numbers: Array) -> tuple[dict[str, Any], Any, Array, Array]:
        """The answers; the cells to keep, how many for each key, and the numbers of keys with pages of their own."""
        is_large = np.isin(runs.each, runs.first[numbers > 0])
        stays = np.where(runs.last == runs.first, numbers, 0)
        parts, kept, counts = [], self.schema.empty_table(), np.zeros(len(numbers), np.int64)
        if not is_large.all():
            small = table.filter(~is_large) if is_large.any() else table
            answers, kept, counts = self._slide_small(before, small, runs.each[~is_large], runs, stays)
            parts.append(answers)
        places = [np.flatnonzero(~is_large)]
        for k in np.flatnonzero(numbers).tolist():
            at = np.flatnonzero(runs.each == runs.first[k])
            places.append(at)
            parts.append(self._push(int(numbers[k]), table.slice(int(at[0]), len(at))))
            if runs.last[k] != runs.first[k]:
                self.large_key(int(numbers[k])).drop()
        return joined(parts, np.concatenate(places), self._answers), kept, counts, stays

    def _slide_small(
        self, before: Keys, table: Any, each: Array, runs: Runs, large: Array
    ) -> tuple[dict[str, Any], Any, Array]:
        """The same for rows of small keys; keys that have become too large for a page get a number in `large`."""
        import pyarrow as pa

        which, codes = np.unique(each, return_inverse=True)
        rows = SortedRows(table, self._definition, codes)
        there = np.zeros(len(which), np.int64)
        had = before.numbers(of_part(COUNT, self._part))
        there[np.searchsorted(which, runs.first[runs.connected][had > 0])] = had[had > 0]
        old = self._tables.cells(before.parts[self._part]) if had.any() else None
        try:
            celled = self._celled(self._spec, rows, there, old)
            arrays = celled.arrays()
            stops, cells = celled.kept(waits=False)
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

    def _celled(self, spec: Spec, rows: SortedRows, there: Array, old: Cells | None) -> Celled:
        assert rows.times is not None
        return Celled(rows, spec, rows.times.data, there, old, True)

    def _blamed(self, error: Exception, rows: SortedRows, there: Array, old: Cells | None) -> Exception:
        """The error with the column and the row that it is about."""

        def tried(spec: Spec, count: int) -> object:
            part = rows.first(count)
            had = there[: part.keys]
            celled = self._celled(spec, part, had, None if old is None else old.taken(slice(0, int(had.sum()))))
            return celled.arrays(), celled.kept(waits=False)

        found = fault(self._spec, tried, rows.count)
        return error if found is None else said(error, found[0], named(self._definition, rows.table, found[1], ()))

    def _push(self, number: int, rows: Any) -> dict[str, Any]:
        try:
            return self.large_key(number).push(rows)
        except SlidewiseError as error:
            where = named(self._definition, rows, len(rows) - 1, ())
            raise type(error)(f"{error}; in one of the {len(rows)} rows up to {where}") from error
