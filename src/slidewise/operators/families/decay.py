"""Sums and means in which a row counts half as much for each half-life that it lies back, by time.

A row's weight is 2^(t / halflife), held as a power of two and a number from 0.5 to 1. Sums of such rows are brought to
the greatest power of two, which is exact, so states may be combined in any order: nothing decays step by step.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from slidewise.errors import InputError, SlidewiseError, WindowError
from slidewise.expressions.expression import Call, Constant, Expression, call
from slidewise.expressions.functions.function import MistypedValue, ValueOverflow
from slidewise.expressions.functions.row_times import HALF_LIVES, WEIGHT, half_lives_of_value, weight_of_value
from slidewise.operators.aggregate import Aggregate
from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, OnTime, Plot, Takes, Traits
from slidewise.operators.types import Value
from slidewise.operators.values import double_double as dd
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.inputs import exact
from slidewise.operators.values.row_times import newest_time, plain_time
from slidewise.windows import Duration

HalfLife = Duration | timedelta | str | int | float
Decayed = tuple[dd.DoubleDouble, dd.DoubleDouble, int]  # the sums of x * weight and of weights, in units of a power
DecayedSum = tuple[dd.DoubleDouble, int, float]  # the sum, and the newest row's half-life and weight within it
_ALL = 2_148  # powers of two, which leave nothing of a float
_HALVED_62_TIMES = 2.0**-62
_MOST = 2**63


def _lowered(a: dd.DoubleDouble, halvings: int) -> dd.DoubleDouble:
    """A double-double, halved so often."""
    hi, lo = a
    halvings = min(halvings, _ALL)
    while halvings > 62:
        hi, lo, halvings = hi * _HALVED_62_TIMES, lo * _HALVED_62_TIMES, halvings - 62
    factor = 1.0 / float(1 << halvings)
    return hi * factor, lo * factor


def _checked(operator: str, halflife: HalfLife) -> str | int | float:
    """A half-life as a parameter: a duration as its text, or a number."""
    if isinstance(halflife, (int, float)) and not isinstance(halflife, bool):
        if not 0 < halflife < _MOST:
            raise SlidewiseError(f"{operator}: halflife is greater than 0 and less than 2^63, not {halflife!r}")
        return int(halflife) if isinstance(halflife, int) else float(halflife)
    try:
        length = Duration.of(halflife)  # type: ignore[arg-type]
        if length.ns >= _MOST:
            raise WindowError(f"{length} has more nanoseconds than 64 bits hold")
        return str(length)
    except WindowError as error:
        raise SlidewiseError(
            f"{operator}: halflife is a duration, such as '1 hour', or a number where times are numbers, not "
            f"{halflife!r}" + (f": {error}" if isinstance(halflife, str) else "")
        ) from None


def _constant(halflife: str | int | float) -> str | int | float:
    """A half-life as expressions take it."""
    return f"{Duration.of(halflife).ns} ns" if isinstance(halflife, str) else halflife


def _columns(halflife: str | int | float, aggregate: Aggregate, time: Expression) -> Aggregate:
    """The aggregate over the time's half-lives, too."""
    of = _constant(halflife)
    return replace(aggregate, columns=(*aggregate.columns, call(HALF_LIVES, time, of), call(WEIGHT, time, of)))


class _Rows:
    """Lifts a value, its time's half-life and its weight; of what a user inserts, a value and its time."""

    def __init__(self, operator: str, halflife: str | int | float) -> None:
        self._operator = operator
        self._halflife = _constant(halflife)

    def parts(self, x: Value, time: Value, weight: float | None) -> tuple[dd.DoubleDouble, int, float]:
        value = exact(x, self._operator)
        if weight is None:
            time, weight = self._parted(time)
        return dd.multiply(value, (weight, 0.0)), time, weight

    def _parted(self, time: Value) -> tuple[int, float]:
        moment = plain_time(time)
        try:
            return half_lives_of_value(moment, self._halflife), weight_of_value(moment, self._halflife)
        except (MistypedValue, ValueOverflow):
            kind = "a moment" if isinstance(self._halflife, str) else "a number"
            raise InputError(
                f"{self._operator} takes the row's time last, {kind} as its halflife is, and less than 2^63 half-lives "
                f"after time 0, but got {time!r} ({type(time).__name__})"
            ) from None

    def mean(self, x: Value, time: Value, weight: float | None = None) -> Decayed:
        product, half_life, part = self.parts(x, time, weight)
        return product, (part, 0.0), half_life

    def sum(self, x: Value, time: Value, weight: float | None = None) -> DecayedSum:
        return self.parts(x, time, weight)


def _join(a: Decayed | None, b: Decayed | None) -> Decayed | None:
    if a is None or b is None:
        return b if a is None else a
    newest = max(a[2], b[2])
    down_a, down_b = newest - a[2], newest - b[2]
    total = dd.add(_lowered(a[0], down_a), _lowered(b[0], down_b))
    return total, dd.add(_lowered(a[1], down_a), _lowered(b[1], down_b)), newest


def _join_sums(a: DecayedSum | None, b: DecayedSum | None) -> DecayedSum | None:
    if a is None or b is None:
        return b if a is None else a
    newest = max((a[1], a[2]), (b[1], b[2]))
    return (dd.add(_lowered(a[0], newest[0] - a[1]), _lowered(b[0], newest[0] - b[1])), *newest)


def _traits(name: str, on_time: OnTime, fields: int) -> Traits:
    kinds = ("float64",) * fields
    layout = Layout((*kinds, "int64"), ("float64",)) if name == "ewm_mean" else None
    layout = layout or Layout(("float64", "float64", "int64", "float64"), ("float64",))
    return Traits(
        takes=Takes.NUMBERS,
        answer=AnswerKind.FLOAT,
        python_times=False,
        never_raises=True,
        state_bytes=8 * len(layout.fields),
        on_time=on_time,
        form=name,
        bounds_pass=name,
        layout=lambda dtypes: layout if len(dtypes) == 3 else None,
        plot=Plot(level=name == "ewm_mean"),
    )


def make_ewm_mean(halflife: HalfLife = 10) -> Operator:
    """The mean of values, of which each counts half as much as one that is a half-life newer.

    >>> import slidewise as sw
    >>> w = sw.DabaLite(sw.ewm_mean(halflife=10))
    >>> w.insert(4.0, 0); w.insert(1.0, 10)
    >>> w.query()
    2.0
    """
    length = _checked("ewm_mean", halflife)
    return Operator(
        name="ewm_mean",
        identity=None,
        lift=_Rows("ewm_mean", length).mean,
        combine=_join,
        lower=lambda state: None if state is None else dd.ratio(state[0], state[1])[0] + 0.0,
        commutative=True,
        inputs=("x", "time"),
        output="float64",
        state="two double-doubles, the sums of x * weight and of weights, and a power of two",
        error="two roundings of each weight (106 bits in sums)",
        is_state=checks.or_none(checks.fields(checks.double_double, checks.double_double, checks.integer)),
        parameters={"halflife": length},
        make=make_ewm_mean,
        traits=_traits("ewm_mean", OnTime(lambda one, time: _columns(length, one, time)), 4),
        builtin=True,
    )


def make_ewm_sum(halflife: HalfLife = 10) -> Operator:
    """The sum of values, each halved for every half-life that lies between it and the time of the answer.

    >>> import slidewise as sw
    >>> w = sw.DabaLite(sw.ewm_sum(halflife=10))
    >>> w.insert(4.0, 0); w.insert(1.0, 10)
    >>> w.query()
    3.0
    """
    length = _checked("ewm_sum", halflife)

    def expand(aggregate: Aggregate, time: Expression) -> Expression:
        """The sum as of the newest row, less what it has decayed by since."""
        unit = Duration.of(length).ns / 1_000_000_000 if isinstance(length, str) else length
        age = Call("/", (Call("-", (time, newest_time(aggregate, time))), Constant(unit)))
        return Call("*", (_columns(length, aggregate, time), Call("**", (Constant(0.5), age))))

    return Operator(
        name="ewm_sum",
        identity=None,
        lift=_Rows("ewm_sum", length).sum,
        combine=_join_sums,
        lower=lambda state: None if state is None else dd.divide(state[0], state[2])[0] + 0.0,
        commutative=True,
        inputs=("x", "time"),
        output="float64",
        state="a double-double, a power of two, and the newest row's weight",
        error="two roundings of each weight (106 bits in sums), and one for the time since the newest row",
        is_state=checks.or_none(checks.fields(checks.double_double, checks.integer, _is_weight)),
        parameters={"halflife": length},
        make=make_ewm_sum,
        traits=_traits("ewm_sum", OnTime(expand, looks_back=True), 2),
        builtin=True,
    )


def _is_weight(value: object) -> bool:
    return type(value) is float and 0.5 <= value <= 1.0


ewm_mean = replace(make_ewm_mean(), unset="sw.ewm_mean(halflife='1 hour')('x')")
ewm_sum = replace(make_ewm_sum(), unset="sw.ewm_sum(halflife='1 hour')('x')")
