"""Bounds of windows on a beat: the slice of each time, the beats of each slice, and the slices of each window.

The numbers of slices and beats are those of `windows.beats`.
"""

from __future__ import annotations

import numpy as np

from slidewise.arrays import Array
from slidewise.errors import InputError
from slidewise.kernels.compiler.jit import tiered_jit
from slidewise.windows import Beats

_FARTHEST = 2**62
_EXACT = 2**53  # integers up to here are floats, so that their quotient is rounded once


def slice_numbers(beats: Beats, times: Array) -> Array:
    """The number of each time's slice."""
    if not len(times):
        return np.zeros(0, np.int64)
    if beats.floats:
        return _float_numbers(beats, times)
    low, high = int(times.min()), int(times.max())
    if low < -_FARTHEST or high + beats.width + beats.every > _FARTHEST:
        raise InputError(
            f"times from {low} to {high} ticks are too far from the epoch for beats; cast them to a larger unit"
        )
    beat = np.floor_divide(times, beats.every)
    at = np.array([at for at, _ in beats.cuts], np.int64)
    rest = times - beat * beats.every
    if beats.per == 1:
        last: Array = beat - (rest < at[0])
        return last
    last = beat * beats.per + (np.searchsorted(at, rest, side="right") - 1)
    return last


def _float_numbers(beats: Beats, times: Array) -> Array:
    farthest = float(np.abs(times).max()) + float(beats.width + beats.every) / beats.scale
    gaps = np.diff([*(at for at, _ in beats.cuts), beats.cuts[0][0] + beats.every])
    least = min(float(gap) for gap in gaps if gap) / beats.scale
    if not 4 * np.spacing(farthest) < least:
        raise InputError(
            f"floats as large as {farthest:g} lie {np.spacing(farthest):g} apart, too far to be cut into slices of "
            f"{least:g}; subtract a start from the times"
        )
    at = np.array([at for at, _ in beats.cuts], np.float64) / beats.scale
    beat = np.floor(times / (beats.every / beats.scale))
    rest = times - beat * (beats.every / beats.scale)
    numbers = beat.astype(np.int64) * beats.per + (np.searchsorted(at, rest, side="right") - 1)
    # A step or two off at most, by rounding.
    while (wrong := starts_of(beats, numbers) > times).any():
        numbers = numbers - wrong
    while (wrong := starts_of(beats, numbers + 1) <= times).any():
        numbers = numbers + wrong
    return numbers


def starts_of(beats: Beats, numbers: Array) -> Array:
    """The first time of each slice."""
    beat = np.floor_divide(numbers, beats.per)
    j = numbers - beat * beats.per
    at = np.array([at for at, _ in beats.cuts], np.int64)[j]
    starts = _quotient(beats, beat, at)
    if not beats.floats:
        return starts
    behind = np.array([behind for _, behind in beats.cuts], np.bool_)[j]
    return np.where(behind, np.nextafter(starts, np.inf), starts)


def times_of(beats: Beats, numbers: Array) -> Array:
    """The time of each beat."""
    return _quotient(beats, numbers, beats.offset)


def _quotient(beats: Beats, beat: Array, at: Array | int) -> Array:
    """Each beat's time plus `at`, which count in units of 1 / `scale`, in the unit of the times, rounded once."""
    if not beats.floats:
        times: Array = beat * beats.every + at
        return times
    most = int(np.abs(beat).max(initial=0) + 1) * beats.every + int(np.abs(at).max())
    if most < _EXACT and beats.scale < _EXACT:
        times = (beat * beats.every + at) / np.float64(beats.scale)
        return times
    places = np.broadcast_to(at, beat.shape).tolist()
    exact = [(k * beats.every + a) / beats.scale for k, a in zip(beat.tolist(), places, strict=True)]
    return np.array(exact, np.float64)


def held_at(beats: Beats, numbers: Array) -> tuple[Array, Array]:
    """The first and the last beat whose windows hold each slice; the first is greater where none does."""
    beat = np.floor_divide(numbers, beats.per)
    j = numbers - beat * beats.per
    return beat + np.array(beats.firsts, np.int64)[j], beat + np.array(beats.lasts, np.int64)[j]


def beats_seen(codes: Array, first: Array, last: Array) -> tuple[Array, Array]:
    """The beats from the first to the last of each slice, each once for each key: the keys' codes and the beats.

    Slices are sorted by key and time, so that neither end falls within a key.
    """
    if not len(codes):
        return codes, first
    first, counts = new_beats(codes, first, last)
    shift = np.repeat(first - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    return np.repeat(codes, counts), np.arange(len(shift)) + shift


def new_beats(codes: Array, first: Array, last: Array) -> tuple[Array, Array]:
    """The first beat of each slice, or row, that none of its key before it has, and how many there are of these."""
    new_key = np.diff(codes, prepend=codes[0] - 1) != 0
    before = np.concatenate([first[:1], last[:-1] + 1])
    first = np.where(new_key, first, np.maximum(first, before))
    return first, np.maximum(last - first + 1, 0)


@tiered_jit
def beat_bounds(
    codes: Array,
    beats: Array,
    slice_codes: Array,
    numbers: Array,
    per: int,
    low: int,
    high: int,
    starts: Array,
    ends: Array,
) -> None:
    """Bounds of the slices in each beat's window; beats and slices are sorted by key, and then by number.

    No window ends before it begins, so neither do its slices.
    """
    first = np.int64(0)
    stop = np.int64(0)
    count = len(numbers)
    for i in range(len(codes)):
        code = codes[i]
        a = beats[i] * per + low
        b = beats[i] * per + high
        while first < count and (slice_codes[first] < code or (slice_codes[first] == code and numbers[first] < a)):
            first += 1
        while stop < count and (slice_codes[stop] < code or (slice_codes[stop] == code and numbers[stop] < b)):
            stop += 1
        starts[i] = first
        ends[i] = stop
