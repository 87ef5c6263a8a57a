"""Skewness and excess kurtosis of a sample, from stable moments.

A partial keeps its moments about its own first value, as that of variance does, up to the third or the fourth power;
`combine` shifts the younger partial's to the older one's first value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from slidewise.operators.families.moments import central, times
from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, Takes, Traits, Words
from slidewise.operators.types import Value
from slidewise.operators.values import double_double as dd
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.double_double import NOISE, ZERO, DoubleDouble, add, multiply
from slidewise.operators.values.inputs import exact


class ThirdMoments(NamedTuple):
    """Moments of one column about its first value, up to the sum of cubes."""

    n: int
    first: DoubleDouble
    s: DoubleDouble
    ss: DoubleDouble
    sss: DoubleDouble


class FourthMoments(NamedTuple):
    """The same up to the sum of fourth powers."""

    n: int
    first: DoubleDouble
    s: DoubleDouble
    ss: DoubleDouble
    sss: DoubleDouble
    ssss: DoubleDouble


_IN_PARTS = Words(tables="running sums of exact parts, or the general kernel where they cannot be sure")


def _squares(n: int, d: DoubleDouble, s: DoubleDouble, ss: DoubleDouble) -> DoubleDouble:
    """The sum of (x + d)^2 over n rows, from the sums of x and its square."""
    return add(ss, multiply(d, add(times(2, s), times(n, d))))


def _cubes(n: int, d: DoubleDouble, s: DoubleDouble, ss: DoubleDouble, sss: DoubleDouble) -> DoubleDouble:
    """The sum of (x + d)^3 over n rows."""
    return add(sss, multiply(d, add(times(3, ss), multiply(d, add(times(3, s), times(n, d))))))


def _fourths(
    n: int, d: DoubleDouble, s: DoubleDouble, ss: DoubleDouble, sss: DoubleDouble, ssss: DoubleDouble
) -> DoubleDouble:
    """The sum of (x + d)^4 over n rows."""
    inner = multiply(d, add(times(4, s), times(n, d)))
    return add(ssss, multiply(d, add(times(4, sss), multiply(d, add(times(6, ss), inner)))))


def _join_third(a: ThirdMoments, b: ThirdMoments) -> ThirdMoments:
    if not a.n:
        return b
    if not b.n:
        return a
    d = add(b.first, dd.negate(a.first))
    return ThirdMoments(
        a.n + b.n,
        a.first,
        add(a.s, add(b.s, times(b.n, d))),
        add(a.ss, _squares(b.n, d, b.s, b.ss)),
        add(a.sss, _cubes(b.n, d, b.s, b.ss, b.sss)),
    )


def _join_fourth(a: FourthMoments, b: FourthMoments) -> FourthMoments:
    if not a.n:
        return b
    if not b.n:
        return a
    d = add(b.first, dd.negate(a.first))
    return FourthMoments(
        a.n + b.n,
        a.first,
        add(a.s, add(b.s, times(b.n, d))),
        add(a.ss, _squares(b.n, d, b.s, b.ss)),
        add(a.sss, _cubes(b.n, d, b.s, b.ss, b.sss)),
        add(a.ssss, _fourths(b.n, d, b.s, b.ss, b.sss, b.ssss)),
    )


def _lift_third(x: Value) -> ThirdMoments:
    first = exact(x, "skew")
    zero = ZERO if math.isfinite(first[0]) else (math.nan, 0.0)
    return ThirdMoments(1, first, zero, zero, zero)


def _lift_fourth(x: Value) -> FourthMoments:
    first = exact(x, "kurtosis")
    zero = ZERO if math.isfinite(first[0]) else (math.nan, 0.0)
    return FourthMoments(1, first, zero, zero, zero, zero)


def _lower_skew(m: ThirdMoments) -> float | None:
    """With the central sums of squares and cubes, n sqrt(n - 1) / (n - 2) * cubes / squares^1.5."""
    if m.n < 3:
        return None
    squares = central(m.n, m.s, m.s, m.ss)
    mean = dd.divide(m.s, m.n)
    cubes = add(m.sss, dd.negate(multiply(mean, add(m.ss, times(2, squares)))))[0]
    square = squares[0]
    if not (math.isfinite(square) and math.isfinite(cubes)):
        return math.nan
    if square <= 0:
        return None
    if abs(cubes) / m.ss[0] <= NOISE * math.sqrt(m.ss[0]):
        return 0.0
    return cubes / square / math.sqrt(square) * (m.n * math.sqrt(m.n - 1.0) / (m.n - 2.0))


def _lower_kurtosis(m: FourthMoments) -> float | None:
    """With the central sums, (n - 1) / ((n - 2) (n - 3)) * (n (n + 1) fourths / squares^2 - 3 (n - 1))."""
    n = m.n
    if n < 4:
        return None
    squares = central(n, m.s, m.s, m.ss)
    mean = dd.divide(m.s, n)
    inner = multiply(mean, times(3, add(m.ss, squares)))
    fourths = add(m.ssss, dd.negate(multiply(mean, add(times(4, m.sss), dd.negate(inner)))))
    square = multiply(squares, squares)
    if not (math.isfinite(square[0]) and math.isfinite(fourths[0])):
        return math.nan
    if square[0] == 0:
        return None
    normal = times(3, times(n - 1, square))
    excess = add(times(n, times(n + 1, fourths)), dd.negate(normal))[0]
    if abs(excess) <= NOISE * normal[0]:
        return 0.0
    return excess / square[0] * ((n - 1.0) / (n - 2.0) / (n - 3.0))


def _shape(
    kind: Callable[..., Any],
    *,
    name: str,
    fewest: int,
    moments: str,
    lift: Callable[[Value], Any],
    combine: Callable[[Any, Any], Any],
    lower: Callable[[Any], float | None],
) -> Operator:
    """An operator over `fewest` rows at least, and over moments of as many powers."""
    doubles = fewest + 1
    return Operator(
        name=name,
        identity=kind(0, *[ZERO] * doubles),
        lift=lift,
        combine=combine,
        lower=lower,
        output=f"float64, null below {fewest} rows or where all values are equal",
        state=f"a count, the first value, {moments} double-double moments about it",
        error="a few roundings (106 bits on the way)",
        encode=tuple,
        decode=lambda values: kind(*values),
        is_state=checks.fields(checks.count, *[checks.double_double] * doubles),
        traits=Traits(
            takes=Takes.NUMBERS,
            answer=AnswerKind.FLOAT,
            python_times=False,
            never_raises=True,
            form=name,
            bounds_pass=name,
            words=_IN_PARTS,
            layout=lambda _dtypes: Layout(("int64", *("float64",) * (2 * doubles)), ("float64",), optional=True),
        ),
        builtin=True,
    )


skew = _shape(
    ThirdMoments,
    name="skew",
    fewest=3,
    moments="three",
    lift=_lift_third,
    combine=_join_third,
    lower=_lower_skew,
)
kurtosis = _shape(
    FourthMoments,
    name="kurtosis",
    fewest=4,
    moments="four",
    lift=_lift_fourth,
    combine=_join_fourth,
    lower=_lower_kurtosis,
)
