"""What a shard keeps of its keys: small ones in pages that they share, large ones in pages of their own."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError
from slidewise.live.spec import Spec
from slidewise.spark import buckets as B
from slidewise.spark.buckets import Buckets, Keys
from slidewise.spark.directory import Directory
from slidewise.spark.large_key import LargeKey, Windowed, windowed
from slidewise.spark.pages import LARGEST, Pages
from slidewise.spark.sorted_rows import SortedRows, named
from slidewise.spark.stream_answers import sliding

Array = Any


class Runs(NamedTuple):
    """Rows sorted by key and time in runs, within which they see one another: a key has one, unless it was forgotten.

    The number of each row's run, of each key's first and last run, whether the first goes on from what is there, and
    the first row of each key.
    """

    each: Array
    first: Array
    last: Array
    connected: Array
    starts: Array


class Keeping:
    """The keys of a shard during one call. `schema` is that of the rows, `specs` are the windows that slide, and
    `answers` the types of their answers."""

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
        self.directory = directory
        self._definition = definition
        self._specs = specs
        self._answers = answers
        self._large: dict[int, LargeKey] = {}
        assert definition.on is not None
        needed = dict.fromkeys((definition.on, *definition.inputs))
        self.rows_schema = pa.schema([schema.field(name) for name in needed])
        self.buckets = Buckets(pages, directory, B.keys_schema(schema, definition.by), self.rows_schema)

    @cached_property
    def _groups(self) -> list[Windowed]:
        none = SortedRows(self.rows_schema.empty_table(), self._definition, np.zeros(0, np.int64))
        return windowed(self._specs, none)

    def large_key(self, number: int) -> LargeKey:
        if number not in self._large:
            self._large[number] = LargeKey(self._pages, self._definition, self._groups, self.rows_schema, number)
        return self._large[number]

    def slide(self, before: Keys, table: Any, runs: Runs, numbers: Array) -> tuple[dict[str, Any], Any, Array, Array]:
        """Answers over windows that slide; the rows to keep, how many for each key, and the numbers of large keys.

        `before` are the keys that go on, and `numbers` those of large keys among all.
        """
        new = table.select(self.rows_schema.names)
        is_large = np.isin(runs.each, runs.first[numbers > 0])
        stays = np.where(runs.last == runs.first, numbers, 0)
        parts, kept, counts = [], self.rows_schema.empty_table(), np.zeros(len(numbers), np.int64)
        if not is_large.all():
            small = table.filter(~is_large) if is_large.any() else table
            answers, kept, counts = self._slide_small(before, small, runs.each[~is_large], runs, stays)
            parts.append(answers)
        places = [np.flatnonzero(~is_large)]
        for k in np.flatnonzero(numbers).tolist():
            at = np.flatnonzero(runs.each == runs.first[k])
            places.append(at)
            parts.append(self.push(int(numbers[k]), new.slice(int(at[0]), len(at)), table, int(at[-1])))
            if runs.last[k] != runs.first[k]:
                self.large_key(int(numbers[k])).drop()
        return self._joined(parts, np.concatenate(places)), kept, counts, stays

    def _slide_small(
        self, before: Keys, table: Any, each: Array, runs: Runs, large: Array
    ) -> tuple[dict[str, Any], Any, Array]:
        """The same for rows of small keys; keys that have become too large for a page get a number in `large`."""
        import pyarrow as pa

        old = np.repeat(runs.first[runs.connected], before.numbers(B.COUNT))
        both = np.concatenate([old, each])
        order = np.argsort(both, kind="stable")
        rows = table.select(self.rows_schema.names)
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
            large[k] = self.directory.new_large()
            self.large_key(int(large[k])).begin(rows.slice(int(firsts[k]), int(counts[k])))
            counts[k] = 0
        shift = np.repeat(firsts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        return found, rows.take(pa.array(np.arange(len(shift)) + shift)), counts

    def _joined(self, parts: list[dict[str, Any]], places: Array) -> dict[str, Any]:
        """Answers that lie in parts, in the order of the rows; each has its declared type."""
        import pyarrow as pa

        back = np.empty(len(places), np.int64)
        back[places] = np.arange(len(places))
        found: dict[str, Any] = {}
        for name in parts[0]:
            kind = self._answers[name]
            arrays = [part[name] if part[name].type == kind else part[name].cast(kind) for part in parts]
            found[name] = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays).take(pa.array(back))
        return found

    def push(self, number: int, rows: Any, table: Any, last: int) -> dict[str, Any]:
        """A large key's answers for new rows, the last of which is row `last` of the table."""
        try:
            return self.large_key(number).push(rows)
        except SlidewiseError as error:
            where = named(self._definition, table, last, ())
            raise type(error)(f"{error}; in one of the {len(rows)} rows up to {where}") from error
