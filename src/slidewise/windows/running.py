"""Windows of everything so far: no row ever leaves."""

from __future__ import annotations

from slidewise.windows.kind import Keeps, Kind

RUNNING = Kind("running", Keeps.STATE)
