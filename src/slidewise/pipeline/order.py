"""The newest time before each row, in the order of the files: within blocks as they are read, or within keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from slidewise.spark.slices import quoted

# A row's place: its file, its block, and a number that grows within the block.
PLACE = ("_file", "_block", "_id")


def within_blocks(df: Any) -> Any:
    """The DataFrame with `_inside`, the greatest `_time` of the rows before it in its block, instead of `_time`.

    A task reads its blocks one after the other, each from its start: rows need neither a shuffle nor a sort.
    """
    from pyspark.sql.types import StructField, StructType

    kept = [field for field in df.schema.fields if field.name != "_time"]
    return df.mapInArrow(_task(), StructType([*kept, StructField("_inside", df.schema["_time"].dataType, True)]))


def within_keys(df: Any, by: Iterable[str]) -> Any:
    """The same, for the rows of its key before it in all blocks and files."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    window = Window.partitionBy(*map(quoted, by)).orderBy(*PLACE)
    newest = F.max("_time").over(window.rowsBetween(Window.unboundedPreceding, -1))
    return df.withColumn("_inside", newest).drop("_time")


def _task() -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What a worker runs; it travels by value, and needs NumPy and pyarrow only."""

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        import numpy as np
        import pyarrow as pa

        block: Any = None
        newest: Any = None
        for batch in batches:
            if not len(batch):
                continue
            times = batch.column("_time")
            kind = times.type
            numbers = pa.float64() if pa.types.is_floating(kind) else pa.int64()
            least = -np.inf if numbers == pa.float64() else np.iinfo(np.int64).min
            plain = times.cast(pa.int32()) if kind == pa.date32() else times
            values = plain.cast(numbers).fill_null(pa.scalar(least, numbers)).to_numpy(zero_copy_only=False)
            starts = batch.column("_block").to_numpy()
            files = batch.column("_file").dictionary_encode().indices.to_numpy()
            changes = np.flatnonzero((np.diff(starts) != 0) | (np.diff(files) != 0)) + 1
            found = np.empty_like(values)
            for begin, end in zip([0, *changes], [*changes, len(values)], strict=True):
                this = (batch.column("_file")[int(begin)].as_py(), int(starts[begin]))
                before = newest if this == block else least
                running = np.maximum.accumulate(np.concatenate([np.array([before], values.dtype), values[begin:end]]))
                found[begin:end] = running[:-1]
                block, newest = this, running[-1]
            answer = pa.array(found, mask=found == least)
            answer = answer.cast(pa.int32()).cast(kind) if kind == pa.date32() else answer.cast(kind)
            rest = batch.drop_columns(["_time"])
            yield pa.RecordBatch.from_arrays([*rest.columns, answer], [*rest.schema.names, "_inside"])

    return task
