"""Numbers and truth values, checked as users insert them."""

from __future__ import annotations

from decimal import Decimal
from operator import index
from typing import NoReturn, SupportsIndex

from slidewise.errors import InputError, SlidewiseError
from slidewise.operators.types import Value
from slidewise.operators.values.double_double import DoubleDouble, from_int
from slidewise.operators.values.hashing import plain


def number(x: Value, operator: str) -> int | float:
    """An int or a float, or an error that says what to do.

    >>> number("a", "sum")
    Traceback (most recent call last):
    ...
    slidewise.errors.InputError: sum takes numbers, but got 'a' (str)
    """
    if isinstance(x, bool):
        return int(x)
    if isinstance(x, (int, float)):
        return x
    value = plain(x)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return value
    _refuse(x, operator, "numbers")


def exact(x: Value, operator: str) -> DoubleDouble:
    """A number as a double-double, without a rounding up to 106 bits."""
    x = number(x, operator)
    return (x, 0.0) if isinstance(x, float) else from_int(x)


def truth(x: Value, operator: str) -> bool:
    """True or False, or an error that says what to do."""
    value = plain(x)
    if not isinstance(value, bool):
        _refuse(x, operator, "True and False")
    return value


def whole_number(operator: str, name: str, value: SupportsIndex, least: int, most: int) -> int:
    """A parameter of an operator: a whole number in these bounds, or an error that says them."""
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if not least <= number <= most or isinstance(value, bool):
        raise SlidewiseError(f"{operator}: {name} is a whole number from {least} to {most}, not {value!r}")
    return number


def _refuse(x: Value, operator: str, takes: str) -> NoReturn:
    remedy = (
        "; convert decimals to float, or to an integer number of the smallest unit" if isinstance(x, Decimal) else ""
    )
    raise InputError(f"{operator} takes {takes}, but got {x!r} ({type(x).__name__}){remedy}")
