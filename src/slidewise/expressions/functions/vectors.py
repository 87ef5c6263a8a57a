"""Arrow arrays as vectors of NumPy's and back, without a copy: values, nulls, conditions, and choices among two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.expressions.functions.function import HIGH, LOW

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Side = Any  # an array, or a scalar that is not null
Bounds = tuple[int, int]
Into = Any  # a vector that values are put into, or None for a new one


def values_of(side: Side) -> Any:
    """The values of an int64 or float64 array as a vector, whatever lies in the places of nulls; a scalar's value."""
    import numpy as np
    import pyarrow as pa

    if isinstance(side, pa.Scalar):
        return side.as_py()
    kind = np.float64 if pa.types.is_floating(side.type) else np.int64
    if not len(side):
        return np.empty(0, kind)
    return np.frombuffer(side.buffers()[1], kind)[side.offset : side.offset + len(side)]


def array_of(values: np.ndarray[Any, Any], kind: pa.DataType, *sides: Side, also: Any = None) -> pa.Array:
    """A vector as an array, with null where one of these sides is null, and where the condition `also` is false."""
    import numpy as np
    import pyarrow as pa

    data = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else values
    return pa.Array.from_buffers(kind, len(values), [_valid_bits(sides, also), pa.py_buffer(data)])


def _valid_bits(sides: tuple[Side, ...], also: Any) -> Any:
    """The bits of rows in which no side is null, or None where there is no null at all."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    valid = None if also is None else array_of(also, pa.bool_())
    for side in sides:
        if isinstance(side, pa.Scalar) or not side.null_count:
            continue
        mask = pa.Array.from_buffers(pa.bool_(), len(side), [None, side.buffers()[0]], offset=side.offset)
        valid = mask if valid is None else pc.and_(valid, mask)
    if valid is None:
        return None
    if valid.offset % 8:
        return pa.py_buffer(np.packbits(truths_of(valid), bitorder="little"))
    return valid.buffers()[1].slice(valid.offset // 8)


def truths_of(condition: pa.Array) -> Any:
    """The bits of a boolean array as a vector of booleans, whatever lies in the places of nulls."""
    import numpy as np

    if not len(condition):
        return np.empty(0, np.bool_)
    first, start = divmod(condition.offset, 8)
    packed = np.frombuffer(condition.buffers()[1], np.uint8)[first:]
    unpacked = np.unpackbits(packed, count=start + len(condition), bitorder="little")
    return unpacked[start:].view(np.bool_)


def valid_of(array: pa.Array) -> Any:
    """Which values of an array are not null, as a vector of booleans."""
    return truths_of(array.is_valid())


def choose(condition: Any, x: Side, y: Side, into: Into = None) -> Any:
    """The values of x where a vector of booleans is true, and those of y elsewhere; both of one type."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = x.type
    scalars = [side for side in (x, y) if isinstance(side, pa.Scalar)]
    plain = pa.types.is_int64(kind) or pa.types.is_float64(kind) or (pa.types.is_timestamp(kind) and not scalars)
    if not plain or not all(scalar.is_valid for scalar in scalars):
        return pc.if_else(array_of(condition, pa.bool_()), x, y)
    valid = None
    if any(isinstance(side, pa.Array) and side.null_count for side in (x, y)):
        valid_x, valid_y = (True if isinstance(side, pa.Scalar) else valid_of(side) for side in (x, y))
        valid = np.where(condition, valid_x, valid_y)
    return array_of(_select(condition, _bits_of(x), _bits_of(y), into), kind, also=valid)


def _bits_of(side: Side) -> Any:
    """The values of a side as whole numbers with the same bits."""
    import numpy as np

    return np.asarray(values_of(side)).view(np.int64)


def _select(condition: Any, x: Any, y: Any, into: Into) -> Any:
    """As `np.where` does it, by bits: conditions that are true now and then cost no more than others."""
    import numpy as np

    chosen = condition.view(np.int8).astype(np.int64)
    np.negative(chosen, out=chosen)
    chosen &= x ^ y
    return np.bitwise_xor(chosen, y, out=chosen if into is None else into.view(np.int64))


def bounds_of(values: Any) -> Bounds:
    """The least and the greatest of some whole numbers, or of a single one."""
    if isinstance(values, int):
        return values, values
    return (int(values.min()), int(values.max())) if len(values) else (0, 0)


def fits(*bounds: int) -> bool:
    """Whether whole numbers fit into 64 bits."""
    return min(bounds) >= LOW and max(bounds) <= HIGH
