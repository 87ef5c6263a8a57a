"""Conditions and choices: `and or not` with three values as in SQL, `is null`, `coalesce` and `case`."""

from __future__ import annotations

from datetime import date
from typing import Any

from slidewise.expressions.functions.function import Function, MistypedValue, is_number
from slidewise.expressions.functions.vectors import Into, choose, truths_of, valid_of
from slidewise.expressions.kinds import anything, branches, common, truths


def _truth(value: Any) -> bool | None:
    if value is None or value is True or value is False:
        return value
    raise MistypedValue


def and_values(x: Any, y: Any) -> bool | None:
    """False where one is false, and else null where one is null."""
    x, y = _truth(x), _truth(y)
    if x is False or y is False:
        return False
    return None if x is None or y is None else True


def and_arrays(x: Any, y: Any) -> Any:
    """As `and_values`, over arrays."""
    import pyarrow.compute as pc

    return pc.and_kleene(x, y)


def _or_values(x: Any, y: Any) -> bool | None:
    x, y = _truth(x), _truth(y)
    if x is True or y is True:
        return True
    return None if x is None or y is None else False


def _or_arrays(x: Any, y: Any) -> Any:
    import pyarrow.compute as pc

    return pc.or_kleene(x, y)


def _not(x: Any) -> bool:
    if x is True or x is False:
        return not x
    raise MistypedValue


def _not_arrays(x: Any) -> Any:
    import pyarrow.compute as pc

    return pc.invert(x)


def _is_null_arrays(x: Any) -> Any:
    import pyarrow.compute as pc

    return pc.is_null(x)


def _coalesce(*values: Any) -> Any:
    chosen = next((value for value in values if value is not None), None)
    return _promoted(chosen, values)


def _coalesce_arrays(*sides: Any) -> Any:
    import pyarrow.compute as pc

    return pc.coalesce(*sides)


def _case(*parts: Any) -> Any:
    conditions = [_truth(condition) for condition in parts[:-1:2]]
    values = (*parts[1:-1:2], parts[-1])
    chosen = next((value for condition, value in zip(conditions, values, strict=False) if condition), parts[-1])
    return _promoted(chosen, values)


def _case_arrays(*parts: Any, into: Into = None) -> Any:
    import pyarrow as pa

    result = parts[-1]
    for place in range(len(parts) - 3, -1, -2):
        condition, value = parts[place : place + 2]
        if isinstance(condition, pa.Scalar):
            result = value if condition.as_py() else result
        else:
            truths = truths_of(condition)
            truths = truths & valid_of(condition) if condition.null_count else truths
            result = choose(truths, value, result, None if place else into)
    return result


def _promoted(chosen: Any, values: tuple[Any, ...]) -> Any:
    """The value that was chosen among some of one kind, which are floats where one of them is."""
    kinds = {float if is_number(value) else date if isinstance(value, date) else type(value) for value in values}
    if len(kinds - {type(None)}) > 1:
        raise MistypedValue
    return float(chosen) if type(chosen) is int and any(type(value) is float for value in values) else chosen


FUNCTIONS = (
    Function("and", truths, and_arrays, and_values, most=2, strict=False),
    Function("or", truths, _or_arrays, _or_values, most=2, strict=False),
    Function("not", truths, _not_arrays, _not, 1, 1),
    Function("is null", anything, _is_null_arrays, lambda x: x is None, 1, 1, strict=False),
    Function("coalesce", common, _coalesce_arrays, _coalesce, 1, None, strict=False, promotes=True),
    Function("case", branches, _case_arrays, _case, 3, None, strict=False, promotes=True, into=True),
)
