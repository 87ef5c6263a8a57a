"""Conversion of keys that keep rows, cells and states to another definition, a page of keys at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.columns.series import read
from slidewise.engine.cells import Cells
from slidewise.engine.computed.columns import argument_arrays
from slidewise.engine.running_pane import RunningPane
from slidewise.engine.sorting import sort_rows
from slidewise.engine.window_spec import WindowSpec
from slidewise.kernels.bounds.grain import cells as cell_numbers
from slidewise.kernels.bounds.queries import lowest_places
from slidewise.spark.sort.sorted_rows import SortedRows, microseconds
from slidewise.spark.state import buckets as B
from slidewise.spark.state.buckets import KeyTable
from slidewise.spark.state.large_key import LargeKey
from slidewise.spark.state.operator_states import panes_from_bytes, panes_to_bytes
from slidewise.spark.state.shard_state import CellState, PartState, Runs, ShardState
from slidewise.spark.upgrade.changes import Changes, Origin, Source, aggregate_columns
from slidewise.spark.upgrade.knowledge import Knowledge, StoredRowCounts
from slidewise.spark.upgrade.rebuilding import Rebuilt, RebuiltCells, RebuiltStates, spec_name
from slidewise.windows.kind import Keeps

_PIECE = 32  # chunks of a large key that are converted at once


class RowConversion:
    """Converts the keys of a shard from one state to another, which lies over the same store.

    `schema` is that of the new rows, with computed columns; `knowledge` says which answers are incomplete.
    """

    def __init__(
        self, changes: Changes, old: ShardState, new: ShardState, schema: pa.Schema, knowledge: Knowledge
    ) -> None:
        self._changes = changes
        self._old = old
        self._new = new
        self._knowledge = knowledge
        self._on = str(changes.new.on)
        aggregates = changes.new.aggregates.values()
        read_of_rows = [aggregate_columns(aggregate) for aggregate in aggregates]
        names = dict.fromkeys([self._on, *chain.from_iterable(read_of_rows)])
        self._schema = pa.schema([schema.field(name) for name in names])
        self._origins: dict[str, Origin] = {name: changes.origin_of(name) for name in names}
        self._row_specs = [spec for spec in changes.new_specs if spec.keeps is Keeps.ROWS]
        self._cell_specs = [spec for spec in changes.new_specs if spec.keeps is Keeps.CELLS]
        self._old_running = [spec for spec in changes.old_specs if spec.running]
        self._running = [spec for spec in changes.new_specs if spec.running]
        goes_on = (Source.CELLS, Source.STATES)
        both = [*self._cell_specs, *self._running]
        self._from_rows = [spec for spec in both if changes.each[spec.members[0].name].source not in goes_on]

    def convert(self, keys: KeyTable) -> KeyTable:
        """The keys of a page with the new state; pages of large keys are written, and the old ones dropped."""
        count = len(keys)
        rows, codes = self._wide(keys.rows, np.repeat(np.arange(count), keys.numbers(B.COUNT)))
        large = keys.numbers(B.LARGE)
        rebuilt = {spec_name(spec): Rebuilt.of(spec, count) for spec in self._from_rows}
        self._rebuild(rebuilt, rows, codes, count)
        numbers = np.zeros(count, np.int64)  # of large keys
        counts = StoredRowCounts(self._knowledge, count)
        counts.add(codes, microseconds(rows, self._on))
        for k in np.flatnonzero(large).tolist():
            key = self._old.parts[0].large_key(int(large[k]))
            numbers[k] = self._convert_large(key, k, int(keys.numbers(B.NEWEST)[k]), rebuilt, counts)
            key.drop()
        needed = self._needed(rows, codes, keys.numbers(B.NEWEST), _from_end(codes, count))
        kept, of_kept = rows.filter(pa.array(needed)), codes[needed]
        stored = [self._split(self._new.parts[0], kept.select(self._new.parts[0].schema.names), of_kept, numbers)]
        for number, spec in enumerate(self._cell_specs, 1):
            table, owners = self._cells_of(spec, keys, rebuilt)
            stored.append(self._split(self._new.parts[number], table, owners, np.zeros(count, np.int64)))
        for number, part in enumerate(self._old.parts[1:], 1):
            for dropped in keys.numbers(B.part_column(B.LARGE, number)).tolist():
                if dropped:
                    part.large_key(dropped).drop()
        states = self._states(keys, rebuilt)
        columns = [keys.table.column(name) for name in (*self._changes.new.by, B.HASH, B.NEWEST)]
        columns += [pa.array(stored[0][1]), pa.array(states, pa.binary()), pa.array(stored[0][2])]
        columns += [pa.array(column) for part in stored[1:] for column in part[1:]]
        missing = [self._knowledge.missing(name, keys, counts) for name in self._knowledge.warming.by_key]
        columns += [pa.array(rows) for rows in missing]
        schema = self._new.buckets.empty().table.schema
        return KeyTable(pa.table(columns, schema=schema), [part[0] for part in stored])

    def _wide(self, table: pa.Table, codes: Array) -> tuple[pa.Table, Array]:
        """Stored rows with all columns that new aggregates read, and the keys of their rows; null where a column was
        never stored. Rows of equal time are put into the new order where it is another one, and can be known."""
        columns = []
        for name in self._schema.names:
            kind, origin = self._schema.field(name).type, self._origins[name]
            if origin.stored is not None:
                columns.append(table.column(origin.stored).cast(kind))
            elif origin.parts is not None:
                arrays = argument_arrays(
                    self._changes.new,
                    lambda part: table.column(self._changes.stored[part]),
                    len(table),
                    lambda row: f"the stored row at {table.column(self._on)[row].as_py()}",
                    [name],
                )
                columns.append(arrays[name].cast(kind))
            else:
                columns.append(pa.nulls(len(table), kind))
        wide = pa.table(columns, schema=self._schema)
        if not self._reorders or not len(wide):
            return wide, codes
        stored = self._changes.stored
        order = sort_rows(
            self._changes.new,
            codes,
            int(codes[-1]) + 1,
            microseconds(table, stored[self._on]),
            len(table),
            lambda name: read(table.column(stored[name]), repr(name)),
        ).rows()
        return (wide, codes) if order is None else (wide.take(pa.array(order)), codes[order])

    @cached_property
    def _reorders(self) -> bool:
        """Whether rows of equal time stand in another order from now on, which can be known."""
        old, new = self._changes.old, self._changes.new
        same = old.ordered and old.ordering == new.ordering
        return new.ordered and not same and not self._changes.order_is_lost

    def _needed(self, rows: pa.Table, codes: Array, newest: Array, from_end: Array) -> Array:
        """Which rows later windows may hold: of keys with these newest times, in which so many rows are later."""
        times = microseconds(rows, self._on)
        needed = np.zeros(len(rows), np.bool_)
        for spec in self._row_specs:
            needed |= from_end <= spec.whole if spec.numbered else times >= lowest_places(spec.extent, newest)[codes]
        return needed

    def _convert_large(
        self, key: LargeKey, k: int, newest: int, rebuilt: Mapping[str, Rebuilt], counts: StoredRowCounts
    ) -> int:
        """Convert a key with pages of its own; its new number, 0 where none of its rows is needed any more."""

        def pieces() -> Iterator[pa.Table]:
            count = key.count
            for at, table in self._pieces(key):
                codes = np.zeros(len(table), np.int64)
                rows, _ = self._wide(table, codes)
                counts.add(np.full(len(table), k), microseconds(rows, self._on))
                self._rebuild(rebuilt, rows, codes, 1, k)
                from_end = count - 1 - at - np.arange(len(table))
                needed = self._needed(rows, codes, np.array([newest]), from_end)
                if needed.any():
                    yield rows.filter(pa.array(needed)).select(self._new.parts[0].schema.names)

        converted = pieces()
        first = next(converted, None)
        if first is None:
            return 0
        number = self._new.directory.new_large()
        self._new.parts[0].large_key(number).rebuild(chain([first], converted))
        return number

    def _pieces(self, key: LargeKey) -> Iterator[tuple[int, pa.Table]]:
        """A large key's rows, many at once, those of one time together; and the position of each piece's first row."""
        gathered: list[pa.Table] = []
        begins = 0
        for at, chunk in key.chunks():
            begins = begins if gathered else at
            gathered.append(chunk)
            if len(gathered) >= _PIECE:
                table = pa.concat_tables(gathered).combine_chunks()
                stop = int(np.searchsorted(times := microseconds(table, self._on), times[-1]))
                if stop:
                    yield begins, table.slice(0, stop)
                    gathered, begins = [table.slice(stop)], begins + stop
        if gathered:
            yield begins, pa.concat_tables(gathered).combine_chunks()

    def _split(self, part: PartState, table: pa.Table, codes: Array, large: Array) -> tuple[pa.Table, Array, Array]:
        """What a part stores in shared pages, how much of it for each key, and the numbers of large keys."""
        count = len(large)
        ends = np.searchsorted(codes, np.arange(count + 1))
        each = np.arange(count)
        runs = Runs(codes, each, each, np.ones(count, np.bool_), ends[:-1])
        table, counts = part.split_large(table.combine_chunks(), (ends[:-1], ends[1:]), each, runs, large)
        return table, counts, large

    def _cells_of(self, spec: WindowSpec, keys: KeyTable, rebuilt: Mapping[str, Rebuilt]) -> tuple[pa.Table, Array]:
        """The cells of a new spec with a grain as a table, and the keys that they are of."""
        number = 1 + self._cell_specs.index(spec)
        part = self._new.parts[number]
        assert isinstance(part, CellState)
        change = self._changes.each[spec.members[0].name]
        if change.source is not Source.CELLS:
            from_rows = rebuilt[spec_name(spec)]
            assert isinstance(from_rows, RebuiltCells)
            return from_rows.table(part.tables)
        assert change.spec is not None
        old_spec = self._changes.old_specs[change.spec]
        old_number = 1 + [one for one in self._changes.old_specs if one.keeps is Keeps.CELLS].index(old_spec)
        old_part = self._old.parts[old_number]
        assert isinstance(old_part, CellState)
        tables = [keys.parts[old_number]]
        owners = [np.repeat(np.arange(len(keys)), keys.numbers(B.part_column(B.COUNT, old_number)))]
        large = keys.numbers(B.part_column(B.LARGE, old_number))
        for k in np.flatnonzero(large).tolist():
            for _, chunk in old_part.large_key(int(large[k])).chunks():
                tables.append(chunk)
                owners.append(np.full(len(chunk), k))
        table, of = pa.concat_tables(tables).combine_chunks(), np.concatenate(owners)
        if not len(table):
            return part.schema.empty_table(), of
        order = np.argsort(of, kind="stable")
        cells, of = old_part.tables.cells(table.take(pa.array(order))), of[order]
        names = [self._changes.each[member.name].old for member in spec.members]
        at = {member.name: i for i, member in enumerate(old_spec.members)}
        cells = Cells(cells.places, [cells.parts[at[name or ""]] for name in names])
        if spec.grain != old_spec.grain:
            cells, of = _coarser(cells, of, spec)
        return part.tables.table(cells), of

    def _states(self, keys: KeyTable, rebuilt: Mapping[str, Rebuilt]) -> list[bytes | None]:
        """The states of windows over everything so far, serialised for each key."""
        if not self._running:
            return [None] * len(keys)
        stored: list[bytes | None] = keys.table.column(B.STATES).to_pylist()
        sources = [[self._changes.each[member.name] for member in spec.members] for spec in self._running]
        went_on = [[change.old for change in changes] for changes in sources]
        if went_on == [[member.name for member in spec.members] for spec in self._old_running]:
            return stored  # nothing else has changed
        panes = [panes_from_bytes(self._old_running, data) for data in stored]
        places = {
            member.name: (i, j) for i, spec in enumerate(self._old_running) for j, member in enumerate(spec.members)
        }
        new_panes: list[list[RunningPane]] = [[] for _ in panes]
        for spec, changes in zip(self._running, sources, strict=True):
            if changes[0].source is not Source.STATES:
                from_rows = rebuilt[spec_name(spec)]
                assert isinstance(from_rows, RebuiltStates)
                for of_key, pane in zip(new_panes, from_rows.panes, strict=True):
                    of_key.append(pane)
                continue
            at = [places[change.old or ""] for change in changes]
            for of_key, old in zip(new_panes, panes, strict=True):
                pane = old[at[0][0]]
                of_key.append(RunningPane.of(spec, pane.count, [pane.states[j] for _, j in at] if pane.count else []))
        return [panes_to_bytes(of_key) for of_key in new_panes]

    def _rebuild(self, rebuilt: Mapping[str, Rebuilt], rows: pa.Table, codes: Array, keys: int, first: int = 0) -> None:
        """Let cells and states that come from rows take in those of so many keys, from a first one on."""
        if not len(rows):
            return
        batch = SortedRows(rows, self._changes.new, codes, None, keys)
        for each in rebuilt.values():
            if self._changes.each[each.spec.members[0].name].source is Source.ROWS:
                each.add(batch, first)


def _from_end(codes: Array, count: int) -> Array:
    """For each of the sorted rows of so many keys how many rows of its key come after it."""
    stops: Array = np.searchsorted(codes, np.arange(count), side="right")
    return stops[codes] - 1 - np.arange(len(codes))


def _coarser(cells: Cells, owners: Array, spec: WindowSpec) -> tuple[Cells, Array]:
    """Cells of a finer grain as those of a spec, and their keys."""
    numbers = cell_numbers(cells.places, spec.grain, spec.edge)
    begins = np.ones(len(cells), np.bool_)
    begins[1:] = (owners[1:] != owners[:-1]) | (numbers[1:] != numbers[:-1])
    firsts = np.append(np.flatnonzero(begins), len(cells))
    return Cells(cells.places[firsts[1:] - 1], [part.folded(firsts) for part in cells.parts]), owners[firsts[:-1]]
