"""Values of single events as windows store them: plain Python values, None for missing ones."""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import UTC, datetime
from typing import Any

from slidewise.errors import InputError, did_you_mean
from slidewise.operators.values.hashing import plain
from slidewise.stages import MARK

PLAIN = frozenset((int, float, bool, str, bytes, type(None)))


def plain_value(value: Any) -> Any:
    """A value as windows keep it: no NumPy scalars, None for pandas' NA and NaT, and moments with a zone in UTC.

    Within one zone Python compares what clocks show, which at their change in autumn is not the order of time.
    """
    if type(value) in PLAIN:
        return value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    value = _in_nanoseconds(value) if getattr(value, "dtype", None) is not None else value
    value = plain(value)
    if isinstance(value, datetime) and value.tzinfo is not None and value.tzinfo is not UTC:
        try:
            return value.astimezone(UTC)
        except OverflowError:
            raise InputError(f"{value!r} lies in no year that UTC has; leave the event out, or mend the time") from None
    return value


def without_nan(value: Any, name: str, others: Container[str]) -> Any:
    """A column's value; None for NaN in one of these columns, which hold no numbers."""
    return None if type(value) is float and value != value and name in others else value


def not_in_event(name: str, reader: str, row: Iterable[Any]) -> InputError:
    """The error for a column that an event lacks; what has been computed beside its own columns is not shown."""
    names = [text for text in map(str, row) if not text.startswith(MARK)]
    return InputError(
        f"the event has no {name!r}, which {reader!r} reads; give None where there is no value. It has "
        f"{', '.join(names)}{did_you_mean(name, names)}"
    )


def _in_nanoseconds(value: Any) -> Any:
    """NumPy's times that are finer than microseconds as those of pandas, which are as fine; others as they are."""
    kind = value.dtype.kind
    if kind not in ("m", "M") or value.astype(f"{kind}8[us]") == value or value != value:
        return value
    try:
        import pandas as pd
    except ImportError as error:
        raise InputError(f"{value!r} is finer than microseconds, where Python's times end; install pandas") from error
    timestamp = pd.Timestamp(value) if kind == "M" else pd.Timedelta(value)
    if timestamp.to_numpy() != value:
        raise InputError(f"{value!r} is finer than nanoseconds, where times end here; round it")
    return timestamp
