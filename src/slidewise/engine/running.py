"""A batch under aggregates of everything so far: one pass per operator, from the states of all keys to their next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.series import Column
from slidewise.engine.evaluate import as_numbers
from slidewise.engine.sorting import mark_peers
from slidewise.engine.window_spec import Member, WindowSpec
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.order.grouping import Grouped
from slidewise.kernels.passes.running import running


class RunningStates(NamedTuple):
    """What was there before a batch: how many rows each key has had, and each member's states or Nones."""

    counts: Array
    states: list[list[Any]]


def running_pass(
    batch: Any,
    spec: WindowSpec,
    places: Array,
    peers: bool,
    columns: list[Column],
    valid: Array | None,
    before: RunningStates,
) -> tuple[list[Answers], RunningStates] | None:
    """Each member's answers in the batch's order, and what is there after it.

    None where an operator cannot be compiled for these rows and states.
    """
    keys = len(before.counts)
    if places.dtype == object or any(column.unit is not None for column in columns):
        return None
    grouped = Grouped(batch.codes, max(keys, 1))
    offsets = grouped.offsets
    codes = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    seen = np.ones(batch.count, np.bool_) if valid is None else grouped.bring(valid)
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(seen)])
    ends = np.arange(1, batch.count + 1)
    if peers and not spec.numbered:  # rows of equal time have the answer of the last of them
        group = np.empty(batch.count, np.int64)
        mark_peers(grouped.bring(places), offsets, group)
        ends = np.searchsorted(group, group, side="right")
    new = total[ends] - total[offsets[:-1]][codes]
    last = total[offsets[:-1]][codes] + new - 1  # the row, among those that count, whose answer is meant
    counts = before.counts[codes] + new if keys else new
    gained = np.diff(total[offsets])[:keys]
    found, states = [], []
    for one, old in zip(spec.members, before.states, strict=True):
        if one.operator.builtin and one.operator.name == "count":
            answers = Answers([counts.copy()], None)
            states.append((before.counts + gained).tolist())
        else:
            inputs = [grouped.bring(as_numbers(one.operator, column).data)[seen] for column in columns]
            went = running(one.operator, inputs, total[offsets], old)
            if went is None:
                return None
            states.append(went[1])
            answers = _looked_up(one, went[0], last, new > 0, codes, old)
        enough = counts >= one.least
        found.append(answers.limited(enough).moved(grouped.take_back))
    return found, RunningStates(before.counts + gained, states)


def _looked_up(one: Member, answers: Answers, last: Array, new: Array, codes: Array, old: list[Any]) -> Answers:
    """Each row's answer: that of the last row that counts, or what its key's state said before the batch."""
    ok = (
        np.ones(len(last), np.bool_)
        if answers.valid is None or not len(answers.valid)
        else answers.valid[np.maximum(last, 0)]
    )
    if new.all():
        return replace(
            answers, fields=[field[last] for field in answers.fields], valid=None if answers.valid is None else ok
        )
    said = [None if state is None else one.operator.lower(state) for state in old]
    before = [
        [None if value is None else (value[c] if isinstance(value, tuple) else value) for value in said]
        for c in range(len(answers.fields))
    ]
    fields = []
    for field, values in zip(answers.fields, before, strict=True):
        prior = np.array([0 if value is None else value for value in values], field.dtype)[codes]
        fields.append(np.where(new, field[np.maximum(last, 0)], prior) if len(field) else prior)
    known = np.array([value is not None for value in said], np.bool_)[codes]
    return replace(answers, fields=fields, valid=np.where(new, ok, known))
