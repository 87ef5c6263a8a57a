"""A FiBA window kept by compiled code: its arrays, and the calls on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from slidewise.arrays import Array
from slidewise.compiled.fiba_source import (
    CNT,
    FREE,
    HEIGHT,
    JOURNAL,
    LEFT,
    LVL,
    PLACE,
    RIGHT,
    ROWS,
    SIZE,
    STOP,
    T0,
    levels,
)
from slidewise.compiled.inputs import Columns, read_column, read_number
from slidewise.compiled.window import SMALLEST, Compiled, Program
from slidewise.errors import EmptyWindowError, InputError, SlidewiseError
from slidewise.operators.operator import Operator
from slidewise.operators.types import Answer, State, Value
from slidewise.swag.structures.times import RowTime

EVICT, EVICT_UNTIL, EVICT_MANY, FIND_TIMES, FIND_ROWS, SETTLE = range(6)  # what the compiled `step` can do


class CompiledFiba(Compiled):
    """FiBA, compiled; made by `sw.compiled(sw.Fiba, ...)`. Times are 64-bit integers.

    Combine calls: those of the class. `insert(t, e)` puts a row at its time, `insert(e)` at the end; `insert_many` and
    `rounds` take `times=`, in any order, and without them put rows at the end. Rows with and without times do not mix.
    Space: less than 2n partials, in arrays for three times as many.
    """

    __slots__ = ("_nodes", "_timed", "min_arity")

    _nodes: int  # how many nodes there is room for
    _timed: bool  # whether the rows in the window have times

    def __init__(self, operator: Operator, dtypes: tuple[str, ...], program: Program, min_arity: int) -> None:
        self.min_arity = min_arity
        super().__init__(operator, dtypes, program)

    def insert(self, t: Value, *row: Value) -> None:
        """Put a row behind all rows of its time and before; without a time, at the end."""
        timed = len(row) >= len(self.dtypes)
        values = self._each_input(row if timed else (t, *row), read_number)
        time = self._time(t) if timed else self._last_time()
        self._make_room(len(self) + 1)
        row_of = [np.array([value], dtype) for value, dtype in zip(values, self.dtypes, strict=True)]
        self._step("insert_many", [*row_of, np.array([time]), timed])
        self._timed = self._timed or timed

    def evict(self) -> None:
        self._require_a_row()
        self._step("step", [EVICT, 0, 0])
        self._timed = self._timed and len(self) > 0

    def evict_until(self, t: RowTime) -> None:
        """Drop every row whose time is t or earlier. Combine calls: at most O(log n)."""
        if not self:
            return
        t = self._time(t)
        if t >= self.youngest():
            self.clear()
        else:
            self._make_room(len(self))
            self._step("step", [EVICT_UNTIL, t, 0])

    def evict_many(self, k: int) -> None:
        """Drop the k oldest rows. Combine calls: at most O(log n)."""
        n = len(self)
        if not isinstance(k, (int, np.integer)) or k < 0:
            raise SlidewiseError(f"evict_many takes a number of rows from 0 on, not {k!r}")
        if k > n:
            raise EmptyWindowError(f"cannot evict {k} rows: the window holds {n}; check len() first")
        if k == n:
            self.clear()
        elif k:
            self._make_room(n)
            self._step("step", [EVICT_MANY, int(k), 0])

    def range_query(self, t0: RowTime, t1: RowTime) -> Answer:
        """The answer for the rows of the times from t0 to t1, both included. Combine calls: O(log n)."""
        if self:
            t0, t1 = self._time(t0), self._time(t1)
            if t0 <= t1:
                self._run("step", [FIND_TIMES, t0, t1])
                if self._some_found():
                    return self._run("query_between")
        return self.operator.lower(self.operator.identity)

    def suffix(self, k: int) -> State:
        """The aggregate of the k youngest rows before `lower`. Combine calls: O(log n)."""
        if not isinstance(k, (int, np.integer)) or not 0 <= k <= len(self):
            raise EmptyWindowError(f"cannot aggregate the {k} youngest rows: the window holds {len(self)}")
        if not k:
            return self.operator.identity
        self._run("step", [FIND_ROWS, len(self) - int(k), len(self)])
        return self._run("between")

    def oldest(self) -> int:
        """The time of the oldest row."""
        self._require_times()
        self._run("step", [SETTLE, 0, 0])
        return int(self._arrays[0][self._arrays[0][0, LEFT], T0])

    def youngest(self) -> int:
        """The time of the youngest row."""
        self._require_times()
        return self._last_time()

    def __len__(self) -> int:
        return int(self._arrays[0][0, SIZE])

    def clear(self) -> None:
        self._state = ()
        self._nodes = 0
        self._timed = False
        self._arrays = self._new_arrays(levels(self.min_arity))
        self._arrays[0][0, JOURNAL] = -1
        self._make_room(SMALLEST)
        numbers = self._arrays[0]
        root = numbers[0, FREE]
        numbers[0, FREE] = numbers[root, ROWS]
        numbers[0, [LEFT, RIGHT]] = root

    def insert_many(self, values: Columns, times: npt.ArrayLike | None = None) -> None:
        """Insert every row of an array, or of a tuple of arrays where the operator has several inputs."""
        inputs = self._columns(values)
        if not len(inputs[0]):
            return
        row_times = self._times(times, len(inputs[0]))
        self._make_room(len(self) + len(inputs[0]))
        self._loop("insert_many", [*inputs, row_times, times is not None])

    def rounds(self, values: Columns, times: npt.ArrayLike | None = None) -> Array | tuple[Array, ...]:
        """For every row evict, insert and query: the answers, one array for each field of the answer."""
        inputs = self._columns(values)
        if len(inputs[0]):
            self._require_a_row()
        row_times = self._times(times, len(inputs[0]))
        self._make_room(len(self) + 1)
        if times is None:
            return self._answers("rounds", inputs, row_times, 0)
        return self._answers("timed_rounds", inputs, row_times)

    def fill_and_drain(self, values: Columns, n: int) -> Array | tuple[Array, ...]:
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise InputError(f"fill_and_drain takes a number of rows n from 1 on, not {n!r}")
        inputs = self._columns(values)
        self._make_room(len(self) + min(int(n), len(inputs[0])))
        return self._answers("rounds", inputs, np.array([self._last_time()]), int(n))

    def partials(self) -> dict[str, Any]:
        """Every stored partial, for tests and pictures: the tree from the root down, and the products of the spines."""
        self._run("step", [SETTLE, 0, 0])
        numbers = self._arrays[0]
        root = int(numbers[0, HEIGHT])
        if not self:
            return {"tree": ([], [], None, None), "suffix": [], "prefix": []}
        lefts = [int(numbers[level, LEFT]) for level in range(root + 1)]
        spine = {*lefts, *(int(numbers[level, RIGHT]) for level in range(root + 1))}
        last = 2 * self.min_arity

        def tree(x: int) -> tuple[Any, ...]:
            n = int(numbers[x, CNT])
            kids = [tree(int(k)) for k in numbers[x, T0 + last : T0 + last + n + 1]] if numbers[x, LVL] else None
            agg = None if x in spine else (self._at(x, last, last + 1)[0], int(numbers[x, ROWS]))
            return numbers[x, T0 : T0 + n].tolist(), self._at(x, 0, n), kids, agg

        suffix = [self._at(level, 0, int(numbers[lefts[level], CNT])) for level in range(root)]
        prefix = [self._at(level, last, last + 1)[0] for level in range(root + 1)]
        return {"tree": tree(lefts[-1]), "suffix": suffix, "prefix": prefix}

    def _at(self, x: int, start: int, stop: int) -> list[Any]:
        columns = [array[x, start:stop].tolist() for array in self._arrays[1:]]
        return columns[0] if self._program.layout.scalar else list(zip(*columns, strict=True))

    def _new_arrays(self, capacity: int) -> list[Array]:
        width = 2 * self.min_arity
        states = [np.zeros((capacity, width + 1), field) for field in self._program.layout.fields]
        return [np.zeros((capacity, T0 + 2 * width + 2), np.int64), *states]

    def _make_room(self, rows: int) -> None:
        """Add nodes until there are enough for so many rows, and room to save those that a step may change."""
        first = levels(self.min_arity)
        nodes = max(rows, SMALLEST) // (self.min_arity - 1) + 4
        height = int(self._arrays[0][0, HEIGHT])
        saved = 0 if self.operator.traits.form is not None else (height + 4) * (4 * self.min_arity + 12)
        if nodes <= self._nodes and first + self._nodes + saved <= len(self._arrays[0]):
            return
        nodes = max(nodes, 2 * self._nodes) if nodes > self._nodes else self._nodes
        old = self._arrays
        self._arrays = self._new_arrays(first + nodes + saved)
        for array, before in zip(self._arrays, old, strict=True):
            array[: first + self._nodes] = before[: first + self._nodes]
        numbers = self._arrays[0]
        added = np.arange(first + self._nodes, first + nodes)
        if len(added):
            numbers[added, ROWS] = np.append(added[1:], numbers[0, FREE])
            numbers[0, FREE] = added[0]
        self._nodes = nodes

    def _step(self, function: str, arguments: Iterable[Any] = ()) -> None:
        """Take one step; where an operator of one's own raises, the window is as it was."""
        if self.operator.traits.form is not None:
            self._run(function, arguments)
            return
        self._run("step", [SETTLE, 0, 0])
        first = levels(self.min_arity)
        numbers = self._arrays[0]
        before = [array[:first].copy() for array in self._arrays]
        numbers[0, JOURNAL] = 0
        try:
            self._run(function, arguments)
        except SlidewiseError:
            for j in range(int(numbers[0, JOURNAL]) - 1, -1, -1):
                saved = len(numbers) - 1 - j
                x = int(numbers[saved, -1])
                for array in self._arrays:
                    array[x] = array[saved]
            for array, spines in zip(self._arrays, before, strict=True):
                array[:first] = spines
            raise
        finally:
            numbers[0, JOURNAL] = -1

    def _loop(self, function: str, arguments: Iterable[Any]) -> tuple[Any, ...]:
        try:
            self._run(function, arguments)
        except BaseException:
            self.clear()
            raise
        self._timed = self._timed and len(self) > 0
        return ()

    def _some_found(self) -> bool:
        """Whether there are rows between the two places that were looked for."""
        spines = self._arrays[0][: int(self._arrays[0][0, HEIGHT]) + 1]
        return bool((spines[:, PLACE] != spines[:, STOP]).any())

    def _times(self, times: npt.ArrayLike | None, rows: int) -> Array:
        """The times of rows to come; one for all where they go to the end."""
        if times is None:
            return np.array([self._last_time()])
        row_times = read_column(times, "int64", "times")
        if len(row_times) != rows:
            raise InputError(f"{rows} rows and {len(row_times)} times; they must be of one length")
        if len(self):
            self._require_times()
        self._timed = self._timed or rows > 0
        return row_times

    def _time(self, t: RowTime) -> int:
        if len(self):
            self._require_times()
        return int(read_number(t, "int64", "a time"))

    def _last_time(self) -> int:
        numbers = self._arrays[0]
        leaf = numbers[0, RIGHT]
        return int(numbers[leaf, T0 + numbers[leaf, CNT] - 1]) if len(self) else 0

    def _require_times(self) -> None:
        if not len(self):
            raise EmptyWindowError("the window is empty and so has no times; check len() first")
        if not self._timed:
            raise SlidewiseError(
                f"the {len(self)} rows in the window have no times; give a time with every row, or with none"
            )
