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
from slidewise.kernels.codegen.kernel import AnswerRoom, Answers, Kernel, number_kernel
from slidewise.kernels.passes.interpreted import interpreted
from slidewise.kernels.passes.running import gathered, spread
from slidewise.operators.operator import Operator


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
        folded = [np.empty(len(filled) - 1, field.dtype) for field in fields]
        if len(filled) > 1:
            self._kernel().run("fold_pass", *fields, filled, *folded, partials=True)
        return replace(self, fields=[_spread(field, counts) for field in folded], counts=counts)

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
        if least == 0 and (self.op.builtin or self.op.traits.answers_empty):
            return answers
        enough = enough & (rows > 0)
        return answers.limited(enough)

    def _interpreted(self, fields: list[Array], starts: Array, ends: Array) -> Answers:
        with _named_errors(self.op):
            boxes = _objects([(state,) for state in fields[0].tolist()])  # a state may be None, which no row may be
            return interpreted(replace(self.op, lift=_unboxed, inputs=("state",)), [boxes], starts, ends)

    def _compiled(self, fields: list[Array], starts: Array, ends: Array) -> Answers:
        kernel = self._kernel()
        m = len(starts)
        room = AnswerRoom(kernel.layout, m)
        if m and len(fields[0]):
            front = [np.empty(int(longest(starts, ends)), field.dtype) for field in fields]
            kernel.run("bounds_pass", *fields, starts, ends, *front, *room.arrays, partials=True)
        return room.answers()

    def _kernel(self) -> Kernel:
        assert self.dtypes is not None
        kernel = _passes_of(self.op, self.dtypes)
        assert kernel is not None
        return kernel

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
            compiled.run("lift_pass", *rows, runs, *fields)
        else:
            compiled.run("fold_pass", *rows, filled, *fields)
    return Partials(op, [_spread(field, counts) for field in fields], counts, dtypes)


def _passes_of(op: Operator, dtypes: tuple[str, ...]) -> Kernel | None:
    return number_kernel(op, dtypes)


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
