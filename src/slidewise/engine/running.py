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
from slidewise.engine.batch import Batch, columns_of, marks_of
from slidewise.engine.joining import as_python
from slidewise.engine.point_in_time.queries import Queries
from slidewise.engine.running_pane import Read, RunningPane
from slidewise.engine.sorting import mark_peers
from slidewise.engine.window_spec import Marked, Member, WindowSpec
from slidewise.errors import SumOverflowError
from slidewise.kernels.bounds.resets import goes_on, rows_that_begin
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.order.grouping import Grouped
from slidewise.kernels.passes.running import KeySegments, running

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
        marks = marks_of(batch, spec)
        types = [batch.kind_of(name) for name in spec.columns]
        for member in spec.members:
            check_inputs(member.operator, spec.columns, columns, types)
        compiled = None
        if queries is not None or not spec.is_open:
            with suppress(SumOverflowError) if peers else nullcontext():  # a sum may fit once the last peer is in
                states = _States.of(before, len(spec.members))
                compiled = _compiled(batch, spec, places, peers, columns, valid, marks, states, queries)
        if compiled is None:
            answers = self._row_by_row(batch, places, before, peers, columns, valid, marks, queries)
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
        marks: Array | None,
        queries: Queries | None,
    ) -> list[list[Any]]:
        """The answers of each row, or of each query, from panes of Python objects."""
        panes = [RunningPane(self._spec) if pane is None else copy(pane) for pane in before.panes]
        self._panes = panes
        values = zip(*(as_python(column, column.data).tolist() for column in columns), strict=True)
        counted = [True] * batch.count if valid is None else valid.tolist()
        codes = batch.codes.tolist()
        read: list[Read] = [row if counts else None for row, counts in zip(values, counted, strict=True)]
        if marks is not None:
            read = [Marked(*row) for row in zip(marks.tolist(), read, strict=True)]
        rows = list(zip(places.tolist(), read, strict=True))
        if queries is not None:
            return _query_by_query(self._spec, panes, places, codes, rows, queries)
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
    ends = queries.upto(spec, places, offsets)
    taken = offsets[:-1].tolist()
    answers = []
    for k, end, place in zip(queries.codes.tolist(), ends.tolist(), queries.places(spec).tolist(), strict=True):
        for row in rows[taken[k] : end]:
            panes[k].add(*row)
        taken[k] = max(taken[k], end)
        answers.append(panes[k].answers_at(place))
    for k, stop in enumerate(offsets[1:].tolist()):
        for row in rows[taken[k] : stop]:
            panes[k].add(*row)
    return answers


class _States(NamedTuple):
    """How many rows each key has had, and for each member the states of all keys, None where a key has none; and the
    places of the keys' newest rows, None where they are not known."""

    counts: Array
    states: list[list[Any]]
    newest: list[Any]

    @classmethod
    def of(cls, stored: StoredStates, members: int) -> _States:
        counts = np.array([0 if pane is None else pane.count for pane in stored.panes], np.int64)
        held = [pane.states if pane is not None and pane.count else [None] * members for pane in stored.panes]
        newest = [None if pane is None else pane.newest for pane in stored.panes]
        return cls(counts, [[states[j] for states in held] for j in range(members)], newest)

    def pane(self, spec: WindowSpec, k: int) -> RunningPane:
        count = int(self.counts[k])
        return RunningPane.of(spec, count, [part[k] for part in self.states] if count else [], self.newest[k])

    def after(self, places: Array, offsets: Array) -> list[Any]:
        """The places of the keys' newest rows behind rows at these places, key k at offsets[k:k + 2]."""
        newest = list(self.newest)
        full = np.flatnonzero(np.diff(offsets)[: len(newest)])
        for k, place in zip(full.tolist(), places[offsets[1:][full] - 1].tolist(), strict=True):
            newest[k] = place
        return newest


class _Segments(NamedTuple):
    """Rows cut where windows begin anew: the segments, that of each answer, and the last row that an answer can see.

    `over` are the queries whose windows hold no rows, since they end after a segment does.
    """

    cut: KeySegments
    of_answers: Array
    over: Array | None

    @classmethod
    def of(
        cls,
        spec: WindowSpec,
        places: Array,
        offsets: Array,
        marks: Array | None,
        before: _States,
        queries: Queries | None,
        seen: Array,
        codes: Array,
    ) -> _Segments:
        """The segments of rows sorted by key; `seen` are one past the last row that each answer knows of, which is that
        of its key."""
        keys = len(before.newest)
        if spec.reset is None:
            return cls(KeySegments.whole(offsets).of_first(keys), codes, None)
        begins = rows_that_begin(spec.reset, places, offsets, marks)
        known = [k for k, newest in enumerate(before.newest) if newest is not None]
        newest = np.array([before.newest[k] for k in known], places.dtype)
        firsts = offsets[:-1][known]
        full = firsts < offsets[1:][known]  # of keys that have had rows, and have new ones: these may go on
        goes = np.zeros(len(places), np.bool_)
        goes[firsts[full]] = goes_on(spec.reset, newest[full], places[firsts[full]])
        begins &= ~goes if marks is None else ~goes | marks
        cut = KeySegments.cut(offsets, begins).of_first(keys)
        of_rows = np.repeat(np.arange(len(cut.offsets) - 1), np.diff(cut.offsets))
        has_rows = seen > offsets[:-1][codes]
        of_answers = cut.firsts[codes]
        of_answers[has_rows] = of_rows[seen[has_rows] - 1]
        if queries is None:
            return cls(cut, of_answers, None)
        last = np.zeros(len(seen), places.dtype)
        last[has_rows] = places[seen[has_rows] - 1]
        of_keys, is_known = np.zeros(keys, places.dtype), np.zeros(keys, np.bool_)
        of_keys[known] = newest
        is_known[known] = True
        last[~has_rows] = of_keys[codes[~has_rows]]
        over = ~goes_on(spec.reset, last, queries.places(spec)) | ~(has_rows | is_known[codes])
        return cls(cut, of_answers, over)


def _compiled(
    batch: Batch,
    spec: WindowSpec,
    places: Array,
    peers: bool,
    columns: list[Column],
    valid: Array | None,
    marks: Array | None,
    before: _States,
    queries: Queries | None,
) -> tuple[list[Answers], _States] | None:
    """Each member's answers in the batch's order, or in that of the queries, and the states after the batch.

    None where an operator cannot be compiled for these rows and states.
    """
    keys = len(before.counts)
    if places.dtype == object or any(column.unit is not None for column in columns):
        return None
    if spec.reset is not None and places.dtype == np.int64 and float in map(type, before.newest):
        return None
    grouped = Grouped(batch.codes, max(keys, 1))
    offsets = grouped.offsets
    codes = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) if queries is None else queries.codes
    seen = np.ones(batch.count, np.bool_) if valid is None else grouped.to_sorted(valid)
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(seen)])
    places = grouped.to_sorted(places)
    if queries is not None:
        _, ends = queries.bounds(spec, places, offsets)
    elif not peers or spec.numbered:
        ends = np.arange(1, batch.count + 1)
    else:  # rows of equal time have the answer of the last of them
        group = np.empty(batch.count, np.int64)
        mark_peers(places, offsets, group)
        ends = np.cumsum(np.bincount(group))[group]
    upto = ends if queries is None or spec.reset is None else queries.upto(spec, places, offsets)
    marks = None if marks is None else grouped.to_sorted(marks)
    segments, of_answers, over = _Segments.of(spec, places, offsets, marks, before, queries, upto, codes)
    begin = total[segments.offsets[of_answers]]
    new = np.maximum(total[ends] - begin, 0)
    anew = of_answers != segments.firsts[codes] if keys else np.zeros(len(codes), np.bool_)
    if over is not None:
        new, anew = np.where(over, 0, new), anew | over
    last = begin + new - 1  # the row, among those that count, whose answer is meant
    sources = np.where(anew, keys, codes)  # the key whose state goes on, or a last one that has none
    had = np.append(before.counts, 0)
    counts = had[sources] + new if keys else new
    cut = KeySegments(total[segments.offsets], segments.firsts, segments.lasts)
    gained = np.diff(cut.offsets)[segments.lasts][:keys]
    after = np.where(segments.firsts == segments.lasts, before.counts, 0)[:keys] if keys else before.counts
    by_member, states = [], []
    for member, old in zip(spec.members, before.states, strict=True):
        if member.operator.traits.counts_rows:
            answers = Answers([counts.copy()], None)
            states.append((after + gained).tolist())
        else:
            inputs = [grouped.to_sorted(as_numbers(member.operator, column).data)[seen] for column in columns]
            result = running(member.operator, inputs, cut, old)
            if result is None:
                return None
            states.append(result[1])
            answers = _looked_up(member, result[0], last, new > 0, sources, [*old, None])
        enough = counts >= member.least
        answers = answers.limited(enough)
        by_member.append(answers if queries is not None else answers.moved(grouped.to_input))
    newest = before.newest if spec.reset is None else before.after(places, offsets)
    return by_member, _States(after + gained, states, newest)


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
