"""Equality of states and answers, exact or within a tolerance, and how a value is shown in an error."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import TYPE_CHECKING, Any

from slidewise.operators.types import State

if TYPE_CHECKING:
    from slidewise.arrays import Array


def same(a: State, b: State, tolerance: float = 0.0) -> bool:
    """Whether two values are equal, NaN being equal to itself, also inside tuples, lists, dicts and arrays.

    `tolerance` is relative, with the same absolute slack near zero.

    >>> same((1, math.nan), (1, math.nan)), same(0.1 + 0.2, 0.3), same(0.1 + 0.2, 0.3, tolerance=1e-12)
    (True, False, True)
    """
    if a is b:
        return True
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key], tolerance) for key in a)
    if getattr(a, "shape", ()) != () and hasattr(b, "shape"):
        return _same_array(a, b, tolerance)
    if tolerance and isinstance(a, Number) and isinstance(b, Number):
        return _near(a, b, tolerance)
    return bool(a == b)


def _near(a: Any, b: Any, tolerance: float) -> bool:
    """Whether numbers of other kinds are equal: integers of any size, decimals, complex numbers."""
    slack = Decimal(tolerance) if isinstance(a, Decimal) else Fraction(tolerance)
    try:
        return bool(a == b or abs(a - b) <= slack * max(abs(a), abs(b), 1))
    except TypeError:
        return False


def shown(value: object) -> str:
    """A value for an error message: its repr, cut short where it is long.

    >>> shown(3), shown(1 << 100_000)
    ('3', 'an integer of 100001 bits')
    """
    if isinstance(value, int) and value.bit_length() > 1_000:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, tuple) and type(value) is tuple:
        text = f"({', '.join(map(shown, value))}{',' if len(value) == 1 else ''})"
    else:
        text = repr(value)
    return text if len(text) <= 400 else f"{text[:380]}... ({len(text)} characters)"


def _same_array(a: Array, b: Array, tolerance: float) -> bool:
    return bool(a.shape == b.shape) and all(same(x, y, tolerance) for x, y in zip(a.flat, b.flat, strict=True))
