"""Columns as a definition reads them: the time column checked, which rows count, and Arrow types."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.series import Column
from slidewise.engine.sorting import as_arrow
from slidewise.errors import InputError


def all_valid(columns: list[Column]) -> Array | None:
    """Which rows have a value in every column; None means all."""
    valid = None
    for column in columns:
        if column.valid is not None:
            valid = column.valid if valid is None else valid & column.valid
    return valid


def time_column(on: str, times: Column) -> Column:
    """The time column, checked."""
    if not len(times):
        return times if not times.is_object else replace(times, data=np.zeros(0, np.int64))
    if times.valid is not None:
        null = ~times.valid
        raise InputError(
            f"the time {on!r} is null in {null.sum()} of {len(null)} rows, first in row {null.argmax()}; "
            "fill these in or leave them out"
        )
    if times.is_object or times.data.dtype == bool or _is_span(times):
        kind = _kind(times)
        read = (
            f"; read it as times first: table[{on!r}].cast(pa.timestamp('us')) in pyarrow, "
            f"pd.to_datetime(df[{on!r}], format='ISO8601') in pandas, pl.col({on!r}).str.to_datetime() in polars"
        )
        raise InputError(f"on={on!r} holds {kind}; it must hold timestamps, dates or numbers{read * (kind == 'text')}")
    if times.data.dtype == np.float64 and not np.isfinite(times.data).all():
        wrong = ~np.isfinite(times.data)
        raise InputError(
            f"the time {on!r} is {times.data[wrong.argmax()]} in row {wrong.argmax()} (and not finite in "
            f"{wrong.sum()} rows in all); leave these rows out"
        )
    return times


def _is_span(times: Column) -> bool:
    """Whether a column holds durations or times of day, which are no moments."""
    if times.unit is None:
        return False
    kind = times.arrow if times.arrow is not None else times.restore(times.data[:1]).dtype
    return str(kind).startswith(("duration", "time32", "time64", "timedelta"))


def present(columns: list[Column], condition: str | None, flag: Column | None) -> Array | None:
    """Which rows count: no argument is null, and the condition holds; None means all."""
    valid = all_valid(columns)
    if flag is None:
        return valid
    true = true_rows(flag, f"where({condition!r})", condition)
    return true if valid is None else valid & true


def true_rows(flag: Column, what: str, name: object) -> Array:
    """In which rows a boolean column is true; null is not. `what` says in errors who needs it."""
    if flag.data.dtype != bool and not (flag.is_object and (flag.valid is None or not flag.valid.any())):
        raise InputError(f"{what} needs a boolean column, but {name!r} holds {_kind(flag)}; compute one first")
    data: Array = flag.data.astype(np.bool_)
    return data if flag.valid is None else data & flag.valid


def arrow_type(series: Any, column: Column | None = None) -> Any:
    """The Arrow type that a series has, or that it was, or would be, read as; null for objects of several kinds."""
    import pyarrow as pa

    kind = getattr(series, "type", None) or (None if column is None else column.arrow)
    if kind is not None:
        return kind
    if column is None and str(getattr(series, "dtype", "")) == "object":
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError):
            return as_arrow(series).type
    return as_arrow(series[:0]).type


def _kind(column: Column) -> str:
    if column.is_object:
        names: Mapping[str, None] = dict.fromkeys(type(v).__name__ for v in column.data[:1_000] if v is not None)
        return "text" if list(names) == ["str"] else " and ".join(names) or "nothing but nulls"
    if column.unit is not None:
        return "durations or times of day" if _is_span(column) else "times"
    return str(column.data.dtype)
