"""Keys in canonical form: equal keys of events are equal as the keys of a dict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slidewise.engine.event_values import PLAIN, plain_value
from slidewise.errors import InputError
from slidewise.live.types import Key

SIMPLE = frozenset((str, int, bytes, type(None)))
_NAN = float("nan")


def canonical(key: Any, name: str) -> Key:
    """A key as a value that equals itself: one NaN, one zero, no NumPy."""
    if type(key) not in PLAIN:
        key = plain_value(key)
    if isinstance(key, float):
        return _NAN if key != key else key + 0.0
    try:
        hash(key)
    except TypeError as error:
        raise InputError(f"the key {name!r} is {key!r}, which cannot be a key; use text or a number") from error
    hashable: Key = key
    return hashable


def key_parts(key: Key, columns: Sequence[str]) -> tuple[Any, ...]:
    """The values of a key's columns; a key of one column is its value, one of several a tuple of them."""
    if len(columns) == 1:
        return (key,)
    assert isinstance(key, tuple)
    return key
