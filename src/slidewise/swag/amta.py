"""AMTA, the amortised monoid tree aggregator (Villalba, Berral, Carrera 2019): trees in a queue, with cached spines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slidewise.operators.types import State, Value
from slidewise.swag.interface import Swag


class PerfectTree(NamedTuple):
    """A perfect binary tree over `size` rows, with their aggregate; a leaf has no children."""

    size: int
    agg: State
    older: PerfectTree | None = None
    younger: PerfectTree | None = None

    def leaves(self) -> Iterator[State]:
        if self.older is None or self.younger is None:
            yield self.agg
        else:
            yield from self.older.leaves()
            yield from self.younger.leaves()

    def trees(self) -> Iterator[PerfectTree]:
        yield self
        for child in (self.older, self.younger):
            if child is not None:
                yield from child.trees()


class _Spine(NamedTuple):
    """A tree on one side of the window, with the aggregate of all trees from it to the middle, itself included."""

    tree: PerfectTree
    agg: State


class Amta(Swag):
    """A window cut in two: trees that grow towards the middle on the left, and shrink away from it on the right.

    Combine calls: insert at most log n + 1, amortised 2; evict at most 2 log n, amortised 1; query at most 1. Space:
    about 2n partials. `evict_many` drops whole trees, so it takes at most 2 log n calls however many rows leave.

    Inserting puts a tree of one row on the right and merges equal neighbours, as a binary counter carries. Evicting
    splits the first tree down to its first leaf. When the left side is used up, the first tree of the right side
    becomes it.

    >>> import slidewise as sw
    >>> w = Amta(sw.max)
    >>> for e in [4, 5, 3]:
    ...     w.insert(e)
    >>> w.evict(); w.evict()
    >>> w.query()
    3
    """

    __slots__ = ("_left", "_right", "_size")

    _left: list[_Spine]  # the oldest last
    _right: list[_Spine]  # the youngest last
    _size: int

    def insert(self, e: Value, *more: Value) -> None:
        right = self._right
        tree = PerfectTree(1, self._lift_row(e, more) if more or e is None else self._lift(e))
        keep = len(right)
        while keep and right[keep - 1].tree.size == tree.size:
            keep -= 1
            older = right[keep].tree
            tree = PerfectTree(2 * tree.size, self._combine(older.agg, tree.agg), older, tree)
        agg = self._combine(right[keep - 1].agg, tree.agg) if keep else tree.agg
        right[keep:] = [_Spine(tree, agg)]
        self._size += 1

    def evict(self) -> None:
        if not self._size:
            raise self._empty()
        if self._size == 1:
            self.clear()
        else:
            self._drop(1)

    def _drop(self, k: int) -> None:
        """Drop k rows, fewer than the window holds: whole trees where possible, then the start of the next one."""
        left, right = self._left, self._right
        size = self._size - k
        keep = len(left)
        while keep and k >= left[keep - 1].tree.size:
            keep -= 1
            k -= left[keep].tree.size
        added: list[_Spine] = []
        if not keep and k:
            first = 0
            while k >= right[first].tree.size:
                k -= right[first].tree.size
                first += 1
            added = self._split(right[first].tree, k, [])
            right = self._chain([spine.tree for spine in right[first + 1 :]])
        elif k:
            keep -= 1
            added = self._split(left[keep].tree, k, left[:keep][-1:])
        left[keep:] = added
        self._right = right
        self._size = size

    def _split(self, tree: PerfectTree, k: int, younger: list[_Spine]) -> list[_Spine]:
        """The spines of a tree without its k oldest rows, the oldest last; `younger` is the spine behind it, if any."""
        spines = list(younger)
        while k:
            older, younger_half = tree.older, tree.younger
            assert older is not None
            assert younger_half is not None
            if k >= older.size:
                k -= older.size
                tree = younger_half
            else:
                spines.append(self._spine(younger_half, spines))
                tree = older
        spines.append(self._spine(tree, spines))
        return spines[len(younger) :]

    def _spine(self, tree: PerfectTree, younger: list[_Spine]) -> _Spine:
        return _Spine(tree, self._combine(tree.agg, younger[-1].agg) if younger else tree.agg)

    def _chain(self, trees: list[PerfectTree]) -> list[_Spine]:
        """The right side anew, from the middle to the youngest."""
        chain: list[_Spine] = []
        for tree in trees:
            chain.append(_Spine(tree, self._combine(chain[-1].agg, tree.agg) if chain else tree.agg))
        return chain

    def partial(self) -> State:
        left, right = self._left, self._right
        if left and right:
            return self._combine(left[-1].agg, right[-1].agg)
        if left:
            return left[-1].agg
        return right[-1].agg if right else self.operator.identity

    def __len__(self) -> int:
        return self._size

    def clear(self) -> None:
        self._left = []
        self._right = []
        self._size = 0

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows. Combine calls: at most 2 log n."""
        if self._leaving(k):
            self._drop(k)

    def stored(self) -> int:
        return sum(2 * spine.tree.size for spine in self._left + self._right)

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        trees = [spine.tree for spine in self._left[::-1] + self._right]
        for tree in (tree for top in trees for tree in top.trees()):
            if tree.older is not None and tree.younger is not None:
                self._require(tree.size == 2 * tree.older.size == 2 * tree.younger.size, "trees are perfect")
                self._require_same(tree.agg, self._combine(tree.older.agg, tree.younger.agg), f"a tree of {tree.size}")
        sizes = [spine.tree.size for spine in self._left]
        self._require(sizes == sorted(sizes, reverse=True), "left trees grow towards the middle")
        sizes = [spine.tree.size for spine in self._right]
        self._require(sizes == sorted(set(sizes), reverse=True), "right trees shrink away from the middle")
        self._require(sum(tree.size for tree in trees) == self._size, "the trees hold the window")
        for i, spine in enumerate(self._left):
            self._require_same(spine.agg, self._fold(s.tree.agg for s in self._left[i::-1]), f"left spine {i}")
        for i, spine in enumerate(self._right):
            self._require_same(spine.agg, self._fold(s.tree.agg for s in self._right[: i + 1]), f"right spine {i}")
        if rows is not None:
            leaves = [leaf for tree in trees for leaf in tree.leaves()]
            self._require_same(leaves, self._lifted(rows), "the row of leaves")

    def _show(self) -> str:
        left = [(spine.tree.size, spine.tree.agg, spine.agg) for spine in self._left[::-1]]
        right = [(spine.tree.size, spine.tree.agg, spine.agg) for spine in self._right]
        return f"size, aggregate, spine\nleft {left!r}\nright {right!r}"
