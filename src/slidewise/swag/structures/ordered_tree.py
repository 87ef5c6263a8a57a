"""A multiset in order with ranks: a tree of wide nodes, each of which knows how many values lie below its children.

A leaf is a sorted list of at most `FULL` values. A node above holds three lists: for each child a bound that no value
in it lies below and none in the children before it above, how many values it holds, and the child itself. A value comes
or goes at the cost of one short list in every level; nodes that overflow are halved, and those that are less than a
quarter full are joined with a neighbour, so memory follows the number of values.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

from slidewise.operators.types import Value

FULL = 64
FEW = FULL // 4

Subtree: TypeAlias = Any  # a leaf, which is a list of values, or a triple of lists: bounds, counts, children


class OrderedTree:
    """Values in order: `add`, `take_out`, `rank`, `rank_behind`, and `tree[rank]`, each O(log n) in the worst case.

    >>> tree = OrderedTree()
    >>> for x in [3, 1, 2, 1]:
    ...     tree.add(x)
    >>> tree[2], tree.rank(3), len(tree)
    (2, 3, 4)
    """

    __slots__ = ("_height", "_root", "_size")

    def __init__(self) -> None:
        self._root: Subtree = []
        self._height = 0
        self._size = 0

    def add(self, value: Value) -> None:
        """Put a value in, after those equal to it; one that cannot be compared leaves the tree as it was."""
        if self._size:
            value < self[0]  # noqa: B015
        grown = _add(self._root, self._height, value)
        self._size += 1
        if grown is not None:
            old, bound, new = self._root, *grown
            first = old[0] if not self._height else old[0][0]
            count = _count(new, self._height)
            self._root = ([first, bound], [self._size - count, count], [old, new])
            self._height += 1

    def take_out(self, value: Value) -> None:
        """Take out one value that equals this one, and is there."""
        _take_out(self._root, self._height, self.rank(value))
        self._size -= 1
        if self._height and len(self._root[2]) == 1:
            self._root = self._root[2][0]
            self._height -= 1

    def rank(self, value: Value) -> int:
        """How many values lie below this one."""
        node = self._root
        below = 0
        for _ in range(self._height):
            bounds, counts, children = node
            i = max(bisect_left(bounds, value) - 1, 0)
            below += sum(counts[:i])
            node = children[i]
        return below + bisect_left(node, value)

    def rank_behind(self, value: Value) -> int:
        """How many values lie at or below this one."""
        node = self._root
        below = 0
        for _ in range(self._height):
            bounds, counts, children = node
            i = max(bisect_right(bounds, value) - 1, 0)
            below += sum(counts[:i])
            node = children[i]
        return below + bisect_right(node, value)

    def __getitem__(self, rank: int) -> Value:
        """The value of this rank, from 0 on."""
        node = self._root
        for _ in range(self._height):
            i, rank = _child(node[1], rank)
            node = node[2][i]
        return node[rank]

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Value]:
        """Values from the least on."""
        return _walk(self._root, self._height)

    def check(self, require: Callable[[bool, str], None]) -> None:
        """Every node as it should be, told to `require` with what each of its invariants says."""
        require(_checked(self._root, self._height, True, require) == self._size, "the size is that of all leaves")


def _count(node: Subtree, height: int) -> int:
    return sum(node[1]) if height else len(node)


def _child(counts: list[int], rank: int) -> tuple[int, int]:
    """The child that holds a rank, and the rank in it."""
    for i, count in enumerate(counts):
        if rank < count:
            return i, rank
        rank -= count
    raise IndexError("the tree has no value of this rank")


def _add(node: Subtree, height: int, value: Value) -> tuple[Value, Subtree] | None:
    """Add below a node; where it overflows, its second half, and the bound of that."""
    if not height:
        insort_right(node, value)
        if len(node) <= FULL:
            return None
        half = node[FULL // 2 :]
        del node[FULL // 2 :]
        return half[0], half
    bounds, counts, children = node
    i = max(bisect_right(bounds, value) - 1, 0)
    grown = _add(children[i], height - 1, value)
    counts[i] += 1
    if value < bounds[i]:
        bounds[i] = value
    if grown is None:
        return None
    count = _count(grown[1], height - 1)
    counts[i] -= count
    bounds.insert(i + 1, grown[0])
    counts.insert(i + 1, count)
    children.insert(i + 1, grown[1])
    if len(children) <= FULL:
        return None
    half = tuple(part[FULL // 2 :] for part in node)
    for part in node:
        del part[FULL // 2 :]
    return half[0][0], half


def _take_out(node: Subtree, height: int, rank: int) -> None:
    """Take out the value of a rank below a node, and mend the child that has become too small."""
    if not height:
        del node[rank]
        return
    bounds, counts, children = node
    i, rank = _child(counts, rank)
    _take_out(children[i], height - 1, rank)
    counts[i] -= 1
    if _width(children[i], height - 1) >= FEW or len(children) == 1:
        return
    i = max(i - 1, 0)
    left, right = children[i], children[i + 1]
    parts = ((left, right),) if height == 1 else tuple(zip(left, right, strict=True))
    width = _width(left, height - 1) + _width(right, height - 1)
    total = counts[i] + counts[i + 1]
    keep = width if width <= FULL - FEW else width // 2
    for first, second in parts:
        first.extend(second)
        second[:] = first[keep:]
        del first[keep:]
    counts[i] = _count(left, height - 1)
    if keep == width:
        del bounds[i + 1], counts[i + 1], children[i + 1]
    else:
        counts[i + 1] = total - counts[i]
        bounds[i + 1] = right[0] if height == 1 else right[0][0]


def _width(node: Subtree, height: int) -> int:
    return len(node[2]) if height else len(node)


def _walk(node: Subtree, height: int) -> Iterator[Value]:
    if not height:
        yield from node
        return
    for child in node[2]:
        yield from _walk(child, height - 1)


def _checked(node: Subtree, height: int, root: bool, require: Callable[[bool, str], None]) -> int:
    width = _width(node, height)
    require(width <= FULL, f"a node holds at most {FULL} parts, not {width}")
    require(root or width >= FEW, f"a node below the root holds at least {FEW} parts, not {width}")
    values = list(_walk(node, height))
    require(all(not b < a for a, b in pairwise(values)), "values stand in order")
    if not height:
        return width
    bounds, counts, children = node
    require(root <= (width > 1), "a root that is no leaf has two children")
    require(len(bounds) == len(counts) == width, "each child has a bound and a count")
    before: list[Value] = []
    for bound, count, child in zip(bounds, counts, children, strict=True):
        require(_checked(child, height - 1, False, require) == count, "counts are those of the children")
        inside = list(_walk(child, height - 1))
        require(not inside[0] < bound, "no value lies below its child's bound")
        require(not before or not bound < before[-1], "no value lies above the next child's bound")
        before = inside
    return int(sum(counts))
