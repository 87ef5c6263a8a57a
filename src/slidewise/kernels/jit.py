"""How kernels are compiled: without Python's lock, by IEEE's rules for floats, and without shortcuts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile a function."""
    compiled: F = njit(nogil=True, error_model="numpy")(function)
    return compiled


def cached_jit(function: F) -> F:
    """Compile a function of this package's own, and keep its machine code from one process to the next."""
    compiled: F = njit(nogil=True, error_model="numpy", cache=True)(function)
    return compiled
