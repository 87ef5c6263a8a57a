"""Layouts of lines of text: the separator, the number of fields, and the columns that are read from them."""

from __future__ import annotations

from dataclasses import dataclass

TYPES = ("timestamp", "date", "int", "bigint", "double", "boolean", "string")
TIMES = TYPES[:5]  # those that a time may have


@dataclass(frozen=True)
class LineColumn:
    """A field, counted from 1, as a column; an `optional` one may be empty, and is null then."""

    name: str
    field: int
    type: str
    format: str | None = None  # of times: Spark's pattern; without it, ISO 8601
    optional: bool = False


@dataclass(frozen=True)
class LineLayout:
    """The layout of a line: its separator, its number of fields, and the columns that they become."""

    separator: str
    fields: tuple[int, ...]  # every number of fields that a sound line may have
    columns: tuple[LineColumn, ...]


# The small and the full file of the DEBS 2012 Grand Challenge begin with the same fields.
DEBS2012 = LineLayout(
    separator="\t",
    fields=(56, 66),
    columns=(
        LineColumn("ts", 1, "timestamp"),
        LineColumn("index", 2, "bigint"),
        LineColumn("mf01", 3, "int"),
        LineColumn("mf02", 4, "int"),
        LineColumn("mf03", 5, "int"),
    ),
)

LAYOUTS = {"debs2012": DEBS2012}
