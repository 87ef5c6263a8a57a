"""The column and the row that an error is about, found by evaluating fewer columns and rows again."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from copy import copy
from pathlib import Path

from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import OperatorFailedError, SlidewiseError

# Evaluates a spec over the first so many rows.
Evaluate = Callable[[WindowSpec, int], object]

_PACKAGE = str(Path(__file__).parents[1])


def locate_error(
    error: Exception, spec: WindowSpec, evaluate: Evaluate, count: int, label: Callable[[int], str]
) -> Exception:
    """The error with the columns and the row of these `count` ones that it is about; `label` names a row.

    It is the error as it is where evaluating again does not fail.
    """
    if not spec.running and len(spec.members) > 1:
        each = [_only(spec, i) for i in range(len(spec.members))]
        spec = next((member for member in each if _fails(evaluate, member, count)), spec)
    if not _fails(evaluate, spec, count):
        return error
    names = ", ".join(repr(member.name) for member in spec.members)
    row = first_failing_row(lambda rows: _fails(evaluate, spec, rows), count)
    return _with_location(error, names, label(row))


def first_failing_row(fails: Callable[[int], bool], count: int) -> int:
    """The row with which evaluation fails and without which it does not, by bisection; it fails with all `count`."""
    good, bad = 0, count
    while bad - good > 1:
        middle = (good + bad) // 2
        if fails(middle):
            bad = middle
        else:
            good = middle
    return bad - 1


def _with_location(error: Exception, names: str, row: str) -> SlidewiseError:
    cause = error.__cause__ if isinstance(error, OperatorFailedError) else error
    line = _users_line(cause)
    if isinstance(error, SlidewiseError) and not line:
        text = str(error) if str(error).startswith("column ") else f"column {names}: {error}"
        return type(error)(f"{text}; at {row}")
    return OperatorFailedError(f"column {names}: {type(cause).__name__}: {cause}{line}; at {row}")


def _users_line(error: BaseException | None) -> str:
    """Where in a user's code an error was raised; empty where that was in this package, or in compiled code."""
    frames = traceback.extract_tb(None if error is None else error.__traceback__)
    if not frames or frames[-1].filename.startswith(_PACKAGE):
        return ""
    return f" ({frames[-1].filename}, line {frames[-1].lineno})"


def _fails(evaluate: Evaluate, spec: WindowSpec, count: int) -> bool:
    try:
        evaluate(spec, count)
    except Exception:
        return True
    return False


def _only(spec: WindowSpec, number: int) -> WindowSpec:
    """The spec with one of its members."""
    alone = copy(spec)
    alone.members = [spec.members[number]]
    return alone
