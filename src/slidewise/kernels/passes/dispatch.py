"""Choosing the pass that answers an operator over arrays of numbers: one of its own, or its general kernel.

`ROWS_PASSES` and `BOUNDS_PASSES` hold the passes that operators name in their traits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.bounds.in_parts import cuts_of_rows, cuts_of_stacks, in_parts
from slidewise.kernels.bounds.key_ranges import clipped
from slidewise.kernels.codegen.kernel import Answers, Kernel, kernel_for
from slidewise.kernels.compiler.threads import parts_of
from slidewise.kernels.passes.extremes import max_rows, min_rows
from slidewise.kernels.passes.shapes import SHAPES, shapes_of_rows, shapes_of_windows
from slidewise.kernels.passes.window_passes import quantile_of_rows
from slidewise.kernels.sums.block_moments import block_moments
from slidewise.kernels.sums.bound_sums import sum_bounds
from slidewise.kernels.sums.decayed_bounds import decayed_bounds
from slidewise.kernels.sums.row_moments import moment_rows
from slidewise.kernels.sums.row_sums import exponentials, logarithms, sum_rows
from slidewise.operators.operator import Operator

INTEGERS_SAFE_TO_ADD = 2**62
_DECAYED = (np.float64, np.int64, np.float64)  # a value, a half-life and a weight
_BLOCK_SCANS_GAIN = 10  # how many rows they answer while the general kernel takes in one

# Passes over the last n rows of each key, given as offsets, and over windows given as starts and ends. None means that
# a pass does not serve these rows.
RowsPass = Callable[[Operator, Array, Array, int], Answers | None]
BoundsPass = Callable[[Array, Array, Array], Answers | None]
ColumnsBoundsPass = Callable[[Operator, Sequence[Array], Array, Array], Answers | None]


def run_rows(operator: Operator, inputs: Sequence[Array], offsets: Array, n: int) -> Answers | None:
    """The answers over the last n rows of each key, without nulls; key k has the rows offsets[k:k + 2].

    None where no compiled pass answers windows of rows.
    """
    cuts, leads = [0, 0], [0]
    if parts_of(len(inputs[0])) > 1 and operator.traits.order_statistic is None:  # which has threads of its own
        cuts, leads = cuts_of_rows(offsets, n, len(inputs[0]))
    if len(cuts) == 2:
        return _run_rows(operator, inputs, offsets, n)
    if operator.traits.rows_pass is None and compiled_kernel(operator, inputs) is None:
        return None
    lead_of = dict(zip(cuts, leads, strict=False))

    def run(a: int, b: int) -> Answers:
        low = a - lead_of[a]
        answers = _run_rows(operator, [x[low:b] for x in inputs], clipped(offsets, low, b), n)
        assert answers is not None
        return answers if low == a else answers.moved(lambda x: x[a - low :])

    return in_parts(cuts, run)


def _run_rows(operator: Operator, inputs: Sequence[Array], offsets: Array, n: int) -> Answers | None:
    """The same in one part."""
    special = operator.traits.rows_pass
    answers = None
    if special is not None and len(inputs[0]):
        answers = ROWS_PASSES[special](operator, inputs[0], offsets, n)
    if answers is None and operator.traits.bounds_pass in SHAPES and len(inputs[0]):
        answers = shapes_of_rows(operator, inputs, offsets, n)
    if answers is not None:
        return answers
    kernel = compiled_kernel(operator, inputs)
    if kernel is None:
        return None
    return kernel.rows(inputs, n) if len(offsets) == 2 else kernel.rows_by_key(inputs, offsets, n)


def run_bounds(operator: Operator, inputs: Sequence[Array], starts: Array, ends: Array) -> Answers | None:
    """The answers over windows [starts, ends), of one key or of many; None where the operator runs interpreted."""
    special = operator.traits.bounds_pass
    answers = None
    if special in _COLUMNS_BOUNDS_PASSES and len(inputs[0]):
        answers = _COLUMNS_BOUNDS_PASSES[special](operator, inputs, starts, ends)
    elif special is not None and len(inputs[0]):
        answers = BOUNDS_PASSES[special](inputs[0], starts, ends)
    if answers is not None:
        return answers
    kernel = compiled_kernel(operator, inputs)
    if kernel is None:
        return None
    cuts = cuts_of_stacks(starts, ends)
    if len(cuts) <= 2:
        return kernel.bounds(inputs, starts, ends)
    return in_parts(cuts, lambda a, b: kernel.bounds(inputs, starts[a:b], ends[a:b]))


def compiled_kernel(operator: Operator, inputs: Sequence[Array]) -> Kernel | None:
    """The operator's kernel for these arrays, or None where it runs interpreted."""
    return kernel_for(operator, tuple(str(x.dtype) for x in inputs))


def _answers(out: Array | None) -> Answers | None:
    return None if out is None else Answers([out], None)


def _extreme_rows(most: bool, _op: Operator, x: Array, offsets: Array, n: int) -> Answers | None:
    out = np.empty_like(x)
    has_nan = (max_rows if most else min_rows)(x, offsets, n, out)
    return None if has_nan else Answers([out], None)


def _sum_rows(_op: Operator, x: Array, offsets: Array, n: int) -> Answers | None:
    if x.dtype == np.float64:
        return _answers(sum_rows(x, offsets, n, mean=False))
    if len(offsets) != 2 or not _adds_up(x, n):
        return None
    out = np.cumsum(x)
    out[n:] -= out[:-n].copy()
    return Answers([out], None)


def _mean_rows(_op: Operator, x: Array, offsets: Array, n: int) -> Answers | None:
    return _answers(sum_rows(x, offsets, n, mean=True)) if x.dtype == np.float64 else None


def _geomean_rows(_op: Operator, x: Array, offsets: Array, n: int) -> Answers | None:
    out = sum_rows(logarithms(x), offsets, n, mean=True)
    return None if out is None else Answers([exponentials(out)], None)


def _moment_rows(root: bool, op: Operator, x: Array, offsets: Array, n: int) -> Answers | None:
    """Running sums answer most rows, block scans those beside values far off, and the general kernel the rest."""
    if x.dtype != np.float64 or n <= 1:
        return None
    out, sure = moment_rows(x, offsets, n, root)
    valid = np.ones(len(x), np.bool_)
    valid[offsets[:-1][np.diff(offsets) > 0]] = False
    unsure = np.flatnonzero(sure != valid)
    if len(unsure) * n * _BLOCK_SCANS_GAIN > len(x):
        again, now_sure = block_moments(x, offsets, n, root)
        np.copyto(out, again, where=now_sure & ~sure)
        unsure = unsure[~now_sure[unsure]]
    if len(unsure):
        first_rows = offsets[np.searchsorted(offsets, unsure, "right") - 1]
        kernel = compiled_kernel(op, [x])
        assert kernel is not None
        careful = kernel.bounds([x], np.maximum(unsure - n + 1, first_rows), unsure + 1)
        out[unsure] = careful.fields[0]
    return Answers([out], valid)


def _completed(op: Operator, inputs: Sequence[Array], starts: Array, ends: Array, unsure: Array, out: Array) -> Answers:
    """The answers, of which the unsure ones, whose windows are [starts, ends), are the general kernel's."""
    if len(unsure):
        kernel = compiled_kernel(op, inputs)
        assert kernel is not None
        out[unsure] = kernel.bounds(inputs, starts, ends).fields[0]
    return Answers([out], None)


def _decayed_bounds(mean: bool, op: Operator, inputs: Sequence[Array], starts: Array, ends: Array) -> Answers | None:
    if len(inputs) != 3 or any(x.dtype != dtype for x, dtype in zip(inputs, _DECAYED, strict=True)):
        return None
    x, half_lives, weights = inputs
    result = decayed_bounds(x, half_lives, weights, starts, ends, mean)
    if result is None:
        return None
    out, sure = result
    unsure = np.flatnonzero(~sure)
    return _completed(op, inputs, starts[unsure], ends[unsure], unsure, out)


def _sum_bounds(x: Array, starts: Array, ends: Array) -> Answers | None:
    if x.dtype == np.float64:
        return _answers(sum_bounds(x, starts, ends, mean=False))
    if not _adds_up(x, len(x)):
        return None
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(x)])
    return Answers([total[ends] - total[starts]], None)


def _mean_bounds(x: Array, starts: Array, ends: Array) -> Answers | None:
    return _answers(sum_bounds(x, starts, ends, mean=True)) if x.dtype == np.float64 else None


def _geomean_bounds(x: Array, starts: Array, ends: Array) -> Answers | None:
    out = sum_bounds(logarithms(x), starts, ends, mean=True)
    return None if out is None else Answers([exponentials(out)], None)


def _row_at(x: Array, at: Array) -> Answers:
    return Answers([x[np.clip(at, 0, len(x) - 1)]], None)


def _adds_up(x: Array, n: int) -> bool:
    """Whether sums of n of these integers surely fit into 64 bits, so that plain additions are exact."""
    if x.dtype != np.int64:
        return False
    most = max(abs(int(x.max(initial=0))), abs(int(x.min(initial=0))))
    return most * min(n, len(x)) < INTEGERS_SAFE_TO_ADD


ROWS_PASSES: dict[str, RowsPass] = {
    "max": partial(_extreme_rows, True),
    "min": partial(_extreme_rows, False),
    "sum": _sum_rows,
    "mean": _mean_rows,
    "geomean": _geomean_rows,
    "variance": partial(_moment_rows, False),
    "stddev": partial(_moment_rows, True),
    "quantile": quantile_of_rows,
}
BOUNDS_PASSES: dict[str, BoundsPass] = {
    "sum": _sum_bounds,
    "mean": _mean_bounds,
    "geomean": _geomean_bounds,
    "first": lambda x, starts, _ends: _row_at(x, starts),
    "last": lambda x, _starts, ends: _row_at(x, ends - 1),
}
_COLUMNS_BOUNDS_PASSES: dict[str | None, ColumnsBoundsPass] = {
    "ewm_mean": partial(_decayed_bounds, True),
    "ewm_sum": partial(_decayed_bounds, False),
    **dict.fromkeys(SHAPES, shapes_of_windows),
}
