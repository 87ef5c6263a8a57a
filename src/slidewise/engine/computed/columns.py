"""Columns that expressions compute over a batch: the arguments of aggregates before them, and results behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.columns.frames import Frame
from slidewise.definition import Definition
from slidewise.engine.sorting import as_arrow
from slidewise.errors import ExpressionError, InputError, NumberOverflowError, SlidewiseError
from slidewise.expressions.expression import Expression, RowColumn, leaves_of
from slidewise.expressions.kinds import UNKNOWN, ValueKind
from slidewise.expressions.over_arrays import RowOverflowError, evaluate_all
from slidewise.expressions.type_inference import kind_of, kind_of_type, type_of
from slidewise.kernels.compiler.threads import share_out
from slidewise.operators.aggregate import Aggregate
from slidewise.stages import Answer, columns_read, reader_of

if TYPE_CHECKING:
    import pyarrow as pa

# A column by its name, as an Arrow array.
ReadColumn = Callable[[str], "pa.Array | pa.ChunkedArray"]
RowLabel = Callable[[int], str]


def argument_arrays(
    definition: Definition, column: ReadColumn, count: int, label: RowLabel, names: Iterable[str] | None = None
) -> dict[str, pa.Array]:
    """The computed columns that aggregates read, or those of these names; `label` names a row in an error."""
    arguments = definition.stages.arguments
    wanted = {name: arguments[name] for name in (arguments if names is None else names)}

    def leaf_array(leaf: Expression) -> pa.Array | pa.ChunkedArray:
        return column(_name_of(leaf))

    try:
        computed = evaluate_all(wanted, leaf_array, count, share_out)
    except SlidewiseError as error:
        readers = {name: reader_of(definition.stages.columns, argument) for name, argument in wanted.items()}
        raise _of_column(error, wanted, readers, leaf_array, count, label) from error
    for name, array in computed.items():
        _check_condition(definition, name, array.type)
    return computed


def result_arrays(
    definition: Definition, answers: Mapping[str, pa.Array], own: ReadColumn, count: int, label: RowLabel
) -> dict[str, pa.Array]:
    """The definition's columns in their order, of the answers of all aggregates and the rows' own columns."""
    results = definition.stages.results
    if not results:
        return {name: answers[name] for name in definition.columns}

    def leaf_array(leaf: Expression) -> pa.Array | pa.ChunkedArray:
        return answers[leaf.name] if isinstance(leaf, Answer) else own(_name_of(leaf))

    try:
        computed = evaluate_all(results, leaf_array, count, share_out)
    except SlidewiseError as error:
        names = {name: name for name in results}
        raise _of_column(error, results, names, leaf_array, count, label) from error
    return {name: computed[name] if name in computed else answers[name] for name in definition.columns}


def _of_column(
    problem: SlidewiseError,
    expressions: Mapping[str, Expression],
    readers: Mapping[str, str],
    leaf_array: Callable[[Expression], pa.Array | pa.ChunkedArray],
    count: int,
    label: RowLabel,
) -> SlidewiseError:
    """The error with the first column that has it, and the row; expressions are computed one by one to find it.

    `readers` are the definition's columns that they are computed for.
    """
    for name, expression in expressions.items():
        try:
            evaluate_all({name: expression}, leaf_array, count)
        except RowOverflowError as error:
            return NumberOverflowError(f"column {readers[name]!r}: {error}; at {label(error.row)}")
        except SlidewiseError as error:
            return type(error)(f"column {readers[name]!r}: {error}")
    return problem


def _name_of(leaf: Expression) -> str:
    assert isinstance(leaf, RowColumn)
    return leaf.name


def as_array(frame: Frame, name: str) -> pa.Array:
    """A column of a frame as one Arrow array."""
    return series_array(frame.column(name), name)


def series_array(series: Any, name: str) -> pa.Array:
    """A series as one Arrow array; `name` is what an error calls it."""
    import pyarrow as pa

    try:
        return as_arrow(series)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(
            f"the column {name!r} holds values of several kinds, which no expression can take: {error}; make them one"
        ) from error


def frame_label(definition: Definition, frame: Frame, row: int, names: Mapping[str, str] | None = None) -> str:
    """The key and the time of a frame's row, for errors; `names` are what its columns are called instead."""
    parts = [(names or {}).get(name, name) for name in (*definition.by, definition.on) if name is not None]
    values = [as_array(frame.take(np.array([row])), name)[0].as_py() for name in parts]
    return ", ".join([f"{name}={value}" for name, value in zip(parts, values, strict=True)]) or f"row {row}"


def with_arguments(definition: Definition, table: pa.Table, label: Callable[[pa.Table, int], str]) -> pa.Table:
    """The table with the computed columns that aggregates read behind its own."""
    if not definition.stages.arguments:
        return table
    arrays = argument_arrays(definition, table.column, len(table), lambda row: label(table, row))
    for name, array in arrays.items():
        table = table.append_column(name, array)
    return table


def extended_schema(definition: Definition, schema: pa.Schema) -> pa.Schema:
    """The schema with fields for the computed columns that aggregates read."""
    import pyarrow as pa

    types = argument_types(definition, lambda name: schema.field(name).type)
    return pa.schema([*schema, *(pa.field(name, kind) for name, kind in types.items())], schema.metadata)


def argument_types(definition: Definition, column: Callable[[str], pa.DataType]) -> dict[str, pa.DataType]:
    """The Arrow types of computed columns, of those of the rows' own; an error where an expression makes no sense."""
    types = {}
    for name, expression in definition.stages.arguments.items():
        try:
            types[name] = type_of(expression, lambda leaf: column(_name_of(leaf)))
        except ExpressionError as error:
            raise ExpressionError(f"column {reader_of(definition.stages.columns, expression)!r}: {error}") from error
        _check_condition(definition, name, types[name])
    return types


def _check_condition(definition: Definition, name: str, kind: pa.DataType) -> None:
    """Refuse a computed column that is no condition where one is wanted."""
    if str(kind) == "bool":
        return
    for aggregate in definition.aggregates.values():
        for what, wanted in (("where", aggregate.condition), ("since", aggregate.since)):
            if wanted == name:
                expression = definition.stages.arguments[name]
                reader = reader_of(definition.stages.columns, expression)
                raise ExpressionError(
                    f"column {reader!r}: {what} takes a condition, and `{expression}` is {kind_of_type(kind).value}"
                )


def result_types(
    definition: Definition, answers: Mapping[str, pa.DataType], own: Callable[[str], pa.DataType]
) -> dict[str, pa.DataType]:
    """The Arrow types of the definition's columns, of those of all aggregates' answers and the rows' own columns."""

    def leaf_type(leaf: Expression) -> pa.DataType:
        return answers[leaf.name] if isinstance(leaf, Answer) else own(_name_of(leaf))

    types = {}
    for name in definition.columns:
        if name not in definition.stages.results:
            types[name] = answers[name]
            continue
        try:
            types[name] = type_of(definition.stages.results[name], leaf_type)
        except SlidewiseError as error:
            raise type(error)(f"column {name!r}: {error}") from error
    return types


def check_results(
    definition: Definition, answers: Mapping[str, pa.DataType | None], own: Callable[[str], pa.DataType]
) -> None:
    """Refuse results whose parts do not go together; an aggregate's type is None where only its answers tell it."""

    def leaf_kind(leaf: Expression) -> ValueKind:
        kind = answers[leaf.name] if isinstance(leaf, Answer) else own(_name_of(leaf))
        return UNKNOWN if kind is None else kind_of_type(kind)

    for name, result in definition.stages.results.items():
        try:
            kind_of(result, leaf_kind)
        except SlidewiseError as error:
            raise type(error)(f"column {name!r}: {error}") from error


def like_column(definition: Definition, name: str) -> str | None:
    """The column whose kind of series a column of answers should have: the first that it reads, if any."""
    for leaf in leaves_of(definition.columns[name]):
        if isinstance(leaf, RowColumn):
            return leaf.name
        if isinstance(leaf, Aggregate) and columns_read(leaf):
            return columns_read(leaf)[0]
    return None
