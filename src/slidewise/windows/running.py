"""Windows of everything so far: no row ever leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.windows.kind import Keeps, Kind

if TYPE_CHECKING:
    from slidewise.windows.window import Window


class RunningKind(Kind):
    """Everything so far, whether rows have times or not."""

    name = "running"
    keeps = Keeps.STATE
    own_rows = True

    def words(self, window: Window) -> str:
        return "everything so far"

    def phrase(self, window: Window) -> str:
        return "all rows so far"


RUNNING = RunningKind()
