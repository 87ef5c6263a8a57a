"""When to think about a grain: where a window would hold more than a million rows of one key."""

from __future__ import annotations

import math

from slidewise.operators.aggregate import Aggregate
from slidewise.operators.quantiles import exact_quantile
from slidewise.windows import Duration
from slidewise.windows.grain import most_cells

MANY = 1_000_000
# Where nothing is known about the rows, windows are spoken of that hold so many at this rate, in events per second.
FAST = 1_000.0
_SECOND = 1_000_000_000
# Grains that people can read, in nanoseconds.
_GRAINS = [
    *(10**power for power in range(10)),
    *(step * _SECOND for step in (10, 60, 600, 3_600, 6 * 3_600, 86_400)),
]


def suggestion(aggregate: Aggregate, rows: int | None = None, rate: float | None = None) -> str | None:
    """What to say of a window of time that holds, or may hold, more than a million rows of a key; None of others.

    `rows` is how many the longest one holds; else it is told from the `rate`. Where neither is known, windows are
    spoken of that hold a million rows at 1,000 events per second, and from which rate on they do.
    """
    window = aggregate.window
    if window is None or window.last is None or window.grain is not None:
        return None
    last = window.last
    length = last.ns / _SECOND if isinstance(last, Duration) else float(last)
    unit = "per second" if isinstance(last, Duration) else "in one unit of time"
    if rows is not None:
        if rows <= MANY:
            return None
        found = f"a window holds up to {rows:,} rows of a key"
    elif rate is not None:
        if rate * length <= MANY:
            return None
        found = f"{math.ceil(rate * length):,} rows of a key at {rate:,g} events {unit}"
    else:
        if not isinstance(last, Duration) or FAST * length <= MANY:
            return None
        found = f"more than a million rows of a key from {MANY / length:,.3g} events {unit} on"
    grain = grain_for(last)
    size = last.ns if isinstance(last, Duration) else last
    step = grain.ns if isinstance(grain, Duration) else grain
    shown = repr(str(grain)) if isinstance(grain, Duration) else repr(grain)
    asked = exact_quantile(aggregate.operator)
    instead = "" if asked is None else f"sw.quantile({asked[0]!r}, approximate=0.01) and "
    return f"{found}; with {instead}grain={shown} at most {most_cells(size, step):,} partials"


def grain_for(last: Duration | int | float) -> Duration | int | float:
    """A grain for a window: the longest plain one that is not above a thousandth of it.

    >>> grain_for(Duration.of("1 hour")), grain_for(Duration.of("7d")), grain_for(20_000)
    (Duration('1 second'), Duration('10 minutes'), 10)
    """
    if isinstance(last, Duration):
        return Duration(max((grain for grain in _GRAINS if grain * 1_000 <= last.ns), default=1))
    power = math.floor(math.log10(last / 1_000))
    return int(10**power) if power >= 0 else float(10.0**power)
