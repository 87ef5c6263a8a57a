"""The kinds of table that users have: reading their columns, and adding answers to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from slidewise.errors import InputError
from slidewise.kernels.give_back import nullables


class Frame(Protocol):
    """A table of some kind."""

    names: list[Any]
    index: list[Any]  # names of what pandas keeps apart from columns

    def __len__(self) -> int: ...

    def column(self, name: str) -> Any:
        """A column as a series that `kernels.series.read` takes."""

    def take(self, rows: Any) -> Frame:
        """These rows only."""

    def arrow(self) -> Any:
        """The whole table as a pyarrow.Table."""

    def like(self, table: Any) -> Any:
        """A pyarrow.Table as a table of this kind."""

    def added(self, answers: Mapping[str, tuple[str | None, Any]]) -> Any:
        """The table with answers behind its columns: Arrow arrays, each with the column whose kind it should have."""


def frame_of(table: Any) -> Frame:
    """The table's frame, or an error that says which kinds there are."""
    kind = f"{type(table).__module__.partition('.')[0]}.{type(table).__name__}"
    if kind == "pyarrow.Table":
        return _Arrow(table)
    if kind == "pyarrow.RecordBatch":
        import pyarrow as pa

        return _Arrow(pa.Table.from_batches([table]))
    if kind == "pandas.DataFrame":
        return _Pandas(table)
    if kind == "polars.DataFrame":
        return _Polars(table)
    hint = {
        "polars.LazyFrame": "; collect() it first",
        "builtins.list": "; for a list of dicts, use pa.Table.from_pylist(rows)",
        "builtins.dict": "; for a dict of columns, use pa.table(columns), and for one event live().push(row)",
    }.get(kind, "")
    raise InputError(f"a definition runs on pyarrow, pandas and polars tables, not on a {type(table).__name__}{hint}")


class _Arrow:
    def __init__(self, table: Any) -> None:
        self._table = table
        self.names = table.column_names
        self.index: list[Any] = []

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def column(self, name: str) -> Any:
        return self._table.column(name)

    def take(self, rows: Any) -> Frame:
        return _Arrow(self._table.take(rows))

    def arrow(self) -> Any:
        return self._table

    def like(self, table: Any) -> Any:
        return table

    def added(self, answers: Mapping[str, tuple[str | None, Any]]) -> Any:
        table = self._table
        for name, (_, array) in answers.items():
            table = table.append_column(name, array)
        return table


class _Polars:
    def __init__(self, table: Any) -> None:
        self._table = table
        self.names = table.columns
        self.index: list[Any] = []

    def __len__(self) -> int:
        return int(self._table.height)

    def column(self, name: str) -> Any:
        return self._table.get_column(name)

    def take(self, rows: Any) -> Frame:
        return _Polars(self._table[rows])

    def arrow(self) -> Any:
        return self._table.to_arrow()

    def like(self, table: Any) -> Any:
        import polars as pl

        return pl.from_arrow(table)

    def added(self, answers: Mapping[str, tuple[str | None, Any]]) -> Any:
        import polars as pl

        return self._table.with_columns([pl.Series(name, array) for name, (_, array) in answers.items()])


class _Pandas:
    def __init__(self, table: Any) -> None:
        self._table = table
        self.names = list(table.columns)
        self.index = list(table.index.names)

    def __len__(self) -> int:
        return len(self._table)

    def column(self, name: str) -> Any:
        return self._table[name]

    def take(self, rows: Any) -> Frame:
        return _Pandas(self._table.iloc[rows])

    def arrow(self) -> Any:
        import pyarrow as pa

        return pa.Table.from_pandas(self._table, preserve_index=False)

    def like(self, table: Any) -> Any:
        return table.to_pandas()

    def added(self, answers: Mapping[str, tuple[str | None, Any]]) -> Any:
        import pandas as pd

        def as_pandas(like: str | None, array: Any) -> Any:
            dtype = self._table[like].dtype if like is not None else np.dtype(np.int64)
            if isinstance(dtype, pd.ArrowDtype):
                return pd.array(array, dtype=pd.ArrowDtype(array.type))
            nullable = not isinstance(dtype, np.dtype) and not hasattr(dtype, "storage")
            holes = array.null_count and str(array.type).startswith(("int", "uint", "bool"))
            kinds = dict(nullables()) if nullable or holes else {}
            return array.to_pandas(types_mapper=kinds.get).array

        new = {name: as_pandas(like, array) for name, (like, array) in answers.items()}
        return pd.concat([self._table, pd.DataFrame(new, index=self._table.index)], axis=1)
