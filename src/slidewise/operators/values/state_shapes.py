"""NamedTuples in states of users' operators: stored as plain tuples, and made again by the operator's own shape."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from slidewise.operators.types import Encoded, State

if TYPE_CHECKING:
    from slidewise.operators.operator import Operator

# Made-up rows, of which the first that `lift` takes shows what a state looks like.
_SAMPLES = (1.0, 1, True, "a", b"a", date(2024, 1, 1), datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC))


def encoded(op: Operator, state: State) -> Encoded:
    """A state as it is stored: as `encode` makes it, or without the names that `decoded` will find again."""
    if op.encode is not None:
        return op.encode(state)
    shape = None if op.builtin else _shape(op)
    return state if shape is None else _plain(shape, state)


def decoded(op: Operator, stored: Encoded) -> State:
    """The state of what was stored; ValueError where the operator can have none such."""
    if op.decode is not None:
        return op.decode(stored)
    shape = None if op.builtin else _shape(op)
    return stored if shape is None else _shaped(shape, stored)


@lru_cache(maxsize=256)
def _shape(op: Operator) -> State | None:
    """A state of the operator with its NamedTuples: the identity, or that of a made-up row; None where it has none."""
    if _holds_names(op.identity):
        return op.identity
    fewest, _ = op.arity()
    for sample in _SAMPLES:
        with suppress(Exception):
            state = op.lift(*[sample] * max(fewest, 1))
            return state if _holds_names(state) else None
    return None


def _holds_names(state: State) -> bool:
    return isinstance(state, tuple) and (hasattr(state, "_fields") or any(map(_holds_names, state)))


def _plain(shape: State, state: State) -> Encoded:
    """The state as plain tuples wherever it has the shape's NamedTuples; any other stays, and cannot be stored."""
    if not isinstance(shape, tuple) or type(state) is not type(shape) or len(state) != len(shape):
        return state
    return tuple(map(_plain, shape, state))


def _shaped(shape: State, stored: Encoded) -> State:
    if not isinstance(shape, tuple) or stored is None:
        return stored
    named = hasattr(shape, "_fields")
    if type(stored) is not tuple or len(stored) != len(shape):
        if named:
            raise ValueError(f"{stored!r:.200} is no {type(shape).__name__} of {len(shape)} fields")
        return stored
    parts = map(_shaped, shape, stored)
    return type(shape)(*parts) if named else tuple(parts)
