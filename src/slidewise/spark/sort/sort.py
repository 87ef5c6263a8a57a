"""Rows of a task brought into order by key and time here, in bounded memory: what does not fit goes to disk as runs.

Spark's own sort compares rows two by two where there is more than one column to sort by. Here keys and times become
numbers, which are sorted as such, in the memory that rows are in already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

from slidewise.arrays import Array
from slidewise.columns.series import Column, read
from slidewise.definition import Definition
from slidewise.engine.sorting import sort_rows, together
from slidewise.engine.table_rows import time_column
from slidewise.spark.sort.key_order import ranks
from slidewise.spark.sort.merge import merged
from slidewise.spark.sort.sorted_rows import check_times
from slidewise.spark.sort.spill import Spilled, memory
from slidewise.spark.types import SIMPLE

# Sorted rows go on in pieces of so many, so that their answers are not all there at once.
PIECE = 1 << 16
# Bytes that sorting takes for each row, whatever is in it, about.
PER_ROW = 40
# Runs that are merged at once; more of them are first made fewer.
MOST_RUNS = 64


def left_to_spark(definition: Definition, schema: Any) -> str | None:
    """The first column to sort by whose order is not known here, such as a struct, so that Spark has to sort; or None.

    It is said with its type.
    """
    for name in sort_columns(definition):
        kind = schema[name].dataType.simpleString()
        if kind not in SIMPLE:
            return f"{name!r}, {kind}"
    return None


def sort_columns(definition: Definition) -> list[str]:
    """What rows are sorted by: keys, time, and what orders rows of equal time where their order matters."""
    order = [*definition.by, *([definition.on] if definition.on else [])]
    if definition.ordered:
        order += definition.ordering
    return list(dict.fromkeys(order))


def in_order(definition: Definition, tables: Iterable[Any], hidden: tuple[str, ...] = ()) -> Iterator[Any]:
    """The rows of tables that come in any order as tables sorted by key and time, nulls first and NaN last."""
    arranged = partial(_arranged, definition)
    names = sort_columns(definition)
    gathered: list[Any] = []
    size = 0
    with closing(Spilled()) as spilled:
        for table in tables:
            check_times(definition, table, hidden)
            gathered.append(table)
            size += table.nbytes + PER_ROW * len(table)
            if size >= memory():
                spilled.write([arranged(gathered)])
                size = 0
        if gathered and spilled.runs:
            spilled.write([arranged(gathered)])
        while len(spilled.runs) > MOST_RUNS:
            first, spilled.runs = spilled.runs[:MOST_RUNS], spilled.runs[MOST_RUNS:]
            spilled.write(merged(spilled, first, names, arranged))
        if spilled.runs:
            found = merged(spilled, spilled.runs, names, arranged)
        else:
            found = iter([arranged(gathered)] if gathered else [])
        for table in found:
            for start in range(0, len(table), PIECE):
                yield table.slice(start, PIECE)


def _arranged(definition: Definition, tables: list[Any]) -> Any:
    """The rows of some tables as one, in order; the list is empty afterwards, and few rows are in memory twice."""
    import pyarrow as pa

    table = pa.concat_tables(tables).combine_chunks()
    tables.clear()
    order = _order(definition, table)
    if order is None:
        return table
    schema, columns, found = table.schema, table.columns[::-1], []
    del table
    while columns:
        found.append(columns.pop().take(pa.array(order)))
    return pa.Table.from_arrays(found, schema=schema)


def _order(definition: Definition, table: Any) -> Array | None:
    """Which row comes first, second and so on; None where they stand so already."""
    codes, groups = together(ranks(table.column(name)) for name in definition.by)
    on = definition.on
    times = None if on is None else time_column(on, read(table.column(on), repr(on))).data
    order = sort_rows(definition, codes, groups, times, len(table), lambda name: _orderable(table.column(name), name))
    return order.rows()


def _orderable(values: Any, name: str) -> Column:
    """A column that NumPy orders: text and bytes as ranks."""
    import pyarrow as pa

    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        return Column(ranks(values)[0], None, lambda answers: answers)
    return read(values, repr(name))
