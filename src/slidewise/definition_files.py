"""Serialisation of definitions as plain dicts and as TOML.

A column is a dict with an operator, names of columns and a window, or the text of an expression, see
`expressions.parsing`. A built-in operator is named as in `sw.`; a user's own by its import path,
`"package.module:name"`, see `import_paths`.
"""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError, did_you_mean
from slidewise.expressions.expression import Expression, replaced
from slidewise.expressions.parsing import FUNCTIONS, OperatorCall, parse
from slidewise.expressions.writing import as_text, quoted_name
from slidewise.import_paths import Imports, OperatorPath, check_import, import_path, modules_of, operator_at, path_of
from slidewise.operators import BY_NAME
from slidewise.operators.aggregate import Aggregate
from slidewise.operators.operator import Operator
from slidewise.stages import all_aggregates
from slidewise.windows import Duration

Find = Callable[[OperatorPath], Operator]

_TOP = ("by", "on", "ties", "every", "offset", "columns")
_WINDOW = ("rows", "closed", "at_least", "grain", "delay", "zone", "next", "gap")
_COLUMN = ("operator", "parameters", "of", "per", "top", "rest", "where", "over", "since", *_WINDOW)


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
    written["columns"] = {name: _column_out(name, column) for name, column in definition.columns.items()}
    return written


def arguments_of(written: Mapping[str, Any], imports: Imports = False) -> dict[str, Any]:
    """The arguments of the definition that `to_dict` wrote.

    A module is imported only where `imports` allows it, and not before all else has been checked.
    """
    modules = modules_of(imports)
    checked = arguments_unresolved(written)
    paths = own_paths(checked["columns"])
    if not paths:
        return checked
    Definition(**checked)
    for _, path in paths:
        check_import(path, modules)
    return resolved_arguments(written, lambda path: operator_at(path, modules))


def arguments_unresolved(written: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with a stand-in for each operator of a user's own, which names it and computes nothing."""
    return resolved_arguments(written, stand_in)


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
        "columns": {name: _column_in(name, column, find) for name, column in columns.items()},
    }


class _StandIn(Operator):
    """An operator of a user's own that has not been looked up: it takes any columns."""

    __slots__ = ()

    def arity(self) -> tuple[int, float]:
        return 0, float("inf")


def stand_in(path: OperatorPath) -> Operator:
    """The stand-in for an operator of a user's own, which has its import path for a name."""
    return _StandIn(name=str(path), identity=None, combine=lambda _older, newer: newer, commutative=True)


def own_paths(columns: Mapping[str, Expression]) -> list[tuple[str, OperatorPath]]:
    """The operators that columns with stand-ins still lack, each with the name of its column."""
    return [
        (name, path_of(op.name))
        for name, column in columns.items()
        for aggregate in all_aggregates({name: column})
        if isinstance(op := _written_operator(aggregate), _StandIn)
    ]


def _written_operator(aggregate: Aggregate) -> Operator:
    """The operator that is written: per category, the one inside."""
    return aggregate.operator.written_inner or aggregate.operator


def _column_out(name: str, column: Expression) -> dict[str, Any] | str:
    """A column as a dict, and as text where it is more than an operator of columns over a window."""
    if isinstance(column, Aggregate) and all(isinstance(part, str) for part in column.columns):
        return _aggregate_out(name, column)
    return as_text(replaced(column, lambda leaf: _by_import_path(name, leaf)))


def _by_import_path(name: str, leaf: Expression) -> Expression:
    """An aggregate of a user's own operator with its import path for a name; anything else as it is."""
    if not isinstance(leaf, Aggregate):
        return leaf
    op = _written_operator(leaf)
    for key, value in op.parameters.items():
        if not _has_text(value):
            raise SlidewiseError(
                f"{name!r}: no text can hold the parameter {key}={value!r} of {op.name} ({type(value).__name__})"
            )
    if op.builtin:
        return leaf
    named = replace(op, name=import_path(name, op))
    per = leaf.operator.traits.per
    return replace(leaf, operator=named if per is None else named.per(top=per.top, rest=per.rest))


def _has_text(parameter: object) -> bool:
    """Whether a parameter can be written in a text: a constant, bytes, or a list of such."""
    if isinstance(parameter, tuple | list):
        return all(map(_has_text, parameter))
    return isinstance(parameter, bool | int | float | str | bytes | date | None)


def _aggregate_out(name: str, aggregate: Aggregate) -> dict[str, Any]:
    op, window, condition = _written_operator(aggregate), aggregate.window, aggregate.condition
    assert window is not None
    per = None if op is aggregate.operator else aggregate.operator.traits.per
    written: dict[str, Any] = {"operator": op.name if op.builtin else import_path(name, op)}
    if op.parameters:
        written["parameters"] = {key: _parameter_out(value) for key, value in op.parameters.items()}
    written["of"] = list(aggregate.columns if per is None else aggregate.columns[:-1])
    if per is not None:
        written["per"] = aggregate.columns[-1]
        written |= {} if per.top is None else {"top": per.top}
        written |= {} if per.top is None or per.rest == "other" else {"rest": per.rest}
    if condition is not None:
        written["where"] = quoted_name(condition) if isinstance(condition, str) else as_text(condition)
    written |= window.written()
    if "since" in written:
        since = written["since"]
        written["since"] = quoted_name(since) if isinstance(since, str) else as_text(since)
    return written


def _column_in(name: str, written: object, find: Find) -> Expression:
    where = f"the column {name!r}"
    if not isinstance(written, Mapping | str):
        raise SlidewiseError(
            f"{where} is a dict with an operator and a window, or text such as 'sum(price * quantity) over 1 day', not "
            f"{written!r}"
        )
    try:
        if isinstance(written, str):
            return expression_of(written, find)
    except SlidewiseError as error:
        raise type(error)(f"{where}: {error}") from error
    return _aggregate_in(where, written, find)


def _aggregate_in(where: str, written: Mapping[str, Any], find: Find) -> Aggregate:
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
        aggregate = _per_category(aggregate, written)
        if "where" in written:
            aggregate = aggregate.where(_condition_in(written["where"], find))
        window = {key: written[key] for key in _WINDOW if key in written}
        if "since" in written:
            window["since"] = _condition_in(written["since"], find, "since")
        return aggregate.over(written.get("over"), **window)
    except SlidewiseError as error:
        raise type(error)(f"{where}: {error}") from error


def _per_category(aggregate: Aggregate, written: Mapping[str, Any]) -> Aggregate:
    """The aggregate per category, where that is written."""
    options = {key: written[key] for key in ("top", "rest") if key in written}
    if "per" in written:
        return aggregate.per(written["per"], **options)
    for key in options:
        raise SlidewiseError(f"{key} goes with per; write per = 'merchant_type', say")
    return aggregate


def _condition_in(written: Any, find: Find, where: str = "where") -> Any:
    """The condition that a text says; the error of what is no text is that of `where`, or of `over`."""
    if not isinstance(written, str):
        return written
    try:
        return expression_of(written, find)
    except SlidewiseError as error:
        raise type(error)(f"in {where!r}: {error}") from error


def expression_of(text: str, find: Find) -> Expression:
    """The expression that a text says, with the operators of a user's own that `find` gives."""
    return parse(text, lambda call: _written_aggregate(call, find))


def _written_aggregate(call: OperatorCall, find: Find) -> Aggregate:
    """The aggregate of a text, without its condition and its window."""
    name, named = call.name, dict(call.named)
    if call.own:
        if ":" not in name:
            hint = f"; {name} stands without backticks" if name in BY_NAME or name in FUNCTIONS else ""
            raise SlidewiseError(
                f"in backticks stands a user's own operator, by its import path `package.module:name`, and {name!r} is "
                f"none{hint}"
            )
        if call.positional:
            raise SlidewiseError(f"{name!r} takes its parameters by their names only")
    else:
        name = name if name in BY_NAME else name.lower()
        if name not in BY_NAME:
            raise SlidewiseError(
                f"there is no function or operator {call.name!r}; a user's own operator stands in backticks, by its "
                "import path: `package.module:name`" + did_you_mean(call.name, [*BY_NAME, *sorted(FUNCTIONS)])
            )
        named = _named_parameters(BY_NAME[name], call)
    op = _operator(name, named, find)
    if op.unset:
        first, usual = next(iter(op.parameters.items()))
        raise SlidewiseError(f"{op.name} needs its parameters; write {op.name}({first}={usual!r})(x), say")
    aggregate: Aggregate = op(*call.arguments)
    return aggregate


def _named_parameters(op: Operator, call: OperatorCall) -> dict[str, Any]:
    """The parameters of a text by their names, those without names included."""
    if not call.positional:
        return dict(call.named)
    if op.make is None:
        raise SlidewiseError(f"{op.name} has no parameters, but got {', '.join(map(repr, call.positional))}")
    try:
        return inspect.signature(op.make).bind(*call.positional, **call.named).arguments
    except TypeError as error:
        raise SlidewiseError(f"{op.name} is made with ({', '.join(op.parameters)}): {error}") from None


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
    columns = written["columns"]
    if any(isinstance(column, str) for column in columns.values()):  # in one table, which keeps their order
        return [*lines, "", f"[{prefix}columns]", *[f"{_text(name)} = {_value(columns[name])}" for name in columns]]
    for name, column in columns.items():
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
