"""Queries beside the events of a batch: rows that ask at their own key and time, and count for nothing themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from slidewise.arrays import Array
from slidewise.engine.window_spec import WindowSpec
from slidewise.kernels.bounds.queries import lowest_places, query_bounds
from slidewise.windows.extent import Extent
from slidewise.windows.running import RUNNING


@dataclass(frozen=True, slots=True)
class Queries:
    """Queries sorted by key and time: where each key's begin, and the end; and their places among the events.

    `numbers` are the places in windows of rows: the number of the last event at or before each query, and how many
    events lie before it; None where no window is of rows.
    """

    offsets: Array
    times: Array
    numbers: tuple[Array, Array] | None = None

    @classmethod
    def of(cls, codes: Array, keys: int, times: Array) -> Queries:
        """Queries whose keys have these numbers, which never fall."""
        return cls(np.searchsorted(codes, np.arange(keys + 1)), times)

    def of_keys(self, keys: int) -> Queries:
        """The same among more keys, of which the last ones have none."""
        more = np.full(keys + 1 - len(self.offsets), self.offsets[-1])
        return replace(self, offsets=np.concatenate([self.offsets, more]))

    def numbered(self, times: Array, offsets: Array, before: Array) -> Queries:
        """The same with places in windows of rows; the events have these times, key k at offsets[k:k + 2], and each key
        has had so many `before`."""
        base = np.repeat(before - offsets[:-1], np.diff(self.offsets))
        _, upto = query_bounds(_everything(False), times, offsets, self.times, self.offsets)
        _, earlier = query_bounds(_everything(True), times, offsets, self.times, self.offsets)
        return replace(self, numbers=(upto + base - 1, earlier + base))

    def places(self, spec: WindowSpec) -> Array:
        """The places at which a spec's windows end."""
        if not spec.numbered:
            return self.times
        assert self.numbers is not None
        return self.numbers[1] if spec.is_open else self.numbers[0]

    def bounds(self, spec: WindowSpec, places: Array, offsets: Array) -> tuple[Array, Array]:
        """The windows [starts, ends) among events at these places, key k at offsets[k:k + 2]."""
        return query_bounds(spec.extent, places, offsets, self.places(spec), self.offsets)

    def upto(self, spec: WindowSpec, places: Array, offsets: Array) -> Array:
        """For each query how many events lie up to its time, its own included, and those of the keys before its own."""
        return query_bounds(_everything(False), places, offsets, self.places(spec), self.offsets)[1]

    @property
    def codes(self) -> Array:
        """The number of each query's key."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def first_in(spec: WindowSpec, places: Array, last: int) -> int:
    """The first of one key's events that the window which ends at the place `last` holds, or would hold."""
    low = lowest_places(spec.extent, np.array([last], places.dtype))
    first = int(np.searchsorted(places, low[0]))
    if spec.limit is None:
        return first
    return max(first, int(np.searchsorted(places, last, "left" if spec.is_open else "right")) - spec.limit)


def last_starts(spec: WindowSpec, places: Array, offsets: Array) -> Array:
    """The start of the window of each key's last event; a key without events has its offset."""
    full = np.diff(offsets) > 0
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(full)])
    starts, _ = query_bounds(spec.extent, places, offsets, places[offsets[1:][full] - 1], ends)
    of_key = np.array(offsets[:-1])
    of_key[full] = starts
    return of_key


def _everything(open_right: bool) -> Extent:
    return Extent(RUNNING, None, None, True, open_right)
