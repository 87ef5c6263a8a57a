"""Passes over windows [starts, ends) for operators whose states would cost more than they help.

`WINDOW_PASSES` holds those that operators name in their traits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.errors import SlidewiseError
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.order.bucket_middles import middles
from slidewise.kernels.order.quantiles import quantiles, quantiles_of_rows
from slidewise.kernels.passes.distinct import distinct_counts
from slidewise.kernels.passes.interpreted import interpreted
from slidewise.kernels.passes.sketches import distinct, member
from slidewise.operators.operator import Operator
from slidewise.operators.values.log_buckets import parts_of


def _count(_op: Operator, _x: Array, starts: Array, ends: Array) -> Answers:
    return Answers([(ends - starts).astype(np.int64)], None)


def _count_distinct(_op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    codes, groups = encode(x, None)
    out = np.zeros(len(starts), np.int64)
    distinct_counts(codes, max(groups, 1), starts, ends, out)
    return Answers([out], None)


def _hyperloglog(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    return Answers([distinct(x, op.parameters["p"], starts, ends)], None)


def _bloom(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    of = op.parameters
    if of.get("probe") is None:
        return interpreted(op, [x], starts, ends)
    return Answers([member(x, of["bits"], of["hashes"], of["probe"], starts, ends)], None)


def _quantile(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    if x.dtype == object:
        return interpreted(op, [x], starts, ends)
    x, asked = _asked(op, x)
    return Answers(quantiles(x, starts, ends, [asked]), None)


def _asked(op: Operator, x: Array) -> tuple[Array, tuple[float, str]]:
    """The numbers to take a quantile of, and which one."""
    if op.traits.quantile is not None:
        return x, op.traits.quantile
    return middles(x, parts_of(op.parameters["approximate"])), (op.parameters["q"], "lower")


def quantile_of_rows(op: Operator, x: Array, offsets: Array, n: int) -> Answers:
    """A quantile over the last n rows of each key; key k has the rows offsets[k:k + 2]."""
    x, asked = _asked(op, x)
    return Answers(quantiles_of_rows(x, offsets, n, [asked]), None)


def encode(x: Array, valid: Array | None) -> tuple[Array, int]:
    """A code for each different value, nulls being one of them, and the number of codes."""
    codes: Array
    if x.dtype.kind in "ib" and len(x):
        x = x.astype(np.int64, copy=False)
        low, high = int(x.min()), int(x.max())
        if high - low <= 2 * len(x) + 1_000:
            codes, groups = x - low if low else x, high - low + 1
            return (codes, groups) if valid is None else (np.where(valid, codes, groups), groups + 1)
    if x.dtype.kind == "f":
        x = np.where(x == 0.0, 0.0, x)
    if x.dtype == object:
        seen: dict[Any, int] = {}
        codes = np.array([seen.setdefault(_hashable(value), len(seen)) for value in x.tolist()], np.int64)
        groups = len(seen)
    else:
        values, codes = np.unique(x, return_inverse=True)
        groups = len(values)
    return (codes, groups) if valid is None else (np.where(valid, codes, groups), groups + 1)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError as error:
        raise SlidewiseError(f"keys and distinct values must be hashable, but {value!r} is not") from error
    return _NAN if value != value else value


_NAN = object()


def quantiles_of(ops: list[Operator], x: Array, starts: Array, ends: Array) -> list[Answers]:
    """Exact quantiles of the same numbers, which are sorted once for all of them."""
    asked = [op.traits.quantile or (0.5, "linear") for op in ops]
    return [Answers([values], None) for values in quantiles(x, starts, ends, asked)]


WINDOW_PASSES: dict[str, Callable[[Operator, Array, Array, Array], Answers]] = {
    "count": _count,
    "count_distinct": _count_distinct,
    "hyperloglog": _hyperloglog,
    "bloom": _bloom,
    "quantile": _quantile,
}
