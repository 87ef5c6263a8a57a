"""Reading what users hand to compiled code: types, single numbers and whole arrays."""

from __future__ import annotations

from typing import NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from slidewise.arrays import Array
from slidewise.errors import InputError
from slidewise.operators.types import Value

# The type of the input, or a tuple of several inputs' types; an array of rows, or a tuple of such arrays.
TypeNames: TypeAlias = npt.DTypeLike | tuple[npt.DTypeLike, ...] | list[npt.DTypeLike]
Columns: TypeAlias = npt.ArrayLike | tuple[npt.ArrayLike, ...]
TYPES = ("float64", "int64", "bool")
_PYTHON: dict[str, type[int] | type[float]] = {"float64": float, "int64": int, "bool": bool}
_WORDS = {"float64": "numbers", "int64": "64-bit integers", "bool": "True and False"}


def read_dtype(dtype: npt.DTypeLike) -> str:
    """The name of a type that can be compiled for.

    >>> import numpy as np
    >>> read_dtype("float64"), read_dtype(np.int64), read_dtype(bool)
    ('float64', 'int64', 'bool')
    """
    try:
        name = str(np.dtype(dtype).name)
    except TypeError:
        name = repr(dtype)
    if name not in TYPES:
        raise InputError(f"cannot compile for {name}; take one of {', '.join(TYPES)} and convert the values to it")
    return name


def read_number(x: Value, dtype: str, operator: str) -> int | float:
    """A number of this type, where x is one without loss."""
    kinds = {"float64": "fiub", "int64": "iub", "bool": "b"}[dtype]
    if x is not None and not isinstance(x, (str, bytes)):
        value = np.asarray(x)
        if value.ndim == 0 and value.dtype.kind in kinds:
            number = _PYTHON[dtype](value.item())
            if dtype != "int64" or -(2**63) <= number < 2**63:
                return number
    _refuse(x, dtype, operator)


def read_column(values: npt.ArrayLike, dtype: str, operator: str) -> Array:
    """A contiguous array of this type, where the values are that without loss."""
    if isinstance(values, np.ma.MaskedArray):
        if values.mask.any():
            _refuse(None, dtype, operator)
        values = values.data
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(
            f"{operator}: rows come in one-dimensional arrays, but got {type(values).__name__}: {error}"
        ) from None
    if array.ndim != 1:
        raise InputError(f"{operator}: rows come in one-dimensional arrays, but got one of shape {array.shape}")
    if len(array) and not np.can_cast(array.dtype, dtype, "safe"):
        odd = next((x for x in array.tolist() if x is None), array[0]) if array.dtype == object else array.dtype.name
        _refuse(odd, dtype, operator)
    return np.ascontiguousarray(array, dtype)


def _refuse(x: Value, dtype: str, operator: str) -> NoReturn:
    if x is None:
        raise InputError(f"{operator}: compiled code takes no None; leave such rows out, or use the interpreted class")
    raise InputError(f"{operator} was compiled for {_WORDS[dtype]} ({dtype}), but got {x!r}")
