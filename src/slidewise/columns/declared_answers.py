"""Answers of an operator that declares their type, as an Arrow array of that type."""

from __future__ import annotations

from typing import Any

from slidewise.arrays import Array
from slidewise.columns.arrow_values import arrow_array
from slidewise.columns.results import BARE, as_arrow_array
from slidewise.operators.answer_types import fits, misfit
from slidewise.operators.operator import Operator
from slidewise.operators.values.hashing import plain


def as_declared(op: Operator, fields: dict[str, Array], valid: Array | None, column: str | None = None) -> Any:
    """A kernel's answers, given by fields, as the declared type; an error names the first that does not fit."""
    import pyarrow as pa

    kind = op.answers
    part = fields.get(BARE)
    if part is not None and part.dtype == object:
        values = part.tolist()
        return values_as_declared(op, [v if valid is None or valid[i] else None for i, v in enumerate(values)], column)
    found = as_arrow_array(fields, valid)
    if part is None and pa.types.is_struct(kind) and kind.num_fields == len(fields):
        names = [field.name for field in kind]
        mask = found.is_null()
        found = pa.StructArray.from_arrays([found.field(i) for i in range(len(names))], names=names, mask=mask)
    if _same_families(found.type, kind):
        try:
            return found.cast(kind)
        except pa.ArrowInvalid:  # which does not say of which answer
            pass
    return values_as_declared(op, found.to_pylist(), column)


def _same_families(found: Any, kind: Any) -> bool:
    """Whether one type can be cast to the other, with a check that nothing is lost."""
    from pyarrow import types

    if types.is_struct(found) and types.is_struct(kind):
        return [f.name for f in found] == [f.name for f in kind] and all(
            _same_families(a.type, b.type) for a, b in zip(found, kind, strict=True)
        )
    numbers = (types.is_integer(found) or types.is_floating(found)) and (
        types.is_integer(kind) or types.is_floating(kind)
    )
    return bool(found == kind or numbers)


def values_as_declared(op: Operator, values: list[Any], column: str | None = None) -> Any:
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
        for value, one in zip(values, shaped, strict=True):
            try:
                arrow_array([one], kind)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
                raise misfit(op.name, value, kind, column) from error
        raise


def _shaped(value: Any, kind: Any) -> Any:
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
