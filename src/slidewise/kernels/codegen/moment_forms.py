"""Variance, standard deviation, covariance and correlation for arrays: the interpreted moments in flat tuples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from slidewise.kernels.compiler.jit import jit
from slidewise.kernels.sums import double_double as dd
from slidewise.operators.types import State, Value

if TYPE_CHECKING:
    from slidewise.kernels.codegen.forms import Forms

Pair = tuple[float, float]  # a double-double


@jit
def _float(x: Value) -> State:
    return float(x), 0.0


def exact(kind: str) -> State:
    """What makes a double-double of a value of this kind."""
    return _float if kind == "f" else dd.from_int


@jit
def times(n: int, a: Pair) -> State:
    return dd.multiply((float(n), 0.0), a)


@jit
def _shifted(n: int, d: Pair, e: Pair, sx: Pair, sy: Pair, sxy: Pair) -> State:
    return dd.add(dd.add(sxy, dd.add(dd.multiply(d, sy), dd.multiply(e, sx))), times(n, dd.multiply(d, e)))


@jit
def central(n: int, sx: Pair, sy: Pair, sxy: Pair) -> State:
    if math.isinf(sxy[0]):
        return sxy
    return dd.add(sxy, dd.negate(dd.divide(dd.multiply(sx, sy), float(n))))


@jit
def _variance(n: int, s: Pair, ss: Pair) -> State:
    value = dd.divide(central(n, s, s, ss), float(n - 1))[0]
    return 0.0 if value < 0 else value


def _lift(kind: str) -> State:
    as_pair = exact(kind)

    @jit
    def lift(x: Value) -> State:
        first = as_pair(x)
        zero = 0.0 if math.isfinite(first[0]) else math.nan
        return 1, first[0], first[1], zero, 0.0, zero, 0.0

    return lift


@jit
def _join(a: State, b: State) -> State:
    d = dd.add((b[1], b[2]), dd.negate((a[1], a[2])))
    s = dd.add((a[3], a[4]), dd.add((b[3], b[4]), times(b[0], d)))
    ss = dd.add((a[5], a[6]), _shifted(b[0], d, d, (b[3], b[4]), (b[3], b[4]), (b[5], b[6])))
    return a[0] + b[0], a[1], a[2], s[0], s[1], ss[0], ss[1]


@jit
def _lower_variance(m: State) -> State:
    return _variance(m[0], (m[3], m[4]), (m[5], m[6])) if m[0] > 1 else None


@jit
def _lower_stddev(m: State) -> State:
    return math.sqrt(_variance(m[0], (m[3], m[4]), (m[5], m[6]))) if m[0] > 1 else None


def lift_joint(kinds: tuple[str, ...]) -> State:
    exact_x, exact_y = exact(kinds[0]), exact(kinds[1])

    @jit
    def lift(x: Value, y: Value) -> State:
        p, q = exact_x(x), exact_y(y)
        o = 0.0 if math.isfinite(p[0]) and math.isfinite(q[0]) else math.nan
        return 1, p[0], p[1], q[0], q[1], o, 0.0, o, 0.0, o, 0.0, o, 0.0, o, 0.0

    return lift


@jit
def join_joint(a: State, b: State) -> State:
    n = b[0]
    d = dd.add((b[1], b[2]), dd.negate((a[1], a[2])))
    e = dd.add((b[3], b[4]), dd.negate((a[3], a[4])))
    bx, by = (b[5], b[6]), (b[7], b[8])
    sx = dd.add((a[5], a[6]), dd.add(bx, times(n, d)))
    sy = dd.add((a[7], a[8]), dd.add(by, times(n, e)))
    sxx = dd.add((a[9], a[10]), _shifted(n, d, d, bx, bx, (b[9], b[10])))
    syy = dd.add((a[11], a[12]), _shifted(n, e, e, by, by, (b[11], b[12])))
    sxy = dd.add((a[13], a[14]), _shifted(n, d, e, bx, by, (b[13], b[14])))
    first = a[0] + n, a[1], a[2], a[3], a[4]
    return (*first, sx[0], sx[1], sy[0], sy[1], sxx[0], sxx[1], syy[0], syy[1], sxy[0], sxy[1])


@jit
def _lower_covariance(m: State) -> State:
    if m[0] < 2:
        return None
    return dd.divide(central(m[0], (m[5], m[6]), (m[7], m[8]), (m[13], m[14])), float(m[0] - 1))[0]


@jit
def _lower_correlation(m: State) -> State:
    if m[0] < 2:
        return None
    x, y = (m[5], m[6]), (m[7], m[8])
    variance_x, variance_y = _variance(m[0], x, (m[9], m[10])), _variance(m[0], y, (m[11], m[12]))
    if variance_x == 0 or variance_y == 0:
        return None
    covariance = dd.divide(central(m[0], x, y, (m[13], m[14])), float(m[0] - 1))[0]
    value = covariance / math.sqrt(variance_x) / math.sqrt(variance_y)
    return value if math.isnan(value) else max(-1.0, min(1.0, value))


def variance(kinds: tuple[str, ...]) -> Forms:
    return forms_of(_lift(kinds[0]), _join, _lower_variance)


def stddev(kinds: tuple[str, ...]) -> Forms:
    return forms_of(_lift(kinds[0]), _join, _lower_stddev)


def covariance(kinds: tuple[str, ...]) -> Forms:
    return forms_of(lift_joint(kinds), join_joint, _lower_covariance)


def correlation(kinds: tuple[str, ...]) -> Forms:
    return forms_of(lift_joint(kinds), join_joint, _lower_correlation)


def forms_of(lift: Callable[..., State], combine: Callable[..., State], lower: Callable[..., State]) -> Forms:
    from slidewise.kernels.codegen.forms import Forms

    return Forms(lift, combine, lower)
