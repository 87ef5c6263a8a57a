"""A shard's directory, its page 0: what has been released, which timer is set, and which pages there are.

The directory counts the calls that the shard has had. Each call also writes its number to a page of the trail, of which
there are two, for odd calls and for even ones. Spark's state is a sequence of files of changes: where one of them is an
older one put in its place, the directory is that of an earlier call, and the other page of the trail that of a later.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.engine.codec import Reader, Writer
from slidewise.errors import SnapshotError
from slidewise.spark.state.page_checks import check_directory, reading
from slidewise.spark.state.pages import DIRECTORY, LARGE_KEY_BITS, RESTORE, TRAIL, Pages
from slidewise.spark.state.warming import Warming


class MicroBatch(NamedTuple):
    """The micro-batch of a call: its number, its clock in milliseconds, and whether it called the shard before."""

    number: int | None = None
    clock: int = 0
    again: bool = False


NO_BATCH = MicroBatch()


class WaitingPage(NamedTuple):
    """A page of rows that wait, their earliest and latest time, and the page's size."""

    page: int
    first: int
    last: int
    size: int


class Bucket(NamedTuple):
    """A page of keys: those whose hash is at or above `low`, and below the next bucket's.

    `newest` is the newest time of any of them, and `large` how many have pages of their own.
    """

    low: int
    page: int
    newest: int
    large: int


class Directory:
    """The directory, read from page 0 and written back to it. Times are microseconds."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self.schema: bytes = b""
        self.released: int | None = None
        self.timer: int | None = None
        self.next_page = DIRECTORY + 1
        self.next_large = 1
        self.waiting: list[WaitingPage] = []
        self.buckets: list[Bucket] = []
        self.recent = (0, 0)  # how many rows came lately, and how many of them were refused
        self.calls = 0
        self.batch: int | None = None  # that of the last call
        self.history: int | None = None  # rows at or before this time were loaded before the stream began
        self.generations: dict[str, int] = {}  # see `stored_specs`
        self.warming = Warming()
        self._free: list[int] = []  # pages that were dropped in this call
        payload = pages.read(DIRECTORY)
        if payload is None:
            pages.first_new = DIRECTORY + 1
            return
        source = Reader(payload)
        with reading("the shard's directory"):
            self.schema, self.released, self.timer = source.value(), source.value(), source.value()
            self.next_page, self.next_large = source.size(), source.size()
            self.waiting = [WaitingPage(*fields) for fields in source.row()]
            self.buckets = [Bucket(*fields) for fields in source.row()]
            if not source.ended:  # as versions from 3 on have it
                self.recent = (source.size(), source.size())
                self.calls, self.batch = source.size(), source.value()
            if not source.ended:  # as streams that began with a history, or were upgraded, have it
                self.history = source.value()
            if not source.ended:  # as streams that were upgraded have it
                self.generations = dict(source.value())
                self.warming = Warming(dict(source.value()), tuple(source.value()), source.value())
            source.end()
            check_directory(self)
        pages.first_new = self.next_large << LARGE_KEY_BITS
        self._check_trail()

    def _check_trail(self) -> None:
        if not self.calls:  # as of version 2
            return
        payload = self._pages.read(TRAIL + (self.calls + 1) % 2)
        trail = 0 if payload is None else int.from_bytes(payload[:8], "little")
        if trail != self.calls - 1:
            raise SnapshotError(
                f"the state of shard {self._pages.shard} is not of one piece: its directory is that of call "
                f"{self.calls}, and its trail that of call {trail}; a file of the checkpoint was replaced by an older "
                f"one, or is missing; {RESTORE}"
            )

    def begin_call(self, batch: MicroBatch) -> None:
        """Count a call, in this micro-batch, which must come after that of the call before."""
        before = -1 if self.batch is None or batch.number is None else self.batch - batch.number
        if before > 0 or (before == 0 and not batch.again):
            raise SnapshotError(
                f"the state of shard {self._pages.shard} is that of micro-batch {self.batch}, and this is micro-batch "
                f"{batch.number}: the checkpoint's files are not of one time; {RESTORE}"
            )
        self.batch = batch.number
        self.calls += 1

    def moved_to(self, pages: Pages) -> Directory:
        """The same directory over pages of another query, which lie in the same store."""
        moved = copy(self)
        moved._pages = pages
        moved.waiting, moved.buckets, moved._free = list(self.waiting), list(self.buckets), []
        pages.first_new = self._pages.first_new
        return moved

    def drop_page(self, number: int) -> None:
        """Drop a page; the next new one may have its number, and writing over it saves a removal."""
        self._pages.drop(number)
        self._free.append(number)

    def new_page(self) -> int:
        """The number of a new page."""
        if self._free:
            return self._free.pop()
        number = self.next_page
        self.next_page += 1
        return number

    def new_large(self) -> int:
        """The number of a new large key."""
        number = self.next_large
        self.next_large += 1
        return number

    def write(self) -> None:
        """Write the directory, and the trail."""
        out = Writer()
        for value in (self.schema, self.released, self.timer):
            out.value(value)
        out.size(self.next_page)
        out.size(self.next_large)
        out.row([tuple(page) for page in self.waiting])
        out.row([tuple(bucket) for bucket in self.buckets])
        self._write_since_version_3(out)
        self._pages.write(DIRECTORY, bytes(out.data))
        self._pages.write(TRAIL + self.calls % 2, self.calls.to_bytes(8, "little"))

    def _write_since_version_3(self, out: Writer) -> None:
        """The fields that pages of version 2 lack."""
        out.size(self.recent[0])
        out.size(self.recent[1])
        out.size(self.calls)
        out.value(self.batch)
        upgraded = bool(self.generations) or self.warming != Warming()
        if self.history is not None or upgraded:
            out.value(self.history)
        if upgraded:
            out.value(list(self.generations.items()))
            out.value(list(self.warming.known_from.items()))
            out.value(list(self.warming.by_key))
            out.value(self.warming.forgotten)

    def touched(self, hashes: Array) -> list[int]:
        """The places in `buckets` of the pages that keys with these hashes belong to."""
        if not self.buckets:
            return []
        lows = np.array([bucket.low for bucket in self.buckets], np.int64)
        places = np.searchsorted(lows, hashes, side="right") - 1
        return np.flatnonzero(np.bincount(places, minlength=len(lows))).tolist()
