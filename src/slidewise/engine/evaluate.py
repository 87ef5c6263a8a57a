"""Evaluates an operator over windows: group by key, find bounds, leave out nulls, run a pass, restore the order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.answer_series import BARE
from slidewise.columns.operator_types import as_numbers
from slidewise.engine.bounds import backwards_error, check_times, find_bounds
from slidewise.engine.column_checks import all_valid
from slidewise.kernels.bounds.in_parts import cuts_between_windows, rows_between, several_in_parts
from slidewise.kernels.bounds.rows_and_times import row_bounds
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.compiler.threads import parts_of
from slidewise.kernels.order.grouping import Grouped, dictionary_codes
from slidewise.kernels.passes.by_category import by_category
from slidewise.kernels.passes.dispatch import compiled_kernel, run_bounds, run_rows
from slidewise.kernels.passes.interpreted import interpreted
from slidewise.kernels.passes.window_passes import CUT_PASSES, OWN_ROW_PASSES, WINDOW_PASSES, quantiles_of
from slidewise.operators.aggregate import at_least
from slidewise.operators.operator import Operator
from slidewise.operators.per_category import PASS
from slidewise.windows import Window

if TYPE_CHECKING:
    from slidewise.columns.series import Column


def answer(
    op: Operator,
    columns: list[Column],
    window: Window,
    times: Column | None,
    keys: Column | None,
    marks: Array | None = None,
) -> tuple[dict[str, Array], Array | None]:
    """An operator over each row's window of series: the answers' fields by name, and which rows have one. `marks` are
    the rows at which windows begin anew, where these are marked."""
    m = len(columns[0])
    valid = all_valid(columns)
    least = at_least(op, window)
    columns = [as_numbers(op, column) for column in columns]
    rows = window.rows if times is None else None
    if times is None:
        rows = min(rows or m, max(m, 1))
    grouped = None if keys is None else Grouped(*dictionary_codes(keys.data, keys.valid))
    inputs = [column.data if grouped is None else grouped.to_sorted(column.data) for column in columns]
    droppable = least <= 1 or (keys is None and op.traits.never_raises)
    own = np.arange(m) if op.traits.own_value is not None else None
    if rows is not None and valid is None and window.usual_ends and droppable and window.reset is None:
        answers = plain_rows(op, inputs, rows, None if grouped is None else grouped.offsets)
        if least > 1:
            enough = np.minimum(np.arange(1, m + 1), rows) >= least
            answers = answers.limited(enough)
    else:
        if times is not None:
            check_times(window, times)
        starts, ends, backwards = find_bounds(window, times, grouped, m, marks)
        if times is not None and backwards >= 0:
            raise backwards_error(times, grouped)
        present = valid if grouped is None or valid is None else grouped.to_sorted(valid)
        answers = over_bounds(op, inputs, present, starts, ends, least, window.may_be_empty, own)
    if grouped is not None:
        answers = answers.moved(grouped.to_input)
    return named_fields(op, answers)


def over_bounds(
    op: Operator,
    inputs: list[Array],
    valid: Array | None,
    starts: Array,
    ends: Array,
    least: int,
    may_be_empty: bool,
    own: Array | None = None,
) -> Answers:
    """The answers over windows [starts, ends) of rows sorted by key; `valid` rows count, and `least` are needed.

    `own` are the windows' own rows, for operators that are about these; None where they have none.
    """
    return several_over_bounds([op], inputs, valid, starts, ends, least, may_be_empty, own)[0]


def several_over_bounds(
    ops: list[Operator],
    inputs: list[Array],
    valid: Array | None,
    starts: Array,
    ends: Array,
    least: int,
    may_be_empty: bool,
    own: Array | None = None,
) -> list[Answers]:
    """The same for several operators, of which exact quantiles are answered together."""
    cuts = []
    if parts_of(len(starts)) > 1 and all(_may_be_cut(op, inputs) for op in ops):
        cuts = cuts_between_windows(starts, ends)
    if len(cuts) <= 2:
        return _several(ops, inputs, valid, starts, ends, least, may_be_empty, own)

    def run(a: int, b: int) -> list[Answers]:
        low, high, firsts, lasts = rows_between(starts[a:b], ends[a:b])
        counted = None if valid is None else valid[low:high]
        return _several(ops, [x[low:high] for x in inputs], counted, firsts, lasts, least, may_be_empty, None)

    return several_in_parts(cuts, run, len(ops))


def _may_be_cut(op: Operator, inputs: list[Array]) -> bool:
    """Whether an operator's windows are answered part by part, in threads; not where its pass has threads itself."""
    traits = op.traits
    if traits.own_value is not None or traits.order_statistic is not None or any(x.dtype == object for x in inputs):
        return False
    if traits.window_pass is not None:
        return traits.window_pass in CUT_PASSES
    return traits.bounds_pass is not None or compiled_kernel(op, inputs) is not None


def _several(
    ops: list[Operator],
    inputs: list[Array],
    valid: Array | None,
    starts: Array,
    ends: Array,
    least: int,
    may_be_empty: bool,
    own: Array | None,
) -> list[Answers]:
    """The same in one part."""
    own_valid = None if own is None or valid is None else valid[own]
    if valid is not None:
        before = np.zeros(len(valid) + 1, starts.dtype)
        np.cumsum(valid, out=before[1:])
        inputs, starts, ends = [x[valid] for x in inputs], before[starts], before[ends]
        own = None if own is None else np.minimum(before[own], max(int(before[-1]) - 1, 0))
    counts = ends - starts if valid is not None or may_be_empty or least > 1 else None
    if counts is not None and least > 1:
        starts = np.where(counts < least, ends, starts)
    quantiles = [op for op in ops if op.traits.order_statistic is not None and op.traits.own_value is None]
    if len(quantiles) > 1 and inputs[0].dtype != object:
        answered = dict(zip(quantiles, quantiles_of(quantiles, inputs[0], starts, ends), strict=True))
        by_operator = [answered.get(op) or _windows(op, inputs, starts, ends, own) for op in ops]
    else:
        by_operator = [_windows(op, inputs, starts, ends, own) for op in ops]
    if own_valid is not None:
        by_operator = [
            answers if op.traits.own_value is None else answers.limited(own_valid)
            for op, answers in zip(ops, by_operator, strict=True)
        ]
    if counts is None or least == 0:
        return by_operator
    enough = counts >= least
    return [answers.limited(enough) for answers in by_operator]


def named_fields(op: Operator, answers: Answers) -> tuple[dict[str, Array], Array | None]:
    """The fields of the answers by name, `BARE` where answers are no structs; and which rows have one."""
    ok = answers.valid
    fields = answers.fields
    names = op.traits.fields
    if names:
        if len(fields) == 1:
            structs = fields[0]
            fields = [_objects([None if value is None else value[i] for value in structs]) for i in range(len(names))]
        return dict(zip(names, fields, strict=True)), ok
    if len(fields) == 1 and not answers.struct:
        return {BARE: fields[0]}, ok
    fields = [_masked(field, answers.present.get(i)) for i, field in enumerate(fields)]
    return dict(zip(answers.names or map(str, range(len(fields))), fields, strict=True)), ok


def _masked(part: Array, present: Array | None) -> Array:
    return part if present is None else np.ma.MaskedArray(part, ~present)


def _objects(values: list[Any]) -> Array:
    return np.array([*values, None], object)[:-1]


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


def _windows(op: Operator, inputs: list[Array], starts: Array, ends: Array, own: Array | None = None) -> Answers:
    """The answers over windows of rows that are all there; without `own`, a window's own row is its newest."""
    if op.traits.window_pass == PASS:
        return by_category(op, inputs, starts, ends, _windows)
    if op.traits.own_value is not None:
        own = np.maximum(ends - 1, 0) if own is None else own
        if op.traits.window_pass is None:
            return interpreted(op, inputs, starts, ends, own)
        return OWN_ROW_PASSES[op.traits.window_pass](op, inputs[0], starts, ends, own)
    if op.traits.window_pass is not None:
        return WINDOW_PASSES[op.traits.window_pass](op, inputs[0], starts, ends)
    answers = None if any(x.dtype == object for x in inputs) else run_bounds(op, inputs, starts, ends)
    return interpreted(op, inputs, starts, ends) if answers is None else answers
