"""Rows sorted by key and time, as the engine takes them; and checks that they are, with labels of rows for errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.columns.series import Column, read
from slidewise.definition import Definition
from slidewise.engine.column_checks import time_column
from slidewise.engine.sorting import key_codes
from slidewise.errors import InputError, TimeOrderError
from slidewise.spark.sort.key_order import first_descent


class SortedRows:
    """A batch of the engine: a table's rows, codes that number their keys, and which rows are seen and not answered.

    `keys` is how many keys there are, where not all of them have rows.
    """

    def __init__(
        self,
        table: pa.Table,
        definition: Definition,
        codes: Array,
        silent: Array | None = None,
        keys: int | None = None,
    ) -> None:
        self.table = table
        self._definition = definition
        self._columns: dict[str, Column] = {}
        self.codes = codes
        self.count = len(codes)
        self.silent = silent
        self.keys = (int(codes[-1]) + 1 if len(codes) else 0) if keys is None else keys
        on = definition.on
        self.times = None if on is None else time_column(on, self.column(on))

    def column(self, name: str) -> Column:
        if name not in self._columns:
            self._columns[name] = read(self.table.column(name), repr(name))
        return self._columns[name]

    def kind_of(self, name: str) -> pa.DataType:
        return self.table.column(name).type

    def first(self, count: int) -> SortedRows:
        """The first so many rows, and their keys."""
        if count == self.count:
            return self
        silent = None if self.silent is None else self.silent[:count]
        return SortedRows(self.table.slice(0, count), self._definition, self.codes[:count], silent)


def check_times(definition: Definition, table: pa.Table, hidden: Sequence[str]) -> None:
    """Check that every row has a finite time; nulls come first in their key, so the first one tells whose they are."""
    on = definition.on
    if on is None:
        return
    if pa.types.is_floating(table.column(on).type):
        odd = ~np.isfinite(table.column(on).fill_null(0).to_numpy())
        if odd.any():
            raise InputError(
                f"the time {on!r} is not finite in {odd.sum()} of {len(odd)} rows, first at "
                f"{row_label(definition, table, int(odd.argmax()), hidden)}; leave these rows out"
            )
    if not table.column(on).null_count:
        return
    null = table.column(on).is_null().to_numpy()
    whose = row_label(definition, table, int(null.argmax()), (*hidden, on))
    raise InputError(
        f"the time {on!r} is null in {null.sum()} of {len(null)} rows{f', first under {whose}' if whose else ''}; "
        "fill these in or leave them out"
    )


def check_time_order(definition: Definition, table: pa.Table, codes: Array, hidden: Sequence[str]) -> None:
    """Check that times never run backwards within a key."""
    on = definition.on
    if on is None:
        return
    times = time_column(on, read(table.column(on), repr(on))).data
    wrong = (codes[1:] == codes[:-1]) & (times[1:] < times[:-1])
    if wrong.any():
        at = int(wrong.argmax())
        raise TimeOrderError(
            f"rows are not sorted by key and time: {row_label(definition, table, at + 1, hidden)} comes after "
            f"{on}={table.column(on)[at].as_py()}; sort, or leave out presorted="
        )


def check_key_order(definition: Definition, table: pa.Table, codes: Array) -> None:
    """Check that keys come in Spark's order, so that none comes twice."""
    at = first_descent([table.column(name) for name in definition.by], np.flatnonzero(np.diff(codes)))
    if at is not None:
        before = row_label(definition, table, at, (definition.on or "",))
        raise TimeOrderError(
            f"rows are not sorted by key and time: {row_label(definition, table, at + 1, ())} comes after {before}; "
            "sort by the keys in ascending order, nulls first, or leave out presorted="
        )


def row_label(definition: Definition, table: pa.Table, row: int, hidden: Sequence[str]) -> str:
    """The label of a row in an error: its keys and its time."""
    names = [name for name in (*definition.by, definition.on) if name is not None and name not in hidden]
    return ", ".join(f"{name}={table.column(name)[row].as_py()}" for name in names)


def group_codes(definition: Definition, table: pa.Table, last: pa.Table | None) -> tuple[Array, bool]:
    """The number of each row's key, from 0 on, and whether the first is that of `last`, a table of one row."""
    names = list(definition.by)
    if not names:
        return np.zeros(len(table), np.int64), last is not None
    keys = table.select(names)
    if last is not None:
        keys = pa.concat_tables([last.select(names), keys])
    changes = np.zeros(len(keys), np.bool_)
    for name in names:
        codes, _ = key_codes([(name, keys.column(name))])
        assert codes is not None
        changes[1:] |= codes[1:] != codes[:-1]
    steps = np.cumsum(changes)
    if last is None:
        return steps, False
    return steps[1:] - steps[1], bool(steps[1] == 0)


def microseconds(table: pa.Table, on: str) -> Array:
    """The times of rows in microseconds; their column must be of Spark's timestamps."""
    column = table.column(on).combine_chunks()
    array: Array = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return array
