"""Parsing lines of text into columns, by Spark's own functions; a line that cannot be parsed has a reason."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from slidewise.pipeline.job.line_layouts import LineColumn, LineLayout

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# ISO 8601 as events carry it, with seconds or without; more digits than microseconds are cut off.
_CLOCK = r"[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?"
_TIME = rf"^\d{{4}}-\d\d-\d\d{_CLOCK}(Z|[+-]\d\d:?\d\d)?$"
ISO_TEXT = rf"^\d{{4}}-\d\d-\d\d({_CLOCK}(Z|[+-]\d\d:?\d\d)?)?$"  # in columns of text a date is its midnight
# As some write it: a zone behind a blank, or of hours alone, and numbers of one digit.
_LOOSE = r"^\d{4}-\d\d?-\d\d?[T ]\d\d?:\d\d?(:\d\d?(\.\d{1,9})?)? ?(Z|[+-]\d\d(:?\d\d)?)?$"
_DATE = r"^\d{4}-\d\d-\d\d$"
_FLOAT = r"^[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|NaN|Infinity)$"
_PATTERNS = {"timestamp": _TIME, "date": _DATE, "double": _FLOAT}
_KINDS = {"timestamp": "time", "date": "time", "int": "number", "bigint": "number", "double": "number"}


def parsed(df: DataFrame, lines: LineLayout) -> DataFrame:
    """The DataFrame's `value` as the layout's columns; where it breaks the layout, the `reason`, and its `text`."""
    from pyspark.sql import functions as F

    others = [F.col(name) for name in df.columns if name != "value"]
    # No more is split than is read: a line may have many fields behind those.
    fields = F.split("value", _as_pattern(lines.separator), max(column.field for column in lines.columns) + 1)
    df = df.select(*others, F.col("value").alias("_value"), fields.alias("_fields"))
    # Each value is computed once, before the reasons that look at it.
    sound = _is_sound(lines).alias("_sound")
    df = df.select("*", sound, *[_read(column).alias(f"_{at}") for at, column in enumerate(lines.columns)])
    reason = _wrong_line(lines)
    for at, column in enumerate(lines.columns):
        reason = reason.when(_is_wrong(column, F.col(f"_{at}")), _wrong_field(column))
    values = [F.col(f"_{at}").alias(column.name) for at, column in enumerate(lines.columns)]
    df = df.select(*others, *values, "_value", reason.alias("reason"))
    text = F.when(F.col("reason").isNotNull(), F.make_valid_utf8("_value"))
    return df.withColumn("text", text).drop("_value")


def _as_pattern(separator: str) -> str:
    """The separator as a regular expression; one plain character needs no quotes, and is faster so."""
    if len(separator) == 1:
        return separator if separator not in r"\^$.|?*+()[]{}" else "\\" + separator
    return "\\Q" + separator + "\\E"


def _wrong_line(lines: LineLayout) -> Column:
    from pyspark.sql import functions as F

    count = F.size(F.split("_value", _as_pattern(lines.separator), -1))
    wanted = " or ".join(map(str, lines.fields))
    message = F.concat(F.lit(" line: "), count.cast("string"), F.lit(f" fields instead of {wanted}"))
    return (
        F.when(~F.is_valid_utf8("_value"), F.lit("not UTF-8"))
        .when(F.trim("_value") == "", F.lit("empty line"))
        .when(~F.col("_sound") & _has_more(lines, min(lines.fields)), F.concat(F.lit("long"), message))
        .when(~F.col("_sound"), F.concat(F.lit("short"), message))
    )


def _is_sound(lines: LineLayout) -> Column:
    """Whether a line has as many fields as it should; they are counted one by one only where it has not."""
    counts = [_has_more(lines, count - 1) & ~_has_more(lines, count) for count in lines.fields]
    return reduce(or_, counts)


def _has_more(lines: LineLayout, count: int) -> Column:
    """Whether a line has more than so many fields: its first ones are not all of it."""
    from pyspark.sql import functions as F

    if count == 0:
        return F.lit(True)
    if len(lines.separator) > 1:
        return F.size(F.split("_value", _as_pattern(lines.separator), -1)) > count
    return F.octet_length(F.substring_index("_value", lines.separator, count)) < F.octet_length("_value")


def _field(column: LineColumn) -> Column:
    from pyspark.sql import functions as F

    return F.get("_fields", F.lit(column.field - 1))


def _read(column: LineColumn) -> Column:
    """The field's value, or null where it has none of that type."""
    from pyspark.sql import functions as F

    field = _field(column)
    if column.type == "string":
        return F.nullif(field, F.lit("")) if column.optional else field
    if column.type in ("timestamp", "date"):
        return time_of_text(field, column.type, column.format, _PATTERNS[column.type])
    value = field.try_cast(column.type)
    pattern = _PATTERNS.get(column.type)
    return value if pattern is None else F.when(field.rlike(pattern), value)


def time_of_text(text: Column, kind: str, pattern: str | None, iso: str, seconds: bool = False) -> Column:
    """Text as times of a type, by Spark's pattern or as ISO 8601; null where it is none.

    With `seconds`, a whole number counts seconds since 1970, as it does in Spark's JSON.
    """
    from pyspark.sql import functions as F

    if pattern is not None:
        return F.try_to_timestamp(text, F.lit(pattern)).cast(kind)
    if kind == "date":
        return F.when(text.rlike(_DATE), text.try_cast(kind))
    plain = F.regexp_replace(F.regexp_replace(text, r" (Z|[+-]\S+)$", "$1"), r"([+-]\d\d)$", "$1:00")
    read = F.when(text.rlike(iso), text.try_cast(kind)).when(text.rlike(_LOOSE), plain.try_cast(kind))
    if not seconds or kind != "timestamp":
        return read
    return read.when(text.rlike(r"^-?\d{1,11}$"), F.timestamp_seconds(text.try_cast("bigint")))


def _is_wrong(column: LineColumn, value: Column) -> Column:
    wrong = value.isNull()
    return wrong & (_field(column) != "") if column.optional else wrong


def _wrong_field(column: LineColumn) -> Column:
    from pyspark.sql import functions as F

    kind = _KINDS.get(column.type, "value")
    return F.concat(F.lit(f"bad {kind}: {column.name} is '"), F.substring(_field(column), 1, 60), F.lit("'"))
