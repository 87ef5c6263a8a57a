"""Passes over windows [starts, ends) for operators whose states would cost more than they help.

`WINDOW_PASSES` and `OWN_ROW_PASSES` hold those that operators name in their traits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from slidewise.arrays import Array, Ragged
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.order.bucket_middles import middles
from slidewise.kernels.order.grouping import dictionary_codes
from slidewise.kernels.order.own_ranks import sort_keys, window_ranks
from slidewise.kernels.order.quantiles import MEDIAN_DEVIATION, Spec, quantiles, quantiles_of_rows
from slidewise.kernels.passes.data_sketches import hll_sketches, theta_estimates, theta_sketches
from slidewise.kernels.passes.distinct import distinct_counts
from slidewise.kernels.passes.interpreted import interpreted
from slidewise.kernels.passes.sketches import distinct, member
from slidewise.kernels.passes.value_counts import entropies, histograms, modes, most_frequent, no_answers
from slidewise.operators.operator import Operator
from slidewise.operators.traits import Quantile, Rank, Spread
from slidewise.operators.values.log_buckets import parts_of


def _count(_op: Operator, _x: Array, starts: Array, ends: Array) -> Answers:
    return Answers([(ends - starts).astype(np.int64)], None)


def _count_distinct(_op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    codes, groups = dictionary_codes(x, None)
    out = np.zeros(len(starts), np.int64)
    distinct_counts(codes, max(groups, 1), starts, ends, out)
    return Answers([out], None)


def _hyperloglog(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    return Answers([distinct(x, op.parameters["p"], starts, ends)], None)


def _hll_sketch(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    return Answers([hll_sketches(x, op.parameters["p"], starts, ends)], None)


def _theta(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    return Answers([theta_estimates(x, 1 << op.parameters["lg_k"], starts, ends)], None)


def _theta_sketch(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    return Answers([theta_sketches(x, 1 << op.parameters["lg_k"], starts, ends)], None)


def _bloom(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    of = op.parameters
    if of.get("probe") is None:
        return interpreted(op, [x], starts, ends)
    return Answers([member(x, of["bits"], of["hashes"], of["probe"], starts, ends)], None)


def _quantile(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    if x.dtype == object:
        return interpreted(op, [x], starts, ends)
    x, specs = _asked(op, x)
    return _answer(quantiles(x, starts, ends, specs))


def _asked(op: Operator, x: Array) -> tuple[Array, list[Spec]]:
    """The numbers to take quantiles of, and which ones."""
    statistic = op.traits.order_statistic
    if statistic is None:
        return middles(x, parts_of(op.parameters["approximate"])), [(op.parameters["q"], "lower")]
    if isinstance(statistic, Quantile):
        return x, [statistic]
    assert isinstance(statistic, Spread), "ranks have a pass of their own"
    return x, _SPREADS[statistic.kind]


_SPREADS: dict[str, list[Spec]] = {"iqr": [(0.25, "linear"), (0.75, "linear")], "mad": [MEDIAN_DEVIATION]}


def _answer(values: list[Array]) -> Answers:
    """The answers of an operator, given those of what it asked for."""
    if len(values) == 1:
        return Answers(values, None)
    low, high = values
    with np.errstate(invalid="ignore", over="ignore"):
        return Answers([np.where(low == high, 0.0, high - low)], None)


def quantile_of_rows(op: Operator, x: Array, offsets: Array, n: int) -> Answers:
    """A quantile over the last n rows of each key; key k has the rows offsets[k:k + 2]."""
    x, specs = _asked(op, x)
    return _answer(quantiles_of_rows(x, offsets, n, specs))


def quantiles_of(ops: list[Operator], x: Array, starts: Array, ends: Array) -> list[Answers]:
    """Exact order statistics of the same numbers, which are sorted once for all of them."""
    asked = [_asked(op, x)[1] for op in ops]
    values = iter(quantiles(x, starts, ends, [spec for specs in asked for spec in specs]))
    return [_answer([next(values) for _ in specs]) for specs in asked]


def _lag(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    at = ends - 1 - op.parameters["k"]
    if not len(x):
        return no_answers(len(at), x.dtype)
    return Answers([x[np.maximum(at, 0)]], at >= starts)


def _last_k(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    firsts = np.maximum(starts, ends - op.parameters["k"])
    return Answers([Ragged(firsts, ends - firsts, x)], None)


def _first_k(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    return Answers([Ragged(starts, np.minimum(ends - starts, op.parameters["k"]), x)], None)


def _mode(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    return modes(x, op.name, starts, ends)


def _entropy(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    return entropies(x, op.name, starts, ends)


def _top_k(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    return most_frequent(x, op.name, op.parameters["k"], starts, ends)


def _histogram(op: Operator, x: Array, starts: Array, ends: Array) -> Answers:
    return (
        interpreted(op, [x], starts, ends) if x.dtype == object else histograms(x, op.parameters["edges"], starts, ends)
    )


def _rank(op: Operator, x: Array, starts: Array, ends: Array, own: Array) -> Answers:
    statistic = op.traits.order_statistic
    assert isinstance(statistic, Rank)
    return Answers([window_ranks(sort_keys(x, op.name), starts, ends, own, statistic.method)], None)


WINDOW_PASSES: dict[str, Callable[[Operator, Array, Array, Array], Answers]] = {
    "count": _count,
    "count_distinct": _count_distinct,
    "hyperloglog": _hyperloglog,
    "hll_sketch": _hll_sketch,
    "theta": _theta,
    "theta_sketch": _theta_sketch,
    "bloom": _bloom,
    "quantile": _quantile,
    "lag": _lag,
    "last_k": _last_k,
    "first_k": _first_k,
    "mode": _mode,
    "entropy": _entropy,
    "top_k": _top_k,
    "histogram": _histogram,
}
# Those that answer windows with plain arrays, whose rows may be cut between windows that share none.
CUT_PASSES = frozenset({"count", "count_distinct", "hyperloglog", "theta", "lag", "mode", "entropy"})

# Over windows [starts, ends) with rows of their own, which they may hold or not.
OWN_ROW_PASSES: dict[str, Callable[[Operator, Array, Array, Array, Array], Answers]] = {"rank": _rank}
