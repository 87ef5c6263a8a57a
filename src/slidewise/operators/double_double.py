"""Double-double numbers: a pair (hi, lo) of floats that stands for their exact sum, with about 106 bits.

`hi` is the sum rounded to a float. A high part that is not finite carries a zero low part: inf gives inf, and inf
with -inf gives NaN.
"""

from __future__ import annotations

from math import isfinite

DoubleDouble = tuple[float, float]

ZERO: DoubleDouble = (0.0, 0.0)


def two_sum(a: float, b: float) -> DoubleDouble:
    """The sum of two floats, exactly.

    >>> two_sum(1e16, 1.0)
    (1e+16, 1.0)
    """
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _split(a: float) -> DoubleDouble:
    c = 134217729.0 * a
    hi = c - (c - a)
    return hi, a - hi


def two_product(a: float, b: float) -> DoubleDouble:
    """The product of two floats, exactly while nothing overflows or underflows."""
    p = a * b
    a_hi, a_lo = _split(a)
    b_hi, b_lo = _split(b)
    return p, ((a_hi * b_hi - p) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo


def _normal(hi: float, lo: float) -> DoubleDouble:
    s = hi + lo
    return s, lo - (s - hi)


def add(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    """The sum, to a relative error below 2^-104 of the larger part."""
    s, e = two_sum(a[0], b[0])
    if not isfinite(s):
        return a[0] + b[0], 0.0
    t, f = two_sum(a[1], b[1])
    s, e = _normal(s, e + t)
    return _normal(s, e + f)


def negate(a: DoubleDouble) -> DoubleDouble:
    return -a[0], -a[1]


def multiply(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    """The product, to a relative error of a few 2^-104."""
    p = a[0] * b[0]
    if not isfinite(p):
        return p, 0.0
    p, e = two_product(a[0], b[0])
    if not isfinite(e):
        return p, 0.0
    return _normal(p, e + (a[0] * b[1] + a[1] * b[0]))


def divide(a: DoubleDouble, n: float) -> DoubleDouble:
    """The quotient by a float."""
    q = a[0] / n
    p, e = two_product(q, n)
    if not isfinite(e):
        return q, 0.0
    r = add(a, (-p, -e))
    return _normal(q, r[0] / n)


def from_int(x: int) -> DoubleDouble:
    """An integer as a double-double, exact up to 106 bits.

    >>> from_int(2**53 + 1)
    (9007199254740992.0, 1.0)
    """
    try:
        hi = float(x)
    except OverflowError:
        return (float("inf") if x > 0 else float("-inf")), 0.0
    return hi, float(x - int(hi))
