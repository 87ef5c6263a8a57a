"""Predicates for deserialised states: whether a value has the layout that an operator's state has."""

from __future__ import annotations

from collections.abc import Callable

IsState = Callable[[object], bool]


def integer(value: object) -> bool:
    """An integer, of any size."""
    return type(value) is int


def count(value: object) -> bool:
    """A number of rows."""
    return type(value) is int and 0 <= value < 2**63


def exponent(value: object) -> bool:
    return type(value) is int and -(2**62) < value < 2**62


def real(value: object) -> bool:
    return type(value) is float


def number(value: object) -> bool:
    return type(value) is int or type(value) is float


def truth(value: object) -> bool:
    return type(value) is bool


def anything(value: object) -> bool:
    """A value of a row, which may be of any kind but null."""
    return value is not None


def fields(*layouts: IsState) -> IsState:
    """A tuple with these layouts, named or not.

    >>> fields(real, count)((0.5, 3)), fields(real, count)((0.5, -3)), fields(real, count)((0.5,))
    (True, False, False)
    """

    def is_state(value: object) -> bool:
        if not isinstance(value, tuple) or len(value) != len(layouts):
            return False
        for layout, part in zip(layouts, value, strict=True):  # noqa: SIM110 (it would take twice as long)
            if not layout(part):
                return False
        return True

    return is_state


def or_none(layout: IsState) -> IsState:
    """This layout, or None where that is the state of no rows."""
    return lambda value: value is None or layout(value)


double_double = fields(real, real)


def either(first: IsState, second: IsState) -> IsState:
    """One of two layouts."""
    return lambda value: first(value) or second(value)


def bits(most: int) -> IsState:
    """An integer from 0 on of at most so many bits."""
    return lambda value: type(value) is int and value >= 0 and value.bit_length() <= most


def registers(size: int, most: int) -> IsState:
    """Bytes of this size, none above `most`."""
    return lambda value: type(value) is bytes and len(value) == size and max(value) <= most


def is_a(kind: type) -> IsState:
    """An object of this class, which `decode` made and checked."""
    return lambda value: isinstance(value, kind)
