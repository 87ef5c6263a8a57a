"""The points of a report: each column of a job's result reduced to a few hundred buckets of time, and its excesses.

Spark reduces the rows; a report of a billion rows is as small as one of a thousand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slidewise.pipeline.job.job import Job
from slidewise.pipeline.report.panels import PanelChoice, choose_panels, plot_of
from slidewise.spark.column_names import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

POINTS = 900
# Rows beyond these shares that take up more than half of the time's span are not drawn.
ENDS = (0.005, 0.995)


@dataclass
class Excess:
    """The rows of a column that are above the threshold: how many, the first and the last, and the highest."""

    column: str
    rows: int
    first: str
    last: str
    highest: float
    when: str


@dataclass
class Points:
    """The middle of each stretch of time, and for each column its value there; None where there is no row.

    `span` are the times of the first and the last row, `shown` those between which the picture is drawn, and `outside`
    is how many rows lie beyond.
    """

    chosen: PanelChoice
    times: list[Any] = field(default_factory=list)
    span: tuple[Any, ...] = ()
    shown: tuple[Any, ...] = ()
    outside: int = 0
    columns: dict[str, list[float | None]] = field(default_factory=dict)
    key: str = ""  # which key is shown, where there are keys
    excesses: list[Excess] = field(default_factory=list)


def points_of(df: DataFrame, job: Job) -> Points:
    """The points of a job's result."""
    from pyspark.sql import functions as F

    kinds = {column.name: column.dataType.simpleString() for column in df.schema.fields}
    points = Points(choose_panels(job, kinds), excesses=_excesses(df, job))
    if job.definition.by:
        df, points.key = _busiest(df, job)
    time = F.col(quoted(job.definition.on))
    timed = kinds[str(job.definition.on)] in ("timestamp", "timestamp_ntz", "date")
    number = F.unix_micros(time.cast("timestamp")) / 1e6 if timed else time.cast("double")
    begin, end, *core = df.agg(
        F.min(number), F.max(number), *[F.percentile_approx(number, share) for share in ENDS]
    ).first()
    if begin is None:
        return points
    low, high = shown_span(begin, end, *core)
    shown = _as_time if timed else float
    points.span, points.shown = (shown(begin), shown(end)), (shown(low), shown(high))
    width = max((high - low) / POINTS, 1e-9)
    bucket = F.least(F.floor((number - low) / width), F.lit(POINTS - 1))
    reduced = {"mean": F.avg, "max": F.max, "min": F.min}
    wanted: dict[str, Any] = {}
    for panel in points.chosen.panels:
        if panel.signal is not None:
            wanted |= {
                f"{panel.signal} low": F.min(quoted(panel.signal)),
                f"{panel.signal} high": F.max(quoted(panel.signal)),
            }
        for name, column in panel.columns.items():
            wanted[name] = reduced[plot_of(column).reduced](quoted(name))
    inside = (number >= low) & (number <= high)
    values = [value.cast("double").alias(name) for name, value in wanted.items()]
    buckets = df.filter(inside).groupBy(bucket.alias("_bucket")).agg(F.count("*").alias("_rows"), *values).collect()
    if (low, high) != (begin, end):
        points.outside = df.count() - sum(row["_rows"] for row in buckets)
    rows = {row["_bucket"]: row for row in buckets}
    for at in range(POINTS):
        points.times.append(shown(low + (at + 0.5) * width))
        for name in wanted:
            points.columns.setdefault(name, []).append(rows[at][name] if at in rows else None)
    return points


def shown_span(begin: float, end: float, low: float, high: float) -> tuple[float, float]:
    """The stretch of time to draw: all of it, unless the few rows beyond `low` and `high` take up more than half of it.

    >>> shown_span(0, 100, 1, 99), shown_span(0, 9_000, 1, 99), shown_span(5, 5, 5, 5)
    ((0, 100), (0, 99), (5, 5))
    """
    core = high - low
    if core <= 0 or end - begin <= 2 * core:
        return begin, end
    return (low if low - begin > core / 2 else begin), (high if end - high > core / 2 else end)


def _as_time(seconds: float) -> Any:
    from datetime import datetime, timedelta

    return datetime(1970, 1, 1) + timedelta(seconds=seconds)


def _busiest(df: DataFrame, job: Job) -> tuple[DataFrame, str]:
    """The rows of the key that has most of them, and what it is called."""
    from pyspark.sql import functions as F

    keys = [quoted(name) for name in job.definition.by]
    top = df.groupBy(*keys).count().orderBy(F.desc("count"), *keys).first()
    for name in job.definition.by:
        df = df.filter(F.col(quoted(name)).eqNullSafe(F.lit(top[name]))) if top else df
    return df, ", ".join(f"{name} = {top[name]}" for name in job.definition.by) if top else ""


def _excesses(df: DataFrame, job: Job) -> list[Excess]:
    """The excesses of relative variation above the threshold, over all rows."""
    from pyspark.sql import functions as F

    names = [name for name, column in job.definition.columns.items() if plot_of(column).change]
    if job.threshold is None or not names:
        return []
    time = F.col(quoted(job.definition.on))
    reduced = []
    for at, name in enumerate(names):
        column = F.col(quoted(name))
        above = F.when(column > job.threshold, time)
        whens = [_as_text(part) for part in (F.min(above), F.max(above), F.max_by(time, column))]
        parts = [F.count(above), whens[0], whens[1], F.max(column), whens[2]]
        reduced += [part.alias(f"{at}_{number}") for number, part in enumerate(parts)]
    row = df.agg(*reduced).first()
    excesses = [Excess(name, *(row[f"{at}_{number}"] for number in range(5))) for at, name in enumerate(names)]
    return [excess for excess in excesses if excess.rows]


def _as_text(time: Column) -> Column:
    """A time as text, to the second and in the session's zone; a number as it is."""
    from pyspark.sql import functions as F

    return F.regexp_replace(time.cast("string"), r"(:\d\d)\.\d+$", "$1")
