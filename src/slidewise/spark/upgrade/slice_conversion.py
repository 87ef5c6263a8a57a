"""Conversion of keys that keep slices, for answers on a beat, to another definition, a page of keys at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.engine.beats.parts import Stored, Values
from slidewise.engine.beats.slices import BeatSlices, runs
from slidewise.kernels.passes.partials import Partials
from slidewise.spark.state import buckets as B
from slidewise.spark.state.buckets import KeyTable
from slidewise.spark.stream.beat_shard import BeatShard
from slidewise.spark.upgrade.changes import Changes


class SliceConversion:
    """Converts slices of one definition to those of another, whose time is cut at some of the same places.

    The schemas are those of the rows; all rows up to `released` have been taken in.
    """

    def __init__(
        self,
        changes: Changes,
        old: BeatShard,
        new: BeatShard,
        old_schema: pa.Schema,
        new_schema: pa.Schema,
        released: int,
    ) -> None:
        self._old = old
        self._new = new
        self._by = changes.new.by
        self._old_layout = old.layout(old_schema)
        self._new_layout = new.layout(new_schema)
        self._parts = [changes.old_slices(part) for part in new.plan.parts]
        self._last = new.beats.at_or_before(released)

    def convert(self, keys: KeyTable) -> KeyTable:
        """The keys of a page with the new slices; those without any are gone."""
        codes = np.repeat(np.arange(len(keys)), keys.numbers(B.COUNT))
        slices = self._old_layout.slices(keys.rows, codes)
        parts = [
            self._none(i, len(slices)) if old is None else self._like(i, slices.parts[old])
            for i, old in enumerate(self._parts)
        ]
        converted = self._merged(BeatSlices(slices.codes, slices.numbers, parts))
        converted = converted.taken(converted.needed(self._new.beats, self._last))
        names = [*self._by, B.HASH]
        return self._new.key_table(self._new_layout, keys.table.select(names), converted, self._last)

    def _none(self, part: int, count: int) -> Stored:
        """A part of slices that knows no rows."""
        like = self._new_layout.empty.parts[part]
        zeros = np.zeros(count, np.int64)
        if isinstance(like, Values):
            return Values([x[:0] for x in like.inputs], zeros)
        fields = [np.full(count, None) if x.dtype == object else np.zeros(count, x.dtype) for x in like.fields]
        return replace(like, fields=fields, counts=zeros)

    def _like(self, part: int, stored: Stored) -> Stored:
        """A part of slices that goes on, of the new definition's operator."""
        like = self._new_layout.empty.parts[part]
        return replace(stored, op=like.op) if isinstance(stored, Partials) and isinstance(like, Partials) else stored

    def _merged(self, slices: BeatSlices) -> BeatSlices:
        """Slices by the new definition's numbers; those between two of its cuts are one."""
        old, new = self._old.beats, self._new.beats
        if old.cuts == new.cuts:
            return slices
        different, at = np.unique(slices.numbers, return_inverse=True)
        numbers: Array = np.array([new.number(old.start(number)) for number in different.tolist()], np.int64)[at]
        offsets = runs(slices.codes, numbers)
        first = offsets[:-1]
        return BeatSlices(slices.codes[first], numbers[first], [part.folded(offsets) for part in slices.parts])
