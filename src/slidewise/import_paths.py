"""Import paths of users' own operators, `"package.module:name"`, and which modules may be imported for them.

A written definition is data, and data runs nothing: an operator is taken from a module that the program has imported
already, and another module is imported only where the caller says so, once everything else has been checked.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from keyword import iskeyword
from types import ModuleType
from typing import Any, NamedTuple

from slidewise.errors import SlidewiseError
from slidewise.operators.operator import Operator

# Which modules may be imported: all (True), none (False), or those of these names and what lies in them.
Imports = bool | str | Iterable[str]


class OperatorPath(NamedTuple):
    """The module of an operator, and its name in there."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


def path_of(text: str) -> OperatorPath:
    """The path that was written: names of modules between dots, a colon, and one name.

    >>> path_of("plant.operators:overshoot")
    OperatorPath(module='plant.operators', name='overshoot')
    """
    module, _, name = text.partition(":")
    if not all(_is_name(part) for part in (*module.split("."), name)):
        raise SlidewiseError(
            f"the operator {text!r} is no import path; a user's own is written 'package.module:name', in plain names"
        )
    return OperatorPath(module, name)


def _is_name(text: str) -> bool:
    return text.isidentifier() and not iskeyword(text)


def modules_of(imports: Imports) -> bool | tuple[str, ...]:
    """`imports=` as it was given, checked."""
    if isinstance(imports, bool):
        return imports
    names = (imports,) if isinstance(imports, str) else tuple(imports) if isinstance(imports, Iterable) else (imports,)
    for name in names:
        if not isinstance(name, str) or not all(map(_is_name, name.split("."))):
            raise SlidewiseError(
                f"imports= is True, or a list of names of modules such as ['my_operators'], not {name!r}"
            )
    return names


def is_allowed(module: str, imports: bool | tuple[str, ...]) -> bool:
    """Whether a module may be imported: it is on the list, or lies in a package that is."""
    if isinstance(imports, bool):
        return imports
    return any(module == name or module.startswith(f"{name}.") for name in imports)


def check_import(path: OperatorPath, imports: bool | tuple[str, ...], remedy: str = "") -> None:
    """Refuse a module that is neither imported already nor may be."""
    if _namespace(path.module) is None and not is_allowed(path.module, imports):
        raise SlidewiseError(
            f"the operator '{path}' is in the module {path.module!r}, which is not imported, and reading a definition "
            "imports only what is allowed: importing runs the module's code. "
            + (remedy or f"Import it first, or allow it with imports=[{path.module!r}]")
        )


def operator_at(path: OperatorPath, imports: bool | tuple[str, ...], remedy: str = "") -> Operator:
    """The operator, from a module that is imported already, or that is imported now."""
    check_import(path, imports, remedy)
    names = _namespace(path.module)
    if names is None or (path.name not in names and is_allowed(path.module, imports)):
        try:
            value = getattr(importlib.import_module(path.module), path.name)
        except Exception as error:  # whatever the module raises while it runs
            reason = str(error) if isinstance(error, ImportError | AttributeError) else repr(error)
            raise SlidewiseError(f"the operator '{path}' cannot be imported: {reason}") from error
    elif path.name in names:
        value = names[path.name]
    else:
        raise SlidewiseError(
            f"the operator '{path}' cannot be imported: the module {path.module!r} has no {path.name!r}"
        )
    if not isinstance(value, Operator):
        raise SlidewiseError(f"'{path}' is no operator but a {type(value).__name__}; write where sw.operator put it")
    return value


def _namespace(module: str) -> dict[str, Any] | None:
    """The names at the top of a module that is imported already; looking at them runs nothing of it."""
    imported = sys.modules.get(module)
    return object.__getattribute__(imported, "__dict__") if isinstance(imported, ModuleType) else None


def import_path(name: str, op: Operator) -> str:
    """The import path of a user's operator: first of all from the module of one of its functions."""
    near = [getattr(function, "__module__", None) for function in (op.combine, op.lift, op.lower)]
    for module in dict.fromkeys([*near, *sys.modules]):
        if module is None or module == "__main__":
            continue
        for attribute, value in list((_namespace(module) or {}).items()):
            if value is op:
                return f"{module}:{attribute}"
    raise SlidewiseError(
        f"{name!r} uses the operator {op.name!r}, which has no name in a module that can be imported; assign it to a "
        "name at the top of a module, and import it from there"
    )
