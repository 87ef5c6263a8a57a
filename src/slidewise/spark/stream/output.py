"""The output of a stream's state: answers as rows where all columns are of plain types, and else as blobs.

PySpark takes answers as pandas tables. Plain columns lie in these as Arrow has them, and reach Spark as they are; lists
and structs would be gone through value by value, so rows that have some travel as one value, and are unpacked later.
Rows that were refused are counted in rows of their own, or in columns beside the blobs, see `packing.REFUSED`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from slidewise.spark.column_names import numbered_names
from slidewise.spark.stream import packing
from slidewise.spark.stream.packing import DATA, MAX_BLOB_BYTES, REFUSED, ROWS
from slidewise.spark.types import arrow_type
from slidewise.spark.worker.task import task

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

# Plain types, with a value of each for columns that are never null: rows of counts have nulls in the other columns, so
# all columns are nullable until these rows are gone.
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


def plain_types(schema: StructType) -> list[pa.DataType] | None:
    """The Arrow types of answers with this schema where they come out as rows; None where they come out as blobs."""
    if any(field.dataType.simpleString() not in _PLAIN for field in schema.fields):
        return None
    return [arrow_type(field.name, field.dataType) for field in schema.fields]


def output_schema(schema: StructType) -> StructType | str:
    """The schema of the state's output, for answers with this schema, whose names are numbers."""
    from pyspark.sql.types import LongType, StructField, StructType

    if plain_types(schema) is None:
        return ", ".join([f"{DATA} binary", *(f"{name} long" for name in (ROWS, *REFUSED))])
    counts = [StructField(name, LongType()) for name in REFUSED]
    return StructType([*(StructField(f.name, f.dataType) for f in schema.fields), *counts])


def answer_rows(df: DataFrame, schema: StructType, metrics: str, late_to: bool) -> DataFrame:
    """The answers as rows, from the state's output; `metrics` observes how many there are, and how many were put aside.

    With `late_to`, the last column says of rows that were put aside why, and is null in answers.
    """
    from pyspark.sql import functions as F

    if plain_types(schema) is None:
        counts = [F.sum(ROWS).alias("answered"), *(F.sum(name).alias(name) for name in REFUSED)]
        return df.observe(metrics, *counts).mapInArrow(task(packing.unpack, schema.names), schema)
    is_row = F.col(REFUSED[0]).isNull()
    is_answer = is_row & F.col(schema.names[-1]).isNull() if late_to else is_row
    counts = [F.sum(F.when(is_answer, 1).otherwise(0)).alias("answered")]
    counts += [F.sum(F.coalesce(F.col(name), F.lit(0))).alias(name) for name in REFUSED]
    columns = []
    for field in schema.fields:
        column = F.col(field.name)
        if not field.nullable:
            filler = F.lit(_PLAIN[field.dataType.simpleString()]).cast(field.dataType)
            column = F.coalesce(column, filler).alias(field.name)
        columns.append(column)
    return df.observe(metrics, *counts).where(is_row).select(*columns)


def output_frames(
    table: pa.Table | None, refused: Sequence[int], types: list[pa.DataType] | None, late_to: bool
) -> Iterator[pd.DataFrame]:
    """A shard's output as pandas tables: its answers, if any, and how many rows were refused, see `packing.REFUSED`.

    `types` are those of `plain_types`; with `late_to`, the last column is null in answers and not in rows put aside.
    """
    import pandas as pd

    if types is None:
        yield from _as_blobs(table, refused, late_to)
        return
    pieces = []
    if table is not None:
        rows = max(1, len(table) * MAX_BLOB_BYTES // max(table.nbytes, 1))
        pieces = [table.slice(start, rows) for start in range(0, len(table), rows)]
    for name in REFUSED:
        pieces = [piece.append_column(name, pa.nulls(len(piece), pa.int64())) for piece in pieces]
    if any(refused):
        counts = [*(pa.nulls(1, kind) for kind in types), *(pa.array([n], pa.int64()) for n in refused)]
        pieces.append(pa.table(counts, numbered_names(counts)))
    for piece in pieces:
        renamed = piece.rename_columns([*numbered_names(types), *REFUSED]).combine_chunks()
        yield renamed.to_pandas(types_mapper=pd.ArrowDtype)


def _as_blobs(table: pa.Table | None, refused: Sequence[int], late_to: bool) -> Iterator[pd.DataFrame]:
    if table is not None:
        at = 0
        for blob, rows in packing.to_blobs(table):
            answered = table.column(table.num_columns - 1).slice(at, rows).null_count if late_to else rows
            yield _blob_frame(blob, answered, refused)
            refused = [0] * len(REFUSED)
            at += rows
    if any(refused):
        yield _blob_frame(None, 0, refused)


def _blob_frame(blob: bytes | None, answered: int, refused: Sequence[int]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {DATA: [blob], ROWS: [answered], **{name: [n] for name, n in zip(REFUSED, refused, strict=True)}}
    )
