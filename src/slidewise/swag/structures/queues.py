"""Queues below the algorithms: chunked, so that no step ever copies the whole queue.

The paper asks of a pointer that it can be read, written, compared and stepped in worst-case constant time. A pointer
here is a position, a plain integer that never moves, together with the chunk that holds it: position p lies in its
chunk at offset p & MASK, and a step across a chunk's end follows a link. There is no table of chunks that would have
to double. A chunk is a plain list: `CHUNK` slots for each field of an element, then the links PREV and NEXT.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from slidewise.operators.types import State

CHUNK = 32
MASK = CHUNK - 1
NEXT = -1
PREV = -2

Chunk = list[Any]
# Slots with what they held: chunk, place and value, one after the other. Tuples would keep Python's garbage collector
# busy, which looks at every new one that stays.
SavedSlots = list[Any]


class Chunks:
    """Makes chunks and keeps the last freed one for reuse, so that a window that slides allocates nothing.

    Slots are not cleared: what was evicted may be kept alive until its slot is written again, by at most two chunks.
    Chunks are linked forwards, and `both_ways` backwards too. Those make cycles, so whoever drops a chain of them must
    `cut` it first, or its memory stays until Python looks for cycles.
    """

    __slots__ = ("_both_ways", "_fields", "spare")

    def __init__(self, fields: int = 1, both_ways: bool = False) -> None:
        self._fields = fields
        self._both_ways = both_ways
        self.spare: Chunk | None = None

    def after(self, last: Chunk | None) -> Chunk:
        """A chunk linked behind `last`, which is None for the first."""
        chunk = self.spare
        if chunk is None:
            chunk = [None] * (CHUNK * self._fields + 2)
        else:
            self.spare = None
        if last is not None:
            last[NEXT] = chunk
            if self._both_ways:
                chunk[PREV] = last
        return chunk

    def forget(self, start: int) -> None:
        """Learn that the positions before this one are gone for good."""

    def release(self, chunk: Chunk) -> None:
        """Keep a chunk that has left the front, cut off from the one behind it."""
        if chunk[NEXT] is not None:
            chunk[NEXT][PREV] = None
        chunk[PREV] = chunk[NEXT] = None
        self.spare = chunk


def cut(chunk: Chunk | None, stop: Chunk | None = None) -> None:
    """Undo the backward links from `chunk` up to `stop`, which is the first chunk that stays, if any does."""
    while chunk is not None and chunk is not stop:
        chunk[PREV] = None
        chunk = chunk[NEXT]
    if stop is not None:
        stop[PREV] = None


def step(chunk: Chunk, start: int, stop: int) -> Chunk:
    """The chunk of position `stop`, from the chunk of position `start` at or before it."""
    for _ in range(stop // CHUNK - start // CHUNK):
        chunk = chunk[NEXT]
    return chunk


def walk(chunk: Chunk | None, start: int, stop: int, field: int = 0) -> Iterator[State]:
    """The contents of the slots from position `start`, which lies in `chunk`, up to `stop`."""
    for position in range(start, stop):
        assert chunk is not None
        yield chunk[(position & MASK) + field * CHUNK]
        if position & MASK == MASK:
            chunk = chunk[NEXT]


def write(chunk: Chunk, start: int, states: Iterable[State], field: int = 0) -> None:
    """Write states into the slots from position `start`, which lies in `chunk`, on."""
    for position, state in enumerate(states, start):
        chunk[(position & MASK) + field * CHUNK] = state
        if position & MASK == MASK:
            chunk = chunk[NEXT]


def saved(chunk: Chunk, start: int, stop: int) -> SavedSlots:
    """The slots from position `start`, which lies in `chunk`, up to `stop`, with what they hold."""
    slots: SavedSlots = []
    for position in range(start, stop):
        slots += (chunk, position & MASK, chunk[position & MASK])
        if position & MASK == MASK:
            chunk = chunk[NEXT]
    return slots


def restore(slots: SavedSlots) -> None:
    """Write back what slots held, the last saved first."""
    for i in range(len(slots) - 3, -1, -3):
        slots[i][slots[i + 1]] = slots[i + 2]


class Stack:
    """A stack of pairs on chunks, linked backwards: `push`, `pop` and `top` take constant time in the worst case."""

    __slots__ = ("_last", "_size", "_spare")

    def __init__(self) -> None:
        self._last: Any = None
        self._spare: Any = None
        self._size = 0

    def push(self, val: State, agg: State) -> None:
        at = self._size & MASK
        if at == 0:
            chunk = self._spare or [None] * (2 * CHUNK + 2)
            self._spare = None
            chunk[PREV] = self._last
            self._last = chunk
        chunk = self._last
        chunk[at], chunk[at + CHUNK] = val, agg
        self._size += 1

    def top(self) -> tuple[State, State]:
        at = (self._size - 1) & MASK
        return self._last[at], self._last[at + CHUNK]

    def pop(self) -> None:
        self._size -= 1
        if self._size & MASK == 0:
            freed = self._last
            self._last = freed[PREV]
            freed[PREV] = None
            self._spare = freed

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[tuple[State, State]]:
        """Pairs from the top down."""
        chunk = self._last
        for i in range(self._size - 1, -1, -1):
            at = i & MASK
            yield chunk[at], chunk[at + CHUNK]
            if at == 0:
                chunk = chunk[PREV]


class PlaceIndex:
    """The places of a queue's rows, which never fall: where one lies is found in O(log n) steps.

    Rows leave the queue without a word: what lies here before its last `size` places has left, and goes when the next
    block begins. `last` is the block that places are appended to; all others hold `BLOCK` of them.

    >>> index = PlaceIndex([1, 4, 4, 9])
    >>> index.count_before(4, size=4), index.count_before(5, size=4), index.count_before(5, size=2)
    (1, 3, 1)
    """

    __slots__ = ("_blocks", "last")

    BLOCK = 256

    def __init__(self, places: Iterable[Any] = ()) -> None:
        self._blocks: list[list[Any]] = []
        self.last: list[Any] = []
        self.fill(places)

    def fill(self, places: Iterable[Any]) -> None:
        """Hold these places."""
        held = list(places)
        self._blocks = [held[i : i + self.BLOCK] for i in range(0, len(held), self.BLOCK)] or [[]]
        self.last = self._blocks[-1]

    def append(self, place: Any, size: int) -> None:
        """Put a place behind the others, of which the last `size` are still there."""
        if len(self.last) == self.BLOCK:
            self.begin_block(size)
        self.last.append(place)

    def begin_block(self, size: int) -> None:
        """Begin a block, which the last one is too full for, and drop those whose rows have all left."""
        left = len(self) - size
        del self._blocks[: left // self.BLOCK]
        self.last = []
        self._blocks.append(self.last)

    def drop_last(self, count: int) -> None:
        """Drop the youngest places, that were appended last."""
        for _ in range(count):
            if not self.last and len(self._blocks) > 1:
                del self._blocks[-1]
                self.last = self._blocks[-1]
            self.last.pop()

    def count_before(self, place: Any, size: int) -> int:
        """How many of the last `size` lie before a place. Steps: O(log n)."""
        blocks = self._blocks
        i = bisect_left(blocks, [place], 1) - 1
        return max(i * self.BLOCK + bisect_left(blocks[i], place) - len(self) + size, 0)

    def __len__(self) -> int:
        """The number of places, those included that have left."""
        return (len(self._blocks) - 1) * self.BLOCK + len(self.last)

    def _check(self, places: Sequence[Any]) -> None:
        """Verify the blocks, and that they end with these places."""
        assert self._blocks[-1] is self.last, "places are appended to the last block"
        assert all(len(block) == self.BLOCK for block in self._blocks[:-1]), "all blocks but the last are full"
        held = [place for block in self._blocks for place in block]
        assert held[len(held) - len(places) :] == list(places), "it ends with the places of the queue"


class Ring:
    """A queue with random access by position, in a circular list that doubles and halves.

    Positions are integers that never move: p lies in `slots` at p & (len(slots) - 1). A resize copies the queue, so
    this serves the amortised algorithms only.
    """

    __slots__ = ("slots", "start", "stop")

    SMALLEST = 8

    def __init__(self, start: int = 0) -> None:
        self.slots: list[Any] = [None] * self.SMALLEST
        self.start = self.stop = start

    def push(self, value: State | int) -> None:
        if self.stop - self.start == len(self.slots):
            self._resize(2 * len(self.slots))
        self.slots[self.stop & (len(self.slots) - 1)] = value
        self.stop += 1

    def pop(self, count: int = 1) -> None:
        """Drop `count` values from the front."""
        size = len(self.slots)
        first = self.start & (size - 1)
        if count == 1:
            self.slots[first] = None
        else:  # up to the end of the list, and on from its beginning
            wrapped = max(first + count - size, 0)
            self.slots[first : first + count] = [None] * (count - wrapped)
            self.slots[:wrapped] = [None] * wrapped
        self.start += count
        while size > self.SMALLEST and 4 * len(self) <= size:
            size //= 2
        if size < len(self.slots):
            self._resize(size)

    def _resize(self, size: int) -> None:
        first, count = self.start & (len(self.slots) - 1), len(self)
        held = self.slots[first : first + count]
        held += self.slots[: count - len(held)]
        shift = self.start & (size - 1)
        slots = [None] * shift + held + [None] * (size - shift - count)
        slots[: max(len(slots) - size, 0)] = slots[size:]
        self.slots = slots[:size]

    def __getitem__(self, position: int) -> State:
        return self.slots[position & (len(self.slots) - 1)]

    def __setitem__(self, position: int, value: State | int) -> None:
        self.slots[position & (len(self.slots) - 1)] = value

    def __len__(self) -> int:
        return self.stop - self.start
