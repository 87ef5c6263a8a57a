"""A stream's source: rows with columns, those that cannot be read with the reason, and where each comes from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slidewise.errors import SlidewiseError
from slidewise.pipeline.job.job import Job
from slidewise.pipeline.job.stream_table import FILES, StreamTable
from slidewise.pipeline.rows.parsing import parsed
from slidewise.pipeline.rows.reading import CORRUPT, check_names_free, schema_of, with_times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamReader

# What comes before the colon of a reason; a row that is not sound has one of these.
REASONS = (
    *("not UTF-8", "empty line", "short line", "long line", "bad time", "bad number", "bad value"),
    *("no time", "malformed record"),
)
REASON, TEXT = "reason", "text"
FILE = "_file"
_MESSAGE = ("topic", "partition", "offset")  # where a message of Kafka's is from
_TEXTS = ("csv", "json")


def stream_of_job(job: Job) -> StreamTable:
    """How the job runs over a stream; it was read with `stream=True`."""
    if job.stream is None:
        raise SlidewiseError("the job was read as a batch; read it with read_job(path, stream=True)")
    return job.stream


def read_stream(spark: SparkSession, job: Job) -> DataFrame:
    """The source's columns, where each row is from, its `reason` where it is rejected, and then its `text`."""
    value = stream_of_job(job).value
    reader = spark.readStream.format(job.source_format).options(**job.source_options)
    if value == "json" or job.lines is not None:
        rows = _of_values(_load(reader, job), job, value)
    else:
        schema, kind = schema_of(job)
        if schema is not None:
            reader = reader.schema(schema)
        named = any(name.lower() == "columnnameofcorruptrecord" for name in job.source_options)
        if job.source_format in _TEXTS and not named:
            reader = reader.option("columnNameOfCorruptRecord", CORRUPT)
        df = _load(reader, job)
        check_names_free(df.columns)
        df, position = _with_file(df, job)
        rows = with_times(df, job, kind, position)
    on = str(job.definition.on)
    found = rows.schema[on].dataType.simpleString()
    if found != "timestamp":
        raise SlidewiseError(
            f"the time {on!r} is of Spark's type {found}, and a stream needs a timestamp: write {on} timestamp in the "
            "source's schema"
        )
    return rows


def _load(reader: DataStreamReader, job: Job) -> DataFrame:
    return reader.load(*job.paths)


def _with_file(df: DataFrame, job: Job) -> tuple[DataFrame, tuple[str, ...]]:
    """The rows with their file, and that column's name; sources of other kinds have none."""
    from pyspark.sql import functions as F

    if job.source_format not in FILES:
        return df, ()
    return df.select("*", F.col("_metadata.file_path").alias(FILE)), (FILE,)


def _of_values(df: DataFrame, job: Job, value: str | None) -> DataFrame:
    """The columns that the column `value` holds, as JSON or as a line: of a file of text, or of Kafka's messages."""
    from pyspark.sql import functions as F

    if "value" not in df.columns:
        raise SlidewiseError(
            f"the source {job.source_format!r} has no column 'value' to read; it has {', '.join(df.columns)}"
        )
    df, position = _with_file(df, job)
    message = [F.col(name).alias(f"_{name}") for name in _MESSAGE if name in df.columns]
    position = (*position, *(f"_{name}" for name in _MESSAGE if name in df.columns))
    text = F.coalesce(F.col("value").cast("string"), F.lit(""))
    df = df.select(text.alias("value"), *([FILE] if FILE in position else []), *message)
    if value != "json":
        assert job.lines is not None
        return parsed(df, job.lines)
    as_json = replace(job, source_format="json")
    schema, kind = schema_of(as_json)
    times = {name: text for name, text in job.source_options.items() if name.lower().endswith("format")}
    read = F.from_json("value", schema, {"columnNameOfCorruptRecord": CORRUPT, **times})
    df = df.select("*", read.alias("_read")).select(F.col("_read.*"), *position, F.col("value").alias("_value"))
    check_names_free([name for name in df.columns if name not in (*position, "_value")])
    return with_times(df, as_json, kind, (*position, "_value"), F.make_valid_utf8("_value")).drop("_value")
