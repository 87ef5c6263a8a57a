"""A table of rows sorted by key and time: which key each row has, its columns, and what to call a row in an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.series import Column, read
from slidewise.definition import Definition
from slidewise.engine.sorting import key_codes
from slidewise.engine.table_rows import time_column
from slidewise.errors import InputError, TimeOrderError
from slidewise.spark.sort.key_order import first_backwards


class SortedRows:
    """The rows of a table, the number of each row's key in it, and which rows are only there for others to see."""

    def __init__(self, table: Any, definition: Definition, codes: Array, silent: Array | None = None) -> None:
        self.table = table
        self._definition = definition
        self._columns: dict[str, Column] = {}
        self.codes = codes
        self.count = len(codes)
        self.silent = silent
        self.keys = int(codes[-1]) + 1 if len(codes) else 0
        on = definition.on
        self.times = None if on is None else time_column(on, self.column(on))

    def column(self, name: str) -> Column:
        if name not in self._columns:
            self._columns[name] = read(self.table.column(name), repr(name))
        return self._columns[name]

    def kind_of(self, name: str) -> Any:
        return self.table.column(name).type

    def first(self, count: int) -> SortedRows:
        """The first so many rows."""
        silent = None if self.silent is None else self.silent[:count]
        return SortedRows(self.table.slice(0, count), self._definition, self.codes[:count], silent)


def check_times(definition: Definition, table: Any, hidden: Sequence[str]) -> None:
    """Every row has a time; nulls come first in their key, so the first one tells whose they are."""
    import pyarrow as pa

    on = definition.on
    if on is None:
        return
    if pa.types.is_floating(table.column(on).type):
        odd = ~np.isfinite(table.column(on).fill_null(0).to_numpy())
        if odd.any():
            raise InputError(
                f"the time {on!r} is not finite in {odd.sum()} of {len(odd)} rows, first at "
                f"{named(definition, table, int(odd.argmax()), hidden)}; leave these rows out"
            )
    if not table.column(on).null_count:
        return
    null = table.column(on).is_null().to_numpy()
    whose = named(definition, table, int(null.argmax()), (*hidden, on))
    raise InputError(
        f"the time {on!r} is null in {null.sum()} of {len(null)} rows{f', first under {whose}' if whose else ''}; "
        "fill these in or leave them out"
    )


def check_order(definition: Definition, table: Any, codes: Array, hidden: Sequence[str]) -> None:
    """Times never run backwards within a key."""
    on = definition.on
    if on is None:
        return
    times = time_column(on, read(table.column(on), repr(on))).data
    wrong = (codes[1:] == codes[:-1]) & (times[1:] < times[:-1])
    if wrong.any():
        at = int(wrong.argmax())
        raise TimeOrderError(
            f"rows are not sorted by key and time: {named(definition, table, at + 1, hidden)} comes after "
            f"{on}={table.column(on)[at].as_py()}; sort, or leave out presorted="
        )


def check_keys(definition: Definition, table: Any, codes: Array) -> None:
    """Keys come in their order, so that none comes twice."""
    at = first_backwards([table.column(name) for name in definition.by], np.flatnonzero(np.diff(codes)))
    if at is not None:
        before = named(definition, table, at, (definition.on or "",))
        raise TimeOrderError(
            f"rows are not sorted by key and time: {named(definition, table, at + 1, ())} comes after {before}; "
            "sort by the keys in ascending order, nulls first, or leave out presorted="
        )


def named(definition: Definition, table: Any, row: int, hidden: Sequence[str]) -> str:
    """A row by its keys and its time."""
    names = [name for name in (*definition.by, definition.on) if name is not None and name not in hidden]
    return ", ".join(f"{name}={table.column(name)[row].as_py()}" for name in names)


def codes_of(definition: Definition, table: Any, last: Any) -> tuple[Array, bool]:
    """The number of each row's key, from 0 on, and whether the first is that of `last`, a table of one row or None."""
    import pyarrow as pa

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
