"""Windows that slide over rows already there and the rows of a batch, for all keys of the batch at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.operator_types import as_numbers, readied
from slidewise.columns.series import Column
from slidewise.engine.answers import check_inputs, typed
from slidewise.engine.batch import Batch, columns_of
from slidewise.engine.bounds import spec_bounds
from slidewise.engine.evaluate import several_over_bounds
from slidewise.engine.joining import CannotJoinError, alike, as_floats, as_python, joined
from slidewise.engine.window_spec import Member, WindowSpec
from slidewise.kernels.order.grouping import Grouped

if TYPE_CHECKING:
    import pyarrow as pa


class StoredRows(NamedTuple):
    """Rows that are stored from earlier batches: how many each key has, and their arrays, key by key: places, and one
    for each argument; no arrays where there are no rows."""

    counts: Array
    arrays: list[Array]

    @classmethod
    def none(cls, keys: int) -> StoredRows:
        """No rows of so many keys."""
        return cls(np.zeros(keys, np.int64), [])

    @classmethod
    def of_first(cls, arrays: list[Array] | None, keys: int) -> StoredRows:
        """The rows of the first of so many keys; the others have none."""
        rows = cls.none(keys)
        if arrays is None or not len(arrays[0]):
            return rows
        rows.counts[0] = len(arrays[0])
        return cls(rows.counts, arrays)


class SlidingBatch:
    """One spec over the rows stored and those of a batch.

    With `peers`, rows of equal place see one another. `silent` rows of the batch are seen and not answered.
    """

    stored = StoredRows

    def __init__(
        self,
        batch: Batch,
        spec: WindowSpec,
        places: Array,
        before: StoredRows,
        peers: bool,
        silent: Array | None = None,
    ) -> None:
        self._spec = spec
        counts, old = before
        columns, valid = columns_of(batch, spec)
        pairs = [alike(old[1 + i] if old else None, column) for i, column in enumerate(columns)]
        self._old = [old for old, _ in pairs]
        self._columns = [column for _, column in pairs]
        self._types = [
            batch.kind_of(name) if column is given else column.arrow
            for name, column, given in zip(spec.columns, self._columns, columns, strict=False)
        ]
        self._keys = len(counts)
        keys = max(self._keys, 1)
        had = int(counts.sum())
        codes = np.concatenate([np.repeat(np.arange(len(counts)), counts), batch.codes]) if had else batch.codes
        self._grouped = Grouped(codes, keys)
        self._back = Grouped(batch.codes, keys) if had else self._grouped
        self.spots = self._grouped.to_sorted(joined_places(old[0] if had else None, places))
        self.starts, self._ends = spec_bounds(spec, self.spots, self._grouped.offsets, peers)
        if silent is not None:  # they have empty windows
            silent = np.concatenate([np.zeros(had, np.bool_), silent]) if had else silent
            self._ends = np.where(self._grouped.to_sorted(silent), self.starts, self._ends)
        self._new = self._grouped.to_sorted(np.arange(len(codes)) >= had) if had else slice(None)
        self._seen = None
        if valid is not None:
            self._seen = self._grouped.to_sorted(np.concatenate([np.ones(had, np.bool_), valid]) if had else valid)

    def arrays(self) -> list[pa.Array]:
        """The answers of each member as an Arrow array, in the batch's order."""
        spec, types = self._spec, self._types
        starts, ends = self.starts[self._new], self._ends[self._new]
        arrays = []
        for members in _together(spec):
            ops = [one.operator for one in members]
            for op in ops:
                check_inputs(op, spec.columns, self._columns, types)
            given = readied(ops[0], self._columns)
            inputs = self._brought([as_numbers(ops[0], column) for column in given])
            found = several_over_bounds(ops, inputs, self._seen, starts, ends, members[0].least, True)
            for one, answers in zip(members, found, strict=True):
                arrays.append(typed(one.operator, given, types, answers.moved(self._back.to_input), one.name))
        return arrays

    def _brought(self, given: list[Column]) -> list[Array]:
        """The arguments of all rows as the operator takes them, which may be bools as numbers."""
        inputs = []
        for old, read, column in zip(self._old, self._columns, given, strict=True):
            kept = old
            if old is not None and old.dtype == read.data.dtype == np.bool_:
                kept = old.astype(column.data.dtype)
            inputs.append(self._grouped.to_sorted(joined(kept, column)))
        return inputs

    def kept(self) -> Iterator[list[Array]]:
        """For each key the arrays of the rows that later windows may hold, from the start of its last window on."""
        offsets, total = self._grouped.offsets, len(self.spots)
        keep = np.zeros(total, np.bool_)
        if total:
            keep = np.arange(total) >= np.repeat(self.starts[offsets[1:] - 1], np.diff(offsets))
            keep &= True if self._seen is None else self._seen
        stops = np.concatenate([np.zeros(1, np.int64), np.cumsum(keep)])[offsets].tolist()
        columns = zip(self._columns, self._brought(self._columns), strict=True)
        arrays = [self.spots[keep], *(as_python(column, part[keep]) for column, part in columns)]
        bounds = pairwise(stops[: self._keys + 1])
        return ([part[first:stop].copy() for part in arrays] for first, stop in bounds)

    def kept_of_last(self) -> list[Array]:
        """The same for the last key only."""
        first, stop = int(self.starts[-1]), len(self.spots)
        keep = slice(first, stop) if self._seen is None else np.flatnonzero(self._seen[first:stop]) + first
        columns = zip(self._columns, self._brought(self._columns), strict=True)
        return [self.spots[keep].copy(), *(as_python(column, part[keep].copy()) for column, part in columns)]


def _together(spec: WindowSpec) -> list[list[Member]]:
    """Members that are answered at once: quantiles of the same values that need as many rows; others are alone."""
    if spec.members[0].operator.traits.quantile and len({one.least for one in spec.members}) == 1:
        return [spec.members]
    return [[one] for one in spec.members]


def joined_places(old: Array | None, new: Array) -> Array:
    """The places of what is there already, and then those of a batch."""
    if new.dtype == object or (
        old is not None and (old.dtype == object or (old.dtype.kind, new.dtype.kind) == ("f", "i"))
    ):
        raise CannotJoinError
    if old is None:
        return new
    return np.concatenate([old if old.dtype == new.dtype else as_floats(old), new])
