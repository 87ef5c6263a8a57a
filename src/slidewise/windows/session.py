"""Windows that begin anew at a row: the session so far, and everything since a row that a column marks."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from slidewise.windows.duration import Duration
from slidewise.windows.kind import Keeps, Kind, Reset
from slidewise.windows.time import Length, as_written, length_in

if TYPE_CHECKING:
    from slidewise.windows.window import Window


class SessionKind(Kind):
    """The session so far; rows that are skipped belong to it, too."""

    name = "session"
    keeps = Keeps.STATE
    clocked = True

    def words(self, window: Window) -> str:
        assert isinstance(window.reset, Gap)
        return f"the session so far, with gaps of {window.reset.length} at most"

    def phrase(self, window: Window) -> str:
        return self.words(window)

    def note(self, window: Window) -> str:
        assert isinstance(window.reset, Gap)
        return f"begins anew: at a row more than {window.reset.length} after the one before it of its key"


SESSION = SessionKind()


@dataclass(frozen=True, slots=True)
class Gap(Reset):
    """A session ends where the next row of its key comes more than `length` later.

    >>> gap = Gap(Duration.of("2 seconds")).ticking(10**9)
    >>> gap.goes_on(5, 7), gap.goes_on(5, 8)
    (True, False)
    """

    kind = SESSION

    length: Length
    tick: int | None = field(default=None, compare=False, repr=False)

    def ticking(self, tick: int | None) -> Gap:
        return replace(self, tick=tick)

    @property
    def width(self) -> Fraction | int | float:
        """The gap in ticks."""
        return length_in(self.length, self.tick)

    def goes_on(self, before: Any, place: Any) -> bool:
        if isinstance(before, float) or isinstance(place, float):
            return bool(before >= place - float(self.width))
        return bool(place - before <= self.width)

    def described(self) -> list[Any]:
        return ["gap", f"{self.length.ns} ns" if isinstance(self.length, Duration) else self.length]

    def written(self) -> dict[str, Any]:
        return {"gap": as_written(self.length)}

    def shown(self) -> list[str]:
        return [f"gap={as_written(self.length)!r}"]


class SinceKind(Kind):
    """Everything since the last row that is marked, that row included, or since the first where none is."""

    name = "since"
    keeps = Keeps.STATE

    def words(self, window: Window) -> str:
        assert isinstance(window.reset, Since)
        return f"everything since the last row with {window.reset.column}"

    def phrase(self, window: Window) -> str:
        return self.words(window)

    def note(self, window: Window) -> str:
        assert isinstance(window.reset, Since)
        return f"begins anew: at a row where {window.reset.column} is true"


SINCE = SinceKind()


@dataclass(frozen=True, slots=True, eq=False)
class Since(Reset):
    """A window begins anew at a row where this column, or this expression, is true; null is not true."""

    kind = SINCE
    marks = True

    column: Any  # a name, or an expression, whose == makes a condition

    def _key(self) -> Hashable:
        key: Hashable = self.column if isinstance(self.column, str) else ("expression", self.column.key())
        return key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Since) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def goes_on(self, before: Any, place: Any) -> bool:
        return True

    def described(self) -> list[Any]:
        return ["since", self.column if isinstance(self.column, str) else ["expression", str(self.column)]]

    def written(self) -> dict[str, Any]:
        return {"since": self.column}

    def shown(self) -> list[str]:
        return [f"since={self.column!r}"]
