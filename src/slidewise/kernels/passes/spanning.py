"""Windows whose middle is known as one state: rows before it and rows behind it, and compiled passes over both.

This is what windows look like that are too long to be gone through: their oldest rows, which leave one by one, the
aggregate of all that lies between, and their newest rows. States are flat: a tuple of numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.codegen.templates import Passes, passes, run_pass
from slidewise.kernels.passes.spanning_objects import SpanningObjects, spanning_objects
from slidewise.operators.operator import Operator

State = tuple[Any, ...]

_PASSES = """
def fold_pass({x}, {S}):
    state = lift({x_0})
    for i in range(1, len(x0)):
        state = combine(state, lift({x_i}))
    {store_0}

def combine_pass({S}):
    {load_0}
    older = state
    {load_1}
    state = combine(older, state)
    {store_0}

def spanning_pass({x}, h, middle, starts, ends, enough, {S}, {O}):
    if h < 0:  # never: it tells the compiler what these are, and no row is lifted that is in no window
        back = lift({x_0})
        state = back
    if middle:
        {load_h}
    for i in range(h - 1, -1, -1):
        state = combine(lift({x_i}), state) if middle or i < h - 1 else lift({x_i})
        {store_i}
    E = h
    for i in range(len(starts)):
        while E < ends[i]:
            back = lift({x_E}) if E == h else combine(back, lift({x_E}))
            E += 1
        if not enough[i]:
            continue
        s = starts[i]
        if middle or s < h:
            {load_s}
            if E > h:
                state = combine(state, back)
        else:
            state = back
        {answer_i}

def spanning_partials_pass(h, middle, starts, ends, enough, {S}, {O}):
    {load_h}
    front = state
    back = state
    for i in range(h - 1, -1, -1):
        {load_i}
        if middle or i < h - 1:
            state = combine(state, front)
        front = state
        {store_i}
    E = h
    for i in range(len(starts)):
        while E < ends[i]:
            E += 1
            {load_E}
            back = state if E == h + 1 else combine(back, state)
        if not enough[i]:
            continue
        s = starts[i]
        if middle or s < h:
            {load_s}
            if E > h:
                state = combine(state, back)
        else:
            state = back
        {answer_i}
"""


class Spanning:
    """The passes of one operator over inputs of certain types."""

    def __init__(self, op: Operator, compiled: Passes) -> None:
        self._op = op
        self._layout = compiled.layout
        self._passes = compiled.run

    @property
    def fields(self) -> tuple[str, ...]:
        """The types of a state's numbers."""
        return self._layout.fields

    def fold(self, inputs: list[Array]) -> State:
        """The state of some rows, one at least."""
        fields = self._fields(1)
        self._run("fold_pass", *inputs, *fields)
        return tuple(field[0].item() for field in fields)

    def combine(self, older: State, newer: State) -> State:
        fields = self._fields(2)
        for field, a, b in zip(fields, older, newer, strict=True):
            field[0], field[1] = a, b
        self._run("combine_pass", *fields)
        return tuple(field[0].item() for field in fields)

    def answers(
        self, inputs: list[Array], h: int, middle: State | None, starts: Array, ends: Array, enough: Array
    ) -> Answers:
        """The answers over the rows [starts, h), the middle, and the rows [h, ends); those not `enough` are left out.

        No start lies behind h, and no end before it; ends never fall.
        """
        fields = self._fields(h + 1)
        if middle is not None:
            for field, number in zip(fields, middle, strict=True):
                field[h] = number
        outputs, valid = self._room(len(starts))
        self._run("spanning_pass", *inputs, h, middle is not None, starts, ends, enough, *fields, *outputs, *valid)
        return Answers(outputs, valid[0] if valid else None, not self._layout.single)

    def answers_of_partials(
        self, fields: list[Array], h: int, middle: State | None, starts: Array, ends: Array, enough: Array
    ) -> Answers:
        """The same where partials, one array per field, stand instead of rows."""
        room = self._fields(1) if middle is None else [np.array([number]) for number in middle]
        stored = [
            np.concatenate([field[:h], number.astype(field.dtype), field[h:]])  # the middle lies between
            for field, number in zip(fields, room, strict=True)
        ]
        outputs, valid = self._room(len(starts))
        self._run("spanning_partials_pass", h, middle is not None, starts, ends, enough, *stored, *outputs, *valid)
        return Answers(outputs, valid[0] if valid else None, not self._layout.single)

    def _room(self, m: int) -> tuple[list[Array], list[Array]]:
        """Room for answers, and for which there are."""
        outputs = [np.zeros(m, dtype) for dtype in self._layout.outputs]
        return outputs, [np.ones(m, np.bool_)] if self._layout.optional else []

    def _fields(self, count: int) -> list[Array]:
        return [np.zeros(count, dtype) for dtype in self._layout.fields]

    def _run(self, name: str, *arguments: Any) -> None:
        run_pass(self._op, self._passes[name], arguments)


def spanning(op: Operator, dtypes: tuple[str, ...]) -> Spanning | SpanningObjects | None:
    """The operator's passes for inputs of these types; None where its states have no bounded size or are unknown."""
    compiled = passes("spanning", _PASSES, op, dtypes)
    return spanning_objects(op, dtypes) if compiled is None else Spanning(op, compiled)
