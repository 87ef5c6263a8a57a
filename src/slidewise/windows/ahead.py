"""Windows of the next stretch of time: what comes behind the row, for labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.errors import WindowError
from slidewise.windows.kind import Keeps, Kind

if TYPE_CHECKING:
    from slidewise.windows.window import Window


class AheadKind(Kind):
    """The next stretch of time; times are places, and a row is answered once all rows of its window are there."""

    name = "ahead"
    keeps = Keeps.ROWS
    timed = True
    looks_ahead = True
    no_beats = "an answer is given as its beat comes, and not later; leave out next=, or every="

    def words(self, window: Window) -> str:
        return f"the next {window.last}"

    def note(self, window: Window) -> str:
        return f"ahead: rows up to {window.last} after the row; on tables and Spark DataFrames, not on live events"


AHEAD = AheadKind()


def check_ahead(**others: object) -> None:
    """Refuse what a window that looks ahead cannot have."""
    for name, value in others.items():
        if value is not None:
            raise WindowError(
                f"next= is a window by itself, from the row on, and {name}={value!r} is about rows before it; leave "
                "out one of them"
            )
