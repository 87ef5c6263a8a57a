"""Answers as Arrow arrays of the types that operators are documented, or declared, to give."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array, Maps
from slidewise.columns.answer_series import BARE, as_arrow_array, series_like
from slidewise.columns.arrow_values import arrow_array, holds
from slidewise.columns.declared_answers import as_declared, values_as_declared
from slidewise.columns.map_arrays import (
    fixed_words,
    flattened,
    keys_of,
    map_array,
    object_array,
    of_text,
    of_words,
    offsets_of,
    python_maps,
    room,
    text_parts,
)
from slidewise.columns.operator_types import answer_type, check_types, restored
from slidewise.columns.series import Column, Series, is_arrow_backed, kind_of
from slidewise.engine.evaluate import named_fields
from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import InputError
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.passes.interpreted import as_answers
from slidewise.kernels.passes.map_entries import ROOM_BEHIND, write_texts
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
        try:
            arrays.append(_of_python(member.operator, types, [answer[j] for answer in answers], member.name))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
            raise InputError(f"{member.name!r} has answers that no column can hold: {error}") from error
    return arrays


def _of_python(op: Operator, types: list[Any], values: list[Any], column: str) -> Any:
    """Answers as Python has them as an Arrow array."""
    if op.answers is not None:
        return values_as_declared(op, values, column)
    per = op.traits.per
    if per is not None:
        keys, inside, lengths, valid = flattened(values)
        items = _of_python(per.inner, types[:-1] or types, inside, column)
        return map_array(offsets_of(lengths), valid, _as_array(keys, types[-1]), items)
    if op.traits.fields:
        values = [None if value is None else value._asdict() for value in values]
    return _as_array(values, answer_type(op, types))


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
    check_types(op, columns, [repr(name) for name in names])
    inner = op if op.traits.per is None else op.traits.per.inner
    if inner.traits.answer is AnswerKind.OBJECT:
        raise InputError(f"{inner.name} answers with an object that no table can hold; {inner.traits.instead}")


def typed(op: Operator, columns: list[Column], types: list[Any], answers: Answers, column: str | None = None) -> Any:
    """Answers as an Arrow array of the type that the operator is documented, or declared, to give, whatever they are.

    `column` is the aggregate's name, for errors that do not say it anyway.
    """
    if op.traits.per is not None:
        return _typed_maps(op, columns, types, answers, column)
    fields, ok = named_fields(op, answers)
    if op.answers is not None:
        return as_declared(op, fields, ok, column)
    kind = answer_type(op, types)
    array = as_arrow_array(restored(op, columns, fields), ok, kind)
    unknown = kind is None or str(kind) == "null"  # of a column of objects of several kinds, say
    return array if unknown or array.type == kind else array.cast(kind)


def _typed_maps(op: Operator, columns: list[Column], types: list[Any], answers: Answers, column: str | None) -> Any:
    """Maps as an Arrow array: their values as the operator inside gives them, each taken wherever a map has it."""
    per = op.traits.per
    assert per is not None
    field = answers.fields[0]
    if not isinstance(field, Maps):
        values = field.tolist()
        if answers.valid is not None:
            values = [value if ok else None for value, ok in zip(values, answers.valid.tolist(), strict=True)]
        found, inside, lengths, valid = flattened(values)
        keys = object_array(found)
        items = typed(per.inner, columns[:-1] or columns, types[:-1] or types, as_answers(object_array(inside)), column)
        return map_array(offsets_of(lengths), valid, keys_of(columns[-1], keys), items)
    items = typed(per.inner, columns[:-1] or columns, types[:-1] or types, field.values, column)
    return _laid_out(field, answers.valid, keys_of(columns[-1], field.keys), items)


def _laid_out(maps: Maps, valid: Array | None, keys: pa.Array, items: pa.Array) -> pa.Array:
    """Maps of these keys and values as an Arrow array."""
    import pyarrow as pa

    lengths = maps.lengths if valid is None else np.where(valid, maps.lengths, np.int32(0))
    offsets = offsets_of(lengths)
    begins = offsets[:-1] if valid is None else np.where(valid, offsets[:-1], np.int32(-1))
    places = begins
    if maps.numbers is not None:
        places = np.full(len(maps.content.lengths), -1, np.int32)
        places[maps.numbers] = begins
        if (places[maps.numbers] != begins).any():
            return _shared(maps, maps.numbers, valid, keys, items)
    count = int(offsets[-1])
    key_words, words, there = fixed_words(keys, 32, 64), fixed_words(items, 64), None
    key_of = np.arange(len(keys), dtype=np.int32) if key_words is None else key_words
    value_of = np.arange(len(items)) if words is None else words
    out_keys, values = room(count, key_of.dtype), room(count, np.int64)
    if words is not None and items.null_count:
        there = items.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
        maps.content.lay_out(places, there, key_of, out_keys, values)
        there = values != 0
    maps.content.lay_out(places, value_of, key_of, out_keys, values)
    laid_out = items.take(pa.array(values)) if words is None else of_words(items.type, values, there)
    of_maps = _by_code(keys, out_keys, offsets) if key_words is None else of_words(keys.type, out_keys)
    return map_array(offsets, valid, of_maps, laid_out)


def _shared(maps: Maps, numbers: Array, valid: Array | None, keys: pa.Array, items: pa.Array) -> pa.Array:
    """The same where several rows have one map, which is laid out once."""
    import pyarrow as pa

    different, first_rows, number_of = np.unique(numbers, return_index=True, return_inverse=True)
    each = _laid_out(replace(maps, numbers=different, lengths=maps.lengths[first_rows]), None, keys, items)
    return each.take(pa.array(number_of, mask=None if valid is None else ~valid))


def _by_code(keys: pa.Array, codes: Array, offsets: Array) -> pa.Array:
    """The keys of maps that begin at offsets, by their codes."""
    import pyarrow as pa

    parts = text_parts(keys)
    if parts is None:
        return keys.take(pa.array(codes))
    begins, text = parts
    most = len(codes) * int(np.diff(begins).max(initial=0))
    if most > np.iinfo(np.int32).max:
        most = int(np.bincount(codes, minlength=len(keys)) @ np.diff(begins).astype(np.int64))
    if most > np.iinfo(np.int32).max:
        raise InputError(f"maps with {most:,} bytes of categories are too many for one column; take fewer rows at once")
    text_offsets, out = room(len(codes) + 1, np.int32), room(most + ROOM_BEHIND, np.uint8)
    size = write_texts(codes, offsets, begins, text, text_offsets, out)
    return of_text(keys.type, text_offsets, out[:size])


def maps_like(like: Series, op: Operator, columns: list[Column], fields: dict[str, Any], valid: Array | None) -> Series:
    """Maps as the same kind of series as the input; as objects, which are dicts, in NumPy and pandas."""
    import pyarrow as pa

    def arrow_type_of(column: Column) -> pa.DataType:
        if column.arrow is not None:
            return column.arrow
        if column.is_object:
            return pa.null()
        return column.time_type if column.unit is not None else pa.from_numpy_dtype(column.back(column.data[:0]).dtype)

    array = typed(op, columns, [arrow_type_of(column) for column in columns], Answers([fields[BARE]], valid))
    if kind_of(like) == "numpy" or (kind_of(like) == "pandas" and not is_arrow_backed(like)):
        return series_like(like, {BARE: object_array(python_maps(array))}, None)
    return series_like(like, {BARE: array}, None)
