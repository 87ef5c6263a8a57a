"""Frames, one interface to tables of pyarrow, pandas and polars: reading columns, and adding answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.answer_series import nullables
from slidewise.columns.arrow_values import holds
from slidewise.columns.map_arrays import object_array, python_maps
from slidewise.columns.series import Series
from slidewise.columns.table_kinds import Table, as_table, kind_of_table
from slidewise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

# By name, an Arrow array and the column whose type it should have, if any.
AnswerColumns: TypeAlias = dict[str, tuple[str | None, "pa.Array"]]


class Frame(Protocol):
    """A table of pyarrow, pandas or polars behind one interface."""

    names: list[Any]
    index: list[Any]  # names of what pandas keeps apart from columns

    def __len__(self) -> int: ...

    def column(self, name: str) -> Series:
        """A column as a series that `columns.series.read` takes."""

    def take(self, rows: Array) -> Frame:
        """These rows only."""

    def to_arrow(self) -> pa.Table:
        """The whole table as a pyarrow.Table."""

    def from_arrow(self, table: pa.Table) -> Table:
        """A pyarrow.Table as a table of this kind."""

    def with_columns(self, answers: AnswerColumns) -> Table:
        """The table with answers behind its columns."""

    def gather(self, names: Sequence[str], rows: Array, answers: AnswerColumns) -> Table:
        """A new table: these columns' values in these rows, and answers behind them."""


def frame_of(table: Table) -> Frame:
    """The frame of a table, or of what `as_table` makes one of; an error says which kinds there are."""
    table = as_table(table)
    kind = kind_of_table(table)
    if kind == "pandas.DataFrame":
        return _Pandas(table)
    return _Polars(table) if kind == "polars.DataFrame" else _Arrow(table)


class _Arrow:
    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.names = table.column_names
        self.index: list[Any] = []

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def column(self, name: str) -> Series:
        return self._table.column(name)

    def take(self, rows: Array) -> Frame:
        return _Arrow(self._table.take(rows))

    def to_arrow(self) -> pa.Table:
        return self._table

    def from_arrow(self, table: pa.Table) -> Table:
        return table

    def with_columns(self, answers: AnswerColumns) -> Table:
        table = self._table
        for name, (_, array) in answers.items():
            table = table.append_column(name, array)
        return table

    def gather(self, names: Sequence[str], rows: Array, answers: AnswerColumns) -> Table:
        import pyarrow as pa

        keys = [self._table.column(name).take(pa.array(rows)) for name in names]
        fields = [self._table.schema.field(name) for name in names]
        fields += [pa.field(name, array.type) for name, (_, array) in answers.items()]
        return pa.table([*keys, *(array for _, array in answers.values())], schema=pa.schema(fields))


class _Polars:
    def __init__(self, table: pl.DataFrame) -> None:
        self._table = table
        self.names = table.columns
        self.index: list[Any] = []

    def __len__(self) -> int:
        return int(self._table.height)

    def column(self, name: str) -> Series:
        return self._table.get_column(name)

    def take(self, rows: Array) -> Frame:
        return _Polars(self._table[rows])

    def to_arrow(self) -> pa.Table:
        return self._table.to_arrow()

    def from_arrow(self, table: pa.Table) -> Table:
        import polars as pl

        return pl.from_arrow(table)

    def with_columns(self, answers: AnswerColumns) -> Table:
        import polars as pl

        return self._table.with_columns([pl.Series(name, array) for name, (_, array) in answers.items()])

    def gather(self, names: Sequence[str], rows: Array, answers: AnswerColumns) -> Table:
        import polars as pl

        keys = [self._table.get_column(name)[rows] for name in names]
        return pl.DataFrame([*keys, *(pl.Series(name, array) for name, (_, array) in answers.items())])


class _Pandas:
    def __init__(self, table: pd.DataFrame) -> None:
        self._table = table
        self.names = list(table.columns)
        self.index = list(table.index.names)

    def __len__(self) -> int:
        return len(self._table)

    def column(self, name: str) -> Series:
        return self._table[name]

    def take(self, rows: Array) -> Frame:
        return _Pandas(self._table.iloc[rows])

    def to_arrow(self) -> pa.Table:
        import pyarrow as pa

        try:
            arrays = [pa.array(self._table.iloc[:, i], from_pandas=True) for i in range(self._table.shape[1])]
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputError(f"a column holds values of several kinds, which Arrow cannot hold: {error}") from error
        return pa.table([_combined(array) for array in arrays], [str(name) for name in self.names])

    def from_arrow(self, table: pa.Table) -> Table:
        import pandas as pd

        width = len(self.names)
        columns = [self._as_pandas(i if i < width else None, column) for i, column in enumerate(table.columns)]
        frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(len(table)))
        frame.columns = pd.Index([*self.names, *table.column_names[width:]])
        return frame

    def with_columns(self, answers: AnswerColumns) -> Table:
        import pandas as pd

        places = {name: i for i, name in enumerate(self.names)}
        new = pd.DataFrame(
            {name: self._as_pandas(places.get(like), array) for name, (like, array) in answers.items()},
            index=self._table.index,
        )
        names = self._table.columns
        if isinstance(names, pd.MultiIndex):
            new.columns = pd.MultiIndex.from_tuples([(name, *[""] * (names.nlevels - 1)) for name in answers])
        joined = pd.concat([self._table, new], axis=1)
        joined.columns.names = names.names
        joined.attrs = dict(self._table.attrs)
        return joined

    def gather(self, names: Sequence[str], rows: Array, answers: AnswerColumns) -> Table:
        import pandas as pd

        places = {name: i for i, name in enumerate(self.names)}
        columns = {name: self._table[name].iloc[rows].array for name in names}
        columns |= {name: self._as_pandas(places.get(like), array) for name, (like, array) in answers.items()}
        return pd.DataFrame(columns, index=pd.RangeIndex(len(rows)))

    def _as_pandas(self, like: int | None, array: pa.Array) -> Series:
        """An Arrow array as pandas has it: in the kind of the column at this place, integers with holes nullable."""
        import pandas as pd
        from pyarrow.types import is_temporal

        dtype = self._table.dtypes.iloc[like] if like is not None else np.dtype(np.int64)
        array = _combined(array)
        if isinstance(dtype, pd.ArrowDtype):
            return pd.array(array, dtype=pd.ArrowDtype(array.type))
        if str(array.type).startswith("struct") and holds(array.type, is_temporal):
            # whose times Arrow would give as bare integers where they are nanoseconds
            return np.array([*array.to_pylist(), None], object)[:-1]
        if str(array.type).startswith("map"):
            return object_array(python_maps(array))
        nullable = not isinstance(dtype, np.dtype) and not hasattr(dtype, "storage")
        holes = array.null_count and str(array.type).startswith(("int", "uint", "bool"))
        kinds = dict(nullables()) if nullable or holes else {}
        return array.to_pandas(types_mapper=kinds.get).array


def _combined(array: pa.Array) -> pa.Array:
    return array.combine_chunks() if hasattr(array, "combine_chunks") and hasattr(array, "num_chunks") else array
