"""How often kernels call an operator: counted, by running the very text of their passes with functions that count."""

from __future__ import annotations

import random
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import slidewise as sw
from slidewise.kernels.codegen.kernel import kernel_for


def counting(compiled: Any, calls: list[int]) -> Any:
    """The pass as plain Python, with a maximum whose calls of combine are counted."""

    def combine(a: Any, b: Any) -> Any:
        calls[0] += 1
        return max(a, b)

    names = {**compiled.py_func.__globals__, "lift": lambda x: x, "combine": combine, "lower": lambda s: s, "u": int}
    return FunctionType(compiled.py_func.__code__, names)


KERNEL: Any = kernel_for(sw.max, ("float64",))
X = np.array([random.Random(i).random() for i in range(2_000)])


@pytest.mark.parametrize("n", [1, 2, 3, 10, 64, 999, 2_000])
def test_row_windows_take_at_most_three_calls_a_row(n: int) -> None:
    calls = [0]
    out = np.empty(len(X))
    counting(KERNEL.compiled_pass("rows_pass"), calls)(X, n, np.empty(n), out)
    assert calls[0] <= 3 * len(X)
    assert out.tolist() == [X[max(i - n + 1, 0) : i + 1].max() for i in range(len(X))]


@pytest.mark.parametrize("seed", range(6))
def test_any_windows_take_at_most_three_calls_a_row(seed: int) -> None:
    """Windows that never move back: each row comes in once, is turned over at most once, and is asked for once."""
    choose = random.Random(seed)
    ends = np.sort(np.array([choose.randrange(1, len(X) + 1) for _ in X]))
    starts = np.maximum.accumulate(np.array([choose.randrange(end) for end in ends]))
    starts = np.minimum(starts, ends - 1)
    calls = [0]
    out = np.empty(len(X))
    counting(KERNEL.compiled_pass("bounds_pass"), calls)(X, starts, ends, np.empty(len(X)), out)
    assert calls[0] <= 3 * len(X)
    assert out.tolist() == [X[a:b].max() for a, b in zip(starts, ends, strict=True)]
