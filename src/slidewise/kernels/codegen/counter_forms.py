"""Changes of readings and increases of counters for arrays: the interpreted states in flat tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.kernels.codegen.moment_forms import forms_of
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
