"""Windows whose middle is known as one state, for states that are no few numbers: sketches, buckets, extremes of text.

These are the interpreted operator's own states, all of a bounded size, and as plain values where they come in and go
out; `spanning` has those that are numbers. Counts in buckets have a pass of their own, since they can be taken off
again.
"""

from __future__ import annotations

from functools import reduce
from itertools import accumulate

import numpy as np

from slidewise.arrays import Array
from slidewise.kernels.codegen.kernel import Answers
from slidewise.kernels.compiler.jit import cached_jit
from slidewise.kernels.order.bucket_middles import bucket_numbers
from slidewise.kernels.passes.interpreted import as_answers
from slidewise.operators.operator import Operator
from slidewise.operators.types import State
from slidewise.operators.values import log_buckets


class SpanningObjects:
    """An operator over windows [starts, h) of rows, a middle, and rows [h, ends)."""

    def __init__(self, op: Operator) -> None:
        self._op = op

    def fold(self, inputs: list[Array]) -> State:
        """The state of some rows, one at least."""
        return self._plain(reduce(self._op.combine, self._lifted(inputs)))

    def combine(self, older: State, newer: State) -> State:
        return self._plain(self._op.combine(self._state(older), self._state(newer)))

    def _plain(self, state: State) -> State:
        return state if self._op.encode is None else self._op.encode(state)

    def _state(self, plain: State) -> State:
        return plain if self._op.decode is None else self._op.decode(plain)

    def answers(self, inputs: list[Array], h: int, middle: State, starts: Array, ends: Array, enough: Array) -> Answers:
        """The answers over the rows [starts, h), the middle, and the rows [h, ends); those not `enough` are left out.

        No start lies behind h, and no end before it; neither ever falls. `middle` is None where there is none. A window
        without rows has an answer too, where it is enough.
        """
        combine, lower = self._op.combine, self._op.lower
        rows = self._lifted(inputs)
        first = int(starts[0]) if len(starts) else h
        oldest = [*([] if middle is None else [self._state(middle)]), *reversed(rows[first:h])]
        fronts: list[State] = list(accumulate(oldest, lambda newer, older: combine(older, newer)))
        backs = list(accumulate(rows[h:], combine))
        answers = np.empty(len(starts), object)
        for i, (start, end, wanted) in enumerate(zip(starts.tolist(), ends.tolist(), enough.tolist(), strict=True)):
            if wanted:
                at = h - start - (middle is None)
                parts = [*fronts[at : at + 1]] if at >= 0 else []
                parts += backs[end - h - 1 : end - h] if end > h else []
                answers[i] = lower(reduce(combine, parts) if parts else self._op.identity)
        return as_answers(answers)

    def _lifted(self, inputs: list[Array]) -> list[State]:
        return [self._op.lift(*row) for row in zip(*(x.tolist() for x in inputs), strict=True)]


class SpanningBuckets(SpanningObjects):
    """The same for an approximate quantile, whose states are counts by bucket."""

    def __init__(self, op: Operator) -> None:
        super().__init__(op)
        self._parts = log_buckets.parts_of(op.parameters["approximate"])

    def fold(self, inputs: list[Array]) -> State:
        numbers, counts = np.unique(bucket_numbers(inputs[0], self._parts), return_counts=True)
        return tuple(zip(numbers.tolist(), counts.tolist(), strict=True))

    def answers(self, inputs: list[Array], h: int, middle: State, starts: Array, ends: Array, enough: Array) -> Answers:
        known = np.array([number for number, _ in middle or ()], np.int64)
        numbers, codes = np.unique(np.concatenate([known, bucket_numbers(inputs[0], self._parts)]), return_inverse=True)
        counts = np.zeros(len(numbers), np.int64)
        counts[codes[: len(known)]] = [count for _, count in middle or ()]
        buckets = np.empty(len(starts), np.int64)
        has_nan = bool(len(numbers)) and int(numbers[-1]) == log_buckets.NAN
        count_pass(codes[len(known) :], counts, h, starts, ends, enough, self._op.parameters["q"], has_nan, buckets)
        middles = np.array([log_buckets.middle(number, self._parts) for number in numbers.tolist()] or [0.0])
        return Answers([middles[buckets]], None)


@cached_jit
def count_pass(
    codes: Array,
    counts: Array,
    h: int,
    starts: Array,
    ends: Array,
    enough: Array,
    q: float,
    has_nan: bool,
    buckets: Array,
) -> None:
    """The bucket in which each window's quantile lies; `counts` are those of the middle at first, and then change."""
    total = 0
    for count in counts:
        total += count
    low = starts[0] if len(starts) else h
    for i in range(low, h):
        counts[codes[i]] += 1
        total += 1
    high = h
    for i in range(len(starts)):
        while high < ends[i]:
            counts[codes[high]] += 1
            total += 1
            high += 1
        while low < starts[i]:
            counts[codes[low]] -= 1
            total -= 1
            low += 1
        buckets[i] = 0
        if not enough[i]:
            continue
        if has_nan and counts[-1]:
            buckets[i] = len(counts) - 1
            continue
        rank = int((total - 1) * q)
        at = 0
        while at + 1 < len(counts) and rank >= counts[at]:
            rank -= counts[at]
            at += 1
        buckets[i] = at


def spanning_objects(op: Operator, dtypes: tuple[str, ...]) -> SpanningObjects | None:
    """The operator over such windows; None where its states may grow with the window."""
    if op.traits.spanning is not None:
        return SPANNING[op.traits.spanning](op) if "object" not in dtypes else None
    if op.traits.bounded and ("object" in dtypes or op.layout(dtypes) is None):
        return SpanningObjects(op)
    return None


# The passes over states of their own that operators name in their traits.
SPANNING: dict[str, type[SpanningObjects]] = {"buckets": SpanningBuckets}
