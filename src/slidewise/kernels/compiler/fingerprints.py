"""Fingerprints of functions, by value: the code, the closure and the defaults, and all that can be reached from there.

These are the globals that it names, the attributes that it names of the modules among them, and the same of functions
that it calls. What has no value that can be told, such as an instance of some class, is marked as unknown.
"""

from __future__ import annotations

import ctypes
import enum
import sys
import types
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.types import Type as NumbaType

from slidewise.arrays import Array
from slidewise.kernels.compiler.input_checks import COMPILED_CHECKS

_LIBRARIES = frozenset({"builtins", "cmath", "math", "numba", "numpy", "operator", "random", "scipy"})
_BY_VALUE = (bool, int, str, bytes, complex, type(None), type(Ellipsis), range)
_CLASSES = (BaseException, tuple, enum.Enum)
Fingerprint = tuple[Any, ...]  # the kind of a value, and fingerprints of its parts
_SHORT = 256  # bytes of an array that are compared as they are; of longer ones, a digest
_POINTERS: type = ctypes.CFUNCTYPE(None).__mro__[1]


def fingerprint(function: Callable[..., Any]) -> Fingerprint:
    """A key of a function by value: its code, constants, defaults, and what it closes over or reads from outside.

    >>> def make(limit):
    ...     return lambda x: x > limit
    >>> fingerprint(make(3)) == fingerprint(make(3)), fingerprint(make(3)) == fingerprint(make(4))
    (True, False)
    """
    return _Walk().value(function, (), frozenset())


class Code:
    """A function's code as part of a key, whatever lines it stands on, and every name and attribute in it."""

    __slots__ = ("_hash", "_instructions", "code", "names", "ordered")

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.names = frozenset(_names(code))
        self.ordered = sorted(self.names)
        self._instructions = _instructions(code)
        self._hash = hash(self._instructions)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Code) and (self.code is other.code or self._instructions == other._instructions)


class ByIdentity:
    """An object as part of a key by which object it is; the key keeps it alive, so no other comes in its place."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value: Any = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and self.value is other.value


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """An array's or a NumPy scalar's type, shape, order and content; compared by a digest where that is long."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: str
    digest: bytes
    content: bytes = field(compare=False, repr=False)

    @classmethod
    def of(cls, array: Array | np.generic) -> ArrayValue:
        """The value of an array as it is now.

        >>> a = np.array([1, 2])
        >>> before = ArrayValue.of(a)
        >>> a[0] = 7
        >>> before == ArrayValue.of(a), before.value().tolist()
        (False, [1, 2])
        """
        order = "scalar" if isinstance(array, np.generic) else "C" if array.flags.c_contiguous else "F"
        content = array.tobytes()
        digest = content if len(content) <= _SHORT else blake2b(content, digest_size=32).digest()
        return cls(array.dtype, array.shape, order, digest, content)

    def value(self) -> Any:
        """The array as it was, which cannot be written."""
        array = np.frombuffer(self.content, self.dtype).reshape(self.shape)
        return array[()] if self.order == "scalar" else np.asarray(array, order=self.order)  # type: ignore[call-overload]


class JitOptions:
    """The options that a user compiles a function with, as part of a key."""

    __slots__ = ("_key", "dispatcher")

    def __init__(self, function: Dispatcher) -> None:
        compiler = function._compiler
        self.dispatcher = type(function), compiler.locals, function.targetoptions, compiler.pipeline_class
        signatures = () if function._can_compile else tuple(function.nopython_signatures)
        self._key = repr((sorted(function.targetoptions.items()), sorted(compiler.locals.items()))), signatures

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JitOptions) and self._key == other._key and self.dispatcher[3] is other.dispatcher[3]

    def compiled(self, function: Callable[..., Any]) -> Any:
        make, local_types, options, pipeline = self.dispatcher
        return make(py_func=function, locals=local_types, targetoptions=options, pipeline_class=pipeline)

    def finish(self, compiled: Dispatcher) -> None:
        """Compile for the signatures that the user has given, and for no others."""
        for signature in self._key[1]:
            compiled.compile(signature.args)
        if self._key[1]:
            compiled.disable_compile()


_CODES: dict[int, Code] = {}


def _code(code: types.CodeType) -> Code:
    known = _CODES.get(id(code))  # which holds the code, so that its id means no other
    if known is None:
        if len(_CODES) >= 4096:
            _CODES.clear()
        known = _CODES[id(code)] = Code(code)
    return known


def _instructions(code: types.CodeType) -> Hashable:
    """All of a function's code but its lines."""
    return (
        (code.co_code, code.co_exceptiontable, code.co_flags),
        (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
        tuple(map(_constant, code.co_consts)),
    )


def _constant(value: object) -> Hashable:
    if isinstance(value, types.CodeType):
        return _instructions(value)
    if isinstance(value, tuple):
        return tuple(map(_constant, value))
    if isinstance(value, frozenset):
        return frozenset(map(_constant, value))
    return type(value), value if not isinstance(value, (float, complex)) else repr(value)


def _names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _names(const)
        elif isinstance(const, str) and "getattr" in code.co_names:
            names.add(const)
    return names


class _Walk:
    """A walk over all that a function can reach.

    `inside` are the functions, modules and tuples on the way to a value, and `names` all that its function names, so
    whatever it may read of a module. `highest` is the outermost of `inside` that has been met again.
    """

    def __init__(self) -> None:
        self.highest = sys.maxsize
        self.known: dict[int, tuple[object, Fingerprint]] = {}

    def value(self, value: Any, inside: tuple[int, ...], names: frozenset[str]) -> Fingerprint:
        """A value as part of a key: what kind it is, and what it holds."""
        kind = type(value)
        if kind is float:
            return "float", value.hex()
        if kind in _BY_VALUE:
            return "plain", kind, value
        if id(value) in inside:
            return self.again(inside, value)
        if isinstance(value, types.ModuleType):
            return self.module(value, inside, names)
        library = _library(value)
        if library is not None:
            return library
        if isinstance(value, types.FunctionType):
            return self.function(COMPILED_CHECKS.get(value, value), inside)
        if isinstance(value, Dispatcher):
            return self.jitted(value, inside)
        if kind in (tuple, list) or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            inside = (*inside, id(value))
            return "items", ByIdentity(kind), tuple(self.value(item, inside, names) for item in value)
        if (kind is np.ndarray or isinstance(value, np.generic)) and not value.dtype.hasobject:
            return "array", ArrayValue.of(value)
        if isinstance(value, (np.dtype, NumbaType)):
            return "type", kind, value
        if _is_constant(value):
            return "held", ByIdentity(value)
        return "unknown", kind.__module__, kind.__qualname__

    def again(self, inside: tuple[int, ...], value: object) -> Fingerprint:
        """A value that is met inside itself, by the number of steps back to it."""
        at = inside.index(id(value))
        self.highest = min(self.highest, at)
        return "itself", len(inside) - at

    def function(self, function: types.FunctionType, inside: tuple[int, ...]) -> Fingerprint:
        known = self.known.get(id(function))
        if known is not None:
            return known[1]
        before, self.highest = self.highest, sys.maxsize
        fingerprint = self.parts(function, (*inside, id(function)))
        if self.highest >= len(inside):  # so the key does not depend on the way to the function
            self.known[id(function)] = function, fingerprint
        self.highest = min(before, self.highest)
        return fingerprint

    def parts(self, function: types.FunctionType, inside: tuple[int, ...]) -> Fingerprint:
        code, global_names = _code(function.__code__), function.__globals__
        names = code.names
        closure = tuple(self.cell(cell, inside, names) for cell in function.__closure__ or ())
        defaults = tuple(self.value(value, inside, names) for value in function.__defaults__ or ())
        named = function.__kwdefaults__ or {}
        keywords = tuple((name, self.value(named[name], inside, names)) for name in sorted(named))
        read = [name for name in code.ordered if name in global_names]
        outside = tuple((name, self.value(global_names[name], inside, names)) for name in read)
        return "function", code, closure, defaults, keywords, outside

    def cell(self, cell: types.CellType, inside: tuple[int, ...], names: frozenset[str]) -> Fingerprint:
        try:
            value = cell.cell_contents
        except ValueError:  # nothing is in it yet
            return "unknown", "", "empty"
        return self.value(value, inside, names)

    def module(self, module: types.ModuleType, inside: tuple[int, ...], names: frozenset[str]) -> Fingerprint:
        """A module by the values of those of its attributes that the function may read."""
        if module.__name__.partition(".")[0] in _LIBRARIES and sys.modules.get(module.__name__) is module:
            return "library module", module.__name__
        inside, has = (*inside, id(module)), vars(module)
        read = tuple((name, self.value(has[name], inside, names)) for name in sorted(names) if name in has)
        return "module", module.__name__, read

    def jitted(self, function: Dispatcher, inside: tuple[int, ...]) -> Fingerprint:
        """A function that the user has compiled, by what it is compiled from."""
        if id(function.py_func) in inside:
            return self.again(inside, function.py_func)
        fingerprint = self.function(function.py_func, inside)
        if id(function.py_func) in self.known:
            _refresh(function, fingerprint)
        return "jitted", JitOptions(function), fingerprint


_SEEN: WeakKeyDictionary[Dispatcher, Fingerprint] = WeakKeyDictionary()


def _refresh(function: Dispatcher, fingerprint: Fingerprint) -> None:
    """Recompile a user's compiled function where what it has read from outside has changed, or may have.

    Numba never looks at that again, here or when it loads code from disk; so called from Python it would give another
    answer than in a kernel. In another process it takes a function for the one that it knows by the function's id.
    """
    before = _SEEN.get(function)
    if before != fingerprint:
        _SEEN[function] = fingerprint
        if before is not None or _reads_outside(fingerprint):
            function._MemoMixin__uuid = None  # another id, before it is pickled
            with suppress(Exception):  # which comes when it is called
                function.recompile()


def _reads_outside(fingerprint: Fingerprint) -> bool:
    _, _, closure, _, _, outside = fingerprint
    for part in (*closure, *(part for _, part in outside)):
        if part[0] == "jitted":
            if _reads_outside(part[2]):
                return True
        elif part[0] not in ("library", "library module", "itself"):
            return True
    return False


def _is_constant(value: object) -> bool:
    """Whether its identity tells all that compiled code may know of a value."""
    if isinstance(value, type):
        return issubclass(value, _CLASSES)
    return isinstance(value, (enum.Enum, types.BuiltinFunctionType, _Intrinsic, _POINTERS))


def _library(value: object) -> Fingerprint | None:
    """A function, class or ufunc of Python's, NumPy's or Numba's own, by its name."""
    if not isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, np.ufunc)):
        return None
    module, name = "numpy" if isinstance(value, np.ufunc) else value.__module__, value.__name__
    if not isinstance(module, str) or module.partition(".")[0] not in _LIBRARIES:
        return None
    return ("library", module, name) if getattr(sys.modules.get(module), name, None) is value else None
