"""An audit as text for the terminal: a sentence, a table of columns, and the first answers that are not equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slidewise.audit.audit import Audit, ColumnAudit
from slidewise.audit.comparing import text_of

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN = 5  # answers of each column
WIDEST = 40  # characters of a cell

HEAD = ("column", "#answers", "#equal", "#differ", "#missing", "#extra", "#largest difference", "first", "last")


def text_of_audit(audit: Audit) -> str:
    """The whole text."""
    parts = [sentence(audit), *_columns(audit)]
    if audit.absent:
        parts.append(absent_note(audit))
    parts += [*_differences(audit), f"definition {audit.definition.fingerprint()}; {equality_note(audit)}"]
    return "\n\n".join(parts)


def sentence(audit: Audit) -> str:
    """What the audit found, in a sentence."""
    if not audit.rows:
        return "the log has no rows, so nothing was compared"
    rows = f"{audit.rows:,} served row{'' if audit.rows == 1 else 's'}"
    columns = f"{len(audit.by_column)} column{'' if len(audit.by_column) == 1 else 's'}"
    share = "" if audit.equal else f" ({percent(audit.answers - audit.unequal, audit.answers)} are equal)"
    return f"{audit.unequal:,} of {audit.answers:,} answers differ{share}: {rows}, {columns}"


def equality_note(audit: Audit) -> str:
    """What counts as equal."""
    if audit.tolerance:
        return f"floats are equal within {audit.tolerance:g} of their size, all else exactly"
    return "answers are equal exactly, floats to the last bit"


def absent_note(audit: Audit) -> str:
    """Which aggregates the log does not have."""
    return f"not in the log, so not compared: {', '.join(audit.absent)}"


def type_notes(audit: Audit) -> list[str]:
    """Columns that differ, and were served in a type that cannot hold every answer."""
    return [
        f"{column.column} was served as {column.served_type}, which rounds a {column.type}; tolerance=1e-6 allows that"
        for column in audit.by_column.values()
        if column.differ and column.served_type in ("float", "halffloat") and column.type == "double"
    ]


def percent(part: int, whole: int) -> str:
    """A share, rounded down: it reads 100 % only where it is all.

    >>> percent(3, 3), percent(999_999, 1_000_000), percent(1, 2), percent(0, 2), percent(0, 0)
    ('100 %', '99.99 %', '50.00 %', '0.00 %', '100 %')
    """
    return "100 %" if part == whole else f"{10_000 * part // whole / 100:.2f} %"


def row_of_column(column: ColumnAudit) -> tuple[str, ...]:
    """The cells of one column's row, under `HEAD`."""
    counts = (column.differ, column.missing, column.extra)
    largest = "" if column.largest is None else f"{column.largest:.6g}"
    times = ("" if time is None else _time(time) for time in (column.first, column.last))
    return (
        column.column,
        f"{column.rows:,}",
        percent(column.equal, column.rows),
        *(f"{n:,}" for n in counts),
        largest,
        *times,
    )


def _time(time: pa.Scalar) -> str:
    import pyarrow as pa

    return str(text_of(pa.array([time], time.type))[0])


def _columns(audit: Audit) -> list[str]:
    rows = [row_of_column(column) for column in audit.by_column.values()]
    kept = [at for at, name in enumerate(HEAD) if at < 4 or any(row[at] not in ("", "0") for row in rows)]
    table = aligned([HEAD[at] for at in kept], [[row[at] for at in kept] for row in rows])
    return ["\n".join([table, *type_notes(audit)])]


def _differences(audit: Audit) -> list[str]:
    """The first answers of each column that are not equal."""
    if audit.equal:
        return []
    head, rows = difference_rows(audit, SHOWN)
    more = audit.unequal - len(rows)
    text = aligned(head, rows)
    return [text + (f"\n... and {more:,} more" if more else "")]


def difference_rows(audit: Audit, shown: int) -> tuple[list[str], list[list[str]]]:
    """The heading and the rows of a table of the first differences of each column: column, keys, time and values."""
    from pyarrow import compute as pc

    names = [name for name in audit.listed.column_names if name not in ("row", "kind", "difference")]
    names = ["column", *(name for name in names if name != "column"), "difference"]
    rows = []
    for column in audit.by_column:
        first = audit.listed.filter(pc.equal(audit.listed.column("column"), column)).slice(0, shown)
        texts = first.select(["kind"]).to_pydict() | {name: text_of(first.column(name)).to_pylist() for name in names}
        texts["difference"] = first.column("difference").to_pylist()
        rows += [[_cell(name, texts[name][at], texts["kind"][at]) for name in names] for at in range(len(first))]
    return [f"#{name}" if name == "difference" else name for name in names], rows


def _cell(name: str, value: Any, kind: str) -> str:
    if name == "difference":
        return kind if value is None else f"{value:.6g}"
    text = "null" if value is None else str(value)
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text; a heading that begins with # is one of numbers, which stand to the right.

    >>> print(aligned(["name", "#n"], [["a", "10"], ["bc", "9"]]))
    name   n
    a     10
    bc     9
    """
    right = [name.startswith("#") for name in head]
    lines = [[name.lstrip("#") for name in head], *[[_one_line(cell) for cell in row] for row in rows]]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def _one_line(cell: str) -> str:
    """Text without what would move the cursor of a terminal."""
    return "".join(character if character.isprintable() else "�" for character in cell)
