"""FlatFAT, the Reactive Aggregator (Tangwongsan et al. 2015): a perfect binary tree in a flat circular array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slidewise.operators.types import State, Value
from slidewise.swag.interface import Swag


class _Empty:
    """Marks a part of the tree without rows; never combined."""

    def __repr__(self) -> str:
        return "·"


EMPTY: Final = _Empty()


class FlatFat(Swag):
    """A perfect binary tree whose leaves are a circular buffer of the window, doubled and halved as it fills.

    Combine calls, with log n that of the capacity, which is at most 4n: insert and evict at most log n, up to 2n at a
    resize; query at most 2 log n. Space: 2n to 4n partials.

    Node 1 is the root, node i has the children 2i and 2i + 1. When the window wraps around the array's end, the answer
    is the older rows at the end of the array combined with the younger rows at its start: order matters.

    >>> import slidewise as sw
    >>> w = FlatFat(sw.max)
    >>> for e in [4, 5, 3]:
    ...     w.insert(e)
    >>> w.evict(); w.evict()
    >>> w.query()
    3
    """

    __slots__ = ("_nodes", "_size", "_start")

    SMALLEST = 4

    _nodes: list[State]
    _start: int
    _size: int

    def insert(self, e: Value, *more: Value) -> None:
        v = self._lift_row(e, more) if more or e is None else self._lift(e)
        capacity = len(self._nodes) // 2
        if self._size == capacity:
            self._rebuild([*self._leaves(0), v], 2 * capacity)
        else:
            self._set((self._start + self._size) % capacity, [v])
            self._size += 1

    def evict(self) -> None:
        if not self._size:
            raise self._empty()
        self._drop(1)

    def _drop(self, k: int) -> None:
        capacity = len(self._nodes) // 2
        if capacity > self.SMALLEST and 4 * (self._size - k) <= capacity:
            while capacity > self.SMALLEST and 4 * (self._size - k) <= capacity:
                capacity //= 2
            self._rebuild(self._leaves(k), capacity)
        else:
            self._set(self._start, [EMPTY] * k)
            self._start = (self._start + k) % capacity
            self._size -= k

    def _set(self, first: int, leaves: list[State]) -> None:
        """Write neighbouring leaves, then their ancestors level by level, once every combine has returned."""
        nodes = self._nodes
        capacity = len(nodes) // 2
        before_end = min(len(leaves), capacity - first)
        changed = self._above(capacity + first, leaves[:before_end], {})
        if before_end < len(leaves):
            self._above(capacity, leaves[before_end:], changed)
        for node, value in changed.items():
            nodes[node] = value

    def _above(self, first: int, states: list[State], changed: dict[int, State]) -> dict[int, State]:
        """Add the states of the nodes from `first` on, and of all nodes above them, to what has changed already."""
        nodes = self._nodes
        last = first + len(states) - 1
        changed.update(zip(range(first, last + 1), states, strict=True))
        while first > 1:
            first >>= 1
            last >>= 1
            for i in range(first, last + 1):
                older, younger = 2 * i, 2 * i + 1
                changed[i] = self._join(changed.get(older, nodes[older]), changed.get(younger, nodes[younger]))
        return changed

    def _join(self, a: State, b: State) -> State:
        if a is EMPTY:
            return b
        return a if b is EMPTY else self._combine(a, b)

    def _leaves(self, skip: int) -> list[State]:
        capacity = len(self._nodes) // 2
        return [self._nodes[capacity + (self._start + i) % capacity] for i in range(skip, self._size)]

    def _rebuild(self, states: list[State], capacity: int) -> None:
        nodes: list[State] = [EMPTY] * (2 * capacity)
        nodes[capacity : capacity + len(states)] = states
        for i in range(capacity - 1, 0, -1):
            nodes[i] = self._join(nodes[2 * i], nodes[2 * i + 1])
        self._nodes, self._start, self._size = nodes, 0, len(states)

    def partial(self) -> State:
        if not self._size:
            return self.operator.identity
        capacity = len(self._nodes) // 2
        if self._start + self._size <= capacity:
            return self._nodes[1]
        node = self._start + capacity
        older = self._nodes[node]
        while node > 1:
            if not node & 1:
                older = self._join(older, self._nodes[node + 1])
            node >>= 1
        node = (self._start + self._size - 1) % capacity + capacity
        younger = self._nodes[node]
        while node > 1:
            if node & 1:
                younger = self._join(self._nodes[node - 1], younger)
            node >>= 1
        return self._join(older, younger)

    def __len__(self) -> int:
        return self._size

    def clear(self) -> None:
        self._nodes = [EMPTY] * (2 * self.SMALLEST)
        self._start = self._size = 0

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows. Combine calls: at most 4 log n, and at a resize as many as rows stay."""
        if self._leaving(k):
            self._drop(k)

    def stored(self) -> int:
        return sum(node is not EMPTY for node in self._nodes)

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        nodes = self._nodes
        capacity = len(nodes) // 2
        self._require(self._size <= capacity and capacity & (capacity - 1) == 0, "a perfect tree holds the window")
        self._require(capacity <= max(self.SMALLEST, 4 * self._size), "the tree is at most four times as large")
        held = [(self._start + i) % capacity for i in range(self._size)]
        for leaf in range(capacity):
            self._require((nodes[capacity + leaf] is EMPTY) == (leaf not in held), f"leaf {leaf} is held or empty")
        for i in range(1, capacity):
            self._require_same(nodes[i], self._join(nodes[2 * i], nodes[2 * i + 1]), f"node {i}")
        if rows is not None:
            self._require_same([nodes[capacity + leaf] for leaf in held], self._lifted(rows), "the row of leaves")

    def _show(self) -> str:
        nodes, lines, width = self._nodes, [], 1
        while width < len(nodes):
            lines.append(" ".join(map(repr, nodes[width : 2 * width])))
            width *= 2
        return "\n".join([*lines, f"start {self._start}, size {self._size}"])
