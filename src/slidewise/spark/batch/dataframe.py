"""A definition over a Spark table: one shuffle by the keys' hash; tasks sort, and go through the kernels once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slidewise.definition import Definition, check_names
from slidewise.errors import InputError, SlidewiseError
from slidewise.spark.batch.plan import Plan, planned
from slidewise.spark.batch.sorted_batches import numbered
from slidewise.spark.batch.time_slices import HIDDEN, SLICE, quoted
from slidewise.spark.sort.sort import sort_columns
from slidewise.spark.types import answers_of, as_arrow_type, as_spark_type
from slidewise.spark.worker.task import task
from slidewise.windows import Duration


def over_dataframe(definition: Definition, df: Any, parallel: str = "auto", presorted: bool = False) -> Any:
    """The DataFrame with one more column per aggregate, or its beats; lazy, and planned from names and types alone.

    `parallel="by_key"` brings rows of one key together in one task, sorted by time, and they leave it in that order.
    `"by_time"` also cuts time into slices, so that one key keeps every core busy; it takes windows of time only.
    `"auto"` is by key where there are keys, and by time where there are none. `presorted=True` says that each partition
    is sorted by key and time already and no key is in two of them: there is no shuffle and no sort then, and the order
    is verified while running.
    """
    schema, plan = planned_for(definition, df, parallel, presorted)
    kinds = answer_types(definition, df.schema)
    sliced = definition
    if plan.slices is not None:
        assert definition.on is not None
        df = plan.slices.cut(df, definition.on)
        beat = definition.every, definition.offset
        sliced = Definition((SLICE, *definition.by), definition.on, definition.ties, dict(definition.columns), *beat)
    sort = not presorted and plan.left_to_spark is None
    if not presorted:
        df = _arranged(sliced, df, sort)
    names = df.columns
    if len(set(names)) == len(names) and not any("." in name or "`" in name for name in schema.names):
        return df.mapInArrow(_carried(sliced, kinds, None, plan.slices, presorted, sort), schema)
    # Names that mapInArrow cannot tell, or cannot tell apart: columns go there and back under their numbers.
    numbers = _carried(sliced, kinds, names, plan.slices, presorted, sort)
    return df.toDF(*numbered(names)).mapInArrow(numbers, numbered_schema(schema)).toDF(*schema.names)


def _carried(*given: Any) -> Callable[[Any], Any]:
    return task("slidewise.spark.batch.sorted_batches", "batches_of", *given)


def planned_for(definition: Definition, df: Any, parallel: str = "auto", presorted: bool = False) -> tuple[Any, Plan]:
    """The result's schema and the plan, or an error; nothing runs."""
    input_schema = df.schema
    check(definition, input_schema)
    return result_schema(definition, input_schema), planned(definition, input_schema, parallel, presorted)


def check(definition: Definition, schema: Any) -> None:
    """Every column that is read is there, and none that is added; the time is a time."""
    check_names(definition, schema.names, "DataFrame")
    for name in HIDDEN:
        if name in schema.names:
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
    for name, aggregate in definition.columns.items():
        last = None if aggregate.window is None else aggregate.window.last
        if last is not None and numbers == isinstance(last, Duration):
            raise InputError(
                f"column {name!r}: on={on!r} holds {'numbers' if numbers else 'times'}, but the window is {last}; "
                f"give it as {'a number' if numbers else 'a duration'}"
            )
        condition = aggregate.condition
        if condition is not None and schema[condition].dataType.simpleString() != "boolean":
            raise InputError(f"where({condition!r}) needs a boolean column")


def answer_types(definition: Definition, schema: Any) -> dict[str, Any]:
    """The Arrow type of each aggregate's answers."""
    found = {}
    for name, aggregate in definition.columns.items():
        try:
            types = [as_arrow_type(column, schema[column].dataType) for column in aggregate.columns]
            _check_numbers(aggregate, types)
            found[name] = answers_of(aggregate, types)
        except SlidewiseError as error:
            raise type(error)(f"column {name!r}: {error}") from error
    return found


def result_schema(definition: Definition, schema: Any) -> Any:
    """The input's fields, or on a beat the keys and the time; and one for each aggregate, which may be null."""
    from pyspark.sql.types import StructField, StructType

    added = [StructField(name, as_spark_type(kind), True) for name, kind in answer_types(definition, schema).items()]
    if definition.every is None:
        return StructType([*schema.fields, *added])
    check_beats(definition, schema)
    return StructType([*(schema[name] for name in (*definition.by, str(definition.on))), *added])


def check_beats(definition: Definition, schema: Any) -> None:
    """Beats are times of the time column's type."""
    from slidewise.engine.beats.parts import SlicePlan

    kind = schema[definition.on].dataType.simpleString()
    units = {"timestamp": 1_000, "timestamp_ntz": 1_000, "date": 86_400 * 10**9}
    SlicePlan(definition, in_batch=True).beats(units.get(kind), kind in ("float", "double"), kind)


def numbered_schema(schema: Any) -> Any:
    from pyspark.sql.types import StructField, StructType

    names = numbered(schema.names)
    return StructType([StructField(name, f.dataType, f.nullable) for name, f in zip(names, schema.fields, strict=True)])


def _check_numbers(aggregate: Any, types: list[Any]) -> None:
    """What the kernels would refuse is refused before anything runs."""
    import pyarrow as pa

    from slidewise.columns.operator_types import check_type
    from slidewise.columns.series import read

    for name, kind in zip(aggregate.columns, types, strict=True):
        sample = read(pa.array([_ONE.get(str(kind), 1)]).cast(kind) if str(kind) in _ONE else pa.nulls(1, kind), name)
        if sample.valid is None or sample.unit is not None:
            check_type(aggregate.operator, sample, repr(name))


_ONE: dict[str, Any] = {"string": "a", "bool": True, "int64": 1, "double": 1.0, "binary": b"a"}


def _arranged(definition: Definition, df: Any, sort: bool) -> Any:
    """One shuffle by a hash of the keys, and one sort within partitions unless workers `sort`.

    Never by the bare columns: after a join on the key Spark would drop that shuffle, and adaptive execution may then
    split what must stay together.
    """
    from pyspark.sql import functions as F

    if definition.by:
        df = df.repartition(F.xxhash64(*[one_zero(df, name) for name in definition.by]))
    else:
        df = df.repartition(1)
    if sort:
        return df
    return df.sortWithinPartitions(*[F.col(quoted(name)).asc_nulls_first() for name in sort_columns(definition)])


def one_zero(df: Any, name: str) -> Any:
    """A key for the hash: 0.0 and -0.0 are one."""
    from pyspark.sql import functions as F

    column = F.col(quoted(name))
    if df.schema[name].dataType.simpleString() in ("float", "double"):
        return F.when(column == 0.0, F.lit(0.0)).otherwise(column)
    return column
