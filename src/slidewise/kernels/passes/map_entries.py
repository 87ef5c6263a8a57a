"""Entries of maps by category, written where they are to lie: few change from map to map, the others are copied.

As long as the same categories are in the window, a map is that of the window before with some values of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import cached_jit, copy_eight, jit
from slidewise.kernels.order.bit_sets import WORD, ones, trailing_zeros

_ONE = np.uint64(1)
_EIGHT = 8
_FEW = 8  # categories that are put into order one by one
ROOM_BEHIND = _SHORT = 16  # bytes of a text that is written as a whole


class MapContent(NamedTuple):
    """What maps are laid out from: the categories that change from one window to the next, twice their code and
    whether they are in it; how many of these changes there are up to each window; how many categories each window
    holds; and the first window of each category."""

    changed: Array
    last_changes: Array
    lengths: Array
    firsts: Array

    def lay_out(self, places: Array, values: Array, keys: Array, out_keys: Array, out: Array) -> None:
        """Write the entries of maps, the map of each window from its place on, where that is not -1.

        `values` has one for each window of a category, and `keys` one for each category, in their order.
        """
        if not len(values):
            return
        lay_out = _lay_out_few if len(self.firsts) - 1 <= WORD else _lay_out_many
        lay_out(*self, places, values, keys, out_keys, out)


@jit
def _copy(x: Array, i: int, to: int, count: int) -> None:
    """Copy so many values from place i to another, which they do not overlap."""
    if count >= _EIGHT:
        for j in range(0, count - _EIGHT, _EIGHT):
            copy_eight(x, u(i + j), x, u(to + j))
        copy_eight(x, u(i + count - _EIGHT), x, u(to + count - _EIGHT))
    else:
        for j in range(count):
            x[u(to + j)] = x[u(i + j)]


@cached_jit
def _lay_out_few(
    changed: Array,
    last_changes: Array,
    lengths: Array,
    firsts: Array,
    places: Array,
    values: Array,
    keys: Array,
    out_keys: Array,
    out: Array,
) -> None:
    """The entries of each map, the least category first, where categories are bits of a word."""
    window = firsts[:-1].copy()  # the number of each category's next window
    latest = np.empty(len(window), values.dtype)
    last = len(values) - 1
    present = np.uint64(0)
    written = np.uint64(0)  # the categories in the map that was written last
    before = -1  # where that one lies; -1 where what has changed since is not in it
    size = 0
    change = 0
    for i in range(len(last_changes)):
        first = change
        change = last_changes[i]
        for k in range(first, change):
            here = changed[u(k)] & 1
            code = u(changed[u(k)] >> 1)
            w = window[code]
            latest[code] = values[u(min(w, last))]
            window[code] = w + here
            present = present & ~(_ONE << code) | np.uint64(here) << code
        to = places[i]
        if to < 0 or lengths[i] == 0:  # there are no changes where the window has no rows
            before = -1 if change > first else before
            continue
        if before >= 0 and present == written:
            _copy(out_keys, before, to, size)
            _copy(out, before, to, size)
            for k in range(first, change):
                code = u(changed[u(k)] >> 1)
                if changed[u(k)] & 1:
                    out[u(to + ones(present & ((_ONE << code) - _ONE)))] = latest[code]
        else:
            left = present
            size = 0
            while left:
                code = u(trailing_zeros(left))
                out[u(to + size)] = latest[code]
                out_keys[u(to + size)] = keys[code]
                left &= left - _ONE
                size += 1
            written = present
        before = to


@cached_jit
def _lay_out_many(
    changed: Array,
    last_changes: Array,
    lengths: Array,
    firsts: Array,
    places: Array,
    values: Array,
    keys: Array,
    out_keys: Array,
    out: Array,
) -> None:
    """The same for any number of categories: those in the window are kept in order."""
    categories = len(firsts) - 1
    window = firsts[:-1].copy()
    latest = np.empty(categories, values.dtype)
    here = np.zeros(categories, np.bool_)
    place = np.empty(categories, np.int64)  # among those that are in the window
    present = np.empty(2 * categories, np.int64)
    row = np.empty(categories, values.dtype)
    size = 0
    change = 0
    for i in range(len(last_changes)):
        entered = 0
        left = 0
        for k in range(change, last_changes[i]):
            code = changed[k] >> 1
            if changed[k] & 1:
                latest[code] = values[window[code]]
                window[code] += 1
                if here[code]:
                    row[place[code]] = latest[code]
                else:
                    here[code] = True
                    present[size + entered] = code
                    entered += 1
            elif here[code]:
                here[code] = False
                left += 1
        change = last_changes[i]
        if entered + left > 0:
            size = _in_order(present, size, entered, left, here)
            for j in range(size):
                code = present[j]
                place[code] = j
                row[j] = latest[code]
        to = places[i]
        if to >= 0 and lengths[i] > 0:
            for j in range(size):
                out_keys[to + j] = keys[present[j]]
                out[to + j] = row[j]


@cached_jit
def _in_order(present: Array, size: int, entered: int, left: int, here: Array) -> int:
    """Categories in order without those that have left: those that entered stand behind the others."""
    ordered = size
    size += entered
    if left > 0:
        to = 0
        before = 0
        for j in range(size):
            if here[present[j]]:
                present[to] = present[j]
                to += 1
                before += j < ordered
        size = to
        ordered = before
    if size - ordered > _FEW:
        present[:size].sort()
        return size
    for j in range(ordered, size):
        code = present[j]
        to = j
        while to > 0 and present[to - 1] > code:
            present[to] = present[to - 1]
            to -= 1
        present[to] = code
    return size


@cached_jit
def _write_texts(codes: Array, offsets: Array, begins: Array, text: Array, text_offsets: Array, out: Array) -> int:
    """Write texts by their codes, and where each begins; how many bytes they have. Maps begin at offsets, and where one
    has the categories of the one before, its bytes are copied at once."""
    at = 0
    before = 0  # the map written last: its first entry, how many it has, and where its text begins
    size_before = 0
    text_before = 0
    for i in range(len(offsets) - 1):
        first = offsets[i]
        size = offsets[i + 1] - first
        if size == 0:
            continue
        differ = np.int32(1)
        if size == size_before:
            differ = np.int32(0)
            for j in range(size):
                differ |= codes[u(first + j)] ^ codes[u(before + j)]
        begin = at
        if differ == 0:
            for j in range(size):
                text_offsets[u(first + j)] = text_offsets[u(before + j)] + (begin - text_before)
            _copy(out, text_before, begin, begin - text_before)
            at += begin - text_before
        else:
            for j in range(first, first + size):
                code = u(codes[u(j)])
                text_offsets[u(j)] = at
                length = begins[code + u(1)] - begins[code]
                for k in range(0, length, _SHORT):
                    copy_eight(text, u(begins[code] + k), out, u(at + k))
                    copy_eight(text, u(begins[code] + k + _EIGHT), out, u(at + k + _EIGHT))
                at += length
        before = first
        size_before = size
        text_before = begin
    text_offsets[len(codes)] = at
    return at


def write_texts(codes: Array, offsets: Array, begins: Array, text: Array, text_offsets: Array, out: Array) -> int:
    """Write the texts of maps that begin at offsets by their codes, and where each begins; how many bytes they have.

    Text k has the bytes from begins[k] to begins[k + 1], and there is room for `ROOM_BEHIND` bytes behind the last one.
    """
    padded = np.concatenate([text, np.zeros(ROOM_BEHIND, np.uint8)])
    return int(_write_texts(codes, offsets, begins, padded, text_offsets, out))
