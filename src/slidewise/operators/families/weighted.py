"""The weighted mean: products and sums in double-double, divided once."""

from __future__ import annotations

from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, Plot, Takes, Traits, Words
from slidewise.operators.types import Value
from slidewise.operators.values import double_double as dd
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.inputs import exact

Weighted = tuple[dd.DoubleDouble, dd.DoubleDouble]  # the sum of x * w, and that of w


def _lift(x: Value, w: Value) -> Weighted:
    weight = exact(w, "weighted_mean")
    return dd.multiply(exact(x, "weighted_mean"), weight), weight


def _join(a: Weighted, b: Weighted) -> Weighted:
    return dd.add(a[0], b[0]), dd.add(a[1], b[1])


def _lower(state: Weighted) -> float | None:
    total, weight = state
    return None if weight[0] == 0 else dd.ratio(total, weight)[0] + 0.0


weighted_mean = Operator(
    name="weighted_mean",
    identity=(dd.ZERO, dd.ZERO),
    lift=_lift,
    combine=_join,
    lower=_lower,
    commutative=True,
    inputs=("x", "w"),
    output="float64, null where the weights sum to 0",
    state="two double-doubles: the sums of x * w and of w",
    error="rounded once (106 bits on the way)",
    is_state=checks.fields(checks.double_double, checks.double_double),
    traits=Traits(
        takes=Takes.NUMBERS,
        answer=AnswerKind.FLOAT,
        python_times=False,
        never_raises=True,
        form="weighted_mean",
        layout=lambda _dtypes: Layout(("float64",) * 4, ("float64",), optional=True),
        plot=Plot(level=True),
        bounds_pass="weighted_mean",
        words=Words(tables="running sums of exact parts, or the general kernel where they cannot be sure"),
    ),
    builtin=True,
)
