"""Names of columns on Spark: quoted, replaced by numbers, and those that Slidewise adds itself."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

# Columns that are added for rows in slices of time: the slice's number, and whether the row is a copy.
SLICE, COPY = "__slidewise_slice", "__slidewise_copy"
HIDDEN = (SLICE, COPY)
# A column that is added where labels and events come together: whether a row asks, and does not count itself.
QUERY = "__slidewise_query"
RESERVED = (*HIDDEN, QUERY)


def label_name(number: int) -> str:
    """The name of a label's column among those of the events."""
    return f"__slidewise_label_{number}"


def quoted(name: str | None) -> str:
    """A column's name in backticks, as Spark reads it whatever characters it has."""
    return "`" + str(name).replace("`", "``") + "`"


def numbered_names(names: Sized) -> list[str]:
    """As many names, `column 0` and so on: for columns whose own names Spark cannot tell apart."""
    return [f"column {i}" for i in range(len(names))]


def numbered_schema(schema: StructType) -> StructType:
    """The schema with numbered names."""
    from pyspark.sql.types import StructField, StructType

    names = numbered_names(schema.names)
    return StructType([StructField(name, f.dataType, f.nullable) for name, f in zip(names, schema.fields, strict=True)])
