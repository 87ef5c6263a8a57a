"""Every error that Slidewise raises on purpose: what was found, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SlidewiseError(Exception):
    """The base class: catch this one to catch them all."""


class EmptyWindowError(SlidewiseError):
    """Something was asked of a window that holds too few rows; the window is unchanged."""


class LawError(SlidewiseError):
    """An operator breaks a law that it claims; the message carries the counter-example."""


class UnsuitableOperatorError(SlidewiseError):
    """An algorithm cannot serve this operator; the message names algorithms that can."""


class InputError(SlidewiseError):
    """An operator was given a value that it cannot aggregate."""


class ExpressionError(SlidewiseError):
    """An expression that makes no sense: its text, its nesting, or the types of its parts."""


class NumberOverflowError(SlidewiseError):
    """A whole number that an expression computes does not fit into 64 bits."""


class OperatorFailedError(SlidewiseError):
    """A user's operator raised; the message names the operator, or the aggregates that it serves."""


class SnapshotError(SlidewiseError):
    """Stored state that cannot be written, or cannot be read."""


class SumOverflowError(SlidewiseError):
    """An integer sum does not fit into 64 bits."""


class TimeOrderError(SlidewiseError):
    """A time ran backwards."""


class WindowError(SlidewiseError):
    """A window, duration or closed end that makes no sense."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The tail of an error message: the closest known word, if one is close.

    >>> did_you_mean("minuts", ["minutes", "hours"])
    "; did you mean 'minutes'?"
    >>> did_you_mean("parsec", ["minutes", "hours"])
    ''
    >>> did_you_mean("TEMP", ["temp", "time"])
    "; did you mean 'temp'?"
    """
    folded = {name.casefold(): name for name in known}
    close = get_close_matches(word.casefold(), list(folded), n=1)
    return f"; did you mean {folded[close[0]]!r}?" if close else ""


def users_stack_level() -> int:
    """The `stacklevel` of a warning that points to the first function outside this package."""
    import sys

    level = 1
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("slidewise."):
        level += 1
        frame = frame.f_back  # type: ignore[assignment]
    return level
