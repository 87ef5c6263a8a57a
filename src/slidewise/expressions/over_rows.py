"""Evaluation of expressions over single events: each becomes one function of a row, put together once.

The same bits as over whole columns. All parts are evaluated, those that are not chosen, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from slidewise.errors import ExpressionError, NumberOverflowError
from slidewise.expressions.expression import Call, Constant, Expression, leaves_of
from slidewise.expressions.functions.catalogue import BY_NAME
from slidewise.expressions.functions.function import Function, MistypedValue, ValueOverflow
from slidewise.expressions.kinds import FLOAT, UNKNOWN, KindError, ValueKind
from slidewise.expressions.over_arrays import overflow_message
from slidewise.expressions.type_inference import ArgumentError, KindOfLeaf, kind_of, kind_of_call, kind_of_value
from slidewise.expressions.writing import as_text

Row = Mapping[str, Any]
Answers = Sequence[Any]
# An expression of an event, and of the answers to it.
OfRow = Callable[[Row, Answers], Any]
# How a column, or an aggregate, is read from an event and the answers to it.
ReadLeaf = Callable[[Expression], OfRow]


def _unknown(_leaf: Expression) -> ValueKind:
    return UNKNOWN


def row_function(expression: Expression, read: ReadLeaf, kinds: KindOfLeaf = _unknown) -> OfRow:
    """A function that evaluates an expression; `read` gives those of its columns and aggregates.

    Where `kinds` knows a column to be of floats, whole numbers in it count as floats, and so does what is chosen among
    whole numbers and floats, even if the float of an event is null.
    """
    if isinstance(expression, Constant):
        value = _value_of(expression)
        return lambda _row, _answers: value
    if not isinstance(expression, Call):
        column = not expression.is_aggregate and kinds(expression) is FLOAT
        return _as_float(read(expression)) if column else read(expression)
    function = BY_NAME[expression.function]
    parts = [row_function(argument, read, kinds) for argument in expression.arguments]
    constants = [_value_of(part) if isinstance(part, Constant) else None for part in expression.arguments]
    made = _strict(function, parts, constants) if function.strict else _lenient(function, parts)
    if function.promotes and not function.strict and kind_of(expression, kinds) is FLOAT:
        return _as_float(made)
    return made


def _value_of(constant: Constant) -> Any:
    value = constant.value
    zoned = isinstance(value, datetime) and value.tzinfo is not None
    return value.astimezone(UTC) if zoned else value  # type: ignore[union-attr]


def _strict(function: Function, parts: list[OfRow], constants: list[Any]) -> OfRow:
    """A function that gives null where an argument is null, if the others are of kinds that it takes."""
    compute = function.over_values
    checked: set[tuple[type, ...]] = set()

    def null(*values: Any) -> None:
        types = tuple(map(type, values))
        if types not in checked:
            _check_kinds(function, values)
            checked.add(types)

    if len(parts) == 1:
        (of,) = parts

        def unary(row: Row, answers: Answers) -> Any:
            x = of(row, answers)
            return None if x is None else compute(x)

        return unary
    if len(parts) == 2 and constants[1] is not None:
        left, constant = parts[0], constants[1]

        def with_constant(row: Row, answers: Answers) -> Any:
            x = left(row, answers)
            return null(x, constant) if x is None else compute(x, constant)

        return with_constant
    if len(parts) == 2:
        left, right = parts

        def binary(row: Row, answers: Answers) -> Any:
            x = left(row, answers)
            y = right(row, answers)
            return null(x, y) if x is None or y is None else compute(x, y)

        return binary

    def several(row: Row, answers: Answers) -> Any:
        values = [part(row, answers) for part in parts]
        return null(*values) if None in values else compute(*values)

    return several


def _check_kinds(function: Function, values: Sequence[Any]) -> None:
    """Check that values beside a null are of kinds that the function takes, as columns of them would be."""
    try:
        function.rule([kind_of_value(value) for value in values])
    except KindError:
        raise MistypedValue from None


def _lenient(function: Function, parts: list[OfRow]) -> OfRow:
    """A function that decides itself what becomes of nulls."""
    compute = function.over_values
    if len(parts) == 1:
        (of,) = parts
        return lambda row, answers: compute(of(row, answers))
    if len(parts) == 2:
        left, right = parts
        return lambda row, answers: compute(left(row, answers), right(row, answers))
    return lambda row, answers: compute(*[part(row, answers) for part in parts])


def _as_float(made: OfRow) -> OfRow:
    """Whole numbers as floats: another part of the expression is one."""

    def promoted(row: Row, answers: Answers) -> Any:
        value = made(row, answers)
        return float(value) if type(value) is int else value

    return promoted


def explained(
    expression: Expression, read: ReadLeaf, row: Row, answers: Answers, error: Exception
) -> ExpressionError | NumberOverflowError:
    """The error for people, of an event that an expression cannot be evaluated over: which part, and of what."""
    part = expression
    while isinstance(part, Call):
        inner = next((argument for argument in part.arguments if _fails(argument, read, row, answers)), None)
        if inner is None:
            break
        part = inner
    if isinstance(error, ValueOverflow):
        values = {}
        for leaf in leaves_of(part):
            with suppress(ValueOverflow):  # of an event's own value
                values[as_text(leaf)] = read(leaf)(row, answers)
        return NumberOverflowError(overflow_message(part, values))
    of = part.arguments if isinstance(part, Call) else (part,)
    values = {as_text(argument): row_function(argument, read)(row, answers) for argument in of}
    shown = ", ".join(f"`{name}` is {value!r}" for name, value in values.items())
    if isinstance(part, Call):
        try:
            kind_of_call(part, [kind_of_value(value) for value in values.values()])
        except ArgumentError as refused:
            return ExpressionError(f"{refused.shown}; {shown}")
    return ExpressionError(f"`{part}` cannot take these values: {shown}")


def _fails(part: Expression, read: ReadLeaf, row: Row, answers: Answers) -> bool:
    try:
        row_function(part, read)(row, answers)
    except (MistypedValue, ValueOverflow):
        return True
    return False
