"""Constants of expressions: which values there are, as plain values of Python."""

from __future__ import annotations

from datetime import date, datetime

from slidewise.errors import ExpressionError

Scalar = bool | int | float | str | datetime | date | None

_INT64 = range(-(2**63), 2**63)
_FLOATS = 2**1023  # whole numbers below this one are floats, too


def plain_constant(value: object) -> Scalar:
    """A constant as a plain value, or an error that says which kinds there are."""
    if value is None or isinstance(value, bool):
        return value
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()  # a scalar of NumPy's
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if int(value) not in _INT64:
            shown = f"the constant {value}" if abs(value) < _FLOATS else "a constant"
            as_float = f", {float(value)}" if abs(value) < _FLOATS else ""
            raise ExpressionError(f"{shown} does not fit into 64 bits; write it as a float{as_float}")
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ExpressionError(f"the constant {value!r} is no valid text: {error}") from None
        return str(value)
    if isinstance(value, datetime):
        if getattr(value, "nanosecond", 0):
            raise ExpressionError(f"the constant {value!r} is finer than microseconds, where constants end; round it")
        return datetime.combine(value.date(), value.timetz())
    if isinstance(value, date):
        return date(value.year, value.month, value.day)
    raise ExpressionError(
        f"{value!r} ({type(value).__name__}) is no part of an expression; there are columns, sw.col('amount'), "
        "numbers, texts, booleans, datetimes, dates and None"
    )
