"""Every error that Slidewise raises on purpose: what was found, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SlidewiseError(Exception):
    """The base class: catch this one to catch them all.

    >>> import slidewise as sw
    >>> try:
    ...     sw.Sliding(on="ts", peak=sw.max("temp"))
    ... except sw.SlidewiseError as error:
    ...     print(error)
    peak=sw.max('temp') has no window; add .over('10 minutes') or .over(rows=100), say
    """


class EmptyWindowError(SlidewiseError):
    """Something was asked of a window that holds too few rows; the window is unchanged.

    >>> import slidewise as sw
    >>> sw.DabaLite(sw.max).evict()
    Traceback (most recent call last):
    ...
    slidewise.errors.EmptyWindowError: cannot evict: the window is empty; insert first, or check len()
    """


class LawError(SlidewiseError):
    """An operator breaks a law that it claims; the message carries the counter-example.

    >>> import slidewise as sw
    >>> sw.check_laws(sw.operator(name="minus", identity=0, combine=lambda a, b: a - b), samples=[1, 2])
    Traceback (most recent call last):
    ...
    slidewise.errors.LawError: 'minus' has no identity: ...
    """


class UnsuitableOperatorError(SlidewiseError):
    """An algorithm cannot serve this operator; the message names algorithms that can.

    >>> import slidewise as sw
    >>> sw.SlickDeque(sw.mean)
    Traceback (most recent call last):
    ...
    slidewise.errors.UnsuitableOperatorError: SlickDeque cannot serve 'mean': ...
    """


class InputError(SlidewiseError):
    """An operator was given a value that it cannot aggregate.

    >>> import slidewise as sw
    >>> sw.DabaLite(sw.sum).insert("five")
    Traceback (most recent call last):
    ...
    slidewise.errors.InputError: ...
    """


class ExpressionError(SlidewiseError):
    """An expression that makes no sense: its text, its nesting, or the types of its parts.

    >>> import slidewise as sw
    >>> sw.sum("x").over(10) + "text"
    Traceback (most recent call last):
    ...
    slidewise.errors.ExpressionError: ...
    """


class NumberOverflowError(SlidewiseError):
    """A whole number that an expression computes does not fit into 64 bits.

    >>> import pyarrow as pa, slidewise as sw
    >>> double = sw.Sliding(on="ts", y=sw.last("x").over(rows=1) * 2)
    >>> double.live().push({"ts": 0, "x": 2**62})
    Traceback (most recent call last):
    ...
    slidewise.errors.NumberOverflowError: ...
    """


class OperatorFailedError(SlidewiseError):
    """A user's operator raised; the message names the operator, or the aggregates that it serves.

    >>> import slidewise as sw
    >>> broken = sw.operator(name="broken", identity=0, lift=lambda x: 1 // x, combine=lambda a, b: a + b)
    >>> sw.Sliding(on="ts", y=broken("x").over(10)).live().push({"ts": 0, "x": 0})
    Traceback (most recent call last):
    ...
    slidewise.errors.OperatorFailedError: ...
    """


class SnapshotError(SlidewiseError):
    """Stored state that cannot be written, or cannot be read.

    >>> import slidewise as sw
    >>> sw.Sliding(on="ts", n=sw.count().over(10)).restore(b"something else")
    Traceback (most recent call last):
    ...
    slidewise.errors.SnapshotError: ...
    """


class SumOverflowError(SlidewiseError):
    """An integer sum does not fit into 64 bits.

    >>> import slidewise as sw
    >>> live = sw.Sliding(on="ts", y=sw.sum("x").over(10)).live()
    >>> live.push({"ts": 0, "x": 2**62}), live.push({"ts": 1, "x": 2**62})
    Traceback (most recent call last):
    ...
    slidewise.errors.SumOverflowError: ...
    """


class TimeOrderError(SlidewiseError):
    """A time ran backwards.

    >>> import slidewise as sw
    >>> w = sw.Timed(sw.DabaLite(sw.max), last=10)
    >>> w.insert(5, 71.0); w.insert(3, 70.0)
    Traceback (most recent call last):
    ...
    slidewise.errors.TimeOrderError: time ran backwards: 3 came after 5; ...
    """


class WindowError(SlidewiseError):
    """A window, duration or closed end that makes no sense.

    >>> import slidewise as sw
    >>> sw.max("temp").over("10 minuts")
    Traceback (most recent call last):
    ...
    slidewise.errors.WindowError: ...
    """


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
