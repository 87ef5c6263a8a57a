"""Answers as Arrow arrays of the types that operators are documented, or declared, to give."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from slidewise.columns.answer_series import as_arrow_array
from slidewise.columns.arrow_values import arrow_array, holds
from slidewise.columns.declared_answers import as_declared, values_as_declared
from slidewise.columns.operator_types import answer_type, check_type, restored
from slidewise.columns.series import Column
from slidewise.engine.evaluate import named_fields
from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import InputError
from slidewise.kernels.codegen.kernel import Answers
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind
from slidewise.operators.values.equality import same

if TYPE_CHECKING:
    import pyarrow as pa


def as_arrays(spec: WindowSpec, types: list[Any], answers: list[list[Any]]) -> list[Any]:
    """Answers of each row, one for each member, as an Arrow array for each member."""
    import pyarrow as pa

    arrays = []
    for j, member in enumerate(spec.members):
        values = [answer[j] for answer in answers]
        if member.operator.answers is not None:
            arrays.append(values_as_declared(member.operator, values, member.name))
            continue
        if member.operator.traits.fields:
            values = [None if value is None else value._asdict() for value in values]
        try:
            arrays.append(_as_array(values, answer_type(member.operator, types)))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
            raise InputError(f"{member.name!r} has answers that no column can hold: {error}") from error
    return arrays


def _as_array(values: list[Any], kind: pa.DataType | None) -> Any:
    """Values as an Arrow array of this type, or of their own where they are of another: earlier rows may have been."""
    import pyarrow as pa

    array = arrow_array(values)
    if kind is None or array.type == kind or not _convertible(array.type, kind):
        return array
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        narrow = array.cast(kind)
        if holds(kind, pa.types.is_temporal) or same(narrow.to_pylist(), values):  # floats are cast without a check
            return narrow
    return array


def _convertible(actual: pa.DataType, kind: pa.DataType) -> bool:
    """Whether values of a type that was found may be cast, with a check, to the type that was meant."""
    from pyarrow import types

    if types.is_null(actual):
        return True
    if types.is_list(actual) and types.is_list(kind):
        return _convertible(actual.value_type, kind.value_type)
    if types.is_struct(actual) and types.is_struct(kind):
        return all(_convertible(a.type, b.type) for a, b in zip(actual, kind, strict=False))
    families = (
        *(types.is_integer, types.is_floating, types.is_boolean),
        *(types.is_timestamp, types.is_duration, types.is_date, types.is_time),
    )
    return [test(actual) for test in families] == [test(kind) for test in families]


def check_inputs(op: Operator, names: tuple[str, ...], columns: list[Column], types: list[Any]) -> None:
    """Refuse columns that an operator cannot take, and an operator whose answers no table can hold."""
    for column, name in zip(columns, names, strict=False):
        check_type(op, column, repr(name))
    if op.traits.answer is AnswerKind.OBJECT:
        raise InputError(f"{op.name} answers with an object that no table can hold; {op.traits.instead}")


def typed(op: Operator, columns: list[Column], types: list[Any], answers: Answers, column: str | None = None) -> Any:
    """Answers as an Arrow array of the type that the operator is documented, or declared, to give, whatever they are.

    `column` is the aggregate's name, for errors that do not say it anyway.
    """
    fields, ok = named_fields(op, answers)
    if op.answers is not None:
        return as_declared(op, fields, ok, column)
    kind = answer_type(op, types)
    array = as_arrow_array(restored(op, columns, fields), ok, kind)
    unknown = kind is None or str(kind) == "null"  # of a column of objects of several kinds, say
    return array if unknown or array.type == kind else array.cast(kind)
