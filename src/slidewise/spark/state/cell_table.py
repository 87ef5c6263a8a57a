"""Cells of windows with a grain as Arrow tables: the newest time, the number of rows, and each aggregate's partial.

A partial that is a few numbers has a column for each of them; any other is bytes, see `operator_states`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.definition import Definition
from slidewise.engine.batch import columns_of
from slidewise.engine.cells import Cells, fresh
from slidewise.engine.window_spec import Member, WindowSpec
from slidewise.errors import SnapshotError
from slidewise.kernels.bounds.grain import cells as cell_numbers
from slidewise.kernels.passes.partials import Partials
from slidewise.kernels.passes.spanning import Spanning
from slidewise.spark.sort.sorted_rows import SortedRows
from slidewise.spark.state.chunk_window import ChunkAggregates, State, chunk_aggregates, numeric_inputs
from slidewise.spark.state.operator_states import object_array, state_from_bytes, state_to_bytes

NEWEST, ROWS = "newest", "rows"


class CellTables:
    """How the cells of one spec lie in tables; `schema` is that of the rows that they come from."""

    def __init__(self, definition: Definition, spec: WindowSpec, schema: pa.Schema) -> None:
        self.spec = spec
        no_rows = SortedRows(schema.empty_table(), definition, np.zeros(0, np.int64))
        self.groups = chunk_aggregates([spec], no_rows, numbers=True)
        passes = {
            member.name: run
            for group in self.groups
            for member, run in zip(group.spec.members, group.passes, strict=True)
            if isinstance(run, Spanning)
        }
        self._dtypes = [self._inputs(member, no_rows)[1] if member.name in passes else None for member in spec.members]
        self._fields = [
            passes[member.name].fields if member.name in passes else _plain_fields(member) for member in spec.members
        ]
        columns = [(f"{j} {c}", kind) for j, kinds in enumerate(self._fields) for c, kind in enumerate(kinds)]
        fields = [(name, pa.type_for_alias(kind)) for name, kind in columns]
        self.schema = pa.schema([(NEWEST, pa.int64()), (ROWS, pa.int64()), *fields])

    def _inputs(self, member: Member, rows: SortedRows) -> tuple[list[Array], tuple[str, ...]]:
        columns, _ = columns_of(rows, self.spec)
        data = numeric_inputs(member, columns)
        return data, tuple(str(x.dtype) for x in data)

    def table(self, cells: Cells) -> pa.Table:
        """Cells as a table."""
        arrays = [pa.array(cells.places), pa.array(cells.parts[0].counts)]
        for member, part, kinds in zip(self.spec.members, cells.parts, self._fields, strict=True):
            if kinds == ("binary",):
                counts = part.counts.tolist()
                states = zip(part.fields[0].tolist(), counts, strict=True)
                data = [state_to_bytes(member, state) if count else b"" for state, count in states]
                arrays.append(pa.array(data, pa.binary()))
            else:
                arrays += [pa.array(field) for field in part.fields[: len(kinds)]]
        return pa.table(arrays, schema=self.schema)

    def cells(self, table: pa.Table, members: list[Member] | None = None) -> Cells:
        """Cells from a table; with the partials of these members only, where they are given."""
        counts = table.column(ROWS).to_numpy()
        if (counts < 0).any():
            name = self.spec.members[0].name
            raise SnapshotError(f"the cells of {name!r} make no sense: one has {counts.min()} rows")
        parts = []
        for j, (member, kinds, dtypes) in enumerate(zip(self.spec.members, self._fields, self._dtypes, strict=True)):
            if members is not None and member not in members:
                continue
            columns = [table.column(f"{j} {c}") for c in range(len(kinds))]
            if kinds == ("binary",):
                name = f"a partial of {member.name!r}"
                states = [state_from_bytes(member, data, name) if data else None for data in columns[0].to_pylist()]
                fields = [object_array(states)]
            else:
                fields = [column.to_numpy() for column in columns] or [counts]
            parts.append(Partials(member.operator, fields, counts, dtypes))
        return Cells(table.column(NEWEST).to_numpy(), parts)

    def lifted(self, rows: SortedRows) -> Cells:
        """Each row as a cell of its own."""
        assert rows.times is not None
        _, valid = columns_of(rows, self.spec)
        parts = [fresh(member.operator, self._inputs(member, rows)[0], valid) for member in self.spec.members]
        return Cells(rows.times.data, parts)

    def folded(self, cells: Cells) -> Cells:
        """One cell for each of those that leave together; those of no rows are left out."""
        numbers = cell_numbers(cells.places, self.spec.grain, self.spec.edge)
        firsts = np.append(np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]), len(numbers))
        parts = [part.folded(firsts) for part in cells.parts]
        return Cells(cells.places[firsts[1:] - 1], parts).taken(parts[0].counts > 0)


def _plain_fields(member: Member) -> tuple[str, ...]:
    """The column of a partial that is not a few numbers; none for a count, whose number of rows is all of it."""
    return () if member.operator.traits.counts_rows else ("binary",)


def state_of(group: ChunkAggregates, cells: Cells) -> State:
    """The state of all these cells together, as `ChunkAggregates.fold` makes it of rows."""
    count = int(cells.parts[0].counts.sum())
    if not count:
        return None
    parts = [part.folded(np.array([0, len(cells)])) for part in cells.parts]
    flat = [
        None if run is None else tuple(field[0].item() for field in part.fields)
        for run, part in zip(group.passes, parts, strict=True)
    ]
    return count, tuple(flat)
