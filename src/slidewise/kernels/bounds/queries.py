"""Bounds of windows that end at other times than the events' own: [starts, ends) among events of the same key."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.bounds.grain import lows as grain_lows
from slidewise.kernels.bounds.key_ranges import clipped, keys_within
from slidewise.kernels.bounds.months import month_lows
from slidewise.kernels.bounds.rows_and_times import newest_rows
from slidewise.kernels.compiler.jit import jit, tiered_jit
from slidewise.kernels.compiler.threads import share_rows
from slidewise.windows.delayed import least_age
from slidewise.windows.extent import Extent

_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def query_bounds(
    extent: Extent, places: Array, offsets: Array, queries: Array, query_offsets: Array
) -> tuple[Array, Array]:
    """The events that the windows at some places hold: [starts, ends) for each query.

    Events and queries lie key by key, key k at offsets[k:k + 2] of each, and their places never fall within a key.
    Neither starts nor ends ever fall.
    """
    index = np.int32 if len(places) < 2**31 - 1 else np.int64
    starts, ends = np.empty(len(queries), index), np.empty(len(queries), index)

    def work(a: int, b: int) -> None:
        first, last = keys_within(query_offsets, a, b)
        asked = queries[a:b], clipped(query_offsets, a, b)
        if extent.shifted:
            _shifted(extent, places, offsets[first : last + 1], *asked, starts[a:b], ends[a:b])
        else:
            low = lowest_places(extent, queries[a:b])
            _bounds(places, offsets[first : last + 1], *asked, low, extent.open_right, starts[a:b], ends[a:b])

    if len(queries):
        share_rows(len(queries), work)
    return newest_rows(starts, ends, extent.limit), ends


def shifted_bounds(extent: Extent, places: Array, offsets: Array, starts: Array, ends: Array) -> None:
    """Fill in the bounds [starts, ends) of windows that do not end at their rows; places never fall within a key."""
    _shifted(extent, places, offsets, places, offsets, starts, ends)


def _shifted(
    extent: Extent, places: Array, offsets: Array, queries: Array, query_offsets: Array, starts: Array, ends: Array
) -> None:
    low, high = lowest_places(extent, queries), highest_places(extent, queries)
    _between(places, offsets, query_offsets, low, high, starts, ends)
    if queries.dtype == np.int64:
        if extent.ahead:
            outside = (queries == _GREATEST) if not extent.edge else np.zeros(len(queries), np.bool_)
        else:
            outside = queries < _LEAST + least_age(extent.delay or 0, extent.open_right)
        ends[outside] = starts[outside]


def lowest_places(extent: Extent, queries: Array) -> Array:
    """The lowest place that is in the window at each place."""
    whole = queries.dtype == np.int64
    if extent.ahead:
        if whole:
            return _moved(queries, 0 if extent.edge else 1)
        return queries if extent.edge else np.nextafter(queries, np.inf)
    if extent.months is not None:
        return month_lows(queries, extent.months, extent.tick, extent.edge)
    if extent.width is None:
        return np.full(len(queries), _LEAST if whole else -np.inf, queries.dtype)
    if extent.grain is not None:
        return grain_lows(queries, extent.width, extent.grain, extent.edge)
    if not whole:
        queries = queries - float(extent.delay or 0)
        low = queries - float(extent.width)
        return low if extent.edge else np.minimum(np.nextafter(low, np.inf), queries)
    width = Fraction(extent.width) + Fraction(extent.delay or 0)
    oldest = int(width) - (0 if extent.edge or width.denominator != 1 else 1)  # the greatest age that is in
    return _moved(queries, -max(oldest, 0))


def highest_places(extent: Extent, queries: Array) -> Array:
    """The highest place that is in the window at each place."""
    if extent.ahead:
        return _ends_ahead(extent, queries)
    delay = extent.delay or 0
    if queries.dtype == np.int64:
        return _moved(queries, -least_age(delay, extent.open_right))
    end = queries - float(delay)
    return np.nextafter(end, -np.inf) if extent.open_right else end


def _ends_ahead(extent: Extent, queries: Array) -> Array:
    """The highest place in windows that look ahead."""
    assert extent.width is not None
    if queries.dtype == np.int64:
        width = Fraction(extent.width)
        return _moved(queries, -(-width.numerator // width.denominator) - 1 if extent.open_right else int(width))
    end = queries + float(extent.width)
    return np.nextafter(end, -np.inf) if extent.open_right else end


def _moved(places: Array, by: int) -> Array:
    """Whole places moved by so many ticks; none goes beyond the first or the last that there is."""
    if not -(2**63) < by < 2**63:
        return np.array([min(max(place + by, _LEAST), _GREATEST) for place in places.tolist()], np.int64)
    if by <= 0:
        return np.where(places >= _LEAST - by, places + np.int64(by), _LEAST)
    return np.where(places <= _GREATEST - by, places + np.int64(by), _GREATEST)


@jit
def _first_from(places: Array, low: int, stop: int, place: float, past_equal: bool) -> int:
    """The first position from `low` on whose place is not below this one, or with `past_equal` above it.

    Steps double until they lead too far: next to nothing where a query comes after every few events, and by the
    logarithm of their number where many lie between two queries.
    """
    step = 1
    high = low
    while high < stop and (places[u(high)] < place or (past_equal and places[u(high)] == place)):
        low = high + 1
        high += step
        step *= 2
    high = min(high, stop)
    while low < high:
        middle = (low + high) // 2
        if places[u(middle)] < place or (past_equal and places[u(middle)] == place):
            low = middle + 1
        else:
            high = middle
    return low


@tiered_jit
def _bounds(
    places: Array,
    offsets: Array,
    queries: Array,
    query_offsets: Array,
    lows: Array,
    left: bool,
    starts: Array,
    ends: Array,
) -> None:
    for k in range(len(query_offsets) - 1):
        start = end = offsets[k]
        stop = offsets[k + 1]
        for i in range(query_offsets[k], query_offsets[k + 1]):
            end = _first_from(places, end, stop, queries[u(i)], not left)
            start = _first_from(places, start, end, lows[u(i)], False)
            starts[u(i)] = start
            ends[u(i)] = end


@tiered_jit
def _between(
    places: Array, offsets: Array, query_offsets: Array, lows: Array, highs: Array, starts: Array, ends: Array
) -> None:
    """The bounds of the places from a low up to a high, both included; neither ever falls within a key."""
    for k in range(len(query_offsets) - 1):
        start = end = offsets[k]
        stop = offsets[k + 1]
        for i in range(query_offsets[k], query_offsets[k + 1]):
            end = _first_from(places, end, stop, highs[u(i)], True)
            start = _first_from(places, start, end, lows[u(i)], False)
            starts[u(i)] = start
            ends[u(i)] = end
