"""States of operators as plain values in a stream's pages."""

from __future__ import annotations

from typing import Any

from slidewise.errors import SlidewiseError
from slidewise.live.codec import NotPlainError, Reader, Writer


def put_state(out: Writer, one: Any, state: Any) -> None:
    encode = one.operator.encode
    try:
        out.value(state if encode is None else encode(state))
    except NotPlainError as error:
        raise SlidewiseError(
            f"a state of {one.name!r} is or holds {error}, which cannot be stored: only numbers, bools, text, bytes, "
            "dates, times, None, and lists, tuples and dicts of them can; give its operator encode= and decode="
        ) from None


def get_state(source: Reader, one: Any) -> Any:
    state, decode = source.value(), one.operator.decode
    return state if decode is None else decode(state)
