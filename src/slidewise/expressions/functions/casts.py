"""Casts to `int`, `float` and `text`. Text that is no number is null, and so are NaN and infinities as `int`."""

from __future__ import annotations

import math
import re
from typing import Any

from slidewise.expressions.functions.function import HIGH, LOW, Function, MistypedValue, ValueOverflow
from slidewise.expressions.kinds import FLOAT, INT, TEXT, castable

_WHITE = " \t\n\r\f\v"
_WHOLE = r"[+-]?[0-9]+"
_FLOAT = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_NAMED = r"[+-]?(nan|inf|infinity)"
_IS_WHOLE = re.compile(_WHOLE, re.ASCII)
_IS_FLOAT = re.compile(f"{_FLOAT}|(?i:{_NAMED})", re.ASCII)


def _to_int(x: Any) -> int | None:
    if type(x) is int or type(x) is bool:
        return int(x)
    if type(x) is float:
        if not math.isfinite(x):
            return None
        whole = int(x)
        if LOW <= whole <= HIGH:
            return whole
        raise ValueOverflow
    if type(x) is not str:
        raise MistypedValue
    text = x.strip(_WHITE)
    if not _IS_WHOLE.fullmatch(text) or len(text) > 1_000:
        return None
    whole = int(text)
    return whole if LOW <= whole <= HIGH else None


def _to_float(x: Any) -> float | None:
    if type(x) in (int, float, bool):
        return float(x)
    if type(x) is not str:
        raise MistypedValue
    text = x.strip(_WHITE)
    return float(text) if _IS_FLOAT.fullmatch(text) else None


def _to_text(x: Any) -> str:
    if type(x) is bool:
        return "true" if x else "false"
    if type(x) is int or type(x) is float:
        return repr(x)
    if type(x) is str:
        return x
    raise MistypedValue


def _to_int_arrays(x: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(x.type):
        finite = pc.if_else(pc.is_finite(x), x, pa.scalar(None, pa.float64()))
        return pc.trunc(finite).cast(pa.int64())  # which raises where 64 bits do not hold it
    if pa.types.is_string(x.type):
        return _each_text(x, _to_int, pa.int64())
    return x.cast(pa.int64())


def _to_float_arrays(x: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_string(x.type):
        return _each_text(x, _to_float, pa.float64())
    if pa.types.is_boolean(x.type):
        return x.cast(pa.int64()).cast(pa.float64())
    return x.cast(pa.float64(), safe=False)


def _to_text_arrays(x: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_floating(x.type):
        return _each(x, _to_text, pa.string())
    return x.cast(pa.string())


def _each_text(x: Any, convert: Any, kind: Any) -> Any:
    """Texts converted one by one, each different one once."""
    import pyarrow as pa

    if isinstance(x, pa.Scalar):
        return pa.scalar(convert(x.as_py()) if x.is_valid else None, kind)
    encoded = x.dictionary_encode()
    return _each(encoded.dictionary, convert, kind).take(encoded.indices)


def _each(x: Any, convert: Any, kind: Any) -> Any:
    import pyarrow as pa

    if isinstance(x, pa.Scalar):
        return pa.scalar(convert(x.as_py()) if x.is_valid else None, kind)
    return pa.array([None if value is None else convert(value) for value in x.to_pylist()], kind)


FUNCTIONS = (
    Function("int", castable(INT), _to_int_arrays, _to_int, 1, 1),
    Function("float", castable(FLOAT), _to_float_arrays, _to_float, 1, 1),
    Function("text", castable(TEXT), _to_text_arrays, _to_text, 1, 1),
)
