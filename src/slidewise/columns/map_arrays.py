"""Maps by category as Arrow arrays, and as the dicts that Python has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import arrow_array
from slidewise.columns.series import Column, check_offset
from slidewise.operators.types import Answer, Value

if TYPE_CHECKING:
    import pyarrow as pa


def map_array(offsets: Array, valid: Array | None, keys: pa.Array, items: pa.Array) -> pa.Array:
    """Maps of keys and items that lie one behind the other, each from its offset on; null where it is not valid."""
    import pyarrow as pa

    mask = None if valid is None or valid.all() else pa.array(~valid)
    return pa.MapArray.from_arrays(pa.array(offsets), keys, items, mask=mask)


def flattened(maps: list[dict[Value, Answer] | None]) -> tuple[list[Value], list[Answer], Array, Array]:
    """The keys and the values of all maps, one behind the other; how many each has, and which are none."""
    there = [each or {} for each in maps]
    lengths = np.array([len(each) for each in there], np.int64)
    valid = np.array([each is not None for each in maps], np.bool_)
    return [key for each in there for key in each], [value for each in there for value in each.values()], lengths, valid


def keys_of(column: Column, keys: Array) -> pa.Array:
    """Values of a column of categories as an Arrow array of its type."""
    import pyarrow as pa

    if column.is_object:
        kind = column.arrow
        return arrow_array(keys.tolist(), None if kind is None or pa.types.is_null(kind) else kind)
    return column.items_of(keys.astype(column.data.dtype, copy=False))


def python_maps(array: pa.Array) -> list[dict[Value, Any] | None]:
    """Maps as dicts."""
    maps: list[dict[Value, Any] | None] = array.to_pylist(maps_as_pydicts="strict")
    return maps


def object_array(values: list[Any]) -> Array:
    """An array of these very objects."""
    return np.array([*values, None], object)[:-1]


def offsets_of(lengths: Array) -> Array:
    """Where each of so many entries begin, and where the last end; refuses more than one array of maps holds."""
    check_offset(int(lengths.sum(dtype=np.int64)))
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, dtype=np.int32, out=offsets[1:])
    return offsets


def room(count: int, dtype: Any) -> Array:
    """Room for so many numbers in Arrow's memory, which it has from arrays before: new memory takes longer than what is
    written to it."""
    import pyarrow as pa

    return np.frombuffer(pa.allocate_buffer(count * np.dtype(dtype).itemsize), dtype)


def fixed_words(values: pa.Array, *bits: int) -> Array | None:
    """Values of so many bits each as integers that stand for them; None where they are others."""
    import pyarrow as pa

    kind = values.type
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    if not plain or kind.bit_width not in bits or not len(values):
        return None
    dtype = np.dtype(f"int{kind.bit_width}")
    return np.frombuffer(values.buffers()[1], dtype, len(values), dtype.itemsize * values.offset)


def of_words(kind: pa.DataType, words: Array, valid: Array | None = None) -> pa.Array:
    """Values of a type from the integers that stand for them, null where they are not valid."""
    import pyarrow as pa

    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(words), [bits, pa.py_buffer(words)])


def text_parts(keys: pa.Array) -> tuple[Array, Array] | None:
    """Where each text begins, and the bytes of all; None where keys are no text."""
    import pyarrow as pa

    if keys.type not in (pa.string(), pa.binary()) or not len(keys):
        return None
    _, begins, text = keys.buffers()
    offsets = np.frombuffer(begins, np.int32, len(keys) + 1, 4 * keys.offset)
    return offsets, np.frombuffer(text, np.uint8) if text is not None else np.zeros(0, np.uint8)


def of_text(kind: pa.DataType, offsets: Array, text: Array) -> pa.Array:
    """Text of which each begins where the offsets say."""
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(text)])
