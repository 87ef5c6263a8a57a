"""A DataFrame's schema under a definition: validation of its columns, and the schema and types of the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.definition import Definition, check_names
from slidewise.engine.computed.columns import argument_types, result_types
from slidewise.errors import InputError, SlidewiseError
from slidewise.operators.aggregate import PlainAggregate
from slidewise.spark.column_names import RESERVED, label_name, numbered_names, quoted
from slidewise.spark.types import SIMPLE, answer_type_of, arrow_type, spark_type
from slidewise.windows import Duration, Months
from slidewise.windows.calendar import MOMENTS_NEEDED
from slidewise.windows.zones import NO_DATES

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType


def check_schema(definition: Definition, schema: StructType, *, added: bool = True) -> None:
    """Check that columns which are read are there and those which are `added` are not, and that their types fit."""
    check_names(definition, schema.names, "DataFrame", added=added)
    for name in schema.names:
        if name in RESERVED or name.startswith(label_name(0)[:-1]) or name in definition.stages.arguments:
            raise InputError(f"the DataFrame has a column {name!r}, a name that Slidewise uses itself; rename it")
    for name in definition.by:
        kind = schema[name].dataType.simpleString()
        if kind.startswith(("struct", "array", "map", "variant")):
            raise InputError(f"the key {name!r} has Spark's type {kind}; name plain columns, such as fields of it")
        if " collate " in kind:
            raise InputError(
                f"the key {name!r} has Spark's type {kind}, in which different texts are equal; make it plain: "
                f"F.collate(F.lower({name!r}), 'UTF8_BINARY')"
            )
    for name in definition.ties:
        if "map<" in schema[name].dataType.simpleString():
            raise InputError(f"ties= names {name!r}, a map, which has no order; name plain columns")
    on = definition.on
    if on is None:
        raise InputError("rows of a DataFrame have no order; give the definition a time column with on=")
    kind = schema[on].dataType.simpleString()
    numbers = kind in ("tinyint", "smallint", "int", "bigint", "float", "double")
    if not numbers and kind not in ("timestamp", "timestamp_ntz", "date"):
        read = f"; read it as times first: df.withColumn({on!r}, F.to_timestamp({on!r}))" if kind == "string" else ""
        raise InputError(f"on={on!r} has Spark's type {kind}; it must be a timestamp, a date or a number{read}")
    for name, aggregate in definition.aggregates.items():
        last = None if aggregate.window is None else aggregate.window.measure
        if numbers and aggregate.window is not None and aggregate.window.needs_moments:
            raise InputError(
                f"column {name!r}: on={on!r} holds numbers, and {aggregate.window.words} is a part of the calendar; "
                f"{MOMENTS_NEEDED}"
            )
        zone = None if aggregate.window is None else aggregate.window.zone
        if zone is not None and kind == "date":
            raise InputError(f"column {name!r}: on={on!r} holds dates, but zone={zone!r} is given: {NO_DATES}")
        if aggregate.window is not None and last is not None and numbers == isinstance(last, Duration | Months):
            raise InputError(
                f"column {name!r}: on={on!r} holds {'numbers' if numbers else 'times'}, but the window is {last}; "
                f"give it as {'a number' if numbers else f'a duration, such as {aggregate.window.as_duration}'}"
            )
        for what, condition in (("where", aggregate.condition), ("since", aggregate.since)):
            if condition in schema.names and schema[condition].dataType.simpleString() != "boolean":
                raise InputError(f"{what}({condition!r}) needs a boolean column")


def answer_types(definition: Definition, schema: StructType) -> dict[str, pa.DataType]:
    """The Arrow type of each aggregate's answers."""
    answers = {}
    computed = computed_types(definition, schema)
    for name, aggregate in definition.aggregates.items():
        try:
            types = [
                computed[column] if column in computed else arrow_type(column, schema[column].dataType)
                for column in aggregate.columns
            ]
            _check_inputs(aggregate, types)
            answers[name] = answer_type_of(aggregate, types)
        except SlidewiseError as error:
            raise type(error)(f"column {name!r}: {error}") from error
    return answers


def computed_types(definition: Definition, schema: StructType) -> dict[str, pa.DataType]:
    """The Arrow types of the columns that expressions compute for aggregates."""
    return argument_types(definition, lambda name: own_type(schema, name))


def column_types(definition: Definition, schema: StructType, own: StructType | None = None) -> dict[str, pa.DataType]:
    """The Arrow type of each column that comes out; `own` is the schema of rows that ask, if not of the events."""
    asked = schema if own is None else own
    return result_types(definition, answer_types(definition, schema), lambda name: own_type(asked, name))


def own_type(schema: StructType, name: str) -> pa.DataType:
    """The Arrow type of a column that expressions read; one that no expression can take has a type of its own."""
    import pyarrow as pa

    kind = schema[name].dataType
    return SIMPLE.get(kind.simpleString()) or pa.struct([(kind.simpleString(), pa.null())])


def result_schema(definition: Definition, schema: StructType) -> StructType:
    """The input's fields, or on a beat the keys and the time; and one for each column, which may be null."""
    from pyspark.sql.types import StructField, StructType

    added = [StructField(name, spark_type(kind), True) for name, kind in column_types(definition, schema).items()]
    if definition.every is None:
        return StructType([*schema.fields, *added])
    check_beats(definition, schema)
    return StructType([*(schema[name] for name in (*definition.by, str(definition.on))), *added])


def check_beats(definition: Definition, schema: StructType) -> None:
    """Check that the time column's type can hold the definition's beats."""
    from slidewise.engine.beats.parts import SlicePlan

    kind = schema[definition.on].dataType.simpleString()
    units = {"timestamp": 1_000, "timestamp_ntz": 1_000, "date": 86_400 * 10**9}
    SlicePlan(definition, in_batch=True).beats(units.get(kind), kind in ("float", "double"), kind)


def _check_inputs(aggregate: PlainAggregate, types: list[pa.DataType]) -> None:
    """Refuse columns that the kernels would refuse, before anything runs."""
    import pyarrow as pa

    from slidewise.columns.operator_types import check_types
    from slidewise.columns.series import read

    samples = []
    for name, kind in zip(aggregate.columns, types, strict=True):
        sample = read(
            pa.array([_SAMPLES.get(str(kind), 1)]).cast(kind) if str(kind) in _SAMPLES else pa.nulls(1, kind), name
        )
        samples.append(sample)
    check_types(aggregate.operator, samples, [repr(name) for name in aggregate.columns])


_SAMPLES: dict[str, Any] = {"string": "a", "bool": True, "int64": 1, "double": 1.0, "binary": b"a"}


def hashed_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema of a stream's rows behind the hashes of their keys, as `packing` gives them to shards."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    from slidewise.spark.state.buckets import HASH

    fields = to_arrow_schema(schema, timezone="UTC")
    return pa.schema([pa.field(HASH, pa.int64()), *(field.with_nullable(True).remove_metadata() for field in fields)])


def with_key_hash(definition: Definition, df: DataFrame) -> DataFrame:
    """The rows under numbers, and before them their keys' hash, by which a stream and its history choose shards."""
    from pyspark.sql import functions as F

    keys = [normalized_key(df, name) for name in definition.by]
    key_hash = F.xxhash64(*keys) if keys else F.lit(0).cast("long")
    return df.select(key_hash, "*").toDF("hash", *numbered_names(df.columns))


def normalized_key(df: DataFrame, name: str) -> Column:
    """A key column as it is hashed: with -0.0 as 0.0, since these are equal."""
    from pyspark.sql import functions as F

    column = F.col(quoted(name))
    if df.schema[name].dataType.simpleString() in ("float", "double"):
        return F.when(column == 0.0, F.lit(0.0)).otherwise(column)
    return column
