"""Answers of an operator that declares their type, as an Arrow array of that type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.arrays import Array
from slidewise.columns.answer_series import BARE, as_arrow_array
from slidewise.columns.arrow_values import arrow_array
from slidewise.operators.answer_types import fits, misfit
from slidewise.operators.operator import Operator
from slidewise.operators.types import Answer, Value
from slidewise.operators.values.hashing import plain

if TYPE_CHECKING:
    import pyarrow as pa


def as_declared(op: Operator, fields: dict[str, Array], valid: Array | None, column: str | None = None) -> pa.Array:
    """A kernel's answers, given by fields, as the declared type; an error names the first that does not fit."""
    import pyarrow as pa

    kind: pa.DataType = op.answers
    part = fields.get(BARE)
    if part is not None and part.dtype == object:
        values = part.tolist()
        return values_as_declared(op, [v if valid is None or valid[i] else None for i, v in enumerate(values)], column)
    array = as_arrow_array(fields, valid)
    if part is None and pa.types.is_struct(kind) and kind.num_fields == len(fields):
        names = [field.name for field in kind]
        mask = array.is_null()
        array = pa.StructArray.from_arrays([array.field(i) for i in range(len(names))], names=names, mask=mask)
    if _same_families(array.type, kind):
        try:
            return array.cast(kind)
        except pa.ArrowInvalid:  # which does not say of which answer
            pass
    return values_as_declared(op, array.to_pylist(), column)


def _same_families(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether one type can be cast to the other, with a check that nothing is lost."""
    from pyarrow import types

    if types.is_struct(source) and types.is_struct(target):
        return [f.name for f in source] == [f.name for f in target] and all(
            _same_families(a.type, b.type) for a, b in zip(source, target, strict=True)
        )
    numbers = (types.is_integer(source) or types.is_floating(source)) and (
        types.is_integer(target) or types.is_floating(target)
    )
    return bool(source == target or numbers)


def values_as_declared(op: Operator, values: list[Answer], column: str | None = None) -> pa.Array:
    """Answers as Python has them as the declared type; an error names the first that does not fit."""
    import pyarrow as pa

    kind = op.answers
    for value in values:
        if not fits(value, kind):
            raise misfit(op.name, value, kind, column)
    shaped = [_shaped(value, kind) for value in values]
    try:
        return arrow_array(shaped, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
        for value, shape in zip(values, shaped, strict=True):
            try:
                arrow_array([shape], kind)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
                raise misfit(op.name, value, kind, column) from error
        raise


def _shaped(value: Answer, kind: pa.DataType) -> Value:
    """A value in the shape that Arrow reads as the type: the fields of a tuple have the declared names."""
    from pyarrow import types

    value = plain(value)
    if types.is_struct(kind) and isinstance(value, tuple):
        return {field.name: _shaped(item, field.type) for item, field in zip(value, kind, strict=True)}
    if types.is_struct(kind) and isinstance(value, dict):
        return {field.name: _shaped(value.get(field.name), field.type) for field in kind}
    if (types.is_list(kind) or types.is_large_list(kind)) and value is not None:
        return [_shaped(item, kind.value_type) for item in value]
    return int(value) if types.is_integer(kind) and isinstance(value, float) else value
