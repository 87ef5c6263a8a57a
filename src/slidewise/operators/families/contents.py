"""Operators that keep the window's values: the set of distinct ones, and all of them in order."""

from __future__ import annotations

import math
from collections.abc import Iterator

from slidewise.errors import InputError
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, Traits, Words
from slidewise.operators.types import Value
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.equality import same
from slidewise.operators.values.hashing import is_finer, plain


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
