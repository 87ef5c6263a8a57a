"""Run a job: clean the source's rows, compute the definition, write the tables, and count that no row is lost."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from slidewise.errors import SlidewiseError
from slidewise.pipeline.job.job import PARTS, ROW, Job
from slidewise.pipeline.job.outputs import check_free, output_path
from slidewise.pipeline.marked_folders import RunFolder, leftovers, mark_table, put
from slidewise.pipeline.remote_sinks import claim
from slidewise.pipeline.rows.cleaning import Cleaned, clean
from slidewise.pipeline.rows.labels import read_labels
from slidewise.pipeline.rows.lost_rows import check_some, warning_of
from slidewise.sliding import Sliding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Watch = Callable[[str], AbstractContextManager[Any]]


@dataclass
class Summary:
    """The counts of a run: rows in, rows dropped and why, rows out, and the seconds of each stage."""

    rows_in: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    out_of_order: int = 0
    repaired: bool = False
    rows_out: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    replayed: str = ""
    ahead: int = 0
    warning: str = ""  # of rows that were lost, where they are more than the job accepts
    leftovers: list[str] = field(default_factory=list)  # folders that runs which were killed have left
    schema: StructType | None = field(default=None, repr=False)  # of the rows that were written
    labels: int | None = None  # how many were read, where the job has any; all of them are written
    on_beat: bool = False  # whether `rows_out` counts beats

    @property
    def dropped(self) -> int:
        return sum(self.rejected.values()) + self.lost

    @property
    def lost(self) -> int:
        """Rows that were dropped as out of order, or put aside as too far ahead."""
        return self.ahead + (0 if self.repaired else self.out_of_order)

    @property
    def rows_per_second(self) -> float:
        """Rows and labels in, by the time from the first byte read to the last row written."""
        seconds = sum(self.seconds.get(stage, 0.0) for stage in (*STAGES, LABELS))
        return (self.rows_in + (self.labels or 0)) / max(seconds, 1e-9)


READ, COMPUTE, SIDE = "read, parse and order", "aggregate and write", "write side tables"
LABELS = "read labels"
STAGES = (READ, COMPUTE, SIDE)
_TEXTS = ("csv", "json", "xml")


def run(
    job: Job,
    spark: SparkSession,
    overwrite: bool = False,
    watch: Watch | None = None,
    check: Callable[[str], None] | None = None,
) -> Summary:
    """Run the job on this Spark session: the source's rows, or the labels, are written with their answers.

    `watch` is entered with the name of each stage; `check` is given Spark's type of the times before any row is read.
    """
    check_free(job, overwrite)
    watch = watch or (lambda _stage: nullcontext())
    summary = Summary(
        repaired=job.out_of_order == "sort",
        leftovers=_remove_leftovers(job, overwrite),
        on_beat=job.definition.every is not None,
    )

    labels = None
    with timed(watch, READ, summary.seconds):
        cleaned = clean(spark, job, check)
    try:
        summary.rows_in, summary.rejected, summary.out_of_order = cleaned.rows_in, cleaned.reasons, cleaned.late
        summary.ahead = cleaned.ahead_count
        check_some(job, cleaned)
        summary.warning = warning_of(job, cleaned, summary.lost)
        if job.labels is not None:
            with timed(watch, LABELS, summary.seconds):
                labels = read_labels(spark, job)
            summary.labels = labels.rows_in
        with _unfinished(job, spark, overwrite) as unfinished:
            with timed(watch, COMPUTE, summary.seconds):
                answers = _answers(job, cleaned, labels)
                summary.schema = answers.schema
                _write(unfinished, answers, "rows", overwrite)
            with timed(watch, SIDE, summary.seconds):
                _write_side_tables(unfinished, cleaned, overwrite)
                summary.rows_out = read_rows(spark, unfinished, summary.schema).count()
            _check_counts(summary)
    finally:
        cleaned.release()
        if labels is not None:
            labels.release()
    return summary


def _answers(job: Job, cleaned: Cleaned, labels: Cleaned | None) -> DataFrame:
    """The rows, or the labels, with their answers."""
    if job.labels is None or labels is None:
        answers: DataFrame = cleaned.rows.transform(in_one_order(job.definition), **job.transform)
        return answers
    answers = job.definition.as_of(
        labels.rows, cleaned.rows.drop(ROW), on=job.labels.on, by=job.labels.by, **job.transform
    )
    return answers.sortWithinPartitions(ROW)  # so that a job gives the same files each time


@contextmanager
def timed(watch: Watch, stage: str, seconds: dict[str, float]) -> Iterator[None]:
    """Watch a stage of a job, and note the seconds that it took."""
    begins = perf_counter()
    with watch(stage):
        yield
    seconds[stage] = perf_counter() - begins


def _check_counts(summary: Summary) -> None:
    if summary.labels is not None:
        if summary.labels != summary.rows_out:
            raise SlidewiseError(
                f"{summary.labels} labels went in and {summary.rows_out} came out: the numbers do not add up; did "
                "their files change while the job ran?"
            )
    elif not summary.on_beat and summary.rows_in != summary.rows_out + summary.dropped:
        raise SlidewiseError(
            f"{summary.rows_in} rows went in, {summary.rows_out} came out and {summary.dropped} were dropped: the "
            "numbers do not add up; did the source change while the job ran?"
        )


@contextmanager
def _unfinished(job: Job, spark: SparkSession, overwrite: bool) -> Iterator[Job]:
    """The job with a sink within its own, whose tables take the place of older ones once all are written.

    A job that fails, or is stopped, leaves what was there before. Only a local folder can be moved so.
    """
    if "://" in job.sink:
        claim(spark, job.sink, PARTS, overwrite)
        yield job
        return
    with RunFolder(Path(job.sink), "unfinished") as folder:
        yield replace(job, sink=str(folder.path))
        check_free(job, overwrite)  # once more: what was free in the beginning may not be now
        put(folder.path, {part: Path(output_path(job, part)) for part in PARTS})


def _remove_leftovers(job: Job, overwrite: bool) -> list[str]:
    """The folders that killed runs have left in the sink's folder; with `overwrite`, those that cannot be removed."""
    if "://" in job.sink:
        return []
    folders = leftovers(Path(job.sink))
    for folder in folders if overwrite else ():
        shutil.rmtree(folder, ignore_errors=True)
    return [str(folder) for folder in folders if folder.exists()]


def in_one_order(definition: Sliding) -> Sliding:
    """The definition with the number of a row as the last of its ties, so that the order of rows is total.

    Such rows may exchange their answers; this way they never do, and a job gives the same files each time.
    """
    return Sliding(
        by=definition.by,
        on=definition.on,
        ties=(*definition.ordering, ROW),
        every=definition.every,
        offset=definition.offset,
        columns=definition.columns,
    )


def _write_side_tables(job: Job, cleaned: Cleaned, overwrite: bool) -> None:
    _write(job, cleaned.rejected, "rejected", overwrite)
    if job.out_of_order == "drop":
        _write(job, cleaned.out_of_order, "out_of_order", overwrite)
    if job.ahead is not None:
        _write(job, cleaned.ahead, "ahead", overwrite)


def read_rows(spark: SparkSession, job: Job, schema: StructType) -> DataFrame:
    """The rows that a job has written; files of text do not store the types of columns, which the schema has."""
    reader = spark.read.format(job.sink_format).options(**job.sink_options)
    if job.sink_format in _TEXTS:
        reader = reader.schema(schema)
    if job.sink_format == "csv":
        reader = reader.option("multiLine", True)  # a value may hold the end of a line, between quotes
    return reader.load(output_path(job, "rows"))


def _write(job: Job, df: DataFrame, part: str, overwrite: bool) -> None:
    writer = df.write.mode("overwrite" if overwrite else "errorifexists").format(job.sink_format)
    writer.options(**job.sink_options).save(output_path(job, part))
    if "://" not in job.sink:
        _name_plainly(Path(output_path(job, part)))
        mark_table(Path(output_path(job, part)))


_NAME = re.compile(r"^(part-\d+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:[-.]c000)?(.*)$")


def _name_plainly(folder: Path) -> None:
    """Rename local files without the run's random part, so that the same job gives the same files."""
    for file in list(folder.rglob("part-*")):
        match = _NAME.match(file.name)
        if match:
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
            file.replace(file.with_name(match[1] + match[2]))
