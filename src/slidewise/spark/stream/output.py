"""Answers on their way out of a stream's state: as rows where all columns are of plain types, and else as blobs.

PySpark takes answers as pandas tables. Plain columns lie in these as Arrow has them, and reach Spark as they are; lists
and structs would be gone through value by value, so rows that have some travel as one value, and are unpacked later.
Rows dropped as late, and those put aside, are counted in rows of their own, or in columns beside the blobs.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from slidewise.spark.batch.sorted_batches import numbered
from slidewise.spark.stream import packing
from slidewise.spark.stream.packing import AHEAD, BLOB, DATA, DROPPED, ROWS
from slidewise.spark.types import as_arrow_type
from slidewise.spark.worker.task import task

# Plain types, with a value of each for columns that are never null: rows that only count hold nothing but nulls, so all
# columns are nullable until these rows are gone.
_PLAIN: dict[str, Any] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), 0),
    **dict.fromkeys(("float", "double"), 0.0),
    "boolean": False,
    "string": "",
    "binary": b"",
    "date": dt.date(1970, 1, 1),
    "timestamp": dt.datetime(1970, 1, 1, tzinfo=dt.UTC),
    "timestamp_ntz": dt.datetime(1970, 1, 1),
}


def plain_types(schema: Any) -> list[Any] | None:
    """The Arrow types of answers with this schema where they come out as rows; None where they come out as blobs."""
    if any(field.dataType.simpleString() not in _PLAIN for field in schema.fields):
        return None
    return [as_arrow_type(field.name, field.dataType) for field in schema.fields]


def given_as(schema: Any) -> Any:
    """The columns that come out of the state, for answers with this schema, whose names are numbers."""
    from pyspark.sql.types import LongType, StructField, StructType

    if plain_types(schema) is None:
        return f"{DATA} binary, {ROWS} long, {DROPPED} long, {AHEAD} long"
    counts = [StructField(name, LongType()) for name in (DROPPED, AHEAD)]
    return StructType([*(StructField(f.name, f.dataType) for f in schema.fields), *counts])


def received(df: Any, schema: Any, metrics: str, late_to: bool) -> Any:
    """The answers as rows, from what comes out of the state; they and the rows that were put aside are counted.

    With `late_to`, the last column says of rows that were put aside why, and is null in answers.
    """
    from pyspark.sql import functions as F

    if plain_types(schema) is None:
        names = ((ROWS, "answered"), (DROPPED, "dropped"), (AHEAD, "ahead"))
        counts = [F.sum(name).alias(label) for name, label in names]
        return df.observe(metrics, *counts).mapInArrow(
            task("slidewise.spark.stream.packing", "unpacked", schema.names), schema
        )
    is_row = F.col(DROPPED).isNull()
    is_answer = is_row & F.col(schema.names[-1]).isNull() if late_to else is_row
    counts = [F.sum(F.when(is_answer, 1).otherwise(0)).alias("answered")]
    counts += [F.sum(F.coalesce(F.col(name), F.lit(0))).alias(name) for name in (DROPPED, AHEAD)]
    columns = []
    for field in schema.fields:
        column = F.col(field.name)
        if not field.nullable:
            filler = F.lit(_PLAIN[field.dataType.simpleString()]).cast(field.dataType)
            column = F.coalesce(column, filler).alias(field.name)
        columns.append(column)
    return df.observe(metrics, *counts).where(is_row).select(*columns)


def answers(table: Any, dropped: int, ahead: int, kinds: list[Any] | None, late_to: bool) -> Iterator[Any]:
    """A call's answers, or None, and how many rows it dropped, and put aside as ahead of the clock, as pandas tables.

    `kinds` are of `plain_types`; with `late_to`, the last column is null in answers and not in rows put aside.
    """
    import pandas as pd
    import pyarrow as pa

    if kinds is None:
        yield from _as_blobs(table, dropped, ahead, late_to)
        return
    pieces = []
    if table is not None:
        rows = max(1, len(table) * BLOB // max(table.nbytes, 1))
        pieces = [table.slice(start, rows) for start in range(0, len(table), rows)]
    for name in (DROPPED, AHEAD):
        pieces = [piece.append_column(name, pa.nulls(len(piece), pa.int64())) for piece in pieces]
    if dropped or ahead:
        nothing = [*(pa.nulls(1, kind) for kind in kinds), *(pa.array([n], pa.int64()) for n in (dropped, ahead))]
        pieces.append(pa.table(nothing, numbered(nothing)))
    for piece in pieces:
        named = piece.rename_columns([*numbered(kinds), DROPPED, AHEAD]).combine_chunks()
        yield named.to_pandas(types_mapper=pd.ArrowDtype)


def _as_blobs(table: Any, dropped: int, ahead: int, late_to: bool) -> Iterator[Any]:
    import pandas as pd

    if table is not None:
        at = 0
        for blob, rows in packing.blobs(table):
            answered = table.column(table.num_columns - 1).slice(at, rows).null_count if late_to else rows
            yield pd.DataFrame({DATA: [blob], ROWS: [answered], DROPPED: [dropped], AHEAD: [ahead]})
            dropped = ahead = 0
            at += rows
    if dropped or ahead:
        yield pd.DataFrame({DATA: [None], ROWS: [0], DROPPED: [dropped], AHEAD: [ahead]})
