"""A definition over a Spark DataFrame: one shuffle by the keys' hash, then each task sorts and evaluates its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.definition import Definition
from slidewise.spark.batch.evaluator import evaluate_partition
from slidewise.spark.batch.plan import Plan, make_plan
from slidewise.spark.column_names import SLICE, numbered_names, numbered_schema, quoted
from slidewise.spark.schema import check_schema, column_types, normalized_key, result_schema
from slidewise.spark.sort.external_sort import sort_columns
from slidewise.spark.worker.task import RecordBatches, task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def over_dataframe(definition: Definition, df: DataFrame, parallel: str = "auto", presorted: bool = False) -> DataFrame:
    """The DataFrame with one more column per aggregate, or its beats; lazy, and planned from names and types alone.

    `parallel="by_key"` brings rows of one key together in one task, sorted by time, and they leave it in that order.
    `"by_time"` also cuts time into slices, so that one key keeps every core busy; it takes windows of time only.
    `"auto"` is by key where there are keys, and by time where there are none. `presorted=True` says that each partition
    is sorted by key and time already and no key is in two of them: there is no shuffle and no sort then, and the order
    is verified while running.
    """
    schema, plan = plan_dataframe(definition, df, parallel, presorted)
    types = column_types(definition, df.schema)
    sliced = definition
    if plan.slices is not None:
        assert definition.on is not None
        df = plan.slices.cut(df, definition.on)
        beat = definition.every, definition.offset
        sliced = Definition((SLICE, *definition.by), definition.on, definition.ties, dict(definition.columns), *beat)
    sort = not presorted and plan.left_to_spark is None
    if not presorted:
        df = shuffled(sliced, df, sort)
    names = df.columns

    def evaluation(names: list[str] | None) -> RecordBatches:
        return task(evaluate_partition, sliced, types, names, plan.slices, presorted, sort)

    if len(set(names)) == len(names) and not any("." in name or "`" in name for name in schema.names):
        return df.mapInArrow(evaluation(None), schema)
    # Names that mapInArrow cannot tell, or cannot tell apart: columns go there and back under their numbers.
    numbered = df.toDF(*numbered_names(names))
    return numbered.mapInArrow(evaluation(names), numbered_schema(schema)).toDF(*schema.names)


def plan_dataframe(
    definition: Definition, df: DataFrame, parallel: str = "auto", presorted: bool = False
) -> tuple[StructType, Plan]:
    """The result's schema and the plan, or an error; nothing runs."""
    input_schema = df.schema
    check_schema(definition, input_schema)
    return result_schema(definition, input_schema), make_plan(definition, input_schema, parallel, presorted)


def shuffled(definition: Definition, df: DataFrame, sort: bool) -> DataFrame:
    """One shuffle by a hash of the keys, and one sort within partitions unless workers `sort`.

    Never by the bare columns: after a join on the key Spark would drop that shuffle, and adaptive execution may then
    split what must stay together.
    """
    from pyspark.sql import functions as F

    if definition.by:
        df = df.repartition(F.xxhash64(*[normalized_key(df, name) for name in definition.by]))
    else:
        df = df.repartition(1)
    if sort:
        return df
    return df.sortWithinPartitions(*[F.col(quoted(name)).asc_nulls_first() for name in sort_columns(definition)])
