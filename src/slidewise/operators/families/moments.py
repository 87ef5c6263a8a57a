"""Variance, standard deviation, covariance and correlation: sample statistics from stable moments.

A partial keeps its moments about its own first row: with dx = x - first x, the sums of dx, dx * dx and so on, as
double-doubles. `combine` shifts the younger partial's moments to the older one's first row. So constants give exactly
zero, large offsets cost no digits, and a disturbance leaves no trace once its row has left the window.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, Takes, Traits, Words
from slidewise.operators.types import Value
from slidewise.operators.values import double_double as dd
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.double_double import ZERO, DoubleDouble, add, multiply
from slidewise.operators.values.inputs import exact


class Moments(NamedTuple):
    """The moments of one column about its first value."""

    n: int
    first: DoubleDouble
    s: DoubleDouble
    ss: DoubleDouble


class JointMoments(NamedTuple):
    """The moments of two columns about their first row."""

    n: int
    x: DoubleDouble
    y: DoubleDouble
    sx: DoubleDouble
    sy: DoubleDouble
    sxx: DoubleDouble
    syy: DoubleDouble
    sxy: DoubleDouble


def times(n: int, a: DoubleDouble) -> DoubleDouble:
    """A multiple of a double-double."""
    return multiply((float(n), 0.0), a)


def _shifted(
    n: int, d: DoubleDouble, e: DoubleDouble, sx: DoubleDouble, sy: DoubleDouble, sxy: DoubleDouble
) -> DoubleDouble:
    """The sum of (dx + d) * (dy + e) over n rows, from the sums of dx, dy and dx * dy."""
    return add(add(sxy, add(multiply(d, sy), multiply(e, sx))), times(n, multiply(d, e)))


def _join(a: Moments, b: Moments) -> Moments:
    if not a.n:
        return b
    if not b.n:
        return a
    d = add(b.first, dd.negate(a.first))
    return Moments(
        a.n + b.n,
        a.first,
        add(a.s, add(b.s, times(b.n, d))),
        add(a.ss, _shifted(b.n, d, d, b.s, b.s, b.ss)),
    )


def join_joint(a: JointMoments, b: JointMoments) -> JointMoments:
    """The moments of the rows of both, about the older one's first row."""
    if not a.n:
        return b
    if not b.n:
        return a
    d = add(b.x, dd.negate(a.x))
    e = add(b.y, dd.negate(a.y))
    return JointMoments(
        a.n + b.n,
        a.x,
        a.y,
        add(a.sx, add(b.sx, times(b.n, d))),
        add(a.sy, add(b.sy, times(b.n, e))),
        add(a.sxx, _shifted(b.n, d, d, b.sx, b.sx, b.sxx)),
        add(a.syy, _shifted(b.n, e, e, b.sy, b.sy, b.syy)),
        add(a.sxy, _shifted(b.n, d, e, b.sx, b.sy, b.sxy)),
    )


def central(n: int, sx: DoubleDouble, sy: DoubleDouble, sxy: DoubleDouble) -> DoubleDouble:
    """The sum of products of the deviations from the means; beyond all floats where the sum of products is."""
    if math.isinf(sxy[0]):
        return sxy
    return add(sxy, dd.negate(dd.divide(multiply(sx, sy), n)))


def _variance(n: int, s: DoubleDouble, ss: DoubleDouble) -> float:
    value = dd.divide(central(n, s, s, ss), n - 1)[0]
    return 0.0 if value < 0 else value


def _lift_moments(operator: str) -> Callable[[Value], Moments]:
    def lift(x: Value) -> Moments:
        first = exact(x, operator)
        zero = ZERO if math.isfinite(first[0]) else (math.nan, 0.0)
        return Moments(1, first, zero, zero)

    return lift


def _lower_variance(m: Moments) -> float | None:
    return _variance(m.n, m.s, m.ss) if m.n > 1 else None


def _lower_stddev(m: Moments) -> float | None:
    return math.sqrt(_variance(m.n, m.s, m.ss)) if m.n > 1 else None


_MOMENTS = Words(rows="running sums of exact parts, or block scans of double-doubles")
_STATE = "a count, the first value, two double-double moments about it"


def _moments_layout(doubles: int) -> Layout:
    """A count and so many double-doubles; no answer below two rows."""
    return Layout(("int64", *("float64",) * (2 * doubles)), ("float64",), optional=True)


def _moment(name: str, lower: Callable[[Moments], float | None]) -> Operator:
    return Operator(
        name=name,
        identity=Moments(0, ZERO, ZERO, ZERO),
        lift=_lift_moments(name),
        combine=_join,
        lower=lower,
        output="float64, null below 2 rows",
        state=_STATE,
        error="rounding only (106 bits on the way)",
        encode=tuple,
        decode=lambda values: Moments(*values),
        is_state=checks.fields(checks.count, *[checks.double_double] * 3),
        traits=Traits(
            takes=Takes.NUMBERS,
            answer=AnswerKind.FLOAT,
            python_times=False,
            never_raises=True,
            form=name,
            layout=lambda _dtypes: _moments_layout(3),
            rows_pass=name,
            bounds_pass=name,
            words=_MOMENTS,
        ),
        builtin=True,
    )


variance = _moment("variance", _lower_variance)
stddev = _moment("stddev", _lower_stddev)


def lift_joint(operator: str) -> Callable[[Value, Value], JointMoments]:
    """What makes moments of one row; NaN where it holds something that is not finite."""

    def lift(x: Value, y: Value) -> JointMoments:
        x, y = exact(x, operator), exact(y, operator)
        zero = ZERO if math.isfinite(x[0]) and math.isfinite(y[0]) else (math.nan, 0.0)
        return JointMoments(1, x, y, zero, zero, zero, zero, zero)

    return lift


def _lower_covariance(m: JointMoments) -> float | None:
    return dd.divide(central(m.n, m.sx, m.sy, m.sxy), m.n - 1)[0] if m.n > 1 else None


def _lower_correlation(m: JointMoments) -> float | None:
    if m.n < 2:
        return None
    variance_x, variance_y = _variance(m.n, m.sx, m.sxx), _variance(m.n, m.sy, m.syy)
    if variance_x == 0 or variance_y == 0:
        return None
    covariance = dd.divide(central(m.n, m.sx, m.sy, m.sxy), m.n - 1)[0]
    value = covariance / math.sqrt(variance_x) / math.sqrt(variance_y)
    return value if math.isnan(value) else max(-1.0, min(1.0, value))


_NONE = JointMoments(0, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO)
_JOINT_STATE = "a count, the first row, five double-double moments about it"


def _joint_moment(name: str, lower: Callable[[JointMoments], float | None], output: str) -> Operator:
    return Operator(
        name=name,
        identity=_NONE,
        lift=lift_joint(name),
        combine=join_joint,
        lower=lower,
        inputs=("x", "y"),
        output=output,
        state=_JOINT_STATE,
        error="rounding only (106 bits on the way)",
        encode=tuple,
        decode=lambda values: JointMoments(*values),
        is_state=checks.fields(checks.count, *[checks.double_double] * 7),
        traits=Traits(
            takes=Takes.NUMBERS,
            answer=AnswerKind.FLOAT,
            python_times=False,
            form=name,
            layout=lambda _dtypes: _moments_layout(7),
        ),
        builtin=True,
    )


covariance = _joint_moment("covariance", _lower_covariance, "float64, null below 2 rows")
correlation = _joint_moment("correlation", _lower_correlation, "float64, null below 2 rows or without variance")
