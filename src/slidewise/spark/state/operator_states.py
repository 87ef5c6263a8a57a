"""States of operators as plain values in a stream's pages."""

from __future__ import annotations

from typing import Any

from slidewise.engine.codec import NotPlainError, Reader, Writer
from slidewise.errors import SlidewiseError
from slidewise.operators.values.equality import shown


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
    """A state as the operator has it; ValueError where it can have none such."""
    stored, operator = source.value(), one.operator
    state = stored if operator.decode is None else operator.decode(stored)
    if operator.is_state is not None and not operator.is_state(state):
        raise ValueError(f"{shown(stored)} is no state of {operator.name!r}")
    return state
