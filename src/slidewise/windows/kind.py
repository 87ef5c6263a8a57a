"""Kinds of windows: each is described in a file of its own, and dispatched by what is said here."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Keeps(Enum):
    """What later windows of a key need to know of the rows that came before."""

    ROWS = "rows"  # the rows that they may hold
    CELLS = "cells"  # a state for each grain of time, whose rows leave together
    STATE = "state"  # one state, since no row ever leaves


class Kind(NamedTuple):
    """A kind of window: what the lanes dispatch by, and how its length is measured."""

    name: str
    keeps: Keeps
    numbered: bool = False  # its length is a number of rows, so rows of equal time come one after the other
    timed: bool = False  # its length is a stretch of time, so rows need times
