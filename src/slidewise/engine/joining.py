"""Joining stored rows with those of a batch: arrays of both, sorted by key, each row with the bounds of its window."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import arrow_array, python_values
from slidewise.columns.series import Column, read
from slidewise.engine.batch import Batch
from slidewise.engine.bounds import spec_bounds
from slidewise.engine.point_in_time.queries import Queries, last_starts
from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import InputError
from slidewise.kernels.order.grouping import Grouped


class CannotJoinError(Exception):
    """The batch and the stored rows have no array in common; events go in one by one then."""


def concatenated(parts: list[Array]) -> Array:
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


def align(old: Array | None, column: Column) -> tuple[Array | None, Column]:
    """Arguments of stored rows and a column of the batch, cast to one kind: integers that meet floats become
    floats, where nothing is lost by that."""
    if old is None or column.unit is not None or {old.dtype.kind, column.data.dtype.kind} != {"i", "f"}:
        return old, column
    import pyarrow as pa

    floats = replace(column, data=as_floats(column.data), restore=lambda answers: answers, arrow=pa.float64())
    return as_floats(old), floats


def joined(old: Array | None, column: Column) -> Array:
    """Arguments of stored rows, and then a column of the batch, as one array."""
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
        array = arrow_array(old, column.time_type)
        if array.to_pylist() != old:
            raise CannotJoinError
        return read(array, "the rows before").data
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


def joined_places(old: Array | None, new: Array) -> Array:
    """The places of what is there already, and then those of a batch."""
    if new.dtype == object or (
        old is not None and (old.dtype == object or (old.dtype.kind, new.dtype.kind) == ("f", "i"))
    ):
        raise CannotJoinError
    if old is None:
        return new
    return np.concatenate([old if old.dtype == new.dtype else as_floats(old), new])


class MergedRows:
    """Stored rows, or cells, and the rows of a batch behind those of their keys.

    `counts` is how many are stored of each key, and `stored` are their places, key by key. With `peers`, rows of equal
    place see one another; `silent` rows of the batch have empty windows. With `queries`, it is these that have windows,
    and not the rows.
    """

    def __init__(
        self,
        batch: Batch,
        spec: WindowSpec,
        places: Array,
        counts: Array,
        stored: Array | None,
        peers: bool,
        silent: Array | None,
        queries: Queries | None = None,
    ) -> None:
        self.keys = len(counts)
        self._spec = spec
        self._queries = queries
        groups = max(self.keys, 1)
        self._stored = had = int(counts.sum())
        codes = np.concatenate([np.repeat(np.arange(self.keys), counts), batch.codes]) if had else batch.codes
        self._grouped = Grouped(codes, groups)
        self._batch = Grouped(batch.codes, groups) if had else self._grouped
        self.places = self.to_sorted(joined_places(stored, places))
        if queries is not None:
            return
        self.starts, self.ends = spec_bounds(spec, self.places, self.offsets, peers)
        if silent is not None:
            self.ends = np.where(self.with_stored(silent, False), self.starts, self.ends)
        self._new = self.to_sorted(np.arange(len(codes)) >= had) if had else slice(None)

    @property
    def offsets(self) -> Array:
        """Where each key's rows begin, and the end."""
        return self._grouped.offsets

    def to_sorted(self, x: Array) -> Array:
        """Values of what is stored, and then of the batch, in the order of keys."""
        return self._grouped.to_sorted(x)

    def with_stored(self, flags: Array, of_stored: bool) -> Array:
        """Flags of the batch's rows in the order of keys, where all that is stored has the same one."""
        return self.to_sorted(np.concatenate([np.full(self._stored, of_stored), flags]) if self._stored else flags)

    def bounds(self) -> tuple[Array, Array]:
        """The windows of the batch's rows, or of the queries, in the order of keys."""
        if self._queries is not None:
            return self._queries.bounds(self._spec, self.places, self.offsets)
        return self.starts[self._new], self.ends[self._new]

    def own(self) -> Array | None:
        """Where the batch's rows stand in the order of keys; None of queries, which are no rows."""
        return None if self._queries is not None else np.arange(len(self.places))[self._new]

    def to_input(self, x: Array) -> Array:
        """Values of the batch's rows in the batch's order; queries are in it already."""
        return x if self._queries is not None else self._batch.to_input(x)

    def last_starts(self) -> Array:
        """The first row of the last window of each key."""
        if self._queries is not None:
            return last_starts(self._spec, self.places, self.offsets)
        starts: Array = self.starts[self.offsets[1:] - 1]
        return starts

    def kept(self) -> Array:
        """Which rows later windows may hold: those from the start of their key's last window on."""
        total = len(self.places)
        if not total:
            return np.zeros(0, np.bool_)
        mask: Array = np.arange(total) >= np.repeat(self.last_starts(), np.diff(self.offsets))
        return mask
