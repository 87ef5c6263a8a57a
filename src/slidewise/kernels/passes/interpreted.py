"""The same windows without a compiler: for text, for any Python object, and for operators that Numba cannot compile."""

from __future__ import annotations

import numpy as np

from slidewise.arrays import Array
from slidewise.errors import OperatorFailedError, SlidewiseError
from slidewise.kernels.codegen.kernel import Answers
from slidewise.operators.operator import Operator
from slidewise.swag.daba_lite import DabaLite
from slidewise.swag.order_statistics import OrderStatistics


def interpreted(op: Operator, inputs: list[Array], starts: Array, ends: Array, own: Array | None = None) -> Answers:
    """The answers over windows [starts, ends) that never move back, row by row: by order statistics or DABA Lite.

    `own` are the windows' own rows, for order statistics that are about these.
    """
    try:
        return as_answers(_answers(op, inputs, starts, ends, own))
    except SlidewiseError:
        raise
    except Exception as error:
        if op.builtin:
            raise
        raise OperatorFailedError(f"operator {op.name!r} raised {error!r} on these rows") from error


def _answers(op: Operator, inputs: list[Array], starts: Array, ends: Array, own: Array | None) -> Array:
    rows = list(zip(*(x.tolist() for x in inputs), strict=True))
    window = DabaLite(op) if op.traits.order_statistic is None else OrderStatistics(op)
    start = end = 0
    answers = np.empty(len(starts), object)
    for i, (s, e) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        if s >= e:
            answers[i] = op.lower(op.identity) if op.builtin or op.traits.answers_empty else None
            continue
        if s >= end:
            window.clear()
            start = end = max(s, end)
        while end < e:
            window.insert(*rows[end])
            end += 1
        if s > start:
            window.evict_many(s - start)
            start = s
        if own is None:
            answers[i] = window.query()
        else:
            assert isinstance(window, OrderStatistics)
            answers[i] = window.query_own(rows[own[i]][0], bool(s <= own[i] < e))
    return answers


def as_answers(answers: Array) -> Answers:
    """An array of objects as answers: numbers and bools as arrays of their type, anything else as objects."""
    valid = np.array([value is not None for value in answers], np.bool_)
    kinds = {type(value) for value, ok in zip(answers, valid, strict=True) if ok}
    ok = None if valid.all() else valid
    if kinds == {np.uint64}:
        return Answers([np.where(valid, answers, np.uint64(0)).astype(np.uint64)], ok)
    if any(issubclass(kind, (np.number, np.bool_)) for kind in kinds):  # wide enough for any of them, as in a kernel
        numbers = [value.item() if isinstance(value, (np.number, np.bool_)) else value for value in answers]
        return as_answers(np.array([*numbers, None], object)[:-1])
    for kind, dtype, fill in ((bool, np.bool_, False), (int, np.int64, 0), (float, np.float64, 0.0)):
        if kinds == {kind} or (kind is float and kinds == {int, float}):
            try:
                return Answers([np.where(valid, answers, fill).astype(dtype)], ok)
            except OverflowError:
                break
    return Answers([answers], ok)
