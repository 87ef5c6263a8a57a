"""Panes of windows with answers that are about the row's own value, such as its rank."""

from __future__ import annotations

from typing import Any

from slidewise.engine.window_spec import WindowSpec
from slidewise.live.panes.limited_pane import LimitedRowPane
from slidewise.live.panes.row_pane import OpenRowPane, RowPane
from slidewise.live.panes.swag_pane import SwagPane
from slidewise.live.types import Arguments, Place


class _OwnValues:
    """Answers of a pane's rows, each of which is told to `_answers` before that is asked.

    `asking` are the arguments of the row, None where it is skipped, and whether the window holds it.
    """

    __slots__ = ()
    spec: WindowSpec
    swags: list[Any]

    def take(self, place: Place, arguments: Arguments | None) -> list[Any]:
        pane: Any = self
        pane.asking = arguments, not self.spec.is_open
        answers: list[Any] = super().take(place, arguments)  # type: ignore[misc]
        return answers

    def push_peers(self, peers: list[tuple[Place, Arguments | None]]) -> list[list[Any]]:
        """See `SwagPane.push_peers`."""
        pane: Any = self
        pane.begin()
        if self.spec.numbered or self.spec.is_open:
            return [self.take(place, arguments) for place, arguments in peers]
        for place, arguments in peers:
            pane._add(place, arguments)
        answers = []
        for later, (_, arguments) in zip(reversed(range(len(peers))), peers, strict=True):
            pane.asking = arguments, later < len(pane.rows)  # with a limit, its peers may have pushed it out
            answers.append(self._answers())
        return answers

    def _answers(self) -> list[Any]:
        pane: Any = self
        arguments, inside = pane.asking
        n = pane._counted()
        answers: list[Any] = []
        for swag, member in zip(self.swags, self.spec.members, strict=True):
            own = member.operator.traits.own_value is not None
            if n < member.least or (own and arguments is None):
                answers.append(None)
            elif own:
                assert arguments is not None
                answers.append(swag.query_own(arguments[0], inside))
            else:
                answers.append(swag.query())
        return answers

    push = SwagPane.push


class OwnRowPane(_OwnValues, RowPane):
    """A window that is closed on the right."""

    __slots__ = ("asking",)


class OpenOwnRowPane(_OwnValues, OpenRowPane):
    """A window that is open on the right: a row is ranked as if it stood there."""

    __slots__ = ("asking",)


class LimitedOwnRowPane(_OwnValues, LimitedRowPane):
    """A window with a limit."""

    __slots__ = ("asking",)
