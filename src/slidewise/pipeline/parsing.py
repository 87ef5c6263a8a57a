"""Lines of text as columns, by Spark's own functions: each line is parsed, or has a reason why it cannot be."""

from __future__ import annotations

from typing import Any

from slidewise.pipeline.layouts import LineColumn, Lines

# ISO 8601 as events carry it; more digits than microseconds are cut off.
_TIME = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)?$"
_DATE = r"^\d{4}-\d\d-\d\d$"
_WHOLE = r"^[+-]?\d+$"
_FLOAT = r"^[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|NaN|Infinity)$"
_PATTERNS = {"timestamp": _TIME, "date": _DATE, "int": _WHOLE, "bigint": _WHOLE, "double": _FLOAT}
_KINDS = {"timestamp": "time", "date": "time", "int": "number", "bigint": "number", "double": "number"}


def parsed(df: Any, lines: Lines) -> Any:
    """The DataFrame's `value` as the layout's columns, with a `reason` where it breaks the layout, and its `text` then."""
    from pyspark.sql import functions as F

    others = [F.col(name) for name in df.columns if name != "value"]
    fields = F.split("value", _as_pattern(lines.separator), -1)
    df = df.select(*others, F.col("value").alias("_value"), fields.alias("_fields"))
    read = {column: _read(column) for column in lines.columns}
    reason = _wrong_line(lines)
    for column, value in read.items():
        reason = reason.when(_is_wrong(column, value), _wrong_field(column))
    df = df.select(*others, "_value", reason.alias("reason"), *[value.alias(c.name) for c, value in read.items()])
    text = F.when(F.col("reason").isNotNull(), F.make_valid_utf8("_value"))
    return df.select(*others, *[column.name for column in lines.columns], "reason", text.alias("text"))


def _as_pattern(separator: str) -> str:
    """The separator as a regular expression; one plain character needs no quotes, and is faster so."""
    if len(separator) == 1:
        return separator if separator not in r"\^$.|?*+()[]{}" else "\\" + separator
    return "\\Q" + separator + "\\E"


def _wrong_line(lines: Lines) -> Any:
    from pyspark.sql import functions as F

    count = F.size("_fields")
    wanted = " or ".join(map(str, lines.fields))
    said = F.concat(F.lit(" line: "), count.cast("string"), F.lit(f" fields instead of {wanted}"))
    return (
        F.when(~F.is_valid_utf8("_value"), F.lit("not UTF-8"))
        .when(F.trim("_value") == "", F.lit("empty line"))
        .when(count < min(lines.fields), F.concat(F.lit("short"), said))
        .when(~count.isin(*lines.fields), F.concat(F.lit("long"), said))
    )


def _field(column: LineColumn) -> Any:
    from pyspark.sql import functions as F

    return F.get("_fields", F.lit(column.field - 1))


def _read(column: LineColumn) -> Any:
    """The field's value, or null where it has none of that type."""
    from pyspark.sql import functions as F

    field = _field(column)
    if column.type == "string":
        return F.nullif(field, F.lit("")) if column.optional else field
    if column.format is not None:
        return F.try_to_timestamp(field, F.lit(column.format)).cast(column.type)
    value = field.try_cast(column.type)
    pattern = _PATTERNS.get(column.type)
    return value if pattern is None else F.when(field.rlike(pattern), value)


def _is_wrong(column: LineColumn, value: Any) -> Any:
    wrong = value.isNull()
    return wrong & (_field(column) != "") if column.optional else wrong


def _wrong_field(column: LineColumn) -> Any:
    from pyspark.sql import functions as F

    kind = _KINDS.get(column.type, "value")
    return F.concat(F.lit(f"bad {kind}: {column.name} is '"), F.substring(_field(column), 1, 60), F.lit("'"))
