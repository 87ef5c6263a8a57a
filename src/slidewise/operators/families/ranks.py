"""Ranks of the row's own value in its window, exact: how many of the window's values lie below it.

Lanes give each row the rank of its own value, wherever the window ends. Where there is no such row, it is the newest
value that is ranked; the state knows which that is beside all values in order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from slidewise.errors import SlidewiseError
from slidewise.operators.families.quantiles import ordered_value
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, Plot, Rank, Takes, Traits, Words
from slidewise.operators.types import Answer, Value
from slidewise.operators.values.ordered import Ordered

METHODS = ("min", "average", "max")


class Ranked(NamedTuple):
    """All values in order, and the newest of them; None where there is none."""

    newest: Value
    values: Ordered


class Ranking(Protocol):
    """Values in order that know ranks."""

    def rank(self, value: Value) -> int: ...

    def rank_behind(self, value: Value) -> int: ...


NO_VALUES = Ranked(None, Ordered(None, 0))


def place_among(method: str, below: int, upto: int, n: int) -> Answer:
    """The rank of one of n values, of which so many lie below it, and so many at or below it, itself among them."""
    if method == "percent":
        return below / (n - 1) if n > 1 else 0.0
    if method == "average":
        return (below + 1 + upto) / 2
    return below + 1 if method == "min" else upto


def rank_among(method: str, values: Ranking, ordered: int, nans: int, value: Value, inside: bool) -> Answer:
    """The rank of a value among `ordered` others and NaNs; where it is not `inside`, as if it stood there."""
    more = 0 if inside else 1
    if value == value:
        below, upto = values.rank(value), values.rank_behind(value)
    else:
        below, upto = ordered, ordered + nans
    return place_among(method, below, upto + more, ordered + nans + more)


def _lift(name: str, x: Value) -> Ranked:
    x = ordered_value(name, False, x)
    return Ranked(x, Ordered.of((x,)))


def _combine(a: Ranked, b: Ranked) -> Ranked:
    newest = b.newest if len(b.values) else a.newest
    return Ranked(newest, a.values + b.values)


def _own_value(method: str, state: Ranked, own: Ranked, inside: bool) -> Answer:
    values = state.values
    return rank_among(method, values, len(values) - values.nans, values.nans, own.newest, inside)


def _lower(method: str, state: Ranked) -> Answer:
    """The rank of the newest value."""
    return _own_value(method, state, state, True) if len(state.values) else None


def _encode(state: Ranked) -> tuple[Value, tuple[Value, ...]]:
    return state.newest, tuple(state.values)


def _decode(stored: tuple[Value, tuple[Value, ...]]) -> Ranked:
    newest, values = stored
    return Ranked(newest, Ordered.of(values))


def _is_ranked(state: object) -> bool:
    """Whether the newest value is one of the values, and there is one where there are any."""
    if not isinstance(state, Ranked) or not isinstance(state.values, Ordered):
        return False
    newest, values = state
    if newest is None:
        return not len(values)
    if newest != newest:
        return bool(values.nans)
    try:
        return values.rank_behind(newest) > values.rank(newest)
    except TypeError:
        return False


def _operator(name: str, rank: Rank, make: Callable[..., Operator] | None) -> Operator:
    exact = rank.method in ("min", "max")
    return Operator(
        name=name,
        identity=NO_VALUES,
        lift=partial(_lift, name),
        combine=_combine,
        lower=partial(_lower, rank.method),
        output="float64" if make is None else "int64, or float64 where it is an average",
        state="all values in order: it grows with the window",
        encode=_encode,
        decode=_decode,
        is_state=_is_ranked,
        parameters={} if make is None else {"method": rank.method},
        make=make,
        traits=Traits(
            takes=Takes.ORDERED,
            answer=AnswerKind.INT if exact else AnswerKind.FLOAT,
            order_statistic=rank,
            own_value=partial(_own_value, rank.method),
            grows=True,
            python_times=False,
            never_raises=True,
            compiled=False,
            window_pass="rank",
            words=Words(
                "rows sorted in segments, the window a set of ranks that is counted by blocks",
                text="rows as numbers in their order, then as for numbers",
            ),
            plot=Plot(change=True),
        ),
        builtin=True,
    )


def make_rank(method: str = "min") -> Operator:
    """The rank of the row's own value among the values of its window: 1 + the number of those below it.

    `method` says which rank equal values get: "min", the least of theirs, as SQL's RANK, "max", or "average", which is
    a float. NaN is greater than any number and equal to itself.

    >>> import numpy as np, slidewise as sw
    >>> sw.rolling(np.array([4.0, 1.0, 4.0, 2.0]), sw.rank, rows=3)
    array([1, 1, 2, 2])
    >>> sw.rolling(np.array([4.0, 1.0, 4.0, 2.0]), sw.rank(method="average"), rows=3)
    array([1. , 1. , 2.5, 2. ])
    """
    if method not in METHODS:
        raise SlidewiseError(
            f"rank: method is one of {', '.join(METHODS)}, not {method!r}; a column is named in a second call: "
            "sw.rank(method='average')('ms')"
        )
    return _operator("rank", Rank(method), make_rank)


rank = make_rank()
percent_rank = _operator("percent_rank", Rank("percent"), None)
