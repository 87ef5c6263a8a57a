"""Serialisation of operators' states in a stream's pages."""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.engine.codec import NotPlainError, Reader, Writer
from slidewise.engine.running_pane import RunningPane
from slidewise.engine.window_spec import Member, WindowSpec
from slidewise.errors import SlidewiseError
from slidewise.operators.values.equality import shown
from slidewise.operators.values.state_shapes import decoded, encoded
from slidewise.spark.state.page_checks import reading, whole


def write_state(out: Writer, member: Member, state: Any) -> None:
    """Serialise a state as a plain value, as its operator encodes it."""
    try:
        out.value(encoded(member.operator, state))
    except NotPlainError as error:
        raise SlidewiseError(
            f"a state of {member.name!r} is or holds {error}, which cannot be stored: only numbers, bools, text, "
            "bytes, dates, times, None, and lists, tuples and dicts of them can; give its operator encode= and decode="
        ) from None


def read_state(source: Reader, member: Member) -> Any:
    """Deserialise a state; ValueError where its operator can have none such."""
    stored, operator = source.value(), member.operator
    state = decoded(operator, stored)
    if operator.is_state is not None and not operator.is_state(state):
        raise ValueError(f"{shown(stored)} is no state of {operator.name!r}")
    return state


def state_to_bytes(member: Member, state: Any) -> bytes:
    """One state as bytes."""
    out = Writer()
    write_state(out, member, state)
    return bytes(out.data)


def state_from_bytes(member: Member, data: bytes, name: str) -> Any:
    """The state in these bytes; `name` is what an error calls it."""
    source = Reader(data)
    with reading(name):
        state = read_state(source, member)
        source.end()
    return state


def panes_to_bytes(panes: list[RunningPane]) -> bytes:
    """Running states as bytes: for each spec how many rows they hold, and then each member's state."""
    out = Writer()
    for pane in panes:
        out.size(pane.count)
        for member, state in zip(pane.spec.members, pane.states, strict=False):
            write_state(out, member, state)
    return bytes(out.data)


def panes_from_bytes(specs: list[WindowSpec], data: bytes | None, newest: int | None = None) -> list[RunningPane]:
    """Running states from bytes, one for each spec; empty ones where there are none. `newest` is the time of the key's
    newest row, by which windows begin anew."""
    if data is None:
        return [RunningPane(spec) for spec in specs]
    source = Reader(data)
    panes = []
    with reading("what a key has had so far"):
        for spec in specs:
            count = whole(source.size(), 0, 2**62, "the number of rows")
            states = [read_state(source, member) for member in spec.members] if count else []
            panes.append(RunningPane.of(spec, count, states, newest))
        source.end()
    return panes


def object_array(values: list[Any]) -> Array:
    """An array of objects, even where these are sequences."""
    return np.array([*values, None], object)[:-1]
