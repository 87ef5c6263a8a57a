"""Verification of a large key: its chunks' order and places, and the aggregates of chunks against recomputed ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from slidewise.spark.state.chunk_window import ChunkAggregates, ChunkWindow, State
from slidewise.spark.state.large_key import LargeKey
from slidewise.spark.state.page_checks import reading, require

_BUILTIN, _OWN = 1e-9, 1e-6  # by which share of the largest number states may differ: sums depend on their order


def check_large_key(key: LargeKey, newest: int) -> None:
    """Check all of a large key's pages, whose newest time is given; a SnapshotError says what is wrong."""
    states: list[list[State]] = [[] for _ in key._groups]
    places = {}
    last, end = None, 0
    for number, (at, chunk) in enumerate(key.chunks(), key._low):
        with reading(f"chunk {number} of a large key"):
            places[number], end = at, at + len(chunk)
            times = key._times(chunk)
            if len(times):
                require(last is None or times[0] >= last, "its rows lie before those of the chunk before it")
                require(times[-1] <= newest, "its rows are newer than their key's newest time")
                last = times[-1]
            if number < key._tail:
                for of_group, state in zip(states, key._folded(chunk), strict=True):
                    of_group.append(state)
    with reading("the header of a large key"):
        require(places[key._tail] == key._tail_at and end == key.count, "chunks have other numbers of rows")
        for chunk_number, at in key._starts:
            require(places[chunk_number] == at, "a window starts at a place that its chunk does not have")
    for w, (group, window) in enumerate(zip(key._groups, key._windows, strict=True)):
        if group.bounded:
            names = ", ".join(repr(member.name) for member in group.spec.members)
            with reading(f"window {w} of a large key ({names})"):
                require(key._tail == window.E, "chunks are missing in it")
                _check_window(group, window, states[w], key._low)


def _check_window(group: ChunkAggregates, window: ChunkWindow, states: list[State], low: int) -> None:
    """Compare every slot of DABA Lite, and both running partials, with what the chunks' states give."""
    F, L, R, A, B, E = window.F, window.L, window.R, window.A, window.B, window.E
    if F == E:
        return
    scale = max((_magnitude(state) for state in states if state is not None), default=0.0)
    own = not all(member.operator.builtin for member in group.spec.members)
    slack = (_OWN if own else _BUILTIN) * scale

    def same(stored: State, expected: State) -> bool:
        return near(stored, expected, slack)

    def folds(first: int, stop: int) -> Iterator[tuple[int, State]]:
        """From the last chunk before `stop` back to `first`: the aggregate from each up to there."""
        state: State = None
        for chunk in range(stop - 1, first - 1, -1):
            state = group.combine(states[chunk - low], state)
            yield chunk, state

    def check(first: int, stop: int, until: int, is_in: Callable[[int], bool]) -> None:
        for chunk, state in folds(first, until):
            if chunk < stop and is_in(chunk):
                require(same(window._get(chunk), state), f"the aggregate of chunk {chunk} on is another one")

    for chunk in [*range(R, A), *range(B, E)]:
        require(same(window._get(chunk), states[chunk - low]), f"the aggregate of chunk {chunk} is another one")
    check(F, B, B, lambda chunk: chunk < L or chunk >= A)
    check(L, R, R, lambda chunk: True)
    if L != R:
        require(same(window.aggRA, _last(folds(R, B))), "the aggregate of its middle is another one")
    require(same(window.aggB, _last(folds(B, E))), "the aggregate of its newest chunks is another one")


def _last(folds: Iterator[tuple[int, State]]) -> State:
    aggregates = [state for _, state in folds]
    return aggregates[-1] if aggregates else None


def near(a: Any, b: Any, slack: float) -> bool:
    """Whether two states are equal, numbers with fractions within a slack.

    >>> near((3, (1.0, "x")), (3, (1.0 + 1e-12, "x")), 1e-9), near((3, (1.0,)), (4, (1.0,)), 1e-9)
    (True, False)
    """
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= slack
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(near(x, y, slack) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and bool(a == b)


def _magnitude(state: Any) -> float:
    """The largest finite number with a fraction in a state."""
    if isinstance(state, float):
        return abs(state) if math.isfinite(state) else 0.0
    if isinstance(state, tuple | list):
        return max((_magnitude(part) for part in state), default=0.0)
    return 0.0
