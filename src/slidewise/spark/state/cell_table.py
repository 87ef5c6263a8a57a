"""Cells of windows with a grain as Arrow tables: the newest time, how many rows, and each aggregate's partial.

A partial that is a few numbers has a column for each of them; any other is bytes, see `live.codec`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.operator_types import as_numbers, readied
from slidewise.definition import Definition
from slidewise.engine.batch import columns_of
from slidewise.engine.cells import Cells, fresh
from slidewise.engine.codec import Reader, Writer
from slidewise.engine.window_spec import Member, WindowSpec
from slidewise.errors import SnapshotError
from slidewise.kernels.bounds.grain import cells as cell_numbers
from slidewise.kernels.passes.partials import Partials
from slidewise.kernels.passes.spanning import Spanning
from slidewise.spark.sort.sorted_rows import SortedRows
from slidewise.spark.state.large_key import Windowed, windowed
from slidewise.spark.state.operator_states import get_state, put_state
from slidewise.spark.state.page_checks import reading

NEWEST, ROWS = "newest", "rows"


class CellTables:
    """How the cells of one spec lie in tables; `schema` is that of the rows that they come from."""

    def __init__(self, definition: Definition, spec: WindowSpec, schema: Any) -> None:
        import pyarrow as pa

        self.spec = spec
        none = SortedRows(schema.empty_table(), definition, np.zeros(0, np.int64))
        self.groups = windowed([spec], none, numbers=True)
        passes = {
            one.name: run
            for group in self.groups
            for one, run in zip(group.spec.members, group.passes, strict=True)
            if isinstance(run, Spanning)
        }
        self._dtypes = [self._inputs(one, none)[1] if one.name in passes else None for one in spec.members]
        self._fields = [
            passes[one.name].fields if one.name in passes else () if is_count(one) else ("binary",)
            for one in spec.members
        ]
        columns = [(f"{j} {c}", kind) for j, kinds in enumerate(self._fields) for c, kind in enumerate(kinds)]
        fields = [(name, pa.type_for_alias(kind)) for name, kind in columns]
        self.schema = pa.schema([(NEWEST, pa.int64()), (ROWS, pa.int64()), *fields])

    def _inputs(self, one: Member, rows: SortedRows) -> tuple[list[Array], tuple[str, ...]]:
        columns, _ = columns_of(rows, self.spec)
        data = [as_numbers(one.operator, column).data for column in readied(one.operator, columns)]
        return data, tuple(str(x.dtype) for x in data)

    def table(self, cells: Cells) -> Any:
        """Cells as a table."""
        import pyarrow as pa

        arrays = [pa.array(cells.places), pa.array(cells.parts[0].counts)]
        for one, part, kinds in zip(self.spec.members, cells.parts, self._fields, strict=True):
            if kinds == ("binary",):
                counts = part.counts.tolist()
                states = zip(part.fields[0].tolist(), counts, strict=True)
                arrays.append(pa.array([_bytes(one, state) if count else b"" for state, count in states], pa.binary()))
            else:
                arrays += [pa.array(field) for field in part.fields[: len(kinds)]]
        return pa.table(arrays, schema=self.schema)

    def cells(self, table: Any, members: list[Member] | None = None) -> Cells:
        """Cells from a table; with the partials of these members only, where they are given."""
        counts = table.column(ROWS).to_numpy()
        if (counts < 0).any():
            name = self.spec.members[0].name
            raise SnapshotError(f"the cells of {name!r} make no sense: one has {counts.min()} rows")
        parts = []
        for j, (one, kinds, dtypes) in enumerate(zip(self.spec.members, self._fields, self._dtypes, strict=True)):
            if members is not None and one not in members:
                continue
            columns = [table.column(f"{j} {c}") for c in range(len(kinds))]
            if kinds == ("binary",):
                fields = [_objects([_state(one, data) if data else None for data in columns[0].to_pylist()])]
            else:
                fields = [column.to_numpy() for column in columns] or [counts]
            parts.append(Partials(one.operator, fields, counts, dtypes))
        return Cells(table.column(NEWEST).to_numpy(), parts)

    def lifted(self, rows: SortedRows) -> Cells:
        """Each row as a cell of its own."""
        assert rows.times is not None
        _, valid = columns_of(rows, self.spec)
        parts = [fresh(one.operator, self._inputs(one, rows)[0], valid) for one in self.spec.members]
        return Cells(rows.times.data, parts)

    def folded(self, cells: Cells) -> Cells:
        """One cell for each of those that leave together; those of no rows are left out."""
        numbers = cell_numbers(cells.places, self.spec.grain, self.spec.edge)
        firsts = np.append(np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]), len(numbers))
        parts = [part.folded(firsts) for part in cells.parts]
        return Cells(cells.places[firsts[1:] - 1], parts).taken(parts[0].counts > 0)


def is_count(one: Member) -> bool:
    """Whether a cell's number of rows is all that a member needs."""
    return one.operator.traits.counts_rows


def state_of(group: Windowed, cells: Cells) -> Any:
    """The state of all these cells together, as `Windowed` has it: None where they hold no rows."""
    count = int(cells.parts[0].counts.sum())
    if not count:
        return None
    parts = [part.folded(np.array([0, len(cells)])) for part in cells.parts]
    flat = [
        None if run is None else tuple(field[0].item() for field in part.fields)
        for run, part in zip(group.passes, parts, strict=True)
    ]
    return count, tuple(flat)


def _bytes(one: Member, state: Any) -> bytes:
    out = Writer()
    put_state(out, one, state)
    return bytes(out.data)


def _state(one: Member, data: bytes) -> Any:
    source = Reader(data)
    with reading(f"a partial of {one.name!r}"):
        state = get_state(source, one)
        source.end()
    return state


def _objects(values: list[Any]) -> Array:
    return np.array([*values, None], object)[:-1]
