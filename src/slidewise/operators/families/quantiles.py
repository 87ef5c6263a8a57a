"""Median, quantiles and spreads between them, exact: no small monoid gives them, so the state is all values in order.

Windows are kept by `OrderStatistics` and by kernels of their own; the state here is what everything else needs: an
aggregate of everything so far, a snapshot, the laws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import add

from slidewise.errors import InputError, SlidewiseError
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, OrderStatistic, Plot, Quantile, Spread, Takes, Traits, Words
from slidewise.operators.types import Answer, Value
from slidewise.operators.values import log_buckets
from slidewise.operators.values.hashing import plain
from slidewise.operators.values.inputs import number
from slidewise.operators.values.ordered import Ordered

_NAMED = "; a column is named in a second call: sw.quantile(0.99)('ms')"
INTERPOLATIONS = ("linear", "lower", "higher", "nearest", "midpoint")


_PASSES = Traits(
    python_times=False,
    never_raises=True,
    compiled=False,
    rows_pass="quantile",
    window_pass="quantile",
    words=Words("rows sorted in segments, the window a set of ranks"),
    plot=Plot(level=True, line="-."),
)


def _traits(statistic: OrderStatistic) -> Traits:
    """The traits of an exact order statistic: a computed one is a float, and others are one of the values."""
    exact = replace(_PASSES, order_statistic=statistic, grows=True)
    if statistic.computed:
        return replace(exact, takes=Takes.NUMBERS, answer=AnswerKind.FLOAT)
    words = _PASSES.words._replace(text="OrderStatistics interpreted")
    return replace(exact, takes=Takes.ORDERED, answer=AnswerKind.INPUT, words=words)


def make_quantile(q: float = 0.5, interpolation: str = "linear", approximate: float | None = None) -> Operator:
    """The value below which a share `q` of the window's values lies, as NumPy's quantile computes it.

    Where no value stands at that place, `interpolation` says what to make of the two beside it: "linear", "lower",
    "higher", "nearest" or "midpoint". With lower, higher and nearest the answer is one of the values, of their type,
    and they may be anything that has an order. A NaN in the window makes the answer NaN.

    With `approximate=0.01` the answer is within 1 % of the value whose rank is (n - 1) q, rounded down. The state then
    is counts of the buckets that values fall into, an ordinary monoid: its size has a bound and does not grow with the
    window, but with the powers of two that the values span.

    >>> import slidewise as sw
    >>> w = sw.OrderStatistics(sw.quantile(0.75))
    >>> for x in [4, 1, 3, 2]:
    ...     w.insert(x)
    >>> w.query()
    3.25
    >>> w = sw.DabaLite(sw.quantile(0.5, approximate=0.01))
    >>> for x in range(1, 1000):
    ...     w.insert(x)
    >>> w.query()
    499.2
    """
    q = _share(q)
    if interpolation not in INTERPOLATIONS:
        raise SlidewiseError(
            f"quantile: interpolation is one of {', '.join(INTERPOLATIONS)}, not {interpolation!r}{_NAMED}"
        )
    if approximate is not None:
        return _approximate(q, interpolation, approximate)
    quantile_trait = Quantile(q, interpolation)
    return Operator(
        name="quantile",
        identity=Ordered(None, 0),
        lift=partial(_lift, "quantile", quantile_trait.computed),
        combine=add,
        lower=partial(_lower, quantile_trait),
        commutative=True,
        output="float64, or the input's type where interpolation chooses a value",
        state="all values in order: it grows with the window",
        encode=tuple,
        decode=Ordered.of,
        is_state=partial(_is_ordered, quantile_trait.computed),
        parameters={"q": q, "interpolation": interpolation},
        make=make_quantile,
        traits=_traits(quantile_trait),
        builtin=True,
    )


def _approximate(q: float, interpolation: str, share: float) -> Operator:
    if interpolation != "linear":
        raise SlidewiseError(f"quantile: approximate= does not interpolate; leave out interpolation={interpolation!r}")
    parts = log_buckets.parts_of(share)
    return Operator(
        name="quantile",
        identity=(),
        lift=partial(log_buckets.lift, parts),
        combine=log_buckets.combine,
        lower=partial(log_buckets.lower, q, parts),
        inverse=log_buckets.inverse,
        commutative=True,
        output="float64",
        state="counts of the buckets in use: those of the values' spread, however many values there are",
        error="within a share `approximate` of the value of rank (n - 1) q, rounded down",
        is_state=partial(log_buckets.is_state, parts),
        parameters={"q": q, "approximate": float(share)},
        make=make_quantile,
        traits=replace(_PASSES, takes=Takes.NUMBERS, answer=AnswerKind.FLOAT, spanning="buckets"),
        builtin=True,
    )


def _share(q: object) -> float:
    value = plain(q)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise SlidewiseError(
            f"quantile: q is a share from 0 to 1, such as 0.99, not {q!r}{_NAMED if isinstance(value, str) else ''}"
        )
    return float(value)


def _lift(name: str, computed: bool, x: Value) -> Ordered:
    return Ordered.of((ordered_value(name, computed, x),))


def ordered_value(name: str, computed: bool, x: Value) -> Value:
    """A value as windows keep it in order: -0.0 is 0.0, a bool a number; text and such only where none is computed."""
    if computed or isinstance(x, bool | int | float):
        return number(x, name) + 0
    value = plain(x)
    if isinstance(value, bool | int | float):
        return value + 0
    try:
        value < value  # noqa: B015
    except TypeError as error:
        raise InputError(f"{name} takes values that have an order, not {x!r} ({type(x).__name__})") from error
    return value


def _is_ordered(computed: bool, state: object) -> bool:
    """Whether all values are numbers, where answers are computed from them."""
    return isinstance(state, Ordered) and (not computed or all(type(value) in (int, float) for value in state))


def _lower(statistic: OrderStatistic, state: Ordered) -> Answer:
    return statistic_of(statistic, state.__getitem__, len(state), state.nans)


Select = Callable[[int], Value]  # the value of a rank, from 0 on


def statistic_of(statistic: OrderStatistic, select: Select, n: int, nans: int) -> Answer:
    """An order statistic of n values, of which `nans` are NaN and `select` gives the others; None where n is 0.

    Steps: O(log n) values are selected at most.
    """
    if isinstance(statistic, Quantile):
        return quantile_of(select, n, nans, statistic.q, statistic.interpolation)
    assert isinstance(statistic, Spread), "ranks are about one value"
    return _SPREADS[statistic.kind](select, n, nans)


def _interquartile_range(select: Select, n: int, nans: int) -> Answer:
    upper, lower = (quantile_of(select, n, nans, q, "linear") for q in (0.75, 0.25))
    return None if upper is None else _distance(lower, upper)


def _median_deviation(select: Select, n: int, nans: int) -> Answer:
    """The median distance to the median.

    The k + 1 values that lie nearest to the median have neighbouring ranks, so the distance of rank k is that of the
    farther end of such a stretch, the least of all: a binary search finds the stretch whose ends are equally far.
    """
    middle = quantile_of(select, n, nans, 0.5, "linear")
    if middle is None or middle != middle:
        return middle

    def distance(k: int) -> float:
        low, high = 0, n - 1 - k
        while low < high:
            first = (low + high) // 2
            if _above(select(first + k), middle) < _below(select(first), middle):
                low = first + 1
            else:
                high = first
        farther = max(_above(select(low + k), middle), _below(select(low), middle))
        return min(farther, _below(select(low - 1), middle)) if low else farther

    return quantile_of(distance, n, 0, 0.5, "linear")


def _above(value: Value, middle: float) -> float:
    return _distance(middle, float(value))


def _below(value: Value, middle: float) -> float:
    return _distance(float(value), middle)


def _distance(low: float, high: float) -> float:
    """high - low, which is 0 for equal infinities."""
    return 0.0 if low == high else high - low


_SPREADS = {"iqr": _interquartile_range, "mad": _median_deviation}


def quantile_of(select: Select, n: int, nans: int, q: float, interpolation: str) -> Answer:
    """The quantile of n values, of which `select` gives the one of a rank; None where there are none.

    This is NumPy's arithmetic, except beside an infinity: where that has no weight, or nothing stands against it, the
    answer is no NaN.
    """
    if not n:
        return None
    if nans:
        return math.nan
    h = (n - 1) * q
    if interpolation == "higher":
        return select(math.ceil(h))
    if interpolation == "nearest":
        return select(round(h))
    k = int(h)
    a = select(k)
    if interpolation == "lower":
        return a
    t = h - k
    if not t or k >= n - 1:
        return float(a)
    b = select(k + 1)
    if a == b:
        return float(a)
    t = t if interpolation == "linear" else 0.5
    gap = b - a
    if gap == math.inf:
        return a * (1 - t) + b * t
    return a + gap * t if t < 0.5 else b - gap * (1 - t)


quantile = replace(make_quantile(), unset="sw.quantile(0.99)('x') for a share, or sw.median('x')")


def _exact(name: str, statistic: OrderStatistic) -> Operator:
    """An order statistic of numbers, without parameters."""
    return Operator(
        name=name,
        identity=Ordered(None, 0),
        lift=partial(_lift, name, True),
        combine=add,
        lower=partial(_lower, statistic),
        commutative=True,
        output="float64",
        state="all values in order: it grows with the window",
        encode=tuple,
        decode=Ordered.of,
        is_state=partial(_is_ordered, True),
        traits=_traits(statistic),
        builtin=True,
    )


median = _exact("median", Quantile(0.5, "linear"))
iqr = _exact("iqr", Spread("iqr"))
mad = _exact("mad", Spread("mad"))
