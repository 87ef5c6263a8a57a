"""Slices as the rows of an Arrow table, and back: a column for each number of a state.

Columns: the slice's number; for each part how many rows it holds, and then the fields of its state. States that are not
a few numbers are bytes, see `operator_states`. Where a part keeps rows, each slice has a list of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.engine.beats.parts import Arguments, Part, SlicePlan, Stored, Values
from slidewise.engine.beats.slices import BeatSlices
from slidewise.engine.window_spec import Member
from slidewise.kernels.passes.partials import Partials
from slidewise.spark.state.operator_states import object_array, state_from_bytes, state_to_bytes
from slidewise.spark.state.page_checks import check_row_order, reading, require

NUMBER = "number"
_FARTHEST = 2**60  # of the numbers of slices


class SliceTables:
    """The layout of a definition's slices in tables; `empty` are slices of no rows, and `arguments` theirs."""

    def __init__(self, plan: SlicePlan, empty: BeatSlices, arguments: list[Arguments]) -> None:
        self._plan = plan
        self.empty = empty
        self._members = [Member(_users(plan, i), part.operator, None, 1) for i, part in enumerate(plan.parts)]
        fields = [pa.field(NUMBER, pa.int64())]
        for i, (part, stored, inputs) in enumerate(zip(plan.parts, empty.parts, arguments, strict=True)):
            fields.append(pa.field(f"{i} rows", pa.int64()))
            kinds = [_column_type(stored, j, inputs) for j in range(_width(part, stored))]
            fields += [pa.field(f"{i} {j}", kind) for j, kind in enumerate(kinds)]
        self.schema = pa.schema(fields)

    def table(self, slices: BeatSlices) -> pa.Table:
        """Slices as a table; their keys are not in it."""
        columns = [pa.array(slices.numbers)]
        for i, (part, stored) in enumerate(zip(self._plan.parts, slices.parts, strict=True)):
            columns.append(pa.array(stored.counts))
            for j in range(_width(part, stored)):
                kind = self.schema.field(f"{i} {j}").type
                if isinstance(stored, Values):
                    offsets = pa.array(stored.offsets.astype(np.int32))
                    columns.append(pa.ListArray.from_arrays(offsets, pa.array(stored.inputs[j], kind.value_type)))
                elif stored.dtypes is None:
                    states = zip(stored.fields[0].tolist(), stored.counts.tolist(), strict=True)
                    columns.append(
                        pa.array([state_to_bytes(self._members[i], state) if n else None for state, n in states], kind)
                    )
                else:
                    columns.append(pa.array(stored.fields[j], kind))
        return pa.table(columns, schema=self.schema)

    def slices(self, table: pa.Table, codes: Array) -> BeatSlices:
        """The slices in a table, of keys with these codes."""
        with reading("a page's slices"):
            return self._slices(table, codes)

    def _slices(self, table: pa.Table, codes: Array) -> BeatSlices:
        require(len(codes) == len(table), "keys have other numbers of slices")
        numbers = _array(table.column(NUMBER), np.dtype(np.int64))
        require(((numbers > -_FARTHEST) & (numbers < _FARTHEST)).all(), "a slice has a number that none can have")
        check_row_order(numbers, np.searchsorted(codes, np.arange(codes[-1] + 2 if len(codes) else 1)), once=True)
        parts: list[Stored] = []
        for i, (part, like) in enumerate(zip(self._plan.parts, self.empty.parts, strict=True)):
            counts = _array(table.column(f"{i} rows"), np.dtype(np.int64))
            require((counts >= 0).all() and counts.sum() < 2**62, "a slice has a number of rows that none can have")
            columns = [table.column(f"{i} {j}").combine_chunks() for j in range(_width(part, like))]
            if isinstance(like, Values):
                for column in columns:
                    sizes = np.array(column.value_lengths().fill_null(0), np.int64)
                    sound = (sizes == counts).all() and not column.flatten().null_count
                    require(sound, "a slice has not as many values as rows")
                values = [_array(column.flatten(), x.dtype) for column, x in zip(columns, like.inputs, strict=True)]
                parts.append(Values(values, counts))
            elif not columns:
                parts.append(Partials(like.op, [counts], counts, None))
            elif like.dtypes is None:
                states = object_array([self._state(i, data) for data in columns[0].to_pylist()])
                require(not ((counts > 0) & ~np.array(columns[0].is_valid())).any(), "rows of a slice have no state")
                parts.append(Partials(like.op, [states], counts, None))
            else:
                fields = [_array(column, x.dtype) for column, x in zip(columns, like.fields, strict=True)]
                parts.append(Partials(like.op, fields, counts, like.dtypes))
        return BeatSlices(codes, numbers, parts)

    def _state(self, part: int, data: bytes | None) -> Any:
        member = self._members[part]
        return None if data is None else state_from_bytes(member, data, f"a state of {member.name}")


def _width(part: Part, stored: Stored) -> int:
    """How many columns a part has besides its count."""
    if isinstance(stored, Values):
        return len(stored.inputs)
    return 0 if part.operator.traits.counts_rows else len(stored.fields)


def _column_type(stored: Stored, j: int, arguments: Arguments) -> pa.DataType:
    """The type of a part's column j."""
    if isinstance(stored, Values):
        x = stored.inputs[j]
        return pa.list_(arguments.types[j] if x.dtype == object else pa.from_numpy_dtype(x.dtype))
    return pa.binary() if stored.dtypes is None else pa.from_numpy_dtype(stored.fields[j].dtype)


def _array(column: pa.Array | pa.ChunkedArray, dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "O":
        return object_array(column.to_pylist())
    # Arrow's memory is read-only, for which kernels would be compiled apart.
    return np.array(column, dtype)


def _users(plan: SlicePlan, part: int) -> str:
    """The names of the aggregates that a part is stored for."""
    return ", ".join(asked.name for asked in plan.asked if asked.part == part)
