"""The judge of expressions, in plain Python: one value at a time, by the rules of docs/semantics.md alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from slidewise.expressions.expression import Call, Constant, Expression, RowColumn

INT64 = range(-(2**63), 2**63)


class TooLargeError(Exception):
    """A whole number that 64 bits do not hold."""


def value_of(expression: Expression, row: dict[str, Any], answer: Callable[[Any], Any]) -> Any:
    """The value of an expression in a row; `answer` gives that of an aggregate."""
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, RowColumn):
        return row[expression.name]
    if not isinstance(expression, Call):
        return answer(expression)
    values = [value_of(part, row, answer) for part in expression.arguments]
    name = expression.function
    if name in LENIENT:
        return LENIENT[name](*values)
    if any(value is None for value in values):
        return None
    result = STRICT[name](*values)
    if type(result) is int and result not in INT64:
        raise TooLargeError
    return result


def _numbers(x: Any, y: Any) -> tuple[Any, Any]:
    """Two numbers as both whole or both floats."""
    return (x, y) if type(x) is type(y) else (float(x), float(y))


def _arithmetic(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: compute(*_numbers(x, y))


def _moment(time: Any) -> datetime:
    """A time in UTC: one without a zone is one of UTC, and a date its midnight."""
    if not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _minus(x: Any, y: Any) -> Any:
    if isinstance(x, date):
        return (_moment(x) - _moment(y)) / timedelta(seconds=1)
    return _arithmetic(lambda a, b: a - b)(x, y)


def _rank(x: Any) -> Any:
    """What values are compared by: NaN equals itself and is above all numbers."""
    if isinstance(x, date):
        return _moment(x)
    return (1, 0) if x != x else (0, x) if isinstance(x, int | float) and not isinstance(x, bool) else x


def _equal(x: Any, y: Any) -> bool:
    if isinstance(x, int | float) and not isinstance(x, bool):
        x, y = _numbers(x, y)
    return bool(_rank(x) == _rank(y))


def _less(x: Any, y: Any) -> bool:
    if isinstance(x, int | float):
        x, y = _numbers(x, y)
    return bool(_rank(x) < _rank(y))


def _and(x: Any, y: Any) -> Any:
    return False if x is False or y is False else None if x is None or y is None else True


def _or(x: Any, y: Any) -> Any:
    return True if x is True or y is True else None if x is None or y is None else False


def _between(x: Any, low: Any, high: Any) -> Any:
    above = None if x is None or low is None else not _less(x, low)
    below = None if x is None or high is None else not _less(high, x)
    return _and(above, below)


def _case(*parts: Any) -> Any:
    for condition, value in zip(parts[:-1:2], parts[1::2], strict=True):
        if condition is True:
            return value
    return parts[-1]


def _power(x: Any, y: Any) -> float:
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:
        return math.inf if x == 0 else math.nan


def _round(x: Any, digits: int) -> Any:
    if type(x) is int or not math.isfinite(x):
        return x
    scaled = abs(x) * 10.0**digits
    if not math.isfinite(scaled):
        return x
    whole = math.floor(scaled)
    whole += 1 if scaled - whole >= 0.5 else 0
    return math.copysign(float(whole) if digits == 0 else whole / 10.0**digits, x)


def _whole(rounding: Callable[[Any], int]) -> Callable[[Any], Any]:
    return lambda x: x if type(x) is int or not math.isfinite(x) else math.copysign(rounding(x), x)


def _to_int(x: Any) -> Any:
    if isinstance(x, str):
        text = x.strip(" \t\n\r\f\v")
        digits = text[1:] if text[:1] in ("+", "-") else text
        return int(text) if digits.isascii() and digits.isdigit() and int(text) in INT64 else None
    return None if isinstance(x, float) and not math.isfinite(x) else int(x)


def _to_float(x: Any) -> Any:
    if not isinstance(x, str):
        return float(x)
    try:
        return None if "_" in x or not x.isascii() else float(x)
    except ValueError:
        return None


def _to_text(x: Any) -> str:
    return str(x).lower() if isinstance(x, bool) else x if isinstance(x, str) else repr(x)


def _local(time: Any, zone: str | None) -> datetime:
    return _moment(time) if zone is None else _moment(time).astimezone(ZoneInfo(zone))


LENIENT: dict[str, Callable[..., Any]] = {
    "and": _and,
    "or": _or,
    "is null": lambda x: x is None,
    "coalesce": lambda *values: next((value for value in values if value is not None), None),
    "case": _case,
    "between": _between,
}
STRICT: dict[str, Callable[..., Any]] = {
    "+": _arithmetic(lambda x, y: x + y),
    "-": _minus,
    "*": _arithmetic(lambda x, y: x * y),
    "/": lambda x, y: None if y == 0 else float(x) / float(y),
    "//": lambda x, y: None if y == 0 else _arithmetic(lambda a, b: a // b)(x, y),
    "%": lambda x, y: None if y == 0 else _arithmetic(lambda a, b: a % b)(x, y),
    "**": lambda x, y: _power(float(x), float(y)),
    "neg": lambda x: -x,
    "abs": abs,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
    "log": lambda x: math.log(x) if x > 0 else -math.inf if x == 0 else math.nan,
    "exp": lambda x: math.exp(x) if x < 709 or x != x else math.inf,
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "round": _round,
    "sign": lambda x: x if x != x else type(x)((x > 0) - (x < 0)),
    "==": _equal,
    "!=": lambda x, y: not _equal(x, y),
    "<": _less,
    "<=": lambda x, y: not _less(y, x),
    ">": lambda x, y: _less(y, x),
    ">=": lambda x, y: not _less(x, y),
    "in": lambda x, *values: any(_equal(x, value) for value in values),
    "not": lambda x: not x,
    "int": _to_int,
    "float": _to_float,
    "text": _to_text,
    "length": len,
    "lower": str.lower,
    "upper": str.upper,
    "contains": lambda x, part: part in x,
    "starts_with": lambda x, part: x[: len(part)] == part,
    "hour": lambda time, zone=None: _local(time, zone).hour,
    "weekday": lambda time, zone=None: _local(time, zone).weekday(),
    "day": lambda time, zone=None: _local(time, zone).day,
}
