"""The batch that windows are evaluated over, as every lane gives it: keys as numbers, and columns by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.series import Column
from slidewise.engine.column_checks import present, true_rows
from slidewise.engine.window_spec import WindowSpec

if TYPE_CHECKING:
    import pyarrow as pa


class ColumnSource(Protocol):
    """Rows whose columns are read by name."""

    @property
    def count(self) -> int: ...

    def column(self, name: str) -> Column: ...

    def kind_of(self, name: str) -> pa.DataType: ...


class Batch(ColumnSource, Protocol):
    """Rows of several keys; `codes` number the keys from 0 on, and rows of one key come in the order of their times."""

    @property
    def codes(self) -> Array: ...


def columns_of(batch: Batch, spec: WindowSpec) -> tuple[list[Column], Array | None]:
    """The columns that a spec reads, and which rows count; one of zeros where it reads none."""
    columns = [batch.column(name) for name in spec.columns]
    flag = None if spec.condition is None else batch.column(spec.condition)
    valid = present(columns, spec.condition, flag)
    return columns or [Column(np.zeros(batch.count, np.int64), None, lambda x: x)], valid


def marks_of(batch: Batch, spec: WindowSpec) -> Array | None:
    """Which rows mark that windows begin anew; None where the spec has no such rows."""
    if spec.mark is None:
        return None
    return true_rows(batch.column(spec.mark), f"since={spec.mark!r}", spec.mark)
