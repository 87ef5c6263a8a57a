"""Time cut into slices, so that one key keeps every core busy: each slice gets the rows of one window before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError
from slidewise.spark.column_names import COPY, SLICE, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from slidewise.arrays import Array

# A slice is at least this many windows long, so about one row in six is copied at most.
WINDOWS = 6
_FLOATS = ("float", "double")
# Nanoseconds in the unit in which a Spark type is counted.
_UNITS = {"timestamp": 1_000, "timestamp_ntz": 1_000, "date": 86_400 * 10**9}
# Slices beyond this number, either way, are one: floats are too far apart there.
_FAR = 2.0**52


class TimeSlices(NamedTuple):
    """How time is cut: the longest window and the length of a slice, in the unit in which the time's type is counted.

    Whole numbers are cut at multiples of a power of two, which needs no division and cannot overflow.
    """

    kind: str
    window: Any
    length: Any

    def cut(self, df: DataFrame, on: str) -> DataFrame:
        """The DataFrame's rows with the number of their slice; a row that the next slice needs also comes as a copy."""
        from pyspark.sql import functions as F

        time = _ticks(F.col(quoted(on)), self.kind)
        if self.kind in _FLOATS:
            reach = time + self.window * (1 + 2.0**-40) + F.abs(time) * 2.0**-50
            first, last = _floor(time / self.length), _floor(reach / self.length)
            numbers = F.sequence(first, F.greatest(first, last))
        else:
            first = F.shiftright(time, self.length.bit_length() - 1)
            late = time.bitwiseAND(F.lit(self.length - 1)) >= F.lit(self.length - self.window)
            numbers = F.when(late, F.array(first, first + 1)).otherwise(F.array(first))
        # A row without a time goes on, to be found and named.
        numbers = F.when(time.isNull(), F.array(F.lit(0).cast("bigint"))).otherwise(numbers)
        return df.select("*", F.posexplode(numbers).alias(COPY, SLICE))

    def numbers(self, times: Array) -> Array:
        """The slices that times lie in, as `cut` counts them; times are counted in the same unit."""
        import numpy as np

        if self.kind in _FLOATS:
            quotients: Array = np.floor(np.clip(times / self.length, -_FAR, _FAR))
            return quotients.astype(np.int64)
        numbers: Array = np.asarray(times) >> (self.length.bit_length() - 1)
        return numbers

    def __str__(self) -> str:
        if self.kind not in _UNITS:
            return f"{self.length:g}"
        seconds = self.length * _UNITS[self.kind] / 10**9
        for unit, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
            if seconds >= 2 * unit:
                return f"{seconds / unit:.3g} {name}"
        return f"{seconds:.3g} seconds"


def why_not_by_time(definition: Definition) -> str | None:
    """Why a definition's time cannot be cut into slices, or None."""
    for name, aggregate in definition.aggregates.items():
        window = aggregate.window
        assert window is not None
        if window.kind.looks_ahead:
            return f"{name!r} is over {window.words}, and a slice gets copies of rows before it, not of those behind"
        if window.kind.numbered:
            return f"{name!r} is over rows, and how many lie before a slice is known only once all are counted"
        if not window.kind.timed:
            return f"{name!r} is over {window.kind.phrase(window)}"
    return None


def time_slices_for(definition: Definition, kind: str) -> TimeSlices:
    """How to cut a time of this Spark type for a definition of time windows only."""
    longest: Any = 0
    for aggregate in definition.aggregates.values():
        assert aggregate.window is not None
        longest = max(longest, aggregate.window.extent(_UNITS.get(kind, 1)).reach)
    if kind in _FLOATS:
        return TimeSlices(kind, float(longest), float(longest) * WINDOWS)
    longest = -int(-longest // 1)  # the whole number above
    length = 1 << (WINDOWS * longest - 1).bit_length()
    if length.bit_length() > 62:
        raise SlidewiseError(f"a window of {longest:g} is too long to cut time into slices; use parallel='by_key'")
    return TimeSlices(kind, longest, length)


def _ticks(time: Column, kind: str) -> Column:
    """A time as the number that its type is counted in."""
    from pyspark.sql import functions as F

    if kind == "timestamp":
        return F.unix_micros(time)
    if kind == "timestamp_ntz":
        return F.timestamp_diff("MICROSECOND", F.lit("1970-01-01").cast("timestamp_ntz"), time)
    if kind == "date":
        return F.unix_date(time).cast("bigint")
    return time.cast("double" if kind in _FLOATS else "bigint")


def _floor(quotient: Column) -> Column:
    from pyspark.sql import functions as F

    return F.floor(F.greatest(F.least(quotient, F.lit(_FAR)), F.lit(-_FAR)))
