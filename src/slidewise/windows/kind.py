"""Kinds of windows: each is described in a file of its own, and lanes dispatch by what is said here."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from slidewise.windows.window import Window


class Keeps(Enum):
    """The form in which earlier rows of a key are stored for later windows."""

    ROWS = "rows"  # the rows that they may hold
    CELLS = "cells"  # a state for each grain of time, whose rows leave together
    STATE = "state"  # one state, since no row ever leaves


class Kind:
    """A kind of window, with what the rest of the library asks of it: a subclass and its one instance in each file."""

    name: ClassVar[str]
    keeps: ClassVar[Keeps]
    numbered: ClassVar[bool] = False  # its length is a number of rows, so rows of equal time come one after the other
    shared: ClassVar[bool] = False  # its windows differ in their length only, so several may share one structure
    timed: ClassVar[bool] = False  # its length is a stretch of time, so rows need times
    own_rows: ClassVar[bool] = False  # every lane tells which row a window is of, for answers about its own value
    whole: ClassVar[str] = (
        ""  # why a batch of a stream reads a key's whole window, however large; empty where it does not
    )

    looks_ahead: ClassVar[bool] = False  # it holds rows behind its own, so an answer has to wait for them
    no_beats: ClassVar[str] = ""  # why it has no answers on a beat, and what to do; empty where it has

    def words(self, window: Window) -> str:
        """A window's length in words."""
        return str(window.last)

    def phrase(self, window: Window) -> str:
        """A window's length as errors say it, after "is over"."""
        return self.words(window)

    def note(self, window: Window) -> str | None:
        """The line of `explain` about this kind, where there is something to say."""
        return None
