"""A definition over a DataFrame of events, answered at the times of another one's rows: one shuffle of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from slidewise.definition import Definition
from slidewise.spark.batch.dataframe import shuffled
from slidewise.spark.batch.evaluator import cast_answers, evaluate_tables
from slidewise.spark.batch.plan import make_plan
from slidewise.spark.batch.query_evaluator import QueryEvaluator
from slidewise.spark.column_names import COPY, HIDDEN, QUERY, SLICE, numbered_names, numbered_schema, quoted
from slidewise.spark.label_union import label_union, with_label_times
from slidewise.spark.sort.external_sort import sort_tables
from slidewise.spark.worker.task import task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def as_of_dataframes(
    definition: Definition,
    labels: DataFrame,
    events: DataFrame,
    on: str | None,
    by: Mapping[str, str] | None,
    parallel: str = "auto",
) -> DataFrame:
    """The labels with one more column per aggregate; lazy, and planned from names and types alone.

    `parallel` is as for a definition over a DataFrame: slices of time get the events of one window before them.
    """
    from pyspark.sql import functions as F

    union = label_union(definition, labels, events, on, by)
    plan = make_plan(definition, union.common_schema(events.schema), parallel)
    rows = union.rows(labels, events)
    columns, sliced = list(union.columns), definition
    if plan.slices is not None:
        assert definition.on is not None
        numbers = dict(zip(columns, numbered_names(columns), strict=True))
        rows = plan.slices.cut(rows, numbers[definition.on])
        rows = rows.where(~F.col(quoted(numbers[QUERY])) | (F.col(COPY) == 0))  # only events are there for others
        sliced = Definition((SLICE, *definition.by), definition.on, definition.ties, dict(definition.columns))
        columns += [COPY, SLICE]
    rows = shuffled(sliced, rows.toDF(*columns), plan.left_to_spark is None).toDF(*numbered_names(columns))
    sort = plan.left_to_spark is None
    own = dict(union.own)
    terms = (sliced, union.results, columns, str(union.names.on), union.outputs, own, plan.slices is not None, sort)
    evaluation = task(evaluate_labels, *terms)
    return rows.mapInArrow(evaluation, numbered_schema(union.schema)).toDF(*union.schema.names)


def evaluate_labels(
    definition: Definition,
    types: dict[str, pa.DataType],
    names: list[str],
    on: str,
    outputs: tuple[str, ...],
    own: dict[str, str],
    is_sliced: bool,
    sort: bool,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The labels among the record batches of a Spark partition, with answers of these types; `on` is their time."""
    import pyarrow as pa

    tables: Iterator[pa.Table] = (
        with_label_times(pa.Table.from_batches([batch]).rename_columns(names), str(definition.on), on)
        for batch in batches
        if len(batch)
    )
    if sort:
        tables = sort_tables(definition, tables, HIDDEN if is_sliced else ())
    for table in evaluate_tables(QueryEvaluator(definition, outputs, is_sliced, own), tables):
        answered = cast_answers(table, types)
        yield from answered.rename_columns(numbered_names(answered.column_names)).combine_chunks().to_batches()
