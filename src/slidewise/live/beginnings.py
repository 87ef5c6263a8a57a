"""Where a window begins anew among the rows of one key whose answers are revised.

Only rows that may still be revised are among them. Those before are folded into one state, and the last of these stays
in its place, so that the next row is known to go on from it or not.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from typing import Any

RowPlace = tuple[Any, ...]


class Beginnings:
    """The places, in order, of rows at which the windows of one spec begin anew; `marked` are the numbers of the rows
    that say so themselves."""

    __slots__ = ("marked", "places", "reset")

    def __init__(self, reset: Any) -> None:
        self.reset = reset
        self.marked: set[int] = set()
        self.places: list[RowPlace] = []

    def find(self, places: Sequence[RowPlace], first: int) -> None:
        """Find all of them anew, among rows from the first that may be revised on."""
        self.places = [places[i] for i in range(first, len(places)) if self._begins(places, i)]

    def insert(self, places: Sequence[RowPlace], i: int) -> None:
        """Note that a row has come to place i: it may begin a window, and the one behind it may begin none any more."""
        if self._begins(places, i):
            insort(self.places, places[i])
        if i + 1 < len(places) and not self._begins(places, i + 1):
            at = bisect_left(self.places, places[i + 1])
            if at < len(self.places) and self.places[at] == places[i + 1]:
                del self.places[at]

    def newest(self, stop: RowPlace) -> RowPlace | None:
        """The last of them up to a place."""
        at = bisect_right(self.places, stop)
        return self.places[at - 1] if at else None

    def next(self, place: RowPlace) -> RowPlace | None:
        """The first of them behind a place."""
        at = bisect_right(self.places, place)
        return self.places[at] if at < len(self.places) else None

    def drop(self, cut: RowPlace) -> None:
        """Forget those before a place, whose rows are revised no more."""
        del self.places[: bisect_left(self.places, cut)]

    def _begins(self, places: Sequence[RowPlace], i: int) -> bool:
        marked = places[i][-1] in self.marked
        return marked or not i or not self.reset.goes_on(places[i - 1][0], places[i][0])
