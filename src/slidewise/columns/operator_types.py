"""Which types of input an operator takes, and of which type its answers are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array, Ragged
from slidewise.columns.series import list_offsets
from slidewise.errors import InputError
from slidewise.operators.operator import Operator
from slidewise.operators.per_category import rest_error
from slidewise.operators.traits import AnswerKind, Takes

if TYPE_CHECKING:
    from slidewise.columns.series import Column


def check_type(op: Operator, column: Column, name: str) -> None:
    """Refuse a column that an operator cannot aggregate; `name` is what the error calls it."""
    takes = op.traits.takes
    nothing = not len(column) or (column.valid is not None and not column.valid.any())
    if column.is_object and nothing:
        return
    holds = "times" if column.unit is not None else "text or other objects" if column.is_object else column.data.dtype
    if takes is Takes.BOOLS and column.data.dtype != bool:
        raise InputError(f"{op.name} takes True and False, but {name} holds {holds}; compare them first")
    if takes is Takes.HASHABLE and column.unit is not None:
        raise InputError(f"{op.name} takes numbers and text, but {name} holds times; cast them to integers first")
    if takes is Takes.NUMBERS:
        if column.unit is not None:
            raise InputError(f"{op.name} takes numbers, but {name} holds times; subtract a start from them first")
        if column.is_object:
            raise InputError(f"{op.name} takes numbers, but {name} holds {holds}; cast it to numbers first")


def check_types(op: Operator, columns: list[Column], names: Sequence[str]) -> None:
    """Refuse columns that an operator cannot aggregate; of a map the last one are the categories."""
    per = op.traits.per
    if per is None:
        for column, name in zip(columns, names, strict=False):
            check_type(op, column, name)
    elif names:
        check_types(per.inner, columns[:-1], names[:-1])
        _check_categories(op, columns[-1], names[-1])


def _check_categories(op: Operator, column: Column, name: str) -> None:
    per = op.traits.per
    assert per is not None
    if column.data.dtype.kind == "f":
        raise InputError(
            f"{op.name} takes categories of text, whole numbers, bools, dates or times, but {name} holds "
            f"{column.data.dtype}; make whole numbers or text of them first, as in sw.col(...).int()"
        )
    if per.top is None or (column.is_object and (not len(column) or column.arrow is None)):
        return  # objects are checked one by one
    kind = "times" if column.unit is not None else "O" if column.is_object else column.data.dtype.kind
    if kind != ("O" if isinstance(per.rest, str) else "i"):
        raise rest_error(op.name, per, f"{'times' if kind == 'times' else column.data.dtype} in {name}")
    whole = None if column.arrow is None or isinstance(per.rest, str) else np.iinfo(column.arrow.to_pandas_dtype())
    if whole is not None and not whole.min <= int(per.rest) <= whole.max:
        raise InputError(f"{op.name}: the rest is named {per.rest}, which {name}, of {column.arrow}, cannot hold")


def readied(op: Operator, columns: list[Column]) -> list[Column]:
    """The columns as the operator takes them: plain functions see times as Python has them, wherever they run."""
    return [column.as_objects() for column in columns] if op.traits.python_times else columns


def as_numbers(op: Operator, column: Column) -> Column:
    """Bools as numbers, for operators that compute with them."""
    if op.traits.computes and column.data.dtype == bool:
        return replace(column, data=column.data.astype("int64"))
    return column


def restored(op: Operator, columns: list[Column], fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of the answers, of the input's own type where the operator keeps it."""
    if op.traits.keeps_type:
        return {name: columns[0].back(part) for name, part in fields.items()}
    if op.traits.answer is AnswerKind.LIST:
        return {name: columns[0].lists(part) for name, part in fields.items()}
    if op.traits.answer is AnswerKind.COUNTS:
        return {name: as_lists(columns[0], part) for name, part in fields.items()}
    if op.traits.answer is AnswerKind.COUNTED:
        return {name: columns[0].counted(part) for name, part in fields.items()}
    return fields


def as_lists(column: Column, answers: Array | Ragged) -> Any:
    """Lists of integers as an Arrow array where the column came from Arrow; else, and where they are so, as objects."""
    if not isinstance(answers, Ragged):
        return answers
    import pyarrow as pa

    offsets, places = answers.laid_out()
    if column.arrow is None:
        items = answers.items[places].tolist()
        return np.array([*(items[a:b] for a, b in pairwise(offsets.tolist())), None], object)[:-1]
    return pa.ListArray.from_arrays(list_offsets(offsets), pa.array(answers.items[places]))


def answer_type(op: Operator, types: list[Any]) -> Any:
    """The Arrow type of an operator's answers for inputs of these Arrow types; None where it has none, or is inferred.

    >>> import pyarrow as pa, slidewise as sw
    >>> answer_type(sw.sum, [pa.int8()]), answer_type(sw.max, [pa.float32()])
    (DataType(int64), DataType(float))
    """
    import pyarrow as pa
    from pyarrow import types as kinds

    types = [kind.value_type if kinds.is_dictionary(kind) else kind for kind in types]
    types = [pa.string() if str(kind) == "string_view" else kind for kind in types]
    match op.traits.answer:
        case AnswerKind.FLOAT:
            return pa.float64()
        case AnswerKind.INT:
            return pa.int64()
        case AnswerKind.BOOL:
            return pa.bool_()
        case AnswerKind.NUMBER:
            return pa.float64() if kinds.is_floating(types[0]) else pa.int64()
        case AnswerKind.BYTES:
            return pa.binary()
        case AnswerKind.LIST:
            return pa.list_(types[0])
        case AnswerKind.COUNTS:
            return pa.list_(pa.int64())
        case AnswerKind.COUNTED:
            return pa.list_(pa.struct([("value", types[0]), ("count", pa.int64())]))
        case AnswerKind.MAP:
            return _map_type(op, types)
        case AnswerKind.INPUT:
            fields = op.traits.fields
            return pa.struct([(name, types[0]) for name in fields]) if fields else types[0]
    return None


def _map_type(op: Operator, types: list[Any]) -> Any:
    import pyarrow as pa

    per = op.traits.per
    assert per is not None
    inner = per.inner
    inside = inner.answers if inner.answers is not None else answer_type(inner, types[:-1] or types)
    return None if inside is None or pa.types.is_null(types[-1]) else pa.map_(types[-1], inside)
