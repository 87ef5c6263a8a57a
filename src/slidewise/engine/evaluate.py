"""From series and a window to answers: group by key, find each window's rows, leave out nulls, run, put back."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.operator_types import as_numbers
from slidewise.columns.results import BARE
from slidewise.errors import SlidewiseError, TimeOrderError, WindowError
from slidewise.kernels.bounds.grain import grain_bounds
from slidewise.kernels.bounds.rows_and_times import row_bounds, time_bounds
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.order.grouping import Grouped
from slidewise.kernels.passes.dispatch import run_bounds, run_rows
from slidewise.kernels.passes.interpreted import interpreted
from slidewise.kernels.passes.window_passes import WINDOW_PASSES, encode, quantiles_of
from slidewise.operators.aggregate import at_least
from slidewise.operators.operator import Operator
from slidewise.windows import Duration, Window

if TYPE_CHECKING:
    from slidewise.columns.series import Column


def answer(
    op: Operator,
    columns: list[Column],
    window: Window,
    times: Column | None,
    keys: Column | None,
) -> tuple[dict[str, Array], Array | None]:
    """The fields of the answers by name, and which rows have one (None: all)."""
    m = len(columns[0])
    valid = all_valid(columns)
    least = at_least(op, window)
    columns = [as_numbers(op, column) for column in columns]
    rows = window.rows if times is None else None
    if times is None:
        rows = min(rows or m, max(m, 1))
    grouped = None if keys is None else Grouped(*encode(keys.data, keys.valid))
    inputs = [column.data if grouped is None else grouped.bring(column.data) for column in columns]
    droppable = least <= 1 or (keys is None and op.traits.never_raises)
    if rows is not None and valid is None and window.closed == "right" and droppable:
        answers = plain_rows(op, inputs, rows, None if grouped is None else grouped.offsets)
        if least > 1:
            enough = np.minimum(np.arange(1, m + 1), rows) >= least
            answers = answers.limited(enough)
    else:
        starts, ends = _bounds(window, rows, times, grouped, m)
        present = valid if grouped is None or valid is None else grouped.bring(valid)
        answers = over_bounds(op, inputs, present, starts, ends, least, window.closed in ("left", "neither"))
    if grouped is not None:
        answers = answers.moved(grouped.take_back)
    return named_fields(op, answers)


def over_bounds(
    op: Operator, inputs: list[Array], valid: Array | None, starts: Array, ends: Array, least: int, may_be_empty: bool
) -> Answers:
    """The answers over windows [starts, ends) of rows sorted by key; `valid` rows count, and `least` are needed."""
    return several_over_bounds([op], inputs, valid, starts, ends, least, may_be_empty)[0]


def several_over_bounds(
    ops: list[Operator],
    inputs: list[Array],
    valid: Array | None,
    starts: Array,
    ends: Array,
    least: int,
    may_be_empty: bool,
) -> list[Answers]:
    """The same for several operators, of which exact quantiles are answered together."""
    if valid is not None:
        inputs, starts, ends = _without_nulls(inputs, valid, starts, ends)
    counts = ends - starts if valid is not None or may_be_empty or least > 1 else None
    if counts is not None and least > 1:
        starts = np.where(counts < least, ends, starts)
    if len(ops) > 1 and all(op.traits.quantile for op in ops) and inputs[0].dtype != object:
        found = quantiles_of(ops, inputs[0], starts, ends)
    else:
        found = [_windows(op, inputs, starts, ends) for op in ops]
    if counts is None or least == 0:
        return found
    enough = counts >= least
    return [one.limited(enough) for one in found]


def named_fields(op: Operator, answers: Answers) -> tuple[dict[str, Array], Array | None]:
    """The fields of the answers by name, `BARE` where answers are no structs; and which rows have one."""
    ok = answers.valid
    fields = answers.fields
    names = op.traits.fields
    if names:
        if len(fields) == 1:
            structs = fields[0]
            fields = [_objects([None if one is None else one[i] for one in structs]) for i in range(len(names))]
        return dict(zip(names, fields, strict=True)), ok
    if len(fields) == 1 and not answers.struct:
        return {BARE: fields[0]}, ok
    return {str(i): field for i, field in enumerate(fields)}, ok


def _objects(values: list[Any]) -> Array:
    return np.array([*values, None], object)[:-1]


def all_valid(columns: list[Column]) -> Array | None:
    valid = None
    for column in columns:
        if column.valid is not None:
            valid = column.valid if valid is None else valid & column.valid
    return valid


def plain_rows(op: Operator, inputs: list[Array], n: int, offsets: Array | None = None) -> Answers:
    """The common case: no nulls, the last n rows, of each key where there are offsets."""
    m = len(inputs[0])
    offsets = np.array([0, m]) if offsets is None else offsets
    if all(x.dtype != object for x in inputs):
        answers = run_rows(op, inputs, offsets, n)
        if answers is not None:
            return answers
    index = np.int32 if m < 2**31 - 1 else np.int64
    starts, ends = np.empty(m, index), np.empty(m, index)
    row_bounds(offsets, n, False, starts, ends)
    return _windows(op, inputs, starts, ends)


def _windows(op: Operator, inputs: list[Array], starts: Array, ends: Array) -> Answers:
    if op.traits.window_pass is not None:
        return WINDOW_PASSES[op.traits.window_pass](op, inputs[0], starts, ends)
    answers = None if any(x.dtype == object for x in inputs) else run_bounds(op, inputs, starts, ends)
    return interpreted(op, inputs, starts, ends) if answers is None else answers


def _bounds(
    window: Window, rows: int | None, times: Column | None, grouped: Grouped | None, m: int
) -> tuple[Array, Array]:
    offsets = np.array([0, m]) if grouped is None else grouped.offsets
    index = np.int32 if m < 2**31 - 1 else np.int64
    starts, ends = np.empty(m, index), np.empty(m, index)
    left = window.closed in ("left", "neither")
    if times is None:
        assert rows is not None
        row_bounds(offsets, rows, left, starts, ends)
        return starts, ends
    moments, backwards = find_bounds(window, times, grouped, offsets, starts, ends)
    if backwards >= 0:
        at = _first_backwards(moments, grouped)
        after, before = (_shown(times, i) for i in at)
        raise TimeOrderError(
            f"times run backwards at position {at[0]}: {after} comes after {before} at position {at[1]}; "
            "sort the rows by time within each key"
        )
    return starts, ends


def find_bounds(
    window: Window, times: Column, arranged: Any, offsets: Array, starts: Array, ends: Array
) -> tuple[Array, int]:
    """The bounds of each row's window of time, and a position where the sorted times run backwards, or -1.

    `arranged`, where it is not None, brings rows into the order of keys. Gives the sorted times, too.
    """
    moments, width, edge = ticks(window, times)
    moments = moments if arranged is None else arranged.bring(moments)
    left = window.closed in ("left", "neither")
    if window.grain is None:
        whole = moments.dtype == np.int64
        return moments, time_bounds(moments, offsets, width, whole, edge, left, starts, ends)
    last, grain = (
        Fraction(one.ns, times.unit) if isinstance(one, Duration) else Fraction(one or 0)
        for one in (window.last, window.grain)
    )
    at_edge = window.closed in ("both", "left")
    return moments, grain_bounds(moments, offsets, last, grain, at_edge, left, starts, ends)


def _first_backwards(moments: Array, grouped: Grouped | None) -> tuple[int, int]:
    """The first row in the input whose time lies before that of its key's row ahead of it, and that row."""
    backwards = np.flatnonzero(moments[1:] < moments[:-1]) + 1
    if grouped is None:
        return int(backwards[0]), int(backwards[0]) - 1
    backwards = np.setdiff1d(backwards, grouped.offsets)
    rows = np.empty(len(moments), np.int64)
    rows[grouped.places] = np.arange(len(moments))
    first = backwards[np.argmin(rows[backwards])]
    return int(rows[first]), int(rows[first - 1])


def ticks(window: Window, times: Column) -> tuple[Array, Any, bool]:
    """Times as numbers, the window's width in the same unit, and whether rows exactly that old are in.

    The width of whole times is unsigned, as are the ages that it is compared with: exact at any distance.
    """
    edge = window.closed in ("both", "left") or window.last is None
    if times.valid is not None:
        null = ~times.valid
        raise SlidewiseError(
            f"times holds {null.sum()} nulls, the first at position {null.argmax()}; leave these rows out"
        )
    data = times.data
    if times.is_object or data.dtype == bool:
        text = len(data) and isinstance(data[0], str)
        read = "; these are text, so give them as np.asarray(times).astype('datetime64[us]')" if text else ""
        raise WindowError(f"times must be timestamps, dates or numbers{read}")
    if times.unit is None:
        if isinstance(window.last, Duration):
            raise WindowError(f"times are numbers, but the window lasts {window.last}; give last= as a number")
        if data.dtype == np.float64 and not np.isfinite(data).all():
            wrong = int((~np.isfinite(data)).argmax())
            raise SlidewiseError(f"times holds {data[wrong]} at position {wrong}; times must be finite")
        if data.dtype == np.int64:
            whole = _FARTHEST if window.last is None else int(window.last)
            return data, np.uint64(min(whole, _FARTHEST)), edge or whole != window.last
        return data, float("inf") if window.last is None else float(window.last), edge
    if window.last is None:
        return data, np.uint64(_FARTHEST), True
    if not isinstance(window.last, Duration):
        raise WindowError(f"times are timestamps, but last={window.last!r} is a number; write it as '10 minutes', say")
    width, rest = divmod(window.last.ns, times.unit)
    return data, np.uint64(min(width, _FARTHEST)), edge or rest > 0


_FARTHEST = 2**64 - 1


def _shown(times: Column, i: int) -> Any:
    if times.unit is None:
        return times.data[i]
    value = times.restore(times.data[i : i + 1])
    return value[0]


def _without_nulls(inputs: list[Array], valid: Array, starts: Array, ends: Array) -> tuple[list[Array], Array, Array]:
    """Only the rows that are there, and windows over them."""
    before = np.zeros(len(valid) + 1, starts.dtype)
    np.cumsum(valid, out=before[1:])
    return [x[valid] for x in inputs], before[starts], before[ends]
