"""Blocks of values put together as one array: copied to their place in its memory while they are in the caches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.expressions.functions.vectors import Into, truths_of

if TYPE_CHECKING:
    import pyarrow as pa


class Assembly:
    """An array of so many rows that blocks fill, in any order and from any thread."""

    def __init__(self, kind: pa.DataType, count: int, block: int) -> None:
        import numpy as np
        import pyarrow as pa

        self._kind = kind
        self._count = count
        self._parts: dict[int, Any] = {}  # blocks of other types by their first rows, or bits of nulls
        self._bits = pa.types.is_boolean(kind)
        wide = pa.types.is_int64(kind) or pa.types.is_float64(kind) or pa.types.is_timestamp(kind)
        self._buffer = None
        if count > block and block % 8 == 0 and (self._bits or wide):
            self._buffer = pa.allocate_buffer((count + 7) // 8 if self._bits else count * 8)
            self._data = np.frombuffer(self._buffer, np.uint8 if self._bits else np.int64)

    def rows(self, start: int, length: int) -> Into:
        """The vector of rows from `start` on, for a function that puts its values there; None where there is none."""
        import numpy as np
        import pyarrow as pa

        if self._buffer is None or self._bits:
            return None
        kind = np.float64 if pa.types.is_float64(self._kind) else np.int64
        return self._data[start : start + length].view(kind)

    def put(self, start: int, values: pa.Array | pa.Scalar, length: int) -> None:
        """Fill the rows from `start` on with values."""
        import numpy as np
        import pyarrow as pa

        array = pa.repeat(values, length) if isinstance(values, pa.Scalar) else values
        if array.type != self._kind:
            array = array.cast(self._kind)
        if self._buffer is None:
            self._parts[start] = array
            return
        if self._bits:
            packed = _packed(array)
            self._data[start // 8 : start // 8 + len(packed)] = packed
        elif array.buffers()[1].address + array.offset * 8 != self._buffer.address + start * 8:
            source = np.frombuffer(array.buffers()[1], np.int64)
            self._data[start : start + length] = source[array.offset : array.offset + length]
        if array.null_count:
            self._parts[start] = _packed(array.is_valid())

    def array(self) -> pa.Array:
        """All rows, once they are filled."""
        import numpy as np
        import pyarrow as pa

        if self._buffer is None:
            parts = [self._parts[start] for start in sorted(self._parts)]
            if not parts:
                return pa.nulls(0, self._kind)
            return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
        valid = None
        if self._parts:
            bits = np.full((self._count + 7) // 8, 255, np.uint8)
            for start, packed in self._parts.items():
                bits[start // 8 : start // 8 + len(packed)] = packed
            valid = pa.py_buffer(bits)
        return pa.Array.from_buffers(self._kind, self._count, [valid, self._buffer])


def _packed(array: pa.Array) -> Any:
    """The bits of a boolean array, from the first of a byte on."""
    import numpy as np

    if array.offset % 8:
        return np.packbits(truths_of(array), bitorder="little")
    first = array.offset // 8
    return np.frombuffer(array.buffers()[1], np.uint8)[first : first + (len(array) + 7) // 8]
