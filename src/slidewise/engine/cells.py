"""Windows with a grain over stored cells and the rows of a batch, for all keys of the batch at once.

A cell goes through the kernels as one row does that stands at its newest place: rows of a cell leave together, so what
is true of the newest is true of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.operator_types import as_numbers, readied
from slidewise.engine.answers import check_inputs, typed
from slidewise.engine.batch import Batch, columns_of
from slidewise.engine.joining import CannotJoinError, MergedRows
from slidewise.engine.point_in_time.queries import Queries
from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import OperatorFailedError, SlidewiseError
from slidewise.kernels.bounds.grain import cells
from slidewise.kernels.passes.partials import Partials, partials
from slidewise.operators.operator import Operator

if TYPE_CHECKING:
    import pyarrow as pa


class Cells:
    """Cells of one spec as arrays: the newest place of each, and each member's partials."""

    __slots__ = ("parts", "places")

    def __init__(self, places: Array, parts: list[Partials]) -> None:
        self.places = places
        self.parts = parts

    def __len__(self) -> int:
        return len(self.places)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Each cell's place, its number of rows, and its states as the interpreted operators know them."""
        states = [part.as_objects().fields[0].tolist() for part in self.parts]
        return zip(self.places.tolist(), self.parts[0].counts.tolist(), *states, strict=True)

    def taken(self, which: Array | slice) -> Cells:
        return Cells(self.places[which], [part.taken(which) for part in self.parts])


class StoredCells(NamedTuple):
    """Cells that are stored from earlier batches: how many each key has, and all of them, key by key."""

    counts: Array
    cells: Cells | None

    @classmethod
    def of_first(cls, cells: Cells | None, keys: int) -> StoredCells:
        """The cells of the first of so many keys; the others have none."""
        counts = np.zeros(keys, np.int64)
        counts[0] = 0 if cells is None else len(cells)
        return cls(counts, cells if counts[0] else None)


class CellBatch:
    """One spec with a grain over the cells stored and the rows of a batch.

    With `peers`, rows of equal place see one another. `silent` rows of the batch are seen and not answered; with
    `queries`, these are answered and no row is.
    """

    stored = StoredCells

    def __init__(
        self,
        batch: Batch,
        spec: WindowSpec,
        places: Array,
        before: StoredCells,
        peers: bool,
        silent: Array | None = None,
        queries: Queries | None = None,
    ) -> None:
        self._spec = spec
        counts, old = before
        self._columns, valid = columns_of(batch, spec)
        self._types = [batch.kind_of(name) for name in spec.columns]
        stored = None if old is None else old.places
        self._rows = MergedRows(batch, spec, places, counts, stored, peers, silent, queries)
        self._parts = [self._partials(member.operator, valid, old) for member in spec.members]

    def _partials(self, op: Operator, valid: Array | None, old: Cells | None) -> Partials:
        """An operator's partials of all cells and rows, in the order of keys."""
        check_inputs(op, self._spec.columns, self._columns, self._types)
        combined = fresh(op, [as_numbers(op, column).data for column in readied(op, self._columns)], valid)
        if old is not None and len(old):
            part = next(part for part in old.parts if part.op is op)
            if part.dtypes != combined.dtypes:
                raise CannotJoinError
            combined = part.joined(combined)
        to_sorted = self._rows.to_sorted
        return replace(
            combined, fields=[to_sorted(field) for field in combined.fields], counts=to_sorted(combined.counts)
        )

    def arrays(self) -> list[pa.Array]:
        """The answers of each member as an Arrow array, in the batch's order, or in that of the queries."""
        starts, ends = self._rows.bounds()
        arrays = []
        for member, part in zip(self._spec.members, self._parts, strict=True):
            answers = part.windows(starts, ends, member.least).moved(self._rows.to_input)
            arguments = readied(member.operator, self._columns)
            arrays.append(typed(member.operator, arguments, self._types, answers, member.name))
        return arrays

    def kept(self) -> Iterator[Cells]:
        """For each key the cells that later windows may hold; what may still have rows of equal place waits."""
        stops, cells = self.cells_after(waits=self._spec.is_open)
        # Copies: no key holds others' cells.
        return (cells.taken(np.arange(first, stop)) for first, stop in pairwise(stops[: self._rows.keys + 1].tolist()))

    def kept_of_last(self) -> Cells:
        """The same for the last key only, of which all rows to come are later."""
        return self.cells_after(waits=False, last_only=True)[1]

    def cells_after(self, waits: bool, last_only: bool = False) -> tuple[Array, Cells]:
        """The cells that later windows may hold: where each key's begin and end, and all of them.

        Rows of a key's newest place wait in a cell of their own if `waits`, since windows that are open on the right
        may end there once more. `last_only` is for the last key's cells alone.
        """
        places, offsets, spec = self._rows.places, self._rows.offsets, self._spec
        sizes = np.diff(offsets)
        if not len(places):
            return np.zeros(len(sizes) + 1, np.int64), Cells(places, self._parts)
        keep = self._rows.kept()
        if last_only:
            keep[: offsets[-2]] = False
        newest, places = places[offsets[1:] - 1], places[keep]
        keys = np.repeat(np.arange(len(sizes)), sizes)[keep]
        at = cells(places, spec.grain, spec.edge)
        begins = np.ones(len(places), np.bool_)
        begins[1:] = (keys[1:] != keys[:-1]) | (at[1:] != at[:-1])
        if waits:
            of_key = newest[keys]
            begins[1:] |= (places[1:] == of_key[1:]) & (places[:-1] != of_key[:-1])
        firsts = np.append(np.flatnonzero(begins), len(places))
        parts = [part.taken(keep).folded(firsts) for part in self._parts]
        folded = Cells(places[firsts[1:] - 1], parts).taken(parts[0].counts > 0)
        owners = keys[firsts[:-1]][parts[0].counts > 0]
        return np.searchsorted(owners, np.arange(len(sizes) + 1)), folded


def fresh(op: Operator, inputs: list[Array], valid: Array | None) -> Partials:
    """A partial for each row; what an operator raises is said in its name."""
    try:
        return partials(op, inputs, valid)
    except SlidewiseError:
        raise
    except Exception as error:
        raise OperatorFailedError(f"operator {op.name!r} raised {error!r} on these rows") from error
