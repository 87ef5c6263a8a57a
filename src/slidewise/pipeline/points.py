"""What a report shows of a job's result: a few hundred points of each column over time, and where it swings too much.

Spark reduces the rows; a report of a billion rows is as small as one of a thousand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from slidewise.operators.aggregate import Aggregate
from slidewise.pipeline.job import Job
from slidewise.spark.slices import quoted

POINTS = 900

# Panels, and the operators that they show.
LEVEL = ("mean", "max", "min", "median")
SPREAD = ("stddev",)
CHANGE = ("relative_variation",)


@dataclass
class Excess:
    """Where a column was above the threshold."""

    column: str
    rows: int
    first: str
    last: str
    highest: float
    when: str


@dataclass
class Points:
    """The middle of each stretch of time, and for each column its value there; None where there is no row.

    `span` are the times of the first and the last row.
    """

    times: list[Any] = field(default_factory=list)
    span: tuple[Any, ...] = ()
    columns: dict[str, list[float | None]] = field(default_factory=dict)
    key: str = ""  # which key is shown, where there are keys
    excesses: list[Excess] = field(default_factory=list)


def signals_of(job: Job) -> list[str]:
    """The columns to show: those that the job names, or the first three that are aggregated."""
    if job.signals:
        return list(job.signals)
    shown = [a.columns[0] for a in job.definition.columns.values() if a.operator.name in LEVEL + SPREAD + CHANGE]
    return list(dict.fromkeys(shown))[:3]


def of_signal(job: Job, signal: str, operators: tuple[str, ...]) -> dict[str, Aggregate]:
    """The aggregates of a signal by one of the operators."""
    found = {}
    for name, aggregate in job.definition.columns.items():
        if aggregate.operator.name in operators and aggregate.columns == (signal,):
            found[name] = aggregate
    return found


def points_of(df: Any, job: Job) -> Points:
    """The points of a job's result."""
    from pyspark.sql import functions as F

    points = Points(excesses=_excesses(df, job))
    if job.definition.by:
        df, points.key = _busiest(df, job)
    kind = df.schema[job.definition.on].dataType.simpleString()
    time = F.col(quoted(job.definition.on))
    timed = kind in ("timestamp", "timestamp_ntz", "date")
    number = F.unix_micros(time.cast("timestamp")) / 1e6 if timed else time.cast("double")
    begin, end = df.agg(F.min(number), F.max(number)).first()
    if begin is None:
        return points
    points.span = (_as_time(begin), _as_time(end)) if timed else (begin, end)
    width = max((end - begin) / POINTS, 1e-9)
    bucket = F.least(F.floor((number - begin) / width), F.lit(POINTS - 1))
    wanted: dict[str, Any] = {}
    for signal in signals_of(job):
        wanted |= {f"{signal} low": F.min(quoted(signal)), f"{signal} high": F.max(quoted(signal))}
        for name, one in of_signal(job, signal, LEVEL + SPREAD + CHANGE).items():
            reduce = F.max if one.operator.name in ("max", *CHANGE) else F.min if one.operator.name == "min" else F.avg
            wanted[name] = reduce(quoted(name))
    if not wanted:
        return points
    found = df.groupBy(bucket.alias("_bucket")).agg(*[value.cast("double").alias(n) for n, value in wanted.items()])
    rows = {row["_bucket"]: row for row in found.collect()}
    for at in range(POINTS):
        points.times.append(begin + (at + 0.5) * width)
        for name in wanted:
            points.columns.setdefault(name, []).append(rows[at][name] if at in rows else None)
    if timed:
        points.times = [_as_time(seconds) for seconds in points.times]
    return points


def _as_time(seconds: float) -> Any:
    from datetime import datetime, timedelta

    return datetime(1970, 1, 1) + timedelta(seconds=seconds)


def _busiest(df: Any, job: Job) -> tuple[Any, str]:
    """The rows of the key that has most of them, and what it is called."""
    from pyspark.sql import functions as F

    keys = [quoted(name) for name in job.definition.by]
    top = df.groupBy(*keys).count().orderBy(F.desc("count"), *keys).first()
    for name in job.definition.by:
        df = df.filter(F.col(quoted(name)).eqNullSafe(F.lit(top[name]))) if top else df
    return df, ", ".join(f"{name} = {top[name]}" for name in job.definition.by) if top else ""


def _excesses(df: Any, job: Job) -> list[Excess]:
    """Where relative variation is above the threshold, over all rows."""
    from pyspark.sql import functions as F

    names = [name for name, one in job.definition.columns.items() if one.operator.name in CHANGE]
    if job.threshold is None or not names:
        return []
    time = F.col(quoted(job.definition.on))
    asked = []
    for at, name in enumerate(names):
        column = F.col(quoted(name))
        above = F.when(column > job.threshold, time)
        whens = [_told(part) for part in (F.min(above), F.max(above), F.max_by(time, column))]
        parts = [F.count(above), whens[0], whens[1], F.max(column), whens[2]]
        asked += [part.alias(f"{at}_{number}") for number, part in enumerate(parts)]
    row = df.agg(*asked).first()
    found = [Excess(name, *(row[f"{at}_{number}"] for number in range(5))) for at, name in enumerate(names)]
    return [one for one in found if one.rows]


def _told(time: Any) -> Any:
    """A time as text, to the second and in the session's zone; a number as it is."""
    from pyspark.sql import functions as F

    return F.regexp_replace(time.cast("string"), r"(:\d\d)\.\d+$", "$1")
