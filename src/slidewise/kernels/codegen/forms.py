"""The built-in operators for arrays of numbers: the same monoids, with states of plain numbers in flat tuples.

Each is proven equal to its interpreted form by the tests. `forms(form, kinds)` gives lift, combine and lower of a form,
which operators name in their traits, for inputs of these kinds: "i" for integers and bools, "f" for floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from slidewise.kernels.compiler.jit import jit
from slidewise.kernels.sums import double_double as dd
from slidewise.operators.types import State, Value


class Forms(NamedTuple):
    """An operator's functions, compiled."""

    lift: Any
    combine: Any
    lower: Callable[..., State]


@jit
def itself(x: Value) -> State:
    return x


@jit
def larger_float(a: State, b: State) -> State:
    return a if a >= b or a != a else b


@jit
def larger(a: State, b: State) -> State:
    return b if b > a else a


@jit
def smaller_float(a: State, b: State) -> State:
    return a if a <= b or b != b else b


@jit
def smaller(a: State, b: State) -> State:
    return b if b < a else a


@jit
def greater_float(a: State, b: State) -> State:
    return a > b or (a != a and b == b)


@jit
def greater(a: State, b: State) -> State:
    return a > b


@jit
def less_float(a: State, b: State) -> State:
    return a < b or (a == a and b != b)


@jit
def less(a: State, b: State) -> State:
    return a < b


def _argument(wins: Callable[..., State]) -> Forms:
    @jit
    def combine(a: State, b: State) -> State:
        return b if wins(b[0], a[0]) else a

    return Forms(jit(lambda x, y: (y, x)), combine, jit(lambda s: s[1]))


def _counted(wins: Callable[..., State]) -> Forms:
    @jit
    def combine(a: State, b: State) -> State:
        if wins(a[0], b[0]):
            return a
        if wins(b[0], a[0]):
            return b
        return a[0], a[1] + b[1]

    return Forms(jit(lambda x: (x, 1)), combine, jit(lambda s: s[1]))


@jit
def _first(a: State, b: State) -> State:
    return a


@jit
def _last(a: State, b: State) -> State:
    return b


def _ends(least: Callable[..., State], most: Callable[..., State], lower: Callable[..., State]) -> Forms:
    @jit
    def combine(a: State, b: State) -> State:
        return least(a[0], b[0]), most(a[1], b[1])

    return Forms(jit(lambda x: (x, x)), combine, lower)


@jit
def _range(s: State) -> State:
    return s[1] - s[0]


@jit
def _int_range(s: State) -> State:
    width = s[1] - s[0]
    if width < 0:
        raise OverflowError("the range of the values does not fit into a 64-bit integer")
    return width


@jit
def _relative_variation(s: State) -> State:
    return None if s[1] == 0 else (s[1] - s[0]) / s[1]


@jit
def _int_relative_variation(s: State) -> State:
    """The quotient of two integers that floats may not hold, by double-doubles."""
    if s[1] == 0:
        return None
    most = dd.from_int(s[1])
    width = dd.add(most, dd.negate(dd.from_int(s[0])))
    q = width[0] / most[0]
    return q + dd.add(width, dd.negate(dd.multiply(most, (q, 0.0))))[0] / most[0]


def _m4(least: Callable[..., State], most: Callable[..., State]) -> Forms:
    @jit
    def combine(a: State, b: State) -> State:
        return a[0], least(a[1], b[1]), most(a[2], b[2]), b[3]

    return Forms(jit(lambda x: (x, x, x, x)), combine, itself)


@jit
def _lift_int_sum(x: Value) -> State:
    return x >> 32, x & 0xFFFFFFFF


@jit
def _add_int_sums(a: State, b: State) -> State:
    return a[0] + b[0], a[1] + b[1]


@jit
def _lower_int_sum(s: State) -> State:
    high = s[0] + (s[1] >> 32)
    if high < -(1 << 31) or high >= (1 << 31):
        raise OverflowError("a window's sum does not fit into a 64-bit integer")
    return (high << 32) | (s[1] & 0xFFFFFFFF)


@jit
def _lift_float(x: Value) -> State:
    return float(x), 0.0


@jit
def _high(s: State) -> State:
    return s[0] + 0.0


@jit
def _lift_mean(x: Value) -> State:
    return float(x), 0.0, 1


@jit
def _lift_int_mean(x: Value) -> State:
    s = dd.from_int(x)
    return s[0], s[1], 1


@jit
def _add_means(a: State, b: State) -> State:
    s = dd.add((a[0], a[1]), (b[0], b[1]))
    return s[0], s[1], a[2] + b[2]


@jit
def _lower_mean(s: State) -> State:
    return dd.quotient((s[0], s[1]), float(s[2])) + 0.0


@jit
def _lift_geomean(x: Value) -> State:
    x = float(x)
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan, 0.0, 1


@jit
def _lower_geomean(s: State) -> State:
    return math.exp(dd.quotient((s[0], s[1]), float(s[2])))


@jit
def _scaled(hi: float, lo: float, exponent: int) -> State:
    if hi == 0 or not math.isfinite(hi):
        return hi, 0.0, 0
    hi, shift = math.frexp(hi)
    return hi, math.ldexp(lo, -shift), exponent + shift


@jit
def _lift_product(x: Value) -> State:
    return _scaled(float(x), 0.0, 0)


@jit
def _lift_int_product(x: Value) -> State:
    s = dd.from_int(x)
    return _scaled(s[0], s[1], 0)


@jit
def _multiply(a: State, b: State) -> State:
    p = dd.multiply((a[0], a[1]), (b[0], b[1]))
    return _scaled(p[0], p[1], a[2] + b[2])


@jit
def _lower_product(s: State) -> State:
    exponent = min(max(s[2], -3000), 3000)
    return math.ldexp(s[0], exponent)


@jit
def _and(a: State, b: State) -> State:
    return a and b


@jit
def _or(a: State, b: State) -> State:
    return a or b


@jit
def _lift_longest_run(x: Value) -> State:
    length = 1 if x else 0
    return length, length, length, 1


@jit
def _join_longest_runs(a: State, b: State) -> State:
    return (
        a[3] + b[0] if a[0] == a[3] else a[0],
        a[1] + b[3] if b[1] == b[3] else b[1],
        max(a[2], b[2], a[1] + b[0]),
        a[3] + b[3],
    )


@jit
def _lift_current_run(x: Value) -> State:
    return 1 if x else 0, 1


@jit
def _join_current_runs(a: State, b: State) -> State:
    return a[0] + b[1] if b[0] == b[1] else b[0], a[1] + b[1]


def forms(form: str, kinds: tuple[str, ...]) -> Forms:
    """The compiled functions of a form for inputs of these kinds."""
    from slidewise.kernels.codegen import counter_forms as counters
    from slidewise.kernels.codegen import decay_forms as decay
    from slidewise.kernels.codegen import moment_forms as moments
    from slidewise.kernels.codegen import statistic_forms as statistics

    is_float = kinds[-1:] == ("f",)
    least, most = (smaller_float, larger_float) if is_float else (smaller, larger)
    over, under = (greater_float, less_float) if is_float else (greater, less)
    makers: dict[str, Callable[[], Forms]] = {
        "max": lambda: Forms(itself, most, itself),
        "min": lambda: Forms(itself, least, itself),
        "argmax": lambda: _argument(over),
        "argmin": lambda: _argument(under),
        "maxcount": lambda: _counted(over),
        "mincount": lambda: _counted(under),
        "first": lambda: Forms(itself, _first, itself),
        "last": lambda: Forms(itself, _last, itself),
        "value_range": lambda: _ends(least, most, _range if is_float else _int_range),
        "relative_variation": lambda: _ends(least, most, _relative_variation if is_float else _int_relative_variation),
        "m4": lambda: _m4(least, most),
        "sum": lambda: (
            Forms(_lift_float, dd.add, _high) if is_float else Forms(_lift_int_sum, _add_int_sums, _lower_int_sum)
        ),
        "mean": lambda: Forms(_lift_mean if is_float else _lift_int_mean, _add_means, _lower_mean),
        "geomean": lambda: Forms(_lift_geomean, _add_means, _lower_geomean),
        "product": lambda: Forms(_lift_product if is_float else _lift_int_product, _multiply, _lower_product),
        "bool_and": lambda: Forms(itself, _and, itself),
        "bool_or": lambda: Forms(itself, _or, itself),
        "longest_run": lambda: Forms(_lift_longest_run, _join_longest_runs, jit(lambda s: s[2])),
        "current_run": lambda: Forms(_lift_current_run, _join_current_runs, jit(lambda s: s[0])),
        "variance": lambda: moments.variance(kinds),
        "stddev": lambda: moments.stddev(kinds),
        "covariance": lambda: moments.covariance(kinds),
        "correlation": lambda: moments.correlation(kinds),
        "delta": lambda: counters.delta(kinds),
        "increase": lambda: counters.increase(kinds),
        "rate": lambda: counters.rate(kinds),
        "ewm_mean": lambda: decay.ewm_mean(kinds),
        "ewm_sum": lambda: decay.ewm_sum(kinds),
        "weighted_mean": lambda: statistics.weighted_mean(kinds),
        "skew": lambda: statistics.skew(kinds),
        "kurtosis": lambda: statistics.kurtosis(kinds),
        "slope": lambda: statistics.slope(kinds),
        "intercept": lambda: statistics.intercept(kinds),
        "r2": lambda: statistics.r2(kinds),
        "residual": lambda: statistics.residual(kinds),
    }
    return makers[form]()
