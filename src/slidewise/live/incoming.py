"""A batch of events on its way into a live definition: its keys, times and columns, and the rows already there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.errors import InputError
from slidewise.kernels.arrow_values import arrow_array, python_values
from slidewise.kernels.bounds import Grouped
from slidewise.kernels.jit import cached_jit
from slidewise.kernels.series import Column, read
from slidewise.live.clock import NAIVE, NUMBER, ZONED
from slidewise.live.keys import canonical
from slidewise.live.live import Live
from slidewise.tables.arrange import as_arrow, key_codes
from slidewise.tables.evaluate import arrow_type, time_column

if TYPE_CHECKING:
    from slidewise.tables.frames import Frame

Array = Any


class CannotJoinError(Exception):
    """The batch and the rows already there have no array in common; events go in one by one then."""


class Incoming:
    """A batch's rows, with a small number for each key of the batch."""

    def __init__(self, live: Live, frame: Frame) -> None:
        self.live = live
        self.frame = frame
        self.count = len(frame)
        self._columns: dict[str, Column] = {}
        self.times, self.kind = self._read_times()
        codes, _ = key_codes([(name, self._series(name)) for name in live.definition.by])
        if codes is None:
            codes = np.zeros(self.count, np.int64)
        _, first, self.codes = np.unique(codes, return_index=True, return_inverse=True)
        self.keys = self._keys_at(first)
        self.tracks: list[Any] = [live.tracks.get(key) or live.new_track() for key in self.keys]

    def column(self, name: str) -> Column:
        if name not in self._columns:
            self._columns[name] = read(self._series(name), repr(name))
        return self._columns[name]

    def _series(self, name: str) -> Any:
        """A column of the table; floats that come where text was have nulls for NaN."""
        series = self.frame.column(name)
        if name not in self.live.kinds.others or not str(arrow_type(series)).startswith(("float", "double", "half")):
            return series
        import pyarrow.compute as pc

        values = as_arrow(series)
        return pc.if_else(pc.is_nan(values), None, values)

    def kind_of(self, name: str) -> Any:
        """A column's Arrow type."""
        return arrow_type(self.frame.column(name), self._columns.get(name))

    def _read_times(self) -> tuple[Array, str | None]:
        """Times as the clock counts them, and their kind."""
        on = self.live.definition.on
        if on is None:
            return None, None
        column = time_column(on, self.column(on))
        if column.unit is None:
            kind, times = NUMBER, column.data
            if self.live.clock.fractions:
                times = times.astype(np.float64, copy=False)
        else:
            kind = ZONED if getattr(column.arrow, "tz", None) else NAIVE
            far = np.iinfo(np.int64).max // column.unit
            fits = not self.count or (column.data.min() >= -far and column.data.max() <= far)
            times = column.data * column.unit if fits else column.data.astype(object) * column.unit
        if self.count:
            self.live.clock.check(kind, self.live.clock.shown(times[:1].tolist()[0], kind))
        return times, kind

    def _keys_at(self, rows: Array) -> list[Any]:
        names = self.live.definition.by
        parts = [_values_at(self._series(name), f"the key {name!r}", rows) for name in names]
        keys = [[canonical(value, name) for value in part] for name, part in zip(names, parts, strict=True)]
        if len(names) == 1:
            return keys[0]
        return [tuple(key) for key in zip(*keys, strict=True)] if names else [()] * len(rows)

    def newest(self) -> Array:
        """The newest time of each key before this batch; the least possible where there was none."""
        nows = [track.now for track in self.tracks]
        kind = self.times.dtype
        if kind.kind == "O" or (kind.kind == "i" and any(type(now) is float for now in nows)):
            raise CannotJoinError
        least: Any = np.iinfo(np.int64).min if kind == np.int64 else -np.inf
        try:
            return np.array([least if now is None else now for now in nows], kind)
        except OverflowError:
            raise CannotJoinError from None

    def late(self) -> Array:
        """Which rows lie before an earlier one of their key."""
        found = np.zeros(self.count, np.bool_)
        if self.times is None:
            return found
        try:
            _mark_late(self.codes, self.times, self.newest(), found)
        except CannotJoinError:
            newest = [track.now for track in self.tracks]
            for i, (k, time) in enumerate(zip(self.codes.tolist(), self.times.tolist(), strict=True)):
                found[i] = newest[k] is not None and time < newest[k]
                newest[k] = newest[k] if found[i] else time
        return found

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dicts of what the definition reads."""
        names = list(self.live.definition.inputs)
        columns = [_values_at(self.frame.column(name), repr(name)) for name in names]
        return (
            [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] if names else [{}] * self.count
        )

    def settle(self) -> None:
        """Let the clock know what kind of time these were."""
        if self.count:
            self.live.clock.kind = self.kind
            self.live.clock.fractions |= self.times is not None and self.times.dtype == np.float64

    def numbers(self) -> Array:
        """Each row's number in its key, counting on from the rows before this batch."""
        base = np.array([track.count for track in self.tracks], np.int64)
        grouped = Grouped(self.codes, len(self.tracks))
        return base[self.codes] + grouped.places - grouped.offsets[self.codes]


@cached_jit
def _mark_late(codes: Any, times: Any, newest: Any, late: Any) -> None:
    for i in range(len(codes)):
        k = codes[i]
        if times[i] < newest[k]:
            late[i] = True
        else:
            newest[k] = times[i]


def _values_at(series: Any, what: str, rows: Array | None = None) -> list[Any]:
    """The values of a series, or those in some rows, as Python has them; `what` names it in errors."""
    import pyarrow as pa

    try:
        array = as_arrow(series)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # objects of several kinds, in pandas
        chosen = series if rows is None else series.iloc[rows]
        found: list[Any] = chosen.astype(object).where(~chosen.isna(), None).tolist()
        return found
    return python_values(array if rows is None else array.take(pa.array(rows)), what)


def there(panes: list[Any]) -> tuple[list[int], list[Array]]:
    """How many rows each pane holds, and all of them as arrays: places, and one for each argument."""
    parts = [pane.frozen if pane.frozen is not None else arrays_of(pane.all_rows()) for pane in panes if pane.held()]
    return [pane.held() for pane in panes], [_concatenated(list(part)) for part in zip(*parts, strict=True)]


def _concatenated(parts: list[Array]) -> Array:
    """One array of all; numbers of two kinds are floats where nothing is lost by that, and other kinds are objects."""
    kinds = {part.dtype.kind for part in parts}
    if kinds == {"i", "f"}:
        parts = [as_floats(part) for part in parts]
    elif len(kinds) > 1:
        parts = [objects(part.tolist()) for part in parts]
    return np.concatenate(parts)


def as_floats(numbers: Array) -> Array:
    """Integers as floats of the same value; those that no float holds cannot be joined with floats."""
    if numbers.dtype.kind == "i" and len(numbers) and (numbers.max() > 2**53 or numbers.min() < -(2**53)):
        raise CannotJoinError
    return numbers.astype(np.float64, copy=False)


def arrays_of(rows: list[Any], width: int = 0) -> list[Array]:
    """Rows as arrays, one for each of their items; `width` is how many, where there may be no rows."""
    columns: Any = zip(*rows, strict=True) if rows else [()] * width
    return [_array(column) for column in columns]


def _array(values: Any) -> Array:
    kinds = {*map(type, values)}
    if kinds == {float} or kinds == {bool}:
        return np.array(values)
    if kinds == {int} and min(values) >= -(2**63) and max(values) < 2**63:
        return np.array(values, np.int64)
    return objects(values)


def objects(values: Any) -> Array:
    """An array of these very objects."""
    return np.array([*values, None], object)[:-1]


def alike(old: Array | None, column: Column) -> tuple[Array | None, Column]:
    """Arguments of rows already there and a column of the batch, brought to one kind: integers that meet floats become
    floats, where nothing is lost by that."""
    if old is None or column.unit is not None or {old.dtype.kind, column.data.dtype.kind} != {"i", "f"}:
        return old, column
    import pyarrow as pa

    floats = replace(column, data=as_floats(column.data), restore=lambda answers: answers, arrow=pa.float64())
    return as_floats(old), floats


def joined(old: Array | None, column: Column) -> Array:
    """Arguments of rows already there, and then a column of the batch, as one array."""
    new = column.data
    if old is None:
        return new
    if str(column.arrow) == "null":  # nothing but nulls in this batch: its answers have the type of earlier ones
        raise CannotJoinError
    if column.unit is not None and new.dtype != object:
        return np.concatenate([_ticks(old.tolist(), column), new])
    if new.dtype == object:
        if old.dtype != object:
            raise CannotJoinError
        return np.concatenate([old, new])
    if old.dtype.kind not in "ifb" or (old.dtype.kind == "b") != (new.dtype.kind == "b"):
        raise CannotJoinError
    return np.concatenate([old, new])


def _ticks(old: list[Any], column: Column) -> Array:
    import pyarrow as pa

    try:
        found = arrow_array(old, column.time_type)
        if found.to_pylist() != old:
            raise CannotJoinError
        return read(found, "the rows before").data
    except (pa.ArrowInvalid, pa.ArrowTypeError, InputError, OverflowError, UnicodeEncodeError) as error:
        raise CannotJoinError from error


def as_python(column: Column, data: Array) -> Array:
    """Values of a column as an array whose `tolist` gives what `push` would have been given."""
    if column.unit is None or data.dtype == object:
        return data
    import pyarrow as pa

    kind = column.time_type
    wide = pa.int32() if getattr(kind, "bit_width", 64) == 32 else pa.int64()
    return objects(python_values(pa.array(data).cast(wide).cast(kind), "the column"))
