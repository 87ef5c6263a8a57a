"""Labels and events on Spark as rows of one DataFrame, so that one shuffle brings those of a key together.

A row has the definition's columns, whether it asks (`QUERY`), and the labels' own columns. Events have nulls in the
labels' columns, and labels in all of the definition's but the keys and the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from slidewise.definition import Definition
from slidewise.engine.computed.columns import result_types
from slidewise.engine.point_in_time.label_columns import LabelColumns
from slidewise.errors import InputError, SlidewiseError
from slidewise.spark.column_names import QUERY, label_name, quoted
from slidewise.spark.schema import answer_types, check_schema, own_type
from slidewise.spark.types import spark_type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")


class LabelUnion(NamedTuple):
    """What becomes of labels and events: the rows' columns, and which of them are those of the labels.

    `schema` is that of the result, `answers` has the Arrow type of each aggregate, and `results` that of each column
    which is added. `own` are the columns of a row that results read, by the definition's names.
    """

    definition: Definition
    names: LabelColumns
    columns: tuple[str, ...]  # of a row, in its order
    outputs: tuple[str, ...]  # the columns of a row that are the labels' own, in the labels' order
    kinds: Mapping[str, DataType]  # of keys and time, in which both are compared
    schema: StructType
    answers: dict[str, pa.DataType]
    results: dict[str, pa.DataType]
    own: Mapping[str, str]

    def common_schema(self, events: StructType) -> StructType:
        """The events' schema, with keys and time in the types in which they are compared."""
        from pyspark.sql.types import StructField, StructType

        return StructType([StructField(f.name, self.kinds.get(f.name, f.dataType)) for f in events.fields])

    def rows(self, labels: DataFrame, events: DataFrame) -> DataFrame:
        """The rows of both, under numbers for names."""
        from pyspark.sql import functions as F

        needs = self.definition.event_needs
        asked = dict(zip((*self.definition.by, self.definition.on), (*self.names.by, self.names.on), strict=True))
        own = [(i, field) for i, field in enumerate(labels.schema.fields) if label_name(i) in self.columns]

        def typed(column: Column, name: str) -> Column:
            return column.cast(self.kinds[name]) if name in self.kinds else column

        of_events = [typed(F.col(quoted(name)), name) for name in needs]
        of_events += [F.lit(False), *(F.lit(None).cast(field.dataType) for _, field in own)]
        of_labels = [
            typed(F.col(quoted(asked[name])), name) if name in asked else F.lit(None).cast(events.schema[name].dataType)
            for name in needs
        ]
        of_labels += [F.lit(True), *(F.col(quoted(field.name)) for _, field in own)]
        numbers = [f"column {i}" for i in range(len(self.columns))]
        both = [
            df.select(*[column.alias(number) for column, number in zip(columns, numbers, strict=True)])
            for df, columns in ((events, of_events), (labels, of_labels))
        ]
        return both[0].unionAll(both[1])


def label_union(
    definition: Definition, labels: DataFrame, events: DataFrame, on: str | None, by: Mapping[str, str] | None
) -> LabelUnion:
    """How labels and events go together, or an error; nothing runs."""
    from pyspark.sql.types import StructField, StructType

    names = LabelColumns.of(definition, on, by, "as_of")
    fields = labels.schema
    names.check(definition, fields.names, "labels")
    check_schema(definition, events.schema, added=False)
    for name in fields.names:
        if fields.names.count(name) > 1:
            raise InputError(f"the labels have {fields.names.count(name)} columns named {name!r}; rename all but one")
    kinds = _common_kinds(definition, names, fields, events.schema)
    shared: dict[str, str] = {}  # columns of labels that a row holds anyway, as a key or as the time
    for name, asked in zip((*definition.by, str(definition.on)), (*names.by, str(names.on)), strict=True):
        if name not in kinds:
            shared.setdefault(asked, name)
    outputs = tuple(shared.get(field.name, label_name(i)) for i, field in enumerate(fields.fields))
    own = tuple(name for name in outputs if name not in shared.values())
    answers = answer_types(definition, events.schema)
    of_label = names.own(definition)
    results = result_types(definition, answers, lambda name: own_type(fields, of_label[name]))
    read = {name: outputs[fields.names.index(of_label[name])] for name in definition.own}
    added = [StructField(name, spark_type(kind), True) for name, kind in results.items()]
    columns = (*definition.event_needs, QUERY, *own)
    schema = StructType([*fields.fields, *added])
    return LabelUnion(definition, names, columns, outputs, kinds, schema, answers, results, read)


def _common_kinds(
    definition: Definition, names: LabelColumns, labels: StructType, events: StructType
) -> dict[str, DataType]:
    """The types to which keys and times are cast, by the definition's names, where those of both sides differ."""
    kinds = {}
    pairs = [(f"the key {name!r}", name, asked) for name, asked in zip(definition.by, names.by, strict=True)]
    for what, name, asked in (*pairs, (f"the time {definition.on!r}", str(definition.on), str(names.on))):
        here, there = events[name].dataType, labels[asked].dataType
        kind = _common_kind(here, there)
        if kind is None:
            raise InputError(
                f"{what} has Spark's type {here.simpleString()} in the events, and in the labels, as {asked!r}, "
                f"{there.simpleString()}; cast one of them"
            )
        if here != there:
            kinds[name] = kind
    return kinds


def _common_kind(events: DataType, labels: DataType) -> DataType | None:
    """The type in which values of two types are compared without loss; None where there is none."""
    from pyspark.sql.types import DoubleType, LongType, TimestampNTZType

    if events == labels:
        return events
    kinds = {events.simpleString(), labels.simpleString()}
    if kinds <= {*_WHOLE}:
        return LongType()
    if kinds <= {*_WHOLE[:3], *_FLOATS}:
        return DoubleType()
    if kinds == {"timestamp_ntz", "date"}:
        return TimestampNTZType()
    return None


def with_label_times(table: pa.Table, on: str, name: str) -> pa.Table:
    """The rows, all of whose labels have a time; `on` is the time's column, and `name` what the labels call it."""
    times = table.column(on)
    if times.null_count:
        asks = table.column(QUERY)
        null = table.filter(asks).column(on).null_count
        if null:
            count = asks.to_pylist().count(True)
            raise InputError(
                f"the labels' time {name!r} is null in {null} of {count} rows that came together; there is no answer "
                "at no time: fill these in or leave them out"
            )
    return table


def are_streams(labels: DataFrame, events: DataFrame) -> bool:
    """Whether both are streams; an error where they are not of one kind."""
    for what, df in (("labels", labels), ("events", events)):
        if not hasattr(df, "isStreaming"):
            raise InputError(
                f"the {what} are a {type(df).__name__}, and the others a Spark DataFrame; make both DataFrames of one "
                "session: spark.createDataFrame(...)"
            )
    if labels.isStreaming != events.isStreaming:
        which, other = ("labels", "events") if labels.isStreaming else ("events", "labels")
        raise SlidewiseError(
            f"the {which} are a stream and the {other} are not; give two streams, or two batch DataFrames: in "
            "foreachBatch each micro-batch is one"
        )
    return bool(labels.isStreaming)
