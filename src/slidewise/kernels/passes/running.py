"""Running aggregates over many keys, going on from the states of earlier rows: one compiled pass.

A state goes in and out as the interpreted operator knows it. Between the two its numbers lie flat, one array per field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.codegen.kernel import AnswerRoom, Answers, number_kernel
from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator
from slidewise.operators.types import State


class KeySegments(NamedTuple):
    """Rows sorted by key, cut into segments at whose first rows everything begins anew; each key has one at least.

    Segment j has the rows from offsets[j] up to offsets[j + 1]. The first of a key, by its number in `firsts`, goes on
    from earlier rows of the key, and may be empty; `lasts` are the numbers of the keys' last ones.
    """

    offsets: Array
    firsts: Array
    lasts: Array

    @classmethod
    def whole(cls, offsets: Array) -> KeySegments:
        """One segment for each key, which has the rows offsets[k] up to offsets[k + 1]."""
        keys = np.arange(len(offsets) - 1)
        return cls(offsets, keys, keys)

    @classmethod
    def cut(cls, offsets: Array, begins: Array) -> KeySegments:
        """The keys' rows cut before those that begin anew."""
        rows = np.flatnonzero(begins)
        firsts = np.arange(len(offsets) - 1) + np.searchsorted(rows, offsets[:-1])
        starts = np.sort(np.concatenate([offsets[:-1], rows]))
        lasts = np.append(firsts[1:], len(starts)) - 1
        return cls(np.append(starts, offsets[-1]), firsts, lasts)

    def of_first(self, keys: int) -> KeySegments:
        """The same where there are so many keys; a batch without keys has the offsets of one."""
        return self._replace(firsts=self.firsts[:keys], lasts=self.lasts[:keys])


def running(
    op: Operator, inputs: list[Array], segments: KeySegments, states: list[State]
) -> tuple[Answers, list[State]] | None:
    """The answers of everything so far in its segment at every row, and each key's state after its last row.

    All rows count. Key k comes with states[k], None where it has had no rows, and so it goes, where its last segment
    has none. Gives None where the operator cannot be compiled, or a state does not fit the rows' type.
    """
    kernel = number_kernel(op, tuple(str(x.dtype) for x in inputs))
    if kernel is None:
        return None
    layout = kernel.layout
    of_keys = spread(op, layout, states)
    if of_keys is None:
        return None
    offsets, firsts, lasts = segments
    started = np.zeros(len(offsets) - 1, np.bool_)
    started[firsts] = np.array([state is not None for state in states], np.bool_)
    fields = of_keys
    if len(offsets) - 1 != len(states):
        fields = [np.zeros(len(offsets) - 1, field.dtype) for field in of_keys]
        for field, of_key in zip(fields, of_keys, strict=True):
            field[firsts] = of_key
    room = AnswerRoom(layout, len(inputs[0]))
    kernel.run("running_pass", *inputs, offsets, started, *fields, *room.arrays)
    whole = (firsts == lasts).tolist()
    before = [state if is_whole else None for state, is_whole in zip(states, whole, strict=True)]
    ends = np.diff(offsets)[lasts]
    return room.answers(), _gathered(op, inputs, ends, before, [field[lasts] for field in fields])


def spread(op: Operator, layout: Layout, states: list[State]) -> list[Array] | None:
    """The states' numbers as one array per field; None where one is of another type than the field."""
    fields = [np.zeros(len(states), dtype) for dtype in layout.fields]
    there = np.array([state is not None for state in states], np.bool_)
    known = [state for state in states if state is not None]
    if not known:
        return fields
    split = _SPLIT.get(op.traits.form) if layout.fields[0] == "int64" else None
    columns = _columns(known if split is None else [tuple(split(state)) for state in known])
    if columns is None or len(columns) != len(fields):
        return None
    for field, column, dtype in zip(fields, columns, layout.fields, strict=True):
        values = _as_field(column, dtype)
        if values is None:
            return None
        field[there] = values
    return fields


def _columns(states: Sequence[State]) -> list[Sequence[Any]] | None:
    """The numbers of states by their places in them; None where states differ in shape.

    >>> _columns([(1, (2.0, 3.0)), (4, (5.0, 6.0))])
    [(1, 4), (2.0, 5.0), (3.0, 6.0)]
    """
    tuples = {isinstance(state, tuple) for state in states}
    if tuples != {True}:
        return None if len(tuples) > 1 else [states]
    if len(set(map(len, states))) > 1:
        return None
    parts = [_columns(part) for part in zip(*states, strict=True)]
    return None if None in parts else [column for part in parts for column in part or ()]


def _as_field(column: Sequence[Any], dtype: str) -> Any:
    """Numbers of states as an array of this type; None where one is of another."""
    if dtype in ("int64", "float64") and set(map(type, column)) == {_PYTHON[dtype[0]]}:
        try:
            return np.array(column, dtype)
        except OverflowError:
            return None
    return column if all(_fits(number, dtype) for number in column) else None


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
    op: Operator, inputs: list[Array], rows: Array, states: list[State], fields: Sequence[Array]
) -> list[State]:
    """The states again as the interpreted operator knows them, of the keys that have had rows."""
    later = list(states)
    new = np.flatnonzero(rows)
    if len(new):
        like = next((state for state in states if state is not None), None)
        like = op.lift(*(x[0].item() for x in inputs)) if like is None else like
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
