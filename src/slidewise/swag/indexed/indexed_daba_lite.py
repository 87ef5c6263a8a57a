"""DABA Lite with products of dyadic blocks beside its rows."""

from __future__ import annotations

from collections.abc import Sequence

from slidewise.operators.types import State, Value
from slidewise.swag.daba_lite import DabaLite
from slidewise.swag.structures.dyadic_blocks import BlockChunks
from slidewise.swag.structures.queues import CHUNK, MASK, Chunk, walk


class IndexedDabaLite(DabaLite):
    """DABA Lite that also answers without its k oldest rows, whatever k is.

    Combine calls: insert at most 4, average 3; evict at most 2, average 1; query at most 1; without the oldest rows at
    most 3 log2 n + 3, and at most 2 where the first row that stays has an aggregate. Space: 2n + 2 partials.

    DABA Lite's slots answer for all rows but the plain ones, [R, A) and [B, E); the blocks cover those. Windows that
    have never had more than `FEW` rows do without blocks: at most half of their rows are plain.

    >>> import slidewise as sw
    >>> w = IndexedDabaLite(sw.max)
    >>> for e in [4, 5, 3, 4, 0, 2, 1]:
    ...     w.insert(e)
    >>> [w._query_without(k) for k in range(8)]
    [5, 5, 4, 4, 2, 2, 1, None]
    """

    __slots__ = ("_blocks", "_since")

    _blocks: BlockChunks | None  # the chunks, once the window has had enough rows for products to be worth it
    _since: int  # all rows from this position on have products

    FEW = 16

    def insert(self, e: Value, *more: Value) -> None:
        v = self._lift_row(e, more) if more or e is None else self._lift(e)
        E = self.E
        at = E & MASK
        cE: Chunk = self._cE if at else self._next_chunk()
        cE[at] = v
        blocks = self._blocks
        if blocks is None:
            if E - self.F >= self.FEW:
                self._begin_blocks()
        elif at & 1:  # the slot before is that of the youngest row, which is its own state in every part
            cE[at + CHUNK] = self._combine(cE[at - 1], v)
        elif at & 2 and at > 2 and self.F <= E - 6 >= self._since:  # `BlockChunks.make`, for speed
            cE[at + CHUNK] = self._combine(cE[at + (CHUNK - 5)], cE[at + (CHUNK - 3)])
        else:
            blocks.make(self._combine, cE, E, self.F)
        self._fixup(self.F, self._cF, E + 1, cE, v if self.B == E else self._combine(self.aggB, v), self._log)
        self.E = E + 1
        self._cE = cE

    def _next_chunk(self) -> Chunk:
        """The chunk that E is to lie in, behind the last."""
        if self._blocks is None:
            return self._chunks.after(self._cE)
        if self._log is None:
            self._blocks.forget(self.F)
        return self._blocks.append(self._cE, self.E)

    def _begin_blocks(self) -> None:
        """Make products from the row behind E on, which lies in its chunk already."""
        blocks = BlockChunks()
        blocks.adopt(self._cF, self.F, self.E + 1)
        self._chunks = self._blocks = blocks
        self._since = blocks.origin

    def clear(self) -> None:
        super().clear()
        self._blocks = None
        self._since = 0

    def _slot(self, p: int) -> State:
        return super()._slot(p) if self._blocks is None else self._blocks.slot(p)

    def _plain(self, start: int, stop: int) -> State:
        if self._blocks is None:
            return super()._plain(start, stop)
        return self._blocks.fold(self._combine, start, stop, self.E)

    def _rollback(self) -> None:
        super()._rollback()
        chunks = self._chunks
        self._blocks = chunks if isinstance(chunks, BlockChunks) else None
        if self._blocks is not None:
            self._blocks.take_back(self.E)
            self._since = self._blocks.origin

    def _load(self, numbers: list[int], states: list[State]) -> None:
        super()._load(numbers, states)
        if self.E >= self.FEW:
            blocks = BlockChunks()
            blocks.fill(self._cF, self.E, self._combine, (self.R, self.A), self.B)
            self._chunks = self._blocks = blocks
            self._since = self.E

    def stored(self) -> int:
        return 2 * len(self) + 2

    def _check(self, rows: Sequence[Value] | None = None) -> None:
        super()._check(rows)
        if self._blocks is not None:
            self._require(self._blocks is self._chunks, "chunks are those with products")
            states = None if rows is None else self._lifted(rows)
            self._blocks._check(self.operator, self.F, self.E, states)
        if self:
            slots = [self._slot(p) for p in range(self.F, self.E)]
            self._require(list(map(id, slots)) == list(map(id, walk(self._cF, self.F, self.E))), "slots are found")
