"""Windows whose middle is known as one state: rows before it and rows behind it, and compiled passes over both.

This is what windows look like that are too long to be gone through: their oldest rows, which leave one by one, the
aggregate of all that lies between, and their newest rows. States are flat: a tuple of numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.codegen.kernel import AnswerRoom, Answers, Kernel, number_kernel
from slidewise.kernels.passes.spanning_objects import SpanningObjects, spanning_objects
from slidewise.operators.operator import Operator

State = tuple[Any, ...]


class Spanning:
    """The passes of one operator over inputs of certain types."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._layout = kernel.layout

    @property
    def fields(self) -> tuple[str, ...]:
        """The types of a state's numbers."""
        return self._layout.fields

    def fold(self, inputs: list[Array]) -> State:
        """The state of some rows, one at least."""
        fields = self._fields(1)
        self._kernel.run("fold_pass", *inputs, np.array([0, len(inputs[0])]), *fields)
        return tuple(field[0].item() for field in fields)

    def combine(self, older: State, newer: State) -> State:
        both, fields = self._fields(2), self._fields(1)
        for field, a, b in zip(both, older, newer, strict=True):
            field[0], field[1] = a, b
        self._kernel.run("fold_pass", *both, np.array([0, 2]), *fields, partials=True)
        return tuple(field[0].item() for field in fields)

    def answers(
        self, inputs: list[Array], h: int, middle: State | None, starts: Array, ends: Array, enough: Array
    ) -> Answers:
        """The answers over the rows [starts, h), the middle, and the rows [h, ends); those not `enough` are left out.

        No start lies behind h, and no end before it; ends never fall.
        """
        return self._answers(False, inputs, h, middle, starts, ends, enough)

    def answers_of_partials(
        self, fields: list[Array], h: int, middle: State | None, starts: Array, ends: Array, enough: Array
    ) -> Answers:
        """The same where partials, one array per field, stand instead of rows."""
        return self._answers(True, fields, h, middle, starts, ends, enough)

    def _answers(
        self,
        partials: bool,
        elements: list[Array],
        h: int,
        middle: State | None,
        starts: Array,
        ends: Array,
        enough: Array,
    ) -> Answers:
        front = self._fields(h + 1)
        if middle is not None:
            for field, number in zip(front, middle, strict=True):
                field[h] = number
        room = AnswerRoom(self._layout, len(starts))
        windows = h, middle is not None, starts, ends, enough
        self._kernel.run("spanning_pass", *elements, *windows, *front, *room.arrays, partials=partials)
        return room.answers()

    def _fields(self, count: int) -> list[Array]:
        return [np.zeros(count, dtype) for dtype in self._layout.fields]


def spanning(op: Operator, dtypes: tuple[str, ...]) -> Spanning | SpanningObjects | None:
    """The operator's passes for inputs of these types; None where its states have no bounded size or are unknown."""
    kernel = number_kernel(op, dtypes)
    return spanning_objects(op, dtypes) if kernel is None else Spanning(kernel)
