"""Choosing the pass that answers an operator over arrays: a special one where there is one, or the general kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from slidewise.kernels.codegen.kernel import Answers, Kernel, kernel_for
from slidewise.kernels.passes.extremes import extreme_rows
from slidewise.kernels.sums.block_moments import block_moments
from slidewise.kernels.sums.bound_sums import sum_bounds
from slidewise.kernels.sums.row_moments import moment_rows
from slidewise.kernels.sums.row_sums import exponentials, logarithms, sum_rows
from slidewise.operators.operator import Operator

INTEGERS_SAFE_TO_ADD = 2**62
_BLOCK_SCANS_GAIN = 10  # how many rows they answer while the general kernel takes in one


def compiled_kernel(operator: Operator, inputs: Sequence[Any]) -> Kernel | None:
    """The operator's kernel for these arrays, or None where it runs interpreted."""
    return kernel_for(operator, tuple(str(x.dtype) for x in inputs))


def run_rows(operator: Operator, kernel: Kernel, inputs: Sequence[Any], offsets: Any, n: int) -> Answers:
    """The answers over the last n rows of each key, without nulls; key k has the rows offsets[k:k + 2]."""
    x = inputs[0]
    if operator.builtin and len(x):
        special = _special_rows(operator.name, kernel, x, offsets, n)
        if special is not None:
            return special
    return kernel.rows(inputs, n) if len(offsets) == 2 else kernel.rows_by_key(inputs, offsets, n)


def run_bounds(operator: Operator, kernel: Kernel, inputs: Sequence[Any], starts: Any, ends: Any) -> Answers:
    """The answers over windows [starts, ends), of one key or of many."""
    x = inputs[0]
    if operator.builtin and len(x):
        if operator.name in ("sum", "mean") and x.dtype == np.float64:
            out = sum_bounds(x, starts, ends, operator.name == "mean")
            if out is not None:
                return Answers([out], None)
        if operator.name == "geomean":
            out = sum_bounds(logarithms(x), starts, ends, mean=True)
            if out is not None:
                return Answers([exponentials(out)], None)
        if operator.name == "sum" and _adds_up(x, len(x)):
            total = np.concatenate([np.zeros(1, np.int64), np.cumsum(x)])
            return Answers([total[ends] - total[starts]], None)
        if operator.name in ("first", "last"):
            at = starts if operator.name == "first" else ends - 1
            return Answers([x[np.clip(at, 0, len(x) - 1)]], None)
    return kernel.bounds(inputs, starts, ends)


def _special_rows(name: str, kernel: Kernel, x: Any, offsets: Any, n: int) -> Answers | None:
    if name in ("max", "min"):
        out = np.empty_like(x)
        has_nan = extreme_rows(name == "max")(x, offsets, n, out)
        return None if has_nan else Answers([out], None)
    if name in ("sum", "mean") and x.dtype == np.float64:
        out = sum_rows(x, offsets, n, name == "mean")
        return None if out is None else Answers([out], None)
    if name == "geomean":
        out = sum_rows(logarithms(x), offsets, n, mean=True)
        return None if out is None else Answers([exponentials(out)], None)
    if name == "sum" and len(offsets) == 2 and _adds_up(x, n):
        out = np.cumsum(x)
        out[n:] -= out[:-n].copy()
        return Answers([out], None)
    if name in ("variance", "stddev") and x.dtype == np.float64 and n > 1:
        return _moments(name, kernel, x, offsets, n)
    return None


def _moments(name: str, kernel: Kernel, x: Any, offsets: Any, n: int) -> Answers:
    """Running sums answer most rows, block scans those beside values far off, and the general kernel the rest."""
    out, sure = moment_rows(x, offsets, n, name == "stddev")
    valid = np.ones(len(x), np.bool_)
    valid[offsets[:-1][np.diff(offsets) > 0]] = False
    unsure = np.flatnonzero(sure != valid)
    if len(unsure) * n * _BLOCK_SCANS_GAIN > len(x):
        again, now_sure = block_moments(x, offsets, n, name == "stddev")
        np.copyto(out, again, where=now_sure & ~sure)
        unsure = unsure[~now_sure[unsure]]
    if len(unsure):
        first_rows = offsets[np.searchsorted(offsets, unsure, "right") - 1]
        careful = kernel.bounds([x], np.maximum(unsure - n + 1, first_rows), unsure + 1)
        out[unsure] = careful.fields[0]
    return Answers([out], valid)


def _adds_up(x: Any, n: int) -> bool:
    """Whether sums of n of these integers surely fit into 64 bits, so that plain additions are exact."""
    if x.dtype != np.int64:
        return False
    most = max(abs(int(x.max(initial=0))), abs(int(x.min(initial=0))))
    return most * min(n, len(x)) < INTEGERS_SAFE_TO_ADD
