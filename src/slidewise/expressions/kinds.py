"""Kinds of values in expressions, and the rules by which a function's result follows from its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum


class ValueKind(Enum):
    """What a value is; the word is for people."""

    BOOL = "true or false"
    INT = "a whole number"
    FLOAT = "a float"
    NUMBER = "a number"  # whole or not, as a column that is not known yet decides
    TEXT = "text"
    TIME = "a time"
    NULL = "null"
    OTHER = "of another type"
    UNKNOWN = "unknown"  # a column whose type no table has told yet


BOOL, INT, FLOAT, TEXT = ValueKind.BOOL, ValueKind.INT, ValueKind.FLOAT, ValueKind.TEXT
TIME, NULL, OTHER, UNKNOWN, NUMBER = (
    ValueKind.TIME,
    ValueKind.NULL,
    ValueKind.OTHER,
    ValueKind.UNKNOWN,
    ValueKind.NUMBER,
)
NUMBERS = (INT, FLOAT, NUMBER)
OPEN = (NULL, UNKNOWN)  # kinds that go with every other

Kinds = Sequence[ValueKind]
Rule = Callable[[Kinds], ValueKind]


class KindError(Exception):
    """A function cannot take an argument of this kind: which one, and what it takes."""

    def __init__(self, argument: int, takes: str) -> None:
        super().__init__(argument, takes)
        self.argument = argument
        self.takes = takes


def _check(kinds: Kinds, allowed: tuple[ValueKind, ...], takes: str) -> None:
    for i, kind in enumerate(kinds):
        if kind not in allowed and kind not in OPEN:
            raise KindError(i, takes)


def numbers(kinds: Kinds) -> ValueKind:
    """Whole numbers give a whole number; where one of them is a float, a float; and nulls alone null."""
    _check(kinds, NUMBERS, "numbers")
    if FLOAT in kinds:
        return FLOAT
    if all(kind is NULL for kind in kinds):
        return NULL
    return INT if INT in kinds and not {UNKNOWN, NUMBER} & {*kinds} else NUMBER


def floats(kinds: Kinds) -> ValueKind:
    """Numbers give a float."""
    _check(kinds, NUMBERS, "numbers")
    return FLOAT


def numbers_or_times(kinds: Kinds) -> ValueKind:
    """Numbers give a number, and two times the seconds between them, a float."""
    if TIME in kinds:
        _check(kinds, (TIME,), "two times or two numbers")
        return FLOAT
    _check(kinds, NUMBERS, "two numbers or two times")
    return UNKNOWN if UNKNOWN in kinds and all(kind in OPEN for kind in kinds) else numbers(kinds)


def truths(kinds: Kinds) -> ValueKind:
    """Conditions give a condition."""
    _check(kinds, (BOOL,), "conditions, which are true or false")
    return BOOL


def anything(_kinds: Kinds) -> ValueKind:
    """Whatever it is, a condition."""
    return BOOL


def comparable(kinds: Kinds) -> ValueKind:
    """Values of one kind, numbers of both, give a condition."""
    common(kinds)
    return BOOL


def ordered(kinds: Kinds) -> ValueKind:
    """Values of one kind that has an order give a condition."""
    _check(kinds, (*NUMBERS, TEXT, TIME), "numbers, texts or times")
    common(kinds)
    return BOOL


def common(kinds: Kinds) -> ValueKind:
    """The one kind that all values have; a float for numbers of both kinds."""
    known = [(i, kind) for i, kind in enumerate(kinds) if kind not in OPEN]
    if not known:
        return UNKNOWN if UNKNOWN in kinds else NULL
    first = known[0][1]
    if first is OTHER:
        raise KindError(known[0][0], "numbers, texts, times, or true and false")
    for i, kind in known:
        alike = {first, kind} <= {*NUMBERS}
        if kind is not first and not alike:
            raise KindError(i, f"values of one kind, and {_FIRST[first]} comes first")
    return numbers(kinds) if first in NUMBERS else first


_FIRST = {BOOL: "true or false", INT: "a number", FLOAT: "a number", NUMBER: "a number", TEXT: "text", TIME: "a time"}


def branches(kinds: Kinds) -> ValueKind:
    """Conditions and values in turn, and a last value, give the one kind of the values."""
    for i in range(0, len(kinds) - 1, 2):
        if kinds[i] not in (BOOL, *OPEN):
            raise KindError(i, "conditions, which are true or false")
    places = [*range(1, len(kinds) - 1, 2), len(kinds) - 1]
    try:
        return common([kinds[i] for i in places])
    except KindError as error:
        raise KindError(places[error.argument], error.takes) from None


def texts(result: ValueKind) -> Rule:
    """Texts give a value of this kind."""

    def rule(kinds: Kinds) -> ValueKind:
        _check(kinds, (TEXT,), "text")
        return result

    return rule


def times(kinds: Kinds) -> ValueKind:
    """A time, and perhaps a zone, give a whole number."""
    _check(kinds[:1], (TIME,), "times")
    return INT


def castable(result: ValueKind) -> Rule:
    """Numbers, texts, true and false give a value of this kind."""

    def rule(kinds: Kinds) -> ValueKind:
        _check(kinds, (BOOL, *NUMBERS, TEXT), "numbers, texts, true and false")
        return result

    return rule


def rounded(kinds: Kinds) -> ValueKind:
    """A number, and a number of digits, give a number of the first one's kind."""
    return numbers(kinds[:1])
