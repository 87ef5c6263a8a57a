"""The audit of a log in memory: its answers are recomputed, and compared column by column."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.audit.audit import BUCKETS, DIFFERS, EXTRA, MISSING, Audit, ColumnAudit, Timeline
from slidewise.audit.comparing import ColumnComparison, check_comparable, compare, text_of
from slidewise.audit.served_log import ServedLog
from slidewise.columns.frames import frame_of
from slidewise.definition import Definition
from slidewise.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from slidewise.columns.frames import Table

Recompute = Callable[["Table"], "Table"]


def audit_table(
    definition: Definition, log: ServedLog, served: Table, recompute: Recompute, tolerance: float, limit: int
) -> Audit:
    """The audit of a table of served answers; `recompute` gives the rows of a table the answers as of their times."""
    rows = frame_of(_select(served, log.read)).to_arrow()
    nulls = rows.column(log.at).null_count
    if nulls:
        raise InputError(f"column {log.at!r} of the log has {nulls:,} nulls, and an answer has a time; drop these rows")
    answers = frame_of(recompute(_select(served, log.asked))).to_arrow()
    for column, name in log.columns.items():
        check_comparable(rows.column(name).type, answers.column(column).type, column, name)
    ticks = ticks_of(rows.column(log.at))
    stretch, timeline = _timeline(rows.column(log.at).type, ticks)
    columns, listed = {}, []
    for column, name in log.columns.items():
        both = rows.column(name), answers.column(column)
        comparison = compare(*both, tolerance)
        unequal = np.flatnonzero(comparison.unequal)
        columns[column] = _column(column, name, rows, log.at, both, comparison, unequal, ticks, stretch)
        first = unequal[np.argsort(ticks[unequal], kind="stable")[:limit]]
        listed.append(_listed(column, log, rows, both, comparison, first))
    return Audit(
        definition=definition,
        at=log.at,
        rows=len(rows),
        by_column=columns,
        absent=log.absent,
        tolerance=tolerance,
        limit=limit,
        timeline=timeline,
        listed=_concatenated(listed),
        as_served=_converter(served),
    )


def ticks_of(times: pa.Array) -> Array:
    """Times as numbers, in units of their own."""
    import pyarrow as pa

    if pa.types.is_floating(times.type) or pa.types.is_decimal(times.type):
        number = pa.float64()
    else:
        number = pa.int64()
        if pa.types.is_date32(times.type):
            times = times.cast(pa.int32())
    ticks: Array = times.cast(number).to_numpy()
    return ticks


def _timeline(kind: pa.DataType, ticks: Array) -> tuple[Array, Timeline]:
    """The number of the stretch that each row lies in, and the stretches."""
    if not len(ticks):
        return np.zeros(0, np.int64), Timeline(kind, (), np.zeros(0, np.int64))
    begin, end = ticks.min(), ticks.max()
    count = BUCKETS if end > begin else 1
    position = (ticks.astype(np.float64) - float(begin)) / max(float(end) - float(begin), 1e-300)
    stretch = np.clip((position * count).astype(np.int64), 0, count - 1)
    return stretch, Timeline(
        kind, edges_of(kind, begin.item(), end.item(), count), np.bincount(stretch, minlength=count)
    )


def edges_of(kind: pa.DataType, begin: float, end: float, count: int) -> tuple[str, ...]:
    """The edges of so many stretches of time as text; `begin` and `end` are times as numbers."""
    import pyarrow as pa

    if isinstance(begin, float):
        return tuple(f"{begin + (end - begin) * at / count:.6g}" for at in range(count + 1))
    numbers = pa.array([begin + (end - begin) * at // count for at in range(count + 1)], pa.int64())
    if pa.types.is_date32(kind):
        numbers = numbers.cast(pa.int32())
    return tuple(str(text) for text in text_of(numbers.cast(kind)).to_pylist())


def _column(
    column: str,
    name: str,
    rows: pa.Table,
    at: str,
    both: tuple[pa.ChunkedArray, pa.ChunkedArray],
    comparison: ColumnComparison,
    unequal: Array,
    ticks: Array,
    stretch: Array,
) -> ColumnAudit:
    """The counts of one column."""
    first = last = None
    if len(unequal):
        first, last = (rows.column(at)[int(unequal[find(ticks[unequal])])] for find in (np.argmin, np.argmax))
    return ColumnAudit(
        column=column,
        name=name,
        rows=len(rows),
        differ=int(comparison.differs.sum()),
        missing=int(comparison.missing.sum()),
        extra=int(comparison.extra.sum()),
        largest=_largest(comparison),
        first=first,
        last=last,
        served_type=str(both[0].type),
        type=str(both[1].type),
        buckets=np.bincount(stretch[unequal], minlength=int(stretch.max()) + 1 if len(stretch) else 0),
    )


def _largest(comparison: ColumnComparison) -> float | None:
    """The largest absolute difference; NaN only where there is no other."""
    if comparison.difference is None or not comparison.differs.any():
        return None
    sizes = np.abs(comparison.difference[comparison.differs])
    numbers = sizes[~np.isnan(sizes)]
    return float(numbers.max()) if len(numbers) else float("nan")


def _listed(
    column: str,
    log: ServedLog,
    rows: pa.Table,
    both: tuple[pa.ChunkedArray, pa.ChunkedArray],
    comparison: ColumnComparison,
    places: Array,
) -> pa.Table:
    """The rows of `Audit.differences` for one column."""
    import pyarrow as pa

    arrays: dict[str, Any] = {
        name: rows.column(own).take(places) for name, own in zip(log.listed_names(), log.asked, strict=True)
    }
    kinds = np.where(comparison.missing[places], MISSING, np.where(comparison.extra[places], EXTRA, DIFFERS))
    differs = comparison.differs[places]
    difference = np.zeros(len(places)) if comparison.difference is None else comparison.difference[places]
    arrays |= {
        "column": pa.array([column] * len(places), pa.string()),
        "served": text_of(both[0].take(places)),
        "recomputed": text_of(both[1].take(places)),
        "difference": pa.array(difference, mask=~differs | (comparison.difference is None)),
        "kind": pa.array(kinds.tolist(), pa.string()),
        "row": pa.array(places, pa.int64()),
    }
    return pa.table(arrays)


def _concatenated(tables: list[pa.Table]) -> pa.Table:
    import pyarrow as pa

    return pa.concat_tables(tables).combine_chunks()


def _select(table: Table, names: list[str]) -> Table:
    """Some columns of a table, of whichever kind."""
    return table[names] if hasattr(table, "iloc") else table.select(names)


def _converter(served: Table) -> Callable[[pa.Table], Table]:
    """The function that makes an Arrow table one of the log's kind."""
    if hasattr(served, "iloc"):
        return lambda table: table.to_pandas()
    if type(served).__module__.startswith("polars"):
        return _to_polars
    return lambda table: table


def _to_polars(table: pa.Table) -> Table:
    import polars as pl

    return pl.from_arrow(table)
