"""Arithmetic: `+ - * / // % **`, unary minus, and `abs sqrt log exp floor ceil round sign`.

Whole numbers stay whole and are checked for overflow. `/` and `**` give floats. A division by zero gives null. `//` and
`%` round towards minus infinity, as in Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from typing import Any

from slidewise.errors import ExpressionError
from slidewise.expressions.functions.function import HIGH, LOW, Function, MistypedValue, ValueOverflow, is_number
from slidewise.expressions.functions.numbers_over_arrays import (
    absolute,
    added,
    divided,
    floor_divided,
    multiplied,
    negated,
    of_floats,
    remainder,
    rounded_to,
    signs,
    square_root,
    subtracted,
    whole,
)
from slidewise.expressions.functions.times import difference_of_values
from slidewise.expressions.kinds import floats, numbers, numbers_or_times, rounded

Number = int | float


def _add(x: Number, y: Number) -> Number:
    if type(x) is float and type(y) is float:
        return x + y
    if type(x) is int and type(y) is int:
        z = x + y
        if LOW <= z <= HIGH:
            return z
        raise ValueOverflow
    if is_number(x) and is_number(y):
        return x + y
    raise MistypedValue


def _multiply(x: Number, y: Number) -> Number:
    if type(x) is float and type(y) is float:
        return x * y
    if type(x) is int and type(y) is int:
        z = x * y
        if LOW <= z <= HIGH:
            return z
        raise ValueOverflow
    if is_number(x) and is_number(y):
        return x * y
    raise MistypedValue


def _subtract(x: Any, y: Any) -> Any:
    if type(x) is float and type(y) is float:
        return x - y
    if type(x) is int and type(y) is int:
        z = x - y
        if LOW <= z <= HIGH:
            return z
        raise ValueOverflow
    if is_number(x) and is_number(y):
        return float(x) - float(y)
    if isinstance(x, date) and isinstance(y, date):  # as datetimes are, too
        return difference_of_values(x, y)
    raise MistypedValue


def _divide(x: Number, y: Number) -> float | None:
    if type(x) is float and type(y) is float:
        return x / y if y else None
    if not (is_number(x) and is_number(y)):
        raise MistypedValue
    return float(x) / float(y) if y else None


def _floor_divide(x: Number, y: Number) -> Number | None:
    if not (is_number(x) and is_number(y)):
        raise MistypedValue
    if not y:
        return None
    if type(x) is int and type(y) is int:
        if x == LOW and y == -1:
            raise ValueOverflow
        return x // y
    return float(x) // float(y)


def _modulo(x: Number, y: Number) -> Number | None:
    if not (is_number(x) and is_number(y)):
        raise MistypedValue
    if not y:
        return None
    return x % y if type(x) is int and type(y) is int else float(x) % float(y)


def _power(x: Number, y: Number) -> float:
    if not (is_number(x) and is_number(y)):
        raise MistypedValue
    return _libm(math.pow, "pow", float(x), float(y))


def _of_float(function: Callable[[float], float], name: str) -> Callable[[Number], float]:
    def over_values(x: Number) -> float:
        if not is_number(x):
            raise MistypedValue
        return _libm(function, name, float(x))

    return over_values


def _libm(function: Callable[..., float], name: str, *arguments: float) -> float:
    """A function of the C library, as pyarrow calls it; what Python calls an error is infinite, or NaN."""
    try:
        return function(*arguments)
    except (OverflowError, ValueError):
        import numpy as np

        with np.errstate(all="ignore"):
            return float({"pow": np.float_power, "log": np.log, "exp": np.exp, "sqrt": np.sqrt}[name](*arguments))


def _negate(x: Number) -> Number:
    if type(x) is int:
        if x == LOW:
            raise ValueOverflow
        return -x
    if type(x) is float:
        return -x
    raise MistypedValue


def _abs(x: Number) -> Number:
    if type(x) is int:
        if x == LOW:
            raise ValueOverflow
        return abs(x)
    if type(x) is float:
        return abs(x)
    raise MistypedValue


def _whole(rounding: Callable[[float], int]) -> Callable[[Number], Number]:
    """A rounding to whole numbers that leaves those as they are, and floats floats."""

    def over_values(x: Number) -> Number:
        if type(x) is int:
            return x
        if type(x) is not float:
            raise MistypedValue
        return math.copysign(rounding(x), x) if math.isfinite(x) else x

    return over_values


_EXACT = 2.0**52  # from here on every float is whole


def _half_away(x: float) -> float:
    """The nearest whole number, of two the one further from 0; finite numbers only."""
    size = abs(x)
    if size >= _EXACT:
        return x
    low = math.floor(size)
    return math.copysign(low + 1.0 if size - low >= 0.5 else float(low), x)


def _round(x: Number, digits: int) -> Number:
    if type(x) is int:
        return x
    if type(x) is not float:
        raise MistypedValue
    if not math.isfinite(x):
        return x
    if not digits:
        return _half_away(x)
    scale = 10.0**digits
    scaled = x * scale
    return _half_away(scaled) / scale if math.isfinite(scaled) else x


def _check_digits(digits: object) -> None:
    if type(digits) is not int or not 0 <= digits <= 15:
        raise ExpressionError(f"round takes a number of digits from 0 to 15, not {digits!r}")


def _sign(x: Number) -> Number:
    if type(x) is int:
        return (x > 0) - (x < 0)
    if type(x) is not float:
        raise MistypedValue
    return x if x != x else float((x > 0) - (x < 0))


FUNCTIONS = (
    Function("+", numbers, added, _add, most=2, promotes=True, into=True),
    Function("-", numbers_or_times, subtracted, _subtract, most=2, promotes=True, into=True),
    Function("*", numbers, multiplied, _multiply, most=2, promotes=True, into=True),
    Function("/", floats, divided, _divide, most=2, as_floats=True, into=True),
    Function("//", numbers, floor_divided, _floor_divide, most=2, promotes=True),
    Function("%", numbers, remainder, _modulo, most=2, promotes=True, into=True),
    Function("**", floats, of_floats("power"), _power, most=2, as_floats=True),
    Function("neg", numbers, negated, _negate, 1, 1),
    Function("abs", numbers, absolute, _abs, 1, 1),
    Function("sqrt", floats, square_root, _of_float(math.sqrt, "sqrt"), 1, 1, as_floats=True, into=True),
    Function("log", floats, of_floats("ln"), _of_float(math.log, "log"), 1, 1, as_floats=True),
    Function("exp", floats, of_floats("exp"), _of_float(math.exp, "exp"), 1, 1, as_floats=True),
    Function("floor", numbers, whole("floor"), _whole(math.floor), 1, 1),
    Function("ceil", numbers, whole("ceil"), _whole(math.ceil), 1, 1),
    Function("round", rounded, rounded_to, _round, 2, 2, constants=(1,), check=_check_digits),
    Function("sign", numbers, signs, _sign, 1, 1),
)
