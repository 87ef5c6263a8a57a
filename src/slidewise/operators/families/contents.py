"""Operators that keep the window's values: the set of distinct ones, all of them in order, those at its ends, and
how often each is there."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

from slidewise.errors import InputError, SlidewiseError
from slidewise.operators.operator import Operator
from slidewise.operators.per_category import make_count_by
from slidewise.operators.traits import AnswerKind, Plot, Takes, Traits, Words
from slidewise.operators.types import Answer, Value
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values import value_counts
from slidewise.operators.values.equality import same
from slidewise.operators.values.hashing import is_finer, plain
from slidewise.operators.values.inputs import number, whole_number


def _singleton(x: Value) -> frozenset[Value]:
    x = x if is_finer(x) else plain(x)
    if x is None:
        return frozenset()
    try:
        return frozenset((math.nan if x != x else x,))
    except TypeError as error:
        raise InputError(
            f"count_distinct takes values that can be hashed, such as text and numbers, not {x!r}"
        ) from error


count_distinct = Operator(
    name="count_distinct",
    identity=frozenset(),
    lift=_singleton,
    combine=lambda a, b: a | b,
    lower=len,
    commutative=True,
    output="int64",
    state="the set of values: it grows with them",
    encode=lambda state: tuple(sorted(state, key=lambda value: (type(value).__name__, repr(value)))),
    decode=lambda values: frozenset(math.nan if value != value else value for value in values),
    is_state=checks.is_a(frozenset),
    traits=Traits(
        answer=AnswerKind.INT,
        python_times=False,
        grows=True,
        compiled=False,
        window_pass="count_distinct",
        words=Words("a count per value, kept as rows come and go"),
    ),
    builtin=True,
)


class Rope:
    """A sequence that is joined in constant time: a tree whose leaves are values, read from left to right.

    >>> ab, c = Rope.of("a") + Rope.of("b"), Rope.of("c")
    >>> list(ab + c), ab + c == Rope.of("a") + (Rope.of("b") + c)
    (['a', 'b', 'c'], True)
    """

    __slots__ = ("_left", "_right", "_size")

    def __init__(self, left: Rope | Value, right: Rope | None, size: int) -> None:
        self._left = left  # the value of a leaf, whose right side is None
        self._right = right
        self._size = size

    @classmethod
    def of(cls, *values: Value) -> Rope:
        rope = cls(None, None, 0)
        for value in values:
            rope += cls(value, None, 1)
        return rope

    def __add__(self, other: Rope) -> Rope:
        if not self._size:
            return other
        return Rope(self, other, self._size + other._size) if other._size else self

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Value]:
        ahead = [self] if self._size else []
        while ahead:
            rope = ahead.pop()
            if rope._right is None:
                yield rope._left
            else:
                ahead += (rope._right, rope._left)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rope) and same(tuple(self), tuple(other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Rope{tuple(self)!r}"


collect = Operator(
    name="collect",
    identity=Rope.of(),
    lift=Rope.of,
    combine=lambda a, b: a + b,
    lower=list,
    output="a list",
    state="a rope of all values",
    encode=tuple,
    decode=lambda values: Rope.of(*values),
    is_state=checks.is_a(Rope),
    traits=Traits(
        answer=AnswerKind.LIST,
        answers_empty=True,
        grows=True,
        compiled=False,
    ),
    builtin=True,
)

Values = tuple[Value, ...]  # in the window's order
MOST_VALUES = 1_000_000


def _newest(k: int, a: Values, b: Values) -> Values:
    return b if len(b) >= k else (a + b)[-k:]


def _oldest(k: int, a: Values, b: Values) -> Values:
    return a if len(a) >= k else (a + b)[:k]


def _lagged(k: int, state: Values) -> Answer:
    return state[0] if len(state) > k else None


def _is_values(most: int, state: object) -> bool:
    return isinstance(state, tuple) and len(state) <= most and all(map(checks.anything, state))


_AT_AN_END = Traits(
    python_times=False,
    bounded=True,
    never_raises=True,
    compiled=False,
    words=Words("rows at one of the window's ends"),
)


def make_lag(k: int = 1) -> Operator:
    """The value k rows before the newest row of the window; null where the window does not reach it.

    Rows are those that are not null. `lag(0)` is the newest value itself, as `last` is.

    >>> import numpy as np, slidewise as sw
    >>> sw.rolling(np.array([4.0, 5.0, 3.0, 2.0]), sw.lag(2), rows=3)
    array([nan, nan,  4.,  5.])
    """
    k = whole_number("lag", "k", k, 0, MOST_VALUES - 1)
    return Operator(
        name="lag",
        identity=(),
        lift=lambda x: (x,),
        combine=partial(_newest, k + 1),
        lower=partial(_lagged, k),
        output="as the input, null where the window does not reach so far back",
        state="the newest k + 1 values",
        is_state=partial(_is_values, k + 1),
        parameters={"k": k},
        make=make_lag,
        traits=replace(
            _AT_AN_END, answer=AnswerKind.INPUT, fewest=k + 1, window_pass="lag", plot=Plot(level=True, line="--")
        ),
        builtin=True,
    )


def make_last_k(k: int = 3) -> Operator:
    """The newest k values of the window as a list, the newest last; fewer where it holds fewer.

    >>> import slidewise as sw
    >>> w = sw.DabaLite(sw.last_k(2))
    >>> for x in "abc":
    ...     w.insert(x)
    >>> w.query()
    ['b', 'c']
    """
    k = whole_number("last_k", "k", k, 1, MOST_VALUES)
    return Operator(
        name="last_k",
        identity=(),
        lift=lambda x: (x,),
        combine=partial(_newest, k),
        lower=list,
        output="a list",
        state="the newest k values",
        is_state=partial(_is_values, k),
        parameters={"k": k},
        make=make_last_k,
        traits=replace(_AT_AN_END, answer=AnswerKind.LIST, answers_empty=True, window_pass="last_k"),
        builtin=True,
    )


def make_first_k(k: int = 3) -> Operator:
    """The oldest k values of the window as a list, the oldest first; fewer where it holds fewer.

    >>> import slidewise as sw
    >>> w = sw.DabaLite(sw.first_k(2))
    >>> for x in "abc":
    ...     w.insert(x)
    >>> w.query()
    ['a', 'b']
    """
    k = whole_number("first_k", "k", k, 1, MOST_VALUES)
    return Operator(
        name="first_k",
        identity=(),
        lift=lambda x: (x,),
        combine=partial(_oldest, k),
        lower=list,
        output="a list",
        state="the oldest k values",
        is_state=partial(_is_values, k),
        parameters={"k": k},
        make=make_first_k,
        traits=replace(_AT_AN_END, answer=AnswerKind.LIST, answers_empty=True, window_pass="first_k"),
        builtin=True,
    )


lag = make_lag()
last_k = replace(make_last_k(), unset="sw.last_k(3)('x') for the newest three values")
first_k = replace(make_first_k(), unset="sw.first_k(3)('x') for the oldest three values")


def _of_counts(
    name: str, lower: Callable[[value_counts.Counts], Answer], output: str, answer: AnswerKind, words: str
) -> Operator:
    """An operator over counts by value; its traits name the pass that has its name."""
    return Operator(
        name=name,
        identity={},
        lift=partial(value_counts.lift, name),
        combine=value_counts.combine,
        lower=lower,
        inverse=value_counts.inverse,
        commutative=True,
        output=output,
        state="a count by value: it grows with the different values",
        encode=value_counts.encode,
        decode=value_counts.decode,
        is_state=value_counts.is_state,
        traits=Traits(
            answer=answer,
            python_times=False,
            grows=True,
            compiled=False,
            window_pass=name,
            words=Words(words),
        ),
        builtin=True,
    )


def _most_frequent(state: value_counts.Counts) -> Answer:
    return value_counts.most_frequent(state)[0][0] if state else None


def _top(k: int, state: value_counts.Counts) -> list[dict[str, Value]]:
    return [{"value": value, "count": count} for value, count in value_counts.most_frequent(state)[:k]]


mode = _of_counts(
    "mode",
    _most_frequent,
    "as the input: the most frequent value, the least of equally frequent ones",
    AnswerKind.INPUT,
    "a count per value, kept as rows come and go, and the most frequent one",
)
entropy = _of_counts(
    "entropy",
    value_counts.entropy,
    "float64, in bits",
    AnswerKind.FLOAT,
    "a count per value, kept as rows come and go",
)


def make_top_k(k: int = 3) -> Operator:
    """The k most frequent values with their counts, the most frequent first, and of equally frequent ones the least.

    >>> import slidewise as sw
    >>> w = sw.DabaLite(sw.top_k(2))
    >>> for x in "abbcc":
    ...     w.insert(x)
    >>> w.query()
    [{'value': 'b', 'count': 2}, {'value': 'c', 'count': 2}]
    """
    k = whole_number("top_k", "k", k, 1, MOST_VALUES)
    words = "a count per value, kept as rows come and go, and sorted for each row"
    op = _of_counts("top_k", partial(_top, k), "a list of structs of value and count", AnswerKind.COUNTED, words)
    return replace(op, parameters={"k": k}, make=make_top_k, traits=replace(op.traits, answers_empty=True))


def make_histogram(edges: Iterable[float] = (0.0,)) -> Operator:
    """How many values lie below the first edge, from each edge up to the next, and from the last edge on.

    A value on an edge belongs to what is above it; NaN is greater than all edges.

    >>> import slidewise as sw
    >>> w = sw.DabaLite(sw.histogram(edges=[0, 10]))
    >>> for x in [-1, 0, 5, 10]:
    ...     w.insert(x)
    >>> w.query()
    [1, 2, 1]
    """
    cuts = _edges(edges)
    zeros = (0,) * (len(cuts) + 1)
    return Operator(
        name="histogram",
        identity=zeros,
        lift=partial(_lift_histogram, cuts),
        combine=_add_counts,
        lower=list,
        inverse=_take_counts,
        commutative=True,
        output="a list of int64",
        state="a count for each bin",
        is_state=checks.fields(*[checks.count] * len(zeros)),
        parameters={"edges": cuts},
        make=make_histogram,
        traits=Traits(
            takes=Takes.NUMBERS,
            answer=AnswerKind.COUNTS,
            answers_empty=True,
            python_times=False,
            never_raises=True,
            bounded=True,
            state_bytes=8 * len(zeros),
            compiled=False,
            window_pass="histogram",
            words=Words("the difference of running counts of each bin at the window's two ends"),
        ),
        builtin=True,
    )


def _edges(edges: Iterable[float]) -> tuple[float, ...]:
    """The edges as floats; a whole number that is none stays what it is."""
    try:
        numbers = [number(edge, "histogram") for edge in edges]
        cuts = tuple(float(edge) if float(edge) == edge or edge != edge else edge for edge in numbers)
    except (TypeError, InputError, OverflowError) as error:
        raise SlidewiseError(f"histogram: edges are numbers, as in edges=[0, 10, 100], not {edges!r}") from error
    if not cuts or not all(map(math.isfinite, cuts)) or any(a >= b for a, b in pairwise(cuts)):
        raise SlidewiseError(f"histogram: edges are finite and each above the one before it, not {list(cuts)}")
    return cuts


def _lift_histogram(edges: tuple[float, ...], x: Value) -> tuple[int, ...]:
    at = bisect_right(edges, number(x, "histogram"))
    return (0,) * at + (1,) + (0,) * (len(edges) - at)


def _add_counts(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([x + y for x, y in zip(a, b, strict=True)])


def _take_counts(total: tuple[int, ...], oldest: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([x - y for x, y in zip(total, oldest, strict=True)])


count_by = make_count_by()
top_k = replace(make_top_k(), unset="sw.top_k(3)('x') for the three most frequent values")
histogram = replace(make_histogram(), unset="sw.histogram(edges=[0, 10, 100])('x')")
