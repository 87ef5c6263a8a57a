"""The view of Fiba: a B-tree whose rows stand in order from left to right, on the level of their node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slidewise.swag import Fiba
from slidewise.swag.fiba.node import NOTHING, Node
from slidewise.trace.views.traced_operator import TracedOperator
from slidewise.trace.views.trees import tree
from slidewise.trace.views.view import AlgorithmView, Structure, extra_partial, partial

NO_PARTIAL = {"name": "", "text": "", "rows": [], "rule": ""}


def _fiba(swag: Fiba, traced: TracedOperator) -> Structure:
    if not len(swag):
        return tree([], 0, {}, [])
    nodes: list[dict[str, Any]] = []
    column = 0

    def visit(node: Node, level: int, parent: str | None) -> None:
        nonlocal column
        name = f"{level}:{node.vals[0].rows[0]}"
        held = NO_PARTIAL if node.agg is NOTHING else partial(traced, node.agg, "inner")
        first = column
        cells: list[dict[str, Any]] = []
        drawn = {"id": name, "parent": parent, "level": level, "part": "L", **held, "cells": cells}
        nodes.append(drawn)
        for i in range(len(node.vals) + 1):
            if node.kids is not None:
                visit(node.kids[i], level - 1, name)
            if i < len(node.vals):
                cells.append({"at": column, "part": "B", **partial(traced, node.vals[i], "row")})
                column += 1
        drawn["from"], drawn["to"] = first, column - 1

    visit(swag._left[-1], len(swag._left) - 1, None)
    none = traced.operator.identity
    suffix = swag._suffix[0][0] if swag._suffix else none
    prefix = swag._prefix[0]
    extra = [
        extra_partial(traced, suffix, "suffix", "suffix", "F"),
        extra_partial(traced, prefix, "prefix", "prefix", "F"),
    ]
    return tree(nodes, column, {}, extra)


def _snapshot(swag: Fiba) -> list[tuple[int, int]]:
    """The level and the number of rows of every node, from the root down and from left to right."""

    def sizes(node: Node, level: int) -> Iterator[tuple[int, int]]:
        yield level, len(node.vals)
        for kid in node.kids or ():
            yield from sizes(kid, level - 1)

    return list(sizes(swag._left[-1], len(swag._left) - 1))


def _cases(operation: str, before: list[tuple[int, int]], after: list[tuple[int, int]]) -> tuple[str, ...]:
    if before[0][0] != after[0][0]:
        return ("split", "grow") if operation == "insert" else ("merge", "lower")
    if len(before) != len(after):
        return ("split",) if operation == "insert" else ("merge",)
    changed = sum(old != new for old, new in zip(before, after, strict=True))
    return ("leaf",) if changed == 1 else ("borrow",)


FIBA = AlgorithmView(
    name="fiba",
    algorithm=Fiba,
    kind="tree",
    shape=_fiba,
    snapshot=_snapshot,
    cases_of=_cases,
    rules={
        "row": "v_i, a row with its place in time; a node has one child before, between and behind its rows",
        "inner": "the product of all rows at and below this node; nodes on the two spines hold none",
        "suffix": "suffix: the product from the oldest row on, up the left spine to the root's first row, without it",
        "prefix": "prefix: the product from the root's first row on, down the right spine to the youngest row",
    },
    cases={
        "leaf": "one leaf changes, and the aggregate along its spine",
        "split": "a node had too many rows: it becomes two, and a row between them moves up",
        "grow": "the root was split, too: the tree is one level higher",
        "borrow": "a leaf had too few rows: one moves over from its neighbour, through their parent",
        "merge": "two nodes with few rows become one, with the row between them",
        "lower": "the root has no row left: the tree is one level lower",
    },
    schedule="+9 -7",
    settings={"min_arity": 2},
    timed=True,
)
