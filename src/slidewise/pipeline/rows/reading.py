"""Reading a source with Spark: each row with its position, its time parsed from text, and why it is rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.errors import SlidewiseError
from slidewise.pipeline.job.job import OWN, Job
from slidewise.pipeline.rows.ahead import MOMENTS
from slidewise.pipeline.rows.newest_times import POSITION
from slidewise.pipeline.rows.parsing import ISO_TEXT, parsed, time_of_text
from slidewise.spark.column_names import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

CORRUPT = "_corrupt_record"  # where Spark puts a record that it cannot read
# Formats in which a time is text that Spark reads by an option, and makes null where it cannot.
_TEXTS = ("csv", "json")
_FORMATS = {"date": "dateformat", "timestamp_ntz": "timestampntzformat"}


def read_source(spark: SparkSession, job: Job) -> DataFrame:
    """The source's columns, each row's position, its `reason` where it is rejected, and then its `text`."""
    raw, kind = _with_positions(spark, job)
    return parsed(raw, job.lines) if job.lines is not None else with_times(raw, job, kind)


def format_of(job: Job, kind: str) -> str | None:
    """The pattern by which the job's times, which are of this type, are read; None for ISO 8601."""
    if job.lines is not None:
        return next((column.format for column in job.lines.columns if column.name == job.definition.on), None)
    options = {name.lower(): value for name, value in job.source_options.items()}
    if job.source_format not in _TEXTS:
        return None
    return options.get(_FORMATS.get(kind, ""), options.get("timestampformat") if kind != "date" else None)


def _with_positions(spark: SparkSession, job: Job) -> tuple[DataFrame, str | None]:
    """The source's rows, each with its position, and the schema's type of the time where it was read as text.

    A position's number grows within a block, and means nothing beyond it.
    """
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F

    reader = spark.read.format(job.source_format).options(**job.source_options)
    schema, kind = schema_of(job)
    if not any(name.lower() == "columnnameofcorruptrecord" for name in job.source_options):
        reader = reader.option("columnNameOfCorruptRecord", CORRUPT)
    df = (reader if schema is None else reader.schema(schema)).load(list(job.paths))
    check_names_free(df.columns)
    try:
        rows = df.select(
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
    return rows, kind


def check_names_free(columns: list[str]) -> None:
    """Refuse a source with columns that the pipeline adds."""
    taken = [name for name in columns if name in OWN or (name.startswith("_") and name != CORRUPT)]
    if taken:
        raise SlidewiseError(f"the source has columns {', '.join(taken)}, which the pipeline adds; rename them")


def schema_of(job: Job) -> tuple[StructType | str | None, str | None]:
    """The schema to read with. Times in files of text are read as text, so that one that is wrong can be shown."""
    if job.schema is None or job.source_format not in _TEXTS:
        return job.schema, None
    from pyspark.sql.types import StringType, StructField, StructType

    schema = StructType.fromDDL(job.schema)
    kinds = {field.name: field.dataType.simpleString() for field in schema}
    kind = kinds.get(str(job.definition.on))
    fields = [
        StructField(field.name, StringType()) if field.name == job.definition.on and kind in MOMENTS else field
        for field in schema
    ]
    named = any(name.lower() == "columnnameofcorruptrecord" for name in job.source_options)
    more = [] if named or CORRUPT in kinds else [StructField(CORRUPT, StringType())]
    return StructType([*fields, *more]), kind if kind in MOMENTS else None


def with_times(
    df: DataFrame, job: Job, kind: str | None, position: tuple[str, ...] = POSITION, raw: Column | None = None
) -> DataFrame:
    """Rows that have columns: rejected is one without a time, or with a text that is none.

    `position` are the columns that say where a row comes from; `raw` is what it was parsed from, if that is known.
    """
    from pyspark.sql import functions as F

    on = str(job.definition.on)
    columns = [name for name in df.columns if name not in (*position, CORRUPT)]
    if on not in columns:
        raise SlidewiseError(f"column {on!r} not found; the source has {', '.join(columns)}")
    value = F.col(quoted(on))
    stored = df.schema[on].dataType.simpleString()
    time = value if stored != "string" else _read_text(job, value, kind)
    # A record that Spark cannot read at all has no column; one that it can read in part has some.
    corrupt = F.col(CORRUPT) if CORRUPT in df.columns else F.lit(None).cast("string")
    lost = F.coalesce(*[F.col(quoted(name)).cast("string") for name in columns]).isNull() & corrupt.isNotNull()
    wrong = F.concat(F.lit(f"bad time: {on} is '"), F.substring(value.cast("string"), 1, 60), F.lit("'"))
    reason = F.when(lost, F.lit("malformed record")).when(value.isNull(), F.lit(f"no time: {on} is null"))
    if stored in ("double", "float"):
        reason = reason.when(F.isnan(value) | (F.abs(value) == float("inf")), wrong)
    reason = reason.when(time.isNull(), wrong)
    text = F.coalesce(corrupt, F.to_json(F.struct(*[quoted(name) for name in columns]))) if raw is None else raw
    values = [time.alias(on) if name == on else F.col(quoted(name)) for name in columns]
    text = F.when(reason.isNotNull(), text)
    return df.select(*values, *position, reason.alias("reason"), text.alias("text"))


def _read_text(job: Job, text: Column, kind: str | None) -> Column:
    """Text as times of this type, or as timestamps; null where it is none."""
    on = job.definition.on
    windows = [aggregate.window for aggregate in job.definition.aggregates.values()]
    lasts = [window.measure for window in windows if window is not None]
    if kind is None and any(isinstance(last, int | float) for last in lasts):
        raise SlidewiseError(
            f"the times {on!r} are text, but a window is a number; give the source a schema, such as "
            f"schema = '{on} bigint, ...', or windows that are durations, such as '10 minutes'"
        )
    kind = kind or "timestamp"
    return time_of_text(text, kind, format_of(job, kind), ISO_TEXT, job.source_format == "json")
