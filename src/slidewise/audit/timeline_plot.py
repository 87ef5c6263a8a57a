"""The plot of an audit: for each column, the share of answers that are not equal, over time, as SVG."""

from __future__ import annotations

from html import escape

import numpy as np

from slidewise.audit.audit import Audit, ColumnAudit

MOST = 24  # columns that are drawn
WIDTH, LEFT, TOP, STRIP, BAR = 1100, 180, 8, 44, 34
BAD, ROWS, EDGE, INK, SOFT = "#d64545", "#e4e7eb", "#9aa5b1", "#1f2933", "#616e7c"


def plot(audit: Audit) -> str:
    """An SVG element: a strip for each column, those with most differences first, over one axis of time."""
    columns = drawn_columns(audit)
    height = TOP + STRIP * len(columns) + 26
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" font-size="13" '
        'font-family="system-ui, sans-serif">',
        "<title>The share of answers that differ, by column and time</title>",
    ]
    for at, column in enumerate(columns):
        lines += _strip(audit, column, TOP + at * STRIP)
    return "\n".join([*lines, *_axis(audit, TOP + STRIP * len(columns)), "</svg>"])


def drawn_columns(audit: Audit) -> list[ColumnAudit]:
    """The columns that are drawn; of equally bad ones the first."""
    return sorted(audit.by_column.values(), key=lambda column: -column.unequal)[:MOST]


def _strip(audit: Audit, column: ColumnAudit, top: float) -> list[str]:
    """A column's strip: grey where there are rows, red as high as the share of its answers that differ."""
    base = top + BAR
    name = column.column if len(column.column) <= 22 else column.column[:19] + "..."
    lines = [
        f'<text x="0" y="{base - 18}" fill="{INK}">{escape(name)}</text>',
        f'<text x="0" y="{base - 3}" fill="{SOFT}" font-size="11">{column.unequal:,} of {column.rows:,}</text>',
    ]
    rows = audit.timeline.rows
    if not len(rows):
        return lines
    width = (WIDTH - LEFT) / len(rows)
    for at in np.flatnonzero(rows).tolist():
        lines.append(_bar(LEFT + at * width, base, width, 2, ROWS))
    for at in np.flatnonzero(column.buckets).tolist():
        count, total = int(column.buckets[at]), int(rows[at])
        span = " to ".join(audit.timeline.edges[at : at + 2])
        tip = f"<title>{escape(f'{column.column}, {span}: {count:,} of {total:,} answers differ')}</title>"
        height = max(BAR * count / total, 3)
        lines.append(_bar(LEFT + at * width, base, width, height, BAD, tip))
    return lines


def _bar(x: float, base: float, width: float, height: float, fill: str, inside: str = "") -> str:
    place = f'x="{x:.1f}" y="{base - height:.1f}" width="{max(width - 0.8, 1):.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{fill}">{inside}</rect>' if inside else f'<rect {place} fill="{fill}"/>'


def _axis(audit: Audit, top: float) -> list[str]:
    lines = [f'<line x1="{LEFT}" y1="{top}" x2="{WIDTH}" y2="{top}" stroke="{EDGE}"/>']
    edges = audit.timeline.edges
    if not edges:
        return lines
    marks = [(0, "start")] if len(edges) < 3 else [(0, "start"), (len(edges) // 2, "middle"), (len(edges) - 1, "end")]
    for at, anchor in marks:
        x = LEFT + (WIDTH - LEFT) * at / (len(edges) - 1)
        lines.append(
            f'<text x="{x:.1f}" y="{top + 18}" text-anchor="{anchor}" fill="{SOFT}">{escape(edges[at])}</text>'
        )
    return lines
