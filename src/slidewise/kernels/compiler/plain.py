"""Kernels as plain Python: the same source, run by Python over NumPy's numbers, with the same bits as machine code.

A kernel's functions are made again with other globals: functions that Numba would compile are these plain ones,
Numba's types are NumPy's, and `math` answers as C does, with infinities and NaN in the place of exceptions. NumPy's
numbers wrap around, divide by zero and are promoted as Numba's are. Instructions of LLVM's have a plain form of their
own, which `plain_form` puts beside them.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator
from functools import cache
from threading import RLock
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from numba.core import types as numba_types
from numba.core.dispatcher import Dispatcher

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = __name__.partition(".")[0]
_FORMS: dict[int, Callable[..., Any]] = {}  # by the instruction's id: Numba compares them by what they make


def plain_form(instruction: object) -> Callable[[F], F]:
    """Say what an instruction does, for Python."""

    def remember(function: F) -> F:
        _FORMS[id(instruction)] = function
        return function

    return remember


def plain(function: Any) -> Callable[..., Any]:
    """The function that Python runs, of one that Numba compiles."""
    with _LOCK:  # no other thread sees one that is half made
        return _made(function)


@cache
def _made(function: Any) -> Callable[..., Any]:
    source: FunctionType = function.py_func if isinstance(function, Dispatcher) else function
    space: dict[str, Any] = {"__name__": source.__module__, "__builtins__": _BUILTINS}
    closure = tuple(CellType() for _ in source.__closure__ or ())
    made = FunctionType(source.__code__, space, source.__name__, source.__defaults__, closure)
    _MAKING[id(function)] = made
    try:
        for name in _names(source.__code__):
            if name in source.__globals__:
                space[name] = _replaced(source.__globals__[name])
        for cell, original in zip(closure, source.__closure__ or (), strict=True):
            cell.cell_contents = _replaced(original.cell_contents)
    finally:
        del _MAKING[id(function)]
    return made


_LOCK = RLock()
_MAKING: dict[int, Callable[..., Any]] = {}  # functions that call themselves, or one another in a circle


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _replaced(value: Any) -> Any:
    """What stands in a plain function for a global."""
    if id(value) in _FORMS:
        return _FORMS[id(value)]
    if isinstance(value, Dispatcher):
        return _MAKING.get(id(value)) or _made(value)
    if isinstance(value, numba_types.Type):
        return _NUMBERS[str(value)]
    if isinstance(value, ModuleType):
        return _MATH if value is math else _PlainModule(value) if value.__name__.startswith(_PACKAGE) else value
    return _MATH_FUNCTIONS.get(value, value) if isinstance(value, BuiltinFunctionType) else value


class _PlainModule:
    """A module of this package, with plain functions in it."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = _replaced(getattr(self._module, name))
        setattr(self, name, value)
        return value


def _as_c(function: Callable[..., float], overflow: Callable[..., float]) -> Callable[..., Any]:
    """A function of `math` that never raises: NaN outside of its domain, and what it overflows to."""

    def answer(*arguments: Any) -> Any:
        try:
            return np.float64(function(*arguments))
        except ValueError:
            return np.float64(math.nan)
        except OverflowError:
            return np.float64(overflow(*arguments))

    return answer


def _infinite(*_arguments: float) -> float:
    return math.inf


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: -math.inf if x == 0 else function(x)


def _fraction(x: float) -> tuple[Any, int]:
    part, exponent = math.frexp(x)
    return np.float64(part), exponent


_MATH_FUNCTIONS: dict[Any, Any] = {
    math.sqrt: np.sqrt,
    math.exp: _as_c(math.exp, _infinite),
    math.log: _as_c(_logarithm(math.log), _infinite),
    math.log2: _as_c(_logarithm(math.log2), _infinite),
    math.ldexp: _as_c(lambda x, i: math.ldexp(x, int(i)), lambda x, _i: math.copysign(math.inf, x)),
    math.frexp: _fraction,
    math.isfinite: math.isfinite,
    math.isnan: math.isnan,
    math.isinf: math.isinf,
    math.copysign: _as_c(math.copysign, _infinite),
    math.floor: lambda x: np.int64(math.floor(x)),
    math.ceil: lambda x: np.int64(math.ceil(x)),
}
_MATH = SimpleNamespace(
    inf=math.inf, nan=math.nan, pi=math.pi, **{name.__name__: answer for name, answer in _MATH_FUNCTIONS.items()}
)
# Numba's unsigned type makes an index of a number; an index is one of Python's own, which never wraps around.
_NUMBERS: dict[str, Any] = {"uint64": int, "int64": np.int64, "int32": np.int32, "float64": np.float64}
_BUILTINS = vars(builtins) | {"float": np.float64, "int": np.int64}
