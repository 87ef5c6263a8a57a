"""A counted B-tree of numbers, compiled: `OrderStatistics` with nodes that are rows of arrays, freed and used again.

A tree is six arrays: each node's keys, which are a leaf's values or its children's bounds; of nodes above the leaves
the children's counts, and their numbers; how many parts each node has; the path of the last descent; and last the root,
the height, the size, the first free node, and how many nodes were ever used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import cached_jit, jit

FULL = 32
FEW = FULL // 4
ROOT, HEIGHT, SIZE, FREE, USED = range(5)
Tree = tuple[Array, ...]


def nodes_for(values: int) -> int:
    """The most nodes that a tree of so many values has, and some more to split into."""
    return values // (FEW - 1) + 32


def new_tree(nodes: int, dtype: str) -> Tree:
    """An empty tree with room for so many nodes; the first is the root."""
    meta = np.array([0, 0, 0, -1, 1], np.int64)
    shape = (nodes, FULL)
    return (
        np.empty(shape, dtype),
        np.empty(shape, np.int64),
        np.empty(shape, np.int32),
        np.zeros(nodes, np.int32),
        np.empty(64, np.int64),
        meta,
    )


@jit
def _upper(keys: Array, node: int, width: int, value: float) -> int:
    """The number of a node's keys that are not above a value."""
    low = 0
    high = width
    while low < high:
        middle = (low + high) >> 1
        if value < keys[u(node), u(middle)]:
            high = middle
        else:
            low = middle + 1
    return low


@jit
def _lower(keys: Array, node: int, width: int, value: float) -> int:
    """The number of a node's keys that are below a value."""
    low = 0
    high = width
    while low < high:
        middle = (low + high) >> 1
        if keys[u(node), u(middle)] < value:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def _allocate(children: Array, meta: Array) -> Any:
    if meta[FREE] < 0:
        meta[USED] += 1
        return meta[USED] - 1
    node = meta[FREE]
    meta[FREE] = children[node, 0]
    return node


@jit
def _release(children: Array, widths: Array, meta: Array, node: int) -> None:
    children[node, 0] = meta[FREE]
    widths[node] = 0
    meta[FREE] = node


@jit
def _move(tree: Tree, leaf: bool, a: int, i: int, b: int, j: int, count: int) -> Any:
    """Copy parts of node a from i on to node b from j on, also where they overlap; how many values they stand for."""
    keys, counts, children = tree[0], tree[1], tree[2]
    step = -1 if a == b and i < j else 1
    first = count - 1 if step < 0 else 0
    for n in range(count):
        k = first + step * n
        keys[u(b), u(j + k)] = keys[u(a), u(i + k)]
    if leaf:
        return int64(count)
    total = int64(0)
    for n in range(count):
        k = first + step * n
        total += counts[u(a), u(i + k)]
        counts[u(b), u(j + k)] = counts[u(a), u(i + k)]
        children[u(b), u(j + k)] = children[u(a), u(i + k)]
    return total


@cached_jit
def add(tree: Tree, value: float) -> None:
    """Insert a value after those equal to it; there must be room for a new node in every level."""
    keys, counts, children, widths, path, meta = tree
    node = meta[ROOT]
    for level in range(meta[HEIGHT]):
        i = max(_upper(keys, node, widths[node], value) - 1, 0)
        keys[node, i] = min(keys[node, i], value)
        counts[node, i] += 1
        path[2 * level] = node
        path[2 * level + 1] = i
        node = int64(children[node, i])
    at = _upper(keys, node, widths[node], value)
    _move(tree, True, node, at, node, at + 1, widths[node] - at)
    keys[node, at] = value
    widths[node] += 1
    meta[SIZE] += 1
    level = meta[HEIGHT] - 1
    while widths[node] == FULL:
        new = _allocate(children, meta)
        count = _move(tree, level == meta[HEIGHT] - 1, node, FULL // 2, new, 0, FULL // 2)
        widths[node] = widths[new] = FULL // 2
        if level < 0:
            root = _allocate(children, meta)
            for i, child in enumerate((node, new)):
                keys[root, i] = keys[child, 0]
                children[root, i] = child
            counts[root, 0] = meta[SIZE] - count
            counts[root, 1] = count
            widths[root] = 2
            meta[ROOT] = root
            meta[HEIGHT] += 1
            return
        node = path[2 * level]
        i = path[2 * level + 1]
        _move(tree, False, node, i + 1, node, i + 2, widths[node] - i - 1)
        counts[node, i] -= count
        keys[node, i + 1] = keys[new, 0]
        counts[node, i + 1] = count
        children[node, i + 1] = new
        widths[node] += 1
        level -= 1


@cached_jit
def rank(tree: Tree, value: float) -> Any:
    """The number of values below this one."""
    keys, counts, children, widths, _, meta = tree
    node = meta[ROOT]
    below = int64(0)
    for _ in range(meta[HEIGHT]):
        i = max(_lower(keys, node, widths[node], value) - 1, 0)
        for k in range(i):
            below += counts[u(node), u(k)]
        node = int64(children[node, i])
    return below + _lower(keys, node, widths[node], value)


@cached_jit
def select(tree: Tree, k: int) -> Any:
    """The value of rank k, which must exist."""
    keys, counts, children, _, _, meta = tree
    node = meta[ROOT]
    for _ in range(meta[HEIGHT]):
        i = 0
        while k >= counts[u(node), u(i)]:
            k -= counts[u(node), u(i)]
            i += 1
        node = int64(children[node, i])
    return keys[node, k]


@cached_jit
def take_out(tree: Tree, value: float) -> None:
    """Remove one value equal to this one, which must be in the tree."""
    keys, counts, children, widths, path, meta = tree
    k = rank(tree, value)
    node = meta[ROOT]
    for level in range(meta[HEIGHT]):
        i = 0
        while k >= counts[u(node), u(i)]:
            k -= counts[u(node), u(i)]
            i += 1
        counts[node, i] -= 1
        path[2 * level] = node
        path[2 * level + 1] = i
        node = int64(children[node, i])
    _move(tree, True, node, k + 1, node, k, widths[node] - k - 1)
    widths[node] -= 1
    meta[SIZE] -= 1
    level = meta[HEIGHT] - 1
    while level >= 0 and widths[node] < FEW:
        leaf = level == meta[HEIGHT] - 1
        parent = path[2 * level]
        i = max(path[2 * level + 1] - 1, 0)
        left = int64(children[parent, i])
        right = int64(children[parent, i + 1])
        a = int64(widths[left])
        b = int64(widths[right])
        keep = a + b if a + b <= FULL - FEW else (a + b) // 2
        if keep >= a:
            count = _move(tree, leaf, right, 0, left, a, keep - a)
            _move(tree, leaf, right, keep - a, right, 0, b - (keep - a))
        else:
            _move(tree, leaf, right, 0, right, a - keep, b)
            count = -_move(tree, leaf, left, keep, right, 0, a - keep)
        widths[left] = keep
        widths[right] = a + b - keep
        counts[parent, i] += count
        counts[parent, i + 1] -= count
        if widths[right] == 0:
            _release(children, widths, meta, right)
            _move(tree, False, parent, i + 2, parent, i + 1, widths[parent] - i - 2)
            widths[parent] -= 1
        else:
            keys[parent, i + 1] = keys[right, 0]
        node = parent
        level -= 1
    while meta[HEIGHT] > 0 and widths[meta[ROOT]] == 1:
        root = meta[ROOT]
        meta[ROOT] = children[root, 0]
        meta[HEIGHT] -= 1
        _release(children, widths, meta, root)
