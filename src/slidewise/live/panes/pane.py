"""The interface of panes, and the kind of pane that each window has."""

from __future__ import annotations

from typing import Any, Protocol

from slidewise.engine.running_pane import RunningPane
from slidewise.engine.window_spec import WindowSpec
from slidewise.live.panes.cell_pane import CellPane
from slidewise.live.panes.row_pane import OpenRowPane, RowPane
from slidewise.live.panes.shared_pane import shared_panes
from slidewise.live.types import Arguments, Place


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

    def held(self) -> int:
        """How many rows, or cells of rows, there are."""


def new_panes(specs: list[WindowSpec]) -> list[Pane]:
    """An empty pane for each spec."""
    return [shared or _new_pane(spec) for spec, shared in zip(specs, shared_panes(specs), strict=True)]


def _new_pane(spec: WindowSpec) -> Pane:
    if spec.running:
        return RunningPane(spec)
    if spec.grain is not None:
        return CellPane(spec)
    return OpenRowPane(spec) if spec.is_open else RowPane(spec)
