"""A source's rows in the order of its files: those that are sound, those that are rejected, those out of order.

Spark reads a file in blocks, in any order. A row's place is its file, its block's start, and its number within the
block; what came before a block is known once every block has been counted. So rows are numbered, and the newest time
before each is found, block by block in parallel, and no row passes through the driver.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from slidewise.errors import SlidewiseError
from slidewise.pipeline.job import OWN, ROW, Job
from slidewise.pipeline.order import PLACE, within_blocks, within_keys
from slidewise.pipeline.parsing import parsed
from slidewise.spark.slices import quoted

_LATE = "out of order"


@dataclass
class Cleaned:
    """What became of the rows: three DataFrames, in which each row is once, and how many there are of each."""

    rows: Any  # the source's columns, and `row`
    rejected: Any  # row, file, line, reason, text
    out_of_order: Any  # row, file, line, the source's columns, and the newest time before
    rows_in: int
    reasons: dict[str, int]
    late: int
    kept: Any  # the parsed rows, in Spark's storage until `release`

    def release(self) -> None:
        self.kept.unpersist()


def clean(spark: Any, job: Job) -> Cleaned:
    """Read the source and sort out its rows; runs one pass over the files, and keeps the parsed rows in storage."""
    from pyspark.sql import functions as F

    raw = _placed(spark, job)
    rows = parsed(raw, job.lines) if job.lines is not None else _as_they_are(raw, job)
    columns = [name for name in rows.columns if name not in (*PLACE, "reason", "text")]
    on = job.definition.on
    sound = F.col("reason").isNull()
    time = F.when(sound, F.col(quoted(on)))
    rows = rows.withColumn("_time", time)
    kept = (within_keys(rows, job.definition.by) if job.definition.by else within_blocks(rows)).persist()
    blocks = kept.groupBy("_file", "_block").agg(
        F.count("*").alias("_count"),
        F.min("_id").alias("_first"),
        F.max(time).alias("_newest"),
    )
    told = _with_offsets(spark, blocks.toArrow(), across=not job.definition.by)
    marked = kept.join(F.broadcast(told), ["_file", "_block"]).select(
        *[F.col(quoted(name)) for name in columns],
        *["reason", "text", F.col("_file").alias("file")],
        (F.col("_id") - F.col("_first") + F.col("_lines") + 1).alias("line"),
        (F.col("_id") - F.col("_first") + F.col("_rows") + 1).alias(ROW),
        F.greatest("_inside", "_earlier").alias("newest"),
    )
    late = sound & F.coalesce(F.col(quoted(on)) < F.col("newest"), F.lit(False))
    kind = F.when(late, F.lit(_LATE)).otherwise(F.substring_index("reason", ":", 1))
    counts = {row["kind"]: row["count"] for row in marked.groupBy(kind.alias("kind")).count().collect()}
    rows_in = sum(counts.values())
    counts.pop(None, None)
    late_count = counts.pop(_LATE, 0)
    good = sound & ~late if job.out_of_order == "drop" else sound
    return Cleaned(
        rows=marked.filter(good).select(*[quoted(name) for name in columns], ROW),
        rejected=marked.filter(~sound).select(ROW, "file", "line", "reason", "text"),
        out_of_order=marked.filter(late).select(ROW, "file", "line", *[quoted(name) for name in columns], "newest"),
        rows_in=rows_in,
        reasons=dict(sorted(counts.items())),
        late=late_count,
        kept=kept,
    )


def _placed(spark: Any, job: Job) -> Any:
    """The source's rows, each with its place. The number grows within a block, and means nothing beyond it."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F

    reader = spark.read.format(job.source_format).options(**job.source_options)
    df = (reader if job.schema is None else reader.schema(job.schema)).load(list(job.paths))
    taken = [name for name in df.columns if name in OWN or name.startswith("_")]
    if taken:
        raise SlidewiseError(f"the source has columns {', '.join(taken)}, which the pipeline adds; rename them")
    try:
        return df.select(
            "*",
            F.col("_metadata.file_path").alias("_file"),
            F.col("_metadata.file_block_start").alias("_block"),
            F.monotonically_increasing_id().alias("_id"),
        )
    except AnalysisException as error:
        raise SlidewiseError(
            f"the format {job.source_format!r} does not say which file a row is from, so rows have no order; "
            "use a format of files"
        ) from error


def _as_they_are(df: Any, job: Job) -> Any:
    """Rows that have columns already: only a row without a time is rejected."""
    from pyspark.sql import functions as F

    on = job.definition.on
    columns = [name for name in df.columns if name not in PLACE]
    if on not in columns:
        raise SlidewiseError(f"column {on!r} not found; the source has {', '.join(columns)}")
    reason = F.when(F.col(quoted(on)).isNull(), F.lit(f"no time: {on} is null"))
    text = F.when(reason.isNotNull(), F.to_json(F.struct(*[quoted(name) for name in columns])))
    return df.select("*", reason.alias("reason"), text.alias("text"))


def _with_offsets(spark: Any, blocks: Any, across: bool) -> Any:
    """For each block, which are few: how many rows and lines come before it, and the newest time before it."""
    import pyarrow as pa

    blocks = blocks.sort_by([("_file", "ascending"), ("_block", "ascending")])
    files, counts = blocks["_file"].to_pylist(), blocks["_count"].to_pylist()
    rows = list(accumulate(counts, initial=0))[:-1]
    began = dict(zip(reversed(files), reversed(rows), strict=True))  # the first of a file stays
    lines = [row - began[file] for file, row in zip(files, rows, strict=True)]
    newest = blocks["_newest"].to_pylist()
    known = [time for time in newest if time is not None]
    earlier: list[Any] = [None] * len(newest)
    for at in range(1, len(newest) if across and known else 0):
        times = [time for time in (earlier[at - 1], newest[at - 1]) if time is not None]
        earlier[at] = max(times, default=None)
    return spark.createDataFrame(
        blocks.select(["_file", "_block", "_first"])
        .append_column("_rows", pa.array(rows, pa.int64()))
        .append_column("_lines", pa.array(lines, pa.int64()))
        .append_column("_earlier", pa.array(earlier, blocks["_newest"].type))
    )
