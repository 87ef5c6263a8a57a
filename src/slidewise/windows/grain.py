"""Windows of time with a grain: the old edge is rounded, so that rows leave together, a cell at a time.

The old edge t - w is rounded down to a multiple of the grain g since time 0, so a window is longer by less than one
grain and never shorter. Rows between two neighbouring multiples are a cell, and leave together. Whole times are rounded
exactly. For float times the multiples are k * g, rounded; where floats lie farther apart than the grain, each is one.
"""

from __future__ import annotations

import math
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from slidewise.errors import WindowError
from slidewise.windows.duration import Duration
from slidewise.windows.kind import Keeps, Kind
from slidewise.windows.time import Length, check_length

if TYPE_CHECKING:
    from slidewise.windows.window import Window


class GrainKind(Kind):
    """The last stretch of time and what its old edge is rounded by; times are places."""

    name = "grain"
    keeps = Keeps.CELLS
    timed = True

    def note(self, window: Window) -> str:
        return f"grain: the window is longer than {window.last} by less than {window.grain}"


GRAIN = GrainKind()

Number = int | float | Fraction

FINE = 2.0**53  # multiples of the grain beyond this number are no farther apart than floats are


def check_grain(grain: Length | timedelta | str, last: Length | None) -> Length:
    """The grain of a time window: a length like the window's own, and no longer."""
    if last is None:
        raise WindowError(
            f"grain={grain!r} is for windows of time, in which rows leave together; give a length such as '1 hour', or "
            "leave out the grain"
        )
    try:
        length = check_length(grain)
    except WindowError as error:
        raise WindowError(f"grain={grain!r}: {error}") from None
    if isinstance(length, Duration) != isinstance(last, Duration):
        kind = "a duration, such as '1 second'" if isinstance(last, Duration) else "a number"
        raise WindowError(f"grain={grain!r} does not go with the window {str(last)!r}; write it as {kind}")
    if _size(length) > _size(last):
        raise WindowError(f"grain={grain!r} is longer than the window, {str(last)!r}; take a shorter one")
    return length


def _size(length: Length) -> int | float:
    return length.ns if isinstance(length, Duration) else length


def lowest(time: int | float, width: Number, grain: Number, edge: bool) -> Any:
    """The lowest time that is in the window that ends at `time`; `edge` takes in the old edge itself.

    >>> lowest(3605, 3600, 60, edge=False), lowest(3600, 3600, 60, edge=True)
    (1, 0)
    >>> lowest(1.5, 1.0, 0.25, edge=True)
    0.5
    """
    if isinstance(time, int):
        if type(width) is int and type(grain) is int:
            start = (time - width) // grain * grain
            return start if edge else start + 1
        grain = Fraction(grain)
        exact = (time - Fraction(width)) // grain * grain
        return math.ceil(exact) if edge else math.floor(exact) + 1
    rounded = multiple(time - float(width), float(grain))
    if edge:
        return rounded
    return math.nextafter(min(rounded, cell(time, grain, edge)), math.inf)  # its own cell is in, however rounded


def cell(time: int | float, grain: Number, edge: bool) -> Any:
    """The number of the cell that a time lies in, which grows from cell to cell.

    >>> [cell(time, 10, edge=False) for time in (0, 1, 10, 11)], [cell(time, 10, edge=True) for time in (9, 10)]
    ([-1, 0, 0, 1], [0, 1])
    """
    if isinstance(time, int):
        if type(grain) is int:
            return (time if edge else time - 1) // grain
        exact = time / Fraction(grain)
        return math.floor(exact) if edge else math.ceil(exact) - 1
    return multiple(time if edge else math.nextafter(time, -math.inf), float(grain))


def multiple(time: float, grain: float) -> float:
    """The greatest multiple of the grain at or below a float time."""
    quotient = time / grain
    if not -FINE < quotient < FINE:
        return time
    k = math.floor(quotient)
    if (k + 1) * grain <= time:
        k += 1
    elif k * grain > time:
        k -= 1
    return k * grain


def most_cells(width: Number, grain: Number) -> int:
    """How many cells a window can hold at most.

    >>> most_cells(3600, 1), most_cells(10, 3)
    (3601, 5)
    """
    return math.ceil(Fraction(width) / Fraction(grain)) + 1
