"""Weighted means, skewness, kurtosis and least squares for arrays: the interpreted states in flat tuples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from slidewise.kernels.codegen.moment_forms import Pair, central, exact, forms_of, join_joint, lift_joint, times
from slidewise.kernels.compiler.jit import jit
from slidewise.kernels.sums import double_double as dd
from slidewise.operators.types import State, Value
from slidewise.operators.values.double_double import NOISE

if TYPE_CHECKING:
    from slidewise.kernels.codegen.forms import Forms


def _lift_weighted(kinds: tuple[str, ...]) -> State:
    exact_x, exact_w = exact(kinds[0]), exact(kinds[1])

    @jit
    def lift(x: Value, w: Value) -> State:
        weight = exact_w(w)
        product = dd.multiply(exact_x(x), weight)
        return product[0], product[1], weight[0], weight[1]

    return lift


@jit
def _join_weighted(a: State, b: State) -> State:
    total = dd.add((a[0], a[1]), (b[0], b[1]))
    weight = dd.add((a[2], a[3]), (b[2], b[3]))
    return total[0], total[1], weight[0], weight[1]


@jit
def _lower_weighted(s: State) -> State:
    return None if s[2] == 0 else dd.ratio((s[0], s[1]), (s[2], s[3]))[0] + 0.0


@jit
def _squares(n: int, d: Pair, s: Pair, ss: Pair) -> State:
    return dd.add(ss, dd.multiply(d, dd.add(times(2, s), times(n, d))))


@jit
def _cubes(n: int, d: Pair, s: Pair, ss: Pair, sss: Pair) -> State:
    inner = dd.multiply(d, dd.add(times(3, s), times(n, d)))
    return dd.add(sss, dd.multiply(d, dd.add(times(3, ss), inner)))


@jit
def _fourths(n: int, d: Pair, s: Pair, ss: Pair, sss: Pair, ssss: Pair) -> State:
    inner = dd.multiply(d, dd.add(times(4, s), times(n, d)))
    return dd.add(ssss, dd.multiply(d, dd.add(times(4, sss), dd.multiply(d, dd.add(times(6, ss), inner)))))


def _lift_third(kind: str) -> State:
    as_pair = exact(kind)

    @jit
    def lift(x: Value) -> State:
        first = as_pair(x)
        o = 0.0 if math.isfinite(first[0]) else math.nan
        return 1, first[0], first[1], o, 0.0, o, 0.0, o, 0.0

    return lift


def _lift_fourth(kind: str) -> State:
    as_pair = exact(kind)

    @jit
    def lift(x: Value) -> State:
        first = as_pair(x)
        o = 0.0 if math.isfinite(first[0]) else math.nan
        return 1, first[0], first[1], o, 0.0, o, 0.0, o, 0.0, o, 0.0

    return lift


@jit
def _join_third(a: State, b: State) -> State:
    n = b[0]
    d = dd.add((b[1], b[2]), dd.negate((a[1], a[2])))
    bs, bss = (b[3], b[4]), (b[5], b[6])
    s = dd.add((a[3], a[4]), dd.add(bs, times(n, d)))
    ss = dd.add((a[5], a[6]), _squares(n, d, bs, bss))
    sss = dd.add((a[7], a[8]), _cubes(n, d, bs, bss, (b[7], b[8])))
    return a[0] + n, a[1], a[2], s[0], s[1], ss[0], ss[1], sss[0], sss[1]


@jit
def _join_fourth(a: State, b: State) -> State:
    n = b[0]
    d = dd.add((b[1], b[2]), dd.negate((a[1], a[2])))
    bs, bss, bsss = (b[3], b[4]), (b[5], b[6]), (b[7], b[8])
    s = dd.add((a[3], a[4]), dd.add(bs, times(n, d)))
    ss = dd.add((a[5], a[6]), _squares(n, d, bs, bss))
    sss = dd.add((a[7], a[8]), _cubes(n, d, bs, bss, bsss))
    ssss = dd.add((a[9], a[10]), _fourths(n, d, bs, bss, bsss, (b[9], b[10])))
    return a[0] + n, a[1], a[2], s[0], s[1], ss[0], ss[1], sss[0], sss[1], ssss[0], ssss[1]


@jit
def _lower_skew(m: State) -> State:
    n = m[0]
    if n < 3:
        return None
    s, ss = (m[3], m[4]), (m[5], m[6])
    squares = central(n, s, s, ss)
    mean = dd.divide(s, float(n))
    cubes = dd.add((m[7], m[8]), dd.negate(dd.multiply(mean, dd.add(ss, times(2, squares)))))[0]
    square = squares[0]
    if not (math.isfinite(square) and math.isfinite(cubes)):
        return math.nan
    if square <= 0:
        return None
    if abs(cubes) / ss[0] <= NOISE * math.sqrt(ss[0]):
        return 0.0
    return cubes / square / math.sqrt(square) * (n * math.sqrt(n - 1.0) / (n - 2.0))


@jit
def _lower_kurtosis(m: State) -> State:
    n = m[0]
    if n < 4:
        return None
    s, ss = (m[3], m[4]), (m[5], m[6])
    squares = central(n, s, s, ss)
    mean = dd.divide(s, float(n))
    inner = dd.multiply(mean, times(3, dd.add(ss, squares)))
    shift = dd.multiply(mean, dd.add(times(4, (m[7], m[8])), dd.negate(inner)))
    fourths = dd.add((m[9], m[10]), dd.negate(shift))
    square = dd.multiply(squares, squares)
    if not (math.isfinite(square[0]) and math.isfinite(fourths[0])):
        return math.nan
    if square[0] == 0:
        return None
    normal = times(3, times(n - 1, square))
    excess = dd.add(times(n, times(n + 1, fourths)), dd.negate(normal))[0]
    if abs(excess) <= NOISE * normal[0]:
        return 0.0
    return excess / square[0] * ((n - 1.0) / (n - 2.0) / (n - 3.0))


def _lift_fit(kinds: tuple[str, ...]) -> State:
    joint = lift_joint((kinds[1], kinds[0]))

    @jit
    def lift(y: Value, x: Value) -> State:
        return joint(x, y)

    return lift


def _lift_slope_on_time(kinds: tuple[str, ...]) -> State:
    """The lift of y, a time in ticks, and how many of them y changes per."""
    exact_y, exact_x = exact(kinds[0]), exact(kinds[1])

    @jit
    def lift(y: Value, x: Value, per: Value) -> State:
        p, q = exact_x(x), exact_y(y)
        o = 0.0 if math.isfinite(p[0]) and math.isfinite(q[0]) else math.nan
        if per != 1:
            q = dd.multiply(q, (float(per), 0.0))
        return 1, p[0], p[1], q[0], q[1], o, 0.0, o, 0.0, o, 0.0, o, 0.0, o, 0.0

    return lift


@jit
def _has_slope(m: State) -> State:
    return m[0] >= 2 and m[9] != 0


@jit
def _slope(m: State) -> State:
    """The slope of moments that have one, as a double-double."""
    sx, sxx = (m[5], m[6]), (m[9], m[10])
    spread = central(m[0], sx, sx, sxx)
    common = central(m[0], sx, (m[7], m[8]), (m[13], m[14]))
    if not (math.isfinite(spread[0]) and math.isfinite(common[0]) and spread[0] > 0):
        return math.nan, 0.0
    if abs(common[0]) <= NOISE * math.sqrt(sxx[0]) * math.sqrt(abs(m[11])):
        return 0.0, 0.0
    return dd.ratio(common, spread)


@jit
def _lower_slope(m: State) -> State:
    return _slope(m)[0] if _has_slope(m) else None


@jit
def _lower_intercept(m: State) -> State:
    if not _has_slope(m):
        return None
    n = float(m[0])
    mean_y = dd.add((m[3], m[4]), dd.divide((m[7], m[8]), n))
    rise = dd.multiply(_slope(m), dd.add((m[1], m[2]), dd.divide((m[5], m[6]), n)))
    value = dd.add(mean_y, dd.negate(rise))[0]
    return 0.0 if abs(value) <= NOISE * (abs(mean_y[0]) + abs(rise[0])) else value


@jit
def _lower_r2(m: State) -> State:
    if not _has_slope(m):
        return None
    if m[11] == 0:
        return 1.0
    sy = (m[7], m[8])
    spread = central(m[0], sy, sy, (m[11], m[12]))
    common = central(m[0], (m[5], m[6]), sy, (m[13], m[14]))
    slope = _slope(m)
    if not (math.isfinite(slope[0]) and math.isfinite(spread[0]) and spread[0] > 0):
        return math.nan
    value = dd.multiply(slope, dd.ratio(common, spread))[0]
    return value if math.isnan(value) else max(0.0, min(1.0, value))


def _lift_newest(kinds: tuple[str, ...]) -> State:
    joint = lift_joint((kinds[1], kinds[0]))

    @jit
    def lift(y: Value, x: Value) -> State:
        m = joint(x, y)
        return (*m, m[1], m[2], m[3], m[4])

    return lift


@jit
def _join_newest(a: State, b: State) -> State:
    return (*join_joint(a, b), b[15], b[16], b[17], b[18])


@jit
def _lower_residual(m: State) -> State:
    if not _has_slope(m):
        return None
    n = float(m[0])
    slope = _slope(m)
    above_y = dd.add(dd.add((m[17], m[18]), dd.negate((m[3], m[4]))), dd.negate(dd.divide((m[7], m[8]), n)))
    above_x = dd.add(dd.add((m[15], m[16]), dd.negate((m[1], m[2]))), dd.negate(dd.divide((m[5], m[6]), n)))
    value = dd.add(above_y, dd.negate(dd.multiply(slope, above_x)))[0]
    noise = NOISE * (math.sqrt(abs(m[11])) + abs(slope[0]) * math.sqrt(m[9]))
    return 0.0 if abs(value) <= noise else value


def weighted_mean(kinds: tuple[str, ...]) -> Forms:
    return forms_of(_lift_weighted(kinds), _join_weighted, _lower_weighted)


def skew(kinds: tuple[str, ...]) -> Forms:
    return forms_of(_lift_third(kinds[0]), _join_third, _lower_skew)


def kurtosis(kinds: tuple[str, ...]) -> Forms:
    return forms_of(_lift_fourth(kinds[0]), _join_fourth, _lower_kurtosis)


def slope(kinds: tuple[str, ...]) -> Forms:
    lift = _lift_fit(kinds) if len(kinds) == 2 else _lift_slope_on_time(kinds)
    return forms_of(lift, join_joint, _lower_slope)


def intercept(kinds: tuple[str, ...]) -> Forms:
    return forms_of(_lift_fit(kinds), join_joint, _lower_intercept)


def r2(kinds: tuple[str, ...]) -> Forms:
    return forms_of(_lift_fit(kinds), join_joint, _lower_r2)


def residual(kinds: tuple[str, ...]) -> Forms:
    return forms_of(_lift_newest(kinds), _join_newest, _lower_residual)
