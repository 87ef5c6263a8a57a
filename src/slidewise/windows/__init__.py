"""WHICH rows are in: row and time windows, closed ends and durations, as plain data."""

from slidewise.windows.beats import Beats, Length, check_beat
from slidewise.windows.duration import Duration
from slidewise.windows.window import CLOSED, Window

__all__ = ["CLOSED", "Beats", "Duration", "Length", "Window", "check_beat"]
