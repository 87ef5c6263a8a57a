"""Comparisons: `== != < <= > >=`, `between` and `in`. NaN equals itself and is the greatest number, as in Spark."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any

from slidewise.expressions.functions.function import Function, MistypedValue, ValueOverflow, is_number
from slidewise.expressions.functions.logic import and_arrays, and_values
from slidewise.expressions.functions.times import in_one_unit, in_seconds, nanoseconds
from slidewise.expressions.functions.vectors import Side, array_of, truths_of, values_of
from slidewise.expressions.kinds import comparable, ordered

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES = {"==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
_FEW = 2  # members that are compared one by one


def _sides(x: Any, y: Any) -> tuple[Any, Any]:
    """Two values as Python compares them: numbers as both whole or both floats, times as nanoseconds."""
    if type(x) is type(y) and type(x) in (int, float, str, bool):
        return x, y
    if is_number(x) and is_number(y):
        return float(x), float(y)
    if isinstance(x, date) and isinstance(y, date):
        return nanoseconds(x), nanoseconds(y)
    raise MistypedValue


def equal(x: Any, y: Any) -> bool:
    """Whether two values are equal, NaN and NaN included."""
    x, y = _sides(x, y)
    return bool(x == y or (x != x and y != y))


def less(x: Any, y: Any) -> bool:
    """Whether a value is less than another; NaN is the greatest."""
    x, y = _sides(x, y)
    if type(x) is bool:
        raise MistypedValue
    return bool(x < y or (y != y and x == x))


def _less_or_equal(x: Any, y: Any) -> bool:
    x, y = _sides(x, y)
    if type(x) is bool:
        raise MistypedValue
    return bool(x <= y or y != y)


def compare_arrays(sign: str) -> Callable[[Any, Any], Any]:
    """A comparison of arrays; floats may be NaN."""

    def over_arrays(x: Side, y: Side) -> Any:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_temporal(x.type):
            return array_of(_compare_times(sign, x, y), pa.bool_(), x, y)
        if pa.types.is_floating(x.type):
            return array_of(_compare_floats(sign, values_of(x), values_of(y)), pa.bool_(), x, y)
        if pa.types.is_integer(x.type):
            return array_of(getattr(np, _NAMES[sign])(values_of(x), values_of(y)), pa.bool_(), x, y)
        return getattr(pc, _NAMES[sign])(x, y)

    return over_arrays


def _compare_floats(sign: str, x: Any, y: Any) -> Any:
    """As IEEE 754 has it, but that NaN equals NaN and lies above all others."""
    import numpy as np

    if not (_has_nan(x) or _has_nan(y)):
        return getattr(np, _NAMES[sign])(x, y)
    if sign in ("==", "!="):
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        return same if sign == "==" else ~same
    if sign in (">", "<="):
        x, y = y, x
    below = (x < y) | (np.isnan(y) & ~np.isnan(x))
    return below if sign in ("<", ">") else ~below


def _has_nan(values: Any) -> bool:
    """Whether there is a NaN among floats, or a single one is NaN."""
    import numpy as np

    return bool(np.isnan(np.min(values))) if np.size(values) else False


def _compare_times(sign: str, x: Side, y: Side) -> Any:
    """Times in one unit; where that holds not all of them, by whole seconds first."""
    import numpy as np

    compare = getattr(np, _NAMES[sign])
    try:
        return compare(*in_one_unit(x, y)[:2])
    except ValueOverflow:
        (second_x, rest_x), (second_y, rest_y) = in_seconds(x), in_seconds(y)
        return np.where(np.equal(second_x, second_y), compare(rest_x, rest_y), compare(second_x, second_y))


def _between_arrays(x: Any, low: Any, high: Any) -> Any:
    return and_arrays(_compare_both(">=", x, low), _compare_both("<=", x, high))


def _between(x: Any, low: Any, high: Any) -> bool | None:
    above = None if x is None or low is None else _less_or_equal(low, x)
    below = None if x is None or high is None else _less_or_equal(x, high)
    return and_values(above, below)


def _compare_both(sign: str, x: Any, y: Any) -> Any:
    """A comparison of two sides that may be null altogether, or numbers of both kinds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if any(pa.types.is_null(side.type) or (isinstance(side, pa.Scalar) and not side.is_valid) for side in (x, y)):
        return pa.scalar(None, pa.bool_())
    if pa.types.is_floating(x.type) != pa.types.is_floating(y.type):
        x, y = (side.cast(pa.float64(), safe=False) for side in (x, y))
    if isinstance(x, pa.Scalar) and isinstance(y, pa.Scalar):
        return pc.and_(compare_arrays(sign)(pa.repeat(x, 1), y)[0], True)
    return compare_arrays(sign)(x, y)


def _in_arrays(x: Any, *members: Any) -> Any:
    import pyarrow as pa

    (first, *more) = [_among(values[0], values[1:]) for values in _alike(x, members)]
    return array_of(first | more[0] if more else first, pa.bool_(), x)


def _alike(x: pa.Array, members: tuple[pa.Scalar, ...]) -> list[tuple[Any, ...]]:
    """Values and those of the members that are compared with them as they are: whole numbers with floats as floats."""
    import pyarrow as pa

    if not pa.types.is_integer(x.type):
        cast = pa.types.is_floating(x.type)
        return [(x, *(member.cast(pa.float64(), safe=False) if cast else member for member in members))]
    whole = [member for member in members if pa.types.is_integer(member.type)]
    floats = [member for member in members if pa.types.is_floating(member.type)]
    return [(x, *whole), *([(x.cast(pa.float64(), safe=False), *floats)] if floats else [])]


def _among(x: pa.Array, members: tuple[pa.Scalar, ...]) -> Any:
    """Whether each value equals one of some members, as a vector of booleans."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(members) > _FEW and pa.types.is_string(x.type):
        return truths_of(pc.is_in(x, value_set=pa.array([member.as_py() for member in members], x.type)))
    truth = np.zeros(len(x), np.bool_)
    for member in members:
        truth |= truths_of(compare_arrays("==")(x, member))
    return truth


def _in(x: Any, *values: Any) -> bool:
    if type(x) is str and values and type(values[0]) is str:
        return x in values
    return any([equal(x, value) for value in values])  # noqa: C419, a list is faster than a generator


FUNCTIONS = (
    Function("==", comparable, compare_arrays("=="), equal, most=2, promotes=True),
    Function("!=", comparable, compare_arrays("!="), lambda x, y: not equal(x, y), most=2, promotes=True),
    Function("<", ordered, compare_arrays("<"), less, most=2, promotes=True),
    Function("<=", ordered, compare_arrays("<="), _less_or_equal, most=2, promotes=True),
    Function(">", ordered, compare_arrays(">"), lambda x, y: less(y, x), most=2, promotes=True),
    Function(">=", ordered, compare_arrays(">="), lambda x, y: _less_or_equal(y, x), most=2, promotes=True),
    Function("between", ordered, _between_arrays, _between, 3, 3, strict=False),
    Function("in", comparable, _in_arrays, _in, 1, None, constants=None),
)
