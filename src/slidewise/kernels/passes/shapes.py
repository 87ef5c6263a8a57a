"""Variances, skewness, kurtosis, slopes and weighted means: exact totals answer most windows, and the general kernel
the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.bounds.rows_and_times import row_bounds
from slidewise.kernels.codegen.kernel import Answers, kernel_for
from slidewise.kernels.sums.exact_totals import SURE, UNSURE
from slidewise.kernels.sums.window_moments import window_moments
from slidewise.kernels.sums.window_shapes import as_floats, moment_shapes, slope_shapes, weighted_shapes
from slidewise.operators.operator import Operator

_Marked = tuple[Array, Array]  # answers, and what is known of each


def shapes_of_windows(op: Operator, inputs: Sequence[Array], starts: Array, ends: Array) -> Answers | None:
    """The answers over windows [starts, ends) that never move back; None where columns are of other numbers."""
    index = np.int32 if len(inputs[0]) < 2**31 - 1 else np.int64
    return _answers(op, inputs, starts.astype(index, copy=False), ends.astype(index, copy=False), 0)


def shapes_of_rows(op: Operator, inputs: Sequence[Array], offsets: Array, n: int) -> Answers | None:
    """The same over the last n rows of each key; key k has the rows offsets[k:k + 2]."""
    if len(offsets) == 2:
        return _answers(op, inputs, _NO_BOUNDS, _NO_BOUNDS, n)
    starts, ends = (np.empty(len(inputs[0]), np.int64) for _ in range(2))
    row_bounds(offsets, n, False, starts, ends)
    return shapes_of_windows(op, inputs, starts, ends)


_NO_BOUNDS = np.empty(0, np.int32)


def _answers(op: Operator, inputs: Sequence[Array], starts: Array, ends: Array, rows: int) -> Answers | None:
    marked = SHAPES[op.traits.bounds_pass](inputs, starts, ends, rows)
    if marked is None:
        return None
    out, marks = marked
    unsure = np.flatnonzero(marks == UNSURE)
    if len(unsure):
        inputs = [np.ascontiguousarray(x) for x in inputs]
        kernel = kernel_for(op, tuple(str(x.dtype) for x in inputs))
        assert kernel is not None
        of_unsure = (np.maximum(unsure + 1 - rows, 0), unsure + 1) if rows else (starts[unsure], ends[unsure])
        careful = kernel.bounds(inputs, *of_unsure)
        out[unsure] = careful.fields[0]
        marks[unsure] = SURE if careful.valid is None else np.where(careful.valid, SURE, UNSURE)
    valid = marks == SURE
    return Answers([out], None if valid.all() else valid)


def _variances(root: bool, inputs: Sequence[Array], starts: Array, ends: Array, rows: int) -> _Marked | None:
    x = as_floats(inputs[0])
    return None if x is None else window_moments(x, starts, ends, rows, root)


def _moments(fourth: bool, inputs: Sequence[Array], starts: Array, ends: Array, rows: int) -> _Marked | None:
    x = as_floats(inputs[0])
    return None if x is None else moment_shapes(x, starts, ends, rows, fourth)


def _slopes(inputs: Sequence[Array], starts: Array, ends: Array, rows: int) -> _Marked | None:
    """With a third column, slopes of as many y, where it has one value."""
    per = inputs[2] if len(inputs) == 3 else np.ones(1)
    if per.strides[0] and (per != per[0]).any():
        return None
    y, x = as_floats(inputs[0]), as_floats(inputs[1])
    return None if y is None or x is None else slope_shapes(y, x, float(per[0]), starts, ends, rows)


def _means(inputs: Sequence[Array], starts: Array, ends: Array, rows: int) -> _Marked | None:
    x, w = (as_floats(column, moved=False) for column in inputs)
    return None if x is None or w is None else weighted_shapes(x, w, starts, ends, rows)


SHAPES: dict[str | None, Callable[[Sequence[Array], Array, Array, int], _Marked | None]] = {
    "variance": partial(_variances, False),
    "stddev": partial(_variances, True),
    "skew": partial(_moments, False),
    "kurtosis": partial(_moments, True),
    "slope": _slopes,
    "weighted_mean": _means,
}
