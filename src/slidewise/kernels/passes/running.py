"""Running aggregates over many keys, going on from the states of earlier rows: one compiled pass.

A state goes in and out as the interpreted operator knows it. Between the two its numbers lie flat, one array per field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.codegen.kernel import AnswerRoom, Answers, number_kernel
from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator
from slidewise.operators.types import State


def running(
    op: Operator, inputs: list[Array], offsets: Array, states: list[State]
) -> tuple[Answers, list[State]] | None:
    """The answers of everything so far at every row, and each key's state after its last row.

    Key k has the rows from offsets[k] up to offsets[k + 1], all of which count, and comes with states[k], None where it
    has had no rows. Gives None where the operator cannot be compiled, or a state does not fit the rows' type.
    """
    kernel = number_kernel(op, tuple(str(x.dtype) for x in inputs))
    if kernel is None:
        return None
    layout = kernel.layout
    started = np.array([state is not None for state in states], np.bool_)
    fields = spread(op, layout, states)
    if fields is None:
        return None
    room = AnswerRoom(layout, len(inputs[0]))
    kernel.run("running_pass", *inputs, offsets, started, *fields, *room.arrays)
    return room.answers(), _gathered(op, inputs, offsets, states, fields)


def spread(op: Operator, layout: Layout, states: list[State]) -> list[Array] | None:
    """The states' numbers as one array per field; None where one is of another type than the field."""
    fields = [np.zeros(len(states), dtype) for dtype in layout.fields]
    split = flat if layout.fields[0] != "int64" else _SPLIT.get(op.traits.form, flat)
    for k, state in enumerate(states):
        if state is None:
            continue
        numbers = split(state)
        if len(numbers) != len(fields):
            return None
        for field, number, dtype in zip(fields, numbers, layout.fields, strict=True):
            if not _fits(number, dtype):
                return None
            field[k] = number
    return fields


_PYTHON: dict[str, Any] = {"i": int, "u": int, "f": float, "b": bool}


def _fits(number: Any, dtype: str) -> bool:
    """Whether a number of a state is what a field of this type holds: NumPy's own, or Python's where none is lost."""
    kind = np.dtype(dtype)
    if type(number) is kind.type:
        return True
    if type(number) is not _PYTHON[kind.kind]:
        return False
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return bool(limits.min <= number <= limits.max)
    return kind != np.float32 or number != number or float(np.float32(number)) == number


def _gathered(
    op: Operator, inputs: list[Array], offsets: Array, states: list[State], fields: Sequence[Array]
) -> list[State]:
    """The states again as the interpreted operator knows them."""
    later = list(states)
    new = np.flatnonzero(np.diff(offsets))
    if len(new):
        a = offsets[new[0]]
        like = next((state for state in states if state is not None), None)
        like = op.lift(*(x[a].item() for x in inputs)) if like is None else like
        for k, state in zip(new.tolist(), gathered(op, like, [field[new] for field in fields]), strict=True):
            later[k] = state
    return later


def gathered(op: Operator, like: State, fields: Sequence[Array]) -> list[State]:
    """States as the interpreted operator knows them, of the same shape as `like`, from one array per field."""
    rows = zip(*(field.tolist() for field in fields), strict=True)
    join = _JOINED.get(op.traits.form) if isinstance(like, int) else None
    if join is not None:
        return [join(numbers) for numbers in rows]
    return [shaped(like, iter(numbers)) for numbers in rows]


def _split_integer(state: State) -> list[Any]:
    return [state >> 32, state & 0xFFFFFFFF] if isinstance(state, int) else flat(state)


def _joined_integer(numbers: tuple[int, ...]) -> int:
    return (numbers[0] << 32) + numbers[1]


# By compiled form, how a state that is one integer lies in several fields.
_SPLIT: dict[str | None, Callable[[State], list[Any]]] = {"sum": _split_integer}
_JOINED: dict[str | None, Callable[[tuple[int, ...]], int]] = {"sum": _joined_integer}


def flat(state: State) -> list[Any]:
    """A state's numbers in their order.

    >>> flat((1, (2.0, 3.0)))
    [1, 2.0, 3.0]
    """
    return [number for part in state for number in flat(part)] if isinstance(state, tuple) else [state]


def shaped(like: State, numbers: Iterator[Any]) -> State:
    """Numbers in their order as a state of the same shape.

    >>> shaped((1, (2.0, 3.0)), iter([4, 5.0, 6.0]))
    (4, (5.0, 6.0))
    """
    if not isinstance(like, tuple):
        number = next(numbers)
        return type(like)(number) if isinstance(like, np.generic) else number
    parts = [shaped(part, numbers) for part in like]
    return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)
