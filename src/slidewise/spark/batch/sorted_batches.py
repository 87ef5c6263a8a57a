"""Rows sorted by key and time that come batch by batch: the answers of one table, in the memory of one window.

Nothing is kept of keys that have passed. Of the key that a batch ends in, the rows that later windows may hold are
kept, or a state where a window holds everything so far; and its newest rows wait until a later time, another key or the
end shows that no more of their time come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.series import read
from slidewise.definition import Definition
from slidewise.engine.cells import Cells
from slidewise.engine.table_rows import time_column
from slidewise.engine.window_batch import WindowBatch, stored_of_first, window_batch
from slidewise.engine.window_spec import WindowSpec, window_specs_of
from slidewise.errors import InputError, OperatorFailedError
from slidewise.spark.batch.time_slices import COPY, HIDDEN, TimeSlices
from slidewise.spark.error_rows import fault, said
from slidewise.spark.sort.sorted_rows import SortedRows, check_keys, check_order, check_times, codes_of, named

# Batches are gathered until they are this long, and as long as what is kept: windows are gone through twice at most.
FEWEST = 65_536


class Carrying:
    """A definition fed with sorted rows: `push` gives those that are decided, with their answers; `finish` the rest.

    `sliced` rows come in slices of time: the slice is their first key, and copies of rows, there for others to see, are
    left out of the answers, as are the two columns that say so. `verify` makes sure that no key comes twice.
    """

    def __init__(self, definition: Definition, sliced: bool = False, verify: bool = False) -> None:
        self._definition = definition
        self._hidden = HIDDEN if sliced else ()
        self._verify = verify
        self._specs = window_specs_of(definition, spikes=False)
        self._unit = 1
        self._timed = any(not spec.numbered for spec in self._specs)
        self._held: Any = None
        self._key: Any = None  # a table of one row: the key that the last batch ended in
        self._rows = 0  # how many rows this key has had
        self._kept: list[Any] = [None] * len(self._specs)

    @property
    def size(self) -> int:
        """How many rows, or cells of them, are kept or wait."""
        kept = [len(one[0]) for one in self._kept if isinstance(one, list)]
        kept += [len(one) for one in self._kept if isinstance(one, Cells)]
        return max(kept, default=0) + (0 if self._held is None else len(self._held))

    def push(self, table: Any) -> Any:
        """Take in more rows; the decided ones with their answers, or None where there are none."""
        import pyarrow as pa

        check_times(self._definition, table, self._hidden)
        return self._go(table if self._held is None else pa.concat_tables([self._held, table]), end=False)

    def pieces(self, table: Any) -> Iterator[Any]:
        """A table in pieces whose answers are not too many at once."""
        yield table

    def finish(self) -> Any:
        """The rows that still wait, with their answers, or None."""
        held, self._held = self._held, None
        return None if held is None else self._go(held, end=True)

    def _go(self, table: Any, end: bool) -> Any:
        if not len(table):
            self._held = None
            return None
        codes, goes_on = codes_of(self._definition, table, self._key)
        self._check_order(table, codes, goes_on)
        decided = len(table) if end or not self._timed else self._decided(table, codes)
        rest = table.slice(decided)
        if decided:
            table = table.slice(0, decided)
            table = self._answered(table, codes[:decided], goes_on)
        self._held = rest if len(rest) else None
        return table if decided and len(table) else None

    def _check_order(self, table: Any, codes: Array, goes_on: bool) -> None:
        """Times never run backwards in a key, from the row before the table on; nor keys, where that is to be seen."""
        import pyarrow as pa

        definition = self._definition
        if self._key is not None:
            table = pa.concat_tables([self._key, table.select(self._key.column_names)])
            codes = np.concatenate([[0], codes + (0 if goes_on else 1)])
        check_order(definition, table, codes, self._hidden)
        if self._verify:
            check_keys(definition, table, codes)

    def _decided(self, table: Any, codes: Array) -> int:
        """How many rows come before those of the newest key and time."""
        on = self._definition.on
        assert on is not None
        times = time_column(on, read(table.column(on), repr(on))).data
        open_ones = (codes == codes[-1]) & (times == times[-1])
        return int(len(codes) - np.argmin(open_ones[::-1])) if not open_ones.all() else 0

    def _answered(self, table: Any, codes: Array, goes_on: bool) -> Any:
        silent = table.column(COPY).to_numpy() > 0 if self._hidden else None
        rows = SortedRows(table, self._definition, codes, silent)
        old = self._kept if goes_on else [None] * len(self._specs)
        numbers = self._numbers(codes, self._rows if goes_on else 0)
        times = self._places(rows) if self._timed else None
        went = []
        for spec, before in zip(self._specs, old, strict=True):
            places = numbers if spec.numbered or times is None else times
            try:
                batch = _evaluated(rows, spec, places, before)
                went.append((batch.arrays(), batch.kept_of_last()))
            except Exception as error:
                raise self._blamed(error, rows, spec, places, before) from error
        found: dict[str, Any] = {}
        for spec, (arrays, _) in zip(self._specs, went, strict=True):
            found |= {one.name: array for one, array in zip(spec.members, arrays, strict=True)}
        self._kept = [after for _, after in went]
        self._rows = int(numbers[-1]) + 1
        on = [] if self._definition.on is None else [self._definition.on]
        self._key = table.select([*self._definition.by, *on]).slice(rows.count - 1, 1)
        if self._hidden:
            table = table.drop_columns(list(self._hidden))
        for name in self._definition.columns:
            table = table.append_column(name, found[name])
        return table if silent is None or not silent.any() else table.filter(~silent)

    def _numbers(self, codes: Array, had: int) -> Array:
        """The number of each row in its key, from 0 on; the first key has had rows before."""
        first = np.flatnonzero(np.diff(codes, prepend=-1))
        numbers = np.arange(len(codes)) - first[codes]
        numbers[: np.searchsorted(codes, 1)] += had
        return numbers

    def _places(self, rows: SortedRows) -> Array:
        """Times as they are; windows are counted in their unit."""
        assert rows.times is not None
        unit = rows.times.unit or 1
        if unit != self._unit:
            self._specs = [spec.scaled(unit // self._unit) for spec in self._specs]
            self._unit = unit
        return rows.times.data

    def _blamed(self, error: Exception, rows: SortedRows, spec: WindowSpec, places: Array, before: Any) -> Exception:
        def tried(one: WindowSpec, count: int) -> object:
            batch = _evaluated(rows.first(count), one, places[:count], before)
            return batch.arrays(), batch.kept_of_last()

        found = fault(spec, tried, rows.count)
        if found is None:
            return error
        names, row = found
        return said(error, names, named(self._definition, rows.table, row, self._hidden))


def _evaluated(rows: SortedRows, spec: WindowSpec, places: Array, before: Any) -> WindowBatch:
    """A spec over sorted rows, of which the first key goes on from what was kept of it."""
    return window_batch(rows, spec, places, stored_of_first(spec, before, rows.keys), True, rows.silent)


def carried(carrying: Carrying, tables: Iterable[Any]) -> Iterator[Any]:
    """The answers over sorted rows that come as tables of any size, as tables."""

    gathered: list[Any] = []
    size = 0
    for table in tables:
        gathered.append(table)
        size += len(table)
        if size >= max(FEWEST, carrying.size):
            yield from _pushed(carrying, gathered)
            gathered, size = [], 0
    if gathered:
        yield from _pushed(carrying, gathered)
    found = carrying.finish()
    if found is not None:
        yield found


def _pushed(carrying: Carrying, tables: list[Any]) -> Iterator[Any]:
    import pyarrow as pa

    for piece in carrying.pieces(pa.concat_tables(tables)):
        found = carrying.push(piece)
        if found is not None:
            yield found


def with_types(table: Any, kinds: dict[str, Any]) -> Any:
    """The table with its answers in the types that were announced: those of one batch may all be null, say."""
    import pyarrow as pa

    for name, kind in kinds.items():
        answers = table.column(name)
        if answers.type == kind:
            continue
        try:
            table = table.set_column(table.column_names.index(name), name, answers.cast(kind))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise OperatorFailedError(
                f"column {name!r}: the operator answers with {answers.type} here, and with {kind} for a made-up row; "
                f"let `lower` always answer with one type, and declare it: sw.operator(..., answers=...) ({error})"
            ) from error
    return table


def numbered(names: Sized) -> list[str]:
    """Names that are nothing but different."""
    return [f"column {i}" for i in range(len(names))]


def _carrying(definition: Definition, cut: TimeSlices | None, verify: bool) -> Carrying:
    if definition.every is None:
        return Carrying(definition, cut is not None, verify)
    from slidewise.spark.batch.beats import Beating

    return Beating(definition, cut, verify)


def batches_of(
    definition: Definition,
    kinds: dict[str, Any],
    names: list[str] | None,
    cut: TimeSlices | None,
    verify: bool,
    sort: bool,
    batches: Iterable[Any],
) -> Iterator[Any]:
    """The same for record batches, as a task of Spark has them, with answers of these types.

    With `names`, columns come and go under numbers; with `cut`, in slices of time; with `sort`, in any order.
    """
    import pyarrow as pa
    from pyspark import TaskContext

    from slidewise.spark.sort.sort import in_order

    tables: Iterator[Any] = (pa.Table.from_batches([batch]) for batch in batches if len(batch))
    if verify and not definition.by and TaskContext.get().partitionId():
        if next(tables, None) is None:
            return
        raise InputError("rows without keys belong together, but they are in several partitions; coalesce(1) them")
    if names is not None:
        tables = (table.rename_columns(names) for table in tables)
    if sort:
        tables = in_order(definition, tables, HIDDEN if cut is not None else ())
    for table in carried(_carrying(definition, cut, verify), tables):
        found = with_types(table, kinds)
        found = found if names is None else found.rename_columns(numbered(found.column_names))
        yield from found.combine_chunks().to_batches()
