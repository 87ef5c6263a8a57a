"""Plain Python functions compiled once, however often they arrive: by what they say, not by which object they are."""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable
from typing import Any

_COMPILED: dict[Hashable, Any] = {}


def compiled_function(function: Callable[..., Any]) -> Any:
    """The Numba form of a function, the same one for every copy of it in this process."""
    import numba

    if isinstance(function, numba.core.dispatcher.Dispatcher):
        return function
    key = fingerprint(function)
    if key not in _COMPILED:
        _COMPILED[key] = numba.njit(nogil=True)(function)
    return _COMPILED[key]


def fingerprint(function: Callable[..., Any]) -> Hashable:
    """What a function says: its code, constants, defaults, and the values that it closes over or reads from outside.

    >>> def make(limit):
    ...     return lambda x: x > limit
    >>> fingerprint(make(3)) == fingerprint(make(3)), fingerprint(make(3)) == fingerprint(make(4))
    (True, False)
    """
    if not isinstance(function, types.FunctionType):
        return id(function)
    cells = tuple(_value(cell.cell_contents) for cell in function.__closure__ or ())
    outside = tuple(
        (name, _value(function.__globals__[name])) for name in _names(function.__code__) if name in function.__globals__
    )
    defaults = tuple(_value(value) for value in function.__defaults__ or ())
    return _code(function.__code__), cells, outside, defaults


def _names(code: types.CodeType) -> list[str]:
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return sorted({*code.co_names, *(name for const in inner for name in _names(const))})


def _code(code: types.CodeType) -> Hashable:
    return (
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_argcount,
        tuple(_value(const) for const in code.co_consts),
    )


def _value(value: Any) -> Hashable:
    if isinstance(value, types.CodeType):
        return _code(value)
    if isinstance(value, types.FunctionType):
        return fingerprint(value)
    if isinstance(value, (tuple, frozenset)):
        return type(value).__name__, tuple(map(_value, value))
    if isinstance(value, float):
        return "float", value.hex()
    if isinstance(value, (bool, int, str, bytes, complex, type(None))):
        return type(value).__name__, value
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        return str(value.dtype), value.shape, value.tobytes()
    return type(value).__name__, id(value)
