"""External sort of a task's rows by key and time: what does not fit into memory is spilled to disk as sorted runs.

Spark's own sort compares rows two by two where there is more than one column to sort by. Here keys and times become
numbers, which are sorted as such, in the memory that rows are in already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from slidewise.arrays import Array
from slidewise.columns.series import Column, read
from slidewise.definition import Definition
from slidewise.engine.column_checks import time_column
from slidewise.engine.sorting import sort_rows, together
from slidewise.spark.sort.key_order import ranks
from slidewise.spark.sort.merge import merge_runs
from slidewise.spark.sort.sorted_rows import check_times
from slidewise.spark.sort.spill import SpillFile, sort_memory
from slidewise.spark.types import SIMPLE

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

OUTPUT_ROWS = 1 << 16  # of a table that comes out, so that not all answers are in memory at once
ROW_OVERHEAD = 40  # bytes that sorting takes for each row besides its values, about
MAX_RUNS = 64  # that are merged at once; more of them are first made fewer


def left_to_spark(definition: Definition, schema: StructType) -> str | None:
    """The first column to sort by whose order is not known here, such as a struct, with its type; or None.

    Where there is one, Spark has to sort.
    """
    for name in sort_columns(definition):
        kind = schema[name].dataType.simpleString()
        if kind not in SIMPLE:
            return f"{name!r}, {kind}"
    return None


def sort_columns(definition: Definition) -> list[str]:
    """The columns to sort by: keys, time, and those that order rows of equal time where their order matters."""
    order = [*definition.by, *([definition.on] if definition.on else [])]
    if definition.ordered:
        order += definition.ordering
    return list(dict.fromkeys(order))


def sort_tables(definition: Definition, tables: Iterable[pa.Table], hidden: tuple[str, ...] = ()) -> Iterator[pa.Table]:
    """The rows of tables that come in any order as tables sorted by key and time, nulls first and NaN last."""
    sort_as_one = partial(_sort_as_one, definition)
    names = sort_columns(definition)
    gathered: list[pa.Table] = []
    size = 0
    with closing(SpillFile()) as spill:
        for table in tables:
            check_times(definition, table, hidden)
            gathered.append(table)
            size += table.nbytes + ROW_OVERHEAD * len(table)
            if size >= sort_memory():
                spill.write([sort_as_one(gathered)])
                size = 0
        if gathered and spill.runs:
            spill.write([sort_as_one(gathered)])
        while len(spill.runs) > MAX_RUNS:
            first, spill.runs = spill.runs[:MAX_RUNS], spill.runs[MAX_RUNS:]
            spill.write(merge_runs(spill, first, names, sort_as_one))
        if spill.runs:
            ordered = merge_runs(spill, spill.runs, names, sort_as_one)
        else:
            ordered = iter([sort_as_one(gathered)] if gathered else [])
        for table in ordered:
            for start in range(0, len(table), OUTPUT_ROWS):
                yield table.slice(start, OUTPUT_ROWS)


def _sort_as_one(definition: Definition, tables: list[pa.Table]) -> pa.Table:
    """The rows of some tables as one sorted table; the list is empty afterwards, and few rows are in memory twice."""
    table = pa.concat_tables(tables).combine_chunks()
    tables.clear()
    order = _sort_indices(definition, table)
    if order is None:
        return table
    schema, columns, taken = table.schema, table.columns[::-1], []
    del table
    while columns:
        taken.append(columns.pop().take(pa.array(order)))
    return pa.Table.from_arrays(taken, schema=schema)


def _sort_indices(definition: Definition, table: pa.Table) -> Array | None:
    """The indices of the rows in sorted order; None where they are sorted already."""
    codes, groups = together(ranks(table.column(name)) for name in definition.by)
    on = definition.on
    times = None if on is None else time_column(on, read(table.column(on), repr(on))).data
    order = sort_rows(definition, codes, groups, times, len(table), lambda name: _orderable(table.column(name), name))
    return order.rows()


def _orderable(values: pa.ChunkedArray, name: str) -> Column:
    """A column that NumPy orders: text and bytes as ranks."""
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        return Column(ranks(values)[0], None, lambda answers: answers)
    return read(values, repr(name))
