"""Equality of served and recomputed answers, array by array: which rows differ, and by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SAFE = 2**62  # integers below it have differences that 64 bits hold


@dataclass(frozen=True)
class ColumnComparison:
    """Which rows of a column differ: another value, none where there should be one, one where there should be none."""

    differs: Array
    missing: Array
    extra: Array
    difference: Array | None  # served minus recomputed, seconds for times; None where the type has no difference

    @property
    def unequal(self) -> Array:
        return self.differs | self.missing | self.extra


def compare(served: pa.Array, recomputed: pa.Array, tolerance: float = 0.0) -> ColumnComparison:
    """Compare two columns of comparable types, see `check_comparable`, row by row.

    NaN equals NaN, an integer a float of the same value, and 0.0 equals -0.0. Floats within `tolerance`, a share of
    the greater of the two, are equal, also those inside lists, structs and maps; all else is equal exactly.
    """
    served, recomputed = _plain(served), _plain(recomputed)
    here, there = _valid(served), _valid(recomputed)
    both = here & there
    differs = both & ~_equal(served, recomputed, tolerance)
    return ColumnComparison(differs, there & ~here, here & ~there, _difference(served, recomputed, both))


def check_comparable(served: pa.DataType, recomputed: pa.DataType, column: str, name: str) -> None:
    """Refuse a served column whose type no answer of this aggregate can have."""
    if not _comparable(served, recomputed):
        raise InputError(
            f"column {name!r} of the log holds {served}, but {column!r} is {recomputed}, and they cannot be compared; "
            "cast the log's column first"
        )


def text_of(array: pa.Array) -> pa.Array:
    """Values as text, as exact as they are: every digit of a float, every tick of a time."""
    import pyarrow as pa

    if pa.types.is_map(array.type):
        maps = array.to_pylist(maps_as_pydicts="lossy")
        return pa.array([None if value is None else str(value) for value in maps], pa.string())
    array = _plain(array)
    if pa.types.is_string(array.type) or pa.types.is_null(array.type):
        return array.cast(pa.string())
    if pa.types.is_floating(array.type) or pa.types.is_nested(array.type) or pa.types.is_large_string(array.type):
        return pa.array([None if value is None else str(value) for value in array.to_pylist()], pa.string())
    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        return pa.array([None if value is None else value.hex() for value in array.to_pylist()], pa.string())
    text = array.cast(pa.string())
    return _without_zeros(text) if pa.types.is_temporal(array.type) else text


def _without_zeros(times: pa.Array) -> pa.Array:
    """Times as text without the zeros that end their fractions of a second."""
    from pyarrow import compute as pc

    shorter = pc.replace_substring_regex(times, r"(\.\d*?)0+([^\d.].*)?$", r"\1\2")
    return pc.replace_substring_regex(shorter, r"\.([^\d].*)?$", r"\1")


def _plain(array: pa.Array) -> pa.Array:
    """One array without chunks, dictionaries, views and extensions."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # where even that gives several
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    if isinstance(array, pa.MapArray):
        array = array.cast(_storage(array.type))
    plain = {"string_view": pa.string(), "binary_view": pa.binary()}.get(str(array.type))
    return array if plain is None else array.cast(plain)


def _valid(array: pa.Array) -> Array:
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), bool)


def _equal(a: pa.Array, b: pa.Array, tolerance: float) -> Array:
    """Whether the values are equal, row by row; null equals null."""
    a, b = _plain(a), _plain(b)
    here, there = _valid(a), _valid(b)
    equal: Array = here == there
    rows = np.flatnonzero(here & there)
    if len(rows) == len(equal):
        return _equal_values(a, b, tolerance) if len(rows) else equal
    if len(rows):
        equal[rows] = _equal_values(a.take(rows), b.take(rows), tolerance)
    return equal


def _equal_values(a: pa.Array, b: pa.Array, tolerance: float) -> Array:
    """Whether values that are all there are equal."""
    import pyarrow as pa
    from pyarrow import compute as pc

    kinds = pa.types
    if kinds.is_struct(a.type):
        fields = [a.type.field(i).name for i in range(a.type.num_fields)]
        equal = np.ones(len(a), bool)
        for name in fields:
            equal &= _equal(_field(a, name), _field(b, name), tolerance)
        return equal
    if kinds.is_nested(a.type):
        return _equal_lists(a, b, tolerance)
    if _family(a.type) == "numbers":
        return _equal_numbers(a, b, tolerance)
    if kinds.is_timestamp(a.type) or kinds.is_duration(a.type) or kinds.is_time(a.type):
        return _equal_ticks(a, b)
    if a.type != b.type:
        b = b.cast(a.type)
    return np.asarray(pc.equal(a, b).to_numpy(zero_copy_only=False), bool)


def _field(array: pa.Array, name: str) -> pa.Array:
    from pyarrow import compute as pc

    return pc.struct_field(array, name)


def _equal_lists(a: pa.Array, b: pa.Array, tolerance: float) -> Array:
    """Whether lists have as many items, and each item equals its counterpart."""
    lengths, others = _lengths(a), _lengths(b)
    equal: Array = lengths == others
    rows = np.flatnonzero(equal & (lengths > 0))
    if len(rows):
        items = _equal(a.take(rows).flatten(), b.take(rows).flatten(), tolerance)
        starts = np.cumsum(lengths[rows]) - lengths[rows]
        equal[rows] = np.logical_and.reduceat(items, starts)
    return equal


def _lengths(lists: pa.Array) -> Array:
    from pyarrow import compute as pc

    return np.asarray(pc.list_value_length(lists).to_numpy(zero_copy_only=False), np.int64)


def _equal_numbers(a: pa.Array, b: pa.Array, tolerance: float) -> Array:
    import pyarrow as pa
    from pyarrow import compute as pc

    decimals = [pa.types.is_decimal(array.type) for array in (a, b)]
    floats = [pa.types.is_floating(array.type) for array in (a, b)]
    if any(decimals) and not any(floats):
        scale = max(array.type.scale for array in (a, b) if pa.types.is_decimal(array.type))
        wide = pa.decimal256(76, max(scale, 0))
        return np.asarray(pc.equal(a.cast(wide), b.cast(wide)).to_numpy(zero_copy_only=False), bool)
    x, y = _numbers(a), _numbers(b)
    if x.dtype.kind == "f" and y.dtype.kind == "f":
        equal: Array = (x == y) | (np.isnan(x) & np.isnan(y))
    elif x.dtype.kind == "f":
        equal = _equals_whole(x, y)
    elif y.dtype.kind == "f":
        equal = _equals_whole(y, x)
    elif x.dtype == y.dtype:
        equal = x == y
    else:  # one of them unsigned, beyond the range of the other
        signed, unsigned = (x, y) if x.dtype.kind == "i" else (y, x)
        equal = (signed >= 0) & (signed.astype(np.uint64) == unsigned)
    if tolerance and any(floats):
        equal |= _close(x.astype(np.float64), y.astype(np.float64), tolerance)
    return equal


def _equals_whole(floats: Array, whole: Array) -> Array:
    """Whether floats have the values of integers, exactly: 2**53 + 1 is no float."""
    low, high = (0.0, 2.0**64) if whole.dtype.kind == "u" else (-(2.0**63), 2.0**63)
    fits = (floats >= low) & (floats < high) & (floats == np.floor(floats))
    equal: Array = fits & (np.where(fits, floats, 0.0).astype(whole.dtype) == whole)
    return equal


def _close(x: Array, y: Array, tolerance: float) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        close: Array = np.isfinite(x) & np.isfinite(y)
        close &= np.abs(x - y) <= tolerance * np.maximum(np.abs(x), np.abs(y))
    return close


def _equal_ticks(a: pa.Array, b: pa.Array) -> Array:
    """Whether times are equal, in units of their own: none is rounded."""
    if _PER_SECOND[a.type.unit] > _PER_SECOND[b.type.unit]:
        a, b = b, a
    coarse, fine = _ticks(a), _ticks(b)
    whole, rest = np.divmod(fine, _PER_SECOND[b.type.unit] // _PER_SECOND[a.type.unit])
    equal: Array = (rest == 0) & (whole == coarse)
    return equal


def _ticks(times: pa.Array) -> Array:
    import pyarrow as pa

    number = pa.int32() if times.type.bit_width == 32 else pa.int64()
    ticks: Array = times.cast(number).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return ticks


def _numbers(array: pa.Array) -> Array:
    """Numbers as NumPy has them: 64-bit integers, unsigned ones where they are, or floats; 0 for null."""
    import pyarrow as pa

    if pa.types.is_decimal(array.type) or pa.types.is_floating(array.type):
        kind = pa.float64()
    else:
        kind = pa.uint64() if pa.types.is_uint64(array.type) else pa.int64()
    if array.type != kind:
        array = array.cast(kind)
    numbers: Array = array.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers


def _difference(served: pa.Array, recomputed: pa.Array, both: Array) -> Array | None:
    """Served minus recomputed as floats, 0 where one of them is missing; None where values have no difference."""
    import pyarrow as pa

    kinds = pa.types
    if _family(served.type) == "numbers" and _family(recomputed.type) == "numbers":
        x, y = _numbers(served), _numbers(recomputed)
        if x.dtype == y.dtype == np.int64 and all(len(v) == 0 or _is_small(v) for v in (x, y)):
            difference = (x - y).astype(np.float64)
        else:
            with np.errstate(invalid="ignore", over="ignore"):
                difference = x.astype(np.float64) - y.astype(np.float64)
    elif (kinds.is_timestamp(served.type) or kinds.is_duration(served.type)) and not kinds.is_null(recomputed.type):
        x, y = (_ticks(v).astype(np.float64) / _PER_SECOND[v.type.unit] for v in (served, recomputed))
        difference = x - y
    else:
        return None
    return np.where(both, difference, 0.0)


def _is_small(values: Array) -> bool:
    return bool(values.max() < _SAFE and values.min() > -_SAFE)


def _comparable(a: pa.DataType, b: pa.DataType) -> bool:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_null(a) or kinds.is_null(b):
        return True
    family, other = _family(a), _family(b)
    if family != other:
        return False
    if family == "structs":
        a, b = _storage(a), _storage(b)
        fields = {a.field(i).name: a.field(i).type for i in range(a.num_fields)}
        others = {b.field(i).name: b.field(i).type for i in range(b.num_fields)}
        return fields.keys() == others.keys() and all(_comparable(fields[name], others[name]) for name in fields)
    if family == "lists":
        return _comparable(_storage(a).value_type, _storage(b).value_type)
    return True


def _family(kind: pa.DataType) -> str:
    """What values of a type can be compared with: values of all types of one family."""
    import pyarrow as pa

    kinds = pa.types
    kind = _storage(kind)
    name = str(kind)
    if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind):
        return "numbers"
    if kinds.is_string(kind) or kinds.is_large_string(kind) or name == "string_view":
        return "text"
    if (
        kinds.is_binary(kind)
        or kinds.is_large_binary(kind)
        or kinds.is_fixed_size_binary(kind)
        or name == "binary_view"
    ):
        return "bytes"
    if kinds.is_timestamp(kind):
        return "times without a zone" if kind.tz is None else "times with a zone"
    if kinds.is_struct(kind):
        return "structs"
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        return "lists"
    families = {"dates": kinds.is_date, "durations": kinds.is_duration, "times of day": kinds.is_time}
    return next((family for family, test in families.items() if test(kind)), name)


def _storage(kind: pa.DataType) -> Any:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_map(kind):  # which is a list of its entries
        return pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))
    return kind.value_type if pa.types.is_dictionary(kind) else kind
