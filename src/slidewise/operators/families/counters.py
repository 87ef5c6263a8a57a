"""Counters and readings: how much a value changed, how much a counter that may reset went up, and how fast."""

from __future__ import annotations

from slidewise.errors import SumOverflowError
from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, OnTime, Plot, Takes, Traits
from slidewise.operators.types import Value
from slidewise.operators.values import double_double as dd
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.inputs import exact, number
from slidewise.operators.values.row_times import time_of, with_ticks_per_second

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_LOW = 0xFFFFFFFF

Number = int | float
Parts = tuple[Number, Number]  # a double-double of floats, or an integer as what stands above 32 bits, and below
Counter = tuple[Number, Number, Number, Number, int]  # the first value, the last, the parts of all steps, and the rows


def _checked(value: int, what: str) -> int:
    if not INT64_MIN <= value <= INT64_MAX:
        raise SumOverflowError(f"{what} is {value}, which does not fit into a 64-bit integer; use floats")
    return value


def _lift_delta(x: Value) -> tuple[Number, Number]:
    x = number(x, "delta")
    return x, x


def _lower_delta(ends: tuple[Number, Number] | None) -> Number | None:
    if ends is None:
        return None
    change = ends[1] - ends[0]
    return _checked(change, "the last value less the first") if isinstance(change, int) else change + 0.0


delta = Operator(
    name="delta",
    identity=None,
    lift=_lift_delta,
    combine=lambda a, b: b if a is None else a if b is None else (a[0], b[1]),
    lower=_lower_delta,
    output="as the input",
    state="the first and the last value",
    error="exact for integers; floats rounded once",
    is_state=checks.or_none(checks.fields(checks.number, checks.number)),
    traits=Traits(
        takes=Takes.NUMBERS,
        answer=AnswerKind.NUMBER,
        python_times=False,
        sign="→",
        form="delta",
        layout=lambda dtypes: Layout(dtypes * 2, dtypes),
        plot=Plot(change=True),
    ),
    builtin=True,
)


def split(x: Number) -> Parts:
    """A number as the parts of a sum."""
    return (x, 0.0) if isinstance(x, float) else (x >> 32, x & _LOW)


def as_floats(a: Parts) -> dd.DoubleDouble:
    """Parts of either kind as a double-double."""
    return (a[0], float(a[1])) if isinstance(a[0], float) else dd.from_int((a[0] << 32) + int(a[1]))


def _add(a: Parts, b: Parts) -> Parts:
    if isinstance(a[0], int) and isinstance(b[0], int):
        return a[0] + b[0], a[1] + b[1]
    return dd.add(as_floats(a), as_floats(b))


def _step(x: Number, y: Number) -> Parts:
    """What a counter adds between two of its values: after a drop it has begun at 0 again."""
    high, low = split(y)
    if y < x:
        return high, low
    before = split(x)
    return _add((high, low), (-before[0], -before[1]))


def lift_counter(operator: str, x: Value) -> Counter:
    x = number(x, operator)
    zero = 0.0 if isinstance(x, float) else 0
    return x, x, zero, zero, 1


def join_counters(a: Counter, b: Counter) -> Counter:
    high, low = _add(_add((a[2], a[3]), (b[2], b[3])), _step(a[1], b[0]))
    return a[0], b[1], high, low, a[4] + b[4]


def _join(a: Counter | None, b: Counter | None) -> Counter | None:
    if a is None:
        return b
    return a if b is None else join_counters(a, b)


def _lower(state: Counter | None) -> Number | None:
    if state is None or state[4] < 2:
        return None
    high, low = state[2], state[3]
    return high + 0.0 if isinstance(high, float) else _checked((high << 32) + int(low), "the window's increase")


def _layout(dtypes: tuple[str, ...]) -> Layout:
    return Layout((*dtypes[:1] * 4, "int64"), dtypes[:1], optional=True)


increase = Operator(
    name="increase",
    identity=None,
    lift=lambda x: lift_counter("increase", x),
    combine=_join,
    lower=_lower,
    output="as the input, null below 2 rows",
    state="the first and the last value, the sum of steps in two parts, and a count",
    error="exact for integers; floats correctly rounded (106 bits)",
    is_state=checks.or_none(checks.fields(*[checks.number] * 4, checks.count)),
    traits=Traits(
        takes=Takes.NUMBERS,
        answer=AnswerKind.NUMBER,
        python_times=False,
        form="increase",
        layout=_layout,
        plot=Plot(change=True, reduced="max"),
    ),
    builtin=True,
)

Timed = tuple[Number, Number, Number, Number, int, Number, Number, int]  # a counter, two times, and ticks per second


def _lift_rate(x: Value, time: Value, per: int | None = None) -> Timed:
    tick, per_second = time_of(time, "rate")
    return *lift_counter("rate", x), tick, tick, per_second if per is None else per


def _join_rates(a: Timed | None, b: Timed | None) -> Timed | None:
    if a is None:
        return b
    return a if b is None else (*join_counters(a[:5], b[:5]), a[5], b[6], a[7])


def _lower_rate(state: Timed | None) -> float | None:
    if state is None or state[4] < 2 or state[5] == state[6]:
        return None
    elapsed = dd.add(exact(state[6], "rate"), dd.negate(exact(state[5], "rate")))
    return dd.ratio(dd.multiply(as_floats((state[2], state[3])), dd.from_int(state[7])), elapsed)[0] + 0.0


def _rate_layout(dtypes: tuple[str, ...]) -> Layout | None:
    if len(dtypes) < 2:
        return None
    return Layout((*dtypes[:1] * 4, "int64", *dtypes[1:2] * 2, "int64"), ("float64",), optional=True)


rate = Operator(
    name="rate",
    identity=None,
    lift=_lift_rate,
    combine=_join_rates,
    lower=_lower_rate,
    inputs=("x", "time"),
    output="float64, null below 2 rows or where no time passed",
    state="that of increase, the first and the last time, and the ticks of a second",
    error="rounded once (106 bits on the way)",
    is_state=checks.or_none(
        checks.fields(*[checks.number] * 4, checks.count, checks.number, checks.number, checks.count)
    ),
    traits=Traits(
        takes=Takes.NUMBERS,
        answer=AnswerKind.FLOAT,
        python_times=False,
        never_raises=True,
        on_time=OnTime(with_ticks_per_second),
        form="rate",
        layout=_rate_layout,
        plot=Plot(change=True, reduced="max"),
    ),
    builtin=True,
)
