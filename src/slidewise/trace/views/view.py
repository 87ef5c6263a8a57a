"""The view of an algorithm: what a trace reads from it, and what its parts and cases are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from slidewise.operators.operator import Operator
from slidewise.swag import Swag
from slidewise.trace.views.traced_operator import TracedOperator, TracedState

Structure = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class AlgorithmView:
    """The parts of an algorithm that a trace reads.

    `shape` reads the structure. `snapshot` reads what `cases_of` compares, before a step and after it, to tell which
    cases the step took. `rules` are the invariants that the parts satisfy, `cases` say what each case does, and
    `schedule` is a short one that visits all of them.
    """

    name: str
    algorithm: type[Swag]
    kind: str  # "queue" or "tree"
    shape: Callable[[Any, TracedOperator], Structure]
    snapshot: Callable[[Any], Any]
    cases_of: Callable[[str, Any, Any], tuple[str, ...]]
    rules: Mapping[str, str]
    cases: Mapping[str, str]
    schedule: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    timed: bool = False  # takes rows out of order, by their times

    def make(self, operator: Operator) -> Swag:
        """The real class, with the settings that make its pictures small."""
        return self.algorithm(operator, **self.settings)


def partial(traced: TracedOperator, state: TracedState, rule: str, name: str = "") -> dict[str, Any]:
    """A partial aggregate in a picture: its text, its rows and the rule that it satisfies."""
    return {"name": name, **traced.partial(state), "rule": rule}


def extra_partial(traced: TracedOperator, state: TracedState, rule: str, name: str, part: str) -> dict[str, Any]:
    """A partial that is kept beside the structure; without rows it belongs to no part."""
    return {**partial(traced, state, rule, name), "part": part if state.rows else "none"}


def cell(at: int, part: str, *fields: dict[str, Any], coin: bool = False) -> dict[str, Any]:
    """A slot of a queue: its place from the window's start, its sublist, and what it holds from top to bottom."""
    slot = {"at": at, "part": part, "fields": list(fields)}
    return {**slot, "coin": True} if coin else slot


def queue(cells: list[dict[str, Any]], pointers: dict[str, int], extra: list[dict[str, Any]]) -> Structure:
    """A queue: cells, pointers as places from the window's start, and partials that are kept beside it."""
    return {"cells": cells, "pointers": pointers, "extra": extra}
