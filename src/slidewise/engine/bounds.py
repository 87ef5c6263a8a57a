"""Which rows each row's window holds: [starts, ends) for every kind of window, over rows sorted by key and time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.engine.sorting import RowOrder
from slidewise.errors import SlidewiseError, SnapshotError, TimeOrderError, WindowError
from slidewise.kernels.bounds.grain import grain_bounds
from slidewise.kernels.bounds.key_ranges import fill_in_ranges
from slidewise.kernels.bounds.queries import query_bounds, shifted_bounds
from slidewise.kernels.bounds.resets import goes_on, newest_beginnings, rows_that_begin
from slidewise.kernels.bounds.rows_and_times import newest_rows, row_bounds, time_bounds
from slidewise.kernels.order.grouping import Grouped
from slidewise.windows import Duration, Months, Window
from slidewise.windows.calendar import MOMENTS_NEEDED
from slidewise.windows.extent import Extent
from slidewise.windows.kind import Reset
from slidewise.windows.running import RUNNING
from slidewise.windows.zones import NO_DATES

if TYPE_CHECKING:
    from slidewise.columns.series import Column
    from slidewise.engine.window_spec import WindowSpec

_FARTHEST = 2**64 - 1

Sorted = RowOrder | Grouped


def find_bounds(
    window: Window, times: Column | None, order: Sorted | None, count: int, marks: Array | None = None
) -> tuple[Array, Array, int]:
    """The bounds of each row's window, and a position where times run backwards, or -1.

    `order` brings rows into the order of keys; None is for one key whose rows stand as they are. `marks` are the rows
    at which windows begin anew, where these are marked.
    """
    index = np.int32 if count < 2**31 - 1 else np.int64
    starts, ends = np.empty(count, index), np.empty(count, index)
    if not count:
        return starts, ends, -1
    offsets = np.array([0, count]) if order is None else order.offsets
    if window.kind.numbered or times is None:
        _row_bounds(offsets, min(window.rows or count, count), window.open_right, starts, ends)
        if window.reset is not None:
            numbers = np.arange(count)
            starts[:] = np.minimum(_beginnings(window.reset, numbers, offsets, marks, order), ends)
        return starts, ends, -1
    places = times.data if order is None else order.to_sorted(times.data)
    backwards = bounds_along(window.extent(times.unit), places, offsets, starts, ends)
    if window.reset is not None and backwards < 0:
        newest = _beginnings(window.reset.ticking(times.unit), places, offsets, marks, order)
        upto = ends if not window.open_right else _ends_of_peers(places, offsets, ends.dtype)
        starts[:] = np.minimum(newest[upto - 1], ends)
    return starts, ends, backwards


def _beginnings(reset: Reset, places: Array, offsets: Array, marks: Array | None, order: Sorted | None) -> Array:
    """For each sorted row the newest one up to it at which windows begin anew; `marks` stand in the input's order."""
    if marks is not None and order is not None:
        marks = order.to_sorted(marks)
    return newest_beginnings(rows_that_begin(reset, places, offsets, marks))


def _ends_of_peers(places: Array, offsets: Array, index: Any) -> Array:
    """One past the last peer of each row."""
    starts, ends = np.empty(len(places), index), np.empty(len(places), index)
    bounds_along(Extent(RUNNING, None, None, True, False), places, offsets, starts, ends)
    return ends


def query_bounds_anew(
    reset: Reset, places: Array, offsets: Array, marks: Array | None, queries: Array, query_offsets: Array, left: bool
) -> tuple[Array, Array]:
    """The events [starts, ends) in windows that begin anew and end at the places of queries, which see no one another;
    key k has the events offsets[k:k + 2] and the queries query_offsets[k:k + 2], both sorted."""
    everything = Extent(RUNNING, None, None, True, False)
    firsts, upto = query_bounds(everything, places, offsets, queries, query_offsets)
    ends = upto
    if left:
        _, ends = query_bounds(everything._replace(open_right=True), places, offsets, queries, query_offsets)
    starts = np.array(ends)
    seen = upto > firsts
    last = upto[seen] - 1
    seen[seen] = goes_on(reset, places[last], queries[seen])
    newest = newest_beginnings(rows_that_begin(reset, places, offsets, marks))
    starts[seen] = newest[upto[seen] - 1]
    return np.minimum(starts, ends), ends


def spec_bounds(spec: WindowSpec, places: Array, offsets: Array, peers: bool) -> tuple[Array, Array]:
    """The same for rows whose places are times or numbers; without `peers`, of what has arrived so far."""
    starts, ends = np.empty(len(places), np.int64), np.empty(len(places), np.int64)
    extent = spec.extent
    if bounds_along(extent._replace(limit=None), places, offsets, starts, ends) >= 0:
        # Rows that come are sorted, so these were stored, and the bounds are not filled in.
        raise SnapshotError(f"rows that were kept for {spec.members[0].name!r} are not in order; start anew")
    if not peers and not extent.open_right:
        ends = np.minimum(ends, np.arange(1, len(places) + 1))
    return newest_rows(starts, ends, extent.limit), ends


def bounds_along(extent: Extent, places: Array, offsets: Array, starts: Array, ends: Array) -> int:
    """Fill in the bounds of windows that reach back along places; a position where these run backwards, or -1."""
    bounds_pass = _PASSES[extent.kind.name]

    def fill(a: int, b: int, offsets: Array, starts: Array, ends: Array) -> int:
        return bounds_pass(extent, places[a:b], offsets, starts, ends)

    def reach(at: int, first: int, stop: int) -> tuple[int, int]:
        low = np.searchsorted(places[first:at], _before(places[at], extent.width), "left")
        peers = np.searchsorted(places[at:stop], places[at - 1], "right")
        return min(first + int(low), at - 1), at + int(peers)

    cuts_keys = bounds_pass in (_stretch, _limited) and extent.width is not None
    return fill_in_ranges(offsets, fill, reach if cuts_keys else None, starts, ends)


def _before(place: Any, width: Any) -> Any:
    """A place before all those in the window of this length that ends at a place."""
    if isinstance(place, np.floating):
        return np.nextafter(place - float(width), -np.inf)
    return np.int64(max(int(place) - int(min(width, _FARTHEST)) - 2, -(2**63)))


def _row_bounds(offsets: Array, n: int, left: bool, starts: Array, ends: Array) -> None:
    """Fill in the bounds of windows of n rows."""

    def fill(_a: int, _b: int, offsets: Array, starts: Array, ends: Array) -> int:
        row_bounds(offsets, n, left, starts, ends)
        return -1

    fill_in_ranges(offsets, fill, lambda at, first, _stop: (max(first, at - n), at), starts, ends)


def _stretch(extent: Extent, places: Array, offsets: Array, starts: Array, ends: Array) -> int:
    """Windows of one length. That of whole places is unsigned, as are the ages that it is compared with: exact at any
    distance."""
    width, edge, whole = extent.width, extent.edge, places.dtype == np.int64
    if width is None:
        reach, edge = np.uint64(_FARTHEST) if whole else float("inf"), True
    elif whole:
        reach, edge = np.uint64(min(int(width), _FARTHEST)), edge or int(width) != width
    else:
        reach = float(width)
    return int(time_bounds(places, offsets, reach, whole, edge, extent.open_right, starts, ends))


def _rounded(extent: Extent, places: Array, offsets: Array, starts: Array, ends: Array) -> int:
    """Windows whose old edge is rounded to a grain."""
    assert extent.width is not None
    assert extent.grain is not None
    return grain_bounds(places, offsets, extent.width, extent.grain, extent.edge, extent.open_right, starts, ends)


def _limited(extent: Extent, places: Array, offsets: Array, starts: Array, ends: Array) -> int:
    """Windows of one length that hold so many rows at most."""
    backwards = _stretch(extent, places, offsets, starts, ends)
    if backwards < 0:
        starts[:] = newest_rows(starts, ends, extent.limit)
    return backwards


def _shifted(extent: Extent, places: Array, offsets: Array, starts: Array, ends: Array) -> int:
    """Windows that do not end at their rows."""
    falls = places[1:] < places[:-1]
    falls[offsets[1:-1][(offsets[1:-1] > 0) & (offsets[1:-1] < len(places))] - 1] = False  # from key to key
    if falls.any():
        return int(falls.argmax()) + 1
    shifted_bounds(extent, places, offsets, starts, ends)
    return -1


_PASSES: dict[str, Callable[[Extent, Array, Array, Array, Array], int]] = {
    "rows": _stretch,
    "time": _stretch,
    "running": _stretch,
    "grain": _rounded,
    "limited": _limited,
    "delayed": _shifted,
    "months": _shifted,
    "ahead": _shifted,
    "session": _stretch,
    "since": _stretch,
    "calendar": _stretch,
}


def check_times(window: Window, times: Column) -> None:
    """Refuse times that a window cannot be laid along."""
    if times.valid is not None:
        null = ~times.valid
        raise SlidewiseError(
            f"times holds {null.sum()} nulls, the first at position {null.argmax()}; leave these rows out"
        )
    data = times.data
    if times.is_object or data.dtype == bool:
        text = len(data) and isinstance(data[0], str)
        read = "; these are text, so give them as np.asarray(times).astype('datetime64[us]')" if text else ""
        raise WindowError(f"times must be timestamps, dates or numbers{read}")
    name, length = ("next" if window.ahead else "last" if window.kind.timed else "gap"), window.measure
    if times.unit is not None:
        if not isinstance(length, Duration | Months | None):
            raise WindowError(
                f"times are timestamps, but {name}={length!r} is a number; write it as {name}='10 minutes', say"
            )
        if window.zone is not None and times.is_date:
            raise WindowError(f"times are dates, but zone={window.zone!r} is given: {NO_DATES}")
        return
    if window.needs_moments:
        raise WindowError(f"times are numbers, and {window.words} is a part of the calendar; {MOMENTS_NEEDED}")
    if isinstance(length, Duration | Months):
        lasts = {"last": "lasts", "next": "looks ahead", "gap": "is a session with gaps of"}[name]
        raise WindowError(f"times are numbers, but the window {lasts} {length}; give {name}= as a number")
    if data.dtype == np.float64 and not np.isfinite(data).all():
        wrong = int((~np.isfinite(data)).argmax())
        raise SlidewiseError(f"times holds {data[wrong]} at position {wrong}; times must be finite")


def backwards_error(times: Column, order: Sorted | None) -> TimeOrderError:
    """The error for the first row in the input whose time lies before that of its key's row ahead of it."""
    at = _first_backwards(times.data if order is None else order.to_sorted(times.data), order)
    after, before = (_shown(times, i) for i in at)
    return TimeOrderError(
        f"times run backwards at position {at[0]}: {after} comes after {before} at position {at[1]}; "
        "sort the rows by time within each key"
    )


def _first_backwards(times: Array, order: Sorted | None) -> tuple[int, int]:
    """The first row in the input whose time lies before that of its key's row ahead of it, and that row."""
    backwards = np.flatnonzero(times[1:] < times[:-1]) + 1
    if order is None:
        return int(backwards[0]), int(backwards[0]) - 1
    backwards = np.setdiff1d(backwards, order.offsets)
    rows = np.empty(len(times), np.int64)
    rows[order.places] = np.arange(len(times))
    first = backwards[np.argmin(rows[backwards])]
    return int(rows[first]), int(rows[first - 1])


def _shown(times: Column, i: int) -> Any:
    if times.unit is None:
        return times.data[i]
    value = times.restore(times.data[i : i + 1])
    return value[0]
