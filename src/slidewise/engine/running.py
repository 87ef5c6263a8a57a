"""Running aggregates over a batch: one compiled pass per operator from the states of all keys to their next, or row by
row where an operator does not compile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext, suppress
from copy import copy
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.operator_types import as_numbers
from slidewise.columns.series import Column
from slidewise.engine.answers import as_arrays, check_inputs, typed
from slidewise.engine.batch import Batch, columns_of
from slidewise.engine.joining import as_python
from slidewise.engine.point_in_time.queries import Queries
from slidewise.engine.running_pane import RunningPane
from slidewise.engine.sorting import mark_peers
from slidewise.engine.window_spec import Member, WindowSpec
from slidewise.errors import SumOverflowError
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.order.grouping import Grouped
from slidewise.kernels.passes.running import running

if TYPE_CHECKING:
    import pyarrow as pa


class StoredStates(NamedTuple):
    """The states of earlier batches: each key's pane, None where it has had no rows."""

    panes: list[RunningPane | None]

    @classmethod
    def of_first(cls, pane: RunningPane | None, keys: int) -> StoredStates:
        """The states of the first of so many keys; the others have none."""
        return cls([pane, *[None] * (keys - 1)])


class RunningBatch:
    """One spec over everything up to each row of a batch.

    With `peers`, rows of equal place see one another, and rows come sorted by key and place. With `queries`, these are
    answered and no row is; no row to come may have a place of this batch then. What `before` holds is left as it is.
    """

    stored = StoredStates

    def __init__(
        self,
        batch: Batch,
        spec: WindowSpec,
        places: Array,
        before: StoredStates,
        peers: bool,
        silent: Array | None = None,
        queries: Queries | None = None,
    ) -> None:
        assert silent is None, "a window over everything so far has no rows that are only seen"
        self._spec = spec
        self._panes: list[RunningPane] = []
        self._after: _States | None = None
        columns, valid = columns_of(batch, spec)
        types = [batch.kind_of(name) for name in spec.columns]
        for member in spec.members:
            check_inputs(member.operator, spec.columns, columns, types)
        compiled = None
        if queries is not None or not spec.is_open:
            with suppress(SumOverflowError) if peers else nullcontext():  # a sum may fit once the last peer is in
                states = _States.of(before, len(spec.members))
                compiled = _compiled(batch, spec, places, peers, columns, valid, states, queries)
        if compiled is None:
            answers = self._row_by_row(batch, places, before, peers, columns, valid, queries)
            self._arrays = as_arrays(spec, types, answers)
        else:
            by_member, self._after = compiled
            pairs = zip(spec.members, by_member, strict=True)
            self._arrays = [typed(member.operator, columns, types, part, member.name) for member, part in pairs]

    def arrays(self) -> list[pa.Array]:
        """The answers of each member as an Arrow array, in the batch's order, or in that of the queries."""
        return self._arrays

    def kept(self) -> Iterator[RunningPane]:
        """Each key's pane after the batch."""
        if self._after is None:
            return iter(self._panes)
        after = self._after
        return (after.pane(self._spec, k) for k in range(len(after.counts)))

    def kept_of_last(self) -> RunningPane:
        """The pane of the last key."""
        return self._panes[-1] if self._after is None else self._after.pane(self._spec, -1)

    def _row_by_row(
        self,
        batch: Batch,
        places: Array,
        before: StoredStates,
        peers: bool,
        columns: list[Column],
        valid: Array | None,
        queries: Queries | None,
    ) -> list[list[Any]]:
        """The answers of each row, or of each query, from panes of Python objects."""
        panes = [RunningPane(self._spec) if pane is None else copy(pane) for pane in before.panes]
        self._panes = panes
        values = zip(*(as_python(column, column.data).tolist() for column in columns), strict=True)
        counted = [True] * batch.count if valid is None else valid.tolist()
        codes = batch.codes.tolist()
        rows = [
            (place, row if counts else None)
            for place, row, counts in zip(places.tolist(), values, counted, strict=True)
        ]
        if queries is not None:
            return _query_by_query(self._spec, panes, places, codes, [row for _, row in rows], queries)
        if not peers:
            return [panes[k].take(*row) for k, row in zip(codes, rows, strict=True)]
        answers: list[list[Any]] = []
        for (k, _), group in groupby(range(len(rows)), key=lambda i: (codes[i], rows[i][0])):
            answers += panes[k].push_peers([rows[i] for i in group])
        return answers


def _query_by_query(
    spec: WindowSpec, panes: list[RunningPane], places: Array, codes: list[int], rows: list[Any], queries: Queries
) -> list[list[Any]]:
    """The answers of queries from panes, which take in the rows before each, and in the end all of them."""
    offsets = np.searchsorted(codes, np.arange(len(panes) + 1))
    _, ends = queries.bounds(spec, places, offsets)
    taken = offsets[:-1].tolist()
    answers = []
    for k, end in zip(queries.codes.tolist(), ends.tolist(), strict=True):
        for row in rows[taken[k] : end]:
            panes[k].add(row)
        taken[k] = max(taken[k], end)
        answers.append(panes[k].answers())
    for k, stop in enumerate(offsets[1:].tolist()):
        for row in rows[taken[k] : stop]:
            panes[k].add(row)
    return answers


class _States(NamedTuple):
    """How many rows each key has had, and for each member the states of all keys, None where a key has none."""

    counts: Array
    states: list[list[Any]]

    @classmethod
    def of(cls, stored: StoredStates, members: int) -> _States:
        counts = np.array([0 if pane is None else pane.count for pane in stored.panes], np.int64)
        held = [pane.states if pane is not None and pane.count else [None] * members for pane in stored.panes]
        return cls(counts, [[states[j] for states in held] for j in range(members)])

    def pane(self, spec: WindowSpec, k: int) -> RunningPane:
        count = int(self.counts[k])
        return RunningPane.of(spec, count, [part[k] for part in self.states] if count else [])


def _compiled(
    batch: Batch,
    spec: WindowSpec,
    places: Array,
    peers: bool,
    columns: list[Column],
    valid: Array | None,
    before: _States,
    queries: Queries | None,
) -> tuple[list[Answers], _States] | None:
    """Each member's answers in the batch's order, or in that of the queries, and the states after the batch.

    None where an operator cannot be compiled for these rows and states.
    """
    keys = len(before.counts)
    if places.dtype == object or any(column.unit is not None for column in columns):
        return None
    grouped = Grouped(batch.codes, max(keys, 1))
    offsets = grouped.offsets
    codes = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) if queries is None else queries.codes
    seen = np.ones(batch.count, np.bool_) if valid is None else grouped.to_sorted(valid)
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(seen)])
    if queries is not None:
        _, ends = queries.bounds(spec, grouped.to_sorted(places), offsets)
    elif not peers or spec.numbered:
        ends = np.arange(1, batch.count + 1)
    else:  # rows of equal time have the answer of the last of them
        group = np.empty(batch.count, np.int64)
        mark_peers(grouped.to_sorted(places), offsets, group)
        ends = np.searchsorted(group, group, side="right")
    new = total[ends] - total[offsets[:-1]][codes]
    last = total[offsets[:-1]][codes] + new - 1  # the row, among those that count, whose answer is meant
    counts = before.counts[codes] + new if keys else new
    gained = np.diff(total[offsets])[:keys]
    by_member, states = [], []
    for member, old in zip(spec.members, before.states, strict=True):
        if member.operator.traits.counts_rows:
            answers = Answers([counts.copy()], None)
            states.append((before.counts + gained).tolist())
        else:
            inputs = [grouped.to_sorted(as_numbers(member.operator, column).data)[seen] for column in columns]
            result = running(member.operator, inputs, total[offsets], old)
            if result is None:
                return None
            states.append(result[1])
            answers = _looked_up(member, result[0], last, new > 0, codes, old)
        enough = counts >= member.least
        answers = answers.limited(enough)
        by_member.append(answers if queries is not None else answers.moved(grouped.to_input))
    return by_member, _States(before.counts + gained, states)


def _looked_up(member: Member, answers: Answers, last: Array, new: Array, codes: Array, old: list[Any]) -> Answers:
    """Each row's answer: that of the last row that counts, or what its key's state said before the batch."""
    ok = (
        np.ones(len(last), np.bool_)
        if answers.valid is None or not len(answers.valid)
        else answers.valid[np.maximum(last, 0)]
    )
    at = np.maximum(last, 0)
    if new.all():
        return replace(
            answers,
            fields=[field[last] for field in answers.fields],
            valid=None if answers.valid is None else ok,
            present={c: rows[last] for c, rows in answers.present.items()},
        )
    lowered = [None if state is None else member.operator.lower(state) for state in old]
    before = [
        [None if value is None else (value[c] if isinstance(value, tuple) else value) for value in lowered]
        for c in range(len(answers.fields))
    ]
    fields = []
    for field, values in zip(answers.fields, before, strict=True):
        prior = np.array([0 if value is None else value for value in values], field.dtype)[codes]
        fields.append(np.where(new, field[at], prior) if len(field) else prior)
    known = np.array([value is not None for value in lowered], np.bool_)[codes]
    present = {}
    for c, rows in answers.present.items():
        prior = np.array([value is not None for value in before[c]], np.bool_)[codes]
        present[c] = np.where(new, rows[at], prior) if len(rows) else prior
    return replace(answers, fields=fields, valid=np.where(new, ok, known), present=present)
