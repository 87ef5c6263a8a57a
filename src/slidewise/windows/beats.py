"""Answers on a beat: where time is cut into slices, and which of them each window holds at each beat. Plain numbers.

Beat k stands at `offset + k * every`. Time is cut wherever a window begins or ends at a beat, so a slice's rows come
and leave together. All of this repeats with every beat: with `per` cuts in each, a window that holds the slices from
`low` up to `high` at beat 0 holds those from `low + k * per` up to `high + k * per` at beat k.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction
from typing import Any

from slidewise.errors import WindowError
from slidewise.windows.duration import Duration
from slidewise.windows.months import Months
from slidewise.windows.time import Length, check_length
from slidewise.windows.window import Window

Written = Length | timedelta | str
_FARTHEST = 2**62


def check_beat(every: Written | None, offset: Written | None) -> tuple[Length | None, Length | None]:
    """The beat as plain data, as the user wrote it: the offset from 0 up to `every`, None where it is 0.

    >>> check_beat("1 hour", "-5 minutes")
    (Duration('1 hour'), Duration('55 minutes'))
    """
    if every is None:
        if offset is not None:
            raise WindowError(
                f"offset={offset!r} moves the beats of every=, and there is none; add every='1 minute', say"
            )
        return None, None
    try:
        beat = check_length(every)
    except WindowError as error:
        raise WindowError(f"every={every!r}: {error}") from None
    shift = _signed(offset)
    if shift == 0:
        return beat, None
    if isinstance(beat, Duration) != isinstance(shift, Duration):
        raise WindowError(f"every={every!r} and offset={offset!r} go together: two durations, or two numbers")
    if isinstance(beat, Duration):
        assert isinstance(shift, Duration)
        rest = shift.ns % beat.ns
        return beat, Duration(rest) if rest else None
    number = _fraction(shift) % _fraction(beat)
    return beat, None if not number else int(number) if number.denominator == 1 else float(number)


def _signed(offset: Written | None) -> Any:
    """An offset as a number, or as a duration that may be negative; 0 where there is none."""
    if offset is None:
        return 0
    if isinstance(offset, bool):
        raise WindowError(f"offset is a duration or a number, not {offset!r}")
    if isinstance(offset, Duration):
        return offset
    if isinstance(offset, timedelta):
        ns = (offset.days * 86_400 + offset.seconds) * 10**9 + offset.microseconds * 1_000
        return Duration(ns) if ns else 0
    if isinstance(offset, str):
        text = offset.strip()
        sign = -1 if text.startswith("-") else 1
        if text.lstrip("+-").strip() == "0":
            return 0
        try:
            return Duration(sign * Duration.of(text.lstrip("+-")).ns)
        except WindowError as error:
            raise WindowError(f"offset={offset!r}: {error}") from None
    try:
        return 0 if offset == 0 else (1 if offset > 0 else -1) * check_length(abs(offset))  # type: ignore[operator]
    except (TypeError, WindowError) as error:
        raise WindowError(
            f"offset={offset!r} is neither a duration such as '15 minutes' nor a finite number"
        ) from error


def _fraction(length: int | float | Fraction) -> Fraction:
    """A number as it is written: 0.1 is a tenth, and not the float beside it."""
    return Fraction(repr(length)) if isinstance(length, float) else Fraction(length)


class Beats:
    """The cuts of time for windows that are answered on a beat.

    `unit` is that of the times in nanoseconds, None where they are numbers; `floats` is whether those may have
    fractions. Whole times are cut between two of them, exactly. Float times are cut at the floats beside what `every`,
    `offset` and the windows come to as decimal numbers.
    """

    def __init__(
        self,
        every: Length,
        offset: Length | None,
        windows: Sequence[Window],
        unit: int | None,
        floats: bool = False,
    ) -> None:
        lengths = [every, 0 if offset is None else offset, *(_length(window) for window in windows)]
        parts = [_ticks(length, unit) for length in lengths]
        self.floats = floats
        self.scale = math.lcm(*(part.denominator for part in parts)) if floats else 1
        beat, shift, *widths = [part * self.scale for part in parts]
        self.every, self.offset = int(beat), int(shift)
        self.width = max(widths)
        places = [self._places(width, window.closed) for width, window in zip(widths, windows, strict=True)]
        # A cut's place in its beat, and whether it lies behind the rows that stand there.
        self.cuts = sorted({(at % self.every, behind) for both in places for at, behind in both})
        self.per = len(self.cuts)
        self._at = [at for at, _ in self.cuts]
        self.lows = [self._cut(low) for low, _ in places]
        self.highs = [self._cut(high) for _, high in places]
        self.high = max(self.highs)
        if max(self.every, *map(abs, self.lows), *map(abs, self.highs)) > _FARTHEST:
            raise WindowError(f"every={every} is too long, or too short for a window of {max(widths)} ticks")
        # For a slice's place in its beat: the first and the last beat that hold it, from its own on.
        self.firsts, self.lasts = [], []
        for j in range(self.per):
            both = [((j - high) // self.per + 1, (j - low) // self.per) for low, high in self.edges]
            held = [(first, last) for first, last in both if first <= last] or [(0, -1)]
            self.firsts.append(min(first for first, _ in held))
            self.lasts.append(max(last for _, last in held))

    @property
    def edges(self) -> list[tuple[int, int]]:
        """For each window the slices that it holds at beat 0: from the first up to the second."""
        return list(zip(self.lows, self.highs, strict=True))

    def _places(self, width: Fraction, closed: str) -> tuple[tuple[int, bool], tuple[int, bool]]:
        """Where a window begins and ends at beat 0, and whether the rows that stand there are behind the cut."""
        old, new = self.offset - width, Fraction(self.offset)
        after_old, after_new = closed in ("right", "neither"), closed in ("right", "both")
        if self.floats:
            return (int(old), after_old), (int(new), after_new)
        first = math.floor(old) + 1 if after_old else math.ceil(old)
        return (first, False), (max(first, int(new) + after_new), False)

    def _cut(self, place: tuple[int, bool]) -> int:
        at, behind = place
        return at // self.every * self.per + self.cuts.index((at % self.every, behind))

    def start(self, number: int) -> Any:
        """The first time of a slice; among floats, the first float."""
        beat, j = divmod(number, self.per)
        at, behind = self.cuts[j]
        at += beat * self.every
        if not self.floats:
            return at
        return math.nextafter(at / self.scale, math.inf) if behind else at / self.scale

    def number(self, time: int | float | Fraction) -> int:
        """The number of the slice that a time lies in."""
        if not self.floats:
            beat, rest = divmod(time, self.every)
            return int(beat * self.per + bisect_right(self._at, rest) - 1)
        top, bottom = float(time).as_integer_ratio()
        beat, rest = divmod(top * self.scale // bottom, self.every)
        number = beat * self.per + bisect_right(self._at, rest) - 1
        while self.start(number) > time:
            number -= 1
        while self.start(number + 1) <= time:
            number += 1
        return number

    def time(self, beat: int) -> Any:
        """When a beat is."""
        at = self.offset + beat * self.every
        return at / self.scale if self.floats else at

    def at_or_before(self, time: int | float) -> int:
        """The last beat that is not after a time."""
        if not self.floats:
            return int((time - self.offset) // self.every)
        top, bottom = float(time).as_integer_ratio()
        beat = (top * self.scale // bottom - self.offset) // self.every
        while self.time(beat) > time:
            beat -= 1
        while self.time(beat + 1) <= time:
            beat += 1
        return beat

    def complete(self, number: int) -> int:
        """The last beat whose windows end before a slice: no row from this slice on is in them."""
        return (number - self.high) // self.per

    def held(self, number: int) -> tuple[int, int]:
        """The first and the last beat whose windows hold a slice; the first is greater where none does."""
        beat, j = divmod(number, self.per)
        return beat + self.firsts[j], beat + self.lasts[j]


def _length(window: Window) -> Length:
    assert not isinstance(window.last, Months | None), "a window on a beat is one of time"
    return window.last


def _ticks(length: Length, unit: int | None) -> Fraction:
    if isinstance(length, Duration):
        assert unit is not None
        return Fraction(length.ns, unit)
    return _fraction(length)
