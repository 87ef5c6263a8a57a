"""Texts: `length lower upper contains starts_with`. Characters are Unicode's code points."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slidewise.errors import ExpressionError
from slidewise.expressions.functions.function import Function, MistypedValue
from slidewise.expressions.kinds import BOOL, INT, TEXT, texts

if TYPE_CHECKING:
    import pyarrow as pa


def _of_text(function: Callable[..., Any]) -> Callable[..., Any]:
    def over_values(text: Any, *more: str) -> Any:
        if type(text) is not str:
            raise MistypedValue
        return function(text, *more)

    return over_values


def _length_arrays(x: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.utf8_length(x).cast(pa.int64())


def _lower_arrays(x: Any) -> Any:
    return _changed(x, str.lower, "ascii_lower")


def _upper_arrays(x: Any) -> Any:
    return _changed(x, str.upper, "ascii_upper")


def _changed(x: Any, change: Callable[[str], str], in_ascii: str) -> Any:
    """Letters changed as Python does it; by pyarrow where all are ASCII, since it follows Unicode less closely."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(x, pa.Scalar):
        return pa.scalar(change(x.as_py()) if x.is_valid else None, x.type)
    if pc.all(pc.string_is_ascii(x)).as_py() is not False:
        return getattr(pc, in_ascii)(_from_first_byte(x))
    encoded = x.dictionary_encode()
    words = pa.array([None if word is None else change(word) for word in encoded.dictionary.to_pylist()], x.type)
    return words.take(encoded.indices)


def _from_first_byte(texts: pa.Array) -> pa.Array:
    """Texts whose bytes begin with those of the first one; pyarrow's `ascii_lower` is wrong where they do not."""
    import numpy as np
    import pyarrow as pa

    offsets = texts.buffers()[1]
    if not len(texts) or texts.offset or not np.frombuffer(offsets, np.int32)[0]:
        return texts
    return pa.concat_arrays([texts, texts.slice(0, 0)])


def _contains_arrays(x: Any, pattern: Any) -> Any:
    import pyarrow.compute as pc

    return pc.match_substring(x, pattern.as_py())


def _starts_with_arrays(x: Any, pattern: Any) -> Any:
    import pyarrow.compute as pc

    return pc.starts_with(x, pattern.as_py())


def _check_pattern(pattern: object) -> None:
    if not isinstance(pattern, str):
        raise ExpressionError(f"contains and starts_with look for a text, such as 'pay', not for {pattern!r}")


FUNCTIONS = (
    Function("length", texts(INT), _length_arrays, _of_text(len), 1, 1),
    Function("lower", texts(TEXT), _lower_arrays, _of_text(str.lower), 1, 1),
    Function("upper", texts(TEXT), _upper_arrays, _of_text(str.upper), 1, 1),
    Function(
        *("contains", texts(BOOL), _contains_arrays, _of_text(lambda x, part: part in x), 2, 2),
        constants=(1,),
        check=_check_pattern,
    ),
    Function(
        *("starts_with", texts(BOOL), _starts_with_arrays, _of_text(str.startswith), 2, 2),
        constants=(1,),
        check=_check_pattern,
    ),
)
