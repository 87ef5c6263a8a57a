"""Rows that a stream's shard does not take in: those that come too late, and those that lie ahead of the clock."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from slidewise.spark.state.buckets import HASH
from slidewise.spark.stream.waiting_rows import ticks

LATE, AHEAD = "late", "ahead"
# More of the rows than this are put aside: a warning, once so many have been seen.
_SHARE, _ENOUGH = 0.05, 100
_RECENT = 10_000  # beyond so many rows those of long ago count less and less


def sorted_out(
    table: Any, on: str, released: int | None, clock: int, ahead: int | None
) -> tuple[Any, dict[str, tuple[int, Any]]]:
    """The rows to take in; and of those put aside, by the reason for it, how many there are, and the rows.

    A row is late at or before the time that was `released` last, in microseconds, and ahead where it lies more than
    `ahead` microseconds past the `clock`, in milliseconds.
    """
    aside: dict[str, tuple[int, Any]] = {}
    if not len(table):
        return table, aside
    times = ticks(table, on)
    taken = np.ones(len(table), np.bool_)
    for reason, refused in (
        (LATE, None if released is None else times <= released),
        (AHEAD, None if ahead is None else times > clock * 1_000 + ahead),
    ):
        if refused is not None and refused.any():
            aside[reason] = int(refused.sum()), table.filter(refused)
            taken &= ~refused
    return (table.filter(taken) if aside else table), aside


def with_reasons(answered: Any, aside: dict[str, tuple[int, Any]], answers: dict[str, Any], late_to: str) -> Any:
    """Answered rows, or None, and behind them those put aside, without answers; the last column says why."""
    import pyarrow as pa

    pieces = []
    if answered is not None:
        pieces.append(answered.append_column(late_to, pa.nulls(len(answered), pa.string())))
    for reason, (count, rows) in aside.items():
        piece = rows.drop_columns([HASH])
        for name, kind in answers.items():
            piece = piece.append_column(name, pa.nulls(count, kind))
        pieces.append(piece.append_column(late_to, pa.array([reason] * count, pa.string())))
    return pa.concat_tables(pieces) if pieces else None


def counted(before: tuple[int, int], taken: int, aside: int) -> tuple[int, int]:
    """How many of a shard's recent rows came, and how many of them were put aside, after some more."""
    seen, refused = before[0] + taken + aside, before[1] + aside
    while seen > _RECENT:
        seen, refused = seen // 2, refused // 2
    return seen, refused


def warn_of_share(shard: int, before: tuple[int, int], after: tuple[int, int], released: int | None) -> None:
    """Say so, in the worker's log, when the share of rows that are put aside has become too large."""
    if _too_large(before) or not _too_large(after):
        return
    at = "" if released is None else f"; rows up to {_moment(released)} have been released"
    warnings.warn(
        f"of the last {after[0]} rows of shard {shard} of the stream {after[1]} were put aside as late, or as ahead of "
        f"the clock{at}; one row with a wrong date moves the watermark for all: give transform watermark= and "
        "ahead='1 day', and late_to= to have these rows",
        stacklevel=2,
    )


def _too_large(counts: tuple[int, int]) -> bool:
    return counts[0] >= _ENOUGH and counts[1] > _SHARE * counts[0]


def _moment(microseconds: int) -> str:
    try:
        return str(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds))
    except OverflowError:
        return f"{microseconds} us after 1970"
