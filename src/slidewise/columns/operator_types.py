"""Which types of input an operator takes, and of which type its answers are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.errors import InputError
from slidewise.operators.operator import Operator

if TYPE_CHECKING:
    from slidewise.columns.series import Column

# What these give is of the input's own type, so times and text come back as what they were.
_KEEPS_TYPE = ("max", "min", "first", "last", "argmax", "argmin", "m4")
_ANY_TYPE = (*_KEEPS_TYPE, "count", "count_distinct", "collect", "maxcount", "mincount")
_CHOOSES = ("lower", "higher", "nearest")  # quantiles that are one of the values
_HASHES = ("bloom", "countmin", "hyperloglog", "naive_bayes")


def keeps_type(op: Operator) -> bool:
    """Whether answers are of the input's own type."""
    return op.builtin and (op.name in _KEEPS_TYPE or op.parameters.get("interpolation") in _CHOOSES)


def check_type(op: Operator, column: Column, name: str) -> None:
    """Refuse a column that a built-in operator cannot aggregate; `name` is what the error calls it."""
    nothing = not len(column) or (column.valid is not None and not column.valid.any())
    if not op.builtin or (column.is_object and nothing):
        return
    holds = "times" if column.unit is not None else "text or other objects" if column.is_object else column.data.dtype
    if op.name in ("bool_and", "bool_or"):
        if column.data.dtype != bool:
            raise InputError(f"{op.name} takes True and False, but {name} holds {holds}; compare them first")
    elif op.name in _HASHES:
        if column.unit is not None:
            raise InputError(f"{op.name} takes numbers and text, but {name} holds times; cast them to integers first")
    elif op.name not in _ANY_TYPE and not keeps_type(op):
        if column.unit is not None:
            raise InputError(f"{op.name} takes numbers, but {name} holds times; subtract a start from them first")
        if column.is_object:
            raise InputError(f"{op.name} takes numbers, but {name} holds {holds}; cast it to numbers first")


def readied(op: Operator, columns: list[Column]) -> list[Column]:
    """The columns as the operator takes them: a user's own sees times as Python has them, wherever it runs."""
    if not op.builtin or op.name == "collect":
        return [column.as_objects() for column in columns]
    return columns


def restored(op: Operator, columns: list[Column], fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of the answers, of the input's own type where the operator keeps it."""
    if keeps_type(op):
        return {name: columns[0].back(part) for name, part in fields.items()}
    if op.builtin and op.name == "collect":
        return {name: columns[0].lists(part) for name, part in fields.items()}
    return fields


_FLOATS = (
    "mean",
    "geomean",
    "variance",
    "stddev",
    "product",
    "covariance",
    "correlation",
    "relative_variation",
    "median",
)
_COUNTS = ("count", "maxcount", "mincount", "count_distinct", "hyperloglog")


def answer_type(op: Operator, types: list[Any]) -> Any:
    """The Arrow type of a built-in operator's answers for inputs of these Arrow types; None where it has none.

    >>> import pyarrow as pa, slidewise as sw
    >>> answer_type(sw.sum, [pa.int8()]), answer_type(sw.max, [pa.float32()])
    (DataType(int64), DataType(float))
    """
    import pyarrow as pa
    from pyarrow import types as kinds

    if not op.builtin:
        return None
    types = [kind.value_type if kinds.is_dictionary(kind) else kind for kind in types]
    types = [pa.string() if str(kind) == "string_view" else kind for kind in types]
    if op.name in _FLOATS or (op.name == "quantile" and not keeps_type(op)):
        return pa.float64()
    if op.name in _COUNTS:
        return pa.int64()
    if op.name in ("sum", "value_range"):
        return pa.float64() if kinds.is_floating(types[0]) else pa.int64()
    if op.name in ("bool_and", "bool_or") or (op.name == "bloom" and "probe" in op.parameters):
        return pa.bool_()
    if op.name == "collect":
        return pa.list_(types[0])
    if op.name == "m4":
        return pa.struct([(name, types[0]) for name in ("first", "min", "max", "last")])
    return types[0] if keeps_type(op) else None
