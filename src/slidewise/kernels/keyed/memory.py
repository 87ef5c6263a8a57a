"""Arrays that grow in place, and compiled code's access to them by address.

A pass over small batches costs what its call costs, and Numba takes 100 ns and more for each array that it is given. So
a pass takes one address, that of a block which holds the addresses of all arrays and a few numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from slidewise.arrays import Array

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing import Context


def _loader(kind: Any) -> Any:
    def load(_typing: Context, _address: Any, _index: Any) -> Any:
        def generate(context: BaseContext, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], context.get_data_type(kind).as_pointer())
            value = builder.load(builder.gep(pointer, [arguments[1]]))
            return context.data_model_manager[kind].from_data(builder, value)

        return kind(types.int64, types.int64), generate

    return intrinsic(load)


def _storer(kind: Any) -> Any:
    def store(_typing: Context, _address: Any, _index: Any, _value: Any) -> Any:
        def generate(context: BaseContext, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], context.get_data_type(kind).as_pointer())
            value = context.data_model_manager[kind].as_data(builder, arguments[2])
            builder.store(value, builder.gep(pointer, [arguments[1]]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, kind), generate

    return intrinsic(store)


load_int64: Callable[[int, int], int] = _loader(types.int64)
load_float64: Callable[[int, int], float] = _loader(types.float64)
load_bool: Callable[[int, int], bool] = _loader(types.boolean)
store_int64: Callable[[int, int, int], None] = _storer(types.int64)
store_float64: Callable[[int, int, float], None] = _storer(types.float64)
store_bool: Callable[[int, int, bool], None] = _storer(types.boolean)


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def _load_byte(_typing: Context, _address: Any, _index: Any) -> Any:
    """A byte as a whole number from 0 to 255."""

    def generate(context: BaseContext, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], context.get_data_type(types.uint8).as_pointer())
        return builder.zext(builder.load(builder.gep(pointer, [arguments[1]])), context.get_value_type(types.int64))

    return types.int64(types.int64, types.int64), generate


load_byte: Callable[[int, int], int] = _load_byte


class Field:
    """An array of a room; `data` is another one after the room has grown."""

    __slots__ = ("data", "width")

    def __init__(self, dtype: str, width: int, size: int) -> None:
        self.data = np.zeros(size * width, dtype)
        self.width = width

    @classmethod
    def of(cls, data: Array) -> Field:
        """A field of no room, which has this array."""
        field = cls(data.dtype.name, 1, 0)
        field.data = data
        return field

    @property
    def address(self) -> int:
        address: int = self.data.__array_interface__["data"][0]
        return address


class Room:
    """Fields of one length, which grow together.

    A large array is moved by the system's page table and not copied, and only the new part is touched. So growing by
    an eighth is bounded by what has come since the last time, and small beside the window.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._fields: list[Field] = []

    def field(self, dtype: str, width: int = 1) -> Field:
        """A new field, of zeros; `width` is the number of its values for each place."""
        field = Field(dtype, width, self.size)
        self._fields.append(field)
        return field

    def grow(self, size: int) -> None:
        """Be of this length at least."""
        size = max(size, self.size + self.size // 8)
        for field in self._fields:
            field.data.resize(size * field.width, refcheck=False)
        self.size = size

    def renew(self, size: int) -> None:
        """Be of this length, with new arrays in the place of those that there are."""
        for field in self._fields:
            field.data = np.zeros(size * field.width, field.data.dtype)
        self.size = size

    def copies(self) -> list[Array]:
        """What all fields hold."""
        return [field.data.copy() for field in self._fields]

    def put_back(self, copies: list[Array]) -> None:
        """Let all fields hold this again, after no more than values have changed."""
        for field, values in zip(self._fields, copies, strict=True):
            field.data[:] = values

    def nbytes(self) -> int:
        """The size of all fields."""
        return sum(field.data.nbytes for field in self._fields)


class AddressBlock:
    """What a pass takes: the addresses of fields, in order, behind a few numbers of its own."""

    def __init__(self, numbers: int, fields: list[Field]) -> None:
        self._numbers = numbers
        self._fields = fields
        self.values: Array = np.zeros(numbers + len(fields), np.int64)
        values: Any = self.values
        self.numbers = memoryview(values)
        self.address: int = self.values.__array_interface__["data"][0]
        self.bind()

    def bind(self) -> None:
        """Read the fields' addresses anew, after a room has grown."""
        for i, field in enumerate(self._fields, self._numbers):
            self.values[i] = field.address
