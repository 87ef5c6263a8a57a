"""Sliding windows over stored rows and the rows of a batch, for all keys of the batch at once."""

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
from slidewise.engine.evaluate import several_over_bounds
from slidewise.engine.joining import MergedRows, align, as_python, joined
from slidewise.engine.point_in_time.queries import Queries
from slidewise.engine.window_spec import Member, WindowSpec

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

    With `peers`, rows of equal place see one another. `silent` rows of the batch are seen and not answered; with
    `queries`, these are answered and no row is.
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
        queries: Queries | None = None,
    ) -> None:
        self._spec = spec
        counts, old = before
        columns, valid = columns_of(batch, spec)
        arguments = old[spec.before_arguments :]
        pairs = [align(arguments[i] if old else None, column) for i, column in enumerate(columns)]
        self._old = [old for old, _ in pairs]
        self._columns = [column for _, column in pairs]
        self._types = [
            batch.kind_of(name) if column is as_read else column.arrow
            for name, column, as_read in zip(spec.columns, self._columns, columns, strict=False)
        ]
        stored = old[0] if counts.any() else None
        self._rows = MergedRows(batch, spec, places, counts, stored, peers, silent, queries)
        if spec.limit is not None:
            new = np.ones(len(places), np.bool_) if valid is None else valid
            self._counted: Array | None = self._rows.to_sorted(np.concatenate([old[1], new]) if counts.any() else new)
        else:
            self._counted = None if valid is None else self._rows.with_stored(valid, True)

    def last_starts(self) -> Array:
        """The first row of each key's last window, in the order of keys."""
        return self._rows.last_starts()

    def arrays(self, of_rows: bool = True) -> list[pa.Array]:
        """The answers of each member as an Arrow array, in the batch's order, or in that of the queries.

        Unless they are `of_rows`, they are those of queries in the place of rows, which have no values of their own.
        """
        spec, types = self._spec, self._types
        starts, ends = self._rows.bounds()
        own = self._rows.own() if spec.own and of_rows else None
        arrays = []
        for members in _together(spec):
            ops = [member.operator for member in members]
            for op in ops:
                check_inputs(op, spec.columns, self._columns, types)
            arguments = readied(ops[0], self._columns)
            inputs = self._inputs([as_numbers(ops[0], column) for column in arguments])
            by_operator = several_over_bounds(ops, inputs, self._counted, starts, ends, members[0].least, True, own)
            for member, answers in zip(members, by_operator, strict=True):
                arrays.append(typed(member.operator, arguments, types, answers.moved(self._rows.to_input), member.name))
        return arrays

    def _inputs(self, arguments: list[Column]) -> list[Array]:
        """The arguments of all rows as the operator takes them, which may be bools as numbers."""
        inputs = []
        for old, read, column in zip(self._old, self._columns, arguments, strict=True):
            stored = old
            if old is not None and old.dtype == read.data.dtype == np.bool_:
                stored = old.astype(column.data.dtype)
            inputs.append(self._rows.to_sorted(joined(stored, column)))
        return inputs

    def kept(self) -> Iterator[list[Array]]:
        """For each key the arrays of the rows that later windows may hold, from the start of its last window on."""
        rows = self._rows
        keep = self._needed(rows.kept())
        stops = np.concatenate([np.zeros(1, np.int64), np.cumsum(keep)])[rows.offsets].tolist()
        arrays = self._stored(keep)
        bounds = pairwise(stops[: rows.keys + 1])
        return ([part[first:stop].copy() for part in arrays] for first, stop in bounds)

    def kept_of_last(self) -> list[Array]:
        """The same for the last key only."""
        first, count = int(self.last_starts()[-1]), len(self._rows.places)
        if self._counted is None:
            return self._stored(slice(first, count))
        keep = np.zeros(count, np.bool_)
        keep[first:] = True
        return self._stored(np.flatnonzero(self._needed(keep)))

    def _needed(self, keep: Array) -> Array:
        """Those of the rows to keep that later windows need: the ones that count; with a limit, all from a key's first
        of these on, since those that are skipped take places."""
        counted = self._counted
        if counted is None:
            return keep
        if self._spec.limit is None or not len(keep):
            return keep & counted
        so_far = np.concatenate([np.zeros(1, np.int64), np.cumsum(keep & counted)])
        offsets = self._rows.offsets
        return keep & (so_far[1:] > np.repeat(so_far[offsets[:-1]], np.diff(offsets)))

    def _stored(self, which: Array | slice) -> list[Array]:
        """The arrays of some rows: places, whether they count where those that do not are among them, and arguments."""
        arrays = [self._rows.places[which].copy()]
        counts = None
        if self._spec.limit is not None:
            assert self._counted is not None
            counts = self._counted[which]
            arrays.append(counts.copy())
        for column, data in zip(self._columns, self._inputs(self._columns), strict=True):
            part = data[which].copy()
            if counts is not None:
                part[~counts] = None if part.dtype == object else 0
            arrays.append(as_python(column, part))
        return arrays


def _together(spec: WindowSpec) -> list[list[Member]]:
    """Members that are answered at once: quantiles of the same values that need as many rows; others are alone."""
    if spec.members[0].operator.traits.order_statistic and len({member.least for member in spec.members}) == 1:
        return [spec.members]
    return [[member] for member in spec.members]
