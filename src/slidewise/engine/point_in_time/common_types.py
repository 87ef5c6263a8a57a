"""Keys and times of events and of labels brought to common types, so that they can be compared exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.columns.series import Column, read
from slidewise.engine.column_checks import time_column
from slidewise.engine.sorting import as_arrow
from slidewise.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_EXACT = 2**53  # whole numbers up to here are floats of the same value


def label_times(name: str, times: Column) -> Column:
    """The labels' time column, checked."""
    if times.valid is not None and len(times):
        null = ~times.valid
        raise InputError(
            f"the labels' time {name!r} is null in {null.sum()} of {len(null)} rows, first in row {null.argmax()}; "
            "there is no answer at no time: fill these in or leave them out"
        )
    try:
        return time_column(name, times)
    except InputError as error:
        raise InputError(f"in the labels {error}") from error


def in_one_unit(events: Column, labels: Column, on: str, name: str) -> tuple[Column, Column]:
    """Times of events and of labels in the finer of their units, or as floats where one of them has floats."""
    if not len(events):
        return replace(labels, data=labels.data[:0]), labels
    if not len(labels):
        return events, replace(events, data=events.data[:0])
    what = f"the events' time {on!r} holds {{}}, and the labels' time {name!r} {{}}; give both as one kind"
    if (events.unit is None) != (labels.unit is None):
        raise InputError(what.format(*("numbers" if times.unit is None else "times" for times in (events, labels))))
    if events.unit is None:
        if events.data.dtype == labels.data.dtype:
            return events, labels
        return _as_floats(events, f"the events' time {on!r}"), _as_floats(labels, f"the labels' time {name!r}")
    zones = [getattr(times.arrow, "tz", None) is not None for times in (events, labels)]
    if zones[0] != zones[1]:
        raise InputError(what.format(*("times with a zone" if zone else "times without a zone" for zone in zones)))
    assert labels.unit is not None
    unit = min(events.unit, labels.unit)
    return _in_unit(events, unit, f"the events' time {on!r}"), _in_unit(labels, unit, f"the labels' time {name!r}")


def _as_floats(times: Column, what: str) -> Column:
    if times.data.dtype == np.float64:
        return times
    if len(times) and max(abs(int(times.data.max())), abs(int(times.data.min()))) > _EXACT:
        raise InputError(
            f"{what} holds whole numbers beyond 2^53, which floats cannot be compared with; give both times as whole "
            "numbers"
        )
    return replace(times, data=times.data.astype(np.float64))


def _in_unit(times: Column, unit: int, what: str) -> Column:
    assert times.unit is not None
    factor = times.unit // unit
    if factor == 1:
        return times
    if len(times) and max(abs(int(times.data.max())), abs(int(times.data.min()))) * factor >= 2**63:
        raise InputError(f"{what} has moments that the finer unit of the other time cannot hold; cast both to one unit")
    return replace(times, data=times.data * factor, unit=unit)


def one_series(key: str, events: Any, labels: Any) -> Any:
    """The values of a key in the events, and behind them those in the labels, as one series."""
    import pyarrow as pa

    try:
        parts = [_decoded(as_arrow(series)) for series in (events, labels)]
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # objects of several kinds, which Python can group
        values = [value for series in (events, labels) for value in _values(series, key)]
        return np.array([*values, None], object)[:-1]
    kinds = [part.type for part in parts]
    if kinds[0] != kinds[1]:
        kind = common_type(kinds[0], kinds[1])
        if kind is None:
            raise InputError(
                f"the key {key!r} has the type {kinds[0]} in the events and {kinds[1]} in the labels, whose values are "
                "never equal; cast one of them"
            )
        try:
            parts = [part.cast(kind) for part in parts]
        except pa.ArrowInvalid as error:
            raise InputError(
                f"the key {key!r} has the type {kinds[0]} in the events and {kinds[1]} in the labels, and a value that "
                f"{kind}, in which both are compared, cannot hold: {error}; cast one of them"
            ) from error
    return pa.concat_arrays(parts)


def _values(series: Any, key: str) -> Sequence[Any]:
    column = read(series, f"the key {key!r}").as_objects()
    values = column.data.tolist()
    return values if column.valid is None else [v if ok else None for v, ok in zip(values, column.valid, strict=True)]


def _decoded(keys: pa.Array) -> pa.Array:
    import pyarrow as pa

    return keys.dictionary_decode() if pa.types.is_dictionary(keys.type) else keys


def common_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The Arrow type in which keys of two types are compared; None where they are never equal."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_null(a) or types.is_null(b):
        return b if types.is_null(a) else a
    if types.is_integer(a) and types.is_integer(b):
        return pa.uint64() if types.is_unsigned_integer(a) and types.is_unsigned_integer(b) else pa.int64()
    if all(types.is_integer(kind) or types.is_floating(kind) for kind in (a, b)):
        return pa.float64()
    if types.is_date(a) and types.is_date(b):
        return pa.date64()
    text = (types.is_string, types.is_large_string, lambda kind: str(kind) == "string_view")
    if all(any(test(kind) for test in text) for kind in (a, b)):
        return pa.large_string()
    binary = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    if all(any(test(kind) for test in binary) for kind in (a, b)):
        return pa.large_binary()
    if types.is_timestamp(a) and types.is_timestamp(b) and (a.tz is None) == (b.tz is None):
        finer = min(a.unit, b.unit, key=["ns", "us", "ms", "s"].index)
        return pa.timestamp(finer, None if a.tz is None else "UTC")
    return None
