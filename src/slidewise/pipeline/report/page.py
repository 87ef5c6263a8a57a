"""The report of a job: one self-contained HTML page, and its picture as PNG."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slidewise.folders import whole_file
from slidewise.pipeline.job.job import Job
from slidewise.pipeline.job.outputs import PAGE, PICTURE, TITLE
from slidewise.pipeline.report.panels import RULE
from slidewise.pipeline.report.picture import draw, window_of
from slidewise.pipeline.report.points import Points, points_of
from slidewise.pipeline.run import Summary, read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2933; max-width: 1180px; margin: 2em auto; padding: 0 1.2em; }
h1 { font-size: 1.6em; margin-bottom: 0; } h2 { font-size: 1.15em; margin: 2em 0 .5em; }
p.sub { color: #616e7c; margin-top: .2em; } img { width: 100%; height: auto; }
table { border-collapse: collapse; } td, th { padding: .25em 1.4em .25em 0; text-align: left; vertical-align: top; }
th { border-bottom: 1px solid #9aa5b1; font-weight: 600; } td { border-bottom: 1px solid #e4e7eb; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
p.warning { border-left: 4px solid #d64545; padding: .4em 1em; background: #fdf2f2; }
.side { display: flex; flex-wrap: wrap; gap: 0 4em; } code { font-size: .92em; }
"""


def write_report(spark: SparkSession, job: Job, summary: Summary) -> tuple[Path, Path]:
    """Write `report.html` and `report.png` into the report's folder."""
    assert job.report is not None
    folder = Path(job.report)
    folder.mkdir(parents=True, exist_ok=True)
    points = points_of(read_rows(spark, job, summary.schema), job)
    page, picture = folder / PAGE, folder / PICTURE
    drawn = draw(job, points)
    with whole_file(page) as file:  # first: it says whose both are
        file.write(html_of(job, summary, points, drawn).encode())
    with whole_file(picture) as file:
        file.write(drawn)
    return page, picture


def html_of(job: Job, summary: Summary, points: Points, picture: bytes) -> str:
    """The HTML of the page."""
    source = ", ".join(job.paths)
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
        _table(("", "#rows"), rows_of(summary)),
        "</div><div><h2>Time by stage</h2>",
        _table(("stage", "#seconds"), [(stage, f"{took:.1f}") for stage, took in summary.seconds.items()]),
        f"<p>{summary.rows_per_second:,.0f} rows/s from the first byte read to the last row written</p></div></div>",
        f"<p>Replayed as a stream: {escape(summary.replayed)}</p>" if summary.replayed else "",
        "<h2>Columns</h2>",
        _table(*_columns(job)),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def rows_of(summary: Summary) -> list[tuple[str, str]]:
    """The counts: what went in, what was dropped and why, what came out."""
    rows = [("in", f"{summary.rows_in:,}")]
    rows += [(f"rejected: {reason}", f"{count:,}") for reason, count in summary.rejected.items()]
    label = "out of order, put in order" if summary.repaired else "out of order, dropped"
    rows.append((label, f"{summary.out_of_order:,}"))
    if summary.ahead:
        rows.append(("too far ahead, put aside", f"{summary.ahead:,}"))
    return [*rows, ("out", f"{summary.rows_out:,}")]


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
    return [head, _table(("column", "#rows", "#share", "first", "last", "#highest", "when"), rows)]


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


def _columns(job: Job) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table of aggregates: its heading and its rows, without columns that would be empty."""
    head = ("column", "operator", "of", "where", "window", "closed", "at least", "grain")
    rows = []
    for name, aggregate in job.definition.columns.items():
        op, window = aggregate.operator, aggregate.window
        assert window is not None
        parameters = ", ".join(f"{parameter}={value}" for parameter, value in op.parameters.items())
        operator = f"{op.name}({parameters})" if parameters else op.name
        of, where = ", ".join(aggregate.columns), aggregate.condition or ""
        more = ["" if value is None else str(value) for value in (window.at_least, window.grain)]
        rows.append((name, operator, of, where, window_of(aggregate), window.closed, *more))
    filled = [at for at in range(len(head)) if at < 3 or any(row[at] for row in rows)]
    return tuple(head[at] for at in filled), [tuple(row[at] for at in filled) for row in rows]


def _table(head: tuple[str, ...], rows: list[Any]) -> str:
    """An HTML table; a heading that begins with # is one of numbers."""
    numbers = [name.startswith("#") for name in head]
    marks = [' class="n"' if number else "" for number in numbers]
    cells = "".join(f"<th{mark}>{escape(name.lstrip('#'))}</th>" for name, mark in zip(head, marks, strict=True))
    lines = [f"<table><tr>{cells}</tr>"]
    for row in rows:
        cells = "".join(f"<td{mark}>{escape(str(cell))}</td>" for cell, mark in zip(row, marks, strict=True))
        lines.append(f"<tr>{cells}</tr>")
    return "\n".join([*lines, "</table>"])


def _shown(time: datetime | float) -> str:
    """A time to the second, which is as fine as a report needs."""
    return time.isoformat(sep=" ", timespec="seconds") if isinstance(time, datetime) else str(time)
