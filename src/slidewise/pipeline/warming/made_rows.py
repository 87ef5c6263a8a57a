"""Rows that are made to be computed with: of given types, with values that reach every kernel which a column needs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.definition import Definition
from slidewise.errors import InputError
from slidewise.pipeline.warming.column_types import ColumnTypes

ROWS = 4_000
KEYS = 20
_START = datetime(2024, 1, 1, tzinfo=UTC)


def made_tables(definition: Definition, types: ColumnTypes) -> list[pa.Table]:
    """Tables in the order of time: plain values; values far apart, some of which are not finite; and nulls."""
    return [_table(definition, types, wide=False), _table(definition, types, wide=True)]


def _table(definition: Definition, types: ColumnTypes, wide: bool) -> pa.Table:
    choose = np.random.default_rng(len(types.types))
    columns = {}
    for name, kind in types.types.items():
        if name == definition.on:
            values: Any = _times(kind)
        elif name in definition.by:
            values = _keys(choose, kind)
        else:
            values = _values(choose, kind, wide, name)
            if wide:
                values = [None if i % 11 == 3 else value for i, value in enumerate(values)]
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def _times(kind: pa.DataType) -> list[Any]:
    if pa.types.is_timestamp(kind):
        zone = UTC if kind.tz else None
        return [(_START + timedelta(seconds=7 * i)).replace(tzinfo=zone) for i in range(ROWS)]
    if pa.types.is_date(kind):
        return [(_START + timedelta(days=i // KEYS)).date() for i in range(ROWS)]
    return list(range(ROWS))


def _keys(choose: np.random.Generator, kind: pa.DataType) -> list[Any]:
    return [_value(kind, int(code)) for code in choose.integers(0, KEYS, ROWS)]


def _values(choose: np.random.Generator, kind: pa.DataType, wide: bool, name: str) -> list[Any]:
    if pa.types.is_floating(kind):
        values = np.round(choose.normal(100.0, 30.0, ROWS), 2)
        if wide:
            values[ROWS // 2 :] *= 10.0 ** choose.integers(-12, 12, ROWS - ROWS // 2)
        return list(values.tolist())
    return [_value(kind, int(code)) for code in choose.integers(0, KEYS, ROWS)]


def _value(kind: pa.DataType, code: int) -> Any:
    """One of a few values of a type."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return f"value {code}"
    if pa.types.is_binary(kind):
        return b"value %d" % code
    if pa.types.is_boolean(kind):
        return code % 3 == 0
    if pa.types.is_integer(kind):
        return code
    if pa.types.is_floating(kind):
        return float(code)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        moment = _START + timedelta(days=code)
        return moment.date() if pa.types.is_date(kind) else moment.replace(tzinfo=UTC if kind.tz else None)
    raise InputError(f"rows of the type {kind} cannot be made; cast the column to double, bigint or string first")
