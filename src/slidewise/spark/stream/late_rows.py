"""Rows that a stream's shard refuses: duplicates of its history, late ones, and those that lie ahead of the clock."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from slidewise.spark.sort.sorted_rows import microseconds
from slidewise.spark.state.directory import Directory

BEFORE_HISTORY, LATE, AHEAD = "before_history", "late", "ahead"
Refused = dict[str, tuple[int, pa.Table]]  # by the reason: how many rows, and the rows

_MAX_SHARE = 0.05  # of rows that are refused; a warning above it
_MIN_ROWS = 100  # before there is a warning
_RECENT = 10_000  # beyond so many rows those of long ago count less and less


def split_refused(
    table: pa.Table, on: str, directory: Directory, clock: int, ahead: int | None
) -> tuple[pa.Table, Refused]:
    """The rows to take in, and those that are refused.

    A row is a duplicate at or before the time up to which the shard's `history` is complete, late at or before the time
    that was `released` last, both in microseconds, and ahead where it lies more than `ahead` microseconds past the
    `clock`, in milliseconds.
    """
    refused: Refused = {}
    if not len(table):
        return table, refused
    times = microseconds(table, on)
    taken = np.ones(len(table), np.bool_)
    known = None if directory.history is None else times <= directory.history
    late = None if directory.released is None else times <= directory.released
    for reason, rows in (
        (BEFORE_HISTORY, known),
        (LATE, late),
        (AHEAD, None if ahead is None else times > clock * 1_000 + ahead),
    ):
        if rows is not None and (rows & taken).any():  # for one reason, the first
            refused[reason] = int((rows & taken).sum()), table.filter(rows & taken)
            taken &= ~rows
    return (table.filter(taken) if refused else table), refused


def append_refused(
    answered: pa.Table | None, refused: Refused, answers: dict[str, pa.DataType], late_to: str
) -> pa.Table | None:
    """Answered rows, or None, and behind them those refused, without answers; the last column says why."""
    pieces = []
    if answered is not None:
        pieces.append(answered.append_column(late_to, pa.nulls(len(answered), pa.string())))
    for reason, (count, rows) in refused.items():
        piece = rows
        for name, kind in answers.items():
            piece = piece.append_column(name, pa.nulls(count, kind))
        pieces.append(piece.append_column(late_to, pa.array([reason] * count, pa.string())))
    return pa.concat_tables(pieces) if pieces else None


def update_counts(before: tuple[int, int], taken: int, refused: int) -> tuple[int, int]:
    """How many of a shard's recent rows came, and how many of them were refused, after some more."""
    all_rows, all_refused = before[0] + taken + refused, before[1] + refused
    while all_rows > _RECENT:
        all_rows, all_refused = all_rows // 2, all_refused // 2
    return all_rows, all_refused


def warn_if_many(shard: int, before: tuple[int, int], after: tuple[int, int], released: int | None) -> None:
    """Warn, in the worker's log, when the share of rows that are refused has become too large."""
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
    return counts[0] >= _MIN_ROWS and counts[1] > _MAX_SHARE * counts[0]


def _moment(microseconds: int) -> str:
    try:
        return str(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds))
    except OverflowError:
        return f"{microseconds} us after 1970"
