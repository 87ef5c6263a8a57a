"""Serialisation of definitions as plain dicts and as TOML.

A built-in operator is named as in `sw.`; a user's own by its import path, `"package.module:name"`, see `import_paths`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError, did_you_mean
from slidewise.import_paths import Imports, OperatorPath, check_import, import_path, modules_of, operator_at, path_of
from slidewise.operators import BY_NAME
from slidewise.operators.aggregate import Aggregate
from slidewise.operators.operator import Operator
from slidewise.windows import Duration

Find = Callable[[OperatorPath], Operator]

_TOP = ("by", "on", "ties", "every", "offset", "columns")
_COLUMN = ("operator", "parameters", "of", "where", "over", "rows", "closed", "at_least", "grain")


def to_dict(definition: Definition) -> dict[str, Any]:
    """The definition as a dict of text, numbers, lists and dicts."""
    written: dict[str, Any] = {}
    if definition.by:
        written["by"] = list(definition.by)
    if definition.on is not None:
        written["on"] = definition.on
    if definition.ties:
        written["ties"] = list(definition.ties)
    for name, length in (("every", definition.every), ("offset", definition.offset)):
        if length is not None:
            written[name] = str(length) if isinstance(length, Duration) else length
    written["columns"] = {name: _aggregate_out(name, aggregate) for name, aggregate in definition.columns.items()}
    return written


def arguments_of(written: Mapping[str, Any], imports: Imports = False) -> dict[str, Any]:
    """The arguments of the definition that `to_dict` wrote.

    A module is imported only where `imports` allows it, and not before all else has been checked.
    """
    modules = modules_of(imports)
    checked = arguments_unresolved(written)
    paths = [path for path in map(_unresolved, checked["columns"].values()) if path is not None]
    if not paths:
        return checked
    Definition(**checked)
    for path in paths:
        check_import(path, modules)
    return resolved_arguments(written, lambda path: operator_at(path, modules))


def arguments_unresolved(written: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with a stand-in for each operator of a user's own, which names it and computes nothing."""
    return resolved_arguments(written, _stand_in)


def resolved_arguments(written: Mapping[str, Any], find: Find) -> dict[str, Any]:
    """The arguments, with the operators of a user's own that `find` gives."""
    if not isinstance(written, Mapping):
        raise SlidewiseError(f"a written definition is a dict, not {written!r}")
    _check_names(written, _TOP, "a definition")
    columns = written.get("columns", {})
    if not isinstance(columns, Mapping):
        raise SlidewiseError(f"columns is a dict of aggregates by name, not {columns!r}")
    return {
        "by": written.get("by", ()),
        "on": written.get("on"),
        "ties": written.get("ties", ()),
        "every": written.get("every"),
        "offset": written.get("offset"),
        "columns": {name: _aggregate_in(name, column, find) for name, column in columns.items()},
    }


class _StandIn(Operator):
    """An operator of a user's own that has not been looked up: it takes any columns."""

    __slots__ = ()

    def arity(self) -> tuple[int, float]:
        return 0, float("inf")


def _stand_in(path: OperatorPath) -> Operator:
    return _StandIn(name=str(path), identity=None, combine=lambda _older, newer: newer)


def _unresolved(aggregate: Aggregate) -> OperatorPath | None:
    return path_of(aggregate.operator.name) if isinstance(aggregate.operator, _StandIn) else None


def own_paths(definition: Definition) -> dict[str, OperatorPath]:
    """By column, the operators that a definition of stand-ins still lacks."""
    paths = {name: _unresolved(aggregate) for name, aggregate in definition.columns.items()}
    return {name: path for name, path in paths.items() if path is not None}


def _aggregate_out(name: str, aggregate: Aggregate) -> dict[str, Any]:
    op, window = aggregate.operator, aggregate.window
    assert window is not None
    written: dict[str, Any] = {"operator": op.name if op.builtin else import_path(name, op)}
    if op.parameters:
        written["parameters"] = {key: _parameter_out(value) for key, value in op.parameters.items()}
    written["of"] = list(aggregate.columns)
    if aggregate.condition is not None:
        written["where"] = aggregate.condition
    return written | window.written()


def _aggregate_in(name: str, written: object, find: Find) -> Aggregate:
    where = f"the column {name!r}"
    if not isinstance(written, Mapping):
        raise SlidewiseError(f"{where} is a dict with an operator and a window, not {written!r}")
    _check_names(written, _COLUMN, where)
    if "operator" not in written:
        raise SlidewiseError(f"{where} names no operator; write operator = 'max', say")
    of = written.get("of", [])
    if not isinstance(of, str | list | tuple):
        raise SlidewiseError(f"{where}: of names one column or a list of them, not {of!r}")
    parameters = written.get("parameters") or {}
    if not isinstance(parameters, Mapping):
        raise SlidewiseError(f"{where}: parameters is a dict, not {parameters!r}")
    try:
        op = _operator(written["operator"], {key: _parameter_in(value) for key, value in parameters.items()}, find)
        if op.unset:
            first, usual = next(iter(op.parameters.items()))
            raise SlidewiseError(f"{op.name} needs its parameters; write parameters = {{{first} = {usual!r}}}, say")
        aggregate: Aggregate = op(*([of] if isinstance(of, str) else of))
        if "where" in written:
            aggregate = aggregate.where(written["where"])
        window = {key: written[key] for key in ("rows", "closed", "at_least", "grain") if key in written}
        return aggregate.over(written.get("over"), **window)
    except SlidewiseError as error:
        raise type(error)(f"{where}: {error}") from error


def _parameter_out(value: object) -> object:
    """A parameter as TOML and JSON can hold it; bytes are written as hexadecimal digits."""
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    return [_parameter_out(item) for item in value] if isinstance(value, tuple) else value


def _parameter_in(value: object) -> object:
    """A parameter as it was before `_parameter_out`."""
    if isinstance(value, Mapping) and list(value) == ["bytes"]:
        digits = value["bytes"]
        try:
            return bytes.fromhex(digits)
        except (TypeError, ValueError) as error:
            raise SlidewiseError(f"bytes are written as hexadecimal digits, not {digits!r}: {error}") from error
    return tuple(_parameter_in(item) for item in value) if isinstance(value, list | tuple) else value


def _check_names(written: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for name in written:
        if name not in known:
            raise SlidewiseError(f"{where} has no {name!r}; it has {', '.join(known)}{did_you_mean(str(name), known)}")


def _operator(name: object, parameters: Mapping[str, Any], find: Find) -> Operator:
    if not isinstance(name, str):
        raise SlidewiseError(f"an operator is written as text, such as 'max' or 'package.module:name', not {name!r}")
    if ":" not in name:
        if name not in BY_NAME:
            raise SlidewiseError(
                f"there is no operator {name!r}; a user's own is written 'package.module:name'"
                + did_you_mean(name, BY_NAME)
            )
        op = BY_NAME[name]
        if "self" in parameters:
            raise SlidewiseError(f"{name} has no parameter 'self'")
        return op(**parameters) if parameters else op
    op = find(path_of(name))
    if parameters and not isinstance(op, _StandIn) and dict(op.parameters) != parameters:
        raise SlidewiseError(f"{name!r} was made already, and takes no parameters here; leave them out")
    return op


def to_toml(definition: Definition) -> str:
    """The definition as TOML."""
    return "\n".join(_toml_lines(definition)).lstrip("\n") + "\n"


def tables_to_toml(definitions: Mapping[str, Definition]) -> str:
    """Definitions by name as TOML, each in a table of its own."""
    parts = []
    for name, definition in definitions.items():
        lines = [f"[{_text(name)}]", *_toml_lines(definition, f"{_text(name)}.")]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _toml_lines(definition: Definition, prefix: str = "") -> list[str]:
    """The lines of a definition; `prefix` is the path of the table that they are in, with a dot."""
    written = to_dict(definition)
    lines = [f"{key} = {_value(value)}" for key, value in written.items() if key != "columns"]
    for name, column in written["columns"].items():
        lines += ["", f"[{prefix}columns.{_text(name)}]"]
        lines += [f"{key} = {_value(value)}" for key, value in column.items()]
    return lines


def from_toml_text(text: str) -> dict[str, Any]:
    """The dict that a TOML text holds."""
    if not isinstance(text, str):
        raise SlidewiseError(f"from_toml takes text, not {type(text).__name__}; read a file with Path(...).read_text()")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise SlidewiseError("the definition is no valid TOML: its values are nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        hint = "" if "=" in text else "; give the text itself, not the path of a file"
        raise SlidewiseError(f"the definition is no valid TOML: {error}{hint}") from error


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_text(key)} = {_value(item)}' for key, item in value.items())}}}"
    raise SlidewiseError(f"TOML cannot hold {value!r} ({type(value).__name__}); use to_dict")


def _text(text: str) -> str:
    """Text between quotes; JSON's escapes are TOML's, but for one character that JSON lets stand."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
