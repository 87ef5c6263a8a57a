"""Tooltips of partials: the rows that one covers, and the invariant that it satisfies."""

from __future__ import annotations

from typing import Any

from slidewise.trace.record import Recording


def tooltip_of(held: dict[str, Any], step: dict[str, Any], recording: Recording) -> str:
    """The rows that a partial covers, with their values, and its rule."""
    rule: str = recording["rules"][held["rule"]]
    if not held["rows"]:
        return rule
    values = {row["row"]: row["value"] for row in step["window"]}
    numbers = [row for first, last in held["rows"] for row in range(first, last + 1)]
    inside = " ".join(values.get(row, "gone") for row in numbers)
    return f"{held['text']}: {rows_of(held['rows'])} ({inside}). {rule}"


def rows_of(runs: list[list[int]]) -> str:
    """Runs of rows in words.

    >>> rows_of([[3, 5], [0, 0]])
    'rows 3 to 5, then row 0'
    """
    words = [f"row {first}" if first == last else f"rows {first} to {last}" for first, last in runs]
    return ", then ".join(words)
