"""Double-double numbers: a pair (hi, lo) of floats that stands for their exact sum, with about 106 bits.

`hi` is the sum rounded to a float. A high part that is not finite carries a zero low part: inf gives inf, and inf
with -inf gives NaN.
"""

from __future__ import annotations

from math import isfinite

DoubleDouble = tuple[float, float]

ZERO: DoubleDouble = (0.0, 0.0)
_LARGE, _SMALL = 2.0**900, 2.0**-900
_UP, _DOWN = 2.0**150, 2.0**-150
_LEAST = 2.0**-1074
NOISE = 2.0**-84  # of a sum's parts: what is left of parts that cancel, where it is less than this, is rounding alone


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


def add(a: tuple[float, ...], b: tuple[float, ...]) -> DoubleDouble:
    """The sum, to a relative error below 2^-104 of the larger part; items behind the two parts are left alone.

    `two_sum` of both parts, and `_normal` with each part of the lower sum, written out: every event adds a few times.
    """
    x, y = a[0], b[0]
    s = x + y
    if not isfinite(s):
        return s, 0.0
    t = s - x
    e = (x - (s - t)) + (y - t)
    x, y = a[1], b[1]
    f = x + y
    t = f - x
    g = (x - (f - t)) + (y - t)
    e += f
    hi = s + e
    lo = (e - (hi - s)) + g
    s = hi + lo
    return s, lo - (s - hi)


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


def remainder(a: float, q: float, n: float) -> float:
    """a - q * n for the float q next to a / n: exactly, while nothing overflows or underflows.

    >>> remainder(1.0, 1.0 / 3.0, 3.0)
    5.551115123125783e-17
    """
    p, e = two_product(q, n)
    return (a - p) - e


def quotient(a: DoubleDouble, n: float) -> float:
    """The quotient by a float from 1 on as one float, over the whole range of floats.

    >>> quotient((1.6e308, 0.0), 3.0), quotient((1e-323, 0.0), 2.0)
    (5.333333333333333e+307, 5e-324)
    """
    if _SMALL < abs(a[0]) < _LARGE:
        q = a[0] / n
        return q + (remainder(a[0], q, n) + a[1]) / n
    if abs(a[0]) >= _LARGE:  # so that nothing overflows on the way
        return divide((a[0] * _DOWN, a[1] * _DOWN), n)[0] * _UP
    if a[1] == 0.0:
        return a[0] / n
    hi, lo = divide((a[0] * _UP, a[1] * _UP), n)  # so that nothing is lost below the least float
    q = hi * _DOWN
    left = (hi - q * _UP) + lo
    if abs(left) > 0.5 * _LEAST * _UP:  # where floats have less than 53 bits, and hi alone was rounded to them
        q += _LEAST if left > 0.0 else -_LEAST
    return q


def ratio(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    """The quotient by a double-double other than zero.

    >>> ratio((1.0, 0.0), (3.0, 0.0))
    (0.3333333333333333, 1.850371707708594e-17)
    """
    q = a[0] / b[0]
    if not isfinite(q):
        return q, 0.0
    p = multiply((q, 0.0), b)
    if not isfinite(p[0]):
        return q, 0.0
    rest = add(a, negate(p))
    return _normal(q, rest[0] / b[0])


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
