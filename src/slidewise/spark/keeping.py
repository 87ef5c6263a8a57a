"""What a shard keeps of its keys: small ones in pages that they share, large ones in pages of their own."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError
from slidewise.live.spec import Spec
from slidewise.spark import buckets as B
from slidewise.spark.buckets import Buckets, Keys
from slidewise.spark.cell_keeping import KeptCells
from slidewise.spark.directory import Directory
from slidewise.spark.large_key import LargeKey, Windowed, windowed
from slidewise.spark.pages import LARGEST, Pages
from slidewise.spark.runs import Runs, joined, ranges
from slidewise.spark.sorted_rows import SortedRows, named
from slidewise.spark.stream_answers import sliding

Array = Any


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
        specs: list[Spec],
        answers: dict[str, Any],
    ) -> None:
        self.directory = directory
        rows = KeptRows(pages, directory, schema, definition, [spec for spec in specs if spec.grain is None], answers)
        celled = enumerate((spec for spec in specs if spec.grain is not None), 1)
        cells = [KeptCells(pages, directory, definition, spec, i, schema, answers) for i, spec in celled]
        self.parts: list[KeptRows | KeptCells] = [rows, *cells]
        keys = B.keys_schema(schema, definition.by, len(self.parts))
        self.buckets = Buckets(pages, directory, keys, [part.schema for part in self.parts])


class KeptRows:
    """The rows that windows without a grain share."""

    def __init__(
        self,
        pages: Pages,
        directory: Directory,
        schema: Any,
        definition: Definition,
        specs: list[Spec],
        answers: dict[str, Any],
    ) -> None:
        import pyarrow as pa

        self._pages = pages
        self._directory = directory
        self._definition = definition
        self._specs = specs
        self._answers = answers
        self._large: dict[int, LargeKey] = {}
        assert definition.on is not None
        needed = {definition.on: None}
        for aggregate in definition.columns.values():
            if aggregate.window is not None and aggregate.window.grain is None:
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

    def slide(self, before: Keys, table: Any, runs: Runs, numbers: Array) -> tuple[dict[str, Any], Any, Array, Array]:
        """Answers over windows that slide; the rows to keep, how many for each key, and the numbers of large keys.

        `before` are the keys that go on, and `numbers` those of large keys among all.
        """
        new = table.select(self.schema.names)
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
            parts.append(self._push(int(numbers[k]), new.slice(int(at[0]), len(at)), table, int(at[-1])))
            if runs.last[k] != runs.first[k]:
                self.large_key(int(numbers[k])).drop()
        return joined(parts, np.concatenate(places), self._answers), kept, counts, stays

    def _slide_small(
        self, before: Keys, table: Any, each: Array, runs: Runs, large: Array
    ) -> tuple[dict[str, Any], Any, Array]:
        """The same for rows of small keys; keys that have become too large for a page get a number in `large`."""
        import pyarrow as pa

        old = np.repeat(runs.first[runs.connected], before.numbers(B.COUNT))
        both = np.concatenate([old, each])
        order = np.argsort(both, kind="stable")
        rows = table.select(self.schema.names)
        if len(old):
            rows = pa.concat_tables([before.rows, rows]).take(pa.array(order))
        rows = rows.combine_chunks()
        which, codes = np.unique(both[order], return_inverse=True)

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

    def _push(self, number: int, rows: Any, table: Any, last: int) -> dict[str, Any]:
        """A large key's answers for new rows, the last of which is row `last` of the table."""
        try:
            return self.large_key(number).push(rows)
        except SlidewiseError as error:
            where = named(self._definition, table, last, ())
            raise type(error)(f"{error}; in one of the {len(rows)} rows up to {where}") from error
