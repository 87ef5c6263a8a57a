"""Times of a log as numbers, and the stretches of equal length that its span is cut into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slidewise.arrays import Array
from slidewise.audit.comparing import text_of

if TYPE_CHECKING:
    import pyarrow as pa

BUCKETS = 120  # stretches of time in which differences are counted
Tick = int | float


def ticks_of(times: pa.Array) -> Array:
    """Times without nulls as numbers, in units of their own."""
    import pyarrow as pa

    if pa.types.is_floating(times.type) or pa.types.is_decimal(times.type):
        number = pa.float64()
    else:
        number = pa.int64()
        if pa.types.is_date32(times.type):
            times = times.cast(pa.int32())
    ticks: Array = times.cast(number).to_numpy()
    return ticks


def times_of(ticks: list[Tick | None], kind: pa.DataType) -> pa.Array:
    """Numbers as times of this type again."""
    import pyarrow as pa

    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pa.array(ticks, pa.float64()).cast(kind)
    numbers = pa.array(ticks, pa.int64())
    return (numbers.cast(pa.int32()) if pa.types.is_date32(kind) else numbers).cast(kind)


@dataclass(frozen=True)
class Stretches:
    """A span of time in stretches of equal length; `begin` and `end` are its first and its last time, as numbers."""

    begin: Tick
    end: Tick
    count: int

    @classmethod
    def of(cls, begin: Tick, end: Tick) -> Stretches:
        return cls(begin, end, BUCKETS if end > begin else 1)

    def number_of(self, ticks: Array) -> Array:
        """The number of the stretch that each time lies in."""
        length = max(float(self.end) - float(self.begin), 1e-300)
        numbers = ((ticks.astype(np.float64) - float(self.begin)) / length * self.count).astype(np.int64)
        return np.clip(numbers, 0, self.count - 1)

    def edges(self, kind: pa.DataType) -> tuple[str, ...]:
        """The edges of the stretches as text, one more than there are stretches."""
        span = self.end - self.begin
        if isinstance(span, float):
            return tuple(f"{self.begin + span * at / self.count:.6g}" for at in range(self.count + 1))
        ticks: list[Tick | None] = [self.begin + span * at // self.count for at in range(self.count + 1)]
        return tuple(map(str, text_of(times_of(ticks, kind)).to_pylist()))
