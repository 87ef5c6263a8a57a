"""Counts of a live definition's events, and the compiled pass that single events go through, which counts its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slidewise.live.types import EventRow, Time

if TYPE_CHECKING:
    from slidewise.live.native.event_pass import EventPass


class EventCounts:
    """How many events have come in and been answered, and the newest time of all keys."""

    def __init__(self) -> None:
        self.event_pass: EventPass | None = None
        self._event_entry: Callable[[int, EventRow], Any] | None = None  # what it calls, while events go through it
        self._event_address = 0
        self._events = self._answers = 0
        self._seen: Time | None = None

    def go_through(self, event_pass: EventPass) -> None:
        """Let the events to come go through this pass, unless expressions come before or behind it."""
        if event_pass is not self.event_pass:
            events, answers, seen = self.events, self.answers, self.seen
            self.event_pass = event_pass
            self.events, self.answers, self.seen = events, answers, seen
        if event_pass.is_whole:
            self._event_entry, self._event_address = event_pass.entry, event_pass.address

    def leave_event_pass(self, *, undo: bool = False) -> None:
        """Take what comes next in without the pass over single events; `undo` what that has begun and not ended."""
        self._event_entry = None
        if undo and self.event_pass is not None:
            self.event_pass.undo()

    @property
    def events(self) -> int:
        """How many events have come in."""
        return self._events if self.event_pass is None else self._events + self.event_pass.taken

    @events.setter
    def events(self, count: int) -> None:
        self._events = count if self.event_pass is None else count - self.event_pass.taken

    @property
    def answers(self) -> int:
        """How many answers have gone out."""
        return self._answers if self.event_pass is None else self._answers + self.event_pass.taken

    @answers.setter
    def answers(self, count: int) -> None:
        self._answers = count if self.event_pass is None else count - self.event_pass.taken

    @property
    def seen(self) -> Time | None:
        """The newest time of all keys."""
        if self.event_pass is None:
            return self._seen
        return max((time for time in (self._seen, self.event_pass.seen) if time is not None), default=None)

    @seen.setter
    def seen(self, time: Time | None) -> None:
        self._seen = time
        if self.event_pass is not None:
            self.event_pass.forget_seen()
