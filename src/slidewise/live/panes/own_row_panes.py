"""Panes of windows with answers that are about the row's own value, such as its rank."""

from __future__ import annotations

from typing import Any

from slidewise.engine.window_spec import WindowSpec
from slidewise.live.panes.delayed_pane import DelayedRowPane
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
        pane.asking = arguments, not self._left_out()
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
        left_out = self._left_out()
        for later, (_, arguments) in zip(reversed(range(len(peers))), peers, strict=True):
            pushed_out = self.spec.limit is not None and later >= len(pane.rows)  # by its peers
            pane.asking = arguments, not left_out and not pushed_out
            answers.append(self._answers())
        return answers

    def _left_out(self) -> bool:
        """Whether windows never hold the row that they are of."""
        return bool(self.spec.is_open) or self.spec.delay is not None

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


class DelayedOwnRowPane(_OwnValues, DelayedRowPane):
    """A window with a delay."""

    __slots__ = ("asking",)


def own_row_pane(spec: WindowSpec) -> RowPane:
    """The pane of a spec with such answers."""
    if spec.limit is not None:
        return LimitedOwnRowPane(spec)
    if spec.delay is not None:
        return DelayedOwnRowPane(spec)
    return OpenOwnRowPane(spec) if spec.is_open else OwnRowPane(spec)
