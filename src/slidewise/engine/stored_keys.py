"""Keys that one lane has stored, as plain data for another: what each window keeps of each key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa


class StoredKeys(NamedTuple):
    """Some keys of a stream: a table of their columns, of each the newest time in nanoseconds, and how many rows it has
    had at least.

    `windows` has for each window spec a list with what it keeps of each key: arrays of rows, whose places are
    nanoseconds or numbers up to the key's count; `Cells`; or a `RunningPane`. On a beat it has one list, of each key's
    `BeatSlices`.
    """

    keys: pa.Table
    newest: list[int]
    counts: list[int]
    windows: list[list[Any]]
