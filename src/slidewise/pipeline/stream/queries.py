"""The queries of a job over a stream: its answers into the sink, and rejected rows into a table beside them.

Rejected rows have a query and a checkpoint of their own, which reads the source once more. Each of its micro-batches
writes one folder, which it replaces when it runs again: so each row is there once, whatever reads the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slidewise.errors import SlidewiseError
from slidewise.pipeline.job.job import Job
from slidewise.pipeline.job.stream_table import FILES, HistoryTable
from slidewise.pipeline.job.toml_document import JobError
from slidewise.pipeline.rows.reading import CORRUPT, schema_of, with_times
from slidewise.pipeline.stream.source import REASON, REASONS, TEXT, read_stream, stream_of_job
from slidewise.spark.column_names import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

REJECTED = "slidewise_rejected"  # under which the query's progress counts rejected rows by their reasons
ROWS_QUERY, REJECTED_QUERY = "slidewise rows", "slidewise rejected"
_REJECTED_CHECKPOINT = "rejected"


def rows_path(job: Job) -> str:
    """The path of the table of answers; nothing where the sink has no path."""
    return f"{job.sink.rstrip('/')}/rows" if job.sink else ""


def check_outputs(job: Job) -> None:
    """Refuse a new checkpoint over tables that are there already, as far as that can be seen from this machine.

    Spark numbers micro-batches from 0 with a new checkpoint, and skips those that a table of files has already.
    """
    stream = stream_of_job(job)
    if has_begun(stream.checkpoint):
        return
    tables = [rows_path(job)] if job.sink and job.sink_format in FILES else []
    for table in [*tables, *([stream.rejected] if stream.rejected else [])]:
        if "://" not in table and any(path.is_file() for path in Path(table).rglob("*")):
            raise JobError(
                f"{table} has rows already, and the checkpoint {stream.checkpoint} is new: Spark would skip rows; "
                "bring back the checkpoint that belongs to them, or name another sink"
            )


def has_begun(checkpoint: str) -> bool:
    """Whether a query has begun a micro-batch with this checkpoint; false where it is not on this machine."""
    offsets = Path(checkpoint, "offsets")
    return "://" not in checkpoint and offsets.is_dir() and any(path.name.isdigit() for path in offsets.iterdir())


def answers_writer(spark: SparkSession, job: Job) -> DataStreamWriter:
    """The query that answers the rows of the source, and counts those that are rejected; it has not begun."""
    from pyspark.sql import functions as F

    stream = stream_of_job(job)
    rows = read_stream(spark, job)
    kind = F.substring_index(REASON, ":", 1)
    rows = rows.observe(REJECTED, *[F.count_if(kind == reason).alias(reason) for reason in REASONS])
    sound = rows.where(F.col(REASON).isNull()).select(*map(quoted, columns_of(rows)))
    answers = sound.transform(job.definition, **stream.transform, **history_options(spark, job))
    if job.sink_format == "kafka":
        answers = as_messages(answers, job.definition.by)
    writer = answers.writeStream.queryName(ROWS_QUERY).format(job.sink_format).options(**job.sink_options)
    writer = writer.option("checkpointLocation", stream.checkpoint).outputMode("append").trigger(**stream.trigger)
    return writer.option("path", rows_path(job)) if job.sink else writer


def rejected_writer(spark: SparkSession, job: Job) -> DataStreamWriter | None:
    """The query that writes rejected rows, which has not begun; None where they are only counted."""
    stream = stream_of_job(job)
    if stream.rejected is None:
        return None
    rows = read_stream(spark, job)
    origin = [name for name in rows.columns if name.startswith("_")]
    named = [f"{quoted(name)} AS {quoted(name.removeprefix('_'))}" for name in origin]
    rejected = rows.where(f"{REASON} IS NOT NULL").selectExpr(*named, REASON, TEXT)
    writer = rejected.writeStream.queryName(REJECTED_QUERY).trigger(**stream.trigger)
    checkpoint = f"{stream.checkpoint.rstrip('/')}/{_REJECTED_CHECKPOINT}"
    return writer.option("checkpointLocation", checkpoint).foreachBatch(rejected_batch(job))


def rejected_batch(job: Job) -> Callable[[DataFrame, int], None]:
    """The function that writes the rejected rows of a micro-batch into a folder of its number, if there are any."""
    path = stream_of_job(job).rejected
    form, options = (job.sink_format, job.sink_options) if job.sink_format in FILES else ("parquet", {})
    form, options = (form, options) if form != "text" else ("parquet", {})

    def write(batch: DataFrame, number: int) -> None:
        batch.persist()
        try:
            if not batch.isEmpty():
                batch.write.mode("overwrite").format(form).options(**options).save(f"{path}/batch={number}")
        finally:
            batch.unpersist()

    return write


def columns_of(rows: DataFrame) -> list[str]:
    """The source's own columns, without where rows are from and why they are rejected."""
    return [name for name in rows.columns if name not in (REASON, TEXT) and not name.startswith("_")]


def as_messages(answers: DataFrame, by: tuple[str, ...]) -> DataFrame:
    """Answers as Kafka takes them: all columns as JSON in `value`, and the keys, if there are any, in `key`."""
    from pyspark.sql import functions as F

    value = F.to_json(F.struct(*map(quoted, answers.columns)), {"ignoreNullFields": "false"}).alias("value")
    if not by:
        return answers.select(value)
    key = F.col(quoted(by[0])).cast("string") if len(by) == 1 else F.to_json(F.struct(*map(quoted, by)))
    return answers.select(key.alias("key"), value)


def history_options(spark: SparkSession, job: Job) -> dict[str, Any]:
    """The options of a stream that starts warm; none once it has begun, for its history is in its state then."""
    stream = stream_of_job(job)
    if stream.history is None or has_begun(stream.checkpoint):
        return {}
    history = _read_history(spark, job, stream.history)
    return {"history": history, **({"history_until": stream.history.until} if stream.history.until else {})}


def _read_history(spark: SparkSession, job: Job, history: HistoryTable) -> DataFrame:
    """The rows of a history, with times that are read as those of the source are; one without a time is an error."""
    source = replace(
        job,
        paths=history.paths,
        source_format=history.format,
        source_options=history.options,
        schema=history.schema,
        lines=None,
    )
    schema, kind = schema_of(source)
    reader = spark.read.format(history.format).options(**history.options)
    if history.format in ("csv", "json"):
        reader = reader.option("columnNameOfCorruptRecord", CORRUPT)
    rows = with_times((reader if schema is None else reader.schema(schema)).load(list(history.paths)), source, kind, ())
    rejected = rows.where(f"{REASON} IS NOT NULL").select(REASON).take(1)
    if rejected:
        raise SlidewiseError(f"the history has rows that cannot be read: {rejected[0][REASON]}; leave them out of it")
    return rows.drop(REASON, TEXT)


def start(writers: list[DataStreamWriter]) -> list[StreamingQuery]:
    """Start queries; where one does not, none runs."""
    queries: list[StreamingQuery] = []
    try:
        for writer in writers:
            queries.append(writer.start())
    except BaseException:
        for query in queries:
            query.stop()
        raise
    return queries
