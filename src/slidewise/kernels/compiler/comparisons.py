"""Comparisons in compiled code of numbers of two types: exact, where Numba makes floats of both."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from numba import njit, uint64

_EXACT = 2**53  # integers up to here are floats without loss


@njit
def order(a, b):  # type: ignore[no-untyped-def]
    """-1, 0 or 1 as an integer lies before, at or behind a float, and 2 where that is NaN: exactly."""
    if -_EXACT <= a <= _EXACT or not abs(b) >= _EXACT:
        x = float(a)
        return -1 if x < b else 1 if x > b else 0 if x == b else 2
    if not -9223372036854775808.0 <= b < 9223372036854775808.0:
        return -1 if b > 0 else 1
    c = int(b)
    return -1 if a < c else 1 if a > c else 0


@njit
def unsigned_order(a, b):  # type: ignore[no-untyped-def]
    """The same for an unsigned integer and a signed one."""
    if b < 0:
        return 1
    c = uint64(b)
    return -1 if a < c else 1 if a > c else 0


def _compared(ordered: Any, test: Callable[[int], bool], swapped: bool) -> Any:
    """A comparison of numbers of two types, or of these types swapped, by their order."""
    chosen = njit(test)
    if swapped:
        return njit(lambda a, b: chosen(ordered(b, a)))
    return njit(lambda a, b: chosen(ordered(a, b)))


def _comparisons(ordered: Any) -> dict[Any, tuple[Any, Any]]:
    """Each comparison for the types of an order, and for these types swapped."""
    return {
        name: (_compared(ordered, test, False), _compared(ordered, mirrored, True))
        for name, test, mirrored in (
            (operator.lt, lambda o: o == -1, lambda o: o == 1),
            (operator.le, lambda o: o <= 0, lambda o: o == 0 or o == 1),
            (operator.gt, lambda o: o == 1, lambda o: o == -1),
            (operator.ge, lambda o: o == 0 or o == 1, lambda o: o <= 0),
            (operator.eq, lambda o: o == 0, lambda o: o == 0),
            (operator.ne, lambda o: o != 0, lambda o: o != 0),
        )
    }


COMPARED = _comparisons(order)
COMPARED_UNSIGNED = _comparisons(unsigned_order)
