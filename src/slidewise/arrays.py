"""The types of arrays in signatures: NumPy's, of any number of rows and any type; and lists and maps in arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Ragged:
    """A list for each row, without an object for each: where it begins in the items, and how many they are.

    Lists may overlap. An item is one value, or a pair where `counts` has a count beside each.
    """

    firsts: Array
    lengths: Array
    items: Array
    counts: Array | None = None

    def __len__(self) -> int:
        return len(self.firsts)

    def moved(self, order: Callable[[Array], Array]) -> Ragged:
        """The lists in another order."""
        return replace(self, firsts=order(self.firsts), lengths=order(self.lengths))

    def laid_out(self) -> tuple[Array, Array]:
        """Where each list begins once all lie one behind the other, with the end; and the place of each item."""
        offsets = np.zeros(len(self.lengths) + 1, np.int64)
        np.cumsum(self.lengths, out=offsets[1:])
        places: Array = np.arange(offsets[-1]) + np.repeat(self.firsts - offsets[:-1], self.lengths)
        return offsets, places


@dataclass(frozen=True, slots=True)
class Maps:
    """A map for each row, without an object for each: its number in the pass that made it, and how many entries it has.

    Keys are codes of `keys`, and `values` are the answers of a pass; its `content` lays the entries out. Without
    numbers maps are in the order of the pass.
    """

    numbers: Array | None
    lengths: Array
    keys: Array
    values: Any
    content: Any

    def __len__(self) -> int:
        return len(self.lengths)

    def moved(self, order: Callable[[Array], Array]) -> Maps:
        """The maps in another order."""
        before = np.arange(len(self)) if self.numbers is None else self.numbers
        numbers = order(before)
        if numbers is before:
            return self
        return replace(self, numbers=numbers, lengths=order(self.lengths))
