"""Verification of a shard: every page's checksum, every structure's invariants, and partials against their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from slidewise.errors import SlidewiseError, SnapshotError
from slidewise.spark.inspect.large_key_check import check_large_key
from slidewise.spark.inspect.opened_shard import OpenedShard
from slidewise.spark.inspect.written_query import WrittenQuery
from slidewise.spark.sort.sorted_rows import microseconds
from slidewise.spark.state import buckets as B
from slidewise.spark.state.buckets import KeyTable
from slidewise.spark.state.operator_states import panes_from_bytes
from slidewise.spark.state.page_checks import reading, require
from slidewise.spark.state.pages import (
    DESCRIPTION,
    DIRECTORY,
    HISTORY_RUN,
    LARGE_KEY_BITS,
    RESTORE,
    TRAIL,
    MemoryStore,
    open_page,
)
from slidewise.spark.state.shard_state import CellState

_MOST = 100  # problems of a shard that are listed


class Problem(NamedTuple):
    """What is wrong in a shard, and the page that it was met in; a large key has several, and the first is named."""

    shard: int
    page: int
    what: str


def check_shard(store: MemoryStore, shard: int, queries: Mapping[str, WrittenQuery]) -> list[Problem]:
    """All that is wrong in a shard; nothing where it is sound."""
    return ShardCheck(store, shard, queries).problems()


class ShardCheck:
    """The check of one shard; it goes on where a page is damaged."""

    def __init__(self, store: MemoryStore, shard: int, queries: Mapping[str, WrittenQuery]) -> None:
        self._store = store
        self._shard = shard
        self._queries = queries
        self._problems: dict[tuple[int, str], Problem] = {}
        self._reached = {DIRECTORY, TRAIL, TRAIL + 1, DESCRIPTION, HISTORY_RUN}
        self._damaged: set[int] = set()

    def problems(self) -> list[Problem]:
        opened: OpenedShard | None = None
        with self._noting(DIRECTORY):
            opened = OpenedShard(self._store, self._shard, self._queries)
        self._check_pages(None if opened is None else opened.query.fingerprint)
        if opened is not None:
            self._check_waiting(opened)
            self._check_keys(opened)
            self._check_orphans()
        found = sorted(self._problems.values())
        if len(found) > _MOST:
            more = f"and {len(found) - _MOST} more problems"
            found = [*found[:_MOST], Problem(self._shard, found[_MOST].page, more)]
        return found

    @contextmanager
    def _noting(self, page: int) -> Iterator[None]:
        """Note what is raised inside as a problem of a page."""
        try:
            yield
        except SlidewiseError as error:
            self._note(page, str(error).removesuffix(f"; {RESTORE}"))

    def _note(self, page: int, what: str) -> None:
        self._problems.setdefault((page, what), Problem(self._shard, page, what))

    def _check_pages(self, fingerprint: str | None) -> None:
        """The header and the checksum of each page, and whether it can be decompressed."""
        for number, page in self._store.items():
            if number == HISTORY_RUN:
                continue
            try:
                open_page(page, fingerprint, self._shard, number)
            except SlidewiseError as error:
                self._damaged.add(number)
                if number != DIRECTORY or fingerprint is not None:
                    self._note(number, str(error).removesuffix(f"; {RESTORE}"))

    def _check_waiting(self, opened: OpenedShard) -> None:
        """Pages of rows that wait are those that the directory says, by size and time."""
        for waiting in opened.directory.waiting:
            self._reached.add(waiting.page)
            if waiting.page in self._damaged:
                continue
            with self._noting(waiting.page):
                table = opened.waiting_rows(waiting)
                size = len(opened.pages.read(waiting.page) or b"")
                times = microseconds(table, opened.on)
                real = (size, int(times.min()), int(times.max())) if len(times) else None
                if real != (waiting.size, waiting.first, waiting.last):
                    raise SnapshotError(f"page {waiting.page} of waiting rows is not the one that was written last")
            opened.pages.spill()

    def _check_keys(self, opened: OpenedShard) -> None:
        owners: set[int] = set()
        for place, bucket in enumerate(opened.directory.buckets):
            self._reached.add(bucket.page)
            if bucket.page in self._damaged:
                self._reach_all_large()  # whose they are cannot be known
                continue
            with self._noting(bucket.page):
                keys = opened.buckets.read([place])
                with reading(f"page {bucket.page} of keys"):
                    self._check_page(opened, keys, bucket.large, owners)
                self._check_large(opened, keys, bucket.page)
            opened.pages.spill()

    def _check_page(self, opened: OpenedShard, keys: KeyTable, large: int, owners: set[int]) -> None:
        """What Arrow and the checks of a page cannot know: states, slices, and the numbers of large keys."""
        if opened.beats is not None:
            codes = np.repeat(np.arange(len(keys)), keys.numbers(B.COUNT))
            opened.beats.layout(opened.schema).slices(keys.rows, codes)
            return
        running = [spec for spec in opened.specs if spec.running]
        for data in keys.table.column(B.STATES).to_pylist():
            require(not running or data is not None, "a key has no running state")
            if running:
                panes_from_bytes(running, data)
        for part, table in zip(opened.state.parts, keys.parts, strict=True):
            if isinstance(part, CellState):
                part.tables.cells(table)
        numbers = [n for i in range(opened.parts) for n in keys.numbers(B.part_column(B.LARGE, i)).tolist() if n]
        require(len(numbers) == large, f"{len(numbers)} large keys are in it, and the directory has {large}")
        require(not owners & {*numbers} and len({*numbers}) == len(numbers), "two large keys have one number")
        owners |= {*numbers}

    def _check_large(self, opened: OpenedShard, keys: KeyTable, page: int) -> None:
        """The pages of large keys: all of them are read."""
        if opened.beats is not None:
            return
        newest = keys.numbers(B.NEWEST).tolist()
        for i in range(opened.parts):
            for k, number in enumerate(keys.numbers(B.part_column(B.LARGE, i)).tolist()):
                if not number:
                    continue
                header = number << LARGE_KEY_BITS
                own = {n for n in self._store if n < HISTORY_RUN and n >> LARGE_KEY_BITS == number}
                self._reached |= own
                if own & self._damaged:
                    continue
                if header not in own:
                    self._note(page, f"large key {number} of it has no pages")
                    continue
                with self._noting(header):
                    check_large_key(opened.large_key(i, number), newest[k])
                opened.pages.spill()

    def _reach_all_large(self) -> None:
        self._reached |= {number for number in self._store if number >> LARGE_KEY_BITS}

    def _check_orphans(self) -> None:
        for number in self._store:
            if number not in self._reached and number not in self._damaged:
                self._note(number, f"page {number} belongs to nothing in the directory")
