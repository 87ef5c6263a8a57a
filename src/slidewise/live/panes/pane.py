"""The interface of panes, and the kind of pane that each window has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from slidewise.engine.running_pane import RunningPane
from slidewise.engine.window_spec import WindowSpec
from slidewise.live.panes.cell_pane import CellPane
from slidewise.live.panes.delayed_pane import DelayedRowPane
from slidewise.live.panes.limited_pane import LimitedRowPane
from slidewise.live.panes.own_row_panes import own_row_pane
from slidewise.live.panes.row_pane import MonthRowPane, OpenRowPane, RowPane
from slidewise.live.panes.shared_pane import shared_panes
from slidewise.live.types import Arguments, Place
from slidewise.windows.kind import Keeps


class Pane(Protocol):
    """One window under one key, which takes rows in, answers, and can take the last ones back."""

    spec: WindowSpec

    def push(self, place: Place, arguments: Arguments | None) -> list[Any]:
        """Take in a row, evict what is too old for it, and answer; `undo` takes it back until the next push."""

    def push_peers(self, peers: list[tuple[Place, Arguments | None]]) -> list[list[Any]]:
        """Take in rows of equal time, which all see one another; numbered rows come one after the other."""

    def begin(self) -> None:
        """From here on `undo` takes back."""

    def take(self, place: Place, arguments: Arguments | None) -> list[Any]:
        """Take in one more row after `begin`, and answer."""

    def undo(self) -> None:
        """Take back what has come since `begin`."""

    def keep(self) -> None:
        """Make what has come since `begin` stay."""

    def answers_at(self, place: Place) -> list[Any]:
        """The answers at a place, not before the newest, where no row comes; nothing changes."""

    def freeze(self, stored: Any) -> None:
        """Hold what a batch stores of the window, as arrays, instead of rows and SWAGs."""

    def held(self) -> int:
        """How many rows, or cells of rows, there are."""


def new_panes(specs: list[WindowSpec]) -> list[Pane]:
    """An empty pane for each spec."""
    return [shared or _PANES[spec.keeps](spec) for spec, shared in zip(specs, shared_panes(specs), strict=True)]


def _row_pane(spec: WindowSpec) -> Pane:
    if spec.own:
        return own_row_pane(spec)
    if spec.limit is not None:
        return LimitedRowPane(spec)
    if spec.delay is not None:
        return DelayedRowPane(spec)
    if spec.is_open:
        return OpenRowPane(spec)
    return RowPane(spec) if spec.months is None else MonthRowPane(spec)


_PANES: dict[Keeps, Callable[[WindowSpec], Pane]] = {
    Keeps.ROWS: _row_pane,
    Keeps.CELLS: CellPane,
    Keeps.STATE: RunningPane,
}
