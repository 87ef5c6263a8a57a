"""Keys as windows are kept under them."""

from __future__ import annotations

from typing import Any

from slidewise.engine.window_spec import PLAIN, plainly
from slidewise.errors import InputError

SIMPLE = frozenset((str, int, bytes, type(None)))
_NAN = float("nan")


def canonical(key: Any, name: str) -> Any:
    """A key as a value that equals itself: one NaN, one zero, no NumPy."""
    if type(key) not in PLAIN:
        key = plainly(key)
    if isinstance(key, float):
        return _NAN if key != key else key + 0.0
    try:
        hash(key)
    except TypeError as error:
        raise InputError(f"the key {name!r} is {key!r}, which cannot be a key; use text or a number") from error
    return key
