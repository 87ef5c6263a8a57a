"""Answers on a beat over sorted rows that come batch by batch: the beats of one table, in the memory of
the slices of one window.

Of the key that a batch ends in, the slices that later beats need are kept; its beats up to the newest row are given.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.definition import Definition
from slidewise.engine.beats.parts import SlicePlan
from slidewise.engine.beats.slices import BeatSlices, as_times, sliced
from slidewise.errors import SlidewiseError
from slidewise.kernels.bounds.beats import held_at, new_beats, slice_numbers, times_of
from slidewise.spark.batch.sorted_batches import Carrying
from slidewise.spark.batch.time_slices import SLICE, TimeSlices
from slidewise.spark.error_rows import first_to_fail
from slidewise.spark.sort.sorted_rows import SortedRows, check_times, codes_of, named
from slidewise.windows import Beats

MOST = 2**21  # beats that are answered at once, about
_NEVER, _ALWAYS = -(2**62), 2**62


class _Carried(NamedTuple):
    """What is known of the key that came last: its slices, and the last beat that it was given."""

    slices: BeatSlices
    given: int


class Beating(Carrying):
    """A definition on a beat fed with sorted rows: `push` gives the beats that are complete, `finish` the rest.

    With `cut`, rows come in slices of time, and of each slice's beats only those that lie in it are given.
    """

    def __init__(self, definition: Definition, cut: TimeSlices | None = None, verify: bool = False) -> None:
        super().__init__(definition, cut is not None, verify)
        self._cut = cut
        self._aggregates = SlicePlan(definition, in_batch=True)
        self._before: _Carried | None = None
        self._empty: Any = None

    @property
    def size(self) -> int:
        """How many slices, or rows of them, are kept."""
        if self._before is None:
            return 0
        slices = self._before.slices
        return max([len(slices), *(int(part.counts.sum()) for part in slices.parts if hasattr(part, "inputs"))])

    def pieces(self, table: Any) -> Iterator[Any]:
        """A row may be seen at very many beats, so that those of a batch of rows would not fit into memory."""
        check_times(self._definition, table, self._hidden)
        if not len(table):
            return
        rows = SortedRows(table, self._definition, codes_of(self._definition, table, None)[0])
        times = rows.times
        assert times is not None
        beats = self._aggregates.beats(times.unit, times.data.dtype == np.float64, times.arrow)
        _, counts = new_beats(rows.codes, *held_at(beats, slice_numbers(beats, times.data)))
        cuts = np.flatnonzero(np.diff(np.cumsum(counts) // MOST)) + 1
        for a, b in pairwise([0, *cuts.tolist(), len(table)]):
            yield table.slice(a, b - a)

    def push(self, table: Any) -> Any:
        """Take in more rows; the beats that they show to be complete, or None where there are none."""
        check_times(self._definition, table, self._hidden)
        if not len(table):
            return None
        table = table.combine_chunks()
        codes, goes_on = codes_of(self._definition, table, self._key)
        self._check_order(table, codes, goes_on)
        if self._key is not None and not goes_on:
            codes = codes + 1
        found, before = self._gone(table, codes, end=False)
        self._before = before
        on = str(self._definition.on)
        self._key = table.select([*self._definition.by, on]).slice(len(table) - 1, 1)
        self._empty = table.slice(0, 0)
        return found

    def finish(self) -> Any:
        """The beats that are left, or None."""
        if self._before is None:
            return None
        found, _ = self._gone(self._empty, np.zeros(0, np.int64), end=True)
        self._before = None
        return found

    def _gone(self, table: Any, codes: Array, end: bool) -> tuple[Any, _Carried | None]:
        try:
            return self._go_on(table, codes, end)
        except SlidewiseError as error:
            if not len(table):
                raise

            def fails(count: int) -> bool:
                try:
                    self._go_on(table.slice(0, count), codes[:count], True)
                except SlidewiseError:
                    return True
                return False

            if not fails(len(table)):
                raise
            row = first_to_fail(fails, len(table))
            raise type(error)(f"{error}; at {named(self._definition, table, row, self._hidden)}") from error

    def _go_on(self, table: Any, codes: Array, end: bool) -> tuple[Any, _Carried | None]:
        """The beats after these rows, and what is kept then; key 0 is that of the last batch, if there was one."""
        rows = SortedRows(table, self._definition, codes)
        times = rows.times
        assert times is not None
        beats = self._aggregates.beats(times.unit, times.data.dtype == np.float64, times.arrow)
        slices, given = sliced(self._aggregates, beats, rows, codes, times.data, lambda x: x)
        keys = max(rows.keys, 1)
        after, until = np.full(keys, _NEVER), np.full(keys, _ALWAYS)
        if self._before is not None:
            slices = self._before.slices.joined(slices)
            after[0] = self._before.given
        if not end:
            until[-1] = max(beats.complete(int(slice_numbers(beats, times.data[-1:])[0])), after[-1])
        due = slices.due(beats, after, until)
        moments = times_of(beats, due.numbers)
        if self._cut is not None and len(due):
            mine = self._slices_of_keys(table, codes)[due.codes] == self._cut.numbers(moments)
            due, moments = due.taken(mine), moments[mine]
        found = None
        if len(due):
            found = self._with_keys(table, codes, due.codes, as_times(str(self._definition.on), times, moments))
            for name, array in slices.answers(self._aggregates, beats, due, given).items():
                found = found.append_column(name, array)
        return found, None if end else self._rest(beats, slices, keys - 1, int(until[-1]))

    def _rest(self, beats: Beats, slices: BeatSlices, key: int, given: int) -> _Carried:
        last = slices.taken(np.flatnonzero((slices.codes == key) & slices.needed(beats, given)))
        return _Carried(BeatSlices(np.zeros_like(last.codes), last.numbers, last.parts), given)

    def _keys(self, table: Any, codes: Array) -> Any:
        """A table with a row for each key."""
        import pyarrow as pa

        names = list(self._definition.by)
        firsts = np.flatnonzero(np.diff(codes, prepend=-1 if self._before is None else 0))
        keys = table.select(names).take(pa.array(firsts))
        return keys if self._before is None else pa.concat_tables([self._key.select(names), keys])

    def _slices_of_keys(self, table: Any, codes: Array) -> Array:
        array: Array = self._keys(table, codes).column(SLICE).to_numpy()
        return array

    def _with_keys(self, table: Any, codes: Array, which: Array, moments: Any) -> Any:
        import pyarrow as pa

        names = [name for name in self._definition.by if name not in self._hidden]
        found = pa.table({str(self._definition.on): moments})
        if not names:
            return found
        keys = self._keys(table, codes).select(names).take(pa.array(which))
        return keys.append_column(str(self._definition.on), moments)
