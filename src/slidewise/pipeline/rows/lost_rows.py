"""Messages about rows that a job loses: an error where all are rejected, a warning where many are for their times."""

from __future__ import annotations

from typing import Any

from slidewise.errors import SlidewiseError
from slidewise.pipeline.job.job import ROW, Job
from slidewise.pipeline.rows.cleaning import Cleaned
from slidewise.pipeline.rows.reading import format_of
from slidewise.spark.column_names import quoted

EXAMPLES = 3


def check_some(job: Job, cleaned: Cleaned) -> None:
    """Raise where there are rows, and all of them are rejected."""
    if not cleaned.rows_in or sum(cleaned.reasons.values()) < cleaned.rows_in:
        return
    kinds = ", ".join(f"{kind} ({count:,})" for kind, count in cleaned.reasons.items())
    first = cleaned.rejected.orderBy(ROW).select("reason", "file", "line").take(EXAMPLES)
    shown = "; ".join(f"line {row['line']} of {row['file']}: {row['reason']}" for row in first)
    hint = ""
    if "bad time" in cleaned.reasons:
        on = str(job.definition.on)
        pattern = format_of(job, cleaned.rows.schema[on].dataType.simpleString())
        hint = f". Times are read {'as ISO 8601' if pattern is None else f'by the format {pattern!r}'}; give the right "
        hint += (
            f'one: {on} = {{ ..., type = "timestamp", format = "dd.MM.yyyy HH:mm:ss" }}, say'
            if job.lines is not None
            else 'one: options = { timestampFormat = "dd.MM.yyyy HH:mm:ss" }, say'
        )
    raise SlidewiseError(f"none of the {cleaned.rows_in:,} rows can be read: {kinds}. {shown}{hint}")


def warning_of(job: Job, cleaned: Cleaned, lost: int) -> str:
    """The warning where more rows are lost for their times than the job accepts; nothing elsewhere."""
    if not cleaned.rows_in or lost <= job.late_limit * cleaned.rows_in:
        return ""
    newest, file, line = _newest(job, cleaned)
    warning = f"{lost:,} of {cleaned.rows_in:,} rows ({lost / cleaned.rows_in:.1%}) are lost for their times"
    late = cleaned.late if job.out_of_order == "drop" else 0
    warning += f": {late:,} out of order, {cleaned.ahead_count:,} too far ahead"
    if newest is not None:
        warning += (
            f". The newest time that was believed is {newest}, in line {line} of {file}; if it is wrong, it has made "
        )
        warning += "those after it late"
    advice = "" if job.ahead is not None else 'put such rows aside with [clean] ahead = "1 day"; '
    share = min(1.0, round(lost / cleaned.rows_in + 0.05, 1))
    return f"{warning}: {advice}accept it with [clean] late_limit = {share}"


def _newest(job: Job, cleaned: Cleaned) -> tuple[Any, ...]:
    """The newest time of the rows that were not put aside, and where it is."""
    from pyspark.sql import functions as F

    time = F.col(quoted(str(job.definition.on)))
    row = cleaned.believed.agg(F.max(time).cast("string"), F.max_by(F.struct("file", "line"), time)).first()
    return (row[0], row[1]["file"], row[1]["line"]) if row and row[0] is not None else (None, "", 0)
