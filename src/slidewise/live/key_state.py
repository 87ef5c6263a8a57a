"""The state of one key of a live definition: a pane for each window."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from slidewise.engine.window_spec import WindowSpec
from slidewise.live.first_answers import Firsts, SpecAnswers
from slidewise.live.panes.pane import new_panes
from slidewise.live.types import Time

_NONE: Firsts = []  # of a key without events; lists of answers are replaced, and never changed


class KeyState:
    """The state of one key: its newest time, how many rows it has had, and a pane for each window.

    `firsts` are the answers of the first row of the newest time, see `first_answers`, one list for each of
    `Live.rows_before`; None where a snapshot did not have them.
    """

    __slots__ = ("count", "firsts", "now", "panes")
    in_arrays: ClassVar[bool] = False  # whether its windows lie in arrays

    def __init__(self, specs: list[WindowSpec]) -> None:
        self.now: Time | None = None
        self.count = 0
        self.panes = new_panes(specs)
        self.firsts: Firsts | None = _NONE

    def as_panes(self) -> KeyState:
        """Itself: its windows lie in panes."""
        return self

    def empty_windows(
        self, specs: list[WindowSpec], columns: set[str], rows_before: list[SpecAnswers]
    ) -> Callable[[], None]:
        """Empty the windows over some columns; returns what undoes that."""
        panes, firsts = self.panes, self.firsts
        self.panes = [
            new if columns & set(new.spec.columns) else old for old, new in zip(panes, new_panes(specs), strict=True)
        ]
        if firsts:
            self.firsts = [
                specs[at].empty_answers() if columns & set(specs[at].columns) else old
                for (at, _), old in zip(rows_before, firsts, strict=True)
            ]

        def undo() -> None:
            self.panes, self.firsts = panes, firsts

        return undo
