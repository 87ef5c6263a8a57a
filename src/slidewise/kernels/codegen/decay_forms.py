"""Decayed sums and means for arrays: the interpreted states in flat tuples. Halvings are exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.kernels.codegen.moment_forms import exact, forms_of
from slidewise.kernels.compiler.jit import jit
from slidewise.kernels.sums import double_double as dd
from slidewise.operators.types import State, Value

if TYPE_CHECKING:
    from slidewise.kernels.codegen.forms import Forms

_HALVED_62_TIMES = 2.0**-62


@jit
def _apart(older: int, newer: int) -> int:
    """How many halvings lie between two half-lives; of more than leave anything of a float, so many."""
    return newer - older if (newer >> 1) - (older >> 1) <= 1_074 else 2_148


@jit
def _lowered(hi: float, lo: float, halvings: int) -> State:
    while halvings > 62:
        hi, lo, halvings = hi * _HALVED_62_TIMES, lo * _HALVED_62_TIMES, halvings - 62
    factor = 1.0 / float(1 << halvings)
    return hi * factor, lo * factor


@jit
def _join_means(a: State, b: State) -> State:
    if a[4] == b[4]:
        total, weight = dd.add((a[0], a[1]), (b[0], b[1])), dd.add((a[2], a[3]), (b[2], b[3]))
        return total[0], total[1], weight[0], weight[1], a[4]
    if a[4] < b[4]:
        down = _apart(a[4], b[4])
        total = dd.add(_lowered(a[0], a[1], down), (b[0], b[1]))
        weight = dd.add(_lowered(a[2], a[3], down), (b[2], b[3]))
        return total[0], total[1], weight[0], weight[1], b[4]
    down = _apart(b[4], a[4])
    total = dd.add((a[0], a[1]), _lowered(b[0], b[1], down))
    weight = dd.add((a[2], a[3]), _lowered(b[2], b[3], down))
    return total[0], total[1], weight[0], weight[1], a[4]


@jit
def _lower_mean(s: State) -> State:
    return dd.ratio((s[0], s[1]), (s[2], s[3]))[0] + 0.0


@jit
def _join_sums(a: State, b: State) -> State:
    if a[2] == b[2]:
        total = dd.add((a[0], a[1]), (b[0], b[1]))
        return total[0], total[1], a[2], max(a[3], b[3])
    if a[2] < b[2]:
        total = dd.add(_lowered(a[0], a[1], _apart(a[2], b[2])), (b[0], b[1]))
        return total[0], total[1], b[2], b[3]
    total = dd.add((a[0], a[1]), _lowered(b[0], b[1], _apart(b[2], a[2])))
    return total[0], total[1], a[2], a[3]


@jit
def _lower_sum(s: State) -> State:
    return dd.divide((s[0], s[1]), s[3])[0] + 0.0


def ewm_mean(kinds: tuple[str, ...]) -> Forms:
    exact_x = exact(kinds[0])

    @jit
    def lift(x: Value, half_life: int, weight: float) -> State:
        product = dd.multiply(exact_x(x), (weight, 0.0))
        return product[0], product[1], weight, 0.0, half_life

    return forms_of(lift, _join_means, _lower_mean)


def ewm_sum(kinds: tuple[str, ...]) -> Forms:
    exact_x = exact(kinds[0])

    @jit
    def lift(x: Value, half_life: int, weight: float) -> State:
        product = dd.multiply(exact_x(x), (weight, 0.0))
        return product[0], product[1], half_life, weight

    return forms_of(lift, _join_sums, _lower_sum)
