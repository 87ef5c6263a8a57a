"""Kinds of windows: each is described in a file of its own, and lanes dispatch by what is said here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

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
    clocked: ClassVar[bool] = False  # it begins anew by the times of rows, so they need times, and it runs empty
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


class Reset(ABC):
    """Where windows over everything so far begin anew, as plain data.

    One that `marks` goes by the rows themselves, which a column marks; any other by the times of a row and the one
    before it of the same key, which count in ticks of `tick` nanoseconds, or are numbers where that is None.
    """

    kind: ClassVar[Kind]
    marks: ClassVar[bool] = False

    def ticking(self, tick: int | None) -> Any:
        """The same for times in other ticks."""
        return self

    @abstractmethod
    def goes_on(self, before: Any, place: Any) -> bool:
        """Whether the window of the newest row before a place is also that of the place."""

    @abstractmethod
    def described(self) -> list[Any]:
        """All of it that stored state depends on, as JSON holds it: part of fingerprints, so it stays."""

    @abstractmethod
    def written(self) -> dict[str, Any]:
        """It as files hold it: arguments of `over`."""

    @abstractmethod
    def shown(self) -> list[str]:
        """It as Python: arguments of `over`."""
