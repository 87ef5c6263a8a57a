"""The queues below the algorithms."""

from __future__ import annotations

import random

import slidewise as sw
from slidewise.swag.structures import queues as module
from slidewise.swag.structures.queues import CHUNK, NEXT, PREV, Chunks, Ring, Stack


def test_a_freed_chunk_is_used_again() -> None:
    chunks = Chunks(both_ways=True)
    first = chunks.after(None)
    second = chunks.after(first)
    chunks.release(first)
    assert second[PREV] is None
    assert chunks.after(second) is first
    assert first[PREV] is second
    assert second[NEXT] is first
    assert chunks.after(first) is not second


def test_forward_chunks_make_no_cycles() -> None:
    chunks = Chunks()
    second = chunks.after(chunks.after(None))
    assert second[PREV] is None


def test_a_sliding_window_makes_no_new_chunks() -> None:
    for algorithm in (sw.DabaLite, sw.Daba, sw.TwoStacksLite):
        window = algorithm(sw.max)
        for x in range(100):
            window.insert(x)
        seen: set[int] = set()
        keep = []
        for x in range(2000):
            window.evict()
            window.insert(x)
            keep.append(window._cE)
            seen.add(id(window._cE))
        assert len(seen) <= 100 // CHUNK + 3


def test_no_list_is_longer_than_a_chunk() -> None:
    """Nothing doubles in the algorithms that promise a worst case: their lists keep one size at any window's."""
    for algorithm in (sw.DabaLite, sw.Daba, sw.TwoStacks):
        window = algorithm(sw.max)
        for x in range(5000):
            window.insert(x)
        chunk = window.B._last if isinstance(window, sw.TwoStacks) else window._cE
        count = 0
        while chunk is not None:
            assert len(chunk) <= 2 * CHUNK + 2
            chunk = chunk[PREV]
            count += 1
        assert count == -(-5000 // CHUNK)
        assert not any(
            isinstance(value, (list, dict)) and len(value) > 2 * CHUNK + 2
            for name in type(window).__slots__
            for value in [getattr(window, name)]
        )


def test_stack() -> None:
    stack, model = Stack(), []
    choose = random.Random(1)
    for i in range(2000):
        if model and choose.random() < 0.49:
            assert stack.top() == model.pop()
            stack.pop()
        else:
            stack.push(i, -i)
            model.append((i, -i))
        assert len(stack) == len(model)
    assert list(stack) == model[::-1]


def test_ring() -> None:
    ring, model = Ring(start=5), {}
    choose = random.Random(2)
    for i in range(3000):
        if len(ring) and choose.random() < (0.3 if i < 1500 else 0.7):
            gone = choose.randrange(1, min(len(ring), 4) + 1)
            for p in range(ring.start, ring.start + gone):
                del model[p]
            ring.pop(gone)
        else:
            model[ring.stop] = i
            ring.push(i)
        assert {p: ring[p] for p in range(ring.start, ring.stop)} == model
        assert len(ring.slots) <= max(Ring.SMALLEST, 4 * len(ring) + 4)


def test_write_and_walk_cross_chunks() -> None:
    chunks = Chunks(fields=2)
    first = chunks.after(None)
    chunks.after(first)
    module.write(first, 30, range(5), field=1)
    assert list(module.walk(first, 30, 35, field=1)) == [0, 1, 2, 3, 4]
    assert module.step(first, 30, 34) is first[NEXT]
