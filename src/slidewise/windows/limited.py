"""Windows of the last stretch of time that hold n rows at most: the newest of those up to the window's end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.windows.kind import Keeps, Kind

if TYPE_CHECKING:
    from slidewise.windows.window import Window


class LimitedKind(Kind):
    """The last stretch of time and a number of rows; times are places, and rows that are skipped count as rows."""

    name = "limited"
    keeps = Keeps.ROWS
    own_rows = True
    timed = True
    whole = "rows are counted from the newest on"

    def words(self, window: Window) -> str:
        return f"{window.last}, {window.rows} rows at most"

    def note(self, window: Window) -> str:
        return f"rows: of the last {window.last} the newest {window.rows} rows"


LIMITED = LimitedKind()
