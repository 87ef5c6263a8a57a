"""The report of a job: one self-contained HTML page, and its picture as PNG."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from datetime import datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from slidewise.folders import whole_file
from slidewise.html_pages import STYLE, columns_table, html_table
from slidewise.pipeline.job.job import Job
from slidewise.pipeline.job.outputs import PAGE, PICTURE, TITLE
from slidewise.pipeline.report.panels import RULE
from slidewise.pipeline.report.picture import draw
from slidewise.pipeline.report.points import Points, points_of
from slidewise.pipeline.run import Summary, read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def write_report(spark: SparkSession, job: Job, summary: Summary) -> tuple[Path, Path]:
    """Write `report.html` and `report.png` into the report's folder."""
    assert job.report is not None
    folder = Path(job.report)
    folder.mkdir(parents=True, exist_ok=True)
    shown = replace(job, definition=job.of_rows)
    points = points_of(read_rows(spark, job, summary.schema), shown)
    page, picture = folder / PAGE, folder / PICTURE
    drawn = draw(shown, points)
    with whole_file(page) as file:  # first: it says whose both are
        file.write(html_of(job, summary, points, drawn).encode())
    with whole_file(picture) as file:
        file.write(drawn)
    return page, picture


def html_of(job: Job, summary: Summary, points: Points, picture: bytes) -> str:
    """The HTML of the page."""
    source = ", ".join(job.paths)
    if job.labels is not None:
        source = f"{', '.join(job.labels.paths)}, as of {job.labels.on}, over the events of {source}"
    span = " to ".join(map(_shown, points.span)) or "no rows"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">' + TITLE,
        f"<style>{STYLE}</style></head><body>",
        f'<h1>Slidewise report</h1><p class="sub">{escape(source)}<br>{escape(span)}</p>',
        f'<p class="warning">{escape(summary.warning)}</p>' if summary.warning else "",
        f'<img alt="The signals and their windows" src="data:image/png;base64,{b64encode(picture).decode()}">',
        *[f'<p class="sub">{escape(note)}</p>' for note in notes_of(points)],
        *_excess(job, points, summary),
        '<div class="side"><div><h2>Rows</h2>',
        html_table(("", "#rows"), rows_of(summary)),
        "</div><div><h2>Time by stage</h2>",
        html_table(("stage", "#seconds"), [(stage, f"{took:.1f}") for stage, took in summary.seconds.items()]),
        f"<p>{summary.rows_per_second:,.0f} rows/s from the first byte read to the last row written</p></div></div>",
        f"<p>Replayed as a stream: {escape(summary.replayed)}</p>" if summary.replayed else "",
        "<h2>Columns</h2>",
        columns_table(job.definition),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def rows_of(summary: Summary) -> list[tuple[str, str]]:
    """The counts: what went in, what was dropped and why, what came out."""
    plain = summary.labels is None and not summary.on_beat
    rows = [("in" if plain else "events in", f"{summary.rows_in:,}")]
    rows += [(f"rejected: {reason}", f"{count:,}") for reason, count in summary.rejected.items()]
    label = "out of order, put in order" if summary.repaired else "out of order, dropped"
    rows.append((label, f"{summary.out_of_order:,}"))
    if summary.ahead:
        rows.append(("too far ahead, put aside", f"{summary.ahead:,}"))
    if plain:
        return [*rows, ("out", f"{summary.rows_out:,}")]
    rows.append(("events that count", f"{summary.rows_in - summary.dropped:,}"))
    if summary.labels is None:
        return [*rows, ("beats out", f"{summary.rows_out:,}")]
    return [*rows, ("labels in", f"{summary.labels:,}"), ("labels out", f"{summary.rows_out:,}")]


def _excess(job: Job, points: Points, summary: Summary) -> list[str]:
    if job.threshold is None:
        return []
    head = f"<h2>Where relative variation is above {job.threshold:g}</h2>"
    if not points.excesses:
        return [head, "<p>Nowhere.</p>"]
    rows = []
    for excess in points.excesses:
        share, highest = f"{excess.rows / summary.rows_out:.2%}", f"{excess.highest:.3f}"
        rows.append((excess.column, f"{excess.rows:,}", share, excess.first, excess.last, highest, excess.when))
    return [head, html_table(("column", "#rows", "#share", "first", "last", "#highest", "when"), rows)]


def notes_of(points: Points) -> list[str]:
    """Notes on what the picture shows, and what it does not."""
    notes = [" ".join(filter(None, [RULE, points.chosen.note]))]
    if points.outside:
        between = " and ".join(map(_shown, points.shown))
        notes.append(
            f"The picture shows the time between {between}: {points.outside:,} rows that lie far from all others, "
            f"up to {_shown(points.span[0])} and {_shown(points.span[1])}, are not drawn."
        )
    return notes


def _shown(time: datetime | float) -> str:
    """A time to the second, which is as fine as a report needs."""
    return time.isoformat(sep=" ", timespec="seconds") if isinstance(time, datetime) else str(time)
