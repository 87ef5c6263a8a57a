"""Windows over a stream of batches: the answers of one long array, wherever it was cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np

from slidewise.kernels.bounds import Grouped
from slidewise.kernels.give_back import give_back
from slidewise.kernels.plan import answer, ticks
from slidewise.kernels.series import Column, check_lengths, read
from slidewise.kernels.special import encode
from slidewise.operators.operator import Operator
from slidewise.windows import Duration, Window


class Answered(NamedTuple):
    """Answers, and the positions in the stream of the rows that they belong to, in rising order."""

    positions: Any
    answers: Any


@dataclass(frozen=True, slots=True)
class _Rows:
    columns: list[Column]
    times: Column | None
    keys: Column | None
    positions: Any
    open: Any  # whether a row still waits for its answer

    def take(self, which: Any) -> _Rows:
        return _Rows(
            [_take(column, which) for column in self.columns],
            None if self.times is None else _take(self.times, which),
            None if self.keys is None else _take(self.keys, which),
            self.positions[which],
            self.open[which],
        )


class Carry:
    """An operator over a window, fed batch by batch.

    `push` answers every row that is decided. In a time window that is closed on the right, rows of a key's newest time
    are held back until a later time of that key, or `finish`, shows that no more peers come. What is kept is the rows
    that some later window may still hold, so a batch costs as much as its own rows and those together.

    >>> import numpy as np, slidewise as sw
    >>> carry = Carry(sw.sum, rows=3)
    >>> carry.push(np.array([1, 2])).answers
    array([1, 3])
    >>> carry.push(np.array([3, 4])).answers
    array([6, 9])
    """

    def __init__(
        self,
        op: Operator,
        *,
        rows: int | None = None,
        last: Duration | timedelta | str | int | float | None = None,
        closed: str = "right",
        at_least: int | None = None,
    ) -> None:
        self._op = op
        self._window = Window.of(last, rows=rows, closed=closed, at_least=at_least)
        self._kept: _Rows | None = None
        self._seen = 0
        self._like: Any = None

    def push(self, values: Any, *, times: Any = None, by: Any = None) -> Answered:
        """Add a batch; an error leaves the stream as it was before it."""
        series = values if isinstance(values, tuple) else (values,)
        columns = [read(one, f"input {i + 1}") for i, one in enumerate(series)]
        when = None if times is None else read(times, "times")
        keys = None if by is None else read(by, "by")
        check_lengths(columns, {"times": when, "by": keys})
        m = len(columns[0])
        new = _Rows(columns, when, keys, np.arange(self._seen, self._seen + m), np.ones(m, np.bool_))
        return self._answer(new if self._kept is None else _joined(self._kept, new), series[0], self._seen + m, False)

    def finish(self) -> Answered:
        """Answer the rows that were held back, and start afresh."""
        if self._kept is None:
            return Answered(np.zeros(0, np.int64), None)
        answered = self._answer(self._kept, self._like, self._seen, True)
        self._kept, self._seen = None, 0
        return answered

    def _answer(self, rows: _Rows, like: Any, seen: int, end: bool) -> Answered:
        fields, valid = answer(self._op, rows.columns, self._window, rows.times, rows.keys, rows.positions)
        held, kept = self._future(rows)
        decided = rows.open if end else rows.open & ~held
        parts = {name: part[decided] for name, part in fields.items()}
        answers = give_back(like, parts, None if valid is None else valid[decided])
        self._kept = replace(rows, open=rows.open & ~decided).take(kept | (rows.open & ~decided))
        self._seen, self._like = seen, like
        return Answered(rows.positions[decided], answers)

    def _future(self, rows: _Rows) -> tuple[Any, Any]:
        """Which rows may still get peers, and which some later window may hold."""
        m = len(rows.positions)
        codes, groups = (np.zeros(m, np.int64), 1) if rows.keys is None else encode(rows.keys.data, rows.keys.valid)
        if rows.times is None:
            grouped = Grouped(codes, groups)
            from_end: Any = grouped.offsets[1:][codes] - grouped.places
            return np.zeros(m, np.bool_), from_end <= (self._window.rows or m)
        moments, width, _ = ticks(self._window, rows.times)
        newest = np.empty(groups, moments.dtype)
        newest[codes] = moments
        held = moments == newest[codes] if self._window.closed in ("right", "both") else np.zeros(m, np.bool_)
        if moments.dtype == np.int64:
            return held, (newest[codes] - moments).view(np.uint64) <= width
        return held, moments >= newest[codes] - width


def _joined(a: _Rows, b: _Rows) -> _Rows:
    return _Rows(
        [_concat(x, y) for x, y in zip(a.columns, b.columns, strict=True)],
        None if a.times is None or b.times is None else _concat(a.times, b.times),
        None if a.keys is None or b.keys is None else _concat(a.keys, b.keys),
        np.concatenate([a.positions, b.positions]),
        np.concatenate([a.open, b.open]),
    )


def _concat(a: Column, b: Column) -> Column:
    valid = None
    if a.valid is not None or b.valid is not None:
        valid = np.concatenate([np.ones(len(c), np.bool_) if c.valid is None else c.valid for c in (a, b)])
    return replace(b, data=np.concatenate([a.data, b.data]), valid=valid)


def _take(column: Column, which: Any) -> Column:
    return replace(column, data=column.data[which], valid=None if column.valid is None else column.valid[which])
