"""Serialise a finger B-tree as plain numbers and rebuild it node by node, so that its answers stay the same bits."""

from __future__ import annotations

from collections.abc import Sequence

from slidewise.operators.types import State
from slidewise.swag.fiba.node import NOTHING, Node
from slidewise.swag.fiba.spines import Spines
from slidewise.swag.structures.times import RowTime


def shape_of(tree: Spines) -> list[int]:
    """The level of the root, and how many rows each node has, a parent before its children."""
    shape = [len(tree._left) - 1]

    def below(node: Node) -> None:
        shape.append(len(node.vals))
        for kid in node.kids or ():
            below(kid)

    below(tree._left[-1])
    return shape


def rebuild(tree: Spines, shape: Sequence[int], times: Sequence[RowTime], states: Sequence[State]) -> None:
    """Make the tree one of this shape with these rows in order; ValueError where there is none."""
    root, *counts = shape
    least, most = tree.min_arity - 1, 2 * tree.min_arity - 1
    fits = len(times) == len(states) == sum(counts) and all(least <= count <= most for count in counts[1:])
    if not fits or not 0 <= root < 64 or not counts or not bool(states) <= counts[0] <= most or (root and not states):
        raise ValueError(f"no FiBA has nodes of {shape} rows for {len(times)} times and {len(states)} states")
    nodes, rows = iter(counts), iter(zip(times, states, strict=True))

    def make(level: int) -> Node:
        node = Node([], [], [] if level else None)
        count = next(nodes, None)
        if count is None:
            raise ValueError(f"the shape {shape} has too few nodes")
        for i in range(count + 1):
            if node.kids is not None:
                node.kids.append(make(level - 1))
            if i < count:
                time, state = next(rows)
                node.times.append(time)
                node.vals.append(state)
        return node

    def sum_up(node: Node, on_left: bool, on_right: bool) -> None:
        for i, kid in enumerate(node.kids or ()):
            sum_up(kid, on_left and i == 0, on_right and i == len(node.vals))
        if not on_left and not on_right:
            node.sum_up(tree._combine)

    top = make(root)
    if next(nodes, None) is not None:
        raise ValueError(f"the shape {shape} has too many nodes")
    tree.clear()
    sum_up(top, True, True)
    tree._left, tree._right = [top], [top]
    for spine, end in ((tree._left, 0), (tree._right, -1)):
        while spine[0].kids is not None:
            spine.insert(0, spine[0].kids[end])
    tree._suffix = [[] for _ in range(root)]
    tree._prefix = [NOTHING] * (root + 1)
    tree._size = len(states)
    tree._refresh_prefix(root)
    tree._refresh_suffix(root - 1)
