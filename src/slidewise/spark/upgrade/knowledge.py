"""What is known of each aggregate's rows after a change, and so which answers are incomplete for a while.

A row counts for an aggregate if it is stored with all columns that the aggregate reads. Rows leave when no window needs
them, and a column is stored from the upgrade on that first asked for it; both times last from upgrade to upgrade.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from slidewise.arrays import Array
from slidewise.engine.beats.parts import SlicePlan
from slidewise.engine.window_spec import WindowSpec
from slidewise.spark.state.buckets import KeyTable
from slidewise.spark.state.warming import Warming, complete_from, goes_by_time, missing_column, rows_needed
from slidewise.spark.upgrade.changes import Changes, Source
from slidewise.windows.kind import Keeps

ALWAYS = -(2**62)


class Knowledge:
    """The times from which on rows and columns are known, where rows up to `released` have been taken in.

    `before` are the aggregates of the old definition that are incomplete. With `forgets`, the old definition may have
    forgotten keys whose rows the new one would still hold.
    """

    def __init__(self, changes: Changes, before: Warming, released: int, forgets: bool = False) -> None:
        self._changes = changes
        self._before = before
        self._released = released
        self._forgotten = released if forgets else before.forgotten

    @cached_property
    def warming(self) -> Warming:
        """The aggregates of the new definition that are incomplete."""
        known = {}
        for name in self._changes.each:
            spec, time = self._changes.new_spec(name), self._known_from(name)
            if time > ALWAYS and not (goes_by_time(spec) and complete_from(spec, time) <= self._released + 1):
                known[name] = time
        return Warming(known, tuple(name for name in self._changes.each if self._may_lack(name)), self._forgotten)

    def _known_from(self, name: str) -> int:
        """The time from which on all rows of an aggregate are known; of windows of rows, from which on those that are
        stored have all columns."""
        change = self._changes.each[name]
        if change.source is Source.NOTHING:
            return self._released + 1
        if change.old is not None:
            inherited = self._before.known_from.get(change.old, ALWAYS)
            if change.source is Source.STATES:
                return inherited
            return max(inherited, int(self._changes.old_spec(change.old).cut(self._released)))
        columns = self.columns_from(name)
        if change.source is Source.SLICES:
            return max(columns, self._slices_from)
        return max(columns, self._rows_from) if goes_by_time(self._changes.new_spec(name)) else columns

    def columns_from(self, name: str) -> int:
        """The time from which on stored rows, or slices, have all that an aggregate reads."""
        sharing = self._changes.sharing(name)
        return max((self._first(readers) for readers in sharing), default=ALWAYS)

    def _first(self, names: list[str]) -> int:
        """The first of the times from which on these aggregates are known."""
        return min((self._before.known_from.get(name, ALWAYS) for name in names), default=ALWAYS)

    @cached_property
    def _rows_from(self) -> int:
        timed = [spec for spec in self._changes.old_specs if spec.keeps is Keeps.ROWS and goes_by_time(spec)]
        return min((self._stored_from(spec, self._released) for spec in timed), default=self._released + 1)

    @cached_property
    def _slices_from(self) -> int:
        beats = SlicePlan(self._changes.old, in_batch=False).beats(1_000, False)
        next_beat = beats.time(beats.at_or_before(self._released) + 1)
        return min(self._stored_from(spec, next_beat) for spec in self._changes.old_specs)

    def _stored_from(self, spec: WindowSpec, place: int) -> int:
        """The time from which on all rows are stored for a spec whose next window ends at `place` or later."""
        return max(int(spec.cut(place)), self._first([member.name for member in spec.members]))

    def _may_lack(self, name: str) -> bool:
        """Whether a key may lack rows that a window needs which does not go by time."""
        needed, change = rows_needed(self._changes.new_spec(name)), self._changes.each[name]
        if needed is None or self._forgotten is not None:
            return needed is not None
        if change.source is Source.STATES:
            return change.old in self._before.by_key
        if change.source is Source.NOTHING or self.columns_from(name) > ALWAYS:
            return True
        complete = [least for other, least in self._numbered if other not in self._before.by_key]
        return needed > max(complete, default=0)

    @cached_property
    def _numbered(self) -> list[tuple[str, int]]:
        """The old aggregates over a number of rows, and how many of a key's rows each one stores."""
        specs = [spec for spec in self._changes.old_specs if spec.keeps is Keeps.ROWS and spec.numbered]
        return [(member.name, int(spec.whole) + 1) for spec in specs for member in spec.members]

    def missing(self, name: str, keys: KeyTable, rows: StoredRowCounts) -> Array:
        """The rows that a window of each key lacks, which does not go by time."""
        change, needed = self._changes.each[name], rows_needed(self._changes.new_spec(name))
        assert needed is not None
        if change.source is Source.STATES:
            return self._lacking(keys, change.old or "")
        if change.source is Source.NOTHING:
            return np.full(len(keys), needed)
        stored, known = rows.since[ALWAYS], rows.since[self.columns_from(name)]
        has_all = np.zeros(len(keys), np.bool_)  # a key that stores fewer rows than a complete window has had no others
        for other, least in self._numbered:
            has_all |= (stored < least) & (self._lacking(keys, other) == 0)
        return np.where(has_all & (known == stored), 0, np.maximum(needed - known, 0))

    def _lacking(self, keys: KeyTable, old: str) -> Array:
        """The rows that an old aggregate's windows lack."""
        if old not in self._before.by_key:
            return np.zeros(len(keys), np.int64)
        return keys.numbers(missing_column(self._before.by_key.index(old)))


class StoredRowCounts:
    """How many stored rows each of so many keys has, since each of the times that windows of rows ask for."""

    def __init__(self, knowledge: Knowledge, keys: int) -> None:
        times = {ALWAYS, *(knowledge.columns_from(name) for name in knowledge.warming.by_key)}
        self.since = {time: np.zeros(keys, np.int64) for time in times}

    def add(self, codes: Array, times: Array) -> None:
        """Count rows of keys with these codes, at these times."""
        for since, counts in self.since.items():
            np.add.at(counts, codes[times >= since], 1)
