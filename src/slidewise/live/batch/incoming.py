"""A batch of events on its way into a live definition: its keys, times and columns, and the states of its keys."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import python_values
from slidewise.columns.series import Column, read
from slidewise.engine.column_checks import arrow_type, time_column
from slidewise.engine.computed.columns import argument_arrays, like_column, result_arrays, series_array
from slidewise.engine.joining import CannotJoinError
from slidewise.engine.sorting import as_arrow, key_codes
from slidewise.kernels.compiler.jit import cached_jit
from slidewise.kernels.order.grouping import Grouped
from slidewise.live.event_times import NAIVE, NUMBER, ZONED
from slidewise.live.keys import canonical
from slidewise.live.live import Live
from slidewise.live.types import Key

if TYPE_CHECKING:
    from slidewise.columns.frames import AnswerColumns, Frame


class ColumnFrame(Protocol):
    """The columns of a table by name, as `columns.frames.Frame` has them."""

    def __len__(self) -> int: ...

    def column(self, name: str) -> Any: ...


class KeyedRows:
    """Rows of a table with a number for each of their keys, from 0 on: `codes` has that of each row; and their times as
    numbers, None where they have none."""

    def __init__(self, live: Live, frame: ColumnFrame, on: str | None) -> None:
        self.live = live
        self.count = len(frame)
        self._frame = frame
        self._columns: dict[str, Column] = {}
        self.times, self.kind = self._read_times(on)
        codes, _ = key_codes([(name, self._series(name)) for name in live.definition.by])
        if codes is None:
            codes = np.zeros(self.count, np.int64)
        _, first, self.codes = np.unique(codes, return_index=True, return_inverse=True)
        self.keys = self._keys_at(first)

    def column(self, name: str) -> Column:
        """A column as arrays."""
        if name not in self._columns:
            self._columns[name] = read(self._series(name), repr(name))
        return self._columns[name]

    def _series(self, name: str) -> Any:
        """A column of the table, or a computed one; one of floats where the stream has had text has nulls for NaN."""
        if name in self.live.definition.stages.arguments:
            return self.computed[name]
        series = self._frame.column(name)
        if name not in self.live.kinds.others or not str(arrow_type(series)).startswith(("float", "double", "half")):
            return series
        import pyarrow.compute as pc

        values = as_arrow(series)
        return pc.if_else(pc.is_nan(values), None, values)

    def array(self, name: str) -> Any:
        """A column as an Arrow array."""
        return series_array(self._series(name), name)

    @cached_property
    def computed(self) -> dict[str, Any]:
        """The columns that expressions compute for aggregates, as Arrow arrays."""
        return argument_arrays(self.live.definition, self.array, self.count, self.label)

    def results(self, answers: AnswerColumns) -> AnswerColumns:
        """The definition's columns in their order, of the answers of all aggregates."""
        definition = self.live.definition
        arrays = {name: array for name, (_, array) in answers.items()}
        columns = result_arrays(definition, arrays, self.array, self.count, self.label)
        return {name: (like_column(definition, name), array) for name, array in columns.items()}

    def label(self, row: int) -> str:
        """The key and the time of a row, for errors."""
        definition = self.live.definition
        names = [name for name in (*definition.by, definition.on) if name is not None]
        return ", ".join(f"{name}={self.array(name)[row].as_py()}" for name in names) or f"row {row}"

    def _read_times(self, on: str | None) -> tuple[Any, str | None]:
        """Times as numbers, and their kind."""
        if on is None:
            return None, None
        column = self.time_column(on)
        if column.unit is None:
            kind, times = NUMBER, column.data
            if self.live.time_reader.fractions:
                times = times.astype(np.float64, copy=False)
        else:
            kind = ZONED if getattr(column.arrow, "tz", None) else NAIVE
            far = np.iinfo(np.int64).max // column.unit
            fits = not self.count or (column.data.min() >= -far and column.data.max() <= far)
            times = column.data * column.unit if fits else column.data.astype(object) * column.unit
        if self.count:
            shown = self.live.time_reader.shown(times[:1].tolist()[0], kind)
            self.live.time_reader.check(kind, shown, is_date=column.is_date)
        return times, kind

    def time_column(self, on: str) -> Column:
        """The time column, checked."""
        return time_column(on, self.column(on))

    def _keys_at(self, rows: Array) -> list[Key]:
        """The keys of some rows, in canonical form."""
        names = self.live.definition.by
        parts = [values_at(self._series(name), f"the key {name!r}", rows) for name in names]
        keys = [[canonical(value, name) for value in part] for name, part in zip(names, parts, strict=True)]
        if len(names) == 1:
            return keys[0]
        return [tuple(key) for key in zip(*keys, strict=True)] if names else [()] * len(rows)


class IncomingBatch(KeyedRows):
    """A batch's rows, and the states of their keys."""

    def __init__(self, live: Live, frame: Frame) -> None:
        self.frame = frame
        super().__init__(live, frame, live.definition.on)
        self.key_states: list[Any] = [live.key_states.get(key) or live.new_key_state() for key in self.keys]

    def own_states(self) -> None:
        """Have states of the keys that may be changed, where those that there are only serve to be read."""
        if type(self.live.key_states) is not dict:
            pairs = zip(self.keys, self.key_states, strict=True)
            self.key_states = [self.live.own(key) or state for key, state in pairs]

    def kind_of(self, name: str) -> Any:
        """A column's Arrow type."""
        if name in self.live.definition.stages.arguments:
            return self.computed[name].type
        return arrow_type(self.frame.column(name), self._columns.get(name))

    def newest(self) -> Array:
        """The newest time of each key before this batch; the least possible where there was none."""
        nows = [key_state.now for key_state in self.key_states]
        kind = self.times.dtype
        if kind.kind == "O" or (kind.kind == "i" and any(type(now) is float for now in nows)):
            raise CannotJoinError
        least: Any = np.iinfo(np.int64).min if kind == np.int64 else -np.inf
        try:
            return np.array([least if now is None else now for now in nows], kind)
        except OverflowError:
            raise CannotJoinError from None

    def newest_before(self, row: int) -> Any:
        """The newest time of a row's key before it, in the batch or earlier; None where there is none."""
        code = self.codes[row]
        times = self.times[:row][self.codes[:row] == code].tolist()
        now = self.key_states[code].now
        return max(times if now is None else [*times, now], default=None)

    def late(self) -> Array:
        """Which rows lie before an earlier one of their key."""
        late = np.zeros(self.count, np.bool_)
        if self.times is None:
            return late
        try:
            _mark_late(self.codes, self.times, self.newest(), late)
        except CannotJoinError:
            newest = [key_state.now for key_state in self.key_states]
            for i, (k, time) in enumerate(zip(self.codes.tolist(), self.times.tolist(), strict=True)):
                late[i] = newest[k] is not None and time < newest[k]
                newest[k] = newest[k] if late[i] else time
        return late

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dicts of what the definition reads."""
        names = list(self.live.definition.inputs)
        columns = [values_at(self.frame.column(name), repr(name)) for name in names]
        if not names:
            return [{}] * self.count
        rows: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        for name, array in self.computed.items() if self.live.definition.stages.arguments else ():
            for row, value in zip(rows, python_values(array, repr(name)), strict=True):
                row[name] = value
        return rows

    def adopt_time_kind(self) -> None:
        """Let the stream have the kind of time of the batch, which was taken in."""
        if self.count:
            self.live.time_reader.kind = self.kind
            self.live.time_reader.fractions |= self.times is not None and self.times.dtype == np.float64

    def numbers(self) -> Array:
        """Each row's number in its key, counting on from the rows before this batch."""
        base = np.array([key_state.count for key_state in self.key_states], np.int64)
        grouped = Grouped(self.codes, len(self.key_states))
        array: Array = base[self.codes] + grouped.places - grouped.offsets[self.codes]
        return array


@cached_jit
def _mark_late(codes: Array, times: Array, newest: Array, late: Array) -> None:
    """Mark the rows before an earlier one of their key in `late`; `newest` has each key's newest time."""
    for i in range(len(codes)):
        k = codes[i]
        if times[i] < newest[k]:
            late[i] = True
        else:
            newest[k] = times[i]


def values_at(series: Any, what: str, rows: Array | None = None) -> list[Any]:
    """The values of a series, or those in some rows, as Python's own; `what` names it in errors."""
    import pyarrow as pa

    try:
        array = as_arrow(series)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # objects of several kinds, in pandas
        chosen = series if rows is None else series.iloc[rows]
        values: list[Any] = chosen.astype(object).where(~chosen.isna(), None).tolist()
        return values
    return python_values(array if rows is None else array.take(pa.array(rows)), what)
