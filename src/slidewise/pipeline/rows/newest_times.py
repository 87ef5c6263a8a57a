"""The newest time before each row, in the order of the files: within blocks as they are read, or within keys.

Workers process blocks as they are read: a task has each of its blocks whole, from its start, in one or more batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from slidewise.pipeline.rows.ahead import Number, Reach, believed, runs_of
from slidewise.spark.column_names import quoted
from slidewise.spark.worker.task import task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from slidewise.arrays import Array

    Batches = Iterator[pa.RecordBatch]

# A row's position: its file, its block, and a number that grows within the block.
POSITION = ("_file", "_block", "_id")
Block = tuple[str, int]
_LEAST = -(2**63)


def within_blocks(df: DataFrame) -> DataFrame:
    """The DataFrame with `_inside`, the greatest `_time` of the rows before it in its block, instead of `_time`.

    Rows need neither a shuffle nor a sort.
    """
    from pyspark.sql.types import StructField, StructType

    fields = [field for field in df.schema.fields if field.name != "_time"]
    inside = StructField("_inside", df.schema["_time"].dataType, True)
    return df.mapInArrow(task(newest_inside), StructType([*fields, inside]))


def within_keys(df: DataFrame, by: Iterable[str]) -> DataFrame:
    """The same DataFrame for the rows of its key before it in all blocks and files."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    window = Window.partitionBy(*map(quoted, by)).orderBy(*POSITION)
    newest = F.max("_time").over(window.rowsBetween(Window.unboundedPreceding, -1))
    return df.withColumn("_inside", newest).drop("_time")


def believed_before(df: DataFrame, limit: Number) -> dict[Block, Any]:
    """For each block, the newest time believed before it, as a number; a block without a time has none of its own."""
    number = "double" if df.schema["_time"].dataType.simpleString() in ("double", "float") else "bigint"
    schema = f"_file string, _block bigint, fresh {number}, edges array<{number}>, values array<{number}>"
    reaches = df.select("_file", "_block", "_time").mapInArrow(task(reach_of_blocks, limit), schema).toArrow()
    newest: Any = None
    before: dict[Block, Any] = {}
    for row in sorted(reaches.to_pylist(), key=lambda row: (row["_file"], row["_block"])):
        before[row["_file"], row["_block"]] = newest
        newest = Reach(row["fresh"], row["edges"], row["values"]).after(newest)
    return before


def mark_ahead(df: DataFrame, limit: Number, before: dict[Block, Any]) -> DataFrame:
    """The DataFrame with `_ahead`, a `_time` that is null there, and `_before`, the newest before a row."""
    from pyspark.sql.types import BooleanType, StructField, StructType

    more = [StructField("_ahead", BooleanType()), StructField("_before", df.schema["_time"].dataType)]
    return df.mapInArrow(task(ahead_of_stream, limit, before), StructType([*df.schema.fields, *more]))


def newest_inside(batches: Batches) -> Batches:
    """The task of `within_blocks`."""
    import pyarrow as pa

    block, newest = None, None
    for batch in batches:
        times = batch.column("_time")
        parts = []
        for file, start, begin, end in _blocks(batch):
            newest = newest if (file, start) == block else None
            block = (file, start)
            part, newest = _running(times.slice(begin, end - begin), newest)
            parts.append(part)
        if parts:
            rest = batch.drop_columns(["_time"])
            answer = pa.concat_arrays(parts)
            yield pa.RecordBatch.from_arrays([*rest.columns, answer], [*rest.schema.names, "_inside"])


def reach_of_blocks(limit: Number, batches: Batches) -> Batches:
    """The task of `believed_before`: the function of each block, from the newest time before it to that after it."""
    import numpy as np
    import pyarrow as pa

    runs: dict[Block, list[tuple[Any, Any]]] = {}
    kind: Any = pa.int64()
    for batch in batches:
        for file, start, begin, end in _blocks(batch):
            values = _numbers(batch.column("_time").slice(begin, end - begin).drop_null())
            starts = runs_of(values, limit)
            lasts = values[np.append(starts[1:], len(values)) - 1] if len(values) else values
            runs.setdefault((file, start), []).extend(zip(values[starts].tolist(), lasts.tolist(), strict=True))
            kind = pa.float64() if values.dtype == np.float64 else kind
    for (file, start), several in runs.items():
        reach = Reach.of(several, limit)
        edges, reached = reach.pieces
        if kind == pa.int64():
            edges = [max(edge, _LEAST) for edge in edges]
        columns = [[file], [start], [reach.fresh], [edges], [reached]]
        kinds = [pa.string(), pa.int64(), kind, pa.list_(kind), pa.list_(kind)]
        arrays = [pa.array(column, its_kind) for column, its_kind in zip(columns, kinds, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, ["_file", "_block", "fresh", "edges", "values"])


def ahead_of_stream(limit: Number, before: dict[Block, Any], batches: Batches) -> Batches:
    """The task of `mark_ahead`."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    block, newest = None, None
    for batch in batches:
        times = batch.column("_time")
        aheads, befores = [], []
        for file, start, begin, end in _blocks(batch):
            newest = newest if (file, start) == block else before[file, start]
            block = (file, start)
            part = times.slice(begin, end - begin)
            known = part.is_valid().to_numpy(zero_copy_only=False)
            ahead = np.zeros(len(part), bool)
            ahead[known] = ~believed(_numbers(part.drop_null()), limit, newest)[0]
            aheads.append(pa.array(ahead))
            earlier, newest = _running(pc.if_else(aheads[-1], pa.scalar(None, part.type), part), newest)
            befores.append(earlier)
        if aheads:
            ahead = pa.concat_arrays(aheads)
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            columns["_time"] = pc.if_else(ahead, pa.scalar(None, times.type), times)
            columns |= {"_ahead": ahead, "_before": pa.concat_arrays(befores)}
            yield pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def _running(times: pa.Array, newest: Number | None) -> tuple[pa.Array, Any]:
    """The running maximum before each of these times, nulls left out, which starts at `newest`; and that after all."""
    import numpy as np
    import pyarrow as pa

    kind = times.type
    floats = pa.types.is_floating(kind)
    least = -np.inf if floats else _LEAST
    number = pa.float64() if floats else pa.int64()
    plain = times.cast(pa.int32()) if kind == pa.date32() else times
    values = plain.cast(number).fill_null(pa.scalar(least, number)).to_numpy(zero_copy_only=False)
    start = np.array([least if newest is None else newest], values.dtype)
    running = np.maximum.accumulate(np.concatenate([start, values]))
    earlier = pa.array(running[:-1], mask=running[:-1] == least)
    earlier = earlier.cast(pa.int32()).cast(kind) if kind == pa.date32() else earlier.cast(kind)
    return earlier, None if running[-1] == least else running[-1].item()


def _numbers(times: pa.Array) -> Array:
    """Times without nulls as an array of numbers."""
    import pyarrow as pa

    plain = times.cast(pa.int32()) if times.type == pa.date32() else times
    number = pa.float64() if pa.types.is_floating(times.type) else pa.int64()
    numbers: Array = plain.cast(number).to_numpy(zero_copy_only=False)
    return numbers


def _blocks(batch: pa.RecordBatch) -> Iterator[tuple[str, int, int, int]]:
    """The blocks that a batch has rows of: the file, the block's start, and the range of its rows."""
    import numpy as np

    if not len(batch):
        return
    starts = batch.column("_block").to_numpy()
    files = batch.column("_file").dictionary_encode().indices.to_numpy()
    changes = (np.flatnonzero((np.diff(starts) != 0) | (np.diff(files) != 0)) + 1).tolist()
    for begin, end in zip([0, *changes], [*changes, len(starts)], strict=True):
        yield batch.column("_file")[begin].as_py(), int(starts[begin]), begin, end
