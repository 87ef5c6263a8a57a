"""How many rows a window holds as of a time that no event of its key has reached; a look, which changes nothing."""

from __future__ import annotations

from typing import Any

from slidewise.engine.window_spec import WindowSpec
from slidewise.live.live import Live
from slidewise.live.types import Time
from slidewise.windows.kind import Keeps


def window_rows(live: Live, key_state: Any, at: int, time: Time) -> int:
    """The rows that the window of the spec at this index holds as of a time, which must be later than the newest."""
    spec: WindowSpec = live.specs[at]
    pane = key_state.panes[at]
    if spec.keeps is Keeps.STATE:
        return int(pane.rows_at(time))
    if spec.keeps is Keeps.CELLS:
        cut = spec.cut(time)
        return sum(cell.rows for cell in pane.all_cells() if cell.place >= cut)
    place = key_state.count - (0 if spec.is_open else 1) if spec.numbered else time
    cut = spec.cut(place)
    rows = pane.all_rows()
    if spec.limit is not None:
        return sum(row[1] for row in rows[-spec.limit :] if row[0] >= cut)
    young = spec.young(time) if spec.delay is not None else place
    return sum(cut <= row[0] <= young for row in rows)
