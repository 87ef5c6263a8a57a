"""The base of panes that keep a SWAG for each operator: rows come in, and can be taken back until the next ones do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import replace
from typing import Any, TypeVar

from slidewise.engine.running_pane import for_each
from slidewise.engine.window_spec import WindowSpec
from slidewise.live.types import Arguments, Place
from slidewise.operators.operator import Operator
from slidewise.swag.structures.queues import PlaceIndex

Item = TypeVar("Item", bound=tuple[Any, ...])


class SwagPane(ABC):
    """The SWAGs of one window under one key, and what has come and gone since `begin`.

    A subclass keeps the items that the SWAGs hold: rows, or cells of rows.
    """

    __slots__ = ("added", "gone", "spec", "swags")

    def __init__(self, spec: WindowSpec, swags: list[Any]) -> None:
        self.spec = spec
        self.swags = swags
        self.added = 0  # items that came since `begin`
        self.gone: list[Any] | None = None  # items that were evicted since `begin`

    def push(self, place: Place, arguments: Arguments | None) -> list[Any]:
        """Take in a row, evict what is too old for it, and answer; `undo` takes it back until the next push."""
        self.begin()
        return self.take(place, arguments)

    def push_peers(self, peers: list[tuple[Place, Arguments | None]]) -> list[list[Any]]:
        """Take in rows of equal time, which all see one another; numbered rows come one after the other."""
        self.begin()
        if self.spec.numbered or self.spec.is_open:
            return [self.take(place, arguments) for place, arguments in peers]
        for place, arguments in peers:
            self._add(place, arguments)
        return for_each(peers, self._answers())

    @abstractmethod
    def begin(self) -> None:
        """From here on `undo` takes back."""

    @abstractmethod
    def take(self, place: Place, arguments: Arguments | None) -> list[Any]:
        """Take in one more row after `begin`, and answer."""

    def keep(self) -> None:
        """Make what has come since `begin` stay."""
        self.gone = None
        for swag in self.swags:
            swag._commit()

    @abstractmethod
    def answers_at(self, place: Place) -> list[Any]:
        """The answers at a place, not before the newest, where no row comes; nothing changes."""

    @abstractmethod
    def _add(self, place: Place, arguments: Arguments | None) -> None:
        """Take in a row of a window that is closed on the right, and evict what is too old for it."""

    @abstractmethod
    def _answers(self) -> list[Any]:
        """The answer of each member over the rows that the window holds."""

    def _roll_back(self, items: deque[Item], places: PlaceIndex | None) -> None:
        """Put items and SWAGs back to what they were at `begin`; no function of an operator is called, since it may be
        what failed."""
        if self.gone:
            items.extendleft(reversed(self.gone))
            self.gone = None
        for _ in range(self.added):
            items.pop()
        if places is not None:
            if len(places) - self.added >= len(items):
                places.drop_last(self.added)
            else:  # places of rows that had left were dropped, and the rows are back
                places.fill(item[0] for item in items)
        self.added = 0
        for swag in self.swags:
            swag._rollback()


def over_states(op: Operator) -> Operator:
    """The operator over states instead of rows; a state comes in a tuple, since it may be None, which no row may be."""
    return replace(op, lift=_unboxed, inputs=("state",))


def _unboxed(box: tuple[Any]) -> Any:
    return box[0]
