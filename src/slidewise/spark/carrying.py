"""Rows sorted by key and time that come batch by batch: the answers of one table, in the memory of one window.

Nothing is kept of keys that have passed. Of the key that a batch ends in, the rows that later windows may hold are
kept, or a state where a window holds everything so far; and its newest rows wait until a later time, another key or the
end shows that no more of their time come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from fractions import Fraction
from typing import Any

import numpy as np

from slidewise.definition import Definition
from slidewise.errors import SumOverflowError, TimeOrderError
from slidewise.kernels.series import Column, read
from slidewise.live.batch_kernels import as_arrays
from slidewise.live.batch_running import Before, running_spec
from slidewise.live.incoming import as_python
from slidewise.live.running_pane import RunningPane
from slidewise.live.slid import Slid, columns_of
from slidewise.live.spec import Spec, specs_of
from slidewise.tables.arrange import key_codes
from slidewise.tables.evaluate import arrow_type, check_inputs, time_column, typed

Array = Any

# Batches are gathered until they are this long, and as long as what is kept: windows are gone through twice at most.
FEWEST = 65_536


class _Batch:
    """A table of sorted rows: the number of each row's key in it, and its columns."""

    def __init__(self, table: Any, definition: Definition, codes: Array) -> None:
        self._table = table
        self._columns: dict[str, Column] = {}
        self.codes = codes
        self.count = len(codes)
        self.keys = int(codes[-1]) + 1 if len(codes) else 0
        self.times = None if definition.on is None else time_column(definition.on, self.column(definition.on))

    def column(self, name: str) -> Column:
        if name not in self._columns:
            self._columns[name] = read(self._table.column(name), repr(name))
        return self._columns[name]

    def kind_of(self, name: str) -> Any:
        return arrow_type(self._table.column(name))


class Carrying:
    """A definition fed with sorted rows: `push` gives those that are decided, with their answers; `finish` the rest."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._specs = specs_of(definition, spikes=False)
        self._unit = 1
        self._timed = any(not spec.numbered for spec in self._specs)
        self._held: Any = None
        self._key: Any = None  # a table of one row: the key that the last batch ended in
        self._rows = 0  # how many rows this key has had
        self._kept: list[Any] = [None] * len(self._specs)

    @property
    def size(self) -> int:
        """How many rows are kept or wait."""
        kept = [len(one[0]) for one in self._kept if isinstance(one, list)]
        return max(kept, default=0) + (0 if self._held is None else len(self._held))

    def push(self, table: Any) -> Any:
        """Take in more rows; the decided ones with their answers, or None where there are none."""
        return self._go(self._joined(table), end=False)

    def finish(self) -> Any:
        """The rows that still wait, with their answers, or None."""
        held, self._held = self._held, None
        return None if held is None else self._go(held, end=True)

    def _joined(self, table: Any) -> Any:
        import pyarrow as pa

        return table if self._held is None else pa.concat_tables([self._held, table])

    def _go(self, table: Any, end: bool) -> Any:
        if not len(table):
            self._held = None
            return None
        codes, goes_on = self._codes(table)
        decided = len(table) if end or not self._timed else self._decided(table, codes)
        rest = table.slice(decided)
        if decided:
            table = table.slice(0, decided)
            table = self._answered(table, codes[:decided], goes_on)
        self._held = rest if len(rest) else None
        return table if decided else None

    def _codes(self, table: Any) -> tuple[Array, bool]:
        """The number of each row's key, from 0 on, and whether the first is the key that the last batch ended in."""
        import pyarrow as pa

        names = list(self._definition.by)
        if not names:
            return np.zeros(len(table), np.int64), self._key is not None
        keys = table.select(names)
        if self._key is not None:
            keys = pa.concat_tables([self._key, keys])
        codes, _ = key_codes([(name, keys.column(name)) for name in names])
        assert codes is not None
        steps = np.concatenate([[0], np.cumsum(codes[1:] != codes[:-1])])
        if self._key is None:
            return steps, False
        return steps[1:] - steps[1], bool(steps[1] == 0)

    def _decided(self, table: Any, codes: Array) -> int:
        """How many rows come before those of the newest key and time."""
        on = self._definition.on
        assert on is not None
        times = time_column(on, read(table.column(on), repr(on))).data
        open_ones = (codes == codes[-1]) & (times == times[-1])
        return int(len(codes) - np.argmin(open_ones[::-1])) if not open_ones.all() else 0

    def _answered(self, table: Any, codes: Array, goes_on: bool) -> Any:
        batch = _Batch(table, self._definition, codes)
        had = self._rows if goes_on else 0
        self._check_order(batch)
        first = np.flatnonzero(np.diff(codes, prepend=-1))
        numbers = np.arange(batch.count) - first[codes]
        numbers[: np.searchsorted(codes, 1)] += had
        found: dict[str, Any] = {}
        kept: list[Any] = []
        times = self._places(batch) if self._timed else None
        for spec, old in zip(self._specs, self._kept, strict=True):
            places = numbers if spec.numbered else times
            go = self._running if spec.running else self._sliding
            arrays, after = go(batch, spec, places, old if goes_on else None)
            kept.append(after)
            found |= {one.name: array for one, array in zip(spec.members, arrays, strict=True)}
        self._kept = kept
        self._rows = int(numbers[-1]) + 1
        self._key = table.select(list(self._definition.by)).slice(batch.count - 1, 1)
        for name in self._definition.columns:
            table = table.append_column(name, found[name])
        return table

    def _check_order(self, batch: _Batch) -> None:
        if batch.times is None:
            return
        times = batch.times.data
        wrong = (np.diff(batch.codes) == 0) & (times[1:] < times[:-1])
        if wrong.any():
            at = int(wrong.argmax()) + 1
            shown = batch.times.restore(times[at - 1 : at + 1]).tolist()
            raise TimeOrderError(
                f"rows are not sorted by key and time: {shown[1]} comes after {shown[0]}; sort, or leave out presorted="
            )

    def _places(self, batch: _Batch) -> Array:
        """Times as they are; windows are counted in their unit."""
        assert batch.times is not None
        unit = batch.times.unit or 1
        if unit != self._unit:
            self._specs = [_scaled(spec, unit // self._unit) for spec in self._specs]
            self._unit = unit
        return batch.times.data

    def _sliding(self, batch: _Batch, spec: Spec, places: Array, old: Any) -> tuple[list[Any], Any]:
        counts = np.zeros(batch.keys, np.int64)
        if old is not None:
            counts[0] = len(old[0])
        slid = Slid(batch, spec, places, counts, old if old is not None and len(old[0]) else [], peers=True)
        return slid.arrays(), slid.kept_of_last()

    def _running(self, batch: _Batch, spec: Spec, places: Array, old: Any) -> tuple[list[Any], Any]:
        columns, valid = columns_of(batch, spec)
        types = [batch.kind_of(name) for name in spec.columns]
        for one in spec.members:
            check_inputs(one.operator, spec.columns, columns, types)
        pane = old if old is not None else RunningPane(spec)
        if not spec.is_open:
            counts = np.zeros(batch.keys, np.int64)
            counts[0] = pane.count
            none = [None] * (batch.keys - 1)
            states = [[pane.states[j] if pane.count else None, *none] for j in range(len(spec.members))]
            try:
                went = running_spec(batch, spec, places, True, columns, valid, Before(counts, states))
            except SumOverflowError:  # which may not hold once the last peer is in
                went = None
            if went is not None:
                answers, after = went
                last = RunningPane(spec)
                last.count = int(after.counts[-1])
                last.states = [part[-1] for part in after.states] if last.count else []
                return [
                    typed(one.operator, columns, types, a) for one, a in zip(spec.members, answers, strict=True)
                ], last
        return self._row_by_row(batch, spec, places, pane, columns, types, valid)

    def _row_by_row(
        self, batch: _Batch, spec: Spec, places: Array, pane: Any, columns: list[Column], types: list[Any], valid: Any
    ) -> tuple[list[Any], Any]:
        values = zip(*(as_python(column, column.data).tolist() for column in columns), strict=True)
        seen = [True] * batch.count if valid is None else valid.tolist()
        answers: list[list[Any]] = []
        peers: list[Any] = []
        code, place = 0, None
        for next_code, next_place, row, counts in zip(batch.codes.tolist(), places.tolist(), values, seen, strict=True):
            if peers and (next_code != code or next_place != place):
                answers += pane.push_peers(peers)
                peers = []
            if next_code != code:
                pane = RunningPane(spec)
            code, place = next_code, next_place
            peers.append((place, row if counts else None))
        answers += pane.push_peers(peers)
        return as_arrays(spec, types, answers), pane


def _scaled(spec: Spec, unit: int) -> Spec:
    """The same with its width in a larger unit of time."""
    if spec.numbered or spec.width is None:
        return spec
    scaled = copy(spec)
    scaled.width = Fraction(spec.width, unit)
    return scaled


def carried(definition: Definition, tables: Iterable[Any]) -> Iterator[Any]:
    """The answers over sorted rows that come as tables of any size, as tables."""
    import pyarrow as pa

    carrying = Carrying(definition)
    gathered: list[Any] = []
    size = 0
    for table in tables:
        gathered.append(table)
        size += len(table)
        if size >= max(FEWEST, carrying.size):
            found = carrying.push(pa.concat_tables(gathered))
            gathered, size = [], 0
            if found is not None:
                yield found
    if gathered:
        found = carrying.push(pa.concat_tables(gathered))
        if found is not None:
            yield found
    found = carrying.finish()
    if found is not None:
        yield found


def batches_of(definition: Definition, batches: Iterable[Any]) -> Iterator[Any]:
    """The same for record batches, as a task of Spark has them."""
    import pyarrow as pa

    tables = (pa.Table.from_batches([batch]) for batch in batches)
    for table in carried(definition, tables):
        yield from table.combine_chunks().to_batches()
