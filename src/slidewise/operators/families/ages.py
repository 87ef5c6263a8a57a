"""How long ago: the age of the window's oldest row, and the time since its newest one.

Definitions and `rolling` compute them from the least and the greatest time, as of the time of the answer. By itself a
SWAG answers as of its newest row.
"""

from __future__ import annotations

from typing import Any

from slidewise.expressions.expression import Call, Expression
from slidewise.operators.aggregate import Aggregate
from slidewise.operators.operator import Operator
from slidewise.operators.traits import OnTime, Plot, Traits
from slidewise.operators.types import Value
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.row_times import newest_time, oldest_time, time_of

Times = tuple[int | float, int | float, int]  # the oldest row's, the newest row's, and the ticks of a second


def _join(a: Times | None, b: Times | None) -> Times | None:
    if a is None or b is None:
        return b if a is None else a
    return min(a[0], b[0]), max(a[1], b[1]), a[2]


def _between(old: int | float, new: int | float, per: int) -> int | float:
    return (new - old) / per if per > 1 else new - old


def _operator(name: str, oldest: bool, words: str) -> Operator:
    find = oldest_time if oldest else newest_time

    def lift(_x: Value, time: Value) -> Times:
        tick, per = time_of(time, name)
        return tick, tick, per

    def lower(state: Times | None) -> Any:
        return None if state is None else _between(state[0] if oldest else state[1], state[1], state[2])

    def expand(aggregate: Aggregate, time: Expression) -> Expression:
        return Call("-", (time, find(aggregate, time)))

    return Operator(
        name=name,
        identity=None,
        lift=lift,
        combine=_join,
        lower=lower,
        commutative=True,
        inputs=("x?", "time"),
        output="float64, in seconds; as the times where these are numbers",
        state=words,
        error="rounded once",
        is_state=checks.or_none(checks.fields(checks.number, checks.number, checks.count)),
        traits=Traits(
            python_times=False,
            compiled=False,
            never_raises=True,
            bounded=True,
            state_bytes=8,
            on_time=OnTime(expand, (0, 1), (2, 2), looks_back=True),
            plot=Plot(change=True, reduced="max"),
        ),
        builtin=True,
    )


age = _operator("age", True, "the oldest row's time")
time_since_last = _operator("time_since_last", False, "the newest row's time")
