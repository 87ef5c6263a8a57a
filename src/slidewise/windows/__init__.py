"""Windows as plain data: which rows are in. One kind of window per file, lengths, closed ends, and beats."""

from slidewise.windows.beats import Beats, check_beat
from slidewise.windows.duration import Duration
from slidewise.windows.kind import Keeps, Kind
from slidewise.windows.months import Months
from slidewise.windows.time import Length
from slidewise.windows.window import CLOSED, Window

__all__ = ["CLOSED", "Beats", "Duration", "Keeps", "Kind", "Length", "Months", "Window", "check_beat"]
