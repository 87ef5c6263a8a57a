"""Windows of time that end a delay before the row: rows of (t - d - w, t - d] where they are closed on the right."""

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

Number = int | float | Fraction


class DelayedKind(Kind):
    """A stretch of time that ends before the row; times are places, and rows wait until they are old enough."""

    name = "delayed"
    keeps = Keeps.ROWS
    timed = True
    own_rows = True
    whole = "rows enter it later than they come"
    no_beats = "windows end at their beats; take the answers of earlier beats, or leave out delay= or every="

    def words(self, window: Window) -> str:
        return f"{window.last}, ending {window.delay} before the row"

    def note(self, window: Window) -> str:
        return f"delay: rows enter {window.delay} after they came, and are kept for that long and {window.last} more"


DELAYED = DelayedKind()


def check_delay(delay: Length | timedelta | str, last: Length | None, rows: Any, grain: Any) -> Length:
    """The delay of a window of time: a length like the window's own."""
    if last is None:
        raise WindowError(
            f"delay={delay!r} is for windows of time, whose rows leave again: the rows of a delay cannot wait "
            "beside one state of all others; give a length, such as '7 days'"
        )
    for name, value, why in (
        ("rows", rows, "rows are counted back from the row itself"),
        ("grain", grain, "rows that enter one by one cannot be kept as one partial aggregate"),
    ):
        if value is not None:
            raise WindowError(f"delay={delay!r} and {name}={value!r} do not go together: {why}; leave out one of them")
    try:
        length = check_length(delay)
    except WindowError as error:
        raise WindowError(f"delay={delay!r}: {error}") from None
    if isinstance(length, Duration) != isinstance(last, Duration):
        kind = "a duration, such as '1 day'" if isinstance(last, Duration) else "a number"
        raise WindowError(f"delay={delay!r} does not go with the window {str(last)!r}; write it as {kind}")
    return length


def youngest(place: int | float, delay: Number, open_right: bool) -> Any:
    """The greatest place in the window that ends a delay before this place.

    >>> youngest(100, 10, False), youngest(100, 10, True), youngest(100, 2.5, False)
    (90, 89, 97)
    """
    if isinstance(place, int):
        return place - least_age(delay, open_right)
    end = place - float(delay)
    return math.nextafter(end, -math.inf) if open_right else end


def least_age(delay: Number, open_right: bool) -> int:
    """The age from which on rows are in, where places are whole numbers."""
    exact = Fraction(delay)
    return math.floor(exact) + 1 if open_right else math.ceil(exact)
