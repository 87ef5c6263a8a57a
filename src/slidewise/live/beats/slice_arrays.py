"""A key's slices between single events and batches: as lists, which take rows in, and frozen as arrays, for kernels."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from slidewise.engine.beats.parts import Part, Stored, Values
from slidewise.engine.beats.slices import BeatSlices
from slidewise.engine.joining import arrays_of
from slidewise.kernels.passes.partials import Partials
from slidewise.live.beats.key_state import BeatKeyState
from slidewise.operators.operator import Operator


def held_slices(key_states: list[BeatKeyState], like: list[Stored], parts: list[Part]) -> BeatSlices:
    """The slices that keys hold, as arrays in the form of those of a batch."""
    frozen = [
        (k, key_state.frozen)
        for k, key_state in enumerate(key_states)
        if key_state.frozen is not None and len(key_state.frozen)
    ]
    stored = [_concatenated([slices.parts[i] for _, slices in frozen]) for i in range(len(like))] if frozen else like
    codes = np.repeat([k for k, _ in frozen], [len(slices) for _, slices in frozen]).astype(np.int64)
    numbers = np.concatenate([np.zeros(0, np.int64), *(slices.numbers for _, slices in frozen)])
    from_arrays = BeatSlices(codes, numbers, stored)
    lists = [
        (k, each) for k, key_state in enumerate(key_states) if key_state.frozen is None for each in key_state.slices
    ]
    if not lists:
        return from_arrays
    made = [_stored(parts[i].operator, [each[1 + i] for _, each in lists], part) for i, part in enumerate(like)]
    from_lists = BeatSlices(np.array([k for k, _ in lists]), np.array([each[0] for _, each in lists]), made)
    return from_arrays.joined(from_lists)


def freeze(key_state: BeatKeyState, slices: BeatSlices) -> None:
    """Let a key hold these arrays instead of lists and SWAGs."""
    key_state.frozen = slices
    key_state.slices, key_state.panes, key_state.start = deque(), None, 0


def _concatenated(parts: list[Any]) -> Stored:
    """One part of several keys' slices, one behind the other."""
    if isinstance(parts[0], Values):
        values = parts[0]
        for part in parts[1:]:
            values = values.joined(part)
        return values
    if len({part.dtypes for part in parts}) > 1:
        parts = [part.as_objects() for part in parts]
    fields = [np.concatenate(some) for some in zip(*(part.fields for part in parts), strict=True)]
    return Partials(parts[0].op, fields, np.concatenate([part.counts for part in parts]), parts[0].dtypes)


def _stored(op: Operator, slices: list[Any], like: Stored) -> Stored:
    """One part of slices in lists as arrays, in the form of others."""
    counts = np.array([rows for rows, _ in slices], np.int64)
    if isinstance(like, Values):
        rows = [row for some, state in slices if some for row in state]
        return Values(arrays_of(rows, len(like.inputs)), counts)
    if op.traits.counts_rows:
        return Partials(op, [counts], counts, None)
    return Partials.of_objects(op, [state for _, state in slices], counts, like.dtypes)


def thaw(key_state: BeatKeyState) -> None:
    """Make lists of a key's slices, which lie in arrays."""
    slices = key_state.frozen
    assert slices is not None
    parts = [_lists(part) for part in slices.parts]
    items = zip(slices.numbers.tolist(), *parts, strict=True)
    key_state.slices = deque([number, *map(list, item)] for number, *item in items)
    key_state.frozen, key_state.panes, key_state.start = None, None, 0


def _lists(part: Stored) -> list[tuple[int, Any]]:
    """One part of each slice as lists have it: how many rows, and their state, or the rows themselves."""
    counts = part.counts.tolist()
    if isinstance(part, Values):
        rows = list(zip(*(x.tolist() for x in part.inputs), strict=True))
        stops = part.offsets.tolist()
        return [(n, rows[a:b] if n else None) for n, a, b in zip(counts, stops[:-1], stops[1:], strict=True)]
    return list(zip(counts, part.as_objects().fields[0].tolist(), strict=True))
