"""Cleaning: a source's rows, in the order of its files, split into sound, rejected, out of order, and too far ahead.

Spark reads a file in blocks, in any order. A row's position is its file, its block's start, and its number within the
block; what came before a block is known once every block has been counted. So rows are numbered, and the newest time
before each is found, block by block in parallel, and no row passes through the driver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from slidewise.definition import column_not_found
from slidewise.pipeline.job.job import ROW, Job
from slidewise.pipeline.rows.ahead import latest, limit_in, moment
from slidewise.pipeline.rows.newest_times import POSITION, believed_before, mark_ahead, within_blocks, within_keys
from slidewise.pipeline.rows.reading import read_source
from slidewise.spark.column_names import quoted
from slidewise.windows import Duration

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_LATE, _AHEAD = "out of order", "ahead"


@dataclass
class Cleaned:
    """The split rows of a source: DataFrames, each row in one of them, and their counts."""

    rows: DataFrame  # the source's columns, and `row`
    rejected: DataFrame  # row, file, line, reason, text
    out_of_order: DataFrame  # row, file, line, the source's columns, and the newest time before
    ahead: DataFrame  # the same, and the reason; the newest time is the one that it is ahead of
    believed: DataFrame  # all but the rejected and those ahead, with their file and line
    rows_in: int
    reasons: dict[str, int]
    late: int
    ahead_count: int
    persisted: DataFrame  # the parsed rows, in Spark's storage until `release`

    def release(self) -> None:
        self.persisted.unpersist()


def clean(spark: SparkSession, job: Job, check: Callable[[str], None] | None = None) -> Cleaned:
    """Read the source and split its rows; runs one pass over the files, and persists the parsed rows.

    `check` is given Spark's type of the times before any row is read.
    """
    from pyspark.sql import functions as F

    rows = read_source(spark, job)
    columns = [name for name in rows.columns if name not in (*POSITION, "reason", "text")]
    for name in job.definition.by:
        if name not in columns:
            raise column_not_found(name, columns, "the source has")
    on = str(job.definition.on)
    kind = rows.schema[on].dataType.simpleString()
    if check is not None:
        check(kind)
    sound = F.col("reason").isNull()
    rows, ahead_of, temporary = _with_ahead(rows.withColumn("_time", F.when(sound, F.col(quoted(on)))), job, kind)
    if job.definition.by:
        parsed = within_keys(rows, job.definition.by).persist()
    elif ahead_of == "stream":
        parsed = rows.withColumn("_inside", F.col("_before")).drop("_time").persist()
    else:
        parsed = within_blocks(rows).persist()
    blocks = parsed.groupBy("_file", "_block").agg(
        F.count("*").alias("_count"),
        F.min("_id").alias("_first"),
        F.max(F.when(sound & ~F.col("_ahead"), F.col(quoted(on)))).alias("_newest"),
    )
    offsets = _with_offsets(spark, blocks.toArrow(), across=not job.definition.by)
    if temporary is not None:
        temporary.unpersist()
    marked = parsed.join(F.broadcast(offsets), ["_file", "_block"]).select(
        *[F.col(quoted(name)) for name in columns],
        *["reason", "text", F.col("_file").alias("file")],
        (F.col("_id") - F.col("_first") + F.col("_lines") + 1).alias("line"),
        (F.col("_id") - F.col("_first") + F.col("_rows") + 1).alias(ROW),
        F.greatest("_inside", "_earlier").alias("newest"),
        *["_ahead", "_before"],
    )
    ahead = sound & F.col("_ahead")
    late = sound & ~ahead & F.coalesce(F.col(quoted(on)) < F.col("newest"), F.lit(False))
    state = F.when(ahead, _AHEAD).when(late, _LATE).otherwise(F.substring_index("reason", ":", 1))
    counts = {row["kind"]: row["count"] for row in marked.groupBy(state.alias("kind")).count().collect()}
    rows_in = sum(counts.values())
    counts.pop(None, None)
    late_count, ahead_count = counts.pop(_LATE, 0), counts.pop(_AHEAD, 0)
    good = sound & ~ahead & ~late if job.out_of_order == "drop" else sound & ~ahead
    values = [quoted(name) for name in columns]
    why = F.lit(f"more than {job.ahead} ahead of the {ahead_of}").alias("reason")
    newest = F.col("_before").alias("newest")
    return Cleaned(
        rows=marked.filter(good).select(*values, ROW),
        rejected=marked.filter(~sound).select(ROW, "file", "line", "reason", "text"),
        out_of_order=marked.filter(late).select(ROW, "file", "line", *values, "newest"),
        ahead=marked.filter(ahead).select(ROW, "file", "line", *values, newest, why),
        believed=marked.filter(sound & ~ahead),
        rows_in=rows_in,
        reasons=dict(sorted(counts.items())),
        late=late_count,
        ahead_count=ahead_count,
        persisted=parsed,
    )


def _with_ahead(rows: DataFrame, job: Job, kind: str) -> tuple[DataFrame, str, DataFrame | None]:
    """The rows with `_ahead`, `_before`, and a `_time` that is null where a row lies too far ahead; and ahead of what.

    The third is a DataFrame that was persisted on the way, and can go once the rows are persisted, or None.
    """
    from pyspark.sql import functions as F

    if job.ahead is None:
        return rows.withColumns({"_ahead": F.lit(False), "_before": F.lit(None).cast(kind)}), "", None
    on = str(job.definition.on)
    limit = limit_in(kind, job.ahead, on)
    if (job.ahead_of or "clock") == "clock" and isinstance(job.ahead, Duration):
        now = datetime.now(UTC)
        ahead = F.coalesce(F.col("_time") > moment(kind, latest(job.ahead, now)), F.lit(False))
        rows = rows.withColumns({"_ahead": ahead, "_before": moment(kind, now)})
        return rows.withColumn("_time", F.when(~F.col("_ahead"), F.col("_time"))), "clock", None
    rows = rows.persist()
    return mark_ahead(rows, limit, believed_before(rows, limit)), "stream", rows


def _with_offsets(spark: SparkSession, blocks: pa.Table, across: bool) -> DataFrame:
    """The blocks, which are few, each with the number of rows and lines before it, and the newest time before it."""
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
