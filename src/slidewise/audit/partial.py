"""The audit of a part of a log, column by column; parts of one log merge, in any order and grouping."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.audit.audit import Audit, ColumnAudit, Timeline
from slidewise.audit.comparing import ColumnComparison, compare, text_of
from slidewise.audit.served_log import ServedLog
from slidewise.audit.times import Stretches, Tick, ticks_of, times_of

if TYPE_CHECKING:
    import pyarrow as pa

DIFFERS, MISSING, EXTRA = "differs", "missing", "extra"


@dataclass(frozen=True)
class PartialColumn:
    """The counts of one column in a part of a log, and the earliest of its answers that are not equal."""

    differ: int
    missing: int
    extra: int
    largest: float | None
    first: Tick | None
    last: Tick | None
    buckets: Array
    listed: pa.Table

    def merged(self, other: PartialColumn, at: str, limit: int) -> PartialColumn:
        """Both parts as one; `at` is the time column of what is listed, of which `limit` rows stay."""
        firsts, lasts = _there(self.first, other.first), _there(self.last, other.last)
        return PartialColumn(
            self.differ + other.differ,
            self.missing + other.missing,
            self.extra + other.extra,
            largest_of(_there(self.largest, other.largest)),
            min(firsts) if firsts else None,
            max(lasts) if lasts else None,
            self.buckets + other.buckets,
            _earliest([self.listed, other.listed], at, limit),
        )


def compare_column(
    column: str, log: ServedLog, rows: pa.Table, answers: pa.Array, stretches: Stretches, tolerance: float, limit: int
) -> PartialColumn:
    """Compare one served column of these rows with its answers. Rows are numbered by their places."""
    served = rows.column(log.columns[column])
    comparison = compare(served, answers, tolerance)
    ticks = ticks_of(rows.column(log.at))
    unequal = np.flatnonzero(comparison.unequal)
    places = unequal[np.argsort(ticks[unequal], kind="stable")]
    sizes: Array | list[float] = (
        [] if comparison.difference is None else np.abs(comparison.difference[comparison.differs])
    )
    return PartialColumn(
        differ=int(comparison.differs.sum()),
        missing=int(comparison.missing.sum()),
        extra=int(comparison.extra.sum()),
        largest=largest_of(sizes),
        first=ticks[places[0]].item() if len(places) else None,
        last=ticks[places[-1]].item() if len(places) else None,
        buckets=np.bincount(stretches.number_of(ticks[unequal]), minlength=stretches.count),
        listed=_listed(column, log, rows, (served, answers), comparison, places[:limit]),
    )


def largest_of(sizes: Array | list[float]) -> float | None:
    """The largest of these sizes, NaN only where there is no other; None where there is none at all."""
    if not len(sizes):
        return None
    numbers = np.asarray(sizes, np.float64)
    numbers = numbers[~np.isnan(numbers)]
    return float(numbers.max()) if len(numbers) else float("nan")


def listed_schema(log: ServedLog, rows: pa.Schema) -> pa.Schema:
    """The schema of `Audit.differences`."""
    import pyarrow as pa

    keys = [(name, rows.field(own).type) for name, own in zip(log.listed_names(), log.asked, strict=True)]
    texts = [(name, pa.string()) for name in ("column", "served", "recomputed")]
    return pa.schema([*keys, *texts, ("difference", pa.float64()), ("kind", pa.string()), ("row", pa.int64())])


def finished(
    log: ServedLog,
    columns: dict[str, PartialColumn],
    types: dict[str, tuple[str, str]],
    rows: int,
    time: pa.DataType,
    stretches: Stretches | None,
    buckets: Array,
    **more: Any,
) -> Audit:
    """The audit that all parts make together; `types` are those of the served and the recomputed columns."""
    import pyarrow as pa

    by_column = {}
    for name, part in columns.items():
        first, last = (None if tick is None else times_of([tick], time)[0] for tick in (part.first, part.last))
        by_column[name] = ColumnAudit(
            column=name,
            name=log.columns[name],
            rows=rows,
            differ=part.differ,
            missing=part.missing,
            extra=part.extra,
            largest=part.largest,
            first=first,
            last=last,
            served_type=types[name][0],
            type=types[name][1],
            buckets=part.buckets,
        )
    return Audit(
        at=log.at,
        rows=rows,
        by_column=by_column,
        absent=log.absent,
        timeline=Timeline(time, () if stretches is None else stretches.edges(time), buckets),
        listed=pa.concat_tables([part.listed for part in columns.values()]).combine_chunks(),
        **more,
    )


def _there(*values: Any) -> list[Any]:
    return [value for value in values if value is not None]


def _earliest(tables: Iterable[pa.Table], at: str, limit: int) -> pa.Table:
    """The rows of these tables by time, as many as the limit; equal times in the order of the tables."""
    import pyarrow as pa

    both = pa.concat_tables(tables)
    return both.take(np.argsort(ticks_of(both.column(at)), kind="stable")[:limit])


def _listed(
    column: str,
    log: ServedLog,
    rows: pa.Table,
    both: tuple[pa.Array, pa.Array],
    comparison: ColumnComparison,
    places: Array,
) -> pa.Table:
    """The rows of `Audit.differences` for one column, at these places."""
    import pyarrow as pa

    kinds = np.where(comparison.missing[places], MISSING, np.where(comparison.extra[places], EXTRA, DIFFERS))
    measured = comparison.differs[places] & (comparison.difference is not None)
    difference = np.zeros(len(places)) if comparison.difference is None else comparison.difference[places]
    arrays = [rows.column(own).take(places) for own in log.asked]
    arrays += [
        pa.array([column] * len(places), pa.string()),
        text_of(both[0].take(places)),
        text_of(both[1].take(places)),
        pa.array(difference, mask=~measured),
        pa.array(kinds.tolist(), pa.string()),
        pa.array(places, pa.int64()),
    ]
    return pa.table(arrays, schema=listed_schema(log, rows.schema))
