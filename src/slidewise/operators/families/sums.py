"""Sum-like operators: sum, count, mean, geomean and product."""

from __future__ import annotations

import math

from slidewise.errors import SumOverflowError
from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, Plot, Takes, Traits, Words
from slidewise.operators.types import Value
from slidewise.operators.values import double_double as dd
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.inputs import number

Sum = int | dd.DoubleDouble

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_RUNNING = Words("running sums in exact parts, rounded once")


def _lift_sum(x: Value) -> Sum:
    x = number(x, "sum")
    return (x, 0.0) if isinstance(x, float) else x


def _pair(x: Sum) -> dd.DoubleDouble:
    return x if isinstance(x, tuple) else dd.from_int(x)


def _add_sums(a: Sum, b: Sum) -> Sum:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return dd.add(_pair(a), _pair(b))


def _lower_sum(state: Sum) -> int | float:
    if isinstance(state, tuple):
        return float(state[0]) + 0.0  # one zero
    if not INT64_MIN <= state <= INT64_MAX:
        raise SumOverflowError(
            f"the window's sum is {state}, which does not fit into a 64-bit integer; sum floats or larger units"
        )
    return int(state)


def _sum_layout(dtypes: tuple[str, ...]) -> Layout:
    """A double-double, or an integer as its high and low 32 bits."""
    kind = "float64" if dtypes[0] == "float64" else "int64"
    return Layout((kind, kind), (kind,))


sum_ = Operator(
    name="sum",
    identity=0,
    lift=_lift_sum,
    combine=_add_sums,
    lower=_lower_sum,
    inverse=lambda total, oldest: total - oldest,
    invertible_if=lambda state: isinstance(state, int),
    commutative=True,
    output="int64 or float64, as the input",
    state="an integer, or a double-double",
    error="exact for integers; floats correctly rounded (106 bits)",
    is_state=checks.either(checks.integer, checks.double_double),
    traits=Traits(
        takes=Takes.NUMBERS,
        answer=AnswerKind.NUMBER,
        python_times=False,
        form="sum",
        layout=_sum_layout,
        rows_pass="sum",
        bounds_pass="sum",
        words=_RUNNING,
    ),
    builtin=True,
)

count = Operator(
    name="count",
    identity=0,
    lift=lambda *_x: 1,
    combine=lambda a, b: a + b,
    inverse=lambda total, oldest: total - oldest,
    commutative=True,
    inputs=("x?",),
    output="int64",
    state="an integer",
    is_state=checks.count,
    traits=Traits(
        answer=AnswerKind.INT,
        answers_empty=True,
        python_times=False,
        never_raises=True,
        counts_rows=True,
        state_bytes=8,
        compiled=False,
        window_pass="count",
        words=Words("the difference of the window's two ends"),
    ),
    builtin=True,
)


def _lift_mean(x: Value) -> tuple[float, float, int]:
    x = number(x, "mean")
    return (x, 0.0, 1) if isinstance(x, float) else (*dd.from_int(x), 1)


def _add_means(a: tuple[float, float, int], b: tuple[float, float, int]) -> tuple[float, float, int]:
    hi, lo = dd.add(a, b)
    return hi, lo, a[2] + b[2]


def _lower_mean(state: tuple[float, float, int]) -> float | None:
    hi, lo, n = state
    return dd.quotient((hi, lo), n) + 0.0 if n else None


def _mean_layout(_dtypes: tuple[str, ...]) -> Layout:
    """A double-double, and a count or an exponent."""
    return Layout(("float64", "float64", "int64"), ("float64",))


mean = Operator(
    name="mean",
    identity=(0.0, 0.0, 0),
    lift=_lift_mean,
    combine=_add_means,
    lower=_lower_mean,
    commutative=True,
    output="float64",
    state="a double-double and a count",
    error="correctly rounded (106 bits)",
    is_state=checks.fields(checks.real, checks.real, checks.count),
    traits=Traits(
        takes=Takes.NUMBERS,
        answer=AnswerKind.FLOAT,
        python_times=False,
        never_raises=True,
        form="mean",
        layout=_mean_layout,
        rows_pass="mean",
        bounds_pass="mean",
        words=_RUNNING,
        plot=Plot(level=True),
    ),
    builtin=True,
)


def _lift_geomean(x: Value) -> tuple[float, float, int]:
    x = number(x, "geomean")
    return (math.log(x) if x > 0 else -math.inf if x == 0 else math.nan, 0.0, 1)


def _lower_geomean(state: tuple[float, float, int]) -> float | None:
    logarithm = _lower_mean(state)
    try:
        return None if logarithm is None else math.exp(logarithm)
    except OverflowError:
        return math.inf


geomean = Operator(
    name="geomean",
    identity=(0.0, 0.0, 0),
    lift=_lift_geomean,
    combine=_add_means,
    lower=_lower_geomean,
    commutative=True,
    output="float64",
    state="a double-double sum of logarithms and a count",
    error="rounding of the logarithm of each value",
    is_state=checks.fields(checks.real, checks.real, checks.count),
    traits=Traits(
        takes=Takes.NUMBERS,
        answer=AnswerKind.FLOAT,
        python_times=False,
        never_raises=True,
        form="geomean",
        layout=_mean_layout,
        rows_pass="geomean",
        bounds_pass="geomean",
        words=_RUNNING,
        plot=Plot(level=True),
    ),
    builtin=True,
)


def _scaled(hi: float, lo: float, exponent: int) -> tuple[float, float, int]:
    """The same number with its high part in [0.5, 1), so that products neither overflow nor underflow."""
    if hi == 0 or not math.isfinite(hi):
        return hi, 0.0, 0
    hi, shift = math.frexp(hi)
    return hi, math.ldexp(lo, -shift), exponent + shift


def _lift_product(x: Value) -> tuple[float, float, int]:
    x = number(x, "product")
    return _scaled(x, 0.0, 0) if isinstance(x, float) else _scaled(*dd.from_int(x), 0)


def _multiply(a: tuple[float, float, int], b: tuple[float, float, int]) -> tuple[float, float, int]:
    return _scaled(*dd.multiply((a[0], a[1]), (b[0], b[1])), a[2] + b[2])


def _lower_product(state: tuple[float, float, int]) -> float:
    hi, _, exponent = state
    try:
        return math.ldexp(hi, exponent)
    except OverflowError:
        return math.copysign(math.inf, hi)


product = Operator(
    name="product",
    identity=(0.5, 0.0, 1),
    lift=_lift_product,
    combine=_multiply,
    lower=_lower_product,
    commutative=True,
    output="float64",
    state="a double-double and an exponent",
    error="106 bits; no overflow on the way",
    is_state=checks.fields(checks.real, checks.real, checks.exponent),
    traits=Traits(
        takes=Takes.NUMBERS,
        answer=AnswerKind.FLOAT,
        python_times=False,
        form="product",
        layout=_mean_layout,
    ),
    builtin=True,
)
