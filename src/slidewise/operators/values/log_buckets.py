"""Quantiles within a stated share of the value, from counts in buckets that grow with them (as DDSketch has).

Every power of two is cut into equal parts, so a bucket's width is a fixed share of the values in it. A bucket is found
from a float's exponent and fraction alone, without a logarithm that might round one way here and another there: so the
same value falls into the same bucket in every lane. There are finitely many buckets for all floats, none is ever merged
with another, and counts are added: joining states is associative, and taking the oldest out again is exact.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import pairwise

from slidewise.errors import SlidewiseError
from slidewise.operators.types import Value
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.hashing import plain
from slidewise.operators.values.inputs import number

INFINITE = 1 << 61  # the bucket of infinity
NAN = 1 << 62
_LEAST = 1073  # the smallest float has the exponent -1073

BucketCounts = tuple[tuple[int, int], ...]  # buckets in use, in order, each with its count


def parts_of(share: object) -> int:
    """Into how many parts to cut a power of two, so that half a part is at most this share of a value in it."""
    value = plain(share)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-5 <= value <= 0.5:
        raise SlidewiseError(f"quantile: approximate is a share of the answer from 0.00001 to 0.5, not {share!r}")
    return math.ceil(1 / (2 * value))


def bucket(x: float, parts: int) -> int:
    """The number of a value's bucket: in the values' order, 0 for zero and negative for negative ones.

    >>> bucket(1.0, 4) - bucket(0.5, 4), bucket(-1.0, 4) == -bucket(1.0, 4)
    (4, True)
    """
    if x != x:
        return NAN
    if x == 0:
        return 0
    if math.isinf(x):
        return INFINITE if x > 0 else -INFINITE
    fraction, exponent = math.frexp(abs(x))
    place = (exponent + _LEAST) * parts + int((fraction * 2 - 1) * parts) + 1
    return place if x > 0 else -place


def middle(place: int, parts: int) -> float:
    """The middle of a bucket.

    >>> middle(bucket(1000.0, 50), 50)
    998.4
    """
    if place == 0:
        return 0.0
    size = abs(place)
    if size == INFINITE:
        value = math.inf
    elif size == NAN:
        value = math.nan
    else:
        octave = (size - 1) // parts
        value = math.ldexp((1 + (size - 1 - octave * parts + 0.5) / parts) / 2, octave - _LEAST)
    return value if place > 0 else -value


def lift(parts: int, x: Value) -> BucketCounts:
    """One count."""
    return ((bucket(float(number(x, "quantile")), parts), 1),)


def combine(a: BucketCounts, b: BucketCounts) -> BucketCounts:
    """Counts added."""
    if len(a) < len(b):
        a, b = b, a
    if len(b) == 1:
        return _changed(a, *b[0])
    counts = dict(a)
    for at, count in b:
        counts[at] = counts.get(at, 0) + count
    return tuple(sorted(counts.items()))


def inverse(total: BucketCounts, oldest: BucketCounts) -> BucketCounts:
    """Counts taken off again."""
    for at, count in oldest:
        total = _changed(total, at, -count)
    return total


def _changed(state: BucketCounts, at: int, by: int) -> BucketCounts:
    i = bisect_left(state, (at,))
    if i == len(state) or state[i][0] != at:
        return (*state[:i], (at, by), *state[i:])
    count = state[i][1] + by
    return (*state[:i], (at, count), *state[i + 1 :]) if count else (*state[:i], *state[i + 1 :])


def is_state(parts: int, value: object) -> bool:
    """Whether a value that was stored is counts of buckets, in order."""
    if not isinstance(value, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return False
    most = bucket(math.nextafter(math.inf, 0.0), parts)
    sound = all(
        type(at) is int and (abs(at) <= most or at in (INFINITE, -INFINITE, NAN)) and checks.count(count) and count > 0
        for at, count in value
    )
    return sound and all(a[0] < b[0] for a, b in pairwise(value))


def lower(q: float, parts: int, state: BucketCounts) -> float | None:
    """The middle of the bucket in which the value of rank (n - 1) q, rounded down, lies."""
    if not state:
        return None
    if state[-1][0] == NAN:
        return math.nan
    rank = int((sum(count for _, count in state) - 1) * q)
    for at, count in state:
        rank -= count
        if rank < 0:
            return middle(at, parts)
    raise AssertionError("ranks end with the last bucket")
