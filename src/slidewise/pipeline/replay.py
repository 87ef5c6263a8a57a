"""Replay a job's rows as a stream, and compare its answers with those of the batch job."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from slidewise.errors import SlidewiseError
from slidewise.pipeline.job.job import ROW, Job
from slidewise.pipeline.job.outputs import output_path
from slidewise.pipeline.marked_folders import RunFolder
from slidewise.pipeline.run import in_one_order
from slidewise.pipeline.spark_session import STATE_SETTINGS, run_stream, temporary_settings
from slidewise.spark.column_names import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

FILES = (2, 16)  # at least and at most, of so many rows:
ROWS = 100_000
DELAY = 10  # seconds by which rows may come late; they do, each by its own part of it
_ARRIVAL = "slidewise arrival"
_HEARTBEAT = -1  # the number of the row that moves the watermark past all others


@dataclass(frozen=True)
class Replay:
    """The result of a replay: rows and aggregates compared, the micro-batches it took, and the query's seconds."""

    rows: int
    columns: int
    batches: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows with {self.columns} aggregates each, in {self.batches} micro-batches, up to {DELAY} s "
            f"out of order: all as in batch; the query itself took {self.seconds:.0f} s, "
            f"{self.rows / max(self.seconds, 1e-9):,.0f} rows/s"
        )


def check_replay(job: Job, kind: str | None = None) -> None:
    """Refuse a job whose rows cannot be replayed; `kind` is Spark's type of its time, where it is known."""
    why = ""
    if job.labels is not None:
        raise SlidewiseError(
            "the job cannot be replayed as a stream: it answers at the times of its [labels]; run it without --replay"
        )
    if job.definition.every is not None:
        raise SlidewiseError(
            "the job cannot be replayed as a stream: it answers on a beat ('every'), and a replay compares row by row; "
            "run it without --replay, or as a stream of its own, with --stream"
        )
    if kind is None and job.lines is not None:
        kind = next(column.type for column in job.lines.columns if column.name == job.definition.on)
    if (kind or "timestamp") != "timestamp":
        why = f"its time {job.definition.on!r} is of Spark's type {kind}, and a stream needs a timestamp"
        why += "" if kind != "timestamp_ntz" else " (with a time zone: give the source a schema that says so)"
    elif "://" in job.sink:
        why = f"its sink {job.sink} is not a local folder, in which the order of files can be set"
    elif job.sink_format not in ("parquet", "orc"):
        why = f"its sink's format {job.sink_format!r} does not keep the types of columns; 'parquet' does"
    if why:
        raise SlidewiseError(f"the job cannot be replayed as a stream: {why}; run it without --replay")


def replay(job: Job, spark: SparkSession) -> Replay:
    """Stream the rows that a job has written through its definition, and compare the answers row by row."""
    check_replay(job)
    rows = spark.read.format(job.sink_format).options(**job.sink_options).load(output_path(job, "rows"))
    check_replay(job, rows.schema[job.definition.on].dataType.simpleString())
    count = rows.count()
    if not count:
        return Replay(0, len(job.definition.columns), 0, 0.0)
    answers = [name for name in rows.columns if name in job.definition.columns]
    events = rows.drop(*answers)
    settings = {**STATE_SETTINGS, "spark.sql.shuffle.partitions": str(spark.sparkContext.defaultParallelism)}
    with RunFolder(Path(job.sink), "replay") as folder:
        _write_events(job, events, min(max(count // ROWS, FILES[0]), FILES[1]), folder.path / "in")
        begins = perf_counter()
        with temporary_settings(spark, settings):
            batches = _stream(job, spark, events.schema, folder.path)
        took = perf_counter() - begins
        streamed = spark.read.parquet(str(folder.path / "out"))
        try:
            compare(rows, count, streamed, answers, folder.path)
        except SlidewiseError:
            folder.keep = True
            raise
    return Replay(count, len(answers), batches, took)


def _write_events(job: Job, events: DataFrame, files: int, folder: Path) -> None:
    """Write the rows into files that arrive one after the other; each row is late by its own part of the delay."""
    from pyspark.sql import functions as F

    on = F.col(quoted(job.definition.on))
    late = F.pmod(F.xxhash64(F.col(ROW)), F.lit(DELAY * 1_000_000 - 1_000))
    cut = events.withColumn(_ARRIVAL, F.unix_micros(on) + late).repartitionByRange(files, _ARRIVAL)
    cut.sortWithinPartitions(_ARRIVAL).drop(_ARRIVAL).write.parquet(str(folder))
    last = events.orderBy(on.desc()).limit(1).withColumn(ROW, F.lit(_HEARTBEAT).cast(events.schema[ROW].dataType))
    after = F.timestamp_micros(F.unix_micros(on) + DELAY * 1_000_000 + 1_000)
    last.withColumn(str(job.definition.on), after).write.mode("append").parquet(str(folder))
    # Parts are numbered in the order of the rows; the one that was appended comes last, by its time of modification.
    *parts, last_part = sorted(folder.glob("part-*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    for number, path in enumerate([*sorted(parts), last_part]):
        os.utime(path, (10**9 + number, 10**9 + number))


def _stream(job: Job, spark: SparkSession, schema: StructType, folder: Path) -> int:
    """Run the definition over the files; the number of micro-batches with rows."""
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    answered = stream.withWatermark(str(job.definition.on), f"{DELAY} seconds").transform(in_one_order(job.definition))
    writer = (
        answered.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("parquet.enable.dictionary", "false")  # answers hardly repeat, and looking each up takes long
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
    )
    query = run_stream(writer.start)
    return sum(1 for progress in query.recentProgress if progress.numInputRows)


def compare(rows: DataFrame, written: int, streamed: DataFrame, answers: list[str], folder: Path) -> None:
    """Raise an error unless all rows are in both, with the same answers."""
    from pyspark.sql import functions as F

    def of(side: str, name: str) -> Column:
        return F.col(f"{side}.{quoted(name)}")

    both = rows.alias("a").join(streamed.alias("b"), of("a", ROW) == of("b", ROW), "full_outer")
    missing, differs = of("b", ROW).isNull(), F.lit(False)
    for name in answers:
        differs = differs | ~of("a", name).eqNullSafe(of("b", name))
    counts = both.agg(
        F.count_if(missing).alias("missing"),
        F.count_if(~missing & differs).alias("other"),
        F.min(F.when(missing | differs, F.coalesce(of("a", ROW), of("b", ROW)))).alias("first"),
    ).first()
    count = streamed.count()
    if counts.missing or counts.other or count != written:
        raise SlidewiseError(
            f"the stream and the batch job do not agree: the job has {written:,} rows and the stream {count:,}; "
            f"{counts.missing:,} are missing there, and {counts.other:,} have other answers (the first is row "
            f"{counts.first}). What was streamed is in {folder}; please report it"
        )
