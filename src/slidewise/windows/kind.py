"""What a kind of window keeps of a key between batches."""

from __future__ import annotations

from enum import Enum


class Keeps(Enum):
    """What later windows of a key need to know of the rows that came before."""

    ROWS = "rows"  # the rows that they may hold
    CELLS = "cells"  # a state for each grain of time, whose rows leave together
    STATE = "state"  # one state, since no row ever leaves
