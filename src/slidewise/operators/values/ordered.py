"""A sorted multiset as a state: a balanced tree that is never changed, only made anew along one path."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from slidewise.operators.types import Value

# Its size, its value, and the trees of the values before and after it; None is the empty tree.
ValueTree = tuple[int, Value, Any, Any]


class Ordered:
    """A sorted multiset: two are joined at the cost of the smaller one, times the depth of the larger.

    NaN has no place in an order, so it is only counted.

    >>> both = Ordered.of([3, 1]) + Ordered.of([2, 1, float("nan")])
    >>> both, len(both), both[2]
    (Ordered([1, 1, 2, 3, nan]), 5, 2)
    """

    __slots__ = ("_root", "nans")

    def __init__(self, root: ValueTree | None, nans: int) -> None:
        self._root = root
        self.nans = nans

    @classmethod
    def of(cls, values: Iterable[Value]) -> Ordered:
        values = list(values)
        rest = sorted(value for value in values if value == value)
        return cls(_built(rest, 0, len(rest)), len(values) - len(rest))

    def __add__(self, other: Ordered) -> Ordered:
        nans = self.nans + other.nans
        large, small = self._root, other._root
        if _size(large) < _size(small):
            large, small = small, large
        if _size(small) * (_size(large).bit_length() + 1) <= _size(large):
            for value in _walk(small):
                large = _inserted(large, value)
            return Ordered(large, nans)
        values = sorted([*_walk(self._root), *_walk(other._root)])
        return Ordered(_built(values, 0, len(values)), nans)

    def __getitem__(self, rank: int) -> Value:
        """The value of this rank, from 0 on, among those that are not NaN. O(log n)."""
        node: Any = self._root
        while True:
            before = node[2][0] if node[2] is not None else 0
            if rank == before:
                return node[1]
            if rank < before:
                node = node[2]
            else:
                rank -= before + 1
                node = node[3]

    def rank(self, value: Value) -> int:
        """How many values lie below this one, which is not NaN. O(log n)."""
        node, below = self._root, 0
        while node is not None:
            _, middle, left, right = node
            if middle < value:
                below += _size(left) + 1
                node = right
            else:
                node = left
        return below

    def rank_behind(self, value: Value) -> int:
        """How many values lie at or below this one, which is not NaN. O(log n)."""
        node, below = self._root, 0
        while node is not None:
            _, middle, left, right = node
            if value < middle:
                node = left
            else:
                below += _size(left) + 1
                node = right
        return below

    def __len__(self) -> int:
        return _size(self._root) + self.nans

    def __iter__(self) -> Iterator[Value]:
        """Values from the least on, NaN last."""
        yield from _walk(self._root)
        for _ in range(self.nans):
            yield math.nan

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Ordered)
            and self.nans == other.nans
            and list(_walk(self._root)) == list(_walk(other._root))
        )

    def __hash__(self) -> int:
        return hash((*_walk(self._root), self.nans))

    def __repr__(self) -> str:
        return f"Ordered({list(self)!r})"


def _size(node: ValueTree | None) -> int:
    return 0 if node is None else node[0]


def _walk(node: ValueTree | None) -> Iterator[Value]:
    path: list[ValueTree] = []
    while path or node is not None:
        while node is not None:
            path.append(node)
            node = node[2]
        node = path.pop()
        yield node[1]
        node = node[3]


def _built(values: list[Value], start: int, stop: int) -> ValueTree | None:
    """A tree of sorted values, as flat as can be."""
    if start == stop:
        return None
    middle = (start + stop) // 2
    return stop - start, values[middle], _built(values, start, middle), _built(values, middle + 1, stop)


def _inserted(node: ValueTree | None, value: Value) -> ValueTree:
    if node is None:
        return 1, value, None, None
    _, middle, left, right = node
    if value < middle:
        return _balanced(middle, _inserted(left, value), right)
    return _balanced(middle, left, _inserted(right, value))


def _balanced(value: Value, left: ValueTree | None, right: ValueTree | None) -> ValueTree:
    """A node whose sides are of about the same size: neither more than three times the other (Adams 1993)."""
    a, b = _size(left), _size(right)
    if a + b > 1 and b > 3 * a:
        assert right is not None
        _, other, inner, outer = right
        if _size(inner) < 2 * _size(outer):
            return _node(other, _node(value, left, inner), outer)
        _, top, x, y = inner
        return _node(top, _node(value, left, x), _node(other, y, outer))
    if a + b > 1 and a > 3 * b:
        assert left is not None
        _, other, outer, inner = left
        if _size(inner) < 2 * _size(outer):
            return _node(other, outer, _node(value, inner, right))
        _, top, x, y = inner
        return _node(top, _node(other, outer, x), _node(value, y, right))
    return a + b + 1, value, left, right


def _node(value: Value, left: ValueTree | None, right: ValueTree | None) -> ValueTree:
    return _size(left) + _size(right) + 1, value, left, right
