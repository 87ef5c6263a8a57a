"""The state of a shard's keys, and the answers of new rows from it.

Small keys lie in pages that they share, large ones in pages of their own. The state of windows that slide has parts:
part 0 is the rows that windows without a grain share, and each window with a grain has a part of its own, with cells.
Cells are never more than the window has grains and one, however many rows come. Windows over everything so far have one
state for each key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.definition import Definition
from slidewise.engine.cells import CellBatch, Cells, StoredCells
from slidewise.engine.point_in_time.queries import Queries
from slidewise.engine.running import RunningBatch, StoredStates
from slidewise.engine.running_pane import RunningPane
from slidewise.engine.sliding import SlidingBatch, StoredRows
from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import SlidewiseError
from slidewise.spark.error_location import locate_error
from slidewise.spark.sort.sorted_rows import SortedRows, row_label
from slidewise.spark.state.buckets import COUNT, NEWEST, STATES, Buckets, KeyTable, keys_schema, part_column, ranges
from slidewise.spark.state.cell_table import CellTables
from slidewise.spark.state.chunk_window import ChunkAggregates, chunk_aggregates
from slidewise.spark.state.directory import Directory
from slidewise.spark.state.large_key import LargeCells, LargeKey
from slidewise.spark.state.operator_states import panes_from_bytes, panes_to_bytes
from slidewise.spark.state.pages import MAX_PAGE_BYTES, Pages
from slidewise.windows.kind import Keeps


class Runs(NamedTuple):
    """Rows sorted by key and time in runs, within which they see one another: a key has one, unless it was forgotten.

    The number of each row's run, of each key's first and last run, whether the first goes on from what is stored, and
    the first row of each key.
    """

    each: Array
    first: Array
    last: Array
    connected: Array
    starts: Array


class RunQueries(NamedTuple):
    """Queries sorted by run and time: the number of the run that each sees, and its time."""

    runs: Array
    times: Array

    def taken(self, which: Array) -> RunQueries:
        return RunQueries(self.runs[which], self.times[which])

    def among(self, runs: Array) -> Queries:
        """The queries among keys that are these runs, in their order."""
        return Queries.of(np.searchsorted(runs, self.runs), len(runs), self.times)


class ShardState:
    """The keys of a shard during one call.

    `schema` is that of the rows, `specs` are the windows that slide, and `answers` the types of their answers.
    """

    def __init__(
        self,
        pages: Pages,
        directory: Directory,
        schema: pa.Schema,
        definition: Definition,
        specs: list[WindowSpec],
        answers: dict[str, pa.DataType],
    ) -> None:
        self.directory = directory
        by_rows = [spec for spec in specs if spec.keeps is Keeps.ROWS]
        by_cells = [spec for spec in specs if spec.keeps is Keeps.CELLS]
        self.parts: list[PartState] = [RowState(pages, directory, definition, schema, answers, by_rows)]
        for number, spec in enumerate(by_cells, 1):
            self.parts.append(CellState(pages, directory, definition, schema, answers, spec, number))
        keys = keys_schema(schema, definition.by, len(self.parts), directory.warming.columns)
        self.buckets = Buckets(pages, directory, keys, [part.schema for part in self.parts])


class PartState(ABC):
    """One part of a shard's state during a call; `answers` are the types of its windows' answers.

    Small keys are evaluated all at once, large ones one by one.
    """

    schema: pa.Schema  # of what is stored

    def __init__(
        self, pages: Pages, directory: Directory, definition: Definition, answers: dict[str, pa.DataType]
    ) -> None:
        self._pages = pages
        self._directory = directory
        self._definition = definition
        self._answers = answers
        self._large: dict[int, LargeKey] = {}

    def large_key(self, number: int) -> LargeKey:
        """A key with pages of its own."""
        if number not in self._large:
            self._large[number] = self._open_large(number)
        return self._large[number]

    @abstractmethod
    def _open_large(self, number: int) -> LargeKey: ...

    def slide(
        self, before: KeyTable, table: pa.Table, runs: Runs, numbers: Array, queries: RunQueries | None = None
    ) -> tuple[dict[str, pa.Array], pa.Table, Array, Array]:
        """The answers over windows that slide; what to store, how much for each key, and the numbers of large keys.

        `before` are the keys that go on, and `numbers` those of large keys among all. With `queries`, these are
        answered, and not the rows.
        """
        of_large = runs.first[numbers > 0]
        is_large = np.isin(runs.each, of_large)
        asked = is_large if queries is None else np.isin(queries.runs, of_large)  # what is answered of large keys
        large = np.where(runs.last == runs.first, numbers, 0)
        parts, stored, counts = [], self.schema.empty_table(), np.zeros(len(numbers), np.int64)
        if queries is not None or not is_large.all():
            small = table.filter(~is_large) if is_large.any() else table
            rest = None if queries is None else queries.taken(~asked)
            answers, stored, counts = self._slide_small(before, small, runs.each[~is_large], runs, large, rest)
            parts.append(answers)
        places = [np.flatnonzero(~asked)]
        for k in np.flatnonzero(numbers).tolist():
            first, stop = np.searchsorted(runs.each, [runs.first[k], runs.first[k] + 1]).tolist()
            some = None
            if queries is None:
                places.append(np.arange(first, stop))
            else:
                places.append(np.flatnonzero(queries.runs == runs.first[k]))
                some = queries.taken(places[-1]).among(runs.first[k : k + 1])
            parts.append(self._slide_large(int(numbers[k]), table.slice(first, stop - first), some))
            if runs.last[k] != runs.first[k]:
                self.large_key(int(numbers[k])).drop()
        return join_answers(parts, np.concatenate(places), self._answers), stored, counts, large

    @abstractmethod
    def _slide_small(
        self,
        before: KeyTable,
        table: pa.Table,
        each: Array,
        runs: Runs,
        large: Array,
        queries: RunQueries | None,
    ) -> tuple[dict[str, pa.Array], pa.Table, Array]:
        """The same for rows of small keys; keys that have become too large for a page get a number in `large`."""

    def split_large(
        self, stored: pa.Table, ends: tuple[Array, Array], which: Array, runs: Runs, large: Array
    ) -> tuple[pa.Table, Array]:
        """State of small keys in shared pages, and how much of it each; those that are too large leave for their own.

        Of run `which[i]`, the rows `ends[0][i]` to `ends[1][i]` of `stored` are kept, where it is a key's last.
        """
        counts, firsts = np.zeros(len(large), np.int64), np.zeros(len(large), np.int64)
        small = np.flatnonzero(large == 0)
        of = np.searchsorted(which, runs.last[small])
        counts[small], firsts[small] = ends[1][of] - ends[0][of], ends[0][of]
        for k in np.flatnonzero(counts * (stored.nbytes / max(len(stored), 1)) > MAX_PAGE_BYTES).tolist():
            large[k] = self._directory.new_large()
            self.large_key(int(large[k])).begin(stored.slice(int(firsts[k]), int(counts[k])))
            counts[k] = 0
        return stored.take(pa.array(ranges(firsts, counts))), counts

    def _slide_large(self, number: int, rows: pa.Table, queries: Queries | None) -> dict[str, pa.Array]:
        """A large key's answers for new rows, or for queries among them."""
        try:
            return self.large_key(number).push(self._inputs(rows), queries)
        except SlidewiseError as error:
            if not len(rows):
                raise
            label = row_label(self._definition, rows, len(rows) - 1, ())
            raise type(error)(f"{error}; in one of the {len(rows)} rows up to {label}") from error

    def _inputs(self, rows: pa.Table) -> pa.Table:
        """The columns of new rows that a large key takes."""
        return rows


class RowState(PartState):
    """The rows that windows without a grain share."""

    def __init__(
        self,
        pages: Pages,
        directory: Directory,
        definition: Definition,
        schema: pa.Schema,
        answers: dict[str, pa.DataType],
        specs: list[WindowSpec],
    ) -> None:
        super().__init__(pages, directory, definition, answers)
        self._specs = specs
        self.schema = pa.schema([schema.field(name) for name in stored_columns(definition)])

    @cached_property
    def _groups(self) -> list[ChunkAggregates]:
        no_rows = SortedRows(self.schema.empty_table(), self._definition, np.zeros(0, np.int64))
        return chunk_aggregates(self._specs, no_rows)

    def _open_large(self, number: int) -> LargeKey:
        return LargeKey(self._pages, self._definition, self._groups, self.schema, number)

    def _slide_small(
        self,
        before: KeyTable,
        table: pa.Table,
        each: Array,
        runs: Runs,
        large: Array,
        queries: RunQueries | None,
    ) -> tuple[dict[str, pa.Array], pa.Table, Array]:
        old = np.repeat(runs.first[runs.connected], before.numbers(COUNT))
        both = np.concatenate([old, each])
        order = np.argsort(both, kind="stable")
        rows = table.select(self.schema.names)
        if len(old):
            rows = pa.concat_tables([before.rows, rows]).take(pa.array(order))
        rows = rows.combine_chunks()
        which, codes = distinct(both[order], queries)

        def label(row: int) -> str:
            return row_label(self._definition, table, max(int(order[row]) - len(old), 0), ())

        silent = order < len(old) if queries is None else None
        sorted_rows = SortedRows(rows, self._definition, codes, silent, len(which))
        asked = None if queries is None else queries.among(which)
        answers, firsts = _slide_rows(self._specs, sorted_rows, label, asked)
        stops = np.searchsorted(codes, np.arange(len(which)), side="right")
        return answers, *self.split_large(rows, (firsts, stops), which, runs, large)

    def _inputs(self, rows: pa.Table) -> pa.Table:
        return rows.select(self.schema.names)


def stored_columns(definition: Definition) -> list[str]:
    """The columns of rows that are stored: the time, and what is read by aggregates over windows without a grain."""
    assert definition.on is not None
    needed = {definition.on: None}
    for aggregate in definition.aggregates.values():
        if aggregate.window is not None and aggregate.window.keeps is not Keeps.CELLS:
            needed |= dict.fromkeys(aggregate.columns)
            needed |= {mark: None for mark in (aggregate.condition, aggregate.since) if mark is not None}
    return list(needed)


class CellState(PartState):
    """The cells of one spec with a grain; `part` is its number among the parts of the state."""

    def __init__(
        self,
        pages: Pages,
        directory: Directory,
        definition: Definition,
        schema: pa.Schema,
        answers: dict[str, pa.DataType],
        spec: WindowSpec,
        part: int,
    ) -> None:
        super().__init__(pages, directory, definition, answers)
        self._spec = spec
        self._part = part
        self.tables = CellTables(definition, spec, schema)
        self.schema = self.tables.schema

    def _open_large(self, number: int) -> LargeCells:
        return LargeCells(self._pages, self._definition, self.tables, number)

    def _slide_small(
        self,
        before: KeyTable,
        table: pa.Table,
        each: Array,
        runs: Runs,
        large: Array,
        queries: RunQueries | None,
    ) -> tuple[dict[str, pa.Array], pa.Table, Array]:
        which, codes = distinct(each, queries)
        rows = SortedRows(table, self._definition, codes, None, len(which))
        asked = None if queries is None else queries.among(which)
        counts = np.zeros(len(which), np.int64)  # cells that each run goes on from
        stored = before.numbers(part_column(COUNT, self._part))
        counts[np.searchsorted(which, runs.first[runs.connected][stored > 0])] = stored[stored > 0]
        old = self.tables.cells(before.parts[self._part]) if stored.any() else None
        try:
            batch = self._cell_batch(self._spec, rows, counts, old, asked)
            arrays = batch.arrays()
            stops, cells = batch.cells_after(waits=False)
        except Exception as error:
            raise self._located(error, rows, counts, old) from error
        answers = {member.name: array for member, array in zip(self._spec.members, arrays, strict=True)}
        ends = stops[:-1], stops[1:]
        return answers, *self.split_large(self.tables.table(cells), ends, which, runs, large)

    def _cell_batch(
        self, spec: WindowSpec, rows: SortedRows, counts: Array, old: Cells | None, queries: Queries | None = None
    ) -> CellBatch:
        assert rows.times is not None
        return CellBatch(rows, spec, rows.times.data, StoredCells(counts, old), True, None, queries)

    def _located(self, error: Exception, rows: SortedRows, counts: Array, old: Cells | None) -> Exception:
        """The error with the column and the row that it is about."""

        def evaluate(spec: WindowSpec, count: int) -> object:
            first = rows.first(count)
            stored = counts[: first.keys]
            cells = None if old is None else old.taken(slice(0, int(stored.sum())))
            batch = self._cell_batch(spec, first, stored, cells)
            return batch.arrays(), batch.cells_after(waits=False)

        def label(row: int) -> str:
            return row_label(self._definition, rows.table, row, ())

        return locate_error(error, self._spec, evaluate, rows.count, label)


class RunningState:
    """The states of windows over everything so far, one for each key and spec."""

    def __init__(self, definition: Definition, specs: list[WindowSpec]) -> None:
        self._definition = definition
        self._specs = specs

    def run(
        self, before: KeyTable, table: pa.Table, runs: Runs, queries: RunQueries | None = None
    ) -> tuple[dict[str, pa.Array], list[bytes | None]]:
        """The answers over everything so far, of rows or of queries, and each key's states afterwards, serialised."""
        if not self._specs:
            return {}, [None] * len(runs.last)
        count = 1 + max(int(each.max(initial=-1)) for each in (runs.each, runs.first, *(queries or ())[:1]))
        panes = [panes_from_bytes(self._specs, None) for _ in range(count)]
        stored = before.table.column(STATES).to_pylist()
        newest_of = before.numbers(NEWEST).tolist()
        for run, data, newest in zip(runs.first[runs.connected].tolist(), stored, newest_of, strict=True):
            panes[run] = panes_from_bytes(self._specs, data, int(newest))
        rows = SortedRows(table, self._definition, runs.each, None, count)
        asked = None if queries is None else queries.among(np.arange(count))
        answers: dict[str, pa.Array] = {}
        for i, spec in enumerate(self._specs):
            arrays, after = self._run_spec(rows, spec, [of_run[i] for of_run in panes], asked)
            for of_run, pane in zip(panes, after, strict=True):
                of_run[i] = pane
            answers |= {member.name: array for member, array in zip(spec.members, arrays, strict=True)}
        return answers, [panes_to_bytes(panes[run]) for run in runs.last.tolist()]

    def _run_spec(
        self, rows: SortedRows, spec: WindowSpec, before: list[RunningPane], queries: Queries | None
    ) -> tuple[list[pa.Array], list[RunningPane]]:
        """The answers of a spec's members, and each run's pane afterwards."""

        def evaluate(part: WindowSpec, count: int) -> tuple[list[pa.Array], list[RunningPane]]:
            first = rows.first(count)
            assert first.times is not None
            stored, asked = StoredStates([*before[: first.keys]]), queries if first is rows else None
            batch = RunningBatch(first, part, first.times.data, stored, True, None, asked)
            after = list(batch.kept())
            for pane in after:
                pane.settle()
            return batch.arrays(), after

        def label(row: int) -> str:
            return row_label(self._definition, rows.table, row, ())

        try:
            return evaluate(spec, rows.count)
        except Exception as error:
            raise locate_error(error, spec, evaluate, rows.count, label) from error


def _slide_rows(
    specs: list[WindowSpec], rows: SortedRows, label: Callable[[int], str], queries: Queries | None
) -> tuple[dict[str, pa.Array], Array]:
    """The answers by name for the rows that are not silent, or for the queries; and for each key the first row that
    later ones may see."""
    assert rows.times is not None
    offsets = np.searchsorted(rows.codes, np.arange(rows.keys + 1))
    numbers = np.arange(rows.count) - offsets[rows.codes]
    needed_from = offsets[1:]
    if queries is not None:
        queries = queries.numbered(rows.times.data, offsets, np.zeros(rows.keys, np.int64))
    answers: dict[str, pa.Array] = {}
    for spec in specs:
        places = numbers if spec.numbered else rows.times.data

        def evaluate(part: WindowSpec, count: int, places: Array = places) -> tuple[SlidingBatch, list[pa.Array]]:
            first = rows.first(count)
            none, asked = StoredRows.none(first.keys), queries if first is rows else None
            batch = SlidingBatch(first, part, places[:count], none, True, first.silent, asked)
            return batch, batch.arrays()

        try:
            batch, arrays = evaluate(spec, rows.count)
        except Exception as error:
            raise locate_error(error, spec, evaluate, rows.count, label) from error
        needed_from = np.minimum(needed_from, batch.last_starts())
        for member, array in zip(spec.members, arrays, strict=True):
            answers[member.name] = array if rows.silent is None else array.filter(~rows.silent)
    return answers, needed_from


def join_answers(parts: list[dict[str, pa.Array]], places: Array, types: dict[str, pa.DataType]) -> dict[str, pa.Array]:
    """Answers that lie in parts, in the order of the rows; each has its declared type."""
    back = np.empty(len(places), np.int64)
    back[places] = np.arange(len(places))
    answers: dict[str, pa.Array] = {}
    for name in parts[0]:
        kind = types[name]
        arrays = [part[name] if part[name].type == kind else part[name].cast(kind) for part in parts]
        answers[name] = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays).take(pa.array(back))
    return answers


def distinct(numbers: Array, queries: RunQueries | None) -> tuple[Array, Array]:
    """The different ones of sorted numbers, those that queries see too, and which of them each is."""
    new = np.diff(numbers, prepend=numbers[:1] - 1) != 0  # `np.unique` would sort once more
    if queries is None:
        return numbers[new], np.cumsum(new) - 1
    which = np.union1d(numbers[new], queries.runs)
    return which, np.searchsorted(which, numbers)
