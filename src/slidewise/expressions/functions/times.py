"""Times: `hour weekday day`, and the seconds between two times. A time without a zone counts as one of UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from slidewise.errors import ExpressionError
from slidewise.expressions.functions.function import HIGH, Function, MistypedValue, ValueOverflow
from slidewise.expressions.functions.vectors import Into, Side, array_of, bounds_of, fits, valid_of, values_of
from slidewise.expressions.kinds import times

if TYPE_CHECKING:
    import pyarrow as pa

_SECOND = 1_000_000_000  # in nanoseconds
_HOUR, _DAY = 3_600, 86_400  # in seconds
_UNITS = {"s": _SECOND, "ms": 1_000_000, "us": 1_000, "ns": 1}
_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_THURSDAY = 3  # the day on which 1970 began
_FIRST, _LAST = ((datetime(year, 1, 1) - _EPOCH) // timedelta(seconds=1) for year in (2, 9_999))
_CYCLE = 146_097 * _DAY  # 400 years
_SPAN = 256  # hours
_EXACT = 2**53  # up to here floats hold every whole number


# A part of a time, or of an array of times, in so many numbers for a second since 1970.
PartOfTime = Callable[[Any, int], Any]


def nanoseconds(time: date) -> int:
    """A date or a datetime as nanoseconds since 1970."""
    if not isinstance(time, datetime):
        if not isinstance(time, date):
            raise MistypedValue
        return (time.toordinal() - _EPOCH.toordinal()) * _DAY * _SECOND
    age = time - (_EPOCH if time.tzinfo is None else _EPOCH_UTC)
    finer = getattr(time, "nanosecond", 0)  # which pandas' Timestamp knows
    return (age.days * _DAY + age.seconds) * _SECOND + age.microseconds * 1_000 + finer


def difference_of_values(x: date, y: date) -> float:
    """The seconds from y to x, as the nearest float."""
    return (nanoseconds(x) - nanoseconds(y)) / _SECOND


def unit_of(kind: pa.DataType) -> int:
    """How many nanoseconds the numbers count in which times of a type are stored."""
    import pyarrow as pa

    if pa.types.is_date32(kind):
        return _DAY * _SECOND
    return _UNITS["ms" if pa.types.is_date64(kind) else kind.unit]


def ticks(side: Side) -> Side:
    """Times as whole numbers of their unit since 1970."""
    import pyarrow as pa

    return side.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date32(side.type) else side.cast(pa.int64())


def in_one_unit(x: Side, y: Side) -> tuple[Any, Any, int]:
    """The times of two sides as vectors in one unit, the finer one, and that; an overflow where they do not fit."""
    units = unit_of(x.type), unit_of(y.type)
    unit = min(units)
    a, b = (_scaled(values_of(ticks(side)), of // unit) for side, of in zip((x, y), units, strict=True))
    return a, b, unit


def _scaled(values: Any, by: int) -> Any:
    if by == 1:
        return values
    low, high = bounds_of(values)
    if not fits(low * by, high * by):
        raise ValueOverflow
    return values * by


def in_seconds(side: Side) -> tuple[Any, Any]:
    """Times as vectors of whole seconds since 1970, rounded down, and of the nanoseconds beyond."""
    values, unit = values_of(ticks(side)), unit_of(side.type)
    if unit >= _SECOND:
        return values * (unit // _SECOND), values * 0
    whole = values // (_SECOND // unit)
    return whole, (values - whole * (_SECOND // unit)) * unit


def difference_of_arrays(x: Side, y: Side, into: Into = None) -> Any:
    """The seconds from each y to x, as the nearest floats: the unit of the times changes no bit."""
    import numpy as np
    import pyarrow as pa

    try:
        a, b, unit = in_one_unit(x, y)
        (low_a, high_a), (low_b, high_b) = bounds_of(a), bounds_of(b)
        exact = _EXACT if unit < _SECOND else HIGH
        near = fits(low_a - high_b, high_a - low_b) and max(high_a - low_b, high_b - low_a) <= exact
    except ValueOverflow:
        near = False
    if not near:
        return array_of(_far_difference(x, y), pa.float64(), x, y)
    if unit >= _SECOND:
        return array_of(np.multiply(a - b, float(unit // _SECOND), out=into), pa.float64(), x, y)
    return array_of(np.divide(a - b, _SECOND // unit, out=into), pa.float64(), x, y)


def _far_difference(x: Side, y: Side) -> Any:
    """The seconds between times whose difference no float holds in their unit.

    The sum of whole seconds and a rest rounds twice. That matters only where the first rounding made a tie of the
    second; such rows are computed as Python's integers.
    """
    import numpy as np

    (second_x, rest_x), (second_y, rest_y) = in_seconds(x), in_seconds(y)
    low, high = (bounds_of(second_x), bounds_of(second_y))
    if not fits(low[0] - high[1] - 1, low[1] - high[0] + 1):
        raise ValueOverflow
    whole, rest = np.atleast_1d(second_x - second_y), np.atleast_1d(rest_x - rest_y)
    negative = (whole < 0) | ((whole == 0) & (rest < 0))
    whole, rest = np.where(negative, -whole, whole), np.where(negative, -rest, rest)
    whole, rest = whole + rest // _SECOND, rest % _SECOND
    part = rest / _SECOND
    seconds = whole + part
    lost = part - (seconds - whole)
    for row in np.flatnonzero((lost != 0) & (seconds + 2 * lost - seconds == 2 * lost)).tolist():
        seconds[row] = (int(whole[row]) * _SECOND + int(rest[row])) / _SECOND
    return np.where(negative, -seconds, seconds)


def check_zone(zone: object) -> None:
    """Refuse a zone that nobody knows."""
    if not isinstance(zone, str):
        raise ExpressionError(f"a zone is a name such as 'Europe/Berlin', not {zone!r}")
    try:
        _zone(zone)
    except Exception as error:  # a name that is no file, an absolute path, a directory, no zone data at all
        raise ExpressionError(
            f"the zone {zone!r} is not known; write a name such as 'Europe/Berlin' or 'UTC', and install tzdata where "
            f"this machine has no zones ({error})"
        ) from None


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _offset(zone: str, second: int) -> int:
    """How many seconds a zone's clocks are ahead of UTC at a second since 1970.

    The Gregorian calendar repeats after 400 years, and what zones do in the far future, too; before the year 2 no
    clock was ever changed.
    """
    second = max(second, _FIRST)
    if second >= _LAST:
        second = _LAST - _CYCLE + (second - _LAST) % _CYCLE
    offset = (_EPOCH_UTC + timedelta(seconds=second)).astimezone(_zone(zone)).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


def _of_value(part: PartOfTime) -> Callable[..., int]:
    """A part of a single time, in UTC or in a zone."""

    def over_values(time: date, zone: str | None = None) -> int:
        second = nanoseconds(time) // _SECOND
        return int(part(second if zone is None else second + _offset(zone, second), 1))

    return over_values


def _of_arrays(part: PartOfTime) -> Callable[..., Any]:
    """A part of each time of an array, in UTC or in a zone."""

    def over_arrays(time: Any, zone: Any = None) -> Any:
        import pyarrow as pa

        values, unit = values_of(ticks(time)), unit_of(time.type)
        if zone is None and unit < _SECOND:
            return array_of(part(values, _SECOND // unit), pa.int64(), time)
        seconds = values * (unit // _SECOND) if unit >= _SECOND else values // (_SECOND // unit)
        if zone is not None:
            seconds = _without_nulls(time, seconds)
            seconds = seconds + _offsets(zone.as_py(), seconds)
        return array_of(part(seconds, 1), pa.int64(), time)

    return over_arrays


def _without_nulls(time: Any, seconds: Any) -> Any:
    """The seconds of times, with one of them in the places of nulls, where anything may lie."""
    import numpy as np

    if not time.null_count:
        return seconds
    valid = valid_of(time)
    return np.where(valid, seconds, seconds[valid.argmax()] if valid.any() else 0)


def _offsets(zone: str, seconds: Any) -> Any:
    """The offsets of a zone at many seconds: found once for each hour, and within an hour that has two, for each."""
    import numpy as np

    hours = seconds // _HOUR
    low, high = (bound // _SPAN for bound in bounds_of(hours))
    if (high - low) * _SPAN > len(hours):
        distinct, places = np.unique(hours, return_inverse=True)
        table = np.array([_offsets_of_hour(zone, hour) for hour in distinct.tolist()], np.int64)
    else:
        places = hours - low * _SPAN
        table = np.concatenate([_offsets_of_span(zone, span) for span in range(low, high + 1)])
    offsets = table[:, 0][places]
    for row in np.flatnonzero((table[:, 0] != table[:, 1])[places]).tolist():
        offsets[row] = _offset(zone, int(seconds[row]))
    return offsets


def _offsets_of_hour(zone: str, hour: int) -> tuple[int, int]:
    """The offsets in the first second of an hour since 1970, and in its last."""
    return _offset(zone, hour * _HOUR), _offset(zone, hour * _HOUR + _HOUR - 1)


@lru_cache(2_000)
def _offsets_of_span(zone: str, span: int) -> Any:
    """The offsets of the hours of a span of time."""
    import numpy as np

    return np.array([_offsets_of_hour(zone, hour) for hour in range(span * _SPAN, span * _SPAN + _SPAN)], np.int64)


def _hour(time: Any, per_second: int) -> Any:
    hours = time // (_HOUR * per_second)
    return hours - hours // 24 * 24


def _weekday(time: Any, per_second: int) -> Any:
    days = time // (_DAY * per_second) + _THURSDAY
    return days - days // 7 * 7


def _day(time: Any, per_second: int) -> Any:
    """The day of the month, by the arithmetic of the Gregorian calendar; of a number, or of an array."""
    days = time // (_DAY * per_second) + 719_468  # since 1 March of the year 0
    of_era = days % 146_097
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    return of_year - (153 * month + 2) // 5 + 1


def _time_function(name: str, part: PartOfTime) -> Function:
    return Function(name, times, _of_arrays(part), _of_value(part), 1, 2, constants=(1,), check=check_zone)


FUNCTIONS = (
    _time_function("hour", _hour),
    _time_function("weekday", _weekday),
    _time_function("day", _day),
)
