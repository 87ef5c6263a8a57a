"""The Arrow type that an operator declares for its answers: reading it, and whether an answer fits it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from slidewise.errors import OperatorFailedError, SlidewiseError
from slidewise.operators.types import Answer
from slidewise.operators.values.hashing import plain

if TYPE_CHECKING:
    import pyarrow as pa

    from slidewise.operators.operator import Operator


def declared_type(answers: str | pa.DataType, name: str) -> pa.DataType:
    """An Arrow type, or the type of this name; refuses what no column of answers can have."""
    import pyarrow as pa

    example = "such as 'int64', 'string' or pa.struct([('low', pa.float64()), ('high', pa.float64())])"
    if isinstance(answers, str):
        try:
            answers = pa.type_for_alias(answers)
        except ValueError as error:
            raise SlidewiseError(
                f"operator {name!r}: answers= is {answers!r}, no type of Arrow's, {example}"
            ) from error
    if not isinstance(answers, pa.DataType):
        raise SlidewiseError(
            f"operator {name!r}: answers= is a type of Arrow's or its name, {example}, not {answers!r}"
        )
    _check_known(answers, name)
    return answers


def _check_known(kind: pa.DataType, name: str) -> None:
    from pyarrow import types

    if types.is_struct(kind):
        if not kind.num_fields or len({field.name for field in kind}) < kind.num_fields:
            raise SlidewiseError(f"operator {name!r}: answers= is {kind}; name at least one field, and each but once")
        for field in kind:
            _check_known(field.type, name)
    elif types.is_list(kind) or types.is_large_list(kind):
        _check_known(kind.value_type, name)
    elif _family(kind) is None:
        raise SlidewiseError(
            f"operator {name!r}: answers= has {kind}; it can have numbers, bools, text, bytes, dates, times, "
            "durations, and lists and structs of them"
        )


def _family(kind: pa.DataType) -> str | None:
    from pyarrow import types

    predicates = {
        "bool": (types.is_boolean,),
        "int": (types.is_integer,),
        "float": (types.is_float32, types.is_float64),
        "text": (types.is_string, types.is_large_string),
        "bytes": (types.is_binary, types.is_large_binary),
        "date": (types.is_date32,),
        "moment": (types.is_timestamp,),
        "time": (types.is_time,),
        "duration": (types.is_duration,),
    }
    return next((family for family, tests in predicates.items() if any(test(kind) for test in tests)), None)


def fits(value: Answer, kind: pa.DataType) -> bool:
    """Whether an answer is a value of a declared type: none is cut or rounded, but floats are where it is float32.

    >>> import pyarrow as pa
    >>> fits(3, pa.int8()), fits(300, pa.int8()), fits(2.5, pa.int64()), fits((2, 1), pa.struct([("n", pa.int64())]))
    (True, False, False, False)
    """
    from pyarrow import types

    value = plain(value)
    if value is None:
        return True
    if types.is_struct(kind):
        if isinstance(value, dict):
            return value.keys() <= {field.name for field in kind} and all(
                fits(value.get(field.name), field.type) for field in kind
            )
        return (
            isinstance(value, tuple)
            and len(value) == kind.num_fields
            and all(fits(item, field.type) for item, field in zip(value, kind, strict=True))
        )
    if types.is_list(kind) or types.is_large_list(kind):
        return isinstance(value, list | tuple) and all(fits(item, kind.value_type) for item in value)
    return _is_scalar(value, kind, _family(kind) or "")


def _is_scalar(value: Answer, kind: pa.DataType, family: str) -> bool:
    if family == "int":
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value or int_of(value) != value:
            return False
        signed = str(kind).startswith("int")
        most = 1 << (kind.bit_width - signed)
        return bool(-most * signed <= value < most)
    if family == "float":
        is_int = isinstance(value, int) and not isinstance(value, bool)
        return isinstance(value, float) or (is_int and abs(value) < 2**1023 and int(float(value)) == value)
    if family == "moment":
        return isinstance(value, datetime) and (value.tzinfo is None) == (kind.tz is None)
    if family == "date":
        return isinstance(value, date) and not isinstance(value, datetime)
    kinds: dict[str, type] = {"bool": bool, "text": str, "bytes": bytes, "time": time, "duration": timedelta}
    return isinstance(value, kinds[family])


def int_of(value: float) -> int:
    """A number without its fraction; 0 where it is infinite."""
    return int(value) if value - value == 0 else 0


def misfit(name: str, value: object, kind: pa.DataType, column: str | None) -> OperatorFailedError:
    """The error for an answer that does not fit; `column` is the aggregate's name, where it is not said elsewhere."""
    shown = repr(value)
    shown = shown if len(shown) <= 200 else f"{shown[:180]}..."
    return OperatorFailedError(
        f"{'' if column is None else f'column {column!r}: '}operator {name!r} answers with {shown} "
        f"({type(value).__name__}), which does not fit its declared type {kind}; let `lower` give that type, or "
        "declare another one with answers="
    )


def check_answer(op: Operator, answer: Answer, column: str) -> None:
    """Refuse an operator's answer that does not fit the type that it declares; of a map each answer inside."""
    if op.traits.per is not None and op.traits.per.inner.answers is not None:
        for inside in (answer or {}).values():
            check_answer(op.traits.per.inner, inside, column)
    if op.answers is not None and not fits(answer, op.answers):
        raise misfit(op.name, answer, op.answers, column)


def declares(op: Operator) -> bool:
    """Whether an operator, or the one inside its maps, declares the type of its answers."""
    return op.answers is not None or (op.traits.per is not None and op.traits.per.inner.answers is not None)


def named_answer(operator: Operator, fields: Iterable[Any]) -> tuple[Any, ...]:
    """The fields of a struct as the operator's answer: a tuple, with names where the operator gives them names."""
    if not operator.traits.fields:
        return tuple(fields)
    types = [(name, Any) for name in operator.traits.fields]
    answer: tuple[Any, ...] = NamedTuple(operator.name.upper(), types)._make(fields)
    return answer
