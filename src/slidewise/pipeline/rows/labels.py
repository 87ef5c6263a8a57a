"""Reading a job's labels: read like a source, but that each of them must have a time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slidewise.errors import SlidewiseError
from slidewise.pipeline.job.job import ROW, Job
from slidewise.pipeline.rows.cleaning import Cleaned, clean
from slidewise.sliding import Sliding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = 3


def read_labels(spark: SparkSession, job: Job) -> Cleaned:
    """The labels, each with its number as `row`; an error counts those that cannot be read, or have no time."""
    assert job.labels is not None
    labels = job.labels
    # Labels may come in any order, and the definition keys them, not their cleaning.
    source = replace(
        job,
        definition=Sliding(on=labels.on, columns=job.definition.columns),
        paths=labels.paths,
        source_format=labels.format,
        source_options=labels.options,
        schema=labels.schema,
        lines=None,
        out_of_order="sort",
        ahead=None,
        ahead_of=None,
        labels=None,
    )
    try:
        cleaned = clean(spark, source)
    except SlidewiseError as error:
        raise type(error)(f"the labels: {error}") from error
    if not cleaned.reasons:
        return cleaned
    try:
        first = cleaned.rejected.orderBy(ROW).select("reason", "file", "line").take(EXAMPLES)
        shown = "; ".join(f"line {row['line']} of {row['file']}: {row['reason']}" for row in first)
        count = sum(cleaned.reasons.values())
        raise SlidewiseError(
            f"{count:,} of {cleaned.rows_in:,} labels cannot be answered, for they have no time that can be read: "
            f"{shown}; correct them, or leave them out"
        )
    finally:
        cleaned.release()
