"""Kinds of tables: those of pyarrow, pandas and polars, and everything that gives its rows as an Arrow stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from slidewise.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

Table: TypeAlias = Any  # a pyarrow.Table, or a DataFrame of pandas or polars

_HINTS = {
    "builtins.NoneType": "",
    "builtins.str": "; read the file first, with pyarrow.parquet.read_table(path), say",
    "pathlib.Path": "; read the file first, with pyarrow.parquet.read_table(path), say",
    "builtins.list": "; for a list of dicts, use pa.Table.from_pylist(rows)",
    "builtins.tuple": "; for dicts, use pa.Table.from_pylist(rows)",
    "builtins.generator": "; for dicts, use pa.Table.from_pylist(list(rows)), or live().push(row) for each",
    "builtins.dict": "; for a dict of columns, use pa.table(columns), and for one event live().push(row)",
    "numpy.ndarray": "; name its columns: pa.table({'temp': array[:, 0], ...}); sw.rolling takes a single series",
    "pandas.Series": "; sw.rolling takes a single series, and to_frame() makes a table of it",
    "polars.Series": "; sw.rolling takes a single series, and to_frame() makes a table of it",
    "pyarrow.ChunkedArray": "; sw.rolling takes a single series, and pa.table({'temp': array}) is a table",
    "pyarrow.Dataset": "; read it first: dataset.to_table(), or dataset.scanner().to_reader()",
    "pyarrow.Scanner": "; read it first: scanner.to_reader()",
    "pandas.GroupBy": "; keys are by= of the definition, so give it the table that was grouped",
    "polars.GroupBy": "; keys are by= of the definition, so give it the table that was grouped",
    "polars.LazyGroupBy": "; keys are by= of the definition, so give it the table that was grouped",
}
_SINGLE = ("pandas.Series", "polars.Series", "pyarrow.ChunkedArray")
TABLES = ("pyarrow.Table", "pandas.DataFrame", "polars.DataFrame")


def kind_of_table(table: object) -> str:
    """The kind of a table by name, that of a subclass of pandas' DataFrame included, or the name of its own type."""
    names = [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(table).__mro__]
    return next((name for name in names if name in _KNOWN), names[0])


_KNOWN = {*TABLES, *_HINTS, "pyarrow.RecordBatch", "polars.LazyFrame"}


def as_table(table: Table) -> Table:
    """A table of pyarrow, pandas or polars as it is, and anything else that holds rows as one of them, read once.

    A LazyFrame is collected. What has `__arrow_c_stream__` or `__arrow_c_array__`, or is a capsule that holds an Arrow
    stream, is read to its end, into a pyarrow.Table.
    """
    kind = kind_of_table(table)
    if kind in TABLES:
        return table
    if kind == "polars.LazyFrame":
        return table.collect()
    if kind == "pyarrow.RecordBatch":
        import pyarrow as pa

        return pa.Table.from_batches([table])
    if kind == "builtins.PyCapsule":
        return _from_stream(_Capsule(table), "PyCapsule")
    gives_rows = hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__")
    if gives_rows and kind not in _SINGLE and not isinstance(table, type):
        return _from_stream(table, type(table).__name__)
    raise InputError(
        "a definition runs on pyarrow, pandas and polars tables, and on what has __arrow_c_stream__, not on a "
        f"{type(table).__name__}{_HINTS.get(kind, '')}"
    )


class _Capsule:
    """A capsule that holds an Arrow stream, as an object that gives it."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._capsule


def _from_stream(rows: Any, name: str) -> pa.Table:
    import pyarrow as pa

    try:
        return _without_views(pa.table(rows))
    except (pa.ArrowException, TypeError, ValueError, OSError) as error:
        reason = str(error).partition(". Detail:")[0]
        raise InputError(
            f"the {name} cannot be read as a table: {reason}; a definition takes rows of named columns, as structs, "
            "and sw.rolling a single series"
        ) from error


def _without_views(table: pa.Table) -> pa.Table:
    """The table with plain text and bytes for string and binary views, whose rows pyarrow cannot take."""
    import pyarrow as pa

    fields = [field.with_type(_without_view(field.type)) for field in table.schema]
    schema = pa.schema(fields, table.schema.metadata)
    return table if schema.equals(table.schema) else table.cast(schema)


def _without_view(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _without_view(kind.value_type), kind.ordered)
    return {"string_view": pa.string(), "binary_view": pa.binary()}.get(str(kind), kind)
