"""Pieces of HTML that need no other file: style, tables and a definition's columns, for pages and for notebooks.

All text is escaped. In notebooks there are no scripts and no style sheets, which many of them take out: what style
there is stands in the elements, and colours are those of the notebook, light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from slidewise.definition import Definition
from slidewise.operators.aggregate import Aggregate

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2933; max-width: 1180px; margin: 2em auto; padding: 0 1.2em; }
h1 { font-size: 1.6em; margin-bottom: 0; } h2 { font-size: 1.15em; margin: 2em 0 .5em; }
p.sub { color: #616e7c; margin-top: .2em; } img, svg { width: 100%; height: auto; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { padding: .25em 1.4em .25em 0; text-align: left; vertical-align: top; }
th { border-bottom: 1px solid #9aa5b1; font-weight: 600; } td { border-bottom: 1px solid #e4e7eb; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
p.warning { border-left: 4px solid #d64545; padding: .4em 1em; background: #fdf2f2; }
p.good { border-left: 4px solid #2f8f5b; padding: .4em 1em; background: #f0f9f4; }
.side { display: flex; flex-wrap: wrap; gap: 0 4em; } .wide { overflow-x: auto; } code, pre { font-size: .92em; }
"""


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table; a heading that begins with # is one of numbers.

    >>> html_table(["name", "#n"], [["<b>", 3]]).splitlines()[1]
    '<tr><td>&lt;b&gt;</td><td class="n">3</td></tr>'
    """
    numbers = [name.startswith("#") for name in head]
    marks = [' class="n"' if number else "" for number in numbers]
    cells = "".join(f"<th{mark}>{escape(name.lstrip('#'))}</th>" for name, mark in zip(head, marks, strict=True))
    lines = [f"<table><tr>{cells}</tr>"]
    for row in rows:
        cells = "".join(f"<td{mark}>{escape(str(cell))}</td>" for cell, mark in zip(row, marks, strict=True))
        lines.append(f"<tr>{cells}</tr>")
    return "\n".join([*lines, "</table>"])


def columns_table(definition: Definition) -> str:
    """The table of a definition's aggregates and expressions, without columns that would be empty."""
    return html_table(*_columns(definition))


def _columns(definition: Definition) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of the table of a definition's columns."""
    head = ("column", "expression", "operator", "of", "where", "window", "closed", "at least", "grain")
    rows: list[tuple[str, ...]] = []
    for name, aggregate in definition.columns.items():
        if not isinstance(aggregate, Aggregate):
            rows.append((name, str(aggregate), *[""] * (len(head) - 2)))
            continue
        op, window = aggregate.operator, aggregate.window
        assert window is not None
        parameters = ", ".join(f"{parameter}={value}" for parameter, value in op.parameters.items())
        operator = f"{op.name}({parameters})" if parameters else op.name
        of, where = ", ".join(map(str, aggregate.columns)), aggregate.condition
        more = ["" if value is None else str(value) for value in (window.at_least, window.grain)]
        rows.append((name, "", operator, of, "" if where is None else str(where), window.words, window.closed, *more))
    always = (2, 3) if any(row[2] for row in rows) else ()
    filled = [at for at in range(len(head)) if at in (0, *always) or any(row[at] for row in rows)]
    return [head[at] for at in filled], [[row[at] for at in filled] for row in rows]


_LEFT = "text-align: left; vertical-align: top; padding: .2em 1em .2em 0"
_LINE = "border-bottom: 1px solid rgba(128, 128, 128, .35)"


def notebook_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table for a notebook; without a head where that is empty.

    >>> notebook_table([], [["<b>"]])[-28:]
    '>&lt;b&gt;</td></tr></table>'
    """
    cells = [f"<th style='{_LEFT}; {_LINE}'>{escape(name)}</th>" for name in head]
    lines = [f"<tr>{''.join(cells)}</tr>"] if head else []
    for row in rows:
        cells = [f"<td style='{_LEFT}'>{escape(str(cell))}</td>" for cell in row]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table style='border-collapse: collapse; margin: .3em 0'>{''.join(lines)}</table>"


def notebook_line(text: str) -> str:
    """A line of code in a notebook."""
    return f"<div style='margin-top: .5em'><code style='white-space: pre-wrap'>{escape(text)}</code></div>"


def notebook_part(*pieces: str) -> str:
    """Pieces of HTML as one output of a notebook, which scrolls where it is too wide."""
    return f"<div style='overflow-x: auto; text-align: left'>{''.join(pieces)}</div>"


def definition_in_notebook(definition: Definition) -> str:
    """A definition as a notebook shows it: its keys and its time, its columns, and folded up the code that makes it."""
    facts = {
        "by": ", ".join(definition.by),
        "on": definition.on or "",
        "ties": ", ".join(definition.ties),
        "every": "" if definition.every is None else str(definition.every),
        "offset": "" if definition.offset is None else str(definition.offset),
    }
    code = f"<details><summary>code</summary><pre style='text-align: left'>{escape(repr(definition))}</pre></details>"
    rows = [(name, value) for name, value in facts.items() if value]
    return notebook_part(
        f"<div><b>{escape(type(definition).__name__)}</b></div>",
        notebook_table([], rows) if rows else "",
        notebook_table(*_columns(definition)),
        code,
    )
