"""The audit of a log in memory: its answers are recomputed, and compared column by column."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from slidewise.audit.audit import Audit
from slidewise.audit.comparing import check_comparable
from slidewise.audit.partial import compare_column, finished
from slidewise.audit.served_log import ServedLog
from slidewise.audit.times import Stretches, ticks_of
from slidewise.columns.frames import frame_of
from slidewise.definition import Definition
from slidewise.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from slidewise.columns.table_kinds import Table

Recompute = Callable[["Table"], "Table"]


def audit_table(
    definition: Definition, log: ServedLog, served: Table, recompute: Recompute, tolerance: float, limit: int
) -> Audit:
    """The audit of a table of served answers; `recompute` gives the rows of a table the answers as of their times."""
    rows = frame_of(_select(served, log.read)).to_arrow()
    nulls = rows.column(log.at).null_count
    if nulls:
        raise InputError(
            f"column {log.at!r} of the log has {nulls:,} null{'s' * (nulls > 1)}, and an answer has a time; drop these "
            "rows"
        )
    answers = frame_of(recompute(_select(served, log.requests))).to_arrow()
    for column, name in log.columns.items():
        check_comparable(rows.column(name).type, answers.column(column).type, column, name)
    ticks = ticks_of(rows.column(log.at))
    stretches = Stretches.of(ticks.min().item(), ticks.max().item()) if len(ticks) else Stretches(0, 0, 0)
    return finished(
        log,
        {
            column: compare_column(column, log, rows, answers.column(column), stretches, tolerance, limit)
            for column in log.columns
        },
        {
            column: (str(rows.column(name).type), str(answers.column(column).type))
            for column, name in log.columns.items()
        },
        rows=len(rows),
        time=rows.column(log.at).type,
        stretches=stretches if len(ticks) else None,
        buckets=np.bincount(stretches.number_of(ticks), minlength=stretches.count),
        definition=definition,
        tolerance=tolerance,
        limit=limit,
        as_served=_converter(served),
    )


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
