"""The state of each slice of time: partial aggregates, each once whatever number of windows use it, or rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.operator_types import as_numbers, readied
from slidewise.columns.series import Column
from slidewise.definition import Definition
from slidewise.engine.answers import check_inputs
from slidewise.engine.batch import ColumnSource
from slidewise.engine.column_checks import present
from slidewise.engine.evaluate import several_over_bounds
from slidewise.errors import WindowError
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.passes.partials import Partials, partials
from slidewise.operators.aggregate import at_least
from slidewise.operators.operator import Operator
from slidewise.windows import Beats, Duration, Window

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Part:
    """A part of each slice, shared by aggregates: states of an operator, or `by_rows` the arguments themselves."""

    operator: Operator
    columns: tuple[str, ...]
    condition: str | None
    by_rows: bool


class BeatColumn(NamedTuple):
    """One aggregate: its name and operator, how many rows it needs, and the numbers of its part and its window."""

    name: str
    operator: Operator
    least: int
    part: int
    window: int


class SlicePlan:
    """A definition's aggregates, the parts that they need, and their windows, each once.

    Exact quantiles need all rows. Where these are at hand for as long as a window lasts, `in_batch`, they also serve
    operators that have a pass of their own over rows, which is faster than one over their states.
    """

    def __init__(self, definition: Definition, in_batch: bool) -> None:
        self.definition = definition
        self.parts: list[Part] = []
        self.windows: list[Window] = []
        self.asked: list[BeatColumn] = []
        for name, aggregate in definition.aggregates.items():
            op, window = aggregate.operator, aggregate.window
            assert window is not None
            quantile = op.traits.order_statistic is not None
            by_rows = quantile or (in_batch and _served_by_rows(op))
            part = Part(op, aggregate.columns, aggregate.condition, by_rows)
            alike = [other for other in self.parts if quantile and other.operator.traits.order_statistic is not None]
            part = next((other for other in alike if replace(other, operator=op) == part), part)
            plain = Window(last=window.last, closed=window.closed)
            self.asked.append(
                BeatColumn(name, op, at_least(op, window), _place(self.parts, part), _place(self.windows, plain))
            )

    def beats(self, unit: int | None, floats: bool, arrow: pa.DataType | None = None) -> Beats:
        """Where time is cut for times of this unit, in nanoseconds; None for numbers. A beat must be such a time."""
        definition = self.definition
        every, offset, on = definition.every, definition.offset, definition.on
        assert every is not None
        if isinstance(every, Duration) != (unit is not None):
            kinds = ("numbers", "a number") if unit is None else ("times", "a duration, such as '1 minute'")
            raise WindowError(f"on={on!r} holds {kinds[0]}, but every is {str(every)!r}; give it as {kinds[1]}")
        for name, length in (("every", every), ("offset", offset)):
            if isinstance(length, Duration):
                step = 86_400 * 10**9 if str(arrow).startswith("date") else unit or 1
                if length.ns % step:
                    holds = "dates" if step > 10**9 else f"whole steps of {Duration(step)}"
                    raise WindowError(
                        f"{name}={str(length)!r} gives beats that on={on!r}, which holds {holds}, cannot hold; cast it "
                        "to timestamps of a finer unit"
                    )
            elif length is not None and not floats and length != int(length):
                raise WindowError(
                    f"{name}={length!r} gives beats that on={on!r}, which holds whole numbers, cannot hold; cast it to "
                    "float64"
                )
        return Beats(every, offset, self.windows, unit, floats)


def _served_by_rows(op: Operator) -> bool:
    """Whether rows serve an operator better than its states do."""
    return op.traits.grows or (op.traits.window_pass is not None and not op.traits.counts_rows)


def _place(known: list[Any], item: Any) -> int:
    if item not in known:
        known.append(item)
    return known.index(item)


class Values:
    """Rows of slices, where a part keeps these: how many each slice has, and their arguments, one array for each."""

    def __init__(self, inputs: list[Array], counts: Array) -> None:
        self.inputs = inputs
        self.counts = counts

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def offsets(self) -> Array:
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts)])

    def taken(self, which: Array | slice) -> Values:
        """The rows of some slices: at some places, or those for which a mask or a slice says so."""
        offsets = self.offsets
        starts, counts = offsets[:-1][which], self.counts[which]
        shift = np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        at = np.arange(len(shift)) + shift
        return Values([x[at] for x in self.inputs], counts)

    def joined(self, later: Values) -> Values:
        inputs = [_concatenated([a, b]) for a, b in zip(self.inputs, later.inputs, strict=True)]
        return Values(inputs, np.concatenate([self.counts, later.counts]))

    def folded(self, offsets: Array) -> Values:
        """Runs of slices as one."""
        return Values(self.inputs, np.diff(self.offsets[offsets]))

    def several(self, ops: list[Operator], starts: Array, ends: Array, least: int) -> list[Answers]:
        """The answers of operators over windows of slices."""
        offsets = self.offsets
        return several_over_bounds(ops, self.inputs, None, offsets[starts], offsets[ends], least, True)


def _concatenated(parts: list[Array]) -> Array:
    """One array; numbers of two kinds become objects, which keep what they are."""
    parts = [part for part in parts if len(part)] or parts[:1]
    if len({part.dtype for part in parts}) > 1:
        parts = [np.array([*part.tolist(), None], object)[:-1] for part in parts]
    return np.concatenate(parts)


Stored = Partials | Values


class Arguments(NamedTuple):
    """A part's arguments in rows: arrays, which rows count (None: all), and what answers need to get their types."""

    inputs: list[Array]
    valid: Array | None
    columns: list[Column]
    types: list[Any]


def arguments(source: ColumnSource, part: Part, to_sorted: Callable[[Array], Array]) -> Arguments:
    """A part's arguments in a table's rows, checked, and brought into order."""
    op, names = part.operator, part.columns
    columns = [source.column(name) for name in names]
    flag = None if part.condition is None else source.column(part.condition)
    valid = present(columns, part.condition, flag)
    types = [source.kind_of(name) for name in names]
    columns = columns or [Column(np.zeros(source.count, np.int64), None, lambda x: x)]
    check_inputs(op, names, columns, types)
    prepared = readied(op, columns)
    inputs = [to_sorted(as_numbers(op, column).data) for column in prepared]
    return Arguments(inputs, None if valid is None else to_sorted(valid), prepared, types)


def stored(part: Part, rows: Arguments, offsets: Array) -> Stored:
    """The values of one part over slices: slice k has the rows from offsets[k] up to offsets[k + 1]."""
    if not part.by_rows:
        return partials(part.operator, rows.inputs, rows.valid, offsets)
    if rows.valid is None:
        return Values(rows.inputs, np.diff(offsets))
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(rows.valid)])
    return Values([x[rows.valid] for x in rows.inputs], np.diff(total[offsets]))
