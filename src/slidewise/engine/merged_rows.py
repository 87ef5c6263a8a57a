"""What is stored of keys and the rows of a batch, merged: sorted by key, each with the bounds of its window."""

from __future__ import annotations

import numpy as np

from slidewise.arrays import Array
from slidewise.engine.batch import Batch
from slidewise.engine.bounds import spec_bounds
from slidewise.engine.joining import joined_places
from slidewise.engine.window_spec import WindowSpec
from slidewise.kernels.order.grouping import Grouped


class MergedRows:
    """Stored rows, or cells, and the rows of a batch behind those of their keys.

    `counts` is how many are stored of each key, and `stored` are their places, key by key. With `peers`, rows of equal
    place see one another; `silent` rows of the batch have empty windows.
    """

    def __init__(
        self,
        batch: Batch,
        spec: WindowSpec,
        places: Array,
        counts: Array,
        stored: Array | None,
        peers: bool,
        silent: Array | None,
    ) -> None:
        self.keys = len(counts)
        groups = max(self.keys, 1)
        self._stored = had = int(counts.sum())
        codes = np.concatenate([np.repeat(np.arange(self.keys), counts), batch.codes]) if had else batch.codes
        self._grouped = Grouped(codes, groups)
        self._batch = Grouped(batch.codes, groups) if had else self._grouped
        self.places = self.to_sorted(joined_places(stored, places))
        self.starts, self.ends = spec_bounds(spec, self.places, self.offsets, peers)
        if silent is not None:
            self.ends = np.where(self.with_stored(silent, False), self.starts, self.ends)
        self._new = self.to_sorted(np.arange(len(codes)) >= had) if had else slice(None)

    @property
    def offsets(self) -> Array:
        """Where each key's rows begin, and the end."""
        return self._grouped.offsets

    def to_sorted(self, x: Array) -> Array:
        """Values of what is stored, and then of the batch, in the order of keys."""
        return self._grouped.to_sorted(x)

    def with_stored(self, flags: Array, of_stored: bool) -> Array:
        """Flags of the batch's rows in the order of keys, where all that is stored has the same one."""
        return self.to_sorted(np.concatenate([np.full(self._stored, of_stored), flags]) if self._stored else flags)

    def bounds(self) -> tuple[Array, Array]:
        """The windows of the batch's rows, in the order of keys."""
        return self.starts[self._new], self.ends[self._new]

    def to_input(self, x: Array) -> Array:
        """Values of the batch's rows in the batch's order."""
        return self._batch.to_input(x)

    def kept(self) -> Array:
        """Which rows later windows may hold: those from the start of their key's last window on."""
        total = len(self.places)
        if not total:
            return np.zeros(0, np.bool_)
        mask: Array = np.arange(total) >= np.repeat(self.starts[self.offsets[1:] - 1], np.diff(self.offsets))
        return mask
