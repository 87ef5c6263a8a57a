"""How an algorithm is looked at: what to read from it, and what its parts and cases are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from slidewise.operators.operator import Operator
from slidewise.swag import Swag
from slidewise.trace.views.watching import Seen, Watched

Shape = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class View:
    """One algorithm, as seen from outside.

    `look` reads the structure. `mark` remembers what `went` needs to say, after a step, which cases it took. `rules`
    are the invariants that the parts satisfy, `cases` say what each case does, and `every` is a short schedule that
    visits all of them.
    """

    name: str
    algorithm: type[Swag]
    kind: str  # "queue" or "tree"
    look: Callable[[Any, Watched], Shape]
    mark: Callable[[Any], Any]
    went: Callable[[str, Any, Any], tuple[str, ...]]
    rules: Mapping[str, str]
    cases: Mapping[str, str]
    every: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    timed: bool = False  # takes rows out of order, by their times

    def make(self, operator: Operator) -> Swag:
        """The real class, with the settings that make its pictures small."""
        return self.algorithm(operator, **self.settings)


def partial(watched: Watched, seen: Seen, rule: str, name: str = "") -> dict[str, Any]:
    """A partial aggregate in a picture: its text, its rows and the rule that it satisfies."""
    return {"name": name, **watched.partial(seen), "rule": rule}


def beside(watched: Watched, seen: Seen, rule: str, name: str, part: str) -> dict[str, Any]:
    """A partial that is kept beside the structure; without rows it belongs to no part."""
    return {**partial(watched, seen, rule, name), "part": part if seen.rows else "none"}


def cell(at: int, part: str, *fields: dict[str, Any], coin: bool = False) -> dict[str, Any]:
    """A slot of a queue: its place from the window's start, its sublist, and what it holds from top to bottom."""
    found = {"at": at, "part": part, "fields": list(fields)}
    return {**found, "coin": True} if coin else found


def queue(cells: list[dict[str, Any]], pointers: dict[str, int], extra: list[dict[str, Any]]) -> Shape:
    """A queue: cells, pointers as places from the window's start, and partials that are kept beside it."""
    return {"cells": cells, "pointers": pointers, "extra": extra}
