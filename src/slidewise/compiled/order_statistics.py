"""`OrderStatistics` compiled for numbers: the window's values in a ring and in a tree, and loops over whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from slidewise.arrays import Array
from slidewise.compiled.inputs import read_column, read_number
from slidewise.errors import EmptyWindowError, InputError
from slidewise.kernels.compiler.jit import cached_jit, jit
from slidewise.kernels.order import order_tree as trees
from slidewise.kernels.order.gaps import gap_of
from slidewise.kernels.order.order_tree import Tree
from slidewise.kernels.order.quantiles import METHODS, place_of
from slidewise.operators.operator import Operator
from slidewise.operators.traits import Quantile
from slidewise.operators.types import Value

SMALLEST = 8
START, STOP, NANS = range(3)


@jit
def _insert(ring: Array, tree: Tree, state: Array, value: float) -> None:
    value = value + 0  # -0.0 becomes 0.0
    ring[state[STOP] & (len(ring) - 1)] = value
    state[STOP] += 1
    if value == value:
        trees.add(tree, value)
    else:
        state[NANS] += 1


@jit
def _evict(ring: Array, tree: Tree, state: Array) -> None:
    value = ring[state[START] & (len(ring) - 1)]
    state[START] += 1
    if value == value:
        trees.take_out(tree, value)
    else:
        state[NANS] -= 1


@jit
def _answer(tree: Tree, n: int, q: float, method: int, out: Array, i: int) -> None:
    """Write the quantile of n values, none of which is NaN."""
    k, t = place_of(n, q, method)
    a = trees.select(tree, k)
    out[i] = a
    if t > 0:
        b = trees.select(tree, k + 1)
        if b != a:
            gap = gap_of(a, b)
            if gap == np.inf:
                out[i] = a * (1 - t) + b * t
            else:
                out[i] = a + gap * t if t < 0.5 else b - gap * (1 - t)


@cached_jit
def _query(tree: Tree, state: Array, q: float, method: int, out: Array, i: int) -> None:
    if state[NANS]:
        out[i] = np.nan
    else:
        _answer(tree, state[STOP] - state[START], q, method, out, i)


@cached_jit
def _insert_many(ring: Array, tree: Tree, state: Array, values: Array) -> None:
    for value in values:
        _insert(ring, tree, state, value)


@cached_jit
def _evict_many(ring: Array, tree: Tree, state: Array, k: int) -> None:
    for _ in range(k):
        _evict(ring, tree, state)


@cached_jit
def _rounds(ring: Array, tree: Tree, state: Array, values: Array, q: float, method: int, out: Array) -> None:
    for i in range(len(values)):
        _evict(ring, tree, state)
        _insert(ring, tree, state, values[i])
        _query(tree, state, q, method, out, i)


class CompiledOrder:
    """A window of numbers kept by `OrderStatistics`, compiled; made by `sw.compiled`.

    `insert`, `evict`, `query`, `quantile`, `rank` and `select` do what the class does; `insert_many`, `evict_many` and
    `rounds` are native loops. Steps are O(log n) in the worst case, but for those that double the arrays, or halve them
    when the window has become four times smaller than they are, which copy it.
    """

    __slots__ = ("_interpolation", "_q", "_ring", "_state", "_tree", "dtype", "operator")

    def __init__(self, operator: Operator, dtype: str) -> None:
        quantile = operator.traits.order_statistic
        if not isinstance(quantile, Quantile) or dtype == "bool":
            raise InputError(
                f"OrderStatistics is compiled for median and quantile over float64 or int64, not {operator.name} over "
                f"{dtype}"
            )
        self.operator, self.dtype = operator, dtype
        self._q, self._interpolation = quantile
        self.clear()

    def insert(self, e: Value) -> None:
        """Put a row at the back."""
        self.insert_many(np.array([read_number(e, self.dtype, self.operator.name)], self.dtype))

    def evict(self) -> None:
        """Drop the oldest row; an empty window raises EmptyWindowError and stays as it is."""
        self.evict_many(1)

    def query(self) -> Any:
        """The operator's quantile; None of an empty window."""
        return self.quantile(self._q)

    def quantile(self, q: float) -> Any:
        """Any quantile of the window, by the operator's interpolation."""
        if not len(self):
            return None
        if self._state[NANS]:
            return float("nan")
        out = self._answers(1)
        _query(self._tree, self._state, float(q), METHODS[self._interpolation], out, 0)
        return out[0].item()

    def rank(self, x: Value) -> int:
        """How many values of the window lie below x."""
        return int(trees.rank(self._tree, read_number(x, self.dtype, self.operator.name)))

    def select(self, k: int) -> Any:
        """The value of rank k, from 0 on, NaN left out."""
        if not 0 <= k < self._tree[-1][trees.SIZE]:
            raise IndexError(
                f"the window has {self._tree[-1][trees.SIZE]} values that have an order, none of rank {k!r}"
            )
        return trees.select(self._tree, k)

    def __len__(self) -> int:
        return int(self._state[STOP] - self._state[START])

    def clear(self) -> None:
        """Drop every row."""
        self._state = np.zeros(3, np.int64)
        self._ring = np.empty(SMALLEST, self.dtype)
        self._tree = trees.new_tree(trees.nodes_for(SMALLEST), self.dtype)

    def insert_many(self, values: npt.ArrayLike) -> None:
        """Insert every row of an array."""
        column = read_column(values, self.dtype, self.operator.name)
        self._fit(len(self) + len(column))
        _insert_many(self._ring, self._tree, self._state, column)

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows, all or none of them."""
        if k > len(self):
            raise EmptyWindowError(f"cannot evict {k} rows: the window holds {len(self)}; check len() first")
        _evict_many(self._ring, self._tree, self._state, k)
        if 4 * len(self) < len(self._ring) and len(self._ring) > SMALLEST:
            self._fit(len(self), shrink=True)

    def rounds(self, values: npt.ArrayLike) -> Array:
        """For every row evict, insert and query: the answers."""
        column = read_column(values, self.dtype, self.operator.name)
        if len(column) and not len(self):
            raise EmptyWindowError("cannot evict: the window is empty; insert first, or check len()")
        out = self._answers(len(column))
        _rounds(self._ring, self._tree, self._state, column, self._q, METHODS[self._interpolation], out)
        return out

    def _answers(self, count: int) -> Array:
        return np.empty(count, np.float64 if Quantile(self._q, self._interpolation).computed else self.dtype)

    def _rows(self) -> Array:
        rows: Array = self._ring[np.arange(self._state[START], self._state[STOP]) & (len(self._ring) - 1)]
        return rows

    def _fit(self, rows: int, shrink: bool = False) -> None:
        """Make the arrays as large as so many rows need, with some to spare."""
        if rows <= len(self._ring) and not shrink:
            return
        old = self._rows()
        size = SMALLEST
        while size < rows + (rows if shrink else 0):
            size *= 2
        self._state = np.zeros(3, np.int64)
        self._ring = np.empty(size, self.dtype)
        self._tree = trees.new_tree(trees.nodes_for(size), self.dtype)
        _insert_many(self._ring, self._tree, self._state, old)

    def _check(self, rows: npt.ArrayLike | None = None) -> None:
        """Verify the invariants: ring and tree hold the same, ranks are right, and nodes are neither full nor thin."""
        values = self._rows()
        assert rows is None or np.array_equal(values, np.asarray(rows, self.dtype), equal_nan=self.dtype == "float64")
        ordered = np.sort(values[values == values])
        assert self._state[NANS] == len(values) - len(ordered)
        assert self._tree[-1][trees.SIZE] == len(ordered)
        keys, counts, children, widths, _, meta = self._tree

        def walk(node: int, height: int) -> list[Any]:
            width = int(widths[node])
            assert node == meta[trees.ROOT] or trees.FEW <= width < trees.FULL
            if not height:
                return list(keys[node, :width].tolist())
            below: list[Any] = []
            for i in range(width):
                part = walk(int(children[node, i]), height - 1)
                assert counts[node, i] == len(part)
                assert keys[node, i] <= part[0]
                assert not below or below[-1] <= keys[node, i]
                below += part
            return below

        assert walk(int(meta[trees.ROOT]), int(meta[trees.HEIGHT])) == ordered.tolist()

    def __repr__(self) -> str:
        return f"<compiled OrderStatistics({self.operator!r}) of {len(self)} rows>"
