"""Answers on their way out of a stream's state: as rows where all columns are of plain types, and else as blobs.

PySpark takes answers as pandas tables. Plain columns lie in these as Arrow has them, and reach Spark as they are; lists
and structs would be gone through value by value, so rows that have some travel as one value, and are unpacked later.
Rows dropped as late are counted in rows of their own, or in a column beside the blobs.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from slidewise.spark import packing
from slidewise.spark.carrying import numbered
from slidewise.spark.packing import BLOB, DATA, DROPPED, ROWS
from slidewise.spark.types import as_arrow_type
from slidewise.spark.workers import task

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
        return f"{DATA} binary, {ROWS} long, {DROPPED} long"
    return StructType([*(StructField(f.name, f.dataType) for f in schema.fields), StructField(DROPPED, LongType())])


def received(df: Any, schema: Any, metrics: str) -> Any:
    """The answers as rows, from what comes out of the state; they and the rows that were dropped are counted."""
    from pyspark.sql import functions as F

    if plain_types(schema) is None:
        counts = [F.sum(name).alias(label) for name, label in ((ROWS, "answered"), (DROPPED, "dropped"))]
        return df.observe(metrics, *counts).mapInArrow(task("packing", "unpacked", schema.names), schema)
    is_row = F.col(DROPPED).isNull()
    answered = F.sum(F.when(is_row, 1).otherwise(0)).alias("answered")
    dropped = F.sum(F.coalesce(F.col(DROPPED), F.lit(0))).alias("dropped")
    columns = []
    for field in schema.fields:
        column = F.col(field.name)
        if not field.nullable:
            filler = F.lit(_PLAIN[field.dataType.simpleString()]).cast(field.dataType)
            column = F.coalesce(column, filler).alias(field.name)
        columns.append(column)
    return df.observe(metrics, answered, dropped).where(is_row).select(*columns)


def answers(table: Any, dropped: int, kinds: list[Any] | None) -> Iterator[Any]:
    """A call's answers, or None, and how many rows it dropped, as pandas tables; `kinds` are of `plain_types`."""
    import pandas as pd
    import pyarrow as pa

    if kinds is None:
        yield from _as_blobs(table, dropped)
        return
    pieces = []
    if table is not None:
        rows = max(1, len(table) * BLOB // max(table.nbytes, 1))
        pieces = [table.slice(start, rows) for start in range(0, len(table), rows)]
    pieces = [piece.append_column(DROPPED, pa.nulls(len(piece), pa.int64())) for piece in pieces]
    if dropped:
        nothing = [*(pa.nulls(1, kind) for kind in kinds), pa.array([dropped], pa.int64())]
        pieces.append(pa.table(nothing, numbered(nothing)))
    for piece in pieces:
        named = piece.rename_columns([*numbered(kinds), DROPPED]).combine_chunks()
        yield named.to_pandas(types_mapper=pd.ArrowDtype)


def _as_blobs(table: Any, dropped: int) -> Iterator[Any]:
    import pandas as pd

    if table is not None:
        for blob, rows in packing.blobs(table):
            yield pd.DataFrame({DATA: [blob], ROWS: [rows], DROPPED: [dropped]})
            dropped = 0
    if dropped:
        yield pd.DataFrame({DATA: [None], ROWS: [0], DROPPED: [dropped]})
