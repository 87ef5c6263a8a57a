"""Products of dyadic blocks: what lies between two positions of a queue, in O(log n) calls of combine.

A block of level j is 2^j rows from a multiple of 2^j on. An insert makes one product at most, of two that are there
already. An odd position p makes the block of level 1 that ends behind it. An even one, an odd multiple of 2^(j-1),
makes a block of level j, the one that ends 2^(j-1) positions before it: products of long blocks come late, by half
their length, so that no two fall due at once. Each product lies beside the row whose insert made it, so it is found by
its number, and leaves with the rows around it. What was made by an insert that is taken back is made again before it is
asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from slidewise.operators.operator import Operator
from slidewise.operators.types import Combine, State
from slidewise.operators.values.equality import same
from slidewise.swag.structures.queues import CHUNK, MASK, NEXT, PREV, Chunk, Chunks

BITS = CHUNK.bit_length() - 1
_SIZE = 2 * CHUNK + 2
_SLACK = 64  # entries of chunks that have left, before the table is cut


class BlockChunks(Chunks):
    """Chunks with a product beside each row, and a table that finds them by their number.

    Position p has its row's state at offset p & MASK of its chunk, and `CHUNK` behind it the product that its insert
    made. Of rows that did not come one by one, only `plain` ones may be asked for, and rows up to `unmade` have no
    products at all.
    """

    __slots__ = ("_first", "_left", "_plain", "_table", "_tails", "_tails_end", "_unmade", "origin")

    def __init__(self) -> None:
        super().__init__(fields=2, both_ways=True)
        self._table: list[Chunk | None] = []
        self._first = 0  # the number of the table's first chunk
        self._left = 0  # chunks before this number have left
        self.origin = 0  # rows before this position did not come one by one
        self._plain = (0, 0)  # from where to where they hold their own states all the same
        self._unmade = 0
        self._tails: dict[int, State] = {}  # products that reads have made, and up to which ends
        self._tails_end = (0, 0)

    def after(self, last: Chunk | None) -> Chunk:
        if self.spare is not None and len(self.spare) < _SIZE:  # from before there were products
            self.spare = None
        return super().after(last)

    def adopt(self, first: Chunk, start: int, stop: int) -> None:
        """Enter a chain of chunks that has the positions from `start` up to `stop`, which do without products."""
        self._first = self._left = start >> BITS
        self._table = [first]
        for _ in range(((stop - 1) >> BITS) - self._first):
            self._table.append(self._table[-1][NEXT])  # type: ignore[index]
        for chunk in self._table:
            assert chunk is not None
            if len(chunk) < _SIZE:
                chunk[CHUNK:CHUNK] = [None] * CHUNK
        self.origin = self._unmade = stop

    def append(self, last: Chunk | None, position: int) -> Chunk:
        """A chunk behind the last, whose first position is this one."""
        chunk = self.after(last)
        del self._table[(position >> BITS) - self._first :]  # of an insert that was taken back, or failed
        self._table.append(chunk)
        return chunk

    def fill(self, first: Chunk, rows: int, combine: Combine, plain: tuple[int, int], last: int) -> None:
        """Enter a chain of chunks of so many rows from position 0 on, and make the products of their blocks.

        Only rows from position `last` on, and those of the range `plain`, hold their own states. Where the operator
        raises, the rows do without products. Combine calls: at most one for each row that holds its own state.
        """
        self.adopt(first, 0, rows)
        self._unmade = 0
        self.origin, self._plain = last, plain
        low, high = plain
        chunk = first
        try:
            for p in range(rows):
                at = p & MASK
                if p and not at:
                    chunk = chunk[NEXT]
                if not p & 1:
                    self.make(combine, chunk, p, 0)
                elif low < p < high or p > last:
                    chunk[at + CHUNK] = combine(chunk[at - 1], chunk[at])
        except Exception:
            self._unmade = self.origin = rows
            self._plain = (0, 0)

    def forget(self, start: int) -> None:
        """Let go of the chunks before a position."""
        left = start >> BITS
        table, first = self._table, self._first
        for number in range(self._left, left):
            table[number - first] = None
        self._left = max(self._left, left)
        if left - first > _SLACK and 2 * (left - first) > len(table):
            del table[: left - first]
            self._first = left

    def take_back(self, stop: int) -> None:
        """Let go of the chunks from a position on, which were appended and have no rows now."""
        del self._table[((stop - 1) >> BITS) + 1 - self._first :]
        self._tails_end = (0, 0)

    def cut(self) -> None:
        """Undo the backward links, so that chunks are freed at once."""
        for chunk in self._table:
            if chunk is not None:
                chunk[PREV] = None

    def slot(self, p: int) -> State:
        """What lies in the slot of a position."""
        chunk = self._table[(p >> BITS) - self._first]
        assert chunk is not None
        return chunk[p & MASK]

    def make(self, combine: Combine, chunk: Chunk, p: int, start: int) -> None:
        """Make the product that falls due at an even position, unless its block begins before `start`.

        `chunk` is that of the position. Combine calls: at most 1.
        """
        low = p & -p
        first = p - 3 * low
        if first < start or not p:
            return
        if first < self.origin and not self._plain[0] <= first < p - low <= self._plain[1]:
            return
        at = p & MASK
        if low > 2:
            older, newer = self._product(p - low - (low >> 1)), self._product(p - (low >> 1))
        elif at > 4:
            older, newer = chunk[at - 5 + CHUNK], chunk[at - 3 + CHUNK]
        else:
            before = chunk[PREV]
            older, newer = before[at - 5 + 2 * CHUNK], before[at - 3 + 2 * CHUNK]
        chunk[at + CHUNK] = combine(older, newer)

    def _product(self, p: int) -> State:
        """The product that the insert at a position made."""
        chunk = self._table[(p >> BITS) - self._first]
        assert chunk is not None
        return chunk[(p & MASK) + CHUNK]

    def fold(self, combine: Combine, start: int, stop: int, end: int) -> State:
        """The product of the rows from `start` up to `stop`, at least one, in a queue that ends at `end`.

        Their slots hold their own states. Combine calls: at most 3 log2(stop - start) + 1; one for each row where an
        operator refused to make products.
        """
        table, first = self._table, self._first
        p = start
        parts = []
        while p < self._unmade and p < stop:
            parts.append(self.slot(p))
            p += 1
        # As long as blocks can grow, p is a multiple of the size, and one is taken where the next size has no block.
        size = 1
        while p + size <= stop and (size < 4 or p + size + (size >> 1) < end):
            if p & size:
                if size == 1:
                    parts.append(table[(p >> BITS) - first][p & MASK])  # type: ignore[index]
                else:
                    q = p + 1 if size == 2 else p + size + (size >> 1)
                    parts.append(table[(q >> BITS) - first][(q & MASK) + CHUNK])  # type: ignore[index]
                p += size
            size <<= 1
        if p < stop:
            parts.append(self._tail(combine, p, size, stop, end))
        return reduce(combine, parts)

    def _tail(self, combine: Combine, p: int, size: int, stop: int, end: int) -> State:
        """The product of the rows from `p` up to `stop`, where blocks of this size do not fit, and shorter ones do.

        All reads up to the same end come upon the same few positions, so products from these on are kept for the next.
        """
        if self._tails_end != (stop, end):
            self._tails, self._tails_end = {}, (stop, end)
        tails, table, first = self._tails, self._table, self._first
        met = []
        while p < stop and p not in tails:
            size >>= 1
            if size > 2:
                most = min(stop, end - 1 - (size >> 1)) - size
                while p <= most and p not in tails:
                    q = p + size + (size >> 1)
                    met.append((p, table[(q >> BITS) - first][(q & MASK) + CHUNK]))  # type: ignore[index]
                    p += size
            elif size == 2:
                while p + 2 <= stop and p not in tails:
                    met.append((p, table[((p + 1) >> BITS) - first][((p + 1) & MASK) + CHUNK]))  # type: ignore[index]
                    p += 2
            else:
                met.append((p, table[(p >> BITS) - first][p & MASK]))  # type: ignore[index]
                p += 1
        if p < stop:
            agg = tails[p]
        else:
            p, agg = met.pop()
            tails[p] = agg
        while met:
            p, block = met.pop()
            agg = combine(block, agg)
            tails[p] = agg
        return agg

    def _check(self, operator: Operator, start: int, stop: int, states: Sequence[State] | None = None) -> None:
        """Verify the table, and given the rows' states every product of a block that is to be there."""
        assert self._first <= self._left <= start >> BITS or start == stop, "chunks that have left are forgotten"
        for number in range(start >> BITS, ((stop - 1) >> BITS) + 1 if stop > start else 0):
            assert self._table[number - self._first] is not None, f"chunk {number} is in the table"
        if states is None:
            return
        assert len(states) == stop - start, f"there are {stop - start} rows, not {len(states)}"
        for p in range(start + 1, stop):
            low = p & -p
            first, size = (p - 1, 2) if p & 1 else (p - 3 * low, 2 * low)
            stop_of_block = first + size
            if first < start or (first < self.origin and not self._plain[0] <= first < stop_of_block <= self._plain[1]):
                continue
            expected = states[first - start]
            for state in states[first - start + 1 : first - start + size]:
                expected = operator.combine(expected, state)
            held = self._product(p)
            assert same(held, expected), f"the block of {size} rows from {first} is {held!r}, should be {expected!r}"
