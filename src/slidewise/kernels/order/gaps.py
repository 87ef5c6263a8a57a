"""The difference of two numbers as a float, where that of two integers may not fit into one."""

from __future__ import annotations

import numpy as np
from numba.core import types
from numba.extending import overload


def gap_of(a: float, b: float) -> float:
    """The difference of b and a, as a float; compiled code calls `gap_as_float`."""
    return float(b - a)


@overload(gap_of, jit_options={"error_model": "numpy"})
def gap_as_float(a, b):  # type: ignore[no-untyped-def]
    """The difference of b and a, as a float; that of two integers may not fit into a signed one."""
    if isinstance(a, types.Float):
        return lambda a, b: b - a
    return lambda a, b: np.float64(np.uint64(b) - np.uint64(a))
