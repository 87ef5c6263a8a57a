"""Windows as plain data: which rows an aggregate sees. Nothing here runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from slidewise.errors import WindowError, did_you_mean
from slidewise.windows.ahead import AHEAD, check_ahead
from slidewise.windows.calendar import CalendarUnit, check_words
from slidewise.windows.delayed import DELAYED, check_delay
from slidewise.windows.duration import Duration
from slidewise.windows.extent import Extent
from slidewise.windows.grain import GRAIN, check_grain
from slidewise.windows.kind import Keeps, Kind, Reset
from slidewise.windows.limited import LIMITED
from slidewise.windows.months import MONTHS, Months
from slidewise.windows.rows import ROWS, check_rows, is_whole
from slidewise.windows.running import RUNNING
from slidewise.windows.session import Gap, Since
from slidewise.windows.time import TIME, Length, as_written, check_length, length_in

CLOSED = ("right", "both", "left", "neither")


def check_closed(closed: str) -> str:
    """Give `closed` back where it is one of the four ends, and say what they are where it is not."""
    if closed not in CLOSED:
        raise WindowError(
            f"closed={closed!r} is none of {', '.join(map(repr, CLOSED))}" + did_you_mean(str(closed), CLOSED)
        )
    return closed


@dataclass(frozen=True, slots=True, repr=False)
class Window:
    """The last `rows` rows, or the stretch of time `last`, or everything so far when neither is given.

    With both, it is the newest rows of the stretch of time. With `reset`, everything so far begins anew now and then.

    `at_least` is the number of rows below which the answer is null; None leaves it to the operator. `grain` rounds the
    old edge of a stretch of time down to a multiple of it, so that rows leave together. With a `delay` the stretch ends
    so long before the row, and `ahead` of it, it begins there.

    >>> Window.of("10 minutes", closed="both")
    over('10 minutes', closed='both')
    >>> Window.of(rows=100, at_least=10)
    over(rows=100, at_least=10)
    >>> Window.of("1 hour", grain="1s")
    over('1 hour', grain='1 second')
    >>> Window.of("1 hour", rows=100)
    over('1 hour', rows=100)
    >>> Window.of("7 days", delay="1 day")
    over('7 days', delay='1 day')
    >>> Window.of("1 month", zone="Europe/Berlin")
    over('1 month', zone='Europe/Berlin')
    >>> Window.of(next="1 hour")
    over(next='1 hour')
    """

    rows: int | None = None
    last: Length | Months | None = None
    closed: str = "right"
    at_least: int | None = None
    grain: Length | None = None
    delay: Length | None = None
    ahead: bool = False
    reset: Reset | None = None

    @classmethod
    def of(
        cls,
        last: Length | Months | timedelta | str | None = None,
        *,
        rows: int | None = None,
        closed: str = "right",
        at_least: int | None = None,
        grain: Length | timedelta | str | None = None,
        delay: Length | timedelta | str | None = None,
        zone: str | None = None,
        next: Length | timedelta | str | None = None,
        gap: Length | timedelta | str | None = None,
        since: Any = None,
    ) -> Window:
        """Check what the user wrote and make it a window; `last="all"` is a running aggregate."""
        check_closed(closed)
        reset = _reset(last, gap, since, zone)
        if reset is not None:
            _check_reset(reset, rows, grain, closed, next)
            last, zone = "all", None
        if next is not None:
            check_ahead(last=last, rows=rows, grain=grain, delay=delay, zone=zone)
            if next == "all" or Months.of(next) is not None:
                raise WindowError(f"next={next!r}: give it one length, such as '30 days'")
            last = next
        if last is None and rows is None:
            raise WindowError(
                "give a window either a length, such as '10 minutes', '1 month', 'this day' or 'all', or rows=n, or a "
                "length and rows=n, or gap=, since= or next="
            )
        if rows is not None and isinstance(last, str) and last == "all":
            raise WindowError(f"'all' and rows={rows!r} are two windows: write rows={rows!r} alone, or 'all' alone")
        if at_least is not None and (not is_whole(at_least) or at_least < 1):
            raise WindowError(f"at_least is a whole number of rows from 1 on, but is {at_least!r}")
        at_least = None if at_least is None else int(at_least)
        months = Months.of(last, zone)
        if months is not None:
            _check_months(last, rows=rows, grain=grain, delay=delay)
            return cls(None, months, closed, at_least)
        if zone is not None:
            raise WindowError(f"zone={zone!r} is for windows of the calendar, such as '1 month'; leave it out")
        assert not isinstance(last, Months)
        length = None if last is None or last == "all" else check_length(last)
        fine = None if grain is None else check_grain(grain, length)
        late = None if delay is None else check_delay(delay, length, rows, grain)
        number = None if rows is None else check_rows(rows, closed, at_least, length is not None)
        if number is not None and fine is not None:
            raise WindowError(
                f"grain={grain!r} and rows={rows!r} do not go together: rows that are counted leave one by one, and "
                "with a grain together; leave out one of them"
            )
        return cls(number, length, closed, at_least, fine, late, next is not None, reset)

    @property
    def kind(self) -> Kind:
        """The kind of window, by which lanes dispatch."""
        if self.rows is not None:
            return ROWS if self.last is None else LIMITED
        if self.reset is not None:
            return self.reset.kind
        if self.last is None:
            return RUNNING
        if self.delay is not None:
            return DELAYED
        if self.ahead:
            return AHEAD
        if isinstance(self.last, Months):
            return MONTHS
        return TIME if self.grain is None else GRAIN

    @property
    def keeps(self) -> Keeps:
        """The form in which a key is stored between batches: rows, cells or a state."""
        return self.kind.keeps

    @property
    def words(self) -> str:
        """The window's length in words: 10 minutes, 100 rows, everything so far."""
        return self.kind.words(self)

    @property
    def most_rows(self) -> int | None:
        """The most rows that the window can hold; None where that depends on the rows."""
        return self.rows

    @property
    def usual_ends(self) -> bool:
        """Whether the ends are those of a window that says nothing of them: its own row is in, its old edge is not."""
        return self.closed == "right"

    @property
    def may_be_empty(self) -> bool:
        """Whether the window may hold no rows at all: neither the row itself nor others."""
        return self.open_right or self.delay is not None or self.ahead

    @property
    def open_right(self) -> bool:
        """Whether a row and its peers are left out of their own window."""
        return self.closed in ("left", "neither")

    @property
    def edge(self) -> bool:
        """Whether a row exactly as old as the window is long is in."""
        return self.closed in ("both", "left")

    @property
    def bounds_key(self) -> tuple[object, ...]:
        """A key that is equal for windows which hold the same rows."""
        return self.rows, self.last, self.closed, self.grain, self.delay, self.ahead, self.reset

    @property
    def measure(self) -> Length | Months | None:
        """The length that must be of the times' kind, a duration or a number: the window's own, or that of a gap."""
        return self.reset.length if isinstance(self.reset, Gap) else self.last

    @property
    def as_duration(self) -> str:
        """How a length such as the window's is written where times are moments."""
        option = "gap=" if isinstance(self.reset, Gap) else "next=" if self.ahead else ""
        return f"{option}'10 minutes'"

    @property
    def needs_moments(self) -> bool:
        """Whether times must be moments or dates, since a part of the calendar begins the window."""
        return isinstance(self.reset, CalendarUnit)

    @property
    def zone(self) -> str | None:
        """The zone whose calendar the window goes by, where one is named."""
        calendar = self.last if self.reset is None else self.reset
        return calendar.zone if isinstance(calendar, Months | CalendarUnit) else None

    @property
    def since(self) -> Any:
        """The column, or the expression, that marks the rows at which the window begins anew; None without one."""
        return self.reset.column if isinstance(self.reset, Since) else None

    def extent(self, unit: int | None = None) -> Extent:
        """How far the window reaches back; a stretch of time in a unit of so many nanoseconds."""
        if isinstance(self.last, Months):
            return Extent(self.kind, None, None, self.edge, self.open_right, months=self.last, tick=unit or 1)
        width = self.rows if self.last is None else length_in(self.last, unit)
        grain = None if self.grain is None else length_in(self.grain, unit)
        limit = None if self.last is None else self.rows
        delay = None if self.delay is None else length_in(self.delay, unit)
        return Extent(self.kind, width, grain, self.edge, self.open_right, limit, delay, self.ahead)

    def described(self) -> list[object]:
        """All of the window that stored state depends on, as JSON holds it: part of fingerprints, so it stays."""
        described: list[object] = [self.rows, _stored(self.last), self.closed, self.at_least]
        described += [] if self.grain is None else [_stored(self.grain)]
        described += [] if self.delay is None else [["delay", _stored(self.delay)]]
        described += ["ahead"] if self.ahead else []
        return described if self.reset is None else [*described, self.reset.described()]

    def written(self) -> dict[str, Any]:
        """The window as files hold it; what `over` has by itself is left out."""
        written: dict[str, Any] = {}
        if self.reset is not None:
            written |= self.reset.written()
        elif self.rows is None or self.last is not None:
            written["next" if self.ahead else "over"] = "all" if self.last is None else as_written(self.last)
        if isinstance(self.last, Months) and self.last.zone is not None:
            written["zone"] = self.last.zone
        if self.rows is not None:
            written["rows"] = self.rows
        if self.closed != "right":
            written["closed"] = self.closed
        if self.at_least is not None:
            written["at_least"] = self.at_least
        if self.grain is not None:
            written["grain"] = as_written(self.grain)
        if self.delay is not None:
            written["delay"] = as_written(self.delay)
        return written

    def __repr__(self) -> str:
        parts = [] if self.last is None else [f"next={_shown(self.last)}" if self.ahead else _shown(self.last)]
        if self.rows is not None:
            parts.append(f"rows={self.rows}")
        elif self.reset is not None:
            parts = self.reset.shown()
        elif self.last is None:
            parts = ["'all'"]
        if self.closed != "right":
            parts.append(f"closed={self.closed!r}")
        if self.at_least is not None:
            parts.append(f"at_least={self.at_least}")
        if self.grain is not None:
            parts.append(f"grain={_shown(self.grain)}")
        if self.delay is not None:
            parts.append(f"delay={_shown(self.delay)}")
        if isinstance(self.last, Months) and self.last.zone is not None:
            parts.append(f"zone={self.last.zone!r}")
        return f"over({', '.join(parts)})"


def _check_months(last: object, **others: object) -> None:
    for name, value in others.items():
        if value is not None:
            raise WindowError(
                f"{name}={value!r} goes with windows of one length, and {str(last)!r} has none; write it in days, or "
                f"leave out {name}="
            )


def _stored(length: Length | Months | None) -> Any:
    if isinstance(length, Months):
        return ["months", length.count, length.zone]
    return f"{length.ns} ns" if isinstance(length, Duration) else length


def _shown(length: Length | Months) -> str:
    return repr(length) if isinstance(length, int | float) else repr(str(length))


def _reset(last: Any, gap: Any, since: Any, zone: Any) -> Reset | None:
    """Where the window begins anew, as the user wrote it; None where it does not."""
    calendar = isinstance(last, str) and last.split()[:1] == ["this"]
    given = {"gap=": gap is not None, "since=": since is not None, "a length": last is not None}
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1 and (gap is not None or since is not None):
        raise WindowError(f"{' and '.join(names)} are {len(names)} windows: write one of them")
    if zone is not None and (gap is not None or since is not None):
        raise WindowError(f"zone={zone!r} says where a calendar's unit begins, in over('this day', zone={zone!r}), say")
    if calendar:
        return CalendarUnit.of(last, zone)
    if isinstance(last, str):
        check_words(last)
    if gap is not None:
        return Gap(check_length(gap))
    return None if since is None else Since(since)


def _check_reset(reset: Reset, rows: Any, grain: Any, closed: str, ahead: Any) -> None:
    """Refuse what a window that begins anew cannot have."""
    text = ", ".join(reset.shown())
    if ahead is not None:
        raise WindowError(f"over({text}) and next={ahead!r} are two windows: write one of them")
    if rows is not None:
        raise WindowError(
            f"over({text}) and rows={rows!r} are two windows: rows that have left cannot be taken off one "
            "partial aggregate; write one of them"
        )
    if grain is not None:
        raise WindowError(f"over({text}) has no old edge that a grain could round; leave out grain={grain!r}")
    if closed not in ("right", "left"):
        raise WindowError(
            f"over({text}) is closed 'right' or 'left', not {closed!r}: it begins with a row or a unit, and "
            "has one end that can be open"
        )
