"""Which column and which row an error is about, found by trying again with fewer rows."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from copy import copy
from pathlib import Path

from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import OperatorFailedError, SlidewiseError

_PACKAGE = str(Path(__file__).parents[1])


def first_to_fail(fails: Callable[[int], bool], count: int) -> int:
    """The first row that is one too many: with it there is an error, and without it there is none."""
    good, bad = 0, count
    while bad - good > 1:
        middle = (good + bad) // 2
        if fails(middle):
            bad = middle
        else:
            good = middle
    return bad - 1


def fault(spec: WindowSpec, tried: Callable[[WindowSpec, int], object], count: int) -> tuple[str, int] | None:
    """The names of the columns that fail, and the row at which they do; None where nothing fails any more."""
    if not spec.running and len(spec.members) > 1:
        each = [_only(spec, i) for i in range(len(spec.members))]
        spec = next((one for one in each if _fails(tried, one, count)), spec)
    if not _fails(tried, spec, count):
        return None
    names = ", ".join(repr(one.name) for one in spec.members)
    return names, first_to_fail(lambda rows: _fails(tried, spec, rows), count)


def said(error: Exception, names: str, where: str) -> SlidewiseError:
    """The error with the columns and the row that it is about."""
    raised = error.__cause__ if isinstance(error, OperatorFailedError) else error
    line = _users_line(raised)
    if isinstance(error, SlidewiseError) and not line:
        text = str(error) if str(error).startswith("column ") else f"column {names}: {error}"
        return type(error)(f"{text}; at {where}")
    return OperatorFailedError(f"column {names}: {type(raised).__name__}: {raised}{line}; at {where}")


def _users_line(error: BaseException | None) -> str:
    """Where in a user's code an error was raised; nothing where that was in this package, or in compiled code."""
    frames = traceback.extract_tb(None if error is None else error.__traceback__)
    if not frames or frames[-1].filename.startswith(_PACKAGE):
        return ""
    return f" ({frames[-1].filename}, line {frames[-1].lineno})"


def _fails(tried: Callable[[WindowSpec, int], object], spec: WindowSpec, count: int) -> bool:
    try:
        tried(spec, count)
    except Exception:
        return True
    return False


def _only(spec: WindowSpec, number: int) -> WindowSpec:
    alone = copy(spec)
    alone.members = [spec.members[number]]
    return alone
