"""Conversion of Python values to Arrow arrays and back: no tick of a time is lost, and a tuple is a struct."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from slidewise.errors import InputError
from slidewise.operators.types import Value

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def arrow_array(values: list[Value], kind: pa.DataType | None = None) -> pa.Array:
    """Values as an Arrow array of this type, or of the one that Arrow finds for them.

    Arrow reads times as microseconds unless told otherwise, and cuts what is finer: such are in nanoseconds here where
    no type is given, and an ArrowInvalid where it cannot hold them. Tuples become structs, with fields
    "0", "1", ... or a NamedTuple's own.
    """
    import pyarrow as pa

    lengths = {len(value) for value in values if isinstance(value, tuple)}
    if len(lengths) > 1:
        raise pa.ArrowInvalid(f"tuples of {' and '.join(map(str, sorted(lengths)[:2]))} values; give lists instead")
    values = [structured(value) for value in values]
    if kind is None:
        kind = pa.array(values).type
        if holds(kind, pa.types.is_date) and any(_any(value, _is_datetime) for value in values):
            raise pa.ArrowInvalid("dates and datetimes together")
        return pa.array(values, finest(kind) if any(_any(value, in_nanoseconds) for value in values) else kind)
    if holds(kind, pa.types.is_date) and any(_any(value, _is_datetime) for value in values):
        raise pa.ArrowInvalid(f"a datetime does not fit into {kind}")
    fine = finest(kind)
    if fine == kind:
        return pa.array(values, kind)
    try:
        array = pa.array(values, fine)
    except pa.ArrowInvalid:  # too far from 1970 for nanoseconds, so not in nanoseconds either
        return pa.array(values, kind)
    return array.cast(kind)


def one_array(values: pa.ChunkedArray) -> pa.Array:
    """The values as one array; what is in one already is not copied."""
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()


def structured(value: Value) -> Value:
    """A value with dicts for tuples, whose fields are named by their numbers where they have no names: Arrow makes
    structs of them."""
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None) or map(str, range(len(value)))
        return {name: structured(item) for name, item in zip(names, value, strict=True)}
    if type(value) is list:
        return [structured(item) for item in value]
    return {name: structured(item) for name, item in value.items()} if type(value) is dict else value


def in_nanoseconds(value: Value) -> bool:
    """Whether a value is one of pandas' Timestamps or Timedeltas, or of NumPy's times, that counts in nanoseconds."""
    if getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M"):
        return "[ns]" in str(value.dtype)
    return getattr(value, "unit", None) == "ns"


def _is_datetime(value: object) -> bool:
    return isinstance(value, datetime)


def _any(value: Value, test: Callable[[Value], bool]) -> bool:
    """Whether a test holds for a value, or for one inside it."""
    if type(value) is list:
        return any(_any(item, test) for item in value)
    return any(_any(item, test) for item in value.values()) if type(value) is dict else bool(test(value))


def holds(kind: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    """Whether a test holds for an Arrow type, or for one inside it."""
    if kind.num_fields:
        return any(holds(kind.field(i).type, test) for i in range(kind.num_fields))
    return bool(test(kind))


def finest(kind: pa.DataType) -> pa.DataType:
    """An Arrow type with nanoseconds wherever it has moments, durations or times of day."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_timestamp(kind):
        return pa.timestamp("ns", kind.tz)
    if types.is_duration(kind):
        return pa.duration("ns")
    if types.is_time(kind):
        return pa.time64("ns")
    if types.is_list(kind):
        return pa.list_(finest(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([field.with_type(finest(field.type)) for field in kind])
    return kind


def python_values(array: pa.Array, what: str) -> list[Value]:
    """An Arrow array's values as Python has them; refuses times of day that it would cut."""
    check_times_of_day(array, what)
    values: list[Value] = array.to_pylist()
    return values


def check_times_of_day(array: pa.Array, what: str) -> None:
    """Refuse times of day in nanoseconds: Python's end at microseconds, and pandas has no type for them."""
    import pyarrow as pa

    if array.type != pa.time64("ns"):
        return
    try:
        array.cast(pa.time64("us"))
    except pa.ArrowInvalid as error:
        raise InputError(
            f"{what} holds times of day in nanoseconds, which Python's time cannot hold ({error}); cast it to "
            "time64('us') or to integers first"
        ) from error


def pandas_array(series: pd.Series) -> pa.Array:
    """A pandas series as an Arrow array; ArrowInvalid or ArrowTypeError where it holds objects of several kinds."""
    import pyarrow as pa

    array = pa.Array.from_pandas(series)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if series.dtype == object and pa.types.is_temporal(array.type):
        return arrow_array(series.where(~series.isna(), None).tolist())
    return array
