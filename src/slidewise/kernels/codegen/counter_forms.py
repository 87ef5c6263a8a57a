"""Changes of readings and increases of counters for arrays: the interpreted states in flat tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.kernels.codegen.moment_forms import exact, forms_of
from slidewise.kernels.compiler.jit import jit
from slidewise.kernels.sums import double_double as dd
from slidewise.operators.types import State, Value

if TYPE_CHECKING:
    from slidewise.kernels.codegen.forms import Forms


@jit
def _lift_delta(x: Value) -> State:
    return x, x


@jit
def _join_ends(a: State, b: State) -> State:
    return a[0], b[1]


@jit
def _lower_delta(s: State) -> State:
    return s[1] - s[0] + 0.0


@jit
def _lower_int_delta(s: State) -> State:
    change = s[1] - s[0]
    if (change < 0) != (s[1] < s[0]):
        raise OverflowError("the last value less the first does not fit into a 64-bit integer")
    return change


@jit
def _lift_increase(x: Value) -> State:
    return x, x, 0.0, 0.0, 1


@jit
def _lift_int_increase(x: Value) -> State:
    return x, x, 0, 0, 1


@jit
def _join_increases(a: State, b: State) -> State:
    step = (b[0], 0.0) if b[0] < a[1] else dd.add((b[0], 0.0), (-a[1], 0.0))
    total = dd.add(dd.add((a[2], a[3]), (b[2], b[3])), step)
    return a[0], b[1], total[0], total[1], a[4] + b[4]


@jit
def _join_int_increases(a: State, b: State) -> State:
    high = a[2] + b[2] + (b[0] >> 32)
    low = a[3] + b[3] + (b[0] & 0xFFFFFFFF)
    if b[0] >= a[1]:
        high -= a[1] >> 32
        low -= a[1] & 0xFFFFFFFF
    return a[0], b[1], high, low, a[4] + b[4]


def rate(kinds: tuple[str, ...]) -> Forms:
    floats = kinds[0] == "f"
    join_counters = _join_increases if floats else _join_int_increases
    zero = 0.0 if floats else 0
    exact_time = exact(kinds[1])

    @jit
    def lift_timed(x: Value, time: Value, per: int) -> State:
        return x, x, zero, zero, 1, time, time, per

    @jit
    def lift(x: Value, time: Value) -> State:
        return x, x, zero, zero, 1, time, time, 1

    @jit
    def combine(a: State, b: State) -> State:
        joined = join_counters((a[0], a[1], a[2], a[3], a[4]), (b[0], b[1], b[2], b[3], b[4]))
        return joined[0], joined[1], joined[2], joined[3], joined[4], a[5], b[6], a[7]

    @jit
    def lower(s: State) -> State:
        if s[4] < 2 or s[5] == s[6]:
            return None
        elapsed = dd.add(exact_time(s[6]), dd.negate(exact_time(s[5])))
        total = (s[2], s[3])
        if not floats:
            high = dd.from_int(s[2])
            total = dd.add((high[0] * 4294967296.0, high[1] * 4294967296.0), dd.from_int(s[3]))
        return dd.ratio(dd.multiply(total, (float(s[7]), 0.0)), elapsed)[0] + 0.0

    return forms_of(lift if len(kinds) == 2 else lift_timed, combine, lower)


@jit
def _lower_increase(s: State) -> State:
    return None if s[4] < 2 else s[2] + 0.0


@jit
def _lower_int_increase(s: State) -> State:
    if s[4] < 2:
        return None
    high = s[2] + (s[3] >> 32)
    if high < -(1 << 31) or high >= (1 << 31):
        raise OverflowError("a window's increase does not fit into a 64-bit integer")
    return (high << 32) | (s[3] & 0xFFFFFFFF)


def delta(kinds: tuple[str, ...]) -> Forms:
    return forms_of(_lift_delta, _join_ends, _lower_delta if kinds[0] == "f" else _lower_int_delta)


def increase(kinds: tuple[str, ...]) -> Forms:
    if kinds[0] == "f":
        return forms_of(_lift_increase, _join_increases, _lower_increase)
    return forms_of(_lift_int_increase, _join_int_increases, _lower_int_increase)
