"""Answers as a series of the same kind as the input: NumPy, Arrow, pandas or polars, null where there is none."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import arrow_array, structured
from slidewise.columns.series import Series, kind_of
from slidewise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

BARE = ""  # the name of the one field of answers that are no structs


def series_like(like: Series, fields: dict[str, Array], valid: Array | None) -> Series:
    """Answers as the same kind of series as the input, null where they are not valid.

    The field `BARE` is a plain series, others are those of a struct. Arrays of objects hold lists or values of any
    kind, of which tuples are structs, too.
    """
    kind = kind_of(like)
    if valid is not None and valid.all():
        valid = None
    if kind == "numpy":
        return _as_numpy(fields, valid)
    if kind == "pandas":
        return _as_pandas(like, fields, valid)
    import pyarrow as pa

    array = as_arrow_array(fields, valid)
    if kind == "polars":
        import polars as pl

        return pl.Series(like.name, array)
    return pa.chunked_array([array]) if kind == "chunked" else array


def _as_numpy(fields: dict[str, Array], valid: Array | None) -> Array:
    if BARE not in fields:
        parts = {name: _to_numpy(part) for name, part in fields.items()}
        answer = _as_struct(parts)
    else:
        answer = _to_numpy(next(iter(fields.values())))
    if valid is None:
        return answer
    if answer.dtype.kind == "f":
        answer[~valid] = np.nan
        return answer
    if answer.dtype.kind == "O":
        answer[~valid] = None
        return answer
    return np.ma.MaskedArray(answer, ~valid)


def _as_struct(parts: dict[str, Array]) -> Array:
    """The parts as one array of structs: the one that they are the fields of, where there is one."""
    dtype = np.dtype([(name, part.dtype) for name, part in parts.items()])
    masked = any(isinstance(part, np.ma.MaskedArray) for part in parts.values())
    base = next(iter(parts.values())).base
    if not masked and base is not None and base.dtype.names and len(base.dtype.names) == len(parts):
        fields = [base[name].__array_interface__ for name in base.dtype.names]
        if fields == [part.__array_interface__ for part in parts.values()]:
            return base.view(dtype)
    answer = (np.ma.zeros if masked else np.empty)(len(next(iter(parts.values()))), dtype)
    for name, part in parts.items():
        answer[name] = part
    return answer


def _to_numpy(part: Array) -> Array:
    return part if isinstance(part, np.ndarray) else part.to_numpy(zero_copy_only=False)


def as_arrow_array(fields: dict[str, Array], valid: Array | None, kind: pa.DataType | None = None) -> pa.Array:
    """Answers as an Arrow array, null where they are not valid; objects of this type, where it is known."""
    import pyarrow as pa
    from pyarrow import compute

    mask = None if valid is None else ~valid
    if BARE not in fields:
        parts = [part if isinstance(part, pa.Array) else _field(part) for part in fields.values()]
        return pa.StructArray.from_arrays(parts, names=list(fields), mask=None if mask is None else pa.array(mask))
    part = next(iter(fields.values()))
    if isinstance(part, pa.Array):
        return part if mask is None else compute.if_else(pa.array(~mask), part, pa.scalar(None, part.type))
    if part.dtype != object:
        return pa.array(part, mask=mask)
    values = [None if mask is not None and mask[i] else value for i, value in enumerate(part.tolist())]
    try:
        if kind is not None and not pa.types.is_null(kind):
            with suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
                return arrow_array(values, kind)
        return arrow_array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
        kinds = " and ".join(dict.fromkeys(type(value).__name__ for value in values if value is not None))
        raise InputError(f"Arrow cannot hold answers of type {kinds} ({error}); let all be of one kind") from error


def _field(part: Array) -> pa.Array:
    """A field of structs as an Arrow array."""
    import pyarrow as pa

    return pa.array(part) if part.dtype != object else arrow_array(part.tolist())


def _as_pandas(like: pd.Series, fields: dict[str, Array], valid: Array | None) -> pd.Series:
    import pandas as pd

    def series(data: Series) -> pd.Series:
        return pd.Series(data, index=like.index, name=like.name)

    if BARE not in fields:
        parts = [
            part
            if isinstance(part, np.ma.MaskedArray)
            else series(part if isinstance(part, np.ndarray) else part.to_pandas().array)
            for part in fields.values()
        ]
        rows = zip(*(part.tolist() for part in parts), strict=True)
        answer = np.array([*(dict(zip(fields, row, strict=True)) for row in rows), None], object)[:-1]
        if valid is not None:
            answer[~valid] = None
        return series(answer)
    part = next(iter(fields.values()))
    if isinstance(part, np.ndarray) and part.dtype == object:
        part = np.array([*map(structured, part.tolist()), None], object)[:-1]
    if isinstance(part, np.ndarray) and (isinstance(like.dtype, np.dtype) or part.dtype == object):
        if valid is None:
            return series(part)
        if part.dtype.kind in "iub":
            return series(pd.array(part, dtype=_nullable(part.dtype))).mask(~valid)
        part = part.copy()
        part[~valid] = np.nan if part.dtype.kind == "f" else None
        return series(part)
    array = as_arrow_array(fields, valid)
    if isinstance(like.dtype, pd.ArrowDtype):
        return series(pd.array(array, dtype=pd.ArrowDtype(array.type)))
    kinds = {} if isinstance(like.dtype, np.dtype) else dict(nullables())
    return series(array.to_pandas(types_mapper=kinds.get).array)


def _nullable(dtype: np.dtype[Any]) -> str:
    """pandas' nullable type for NumPy's integers and bools."""
    if dtype.kind == "b":
        return "boolean"
    return str(dtype.name.replace("int", "Int").replace("uI", "UI"))


def nullables() -> list[tuple[Any, Any]]:
    """pandas' nullable types for Arrow's numbers and bools."""
    import pandas as pd
    import pyarrow as pa

    names = ["Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64"]
    kinds = [(pa.type_for_alias(name.lower()), getattr(pd, f"{name}Dtype")()) for name in names]
    return [*kinds, (pa.bool_(), pd.BooleanDtype())]
