"""An audit as one HTML page: the share of equal answers by column, differences over time, and the definition."""

from __future__ import annotations

import platform
from html import escape
from importlib.metadata import PackageNotFoundError, version

from slidewise.audit.audit import Audit
from slidewise.audit.terminal import (
    HEAD,
    absent_note,
    difference_rows,
    equality_note,
    row_of_column,
    sentence,
    type_notes,
)
from slidewise.audit.timeline_plot import MOST, plot
from slidewise.html_pages import STYLE, columns_table, html_table

TITLE = "<title>Slidewise audit</title>"
SHOWN = 50  # differences of each column
PACKAGES = ("numpy", "numba", "pyarrow")


def html_of(audit: Audit) -> str:
    """The HTML of the page; all that comes from the log or the definition is escaped."""
    names = ", ".join(audit.definition.by) or "no keys"
    notes = [absent_note(audit)] if audit.absent else []
    notes += type_notes(audit)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">' + TITLE,
        f"<style>{STYLE}</style></head><body>",
        f'<h1>Slidewise audit</h1><p class="sub">by {escape(names)}, as of {escape(audit.at)}</p>',
        f'<p class="{"good" if audit.equal else "warning"}">{escape(sentence(audit))}</p>',
        *[f"<p>{escape(note)}</p>" for note in notes],
        "<h2>Equal answers by column</h2>",
        f'<div class="wide">{html_table(HEAD, map(row_of_column, audit.by_column.values()))}</div>',
        "<h2>Differences over time</h2>",
        f'<p class="sub">{escape(_plot_note(audit))}</p>',
        plot(audit),
        *_differences(audit),
        "<h2>Definition</h2>",
        columns_table(audit.definition),
        f"<pre>{escape(repr(audit.definition))}</pre>",
        f"<p>Fingerprint <code>{escape(audit.definition.fingerprint())}</code></p>",
        f'<p class="sub">{escape(equality_note(audit))}. {escape(versions(audit))}</p>',
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def versions(audit: Audit) -> str:
    """The versions of what recomputed the answers."""
    import slidewise

    found = {"Slidewise": slidewise.__version__, "Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return ", ".join(f"{name} {number}" for name, number in {**found, **audit.engine}.items())


def _plot_note(audit: Audit) -> str:
    note = "Red is the share of a column's answers that differ in a stretch of time, grey where anything was served."
    if len(audit.by_column) > MOST:
        note += f" The {MOST} columns with most differences are shown, of {len(audit.by_column)}."
    return note


def _differences(audit: Audit) -> list[str]:
    if audit.equal:
        return []
    head, rows = difference_rows(audit, SHOWN)
    title = "Answers that differ" if len(rows) == audit.unequal else f"The first {len(rows):,} answers that differ"
    return [f"<h2>{title}</h2>", f'<div class="wide">{html_table(head, rows)}</div>']
