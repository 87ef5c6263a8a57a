"""Partial aggregates as the elements of windows: rows that come and leave together are aggregated once.

Partials come from rows, runs of them are folded into one, and windows over them are answered as windows over rows are.
Their numbers lie flat, one array per field of the state; states that are no numbers lie in one array of objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.errors import OperatorFailedError, SlidewiseError
from slidewise.kernels.bounds.rows_and_times import longest
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.codegen.templates import Passes, passes, run_pass
from slidewise.kernels.passes.interpreted import interpreted
from slidewise.kernels.passes.running import gathered, spread
from slidewise.operators.operator import Operator

_PASSES = """
def lift_pass({x}, {S}):
    for i in range(len(x0)):
        state = lift({x_i})
        {store_i}

def fold_rows_pass({x}, offsets, {S}):
    for k in range(len(offsets) - 1):
        a = offsets[k]
        state = lift({x_a})
        for i in range(a + 1, offsets[k + 1]):
            state = combine(state, lift({x_i}))
        {store_k}

def fold_pass(offsets, {S}):
    for k in range(len(offsets) - 1):
        a = offsets[k]
        {load_a}
        older = state
        for i in range(a + 1, offsets[k + 1]):
            {load_i}
            older = combine(older, state)
        state = older
        {store_k}

def windows_pass(m, starts, ends, {S}, {O}):
    base = 0
    B = 0
    E = 0
    j = 0
    {load_j}
    back = state
    for i in range(len(starts)):
        s = starts[i]
        e = ends[i]
        if s >= e:
            continue
        if s >= B:
            j = e - 1
            {load_j}
            j = m + e - 1 - s
            {store_j}
            front = state
            for k in range(e - 2, s - 1, -1):
                {load_k}
                state = combine(state, front)
                front = state
                j = m + k - s
                {store_j}
            base = s
            B = e
            E = e
        else:
            if E == B and E < e:
                {load_E}
                back = state
                E += 1
            while E < e:
                {load_E}
                back = combine(back, state)
                E += 1
            j = m + s - base
            {load_j}
            if E > B:
                state = combine(state, back)
        {answer_i}
"""


@dataclass(frozen=True)
class Partials:
    """States of one operator, and how many rows each holds; where that is 0 there is no state, whatever lies there.

    `dtypes` are those of the rows that compiled states come from; None where states are Python objects.
    """

    op: Operator
    fields: list[Array]
    counts: Array
    dtypes: tuple[str, ...] | None

    def __len__(self) -> int:
        return len(self.counts)

    def taken(self, which: Any) -> Partials:
        """Those at some places, or those for which a mask or a slice says so."""
        return replace(self, fields=[field[which] for field in self.fields], counts=self.counts[which])

    def joined(self, later: Partials) -> Partials:
        """These, and later ones behind them; where one side's states are objects, all are."""
        one, two = self, later
        if one.dtypes != two.dtypes:
            if not len(one) or not len(two):
                return two if len(two) else one
            one, two = one.as_objects(), two.as_objects()
        fields = [np.concatenate(both) for both in zip(one.fields, two.fields, strict=True)]
        return replace(one, fields=fields, counts=np.concatenate([one.counts, two.counts]))

    def folded(self, offsets: Array) -> Partials:
        """One for each run of them: run k has those from offsets[k] up to offsets[k + 1], oldest first."""
        counts = _sums(self.counts, offsets)
        full, filled = _skipping(self.counts, offsets, counts)
        fields = [field[full] for field in self.fields]
        if self.dtypes is None:
            states = fields[0].tolist()
            runs = [_reduced(self.op, states[a:b]) for a, b in pairwise(filled.tolist())]
            return replace(self, fields=[_spread(_objects(runs), counts)], counts=counts)
        if len(filled) > 1:
            self._run("fold_pass", filled, *fields)
        folded = [_spread(field[: len(filled) - 1], counts) for field in fields]
        return replace(self, fields=folded, counts=counts)

    def windows(self, starts: Array, ends: Array, least: int) -> Answers:
        """The answers over those from starts[i] up to ends[i], which never fall; fewer than `least` rows give none."""
        total = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts)])
        rows = total[ends] - total[starts]
        enough = rows >= least
        if self.op.traits.counts_rows:
            return Answers([rows], None if least == 0 else enough)
        full = self.counts > 0
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(full)])
        starts, ends = before[starts], before[ends]
        starts = np.where(enough, starts, ends)
        fields = [field[full] for field in self.fields]
        answers = (
            self._compiled(fields, starts, ends) if self.dtypes is not None else self._interpreted(fields, starts, ends)
        )
        if least == 0 and self.op.builtin:
            return answers
        enough = enough & (rows > 0)
        return answers.limited(enough)

    def _interpreted(self, fields: list[Array], starts: Array, ends: Array) -> Answers:
        with _named_errors(self.op):
            boxes = _objects([(state,) for state in fields[0].tolist()])  # a state may be None, which no row may be
            return interpreted(replace(self.op, lift=_unboxed, inputs=("state",)), [boxes], starts, ends)

    def _compiled(self, fields: list[Array], starts: Array, ends: Array) -> Answers:
        layout = self._passes().layout
        m, count = len(starts), len(fields[0])
        outputs = [np.zeros(m, dtype) for dtype in layout.outputs]
        valid = [np.ones(m, np.bool_)] if layout.optional else []
        if m and count:
            room = int(longest(starts, ends))  # the front's partials lie behind the elements
            stored = [np.concatenate([field, np.empty(room, field.dtype)]) for field in fields]
            self._run("windows_pass", count, starts, ends, *stored, *outputs, *valid)
        return Answers(outputs, valid[0] if valid else None, not layout.single)

    def _passes(self) -> Passes:
        assert self.dtypes is not None
        compiled = _passes_of(self.op, self.dtypes)
        assert compiled is not None
        return compiled

    def _run(self, name: str, *arguments: Any) -> None:
        run_pass(self.op, self._passes().run[name], arguments)

    def as_objects(self) -> Partials:
        """The same with states as the interpreted operator knows them."""
        if self.dtypes is None:
            return self
        like = self.op.lift(*(_SAMPLES[dtype] for dtype in self.dtypes))
        return replace(self, fields=[_objects(gathered(self.op, like, self.fields))], dtypes=None)

    @classmethod
    def of_objects(cls, op: Operator, states: list[Any], counts: Array, dtypes: tuple[str, ...] | None) -> Partials:
        """The same from such states: compiled ones for rows of these types where that can be."""
        compiled = None if dtypes is None else _passes_of(op, dtypes)
        if compiled is not None:
            present = [state if count else None for state, count in zip(states, counts.tolist(), strict=True)]
            fields = spread(op, compiled.layout, present)
            if fields is not None:
                return cls(op, fields, counts, dtypes)
        return cls(op, [_objects(states)], counts, None)


_SAMPLES: dict[str, Any] = {"int64": 1, "float64": 1.0, "bool": True}


def partials(op: Operator, inputs: Sequence[Array], valid: Array | None, offsets: Array | None = None) -> Partials:
    """A partial for each row, or for each run of rows, run k being those from offsets[k] up to offsets[k + 1].

    Rows that are not `valid` count for nothing.
    """
    m = len(inputs[0])
    ones = np.ones(m, np.int64) if valid is None else valid.astype(np.int64)
    dtypes = tuple(str(x.dtype) for x in inputs)
    counts = ones if offsets is None else _sums(ones, offsets)
    if op.traits.counts_rows:
        return Partials(op, [counts], counts, None)
    compiled = _passes_of(op, dtypes)
    full = slice(None) if valid is None else valid
    if compiled is None:
        states = np.empty(m, object)
        lifted = _lifted(op, zip(*(x[full].tolist() for x in inputs), strict=True))
        states[full] = _objects(lifted)
        by_row = Partials(op, [states], ones, None)
        return by_row if offsets is None else by_row.folded(offsets)
    rows = [x[full] for x in inputs]
    runs, filled = len(rows[0]), np.zeros(0, np.int64)
    if offsets is not None:
        _, filled = _skipping(ones, offsets, counts)
        runs = len(filled) - 1
    fields = [np.empty(runs, dtype) for dtype in compiled.layout.fields]
    if runs:
        if offsets is None:
            run_pass(op, compiled.run["lift_pass"], [*rows, *fields])
        else:
            run_pass(op, compiled.run["fold_rows_pass"], [*rows, filled, *fields])
    return Partials(op, [_spread(field, counts) for field in fields], counts, dtypes)


def _passes_of(op: Operator, dtypes: tuple[str, ...]) -> Passes | None:
    return passes("partials", _PASSES, op, dtypes)


def _unboxed(box: tuple[Any]) -> Any:
    return box[0]


def _sums(counts: Array, offsets: Array) -> Array:
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return np.diff(total[offsets])


def _skipping(counts: Array, offsets: Array, runs: Array) -> tuple[Array, Array]:
    """Which elements hold rows, and the offsets among those of the runs that hold some."""
    full = counts > 0
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(full)])
    return full, np.append(before[offsets[:-1]][runs > 0], before[offsets[-1]])


def _spread(field: Array, counts: Array) -> Array:
    """A field of the partials that hold rows, each at its place among all."""
    if len(field) == len(counts):
        return field
    out = np.zeros(len(counts), field.dtype) if field.dtype != object else np.empty(len(counts), object)
    out[counts > 0] = field
    return out


def _reduced(op: Operator, states: list[Any]) -> Any:
    with _named_errors(op):
        return reduce(op.combine, states)


def _lifted(op: Operator, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    with _named_errors(op):
        return [op.lift(*row) for row in rows]


@contextmanager
def _named_errors(op: Operator) -> Iterator[None]:
    """Errors of an operator's functions as errors that name the operator."""
    try:
        yield
    except SlidewiseError:
        raise
    except Exception as error:
        raise OperatorFailedError(f"operator {op.name!r} raised {error!r} on these rows") from error


def _objects(values: list[Any]) -> Array:
    out = np.empty(len(values), object)
    for i, value in enumerate(values):
        out[i] = value
    return out
