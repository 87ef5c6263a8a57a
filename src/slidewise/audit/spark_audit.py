"""The audit of a log on Spark: each task compares its rows, and only counts and the earliest differences come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.audit.audit import Audit
from slidewise.audit.comparing import check_comparable
from slidewise.audit.partial import PartialColumn, compare_column, finished, listed_schema
from slidewise.audit.served_log import ServedLog
from slidewise.audit.times import Stretches, ticks_of
from slidewise.definition import Definition
from slidewise.errors import InputError, SlidewiseError
from slidewise.spark.column_names import numbered_names, quoted
from slidewise.spark.types import arrow_type
from slidewise.spark.worker.task import task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

Recompute = Callable[["DataFrame"], "DataFrame"]
# What a task gives for each column; `listed` is a table as Arrow's bytes.
PART = (
    "column string, rows bigint, differ bigint, missing bigint, extra bigint, largest double, first {time}, "
    "last {time}, buckets array<bigint>, rows_by_time array<bigint>, listed binary"
)


def audit_dataframe(
    definition: Definition, log: ServedLog, served: DataFrame, recompute: Recompute, tolerance: float, limit: int
) -> Audit:
    """The audit of a DataFrame of served answers; `recompute` is that of `audit_table`, for DataFrames."""
    from pyspark.sql import functions as F

    # Under other names, for a log has its answers in columns that are named like the aggregates.
    names = {column: f"__slidewise_served_{number}" for number, column in enumerate(log.columns)}
    hidden = log._replace(columns=names)
    rows = served.select(
        *[F.col(quoted(name)) for name in log.requests],
        *[F.col(quoted(log.columns[column])).alias(name) for column, name in names.items()],
    )
    answers = recompute(rows)  # first: it checks types before anything runs
    types = _types(log, hidden, answers)
    time = F.col(quoted(log.at))
    span = rows.agg(F.count(F.lit(1)).alias("rows"), F.count(time).alias("timed"), F.min(time), F.max(time)).toArrow()
    count, timed = span["rows"][0].as_py(), span["timed"][0].as_py()
    if count != timed:
        raise InputError(
            f"column {log.at!r} of the log has {count - timed:,} null{'s' * (count - timed > 1)}, and an answer has a "
            "time; drop these rows"
        )
    schema = _arrow_schema(answers)
    kind = schema.field(log.at).type
    stretches = Stretches.of(*(ticks_of(span.column(at))[0].item() for at in (2, 3))) if count else Stretches(0, 0, 0)
    parts = (
        answers.toDF(*numbered_names(answers.columns))
        .mapInArrow(
            task(compare_batches, hidden, answers.columns, stretches, tolerance, limit),
            PART.format(time="double" if isinstance(stretches.begin, float) else "bigint"),
        )
        .toArrow()
    )
    columns, buckets, compared = _merged(hidden, parts, stretches, listed_schema(hidden, schema), limit)
    if compared != count:
        raise SlidewiseError(
            f"the log has {count:,} rows, and {compared:,} were compared: the numbers do not add up; did the log "
            "change meanwhile?"
        )
    return finished(
        log,
        columns,
        types,
        rows=count,
        time=kind,
        stretches=stretches if count else None,
        buckets=buckets,
        definition=definition,
        tolerance=tolerance,
        limit=limit,
        as_served=lambda table: table,
        engine={"Spark": served.sparkSession.version},
    )


def compare_batches(
    log: ServedLog,
    names: list[str],
    stretches: Stretches,
    tolerance: float,
    limit: int,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """One row for each column: what a task's rows, which have their served and their recomputed answers, come to."""
    import pyarrow as pa

    columns: dict[str, PartialColumn] = {}
    rows, by_time = 0, np.zeros(stretches.count, np.int64)
    for batch in batches:
        if not len(batch):
            continue
        table = pa.Table.from_batches([batch]).rename_columns(names)
        rows += len(table)
        by_time += np.bincount(stretches.number_of(ticks_of(table.column(log.at))), minlength=stretches.count)
        for column in log.columns:
            part = compare_column(column, log, table, table.column(column), stretches, tolerance, limit)
            if column in columns:
                part = columns[column].merged(part, log.listed_names()[-1], limit)
            columns[column] = part
    floats = isinstance(stretches.begin, float)
    for column, part in columns.items():
        yield pa.RecordBatch.from_pydict(
            {
                "column": [column],
                "rows": [rows],
                "differ": [part.differ],
                "missing": [part.missing],
                "extra": [part.extra],
                "largest": pa.array([part.largest], pa.float64()),
                "first": pa.array([part.first], pa.float64() if floats else pa.int64()),
                "last": pa.array([part.last], pa.float64() if floats else pa.int64()),
                "buckets": pa.array([part.buckets], pa.list_(pa.int64())),
                "rows_by_time": pa.array([by_time], pa.list_(pa.int64())),
                "listed": pa.array([_bytes_of(part.listed)], pa.binary()),
            }
        )


def _merged(
    log: ServedLog, parts: pa.Table, stretches: Stretches, schema: pa.Schema, limit: int
) -> tuple[dict[str, PartialColumn], Any, int]:
    """The columns of all tasks together, the rows in each stretch of time, and how many there are."""
    import pyarrow as pa

    zeros = np.zeros(stretches.count, np.int64)
    columns: dict[str, PartialColumn] = {}
    rows, by_time = 0, zeros.copy()
    of_tasks: dict[str, list[PartialColumn]] = {column: [] for column in log.columns}
    for row in parts.to_pylist():
        if row["column"] == next(iter(log.columns)):
            rows += row["rows"]
            by_time += np.array(row["rows_by_time"], np.int64)
        listed = pa.ipc.open_stream(row["listed"]).read_all().cast(schema)
        counts = {name: row[name] for name in ("differ", "missing", "extra", "largest", "first", "last")}
        part = PartialColumn(**counts, buckets=np.array(row["buckets"], np.int64), listed=listed)
        of_tasks[row["column"]].append(part)
    for column, tasks in of_tasks.items():
        nothing = PartialColumn(0, 0, 0, None, None, None, zeros, schema.empty_table())
        merged = reduce(lambda a, b: a.merged(b, log.listed_names()[-1], limit), tasks, nothing)
        columns[column] = merged
    return columns, by_time, rows


def _bytes_of(table: pa.Table) -> bytes:
    """A table as Arrow's bytes, without the rows' numbers, for a DataFrame has no order."""
    import pyarrow as pa

    numbers = table.column_names.index("row")
    table = table.set_column(numbers, table.schema.field(numbers), pa.nulls(len(table), pa.int64()))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _types(log: ServedLog, hidden: ServedLog, answers: DataFrame) -> dict[str, tuple[str, str]]:
    """The types of served and recomputed columns, or an error where they cannot be compared."""
    schema = _arrow_schema(answers)
    types = {}
    for column, name in log.columns.items():
        served, recomputed = schema.field(hidden.columns[column]).type, schema.field(column).type
        check_comparable(served, recomputed, column, name)
        types[column] = str(served), str(recomputed)
    return types


def _arrow_schema(df: DataFrame) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([(field.name, _arrow_type(field.name, field.dataType)) for field in df.schema.fields])


def _arrow_type(name: str, kind: DataType) -> pa.DataType:
    """The Arrow type in which Spark hands a column to Python, answers of every kind included."""
    import pyarrow as pa
    from pyspark.sql import types as spark

    if isinstance(kind, spark.ArrayType):
        return pa.list_(_arrow_type(name, kind.elementType))
    if isinstance(kind, spark.StructType):
        return pa.struct([(field.name, _arrow_type(name, field.dataType)) for field in kind.fields])
    if isinstance(kind, spark.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, spark.NullType):
        return pa.null()
    return pa.binary() if isinstance(kind, spark.BinaryType) else arrow_type(name, kind)
