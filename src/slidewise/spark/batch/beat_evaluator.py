"""Evaluation on a beat of sorted rows that come batch by batch, in the memory of the slices of one window.

Of the key that a batch ends in, the slices that later beats need are stored; its beats up to the newest row are
answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.definition import Definition
from slidewise.engine.beats.parts import SlicePlan
from slidewise.engine.beats.slices import BeatSlices, as_times, sliced
from slidewise.engine.computed.columns import with_arguments
from slidewise.errors import SlidewiseError
from slidewise.kernels.bounds.beats import held_at, new_beats, slice_numbers, times_of
from slidewise.spark.batch.evaluator import BatchEvaluator
from slidewise.spark.batch.time_slices import TimeSlices
from slidewise.spark.column_names import SLICE
from slidewise.spark.error_location import first_failing_row
from slidewise.spark.sort.sorted_rows import SortedRows, check_times, group_codes, row_label
from slidewise.windows import Beats

MAX_BEATS = 2**21  # that are answered at once, about
_NEVER, _ALWAYS = -(2**62), 2**62


class _KeyState(NamedTuple):
    """The state of the key that came last: its slices, and its last beat that was answered."""

    slices: BeatSlices
    last_beat: int


class BeatEvaluator(BatchEvaluator):
    """Evaluates a definition on a beat over sorted rows: `push` returns the complete beats, and `finish` the rest.

    With `time_slices`, rows come in slices of time, and of each slice's beats only those that lie in it are answered.
    """

    def __init__(self, definition: Definition, time_slices: TimeSlices | None = None, verify: bool = False) -> None:
        super().__init__(definition, time_slices is not None, verify)
        self._time_slices = time_slices
        self._plan = SlicePlan(definition, in_batch=True)
        self._state: _KeyState | None = None
        self._empty: pa.Table | None = None

    @property
    def size(self) -> int:
        """How many slices, or rows of them, are stored."""
        if self._state is None:
            return 0
        slices = self._state.slices
        return max([len(slices), *(int(part.counts.sum()) for part in slices.parts if hasattr(part, "inputs"))])

    def pieces(self, table: pa.Table) -> Iterator[pa.Table]:
        """A row may be seen at very many beats, so that those of a batch of rows would not fit into memory."""
        check_times(self._definition, table, self._hidden)
        if not len(table):
            return
        rows = SortedRows(table, self._definition, group_codes(self._definition, table, None)[0])
        times = rows.times
        assert times is not None
        beats = self._plan.beats(times.unit, times.data.dtype == np.float64, times.arrow)
        _, counts = new_beats(rows.codes, *held_at(beats, slice_numbers(beats, times.data)))
        cuts = np.flatnonzero(np.diff(np.cumsum(counts) // MAX_BEATS)) + 1
        for a, b in pairwise([0, *cuts.tolist(), len(table)]):
            yield table.slice(a, b - a)

    def push(self, table: pa.Table) -> pa.Table | None:
        """Take in more rows; the beats that they show to be complete, or None where there are none."""
        check_times(self._definition, table, self._hidden)
        if not len(table):
            return None
        table = with_arguments(self._definition, table, self._label).combine_chunks()
        codes, continues = group_codes(self._definition, table, self._key)
        self._check_order(table, codes, continues)
        if self._key is not None and not continues:
            codes = codes + 1
        answered, state = self._answer_beats_or_locate(table, codes, at_end=False)
        self._state = state
        on = str(self._definition.on)
        self._key = table.select([*self._definition.by, on]).slice(len(table) - 1, 1)
        self._empty = table.slice(0, 0)
        return answered

    def finish(self) -> pa.Table | None:
        """The beats that are left, or None."""
        if self._state is None:
            return None
        answered, _ = self._answer_beats_or_locate(self._empty, np.zeros(0, np.int64), at_end=True)
        self._state = None
        return answered

    def _answer_beats_or_locate(
        self, table: pa.Table, codes: Array, at_end: bool
    ) -> tuple[pa.Table | None, _KeyState | None]:
        """As `_answer_beats`, with the row in an error."""
        try:
            return self._answer_beats(table, codes, at_end)
        except SlidewiseError as error:
            if not len(table):
                raise

            def fails(count: int) -> bool:
                try:
                    self._answer_beats(table.slice(0, count), codes[:count], True)
                except SlidewiseError:
                    return True
                return False

            if not fails(len(table)):
                raise
            row = first_failing_row(fails, len(table))
            raise type(error)(f"{error}; at {row_label(self._definition, table, row, self._hidden)}") from error

    def _answer_beats(self, table: pa.Table, codes: Array, at_end: bool) -> tuple[pa.Table | None, _KeyState | None]:
        """The beats up to these rows, and the last key's state; key 0 is that of the last batch, if there is one."""
        rows = SortedRows(table, self._definition, codes)
        times = rows.times
        assert times is not None
        beats = self._plan.beats(times.unit, times.data.dtype == np.float64, times.arrow)
        slices, arguments = sliced(self._plan, beats, rows, codes, times.data, lambda x: x)
        keys = max(rows.keys, 1)
        after, until = np.full(keys, _NEVER), np.full(keys, _ALWAYS)
        if self._state is not None:
            slices = self._state.slices.joined(slices)
            after[0] = self._state.last_beat
        if not at_end:
            until[-1] = max(beats.complete(int(slice_numbers(beats, times.data[-1:])[0])), after[-1])
        due = slices.due(beats, after, until)
        moments = times_of(beats, due.numbers)
        if self._time_slices is not None and len(due):
            in_slice = self._slices_of_keys(table, codes)[due.codes] == self._time_slices.numbers(moments)
            due, moments = due.taken(in_slice), moments[in_slice]
        answered = None
        if len(due):
            answered = self._with_keys(table, codes, due.codes, as_times(str(self._definition.on), times, moments))
            answered = self._with_columns(answered, slices.answers(self._plan, beats, due, arguments))
        return answered, None if at_end else self._key_state(beats, slices, keys - 1, int(until[-1]))

    def _key_state(self, beats: Beats, slices: BeatSlices, key: int, last_beat: int) -> _KeyState:
        needed = slices.taken(np.flatnonzero((slices.codes == key) & slices.needed(beats, last_beat)))
        return _KeyState(BeatSlices(np.zeros_like(needed.codes), needed.numbers, needed.parts), last_beat)

    def _keys(self, table: pa.Table, codes: Array) -> pa.Table:
        """A table with a row for each key."""
        names = list(self._definition.by)
        firsts = np.flatnonzero(np.diff(codes, prepend=-1 if self._state is None else 0))
        keys = table.select(names).take(pa.array(firsts))
        if self._state is None:
            return keys
        assert self._key is not None
        return pa.concat_tables([self._key.select(names), keys])

    def _slices_of_keys(self, table: pa.Table, codes: Array) -> Array:
        array: Array = self._keys(table, codes).column(SLICE).to_numpy()
        return array

    def _with_keys(self, table: pa.Table, codes: Array, which: Array, moments: pa.Array) -> pa.Table:
        """A row for each beat: the columns of its key, and its time."""
        on = str(self._definition.on)
        names = [name for name in self._definition.by if name not in self._hidden]
        if not names:
            return pa.table({on: moments})
        return self._keys(table, codes).select(names).take(pa.array(which)).append_column(on, moments)
