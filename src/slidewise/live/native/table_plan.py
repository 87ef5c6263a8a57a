"""How Arrow tables of one schema are read into the arrays: made once for a schema, so that small batches pay for rows.

A plan serves plain tables: times and inputs of 64 bits without nulls, keys that are whole numbers or text, and answers
that are numbers. Whatever differs is read as tables of all kinds are, by `push_many`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.operator_types import answer_type
from slidewise.definition import check_names
from slidewise.kernels.keyed import rows as passes
from slidewise.live.event_times import NAIVE, NUMBER, ZONED
from slidewise.live.native.push_many import find_slots, find_whole_slots, member_answers, set_unit, take_in
from slidewise.live.types import Key

if TYPE_CHECKING:
    import pyarrow as pa

    from slidewise.live.native.push import NativeWindows
    from slidewise.live.native.store import InputColumn, MemberStore, SpecStore

_UNITS = {"s": 10**9, "ms": 10**6, "us": 1_000, "ns": 1}
_DTYPES: dict[str, np.dtype[Any]] = {"int64": np.dtype(np.int64), "double": np.dtype(np.float64)}
_MANY = 256  # rows from which on text is looked up once for each different one


class NotPlainTable(Exception):
    """A table that a plan does not read."""


class TablePlan:
    """How tables of one schema are read, and their answers typed."""

    def __init__(self, native: NativeWindows, schema: pa.Schema) -> None:
        live, store = native.live, native.store
        definition = live.definition
        names = schema.names
        check_names(definition, names, "table")
        stages = definition.stages
        if (
            len(set(names)) < len(names)
            or stages.arguments
            or stages.results
            or len(definition.by) > 1
            or any(r.condition for r in live.readers)
        ):
            raise NotPlainTable
        self.schema = schema
        self._key = names.index(definition.by[0]) if definition.by else None
        key_type = "" if self._key is None else str(schema.types[self._key])
        self._whole_keys, self._text_keys = key_type == "int64", key_type in ("string", "large_string")
        if definition.by and not (self._whole_keys or self._text_keys):
            raise NotPlainTable
        self._inputs: list[tuple[int, np.dtype[Any], InputColumn]] = []
        for column in store.inputs.values():
            at = names.index(column.name)
            dtype = _DTYPES.get(str(schema.types[at]))
            if dtype is None or dtype.name != column.dtype:
                raise NotPlainTable
            self._inputs.append((at, dtype, column))
        self._read_time_type(native, schema)
        self._answers: dict[str, tuple[SpecStore, MemberStore, pa.Field]] = {}
        for spec in store.specs:
            types = [schema.field(name).type for name in spec.spec.columns]
            for member in spec.members:
                kind = answer_type(member.member.operator, types)
                dtype = _DTYPES.get(str(kind))
                if dtype is None or dtype != (member.outputs[0] if member.outputs else spec.held).data.dtype:
                    raise NotPlainTable
                self._answers[member.member.name] = spec, member, _field(member.member.name, kind)

    def _read_time_type(self, native: NativeWindows, schema: pa.Schema) -> None:
        on = native.live.definition.on
        self.kind: str | None = None
        self._time: int | None = None
        if on is None:
            return
        self._time = schema.names.index(on)
        kind = schema.types[self._time]
        floats = native.store.kind == passes.FLOATS
        if str(kind).startswith("timestamp["):
            self.kind, self._unit = ZONED if kind.tz else NAIVE, _UNITS[kind.unit]
            self._time_type: np.dtype[Any] = np.dtype(np.int64)
        elif str(kind) == ("double" if floats else "int64"):
            self.kind, self._unit, self._time_type = NUMBER, 1, _DTYPES[str(kind)]
        else:
            raise NotPlainTable
        if floats != (self._time_type == np.float64):
            raise NotPlainTable

    def push(self, native: NativeWindows, table: pa.Table) -> Any:
        """Take in a table of this schema; NotPlainTable or Misfit, and nothing has changed, where this cannot."""
        live = native.live
        m = table.num_rows
        if self.kind != live.time_reader.kind or not m:
            raise NotPlainTable
        new = self.read(native, table)

        def answered(kept: Array | None) -> Any:
            rows = table if kept is None else table.take(kept)
            return self.with_answers(native, rows, [kept] * len(native.store.specs))

        result, late = take_in(native, m, new, self.kind, answered)
        live.events += m
        if late is not None:
            live.dropped += int(late.sum())
            live.aside.warn(live)
        return result

    def read(self, native: NativeWindows, table: pa.Table) -> list[Key]:
        """Copy a table's times and inputs into the store's fields, and find the slots of its keys; returns the keys
        that are new."""
        store, m = native.store, table.num_rows
        inputs = [(column, values_of(table, at, dtype)) for at, dtype, column in self._inputs]
        keys = None if self._key is None else plain_chunk(table, self._key)
        times = None if self._time is None else self._ticks(table)
        if m > store.row_room.size:
            store.set_rows(m)
        if times is not None:
            store.ticks.data[:m] = times.view(np.int64)
            set_unit(native, self._unit)
        for column, values in inputs:
            column.rows.data[:m] = values
        for counted in store.counted:
            counted.data[:m] = True
        return self._find_slots(native, keys, m)

    def check(self, table: pa.Table) -> None:
        """Refuse a table whose keys or inputs are not plain."""
        for at, _, _ in self._inputs:
            plain_chunk(table, at)
        if self._key is not None:
            plain_chunk(table, self._key)

    def times(self, table: pa.Table) -> Array:
        """The times of a table as numbers."""
        ticks = self._ticks(table)
        if self._unit == 1:
            return ticks
        farthest = np.iinfo(np.int64).max // self._unit
        if len(ticks) and not -farthest <= ticks.min() <= ticks.max() <= farthest:
            raise NotPlainTable
        return ticks * self._unit

    def _ticks(self, table: pa.Table) -> Array:
        assert self._time is not None
        times = values_of(table, self._time, self._time_type)
        if self._time_type == np.float64 and not np.isfinite(times).all():
            raise NotPlainTable
        return times

    def with_answers(self, native: NativeWindows, table: pa.Table, rows: list[Array | None]) -> pa.Table:
        """A table with answers behind its columns: for each spec those in these places, None for all as they are."""
        places = {id(spec): of_spec for spec, of_spec in zip(native.store.specs, rows, strict=True)}
        for name in native.live.definition.columns:
            spec, member, field = self._answers[name]
            array = _arrow(spec, member, field.type, table.num_rows, places[id(spec)])
            table = table.append_column(field, array)
        return table

    def _find_slots(self, native: NativeWindows, keys: Any, m: int) -> list[Key]:
        if keys is None:
            return find_slots(native, [()] * m, m)
        if self._whole_keys:
            return find_whole_slots(native, buffer_of(keys, np.dtype(np.int64)))
        if m < _MANY:
            return find_slots(native, keys.to_pylist(), m)
        encoded = keys.dictionary_encode()
        different = encoded.dictionary.to_pylist()
        new = find_slots(native, different, len(different))
        slots = native.store.slots_of_rows.data
        slots[:m] = slots[: len(different)][encoded.indices.to_numpy()]
        return new


def push_table(native: NativeWindows, table: pa.Table) -> Any:
    """Take in an Arrow table by the plan for its schema; NotPlainTable, and nothing has changed, where it has none."""
    return plan_of(native, table).push(native, table)


def plan_of(native: NativeWindows, table: pa.Table) -> TablePlan:
    """The plan for a table's schema; NotPlainTable where it has none."""
    plan = native.table_plan
    if plan is None or plan.schema != table.schema:
        if native.refused_schema is not None and native.refused_schema == table.schema:
            raise NotPlainTable
        try:
            native.table_plan = plan = TablePlan(native, table.schema)
        except NotPlainTable:
            native.refused_schema = table.schema
            raise
    known: TablePlan = plan
    return known


def _field(name: str, kind: pa.DataType) -> pa.Field:
    import pyarrow as pa

    return pa.field(name, kind)


def plain_chunk(table: pa.Table, at: int) -> Any:
    """A column as one array without nulls."""
    column = table.column(at)
    chunk = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if chunk.null_count:
        raise NotPlainTable
    return chunk


def values_of(table: pa.Table, at: int, dtype: np.dtype[Any]) -> Array:
    return buffer_of(plain_chunk(table, at), dtype)


def buffer_of(chunk: Any, dtype: np.dtype[Any]) -> Array:
    """The values of an Arrow array of 64-bit numbers."""
    return np.frombuffer(chunk.buffers()[1], dtype, len(chunk), 8 * chunk.offset)


def _arrow(spec: SpecStore, member: MemberStore, kind: pa.DataType, m: int, kept: Array | None) -> Any:
    """A member's answers as an Arrow array."""
    import pyarrow as pa

    answers = member_answers(spec, member, m, kept)
    values = answers.fields[0]
    if answers.valid is not None:
        return pa.array(values, kind, mask=~answers.valid)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])
