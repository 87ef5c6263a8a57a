"""Passes cut into parts that threads take: where windows may be cut, and the parts' answers put together.

Where the cuts are depends on the rows alone, so answers are the same for any number of threads. A cut in front of a
window that holds no row of an earlier one is exact for every pass: between two keys, say. Two-Stacks begins anew at
some windows by itself, and block scans at every nth row; these are cut there, so that values meet as they do uncut.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.bounds.key_ranges import keys_within
from slidewise.kernels.codegen.kernel import Answers, field_arrays
from slidewise.kernels.compiler.jit import tiered_jit
from slidewise.kernels.compiler.threads import parts_of, share_parts

_OVERLAP = 4  # parts are so many times as long as what is run twice


def cuts_between_windows(starts: Array, ends: Array) -> list[int]:
    """Where to cut in front of windows that hold no row of an earlier one; [0, count] if there are too few of these."""
    count = len(starts)
    parts = parts_of(count)
    cuts = [0]
    for i in range(1, parts):
        at = count * i // parts
        cut = int(_apart(starts, ends, at, at + count // (2 * parts)))
        if cut < 0:
            return [0, count]
        cuts.append(cut)
    return [*cuts, count]


@tiered_jit
def _apart(starts: Array, ends: Array, at: int, stop: int) -> int:
    """The first window from `at` on that begins behind the one before, or -1."""
    for i in range(at, stop):
        if starts[u(i)] >= ends[u(i - 1)]:
            return i
    return -1


def cuts_of_stacks(starts: Array, ends: Array) -> list[int]:
    """Where to cut in front of windows at which Two-Stacks begins anew, which it does once a window's length or so."""
    count = len(starts)
    parts = parts_of(count)
    if parts < 2:
        return [0, count]
    cuts = np.zeros(parts + 1, np.int64)
    _anew(starts, ends, cuts)
    cuts[-1] = count
    return np.unique(cuts).tolist()  # type: ignore[no-any-return]


@tiered_jit
def _anew(starts: Array, ends: Array, cuts: Array) -> None:
    """The first windows from each of so many even cuts on at which Two-Stacks begins anew, or the number of windows."""
    count = len(starts)
    parts = len(cuts) - 1
    for k in range(1, parts):
        cuts[k] = count
    k = 1
    i = 0
    while k < parts and i < count:
        while i < count and starts[u(i)] >= ends[u(i)]:
            i += 1
        if i == count:
            break
        while k < parts and i >= count * k // parts:
            cuts[k] = i
            k += 1
        back = ends[u(i)]  # the next front begins with the first window behind all of this one's rows
        step = 1
        low = i + 1
        high = i + 1
        while high < count and starts[u(high)] < back:
            low = high + 1
            high += step
            step *= 2
        high = min(high, count)
        while low < high:
            middle = (low + high) // 2
            if starts[u(middle)] < back:
                low = middle + 1
            else:
                high = middle
        i = low


def cuts_of_rows(offsets: Array, n: int, count: int) -> tuple[list[int], list[int]]:
    """Where to cut rows by key, for windows of n rows; and how many rows before a cut its part needs, none at a key.

    Within a key cuts are a multiple of n rows behind its first.
    """
    parts = min(parts_of(count), max(1, count // (_OVERLAP * n)))
    cuts, leads = [0], [0]
    for i in range(1, parts):
        at = count * i // parts
        key = keys_within(offsets, at, at)[0]
        first, stop = int(offsets[key]), int(offsets[key + 1])
        inside = at - (at - first) % n
        cut, lead = (stop, 0) if stop - at < count // (4 * parts) else (inside, n if inside > first else 0)
        if cuts[-1] < cut < count:
            cuts.append(cut)
            leads.append(lead)
    return [*cuts, count], leads


class _Room:
    """Room for the answers of all parts, made like those of the first that comes."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._answers: Answers | None = None

    def put(self, a: int, b: int, answers: Answers) -> None:
        """Copy a part's answers to their rows."""
        room = self._room_for(answers)
        for field, part in zip(room.fields, answers.fields, strict=True):
            assert field.dtype == part.dtype
            field[a:b] = part
        if answers.valid is not None:
            assert room.valid is not None
            room.valid[a:b] = answers.valid
        for number, part in answers.present.items():
            room.present[number][a:b] = part

    def _room_for(self, answers: Answers) -> Answers:
        with self._lock:
            if self._answers is None:
                fields = field_arrays(self._count, [field.dtype.str for field in answers.fields])
                present = {number: np.ones(self._count, np.bool_) for number in answers.present}
                self._answers = replace(answers, fields=fields, valid=None, present=present)
            if answers.valid is not None and self._answers.valid is None:
                self._answers = replace(self._answers, valid=np.ones(self._count, np.bool_))
            return self._answers

    def answers(self) -> Answers:
        """Those of all parts."""
        assert self._answers is not None
        return self._answers


def several_in_parts(cuts: list[int], run: Callable[[int, int], list[Answers]], several: int) -> list[Answers]:
    """The answers of so many operators to all windows, of which `run` answers those between two cuts."""
    rooms = [_Room(cuts[-1]) for _ in range(several)]

    def work(a: int, b: int) -> None:
        for room, answers in zip(rooms, run(a, b), strict=True):
            room.put(a, b, answers)

    share_parts(cuts, work)
    return [room.answers() for room in rooms]


def in_parts(cuts: list[int], run: Callable[[int, int], Answers]) -> Answers:
    """The same for one operator."""
    return several_in_parts(cuts, lambda a, b: [run(a, b)], 1)[0]


def rows_between(starts: Array, ends: Array) -> tuple[int, int, Array, Array]:
    """The rows that some windows hold, from the first to one past the last, and the windows' bounds among these."""
    low = int(starts.min())
    return low, max(int(ends.max()), low), starts - starts.dtype.type(low), ends - ends.dtype.type(low)
