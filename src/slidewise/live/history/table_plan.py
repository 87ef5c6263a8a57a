"""How Arrow tables of one schema are read into the arrays of rows that may be revised, see `live.native.table_plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.keyed import history_layout as layout
from slidewise.live.history.push_many import Given, fits_times, is_plain, joined, member_answers, take_in
from slidewise.live.native.plan import Misfit
from slidewise.live.native.table_plan import NotPlainTable, TablePlan, buffer_of, plain_chunk, values_of
from slidewise.live.types import Key

if TYPE_CHECKING:
    import pyarrow as pa

    from slidewise.live.history.push import HistoryWindows

_MANY = 256  # rows from which on text is looked up once for each different one


class RevisingTablePlan(TablePlan):
    """How tables of one schema are read, and their answers typed."""

    def __init__(self, native: HistoryWindows, schema: pa.Schema) -> None:
        others = len(native.history.columns) - len(native.history.inputs)
        if others or not is_plain(schema) or len({*schema.names}) < len(schema.names):
            raise NotPlainTable
        super().__init__(native, schema)  # type: ignore[arg-type]
        numbers = {member: at for at, (_, member) in enumerate(native.history.members)}
        self._members = [
            (numbers[self._answers[name][1]], self._answers[name][2]) for name in native.live.definition.columns
        ]

    def push(self, native: Any, table: pa.Table) -> Any:
        """Take in a table of this schema; NotPlainTable or Misfit, and nothing has changed, where this cannot."""
        live, history = native.live, native.history
        m = table.num_rows
        if self.kind != live.time_reader.kind or not m:
            raise NotPlainTable
        inputs = [values_of(table, at, dtype) for at, dtype, _ in self._inputs]
        keys = None if self._key is None else plain_chunk(table, self._key)
        assert self._time is not None
        times = values_of(table, self._time, self._time_type)
        if not (np.isfinite(times).all() if history.floats else self._unit == 1 or fits_times(times, self._unit)):
            raise NotPlainTable
        history.make_room(m)
        rows = history.rows(m)
        rows[:, layout.TIME] = times.view(np.int64) if self._unit == 1 else times * self._unit
        rows[:, layout.COUNTED] = (1 << len(live.readers)) - 1
        for c, values in enumerate(inputs):
            rows[:, layout.INPUTS + c] = values.view(np.int64)
        if history.ordering:
            rows[:, layout.KINDS] = 0
        for at, name in enumerate(history.ordering):
            values = inputs[history.inputs.index(name)]
            is_nan = values != values
            rows[:, layout.KINDS] |= np.where(is_nan, layout.NAN, layout.VALUE) << 2 * at
        new = self._find_homes(native, keys, m)

        def answered(given: Given) -> Any:
            result = joined(native, table, given)
            if result is None:
                raise NotPlainTable
            for number, field in self._members:
                result = result.append_column(field, _arrow(native, number, field.type, given.entries))
            return result

        series = [] if self._key is None else [(table.column_names[self._key], table.column(self._key))]
        result, late = take_in(native, table, new, self.kind, series, answered)
        if late is not None:
            live.dropped += int(late.sum())
            live.aside.warn(live)
        return result

    def _find_homes(self, native: HistoryWindows, keys: Any, m: int) -> list[Key]:
        """Write each row's home; returns the keys that are new."""
        if keys is None:
            return native.homes_of([()] * m)
        history = native.history
        if self._whole_keys:
            whole = buffer_of(keys, np.dtype(np.int64))
            missing = history.whole_keys.find(history.homes, whole, history.homes_of_rows)
            return native.homes_of(whole.tolist()) if missing else []
        if m < _MANY:
            return native.homes_of(keys.to_pylist())
        encoded = keys.dictionary_encode()
        new = native.homes_of(encoded.dictionary.to_pylist())
        homes = history.homes_of_rows.data
        homes[:m] = homes[: len(encoded.dictionary)][encoded.indices.to_numpy()]
        return new


def push_table(native: HistoryWindows, table: pa.Table) -> Any:
    """Take in an Arrow table by the plan for its schema; None, and nothing has changed, where it has none."""
    plan = native.table_plan
    try:
        if plan is None or plan.schema != table.schema:
            if native.refused_schema is not None and native.refused_schema == table.schema:
                return None
            try:
                native.table_plan = plan = RevisingTablePlan(native, table.schema)
            except NotPlainTable:
                native.refused_schema = table.schema
                return None
        return plan.push(native, table)
    except (NotPlainTable, Misfit):
        return None


def _arrow(native: HistoryWindows, number: int, kind: pa.DataType, entries: Array) -> Any:
    """A member's answers as an Arrow array."""
    import pyarrow as pa

    answers = member_answers(native, number, entries)
    values = answers.fields[0]
    if answers.valid is not None:
        return pa.array(values, kind, mask=~answers.valid)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])
