"""Windows of the last n rows."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

from slidewise.errors import WindowError
from slidewise.windows.kind import Keeps, Kind

if TYPE_CHECKING:
    from slidewise.windows.window import Window


class RowKind(Kind):
    """The last n rows; numbers within a key are places."""

    name = "rows"
    keeps = Keeps.ROWS
    own_rows = True
    numbered = True
    shared = True

    def words(self, window: Window) -> str:
        return f"{window.rows} rows"

    def phrase(self, window: Window) -> str:
        return f"rows={window.rows}"


ROWS = RowKind()


def check_rows(rows: Any, closed: str, at_least: int | None, timed: bool = False) -> int:
    """The number of rows that the user wrote; they have one end that can be open, the right one, unless the window is
    `timed` as well."""
    if not is_whole(rows) or rows < 1:
        raise WindowError(f"rows is a whole number from 1 on, but is {rows!r}")
    if closed not in ("right", "left") and not timed:
        raise WindowError(f"a row window is closed 'right' or 'left', not {closed!r}; only times have two ends")
    if at_least is not None and at_least > rows:
        raise WindowError(f"at_least={at_least} can never be met by a window of rows={rows}")
    return int(rows)


def is_whole(value: object) -> bool:
    """Whether a value is an integer, of Python or of NumPy, and no bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)
