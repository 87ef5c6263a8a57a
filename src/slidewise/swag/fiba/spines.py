"""The spines of a finger B-tree: the aggregates kept along them, and what happens to them as nodes join and split."""

from __future__ import annotations

from collections.abc import Callable

from slidewise.operators.types import State
from slidewise.swag.fiba.node import NOTHING, Node, fold, interleave, piece_sizes, suffixes
from slidewise.swag.structures.last_rows import LastRows
from slidewise.swag.structures.times import RowTime

Saved = tuple[Node, list[RowTime], list[State], "list[Node] | None", State, int]  # a node and its fields
Sides = tuple[list[Node], list[Node], list[list[State]], list[State], int]  # left, right, suffix, prefix, size


class Spines(LastRows):
    """The tree of `Fiba` from its two ends. Level 0 are the leaves, and the root is on both spines.

    `_prefix[l]` is the product of all that lies on or before the right spine's node at level l, from the root's first
    row on and without that node's last child. `_suffix[l][i]` is the product from row i of the left spine's node at
    level l on, up to the root. So the first of `_suffix[0]` times `_prefix[0]` is the whole window.

    A step that changes more than one leaf is undone where the operator raises: nodes are saved before they change,
    and lists are replaced and never changed.
    """

    __slots__ = ("_left", "_log", "_prefix", "_right", "_size", "_suffix", "min_arity")

    min_arity: int
    _left: list[Node]  # from the oldest leaf to the root
    _right: list[Node]  # from the youngest leaf to the root
    _suffix: list[list[State]]  # by level, without the root's
    _prefix: list[State]  # by level, with the root's
    _size: int
    _log: list[Saved]

    def clear(self) -> None:
        root = Node([], [])
        self._left = [root]
        self._right = [root]
        self._suffix = []
        self._prefix = [NOTHING]
        self._size = 0
        self._log = []

    def _all_or_nothing(self, change: Callable[..., None], *arguments: object) -> tuple[Sides, list[Saved]]:
        """Make a change; where it raises, everything is as it was. Returns what `_put_back` needs."""
        before = self._left[:], self._right[:], self._suffix[:], self._prefix[:], self._size
        try:
            change(*arguments)
        except BaseException:
            self._put_back(before, self._log)
            raise
        log, self._log = self._log, []
        return before, log

    def _put_back(self, before: Sides, log: list[Saved]) -> None:
        """Undo the last change."""
        self._left, self._right, self._suffix, self._prefix, self._size = before
        for node, *fields in reversed(log):
            node.times, node.vals, node.kids, node.agg, node.rows = fields
        self._log = []

    def _save(self, node: Node) -> None:
        self._log.append((node, node.times, node.vals, node.kids, node.agg, node.rows))

    def _split(self, node: Node, keep_last: bool) -> tuple[list[Node], list[tuple[RowTime, State]]]:
        """The node, in two or more nodes if it has too many rows, and the rows between them."""
        most = 2 * self.min_arity - 1
        if len(node.vals) <= most:
            return [node], []
        return node.split(piece_sizes(len(node.vals), most), keep_last)

    def _refresh_prefix(self, top: int) -> None:
        """The right spine's products anew, from level `top` down to the leaf."""
        combine = self._combine
        root = len(self._right) - 1
        for level in range(top, -1, -1):
            node = self._right[level]
            before = self._prefix[level + 1] if level < root else NOTHING
            if node.kids is None:
                agg = fold(combine, before, node.vals)
            else:
                if level < root:
                    before = combine(before, node.kids[0].agg)
                agg = interleave(combine, before, node.vals[:-1], node.kids[1:-1])
                agg = fold(combine, agg, node.vals[-1:])
            self._prefix[level] = agg

    def _refresh_suffix(self, top: int, bottom: int = 0) -> None:
        """The left spine's products anew, from level `top` down to `bottom`; the root has none."""
        for level in range(min(top, len(self._left) - 2), bottom - 1, -1):
            node = self._left[level]
            kids = None if node.kids is None else node.kids[1:]
            self._suffix[level] = suffixes(self._combine, node.vals, kids, self._behind(level))

    def _behind(self, level: int) -> State:
        """The product of what lies behind the left spine's node at a level, up to the root."""
        return self._suffix[level + 1][0] if level + 1 < len(self._suffix) else NOTHING

    def _grow_root(self, nodes: list[Node], between: list[tuple[RowTime, State]]) -> None:
        """Put roots above the nodes that the root was cut into, until there is one; all spines anew."""
        while between:
            for node in nodes[1:-1]:
                node.sum_up(self._combine)
            self._left[-1], self._right[-1] = nodes[0], nodes[-1]
            for node in (nodes[0], nodes[-1]):
                node.forget()
            root = Node([t for t, _ in between], [v for _, v in between], nodes)
            self._left.append(root)
            self._right.append(root)
            self._suffix.append([])
            self._prefix.append(NOTHING)
            nodes, between = self._split(root, keep_last=True)
        self._refresh_prefix(len(self._right) - 1)
        self._refresh_suffix(len(self._left) - 2)

    def _lower_root(self) -> None:
        """Drop roots without rows, each of which has one child."""
        while not self._left[-1].vals and self._left[-1].kids is not None:
            root = self._left[-1].kids[0]
            for spine in (self._left, self._right):
                spine.pop()
                spine[-1] = root
            self._suffix.pop()
            self._prefix.pop()
            root.forget()

    def _join(self, parent: Node, sibling_inside: bool) -> bool:
        """Join the first child of a node on the left spine with the second, into one or into two of like size.

        Says whether the second is gone.
        """
        assert parent.kids is not None
        node, sibling = parent.kids[0], parent.kids[1]
        for changed in (parent, node, sibling):
            self._save(changed)
        times = [*node.times, parent.times[0], *sibling.times]
        vals = [*node.vals, parent.vals[0], *sibling.vals]
        kids = None if node.kids is None or sibling.kids is None else [*node.kids, *sibling.kids]
        sizes = piece_sizes(len(vals), 2 * self.min_arity - 1)
        cut = sizes[0]
        gone = len(sizes) == 1
        node.times, node.vals, node.kids = times[:cut], vals[:cut], None if kids is None else kids[: cut + 1]
        if gone:
            parent.times, parent.vals = parent.times[1:], parent.vals[1:]
            parent.kids = [node, *parent.kids[2:]]
        else:
            parent.times = [times[cut], *parent.times[1:]]
            parent.vals = [vals[cut], *parent.vals[1:]]
            sibling.times, sibling.vals = times[cut + 1 :], vals[cut + 1 :]
            sibling.kids = None if kids is None else kids[cut + 1 :]
            if sibling_inside:
                sibling.sum_up(self._combine)
        return gone

    def _refill(self, level: int, least: int) -> bool:
        """Give the left spine's node at a level rows from its sibling where it has too few, and so on above it.

        The products from rows that stay are what they were, so only those of the sibling's rows are made. Says whether
        the root has changed: then its first child has rows that were the root's, and the prefixes are to be made anew.
        """
        left, suffix = self._left, self._suffix
        bottom = level
        while level < len(left) - 1 and len(left[level].vals) < least:
            node, parent = left[level], left[level + 1]
            inside = level + 1 < len(left) - 1 or len(parent.vals) > 1
            had = len(node.vals)
            gone = self._join(parent, inside)
            if level + 1 == len(left) - 1:
                self._lower_root()
                self._refresh_suffix(level, bottom)
                return True
            assert parent.kids is not None
            first, rest = suffix[level + 1][0], suffix[level + 1][1:]
            behind = rest[0] if rest else self._behind(level + 1)
            if not gone:
                rest = [*suffixes(self._combine, parent.vals[:1], parent.kids[1:2], behind), *rest]
                behind = rest[0]
            kids = None if node.kids is None else node.kids[had + 2 :]
            added = suffixes(self._combine, node.vals[had + 1 :], kids, behind)
            suffix[level] = [*suffix[level], first, *added]
            suffix[level + 1] = rest
            level += 1
            least = self.min_arity - 1
        return False
