"""How far a window reaches back, in the unit of the places that rows have: times, or numbers within a key."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from slidewise.windows.kind import Kind
from slidewise.windows.months import Months


class Extent(NamedTuple):
    """A kind of window with its length; None as the width has no end, and None as the grain rounds nothing.

    `edge` takes in rows exactly `width` ago, and `open_right` leaves out the row itself and its peers. `limit` is how
    many of the rows that are left the window holds at most, the newest. With a `delay` it ends so long before the row.
    With `ahead` it is the width from the row on, and `edge` takes in the row itself and its peers.
    With `months` there is no width, and a place is so many nanoseconds as `tick` says.
    """

    kind: Kind
    width: Fraction | float | None
    grain: Fraction | float | None
    edge: bool
    open_right: bool
    limit: int | None = None
    delay: Fraction | float | None = None
    ahead: bool = False
    months: Months | None = None
    tick: int = 1

    @property
    def shifted(self) -> bool:
        """Whether the window ends elsewhere than at the row."""
        return self.delay is not None or self.ahead

    @property
    def reach(self) -> Fraction:
        """How far back a row of the window can lie; a rounded edge lies farther by less than a grain."""
        if self.months is not None:
            return Fraction(self.months.longest, self.tick)
        assert self.width is not None
        return Fraction(self.width) + Fraction(self.grain or 0) + Fraction(self.delay or 0)
