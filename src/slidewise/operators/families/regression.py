"""Least squares of y on x over the window: slope, intercept, the share that is explained, the newest row's residual.

The moments are those of covariance, about the partial's own first row. x may be any number, a time in 64-bit ticks
among them: integers enter exactly. Without x it is the row's time. A slope is then per second: y enters multiplied by
the ticks that a second has, which 106 bits hold exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from slidewise.errors import SlidewiseError
from slidewise.expressions.expression import Expression
from slidewise.operators.aggregate import Aggregate
from slidewise.operators.families.moments import JointMoments, central, join_joint, lift_joint
from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, OnTime, Takes, Traits, Words
from slidewise.operators.types import Value
from slidewise.operators.values import double_double as dd
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.double_double import NOISE, ZERO, DoubleDouble, add, multiply
from slidewise.operators.values.inputs import exact
from slidewise.operators.values.row_times import with_ticks, with_ticks_per_second


class NewestMoments(NamedTuple):
    """The moments of two columns about their first row, and the newest row."""

    moments: JointMoments
    x: DoubleDouble
    y: DoubleDouble


_NONE = JointMoments(0, *[ZERO] * 7)
_NAN = (math.nan, 0.0)


def _lift(operator: str) -> Callable[[Value, Value], JointMoments]:
    joint = lift_joint(operator)
    return lambda y, x: joint(x, y)


def _lift_slope(y: Value, x: Value, per: Value = 1) -> JointMoments:
    """A row's moments; with `per`, those of as many y."""
    moments = lift_joint("slope")(x, y)
    return moments if per == 1 else moments._replace(y=multiply(moments.y, exact(per, "slope")))


def _slope(m: JointMoments) -> DoubleDouble | None:
    """The slope as a double-double; None below two rows or where x does not vary, NaN where sums are not finite."""
    if m.n < 2 or m.sxx[0] == 0:
        return None
    spread = central(m.n, m.sx, m.sx, m.sxx)
    common = central(m.n, m.sx, m.sy, m.sxy)
    if not (math.isfinite(spread[0]) and math.isfinite(common[0]) and spread[0] > 0):
        return _NAN
    if abs(common[0]) <= NOISE * math.sqrt(m.sxx[0]) * math.sqrt(abs(m.syy[0])):
        return ZERO
    return dd.ratio(common, spread)


def _lower_slope(m: JointMoments) -> float | None:
    slope = _slope(m)
    return None if slope is None else slope[0]


def _lower_intercept(m: JointMoments) -> float | None:
    slope = _slope(m)
    if slope is None:
        return None
    mean_y = add(m.y, dd.divide(m.sy, m.n))
    rise = multiply(slope, add(m.x, dd.divide(m.sx, m.n)))
    value = add(mean_y, dd.negate(rise))[0]
    return 0.0 if abs(value) <= NOISE * (abs(mean_y[0]) + abs(rise[0])) else value


def _lower_r2(m: JointMoments) -> float | None:
    slope = _slope(m)
    if slope is None:
        return None
    if m.syy[0] == 0:
        return 1.0
    spread = central(m.n, m.sy, m.sy, m.syy)
    common = central(m.n, m.sx, m.sy, m.sxy)
    if not (math.isfinite(slope[0]) and math.isfinite(spread[0]) and spread[0] > 0):
        return math.nan
    value = multiply(slope, dd.ratio(common, spread))[0]
    return value if math.isnan(value) else max(0.0, min(1.0, value))


def _lower_residual(state: NewestMoments) -> float | None:
    m = state.moments
    slope = _slope(m)
    if slope is None:
        return None
    above_y = add(add(state.y, dd.negate(m.y)), dd.negate(dd.divide(m.sy, m.n)))
    above_x = add(add(state.x, dd.negate(m.x)), dd.negate(dd.divide(m.sx, m.n)))
    value = add(above_y, dd.negate(multiply(slope, above_x)))[0]
    noise = NOISE * (math.sqrt(abs(m.syy[0])) + abs(slope[0]) * math.sqrt(m.sxx[0]))
    return 0.0 if abs(value) <= noise else value


def _on_time(expand: Callable[[Aggregate, Expression], Expression], lifted: int) -> OnTime:
    """How a fit without x is one on the rows' times."""
    return OnTime(lambda one, time: one if len(one.columns) > 1 else expand(one, time), (1, 2), (2, lifted))


def _refuse_time(_aggregate: Aggregate, _time: Expression) -> Expression:
    raise SlidewiseError(
        "intercept needs a column x, as in sw.intercept('y', 'x'): on time it is the fit's value at time 0, in 1970; "
        "the fit's value at the newest row is sw.last('y').over(...) - sw.residual('y').over(...)"
    )


def _traits(name: str, doubles: int, on_time: OnTime) -> Traits:
    return Traits(
        on_time=on_time,
        takes=Takes.NUMBERS,
        answer=AnswerKind.FLOAT,
        python_times=False,
        never_raises=True,
        form=name,
        layout=lambda _dtypes: Layout(("int64", *("float64",) * (2 * doubles)), ("float64",), optional=True),
    )


_IN_PARTS = Words(tables="running sums of exact parts, or the general kernel where they cannot be sure")
_FEW = "float64, null below 2 rows or where x does not vary"
_ERROR = "rounded once (106 bits on the way)"


def _fit(name: str, lower: Callable[[JointMoments], float | None], output: str, traits: Traits) -> Operator:
    return Operator(
        name=name,
        identity=_NONE,
        lift=_lift(name),
        combine=join_joint,
        lower=lower,
        inputs=("y", "x?"),
        output=output,
        state="a count, the first row, five double-double moments about it",
        error=_ERROR,
        encode=tuple,
        decode=lambda values: JointMoments(*values),
        is_state=checks.fields(checks.count, *[checks.double_double] * 7),
        traits=traits,
        builtin=True,
    )


slope = replace(
    _fit(
        "slope",
        _lower_slope,
        _FEW,
        replace(_traits("slope", 7, _on_time(with_ticks_per_second, 3)), bounds_pass="slope", words=_IN_PARTS),
    ),
    lift=_lift_slope,
)
intercept = replace(
    _fit("intercept", _lower_intercept, _FEW, _traits("intercept", 7, _on_time(_refuse_time, 2))), inputs=("y", "x")
)
r2 = _fit("r2", _lower_r2, f"{_FEW}; 1 where only y does not", _traits("r2", 7, _on_time(with_ticks, 2)))


def _lift_newest(y: Value, x: Value) -> NewestMoments:
    moments = lift_joint("residual")(x, y)
    return NewestMoments(moments, moments.x, moments.y)


def _join_newest(a: NewestMoments, b: NewestMoments) -> NewestMoments:
    if not b.moments.n:
        return a
    return NewestMoments(join_joint(a.moments, b.moments), b.x, b.y)


def _flat(state: NewestMoments) -> tuple[Any, ...]:
    return (*state.moments, state.x, state.y)


def _unflat(values: tuple[Any, ...]) -> NewestMoments:
    return NewestMoments(JointMoments(*values[:8]), values[8], values[9])


residual = Operator(
    name="residual",
    identity=NewestMoments(_NONE, ZERO, ZERO),
    lift=_lift_newest,
    combine=_join_newest,
    lower=_lower_residual,
    inputs=("y", "x?"),
    output=_FEW,
    state="a count, the first and the newest row, five double-double moments about the first",
    error=_ERROR,
    encode=_flat,
    decode=_unflat,
    is_state=checks.fields(
        checks.fields(checks.count, *[checks.double_double] * 7), checks.double_double, checks.double_double
    ),
    traits=_traits("residual", 9, _on_time(with_ticks, 2)),
    builtin=True,
)
