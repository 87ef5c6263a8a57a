"""Columns read from series of NumPy, Arrow, pandas and polars into plain arrays, and restored to the series' type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from numbers import Number
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from slidewise.arrays import Array, Ragged
from slidewise.columns.arrow_values import one_array, pandas_array, python_values
from slidewise.errors import InputError, SlidewiseError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Series: TypeAlias = Any  # a NumPy array, an Arrow array or chunked array, or a Series of pandas or polars


@dataclass(frozen=True, slots=True)
class Column:
    """A series as an array of int64, float64, bool or objects, with the rows that are not null (None: all of them).

    `restore` turns answers of the array's type back into the series' own: float32, or timestamps, say. `unit` is that
    of timestamps, in nanoseconds. `boxed` gives a series' times as the objects that its library has for them.
    """

    data: Array
    valid: Array | None
    restore: Callable[[Array], Array]
    unit: int | None = None
    arrow: pa.DataType | None = None
    boxed: Callable[[Array], list[Any]] | None = None

    def __len__(self) -> int:
        return len(self.data)

    @property
    def is_object(self) -> bool:
        return bool(self.data.dtype == object)

    @property
    def is_date(self) -> bool:
        """Whether it holds dates, which have no time of day."""
        if self.unit is None:
            return False
        kind = self.arrow if self.arrow is not None else self.restore(self.data[:0]).dtype
        return str(kind).startswith(("date32", "date64", "datetime64[D]"))

    def back(self, answers: Array) -> Array:
        """Answers as the series' own type; objects from a column of numbers are there only where all are null."""
        if answers.dtype == object and not self.is_object:
            answers = np.array([0 if answer is None else answer for answer in answers.tolist()], self.data.dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # slots without an answer hold anything
            return self.restore(answers)

    def lists(self, answers: Array | Ragged) -> Array | pa.Array:
        """Lists of this column's values, typed where the series came from Arrow."""
        if isinstance(answers, Ragged):
            return self._ragged(answers)
        if self.arrow is None:
            return answers
        import pyarrow as pa

        return pa.array(answers.tolist(), pa.list_(self.arrow))

    def _ragged(self, answers: Ragged) -> Array | pa.Array:
        offsets, places = answers.laid_out()
        if self.arrow is None:
            values = replace(self, data=answers.items).as_objects().data[places].tolist()
            return np.array([*(values[a:b] for a, b in pairwise(offsets.tolist())), None], object)[:-1]
        import pyarrow as pa

        items = self.items_of(answers.items).take(pa.array(places))
        return pa.ListArray.from_arrays(list_offsets(offsets), items)

    def counted(self, answers: Array | Ragged) -> Array | pa.Array:
        """Lists of this column's values with their counts, typed where the series came from Arrow."""
        if not isinstance(answers, Ragged):
            return answers
        assert answers.counts is not None
        offsets, places = answers.laid_out()
        counts = answers.counts[places]
        if self.arrow is None:
            values = replace(self, data=answers.items).as_objects().data[places].tolist()
            pairs = [{"value": value, "count": count} for value, count in zip(values, counts.tolist(), strict=True)]
            return np.array([*(pairs[a:b] for a, b in pairwise(offsets.tolist())), None], object)[:-1]
        import pyarrow as pa

        items = [self.items_of(answers.items).take(pa.array(places)), pa.array(counts)]
        structs = pa.StructArray.from_arrays(items, names=["value", "count"])
        return pa.ListArray.from_arrays(list_offsets(offsets), structs)

    def items_of(self, values: Array) -> pa.Array:
        """Values of this column, which came from Arrow, as an Arrow array of its type."""
        import pyarrow as pa

        items = self.back(values)
        return items if isinstance(items, pa.Array) else pa.array(items, self.arrow)

    def as_objects(self) -> Column:
        """Times as the objects that they stand for; other columns as they are."""
        if self.unit is None:
            return self
        times = self.restore(self.data)
        if not isinstance(times, np.ndarray):
            values = python_values(times.cast(self.time_type), "the column")
        elif self.unit >= _UNITS["us"]:
            values = times.tolist()
        else:  # which `tolist` gives as bare integers
            values = list(times) if self.boxed is None else self.boxed(times)
        return replace(self, data=np.array([*values, None], object)[:-1], unit=None)

    @property
    def time_type(self) -> pa.DataType:
        """The Arrow type of a column of times, in UTC where it has a zone: Python compares what its clocks show."""
        import pyarrow as pa

        if self.arrow is not None:
            return pa.timestamp(self.arrow.unit, "UTC") if getattr(self.arrow, "tz", None) else self.arrow
        unit = next(name for name, size in _UNITS.items() if size == self.unit)
        is_span = self.restore(self.data[:0]).dtype.kind == "m"
        return pa.duration(unit) if is_span else pa.timestamp(unit)


_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def kind_of(values: Series) -> str:
    """The kind of a series: numpy, arrow, chunked, pandas or polars."""
    if isinstance(values, np.ndarray):
        return "numpy"
    name = f"{type(values).__module__.partition('.')[0]}.{type(values).__name__}"
    if name == "pandas.Series":
        return "pandas"
    if name == "polars.Series":
        return "polars"
    if name == "pyarrow.ChunkedArray":
        return "chunked"
    if name.startswith("pyarrow.") and name.endswith("Array"):
        return "arrow"
    raise InputError(
        f"expected a NumPy array, an Arrow array or a pandas or polars Series, not a {type(values).__name__}; "
        "for a list, use np.asarray(values)"
    )


def is_arrow_backed(values: Series) -> bool:
    """Whether a series is one of pandas with a type of Arrow's, so that answers beside it are too."""
    return type(getattr(values, "dtype", None)).__name__ == "ArrowDtype"


def read(values: Series, what: str) -> Column:
    """Read a series; `what` names it in errors."""
    kind = kind_of(values)
    if kind == "numpy":
        column = _from_numpy(values, what)
    elif kind == "pandas":
        column = _from_pandas(values, what)
    elif kind == "polars":
        column = _from_arrow(values.to_arrow(), what)
    else:
        column = _from_arrow(one_array(values) if kind == "chunked" else values, what)
    return replace(column, data=_common(column.data))


class _Writeable:
    """Memory that NumPy is told it may write, though nothing here does: Numba compiles for read-only arrays apart."""

    def __init__(self, array: Array) -> None:
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface
        self.array = array


def _common(data: Array) -> Array:
    """The values as the one kind of array that kernels are compiled for."""
    if data.dtype == object:
        return data
    data = np.ascontiguousarray(data.astype(data.dtype.newbyteorder("="), copy=False))
    return data if data.flags.writeable or not len(data) else np.asarray(_Writeable(data))


def _from_numpy(values: Array, what: str) -> Column:
    if values.ndim != 1:
        raise InputError(f"{what} must have one dimension, but has {values.ndim}: {values.shape}")
    valid = None
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        valid = ~mask if mask.any() else None
        values = values.data
    dtype = values.dtype

    def back(answers: Array) -> Array:
        return answers.astype(dtype, copy=False)

    if dtype.kind == "b":
        return Column(values, valid, back)
    if dtype.kind in "iu":
        if dtype == np.uint64 and len(values) and values.max() > np.iinfo(np.int64).max:
            raise InputError(f"{what} holds {values.max()}, which does not fit into int64; convert it to float64")
        return Column(values.astype(np.int64, copy=False), valid, back)
    if dtype.kind == "f":
        return Column(values.astype(np.float64, copy=False), valid, back)
    if dtype.kind in "mM":
        unit, count = np.datetime_data(dtype)
        if unit not in _UNITS or count != 1 or not dtype.isnative:
            unit = "s" if unit in ("Y", "M", "W", "D", "h", "m") else "ns" if unit not in _UNITS else unit
            values = values.astype(f"{dtype.kind}8[{unit}]")
        null = np.isnat(values)
        return Column(
            values.view(np.int64),
            _both(valid, ~null if null.any() else None),
            lambda answers: answers.astype(np.int64).view(f"{dtype.kind}8[{unit}]").astype(dtype),
            _UNITS[unit],
        )
    if dtype.kind in "OUS":
        return _from_objects(values.astype(object), valid, what)
    raise InputError(f"{what} has the type {dtype}; integers, floats, bools, times and text can be aggregated")


def _from_objects(values: Array, valid: Array | None, what: str) -> Column:
    present = np.array([value is not None for value in values], np.bool_)
    nan = np.array([isinstance(value, float) and value != value for value in values], np.bool_)
    if nan.any():
        others = values[present & ~nan]
        if len(others) and not any(isinstance(value, Number) and not isinstance(value, bool) for value in others):
            present &= ~nan  # among text, NaN is a missing value
    for i in np.flatnonzero(present):
        if isinstance(values[i], Decimal):
            raise InputError(f"{what} holds decimals; make them floats, or integers of the smallest unit")
    return Column(values, _both(valid, None if present.all() else present), lambda answers: answers)


def _from_pandas(values: pd.Series, what: str) -> Column:
    if isinstance(values.dtype, np.dtype) and values.dtype.kind != "O":
        column = _from_numpy(values.to_numpy(), what)
        if values.dtype.kind == "f":  # pandas means null by NaN
            null = np.isnan(column.data)
            return Column(column.data, ~null if null.any() else None, column.restore)
        return replace(column, boxed=lambda times: type(values)(times).tolist())
    import pyarrow as pa

    try:
        return _from_arrow(pandas_array(values), what)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        null = values.isna().to_numpy()
        return _from_objects(values.astype(object).where(~null, None).to_numpy(), None, what)


def _from_arrow(values: pa.Array, what: str) -> Column:
    import pyarrow as pa
    from pyarrow import types

    if hasattr(values, "combine_chunks") and not hasattr(values, "buffers"):
        values = values.combine_chunks()
    kind = values.type
    if types.is_dictionary(kind):
        values = values.dictionary_decode()
        kind = values.type
    if str(kind) == "string_view":
        kind = pa.string()
        values = values.cast(kind)
    valid = None
    if values.null_count:
        valid = values.is_valid().to_numpy(zero_copy_only=False)
    if types.is_decimal(kind):
        raise InputError(f"{what} holds decimals ({kind}); cast them to float64, or to integers of the smallest unit")

    def plain(numbers: pa.Array, fill: bool | float) -> Array:
        array: Array = (numbers.fill_null(fill) if numbers.null_count else numbers).to_numpy(zero_copy_only=False)
        return array

    def back(answers: Array) -> Array:
        return answers.astype(kind.to_pandas_dtype(), copy=False)

    if types.is_boolean(kind):
        return Column(plain(values, False), valid, back, arrow=kind)
    if types.is_integer(kind):
        return Column(_from_numpy(plain(values, 0), what).data, valid, back, arrow=kind)
    if types.is_floating(kind):
        return Column(plain(values, 0.0).astype(np.float64, copy=False), valid, back, arrow=kind)
    if types.is_timestamp(kind) or types.is_duration(kind) or types.is_date(kind) or types.is_time(kind):
        wide = kind if getattr(kind, "bit_width", 64) == 64 else pa.int32()
        ticks = plain(values.cast(wide).cast(pa.int64()), 0)
        unit = 86_400 * 10**9 if types.is_date32(kind) else _UNITS["ms" if types.is_date64(kind) else kind.unit]

        def as_time(answers: Array) -> pa.Array:
            narrow = pa.int64() if wide is kind else pa.int32()
            return pa.array(answers.astype(np.int64)).cast(narrow, safe=False).cast(kind)

        return Column(ticks, valid, as_time, unit, kind)
    column = _from_objects(np.array([*values.to_pylist(), None], object)[:-1], valid, what)
    return replace(column, restore=lambda answers: pa.array(answers.tolist(), kind), arrow=kind)


def list_offsets(offsets: Array) -> pa.Array:
    """Where lists begin, as Arrow has it; refuses more items than one array of lists holds."""
    import pyarrow as pa

    check_offset(int(offsets[-1]))
    return pa.array(offsets.astype(np.int32))


def check_offset(count: int) -> None:
    """Refuse more items than one array of lists holds."""
    if count > np.iinfo(np.int32).max:
        raise InputError(
            f"lists of {count:,} values altogether are too many for one column of Arrow; take fewer values, or "
            "fewer rows at once"
        )


def _both(a: Array | None, b: Array | None) -> Array | None:
    return b if a is None else a if b is None else a & b


def check_lengths(columns: list[Column], others: dict[str, Column | None]) -> None:
    """All series have one length, or an error says which differ."""
    lengths = {f"input {i + 1}": len(column) for i, column in enumerate(columns)}
    lengths |= {name: len(column) for name, column in others.items() if column is not None}
    if len(set(lengths.values())) > 1:
        raise SlidewiseError(
            "all series must have the same length, but " + ", ".join(f"{name} has {n}" for name, n in lengths.items())
        )
