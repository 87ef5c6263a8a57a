"""`Audit`: the result of comparing a log of served answers with those that the events give."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from slidewise.arrays import Array
from slidewise.definition import Definition
from slidewise.errors import SlidewiseError
from slidewise.folders import whole_file

if TYPE_CHECKING:
    import pyarrow as pa

    from slidewise.columns.table_kinds import Table


def check_settings(tolerance: float, limit: int) -> None:
    """Refuse a tolerance that is no share, and a limit that is no number of rows."""
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise SlidewiseError(f"tolerance= is a share of a float's size, from 0 to less than 1, not {tolerance!r}")
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise SlidewiseError(f"limit= is how many differences of a column are listed, from 1 on, not {limit!r}")


@dataclass(frozen=True)
class ColumnAudit:
    """One column of a log: how many of its answers are equal, and what is known of those that are not.

    `differ` have another value, `missing` were served as null where there is a value, and `extra` the other way round.
    """

    column: str
    name: str  # in the log
    rows: int
    differ: int
    missing: int
    extra: int
    largest: float | None  # the largest absolute difference; None where there is none, or values have no difference
    first: pa.Scalar | None  # the times of the first and the last answer that is not equal
    last: pa.Scalar | None
    served_type: str
    type: str
    buckets: Array = field(repr=False)  # how many answers are not equal, in each stretch of time

    @property
    def unequal(self) -> int:
        return self.differ + self.missing + self.extra

    @property
    def equal(self) -> int:
        return self.rows - self.unequal

    @property
    def share(self) -> float:
        """The share of equal answers."""
        return self.equal / self.rows if self.rows else 1.0


@dataclass(frozen=True)
class Timeline:
    """The log's span of time in stretches of equal length: their edges as text, and the rows in each."""

    type: pa.DataType  # of the times
    edges: tuple[str, ...]  # one more than there are stretches; none where there are no rows
    rows: Array


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """Served answers against recomputed ones: true where all are equal.

    Look at it: `equal`, `answers`, `unequal`, `absent`, `by_column`, `columns`, `differences`; `str` is for terminals.
    Keep it: `report(path)` writes one HTML page that needs no other file.
    """

    definition: Definition
    at: str  # the log's time column
    rows: int
    by_column: Mapping[str, ColumnAudit]
    absent: tuple[str, ...]  # aggregates that the log has no column for
    tolerance: float
    limit: int
    timeline: Timeline = field(repr=False)
    listed: pa.Table = field(repr=False)  # `differences`, as Arrow
    as_served: Callable[[pa.Table], Table] = field(repr=False)  # an Arrow table as one of the log's kind
    engine: Mapping[str, str] = field(default_factory=dict)  # versions of what recomputed the answers

    @property
    def answers(self) -> int:
        """How many answers were compared."""
        return sum(column.rows for column in self.by_column.values())

    @property
    def unequal(self) -> int:
        """How many answers differ, are missing, or are extra."""
        return sum(column.unequal for column in self.by_column.values())

    @property
    def equal(self) -> bool:
        """Whether every answer that was served is the one that the events give."""
        return self.unequal == 0

    def __bool__(self) -> bool:
        return self.equal

    @property
    def differences(self) -> Table:
        """The answers that are not equal: keys, time, `column`, `served`, `recomputed`, `difference`, `kind`, `row`.

        A table of the log's kind, of pyarrow for Spark's. Values are text; `difference` is served minus recomputed, in
        seconds for times; `kind` is "differs", "missing" or "extra", and `row` is the number of the row in the log,
        from 0 on, null where the log has no order. Of each column the earliest ones are listed, up to the audit's
        `limit`. A key of one of these names is called `key_...`.
        """
        return self.as_served(self.listed)

    @property
    def columns(self) -> Table:
        """For each column of the log: how many answers are equal, the largest difference, the first and last time."""
        import pyarrow as pa

        columns = list(self.by_column.values())
        time = self.timeline.type
        numbers = ("rows", "equal", "differ", "missing", "extra")
        arrays: dict[str, pa.Array] = {"column": pa.array([column.column for column in columns], pa.string())}
        arrays |= {name: pa.array([getattr(column, name) for column in columns], pa.int64()) for name in numbers}
        arrays["share"] = pa.array([column.share for column in columns], pa.float64())
        arrays["largest"] = pa.array([column.largest for column in columns], pa.float64())
        for name in ("first", "last"):
            times = [getattr(column, name) or pa.scalar(None, time) for column in columns]
            arrays[name] = pa.chunked_array([pa.array([scalar], time) for scalar in times], time)
        return self.as_served(pa.table(arrays))

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the audit as one HTML page that needs no other file; its path."""
        from slidewise.audit.page import html_of

        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(html_of(self).encode())
        return path

    to_html = report

    def __repr__(self) -> str:
        from slidewise.audit.terminal import sentence

        return f"<Audit: {sentence(self)}>"

    def __str__(self) -> str:
        from slidewise.audit.terminal import text_of_audit

        return text_of_audit(self)
