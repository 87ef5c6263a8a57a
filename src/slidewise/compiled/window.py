"""Windows kept by compiled code: the pointers and arrays of one of the paper's algorithms, and the calls on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from slidewise.arrays import Array
from slidewise.compiled.inputs import TYPES, Columns, read_column, read_number
from slidewise.compiled.source import Steps
from slidewise.errors import EmptyWindowError, InputError, OperatorFailedError, SlidewiseError, SumOverflowError
from slidewise.kernels.codegen.kernel import AnswerRoom
from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator
from slidewise.operators.types import Answer, State, Value

T = TypeVar("T")
SMALLEST = 8


class Program(NamedTuple):
    """An algorithm's functions, compiled for one operator and one type of input."""

    steps: Steps
    layout: Layout
    functions: dict[str, Any]


class Compiled:
    """A window kept by one of the paper's algorithms, compiled; made by `sw.compiled`.

    `insert`, `evict` and `query` take the same steps as the class of the algorithm, through the same cases, with the
    same bounds on calls of combine. `insert_many`, `rounds` and `fill_and_drain` are native loops over whole arrays,
    and what is fast: a single step costs some microseconds to get into compiled code and back, more than interpreted.
    Where an operator's function raises, a single step leaves the window as it was, and a loop leaves it empty.

    Partials lie in rings, one array per field, whose capacity is a power of two. A full ring doubles, which copies the
    window: an insert takes worst-case constant time but for that, where the interpreted classes add a chunk and copy
    nothing. A window that has reached its size never pays it again; only `clear` makes a ring small.

    The pointers are attributes: F L R A B E of DABA and DABA Lite, F B E of Two-Stacks Lite, the sizes F and B of the
    two stacks, `start` and `stop` of FlatFIT. Positions go on after the window was empty, where the classes reset them.
    """

    __slots__ = ("_arrays", "_program", "_state", "dtypes", "operator")

    operator: Operator
    dtypes: tuple[str, ...]
    _program: Program
    _state: tuple[State, ...]
    _arrays: list[Array]

    def __init__(self, operator: Operator, dtypes: tuple[str, ...], program: Program) -> None:
        self.operator = operator
        self.dtypes = dtypes
        self._program = program
        self.clear()

    def insert(self, e: Value, *more: Value) -> None:
        """Put a row at the back; several arguments are several columns."""
        row = self._each_input((e, *more), read_number)
        self._make_room(len(self) + 1)
        self._state = self._run("insert_row", row)

    def evict(self) -> None:
        """Drop the oldest row; an empty window raises EmptyWindowError and stays as it is."""
        self._require_a_row()
        self._state = self._run("evict")

    def query(self) -> Answer:
        """The answer: the lowered aggregate of all rows from oldest to youngest."""
        return self._run("query") if self else self.operator.lower(self.operator.identity)

    def partial(self) -> State:
        """The aggregate of the window before `lower`, as kernels store it; the operator's identity when it is empty."""
        return self._run("partial") if self else self.operator.identity

    def __len__(self) -> int:
        first, last = self._span()
        return last - first

    def clear(self) -> None:
        """Drop every row."""
        steps, layout, _ = self._program
        zeros = tuple(np.zeros(1, field)[0].item() for field in layout.fields)
        unused = zeros[0] if layout.scalar else zeros
        self._state = (0,) * len(steps.pointers) + (unused,) * len(steps.partials)
        self._arrays = self._new_arrays(SMALLEST)

    def insert_many(self, values: Columns) -> None:
        """Insert every row of an array, or of a tuple of arrays where the operator has several inputs."""
        inputs = self._columns(values)
        self._make_room(len(self) + len(inputs[0]))
        self._state = self._loop("insert_many", inputs)

    def rounds(self, values: Columns) -> Array | tuple[Array, ...]:
        """For every row evict, insert and query: the answers, one array for each field of the answer.

        No answer is NaN where answers are floats, and masked otherwise.
        """
        inputs = self._columns(values)
        if len(inputs[0]):
            self._require_a_row()
        return self._answers("rounds", inputs)

    def fill_and_drain(self, values: Columns, n: int) -> Array | tuple[Array, ...]:
        """Insert and query until the window holds n rows, then evict all of them, and so on for every row: the answers.

        A window that holds rows is filled up first; the rows of an unfinished turn stay in it.
        """
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise InputError(f"fill_and_drain takes a number of rows n from 1 on, not {n!r}")
        inputs = self._columns(values)
        size = len(self)
        self._make_room(min(max(n, size + 1), size + len(inputs[0])))
        return self._answers("fill_and_drain", inputs, size, int(n))

    def partials(self) -> dict[str, Any]:
        """Every stored partial, for tests and pictures: lists from the oldest row on, and single ones while in use."""
        steps = self._program.steps
        partials: dict[str, Any] = {name: self._states(name, range(*self._span())) for name in steps.rings}
        if "aggB" in steps.partials and self.B != self.E:
            partials["aggB"] = self._state[-1]
        if "aggRA" in steps.partials and self.L != self.R:
            partials["aggRA"] = self._state[-2]
        return partials

    def __getattr__(self, name: str) -> int:
        if not name.startswith("_") and name in self._program.steps.pointers:
            return int(self._state[self._program.steps.pointers.index(name)])
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}({self.operator!r}) of {len(self)} rows of {', '.join(self.dtypes)}>"

    def _span(self) -> tuple[int, int]:
        """The positions in use: the first, and one past the last."""
        return self._state[0], self._state[len(self._program.steps.pointers) - 1]

    def _states(self, ring: str, positions: range) -> list[Any]:
        steps, layout, _ = self._program
        at = steps.rings.index(ring) * len(layout.fields)
        slots = np.array(positions, np.int64) & (len(self._arrays[0]) - 1)
        columns = [array[slots].tolist() for array in self._arrays[at : at + len(layout.fields)]]
        return columns[0] if layout.scalar else list(zip(*columns, strict=True))

    def _new_arrays(self, capacity: int) -> list[Array]:
        steps, layout, _ = self._program
        states = [np.empty(capacity, field) for _ in steps.rings for field in layout.fields]
        return states + [np.empty(capacity, np.int64) for _ in steps.positions]

    def _make_room(self, rows: int) -> None:
        """Double the rings until they hold so many rows: a position stays what it is, and only its slot moves."""
        old = self._arrays
        capacity = len(old[0])
        if rows <= capacity:
            return
        while capacity < rows:
            capacity *= 2
        used = np.arange(*self._span())
        self._arrays = self._new_arrays(capacity)
        for array, before in zip(self._arrays, old, strict=True):
            array[used & (capacity - 1)] = before[used & (len(before) - 1)]

    def _require_a_row(self) -> None:
        if not self:
            raise EmptyWindowError("cannot evict: the window is empty; insert first, or check len()")

    def _run(self, function: str, arguments: Iterable[Any] = ()) -> Any:
        try:
            return self._program.functions[function](*self._typed_state(), *self._arrays, *arguments)
        except Exception as error:
            name = self.operator.name
            if self.operator.traits.form is not None and isinstance(error, OverflowError):
                raise SumOverflowError(f"{name}: {error}; use floats or larger units instead") from None
            raise OperatorFailedError(f"operator {name!r} raised {error!r} while it ran compiled") from error

    def _typed_state(self) -> tuple[Any, ...]:
        """The pointers, and the partials of the types that compiled code knows, which Python's numbers do not tell."""
        steps, layout, _ = self._program
        if not steps.partials or all(field in TYPES for field in layout.fields):
            return self._state
        kinds = [np.dtype(field).type for field in layout.fields]
        first = len(steps.pointers)
        partials = [
            kinds[0](partial) if layout.scalar else tuple(kind(x) for kind, x in zip(kinds, partial, strict=True))
            for partial in self._state[first:]
        ]
        return (*self._state[:first], *partials)

    def _loop(self, function: str, arguments: Iterable[Any]) -> tuple[Any, ...]:
        try:
            return tuple(self._run(function, arguments))
        except BaseException:
            self.clear()
            raise

    def _answers(self, function: str, inputs: list[Array], *more: Array | int) -> Array | tuple[Array, ...]:
        layout = self._program.layout
        room = AnswerRoom(layout, len(inputs[0]))
        self._state = self._loop(function, [*inputs, *room.arrays, *more])
        given = room.answers()
        answers = []
        for c, output in enumerate(given.fields):
            marks = [marked for marked in (given.valid, given.present.get(c)) if marked is not None]
            answers.append(_where(np.logical_and.reduce(marks), output) if marks else output)
        return answers[0] if layout.single else tuple(answers)

    def _columns(self, values: Columns) -> list[Array]:
        several: Any = values if len(self.dtypes) > 1 else (values,)
        columns = self._each_input(several, read_column)
        if any(len(column) != len(columns[0]) for column in columns):
            raise InputError(
                f"{self.operator.name}: columns of {[len(c) for c in columns]} rows; they must be of one length"
            )
        return columns

    def _each_input(self, columns: Sequence[Any], read: Callable[[Any, str, str], T]) -> list[T]:
        name = self.operator.name
        if len(columns) != len(self.dtypes):
            raise InputError(f"{name} was compiled for {len(self.dtypes)} input(s), but got {len(columns)}")
        return [read(x, dtype, name) for x, dtype in zip(columns, self.dtypes, strict=True)]


class CompiledTwoStacks(Compiled):
    """Two-Stacks. Combine calls: insert at most 1; evict at most n, amortised 1; query at most 1. Space: 4n."""

    __slots__ = ()

    def _span(self) -> tuple[int, int]:
        return 0, self.F + self.B

    def partials(self) -> dict[str, Any]:
        front, back = range(self.F - 1, -1, -1), range(self.B)
        return {
            name.lower(): self._states(f"front{name}", front) + self._states(f"back{name}", back)
            for name in ("Val", "Agg")
        }


class CompiledTwoStacksLite(Compiled):
    """Two-Stacks Lite. Combine calls: insert at most 1; evict at most n, amortised 1; query at most 1. Space: n + 1."""

    __slots__ = ()

    def evict(self) -> None:
        flips = self.F == self.B
        before = [array.copy() for array in self._arrays] if flips else self._arrays
        try:
            super().evict()
        except SlidewiseError:
            self._arrays = before
            raise


class CompiledDaba(Compiled):
    """DABA. Combine calls: insert at most 4, average 2.5; evict at most 3, average 1.5; query at most 1. Space: 2n."""

    __slots__ = ()


class CompiledDabaLite(Compiled):
    """DABA Lite. Combine calls: insert at most 3, average 2; evict at most 2, average 1; query at most 1.

    Space: n + 2 partials.
    """

    __slots__ = ()


class CompiledFlatFit(Compiled):
    """FlatFIT. Combine calls: insert 0; evict 0; query at most n - 1, amortised constant. Space: n and 2n indices."""

    __slots__ = ()

    def partials(self) -> dict[str, Any]:
        stops = self._arrays[-2]
        slots = np.arange(*self._span()) & (len(stops) - 1)
        return {**super().partials(), "stops": stops[slots].tolist()}


WINDOWS: dict[str, type[Compiled]] = {
    "TwoStacks": CompiledTwoStacks,
    "TwoStacksLite": CompiledTwoStacksLite,
    "Daba": CompiledDaba,
    "DabaLite": CompiledDabaLite,
    "FlatFit": CompiledFlatFit,
}


def _where(valid: npt.NDArray[np.bool_], output: Array) -> Array:
    """The answers with NaN or a mask where there is none."""
    if output.dtype.kind != "f":
        return np.ma.MaskedArray(output, mask=~valid)
    output[~valid] = np.nan
    return output
