"""A scan around a boundary, shared by windows that end together; and which windows had better share one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slidewise.operators.types import Combine, State


class Scanned(list[State]):
    """Aggregates of a row and all younger ones up to a boundary, the oldest row last."""

    @classmethod
    def of(cls, youngest_first: Iterable[State], combine: Combine) -> Scanned:
        """Scan rows up to a boundary behind the first of them. Combine calls: one less than rows."""
        scan = cls()
        for state in youngest_first:
            scan.append(combine(state, scan[-1]) if scan else state)
        return scan


class Scan:
    """Two-Stacks for several windows [start, E) at once: a row of aggregates up to a boundary, and one from there to E.

    `before[i]` is the aggregate of the rows from `boundary - 1 - i` up to the boundary; `behind` is that of the rows
    from the boundary on.
    """

    __slots__ = ("before", "behind", "boundary", "largest", "smallest")

    def __init__(self, smallest: int | None, largest: int | None) -> None:
        self.smallest = smallest
        self.largest = largest
        self.boundary = 0
        self.before = Scanned()
        self.behind: State = None

    def accept(self, boundary: int, before: Scanned) -> None:
        """Begin anew at a boundary, with no row behind it."""
        self.boundary = boundary
        self.before = before
        self.behind = None

    def forget(self, start: int) -> None:
        """Drop the aggregates of rows that have left the window."""
        before = self.before
        gone = start - (self.boundary - len(before))
        if gone == 1 and before:
            before.pop()
        elif gone > 0:
            del before[max(len(before) - gone, 0) :]

    def stored(self, E: int) -> int:
        """How many partials it holds."""
        return len(self.before) + (self.boundary < E)


def grouped(sizes: Sequence[int]) -> list[list[int]]:
    """Sizes in rising order, cut into the groups that share a scan: those that take the fewest calls for a row.

    A group scans its largest window anew whenever its smallest has gone by, and takes in each row behind the boundary.

    >>> grouped([10, 11, 12, 100, 150, 1000])
    [[10, 11, 12], [100, 150], [1000]]
    """
    best: list[tuple[float, list[list[int]]]] = [(0.0, [])]
    for stop in range(1, len(sizes) + 1):
        best.append(
            min(
                (
                    (best[first][0] + sizes[stop - 1] / sizes[first] + 1, [*best[first][1], list(sizes[first:stop])])
                    for first in range(stop)
                ),
                key=lambda plan: plan[0],
            )
        )
    return best[-1][1]
