"""Every invariant of a finger B-tree, and the tree as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from slidewise.operators.types import State, Value
from slidewise.swag.fiba.node import NOTHING, Node
from slidewise.swag.structures.times import RowTime

if TYPE_CHECKING:
    from slidewise.swag.fiba.spines import Spines

Products = dict[int, State]  # by a node's id, the product of all rows at and below it


def entries(node: Node) -> Iterator[tuple[RowTime, State]]:
    """Times and states of all rows at and below a node, in order."""
    for i in range(len(node.vals) + 1):
        if node.kids is not None:
            yield from entries(node.kids[i])
        if i < len(node.vals):
            yield node.times[i], node.vals[i]


def stored(tree: Spines) -> int:
    """The partial aggregates that the tree holds: one for each row, one for each inner node, and the spines'."""
    inside = _count(tree._left[-1]) - 2 * len(tree._left) + 1
    prefixes = len(tree._prefix) if tree._size else 0
    return tree._size + inside + prefixes + sum(map(len, tree._suffix))


def _count(node: Node) -> int:
    """The nodes at and below one; leaves are not visited."""
    if node.kids is None:
        return 1
    leaves = node.kids[0].kids is None
    return 1 + (len(node.kids) if leaves else sum(map(_count, node.kids)))


def check(tree: Spines, rows: Sequence[Value] | None) -> None:
    """Verify the shape of the tree, the order of its times, and every aggregate from the states of the rows."""
    require = tree._require
    root = len(tree._left) - 1
    require(not tree._log, "nothing is half done")
    require(tree._left[-1] is tree._right[-1], "the spines meet in the root")
    require(len(tree._right) == len(tree._prefix) == len(tree._suffix) + 1 == root + 1, "the spines have all levels")
    for spine, end in ((tree._left, 0), (tree._right, -1)):
        for level in range(root):
            kids = spine[level + 1].kids
            require(kids is not None and kids[end] is spine[level], f"the spine's node at level {level} is in place")
    every = list(entries(tree._left[-1]))
    require(len(every) == tree._size, f"the tree holds {tree._size} rows")
    times = [t for t, _ in every]
    if None in times:
        require(times.count(None) == len(times), "all rows have a time, or none has")
    else:
        require(all(a <= b for a, b in pairwise(times)), "times are in order")
    if every:
        products: Products = {}
        on_spines = {id(node) for node in (*tree._left, *tree._right)}
        _check_below(tree, tree._left[-1], root, on_spines, products)
        _check_spines(tree, products)
    else:
        require(tree._prefix == [NOTHING], "an empty window has no aggregate")
    require(stored(tree) <= 2 * len(every), "less than 2n partials")
    if rows is not None:
        tree._require_same([v for _, v in every], tree._lifted(rows), "the row of states")


def _check_below(tree: Spines, node: Node, level: int, on_spines: set[int], products: Products) -> int:
    """Verify a node and all below it, from the leaves up; the number of their rows."""
    require = tree._require
    least, most = 1 if level == len(tree._left) - 1 else tree.min_arity - 1, 2 * tree.min_arity - 1
    require(least <= len(node.vals) <= most, f"a node at level {level} has {least} to {most} rows")
    require(len(node.times) == len(node.vals), "every row has a time")
    require((node.kids is None) == (level == 0), "all leaves are at level 0")
    require(node.kids is None or len(node.kids) == len(node.vals) + 1, "a child around every row")
    rows = len(node.vals)
    for kid in node.kids or ():
        rows += _check_below(tree, kid, level - 1, on_spines, products)
    products[id(node)] = tree._fold(_parts(node, products, 0, len(node.vals)))
    if id(node) in on_spines:
        require(node.agg is NOTHING and not node.rows, "a node on a spine has no aggregate of its own")
    else:
        require(node.rows == rows, f"a node at level {level} has {rows} rows")
        tree._require_same(node.agg, products[id(node)], f"an inner aggregate at level {level}")
    return rows


def _parts(node: Node, products: Products, first: int, last: int) -> list[State]:
    """Products and states in order, from one child of a node to another, both included."""
    if node.kids is None:
        return node.vals
    parts = [products[id(node.kids[first])]]
    for i in range(first, last):
        parts += [node.vals[i], products[id(node.kids[i + 1])]]
    return parts


def _check_spines(tree: Spines, products: Products) -> None:
    """Each product along a spine, from the root down."""
    root = len(tree._left) - 1
    before: list[State] = []
    for level in range(root, -1, -1):
        node = tree._right[level]
        parts = _parts(node, products, 0, len(node.vals))
        if level:
            parts = parts[level == root : -1]
        before = [tree._fold([*before, *parts])]
        tree._require_same(tree._prefix[level], before[0], f"the prefix at level {level}")
    behind: list[State] = []
    for level in range(root - 1, -1, -1):
        node = tree._left[level]
        tree._require(len(tree._suffix[level]) == len(node.vals), f"a suffix for every row at level {level}")
        for i in range(len(node.vals) - 1, -1, -1):
            kid = [products[id(node.kids[i + 1])]] if node.kids is not None else []
            behind = [tree._fold([node.vals[i], *kid, *behind])]
            tree._require_same(tree._suffix[level][i], behind[0], f"the suffix of row {i} at level {level}")


def show(tree: Spines) -> str:
    """The tree from the root down, and the products along its spines."""

    def below(node: Node, depth: int) -> Iterator[str]:
        agg = "" if node.agg is NOTHING else f" = {node.agg!r}"
        rows = ", ".join(f"{t!r}: {v!r}" for t, v in zip(node.times, node.vals, strict=True))
        yield f"{'  ' * depth}{rows}{agg}"
        for kid in node.kids or ():
            yield from below(kid, depth + 1)

    lines = list(below(tree._left[-1], 0))
    lines += [f"suffix at level {level}: {products!r}" for level, products in enumerate(tree._suffix)]
    lines += [
        f"prefix at level {level}: {product!r}" for level, product in enumerate(tree._prefix) if product is not NOTHING
    ]
    return "\n".join(lines)
