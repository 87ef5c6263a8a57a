"""Conversion of types between Spark and Arrow: of the columns that are aggregated, and of the answers."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from slidewise.errors import InputError
from slidewise.operators.aggregate import Aggregate
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

# Spark's plain types, whose values Arrow orders and moves as they are.
SIMPLE = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_SAMPLES: dict[Any, Any] = {
    pa.string(): "a",
    pa.binary(): b"a",
    pa.bool_(): True,
    pa.float64(): 1.0,
    pa.float32(): 1.0,
    pa.date32(): date(2024, 1, 1),
    pa.timestamp("us", "UTC"): datetime(2024, 1, 1, tzinfo=UTC),
    pa.timestamp("us"): datetime(2024, 1, 1),
}


def arrow_type(name: str, kind: DataType) -> pa.DataType:
    """The Arrow type in which Spark hands a column to Python."""
    arrow = SIMPLE.get(kind.simpleString())
    if arrow is None:
        raise InputError(
            f"column {name!r} has Spark's type {kind.simpleString()}, which cannot be aggregated; cast it to double, "
            "bigint or string first"
        )
    return arrow


def spark_type(kind: pa.DataType) -> DataType:
    """The Spark type of answers of an Arrow type."""
    from pyspark.sql import types as spark

    simple = {
        "int8": spark.ByteType(),
        "int16": spark.ShortType(),
        "int32": spark.IntegerType(),
        "int64": spark.LongType(),
        "float": spark.FloatType(),
        "double": spark.DoubleType(),
        "bool": spark.BooleanType(),
        "string": spark.StringType(),
        "binary": spark.BinaryType(),
        "date32[day]": spark.DateType(),
        "timestamp[us, tz=UTC]": spark.TimestampType(),
        "timestamp[us]": spark.TimestampNTZType(),
    }
    if str(kind) in simple:
        return simple[str(kind)]
    if pa.types.is_map(kind):
        return spark.MapType(spark_type(kind.key_type), spark_type(kind.item_type), True)
    if pa.types.is_list(kind):
        return spark.ArrayType(spark_type(kind.value_type), True)
    if pa.types.is_struct(kind):
        return spark.StructType([spark.StructField(field.name, spark_type(field.type), True) for field in kind])
    raise InputError(
        f"answers of the type {kind} have no type in Spark; it has int8 to int64, float and double, bool, string, "
        "binary, date32, timestamp('us') without a zone or in UTC, and lists, structs and maps of them"
    )


def answer_type_of(aggregate: Aggregate, types: list[pa.DataType]) -> pa.DataType:
    """The Arrow type of an aggregate's answers, found without any row."""
    return _answer_type(aggregate.operator, types)


def _answer_type(op: Operator, types: list[pa.DataType]) -> pa.DataType:
    from slidewise.columns.operator_types import answer_type

    if op.traits.per is not None:
        return pa.map_(types[-1], _answer_type(op.traits.per.inner, types[:-1] or types))
    kind = answer_type(op, types) if op.answers is None else op.answers
    if kind is not None:
        return kind
    if op.traits.answer is AnswerKind.OBJECT:
        raise InputError(f"{op.name} answers with an object that no table can hold")
    return _users_answer_type(op, types)


def _users_answer_type(op: Operator, types: list[pa.DataType]) -> pa.DataType:
    """The type of a user's operator's answers: that of its kernel, or of its answer for one row."""
    from slidewise.columns.arrow_values import arrow_array, holds
    from slidewise.kernels.codegen.kernel import kernel_for

    dtypes = tuple(
        "float64" if pa.types.is_floating(kind) else "bool" if pa.types.is_boolean(kind) else "int64" for kind in types
    )
    if all(pa.types.is_integer(k) or pa.types.is_floating(k) or pa.types.is_boolean(k) for k in types):
        kernel = kernel_for(op, dtypes)
        if kernel is not None:
            parts = [pa.type_for_alias(output) for output in kernel.layout.outputs]
            names = kernel.layout.names or map(str, range(len(parts)))
            return parts[0] if kernel.layout.single else pa.struct(list(zip(names, parts, strict=True)))
    try:
        answer = op.lower(op.lift(*(_SAMPLES.get(kind, 1) for kind in types)))
        kind = arrow_array([answer]).type
    except Exception as error:
        raise InputError(
            f"what type {op.name!r} answers cannot be told from its functions: {error!r} on a made-up row; {_DECLARE}"
        ) from error
    if holds(kind, pa.types.is_null):
        raise InputError(
            f"what type {op.name!r} answers cannot be told from its functions: {answer!r} on a made-up row; {_DECLARE}"
        )
    return kind


_DECLARE = "declare it, as in sw.operator(..., answers='int64') or answers=pa.struct(...)"
