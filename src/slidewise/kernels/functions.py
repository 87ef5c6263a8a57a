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
    return _function(function, ())


def _function(function: Callable[..., Any], inside: tuple[int, ...]) -> Hashable:
    if not isinstance(function, types.FunctionType):
        return type(function).__name__, id(function)
    if id(function) in inside:  # it calls itself
        return "itself", inside.index(id(function))
    inside = (*inside, id(function))
    code, given = function.__code__, function.__globals__
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    values += function.__defaults__ or ()
    values += (function.__kwdefaults__ or {}).values()
    outside = tuple((name, _of(given[name], inside)) for name in _names(code) if name in given)
    return _code(code, inside), tuple(_of(value, inside) for value in values), outside


def _names(code: types.CodeType) -> list[str]:
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return sorted({*code.co_names, *(name for const in inner for name in _names(const))})


def _code(code: types.CodeType, inside: tuple[int, ...]) -> Hashable:
    return (
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_argcount,
        tuple(_of(const, inside) for const in code.co_consts),
    )


def _of(value: Any, inside: tuple[int, ...]) -> Hashable:
    if isinstance(value, types.CodeType):
        return _code(value, inside)
    if isinstance(value, types.FunctionType):
        return _function(value, inside)
    if isinstance(value, (tuple, frozenset)):
        return type(value).__name__, tuple(_of(item, inside) for item in value)
    if isinstance(value, float):
        return "float", value.hex()
    if isinstance(value, (bool, int, str, bytes, complex, type(None))):
        return type(value).__name__, value
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        return str(value.dtype), value.shape, value.tobytes()
    return type(value).__name__, id(value)
