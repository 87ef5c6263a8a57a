"""`slidewise audit`: a log of served answers against those that a job's source gives, with a report."""

from __future__ import annotations

import argparse
import glob
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from slidewise.audit.audit import Audit, check_settings
from slidewise.audit.page import TITLE
from slidewise.audit.terminal import aligned
from slidewise.errors import SlidewiseError
from slidewise.pipeline.commands import RunSettings, session_of
from slidewise.pipeline.job.job import ROW, Job, read_job
from slidewise.pipeline.job.outputs import check_page
from slidewise.pipeline.job.toml_document import JobError
from slidewise.pipeline.progress import TerminalStages
from slidewise.pipeline.rows.ahead import MOMENTS
from slidewise.pipeline.rows.cleaning import Cleaned, clean
from slidewise.pipeline.rows.lost_rows import check_some, warning_of
from slidewise.pipeline.run import READ, timed
from slidewise.spark.column_names import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COMPARE = "recompute and compare"
PAGE = "audit.html"
_FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".orc": "orc"}
_ARGUMENTS = {"at=": "--at", "by=": "--key", "columns=": "--column"}  # of `Sliding.audit`, on the command line
_OPTIONS = {"csv": {"header": "true", "inferSchema": "true"}}


@dataclass(frozen=True)
class AuditSettings:
    """The options of the command line for an audit; `at`, `by` and `columns` as for `Sliding.audit`."""

    served: str
    at: str | None = None
    by: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    tolerance: float = 0.0
    limit: int = 1_000
    report: str | None = None

    @classmethod
    def of(cls, options: argparse.Namespace) -> AuditSettings:
        names = dict(options.key), dict(options.column)
        return cls(options.served, options.at, *names, options.tolerance, options.limit, options.report)


def audit_file(path: str | Path, settings: RunSettings, wanted: AuditSettings, console: Console | None = None) -> Audit:
    """Audit a log by the job that a file describes, print what was found, and write the report."""
    console = console or Console(highlight=False)
    job = read_job(path, imports=settings.imports)
    check_settings(wanted.tolerance, wanted.limit)
    if "://" not in wanted.served and not Path(wanted.served).exists() and not glob.glob(wanted.served):
        raise JobError(f"there is no {wanted.served}; --served names a file, a folder or a pattern that is there")
    page = Path(wanted.report) if wanted.report is not None else default_page(job, Path(path).parent)
    check_page(page, TITLE, "pages that slidewise audit has written", settings.overwrite)
    stages = TerminalStages(console)
    seconds: dict[str, float] = {}
    with session_of(job, settings, stages, seconds) as spark:
        with timed(stages, READ, seconds):
            cleaned = clean(spark, job)
        try:
            check_some(job, cleaned)
            warning = warning_of(job, cleaned, cleaned.late * (job.out_of_order == "drop") + cleaned.ahead_count)
            with timed(stages, COMPARE, seconds):
                found = audit(spark, job, cleaned, wanted)
        finally:
            cleaned.release()
    if not found.rows:
        raise JobError(f"{wanted.served} has no rows, so there is nothing to compare; no report is written")
    found.report(page)
    console.print(str(found), soft_wrap=True, markup=False)
    console.print("\n" + _events(job, cleaned), soft_wrap=True, markup=False)
    if warning:
        console.print(f"\nwarning: {warning}", soft_wrap=True, markup=False, style="bold red")
    console.print(f"\nreport  {page}", soft_wrap=True, markup=False)
    return found


def default_page(job: Job, folder: Path) -> Path:
    """Where the report goes unless that is said: beside the job's own, in its sink, or beside the job file."""
    if job.report is not None:
        return Path(job.report, PAGE)
    return (folder if "://" in job.sink else Path(job.sink)) / PAGE


def audit(spark: SparkSession, job: Job, cleaned: Cleaned, wanted: AuditSettings) -> Audit:
    """The audit of a log by a job's cleaned rows; names that are not given are those of the job's labels, if any."""
    labels = job.labels
    at = wanted.at or (labels.on if labels else str(job.definition.on))
    by = wanted.by or (labels.by if labels else {})
    events = cleaned.rows.drop(ROW)
    served = _in_time_of(_read(spark, wanted.served), at, events.schema[str(job.definition.on)].dataType.simpleString())
    try:
        return job.definition.audit(
            served,
            events,
            at,
            by=by,
            columns=wanted.columns,
            tolerance=wanted.tolerance,
            limit=wanted.limit,
            **job.transform,
        )
    except SlidewiseError as error:
        told = [f"{name} is {option} here" for name, option in _ARGUMENTS.items() if name in str(error)]
        raise type(error)(f"{error} ({', '.join(told)})" if told else str(error)) from error


def _read(spark: SparkSession, path: str) -> DataFrame:
    """A log, in the format that its name ends with; Parquet where that says nothing."""
    form = _FORMATS.get(Path(path).suffix.lower(), "parquet")
    return spark.read.format(form).options(**_OPTIONS.get(form, {})).load(path)


def _in_time_of(served: DataFrame, at: str, kind: str) -> DataFrame:
    """The log with its times as the events have them: text is read, and a time without a zone is one in UTC."""
    from pyspark.sql import functions as F

    if at not in served.columns or kind not in MOMENTS:
        return served
    own = served.schema[at].dataType.simpleString()
    if own == kind or own not in ("string", *MOMENTS) or "date" in (own, kind):
        return served
    time = F.col(quoted(at))
    return served.withColumn(at, time.try_cast(kind) if own == "string" else time.cast(kind))


def _events(job: Job, cleaned: Cleaned) -> str:
    """How many events the answers were recomputed from, and what was left out of the source."""
    rows = [
        ("in the source", cleaned.rows_in),
        *((f"rejected: {why}", count) for why, count in cleaned.reasons.items()),
    ]
    dropped = sum(cleaned.reasons.values()) + cleaned.ahead_count
    if job.out_of_order == "drop":
        rows.append(("out of order, dropped", cleaned.late))
        dropped += cleaned.late
    if cleaned.ahead_count:
        rows.append(("too far ahead, put aside", cleaned.ahead_count))
    rows.append(("that count", cleaned.rows_in - dropped))
    return aligned(["events", "#rows"], [[name, f"{count:,}"] for name, count in rows])
