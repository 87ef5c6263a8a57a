"""The nodes of a finger B-tree, and products over what they hold."""

from __future__ import annotations

from collections.abc import Sequence

from slidewise.operators.types import Combine, State
from slidewise.swag.structures.times import RowTime

NOTHING: State = object()  # the product of no states, which no operator knows


class Node:
    """Rows in order, with a child before, between and behind them; a leaf has none.

    `agg` is the product of all rows at and below the node, and `rows` their number. Nodes on a spine of the tree have
    neither: there every row that comes or goes would change them. Nodes do not know their parents.
    """

    __slots__ = ("agg", "kids", "rows", "times", "vals")

    def __init__(self, times: list[RowTime], vals: list[State], kids: list[Node] | None = None) -> None:
        self.times = times
        self.vals = vals
        self.kids = kids
        self.agg: State = NOTHING
        self.rows = 0

    def sum_up(self, combine: Combine) -> None:
        """Set `agg` and `rows` from those of the children; no child may be on a spine."""
        agg = NOTHING
        rows = len(self.vals)
        if self.kids is None:
            agg = fold(combine, agg, self.vals)
        else:
            agg = interleave(combine, self.kids[0].agg, self.vals[:-1], self.kids[1:-1])
            agg = combine(combine(agg, self.vals[-1]), self.kids[-1].agg)
            rows += sum(kid.rows for kid in self.kids)
        self.agg = agg
        self.rows = rows

    def forget(self) -> None:
        """The node is on a spine now: no `agg`, no `rows`."""
        self.agg = NOTHING
        self.rows = 0

    def rows_but_first(self) -> int:
        """The rows at and below the node without those of its first child."""
        return len(self.vals) + (sum(kid.rows for kid in self.kids[1:]) if self.kids else 0)

    def split(self, sizes: Sequence[int], keep_last: bool) -> tuple[list[Node], list[tuple[RowTime, State]]]:
        """The node cut into nodes of so many rows each, and the rows between them; it becomes the last or the first."""
        nodes: list[Node] = []
        between: list[tuple[RowTime, State]] = []
        start = 0
        times, vals, kids = self.times, self.vals, self.kids
        own = len(sizes) - 1 if keep_last else 0
        for i, size in enumerate(sizes):
            stop = start + size
            node = self if i == own else Node([], [])
            node.times, node.vals = times[start:stop], vals[start:stop]
            node.kids = None if kids is None else kids[start : stop + 1]
            nodes.append(node)
            if stop < len(vals):
                between.append((times[stop], vals[stop]))
            start = stop + 1
        return nodes, between


def fold(combine: Combine, agg: State, states: Sequence[State]) -> State:
    """The product of `agg`, which may be NOTHING, and the states."""
    for state in states:
        agg = state if agg is NOTHING else combine(agg, state)
    return agg


def interleave(combine: Combine, agg: State, vals: Sequence[State], kids: Sequence[Node]) -> State:
    """The product of `agg`, which may be NOTHING, and each row with the child behind it."""
    for val, kid in zip(vals, kids, strict=True):
        agg = combine(val if agg is NOTHING else combine(agg, val), kid.agg)
    return agg


def suffixes(combine: Combine, vals: Sequence[State], kids: Sequence[Node] | None, behind: State) -> list[State]:
    """For each row the product from it on: rows, the children behind them, and what is `behind` all, if anything."""
    products: list[State] = []
    for i in range(len(vals) - 1, -1, -1):
        if kids is not None:
            behind = kids[i].agg if behind is NOTHING else combine(kids[i].agg, behind)
        behind = vals[i] if behind is NOTHING else combine(vals[i], behind)
        products.append(behind)
    products.reverse()
    return products


def piece_sizes(rows: int, most: int) -> list[int]:
    """How many rows go into each node where one has too many: as few nodes as can be, the larger ones first.

    >>> piece_sizes(7, 7), piece_sizes(8, 7), piece_sizes(30, 7)
    ([7], [4, 3], [7, 7, 7, 6])
    """
    pieces = (rows + 1 + most) // (most + 1)
    each, more = divmod(rows - pieces + 1, pieces)
    return [each + 1] * more + [each] * (pieces - more)
