"""Views of the trees: FlatFat, BInt and Amta."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slidewise.swag import Amta, BInt, FlatFat
from slidewise.swag.amta import PerfectTree
from slidewise.swag.flat_fat import EMPTY
from slidewise.trace.views.traced_operator import TracedOperator, TracedState
from slidewise.trace.views.view import AlgorithmView, Structure, extra_partial, partial

Nodes = list[dict[str, Any]]
Sizes = tuple[list[int], list[int]]  # of the trees on the left spine and on the right one


def node(
    name: str, parent: str | None, level: int, span: tuple[int, int], part: str, held: dict[str, Any]
) -> dict[str, Any]:
    """A node over the columns from the first to the last of its span; its level counts from the leaves."""
    return {"id": name, "parent": parent, "level": level, "from": span[0], "to": span[1], "part": part, **held}


def tree(nodes: Nodes, columns: int, pointers: dict[str, int], extra: list[dict[str, Any]]) -> Structure:
    """A tree or several, over so many columns."""
    return {"nodes": nodes, "columns": columns, "pointers": pointers, "extra": extra}


def _flat_fat(swag: FlatFat, traced: TracedOperator) -> Structure:
    stored = swag._nodes
    capacity = len(stored) // 2
    nodes: Nodes = []
    for i in range(1, 2 * capacity):
        depth = i.bit_length() - 1
        width = capacity >> depth
        first = (i - (1 << depth)) * width
        leaf = i >= capacity
        empty = stored[i] is EMPTY
        held = {"name": "", "text": "·", "rows": [], "rule": "empty"}
        if not empty:
            held = partial(traced, stored[i], "leaf" if leaf else "node")
        part = "none" if empty else "B" if leaf else "F" if i == 1 else "L"
        level = capacity.bit_length() - 1 - depth
        parent = str(i // 2) if i > 1 else None
        nodes.append(node(str(i), parent, level, (first, first + width - 1), part, held))
    end = (swag._start + swag._size) % capacity
    return tree(nodes, capacity, {"start": swag._start, "end": end}, [])


def _b_int(swag: BInt, traced: TracedOperator) -> Structure:
    base = swag._levels[0]
    nodes: Nodes = []
    for j, level in enumerate(swag._levels):
        above = swag._levels[j + 1] if j + 1 < len(swag._levels) else None
        for i in range(level.start, level.stop):
            first = (i << j) - base.start
            parent = f"{j + 1}:{i >> 1}" if above is not None and above.start <= i >> 1 < above.stop else None
            held = partial(traced, level[i], "interval" if j else "leaf")
            span = (first, first + (1 << j) - 1)
            nodes.append(node(f"{j}:{i}", parent, j, span, "L" if j else "B", held))
    return tree(nodes, len(base), {}, [])


def _amta(swag: Amta, traced: TracedOperator) -> Structure:
    nodes: Nodes = []

    def below(subtree: PerfectTree, first: int, parent: str | None) -> Iterator[dict[str, Any]]:
        level = subtree.size.bit_length() - 1
        name = f"{level}:{_first(subtree).rows[0]}"
        held = partial(traced, subtree.agg, "tree" if level else "leaf")
        part = "B" if not level else "F" if parent is None else "L"
        yield node(name, parent, level, (first, first + subtree.size - 1), part, held)
        if subtree.older is not None and subtree.younger is not None:
            yield from below(subtree.older, first, name)
            yield from below(subtree.younger, first + subtree.size // 2, name)

    first = 0
    extra = []
    for side, spines in (("left", swag._left[::-1]), ("right", swag._right)):
        for spine in spines:
            nodes += below(spine.tree, first, None)
            extra.append(extra_partial(traced, spine.agg, side, f"{side} {first}", "F"))
            first += spine.tree.size
    middle = sum(spine.tree.size for spine in swag._left)
    return tree(nodes, first, {"middle": middle} if first else {}, extra)


def _first(subtree: PerfectTree) -> TracedState:
    """The state of a tree's oldest row."""
    while subtree.older is not None:
        subtree = subtree.older
    state: TracedState = subtree.agg
    return state


def _flat_fat_snapshot(swag: FlatFat) -> tuple[int, bool]:
    capacity = len(swag._nodes) // 2
    return capacity, swag._start + swag._size > capacity


def _flat_fat_cases(operation: str, before: tuple[int, bool], after: tuple[int, bool]) -> tuple[str, ...]:
    if before[0] != after[0]:
        return ("double",) if after[0] > before[0] else ("halve",)
    return ("path", "wrapped") if after[1] else ("path",)


def _b_int_cases(operation: str, before: int, after: int) -> tuple[str, ...]:
    if operation == "evict":
        return ("drop",)
    return ("push", "carry") if after - before > 1 else ("push",)


def _amta_cases(operation: str, before: Sizes, after: Sizes) -> tuple[str, ...]:
    if operation == "insert":
        return ("push",) if len(after[1]) > len(before[1]) else ("push", "merge")
    if not any(after) or (before[0] and before[0][-1] == 1):
        return ("drop",)
    return ("split",) if before[0] else ("turn", "split")


FLAT_FAT = AlgorithmView(
    name="flat-fat",
    algorithm=FlatFat,
    kind="tree",
    shape=_flat_fat,
    snapshot=_flat_fat_snapshot,
    cases_of=_flat_fat_cases,
    rules={
        "leaf": "leaf: v_i, its own row, in a circular buffer of leaves",
        "node": "node: the product of its two children, the left one first",
        "empty": "no row below this node; it is never combined",
    },
    cases={
        "path": "one leaf is written, and every node above it anew",
        "wrapped": "the window goes over the array's end: the query joins its older part with its younger one",
        "double": "the leaves are full: a tree of twice as many is built",
        "halve": "a quarter of the leaves is left: a tree of half as many is built",
    },
    schedule="+4 -1 +1 -1 +2 -3",
)
B_INT = AlgorithmView(
    name="b-int",
    algorithm=BInt,
    kind="tree",
    shape=_b_int,
    snapshot=lambda swag: swag.stored(),
    cases_of=_b_int_cases,
    rules={
        "leaf": "level 0: v_i, its own row",
        "interval": "level j, interval i: the product of the rows [i · 2^j, (i + 1) · 2^j), all inside the window",
    },
    cases={
        "push": "the row becomes an interval of length 1",
        "carry": "it completes longer intervals, one call for each",
        "drop": "the intervals that begin with the oldest row leave; no call is made",
    },
    schedule="+2 -1",
)
AMTA = AlgorithmView(
    name="amta",
    algorithm=Amta,
    kind="tree",
    shape=_amta,
    snapshot=lambda swag: ([s.tree.size for s in swag._left], [s.tree.size for s in swag._right]),
    cases_of=_amta_cases,
    rules={
        "leaf": "leaf: v_i, its own row",
        "tree": "a perfect tree: the product of its two halves, the older first",
        "left": "left spine: the product of all rows from this tree to the middle",
        "right": "right spine: the product of all rows from the middle to the end of this tree",
    },
    cases={
        "push": "the row becomes a tree of its own at the right",
        "merge": "neighbours of equal size become one tree, as a binary counter carries",
        "split": "the first tree is split down to the leaf that leaves",
        "turn": "the left side is used up: the first tree of the right becomes it",
        "drop": "the first tree is a leaf, and leaves whole",
    },
    schedule="+4 -3",
)
