"""Users' functions compiled once per process: looked up by their fingerprints, not by which object they are.

The compiled form is built from a fingerprint alone, with globals and modules of its own, so it cannot see what has
changed since. A function that reads what is unknown there is not compiled.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from slidewise.kernels.compiler.checked_jit import checked_jit
from slidewise.kernels.compiler.fingerprints import Fingerprint

T = TypeVar("T")
_CAPACITY = 512


class LruCache(dict[Hashable, T]):
    """A cache of what was made for the last few hundred keys that were asked for."""

    def get_or_make(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value for this key, made now where it is missing."""
        if key not in self:
            self[key] = value = make()
            while len(self) > _CAPACITY:
                self.pop(next(iter(self)), None)
            return value
        value = self[key]
        if len(self) > _CAPACITY // 2:  # the oldest go first, so this one is made the newest
            self.pop(key, None)
            self[key] = value
        return value


_COMPILED: LruCache[Any] = LruCache()


def compiled_function(fingerprint: Fingerprint) -> Any:
    """The compiled form of the function with this fingerprint, the same one for every copy of it in this process."""
    return _COMPILED.get_or_make(fingerprint, lambda: _compiled(fingerprint))


def _compiled(fingerprint: Fingerprint) -> Any:
    if fingerprint[0] not in ("function", "jitted"):
        name = fingerprint[-1].value if fingerprint[0] == "held" else fingerprint[-1]
        raise TypeError(f"{name} is no Python function; wrap it into one")
    return _built(fingerprint, ())


def _built(fingerprint: Fingerprint, inside: tuple[Any, ...]) -> Any:
    """The value that a fingerprint stands for, rebuilt; `inside` are those on the way to it."""
    match fingerprint:
        case "float", digits:
            return float.fromhex(digits)
        case ("plain", _, value) | ("type", _, value):
            return value
        case "itself", above:
            return inside[-above]
        case "library module", name:
            return sys.modules[name]
        case "library", module, name:
            return getattr(sys.modules[module], name)
        case "module", name, read:
            module = types.ModuleType(name)
            for attribute, part in read:
                setattr(module, attribute, _built(part, (*inside, module)))
            return module
        case "function", *_:
            return checked_jit(_built_function(fingerprint, inside, lambda function: function))
        case "jitted", options, function:
            built = _built_function(function, inside, options.compiled)
            options.finish(built)
            return built
        case "items", kind, items:
            values = [_built(item, (*inside, None)) for item in items]
            return kind.value(values) if kind.value in (tuple, list) else kind.value(*values)
        case "array", array:
            return array.value()
        case "held", by_identity:
            _check_named_tuple(by_identity.value)
            return by_identity.value
    _, module, name = fingerprint
    return type(name, (), {"__module__": module})()  # of which Numba knows nothing, and says so by its name


def _check_named_tuple(value: Any) -> None:
    """Refuse a class of named tuples that makes or compares them in its own way: compiled code knows the usual ones."""
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        own = {name for name in vars(value) if name.startswith("__")} - _USUAL
        if own or value.__bases__ != (tuple,):
            what = f"has {min(own)}" if own else f"derives from {value.__bases__[0].__name__}"
            raise TypeError(f"the NamedTuple {value.__name__} {what} of its own, which compiled code does not know")


class _Usual(NamedTuple):
    """Nothing but fields."""

    field: int = 0


_USUAL = {*vars(_Usual), "__annotate__", "__annotations__", "__firstlineno__", "__static_attributes__", "__slots__"}


def _built_function(fingerprint: Fingerprint, inside: tuple[Any, ...], finish: Callable[[Any], Any]) -> Any:
    """A copy of a function, whose globals are those that it names and nothing else.

    Where a plain function calls itself it meets itself uncompiled, which compiled code cannot call: that has no limit
    of depth as Python has.
    """
    _, code, closure, defaults, keywords, outside = fingerprint
    if "objmode" in code.names:
        raise TypeError("objmode runs Python in the middle of compiled code, where it sees what has changed since")
    space: dict[str, Any] = {"__builtins__": builtins, "__name__": __name__}
    cells = tuple(types.CellType() for _ in closure)
    function = types.FunctionType(code.code, space, code.code.co_name, closure=cells)
    built = finish(function)
    inside = (*inside, built)
    function.__defaults__ = tuple(_built(part, inside) for part in defaults) or None
    function.__kwdefaults__ = {name: _built(part, inside) for name, part in keywords} or None
    for cell, part in zip(cells, closure, strict=True):
        cell.cell_contents = _built(part, inside)
    space.update((name, _built(part, inside)) for name, part in outside)
    return built
