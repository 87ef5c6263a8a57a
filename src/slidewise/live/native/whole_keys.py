"""Slots of keys that are whole numbers, found for a whole batch by compiled code."""

from __future__ import annotations

from itertools import islice

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.keyed import rows as passes
from slidewise.kernels.keyed.memory import Field
from slidewise.live.types import Key


class WholeKeys:
    """A hash table of the slots of keys that are whole numbers, for batches: made anew once keys were forgotten."""

    def __init__(self) -> None:
        self._table: Array | None = None
        self._bits = 0
        self._size = 0  # keys of the store that it knows of

    def forget(self) -> None:
        """Be made anew when it is needed next."""
        self._table = None

    def find(self, known: dict[Key, int], keys: Array, out: Field) -> int:
        """Write the slots of keys into the first places; how many have none."""
        if self._table is None or self._size != len(known):
            self._make(known)
        assert self._table is not None
        address = keys.__array_interface__["data"][0]
        missing: int = passes.find_keys(self._table.ctypes.data, self._bits, address, out.address, len(keys))
        return missing

    def _make(self, known: dict[Key, int]) -> None:
        """Enter all keys, or those that have come since."""
        if self._table is None or 2 * len(known) > 1 << self._bits:
            self._bits = max(10, (2 * len(known)).bit_length() + 1)
            self._table = np.full(2 << self._bits, -1, np.int64)
            self._size = 0
        later = list(islice(known.items(), self._size, None))
        whole = [(int(key), slot) for key, slot in later if isinstance(key, int | float) and _is_whole(key)]
        pairs = np.array(whole, np.int64).reshape(-1, 2)
        keys, slots = pairs[:, 0].copy(), pairs[:, 1].copy()
        passes.enter_keys(self._table.ctypes.data, self._bits, keys.ctypes.data, slots.ctypes.data, len(keys))
        self._size = len(known)


def _is_whole(key: float) -> bool:
    """Whether a number equals a 64-bit integer."""
    return key == key and -(2**63) <= key < 2**63 and int(key) == key
