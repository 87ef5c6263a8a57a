"""Slices as the rows of an Arrow table, and back: a column for each number of a state.

Columns: the slice's number; for each part how many rows it holds, and then the fields of its state. States that are not
a few numbers are plain values, see `live.codec`. Where a part keeps rows, each slice has a list of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.engine.beats.parts import Arguments, Part, SlicePlan, Stored, Values
from slidewise.engine.beats.slices import BeatSlices
from slidewise.engine.codec import Reader, Writer
from slidewise.engine.window_spec import Member
from slidewise.kernels.passes.partials import Partials
from slidewise.spark.state.operator_states import get_state, put_state
from slidewise.spark.state.page_checks import check_order, reading, require

NUMBER = "number"
_FARTHEST = 2**60  # of the numbers of slices


class SliceRows:
    """How the slices of a definition lie in a table; `empty` are slices of no rows, and `given` their arguments."""

    def __init__(self, kept: SlicePlan, empty: BeatSlices, given: list[Arguments]) -> None:
        import pyarrow as pa

        self._kept = kept
        self._empty = empty
        self._members = [Member(_users(kept, i), part.operator, None, 1) for i, part in enumerate(kept.parts)]
        fields = [pa.field(NUMBER, pa.int64())]
        for i, (part, one, arguments) in enumerate(zip(kept.parts, empty.parts, given, strict=True)):
            fields.append(pa.field(f"{i} rows", pa.int64()))
            kinds = [_kind(part, one, j, arguments) for j in range(_width(part, one))]
            fields += [pa.field(f"{i} {j}", kind) for j, kind in enumerate(kinds)]
        self.schema = pa.schema(fields)

    def table(self, slices: BeatSlices) -> Any:
        """Slices as a table; their keys are not in it."""
        import pyarrow as pa

        columns = [pa.array(slices.numbers)]
        for i, (part, one) in enumerate(zip(self._kept.parts, slices.parts, strict=True)):
            columns.append(pa.array(one.counts))
            for j in range(_width(part, one)):
                kind = self.schema.field(f"{i} {j}").type
                if isinstance(one, Values):
                    offsets = pa.array(one.offsets.astype(np.int32))
                    columns.append(pa.ListArray.from_arrays(offsets, pa.array(one.inputs[j], kind.value_type)))
                elif one.dtypes is None:
                    states = zip(one.fields[0].tolist(), one.counts.tolist(), strict=True)
                    columns.append(pa.array([self._bytes(i, state) if n else None for state, n in states], kind))
                else:
                    columns.append(pa.array(one.fields[j], kind))
        return pa.table(columns, schema=self.schema)

    def slices(self, table: Any, codes: Array) -> BeatSlices:
        """The slices in a table, of keys with these codes."""
        with reading("a page's slices"):
            return self._slices(table, codes)

    def _slices(self, table: Any, codes: Array) -> BeatSlices:
        require(len(codes) == len(table), "keys have other numbers of slices")
        numbers = _array(table.column(NUMBER), np.dtype(np.int64))
        require(((numbers > -_FARTHEST) & (numbers < _FARTHEST)).all(), "a slice has a number that none can have")
        check_order(numbers, np.searchsorted(codes, np.arange(codes[-1] + 2 if len(codes) else 1)), once=True)
        parts: list[Stored] = []
        for i, (part, like) in enumerate(zip(self._kept.parts, self._empty.parts, strict=True)):
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
                states = np.empty(len(counts), object)
                states[:] = [None if data is None else self._state(i, data) for data in columns[0].to_pylist()]
                require(not ((counts > 0) & ~np.array(columns[0].is_valid())).any(), "rows of a slice have no state")
                parts.append(Partials(like.op, [states], counts, None))
            else:
                fields = [_array(column, x.dtype) for column, x in zip(columns, like.fields, strict=True)]
                parts.append(Partials(like.op, fields, counts, like.dtypes))
        return BeatSlices(codes, numbers, parts)

    def _bytes(self, part: int, state: Any) -> bytes:
        out = Writer()
        put_state(out, self._members[part], state)
        return bytes(out.data)

    def _state(self, part: int, data: bytes) -> Any:
        source = Reader(data)
        with reading(f"a state of {self._members[part].name}"):
            state = get_state(source, self._members[part])
            source.end()
        return state


def _width(part: Part, one: Stored) -> int:
    """How many columns a part has besides its count."""
    if isinstance(one, Values):
        return len(one.inputs)
    return 0 if part.operator.traits.counts_rows else len(one.fields)


def _kind(part: Part, one: Stored, j: int, given: Arguments) -> Any:
    import pyarrow as pa

    if isinstance(one, Values):
        x = one.inputs[j]
        return pa.list_(given.types[j] if x.dtype == object else pa.from_numpy_dtype(x.dtype))
    return pa.binary() if one.dtypes is None else pa.from_numpy_dtype(one.fields[j].dtype)


def _array(column: Any, dtype: Any) -> Array:
    if dtype.kind == "O":
        return np.array([*column.to_pylist(), None], object)[:-1]
    # Arrow's memory is read-only, for which kernels would be compiled apart.
    return np.array(column, dtype)


def _users(kept: SlicePlan, part: int) -> str:
    return ", ".join(one.name for one in kept.asked if one.part == part)
