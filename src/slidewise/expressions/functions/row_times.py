"""Rows' times as numbers for operators that go by them: ticks, and half-lives. No text of a user's names these.

Moments and dates count in whole nanoseconds since 1970, and times that are numbers as they are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from slidewise.expressions.functions.function import HIGH, LOW, Function, MistypedValue, ValueOverflow, is_number
from slidewise.expressions.functions.half_life_weights import weight_of_share, weights_of_shares
from slidewise.expressions.functions.times import nanoseconds, ticks, unit_of
from slidewise.expressions.functions.vectors import array_of, bounds_of, fits, values_of
from slidewise.expressions.kinds import FLOAT, INT, NUMBERS, OPEN, TEXT, TIME, KindError, Kinds, ValueKind

if TYPE_CHECKING:
    import pyarrow as pa

SECOND = 1_000_000_000
TICKS, PER_SECOND = "ticks of time", "ticks per second"
HALF_LIVES, WEIGHT = "half-lives", "half-life weight"
_MOST_OF_FLOATS = 2.0**52  # half-lives, beyond which floats are too far apart to be told into them
Number = int | float


def _clock(kinds: Kinds) -> ValueKind:
    """A time gives a whole number, and a number itself."""
    kind = kinds[0]
    if kind not in (TIME, *NUMBERS, *OPEN):
        raise KindError(0, "times or numbers")
    return INT if kind is TIME else kind


def _whole(kinds: Kinds) -> ValueKind:
    _clock(kinds)
    return INT


def _check_half_life(kinds: Kinds) -> None:
    if kinds[1] is TEXT and kinds[0] not in (TIME, *OPEN):
        raise KindError(0, "times (halflife= is a duration; give a number where times are numbers)")
    if kinds[1] is not TEXT and kinds[0] not in (*NUMBERS, *OPEN):
        raise KindError(0, "numbers (halflife= is a number; give a duration where times are moments)")


def _half_lives(kinds: Kinds) -> ValueKind:
    _check_half_life(kinds)
    return INT


def _weight(kinds: Kinds) -> ValueKind:
    _check_half_life(kinds)
    return FLOAT


def ticks_of_value(time: Any) -> Number:
    """A time as nanoseconds since 1970, and a number as it is."""
    return time if is_number(time) else _in_64_bits(nanoseconds(time))


def _in_64_bits(value: int) -> int:
    if LOW <= value <= HIGH:
        return value
    raise ValueOverflow


def per_second_of_value(time: Any) -> int:
    """How many ticks a second has; 1 where times are numbers."""
    if is_number(time):
        return 1
    nanoseconds(time)
    return SECOND


def _ticks_of_array(time: pa.Array) -> Any:
    import pyarrow as pa

    if not pa.types.is_temporal(time.type):
        return time
    values, unit = values_of(ticks(time)), unit_of(time.type)
    if unit > 1 and not fits(*(bound * unit for bound in bounds_of(values))):
        raise ValueOverflow
    return array_of(values * unit if unit > 1 else values, pa.int64(), time)


def _per_second_of_array(time: pa.Array) -> Any:
    import numpy as np
    import pyarrow as pa

    return array_of(np.full(len(time), SECOND if pa.types.is_temporal(time.type) else 1), pa.int64(), time)


def _length(halflife: str | Number) -> Number:
    """A half-life in ticks: of nanoseconds where it is a text such as "60 ns", and of the times' unit else."""
    return int(halflife.removesuffix(" ns")) if isinstance(halflife, str) else halflife


def _parted(time: Any, halflife: str | Number) -> tuple[int, float]:
    """How many whole half-lives a time lies after time 0, and which share of one beyond."""
    timed = isinstance(halflife, str)
    if timed == is_number(time):
        raise MistypedValue
    length = _length(halflife)
    tick = ticks_of_value(time)
    if type(tick) is int and float(length).is_integer():
        whole, rest = divmod(tick, int(length))
        return whole, float(rest) / float(length)
    return _parted_float(float(tick), float(length))


def _parted_float(tick: float, length: float) -> tuple[int, float]:
    if not abs(tick / length) < _MOST_OF_FLOATS:
        raise ValueOverflow
    rest = math.fmod(tick, length)
    if rest < 0.0:
        rest += length
    whole = round((tick - rest) / length)
    share = rest / length
    return (whole + 1, 0.0) if share >= 1.0 else (whole, share)


def half_lives_of_value(time: Any, halflife: str | Number) -> int:
    """How many whole half-lives a time lies after time 0."""
    return _parted(time, halflife)[0]


def weight_of_value(time: Any, halflife: str | Number) -> float:
    """What a row counts beside one at the end of the half-life that its time is in: from 0.5 to 1."""
    return weight_of_share(_parted(time, halflife)[1])


def _parted_arrays(time: pa.Array, halflife: pa.Scalar) -> tuple[Any, Any]:
    import numpy as np
    import pyarrow as pa

    length = _length(halflife.as_py())
    of_ticks = _ticks_of_array(time)
    values = values_of(of_ticks)
    if pa.types.is_integer(of_ticks.type) and float(length).is_integer():
        size = int(length)
        whole = values // size
        return whole, (values - whole * size) / float(size)
    values, width = values.astype(np.float64), float(length)
    values = values if not time.null_count else np.where(np.asarray(time.is_valid()), values, 0.0)
    if not np.all(np.abs(values / width) < _MOST_OF_FLOATS):
        raise ValueOverflow
    rest = np.fmod(values, width)
    rest = np.where(rest < 0.0, rest + width, rest)
    whole = np.rint((values - rest) / width).astype(np.int64)
    share = rest / width
    return np.where(share >= 1.0, whole + 1, whole), np.where(share >= 1.0, 0.0, share)


def _half_lives_of_array(time: pa.Array, halflife: pa.Scalar) -> Any:
    import pyarrow as pa

    return array_of(_parted_arrays(time, halflife)[0], pa.int64(), time)


def _weights_of_array(time: pa.Array, halflife: pa.Scalar) -> Any:
    import pyarrow as pa

    return array_of(weights_of_shares(_parted_arrays(time, halflife)[1]), pa.float64(), time)


NAMES = frozenset((TICKS, PER_SECOND, HALF_LIVES, WEIGHT))
FUNCTIONS = (
    Function(TICKS, _clock, _ticks_of_array, ticks_of_value, 1, 1),
    Function(PER_SECOND, _whole, _per_second_of_array, per_second_of_value, 1, 1),
    Function(HALF_LIVES, _half_lives, _half_lives_of_array, half_lives_of_value, 2, 2, constants=(1,)),
    Function(WEIGHT, _weight, _weights_of_array, weight_of_value, 2, 2, constants=(1,)),
)
