"""Rows of many keys that come and go: passes that need no operator.

A key has a slot. The rows of its window lie in chunks of `CHUNK` places, which are linked both ways and shared out of
one arena for all keys, so that a window has as many chunks as it needs, and growing adds one and copies nothing. A
place of a row in the arena is its chunk's number times `CHUNK` and its place there. Chunks that have left wait until
the next call before they are used anew: until then a call can be taken back.

For reads a chunk also points to one farther back. Its depth is the number of chunks that its key has had before it, and
it jumps to the depth that is left without the least of the terms 2^k - 1 that add up to its own, largest first. So any
chunk is reached from the newest in O(log n) jumps and steps, and a jump of a chunk leads where two of the one before it
do, or to that one. Chunks that have left are known by their depth, and never followed.
"""

from __future__ import annotations

import numpy as np

from slidewise.kernels.compiler.jit import cached_jit, jit
from slidewise.kernels.keyed.memory import load_bool, load_float64, load_int64, store_bool, store_int64

CHUNK = 8
NO_TIME, WHOLE, FLOATS, NUMBERED, RUNNING = 0, 1, 2, 3, 4
OVERFLOW, FINE = -2, -1
_LEAST = -(2**63)

# Numbers of the block of `arrive`, which its fields stand behind: slots, ticks, times, numbers, each slot's newest time
# and its count, what the newest time was before each row, and which rows are late.
KIND, UNIT, FARTHEST, DROPS, LATE = 0, 1, 2, 3, 4
ARRIVE_NUMBERS = 5

# Numbers of the block of `slide`. Its fields: slots, times, numbers, which rows count, cuts; of each row where it went,
# how many left and how many are held; each slot's head; the head before each row; new chunks; of each chunk the next,
# the one before and the next that is free; places; of each chunk its depth, where it jumps to and that one's depth; and
# for each argument where it comes from and goes to.
REACH, COLUMNS, FREE, FREE_COUNT, LEFT_FIRST, LEFT_LAST, LEFT_COUNT, NEW_COUNT = range(1, 9)
SLIDE_NUMBERS = 9


@cached_jit
def arrive(block: int, m: int) -> int:
    """Note the times of m rows: number them in their keys, and let each key have its newest time.

    Rows without a slot are left out. Gives FINE; or OVERFLOW, where ticks are too many nanoseconds, or the first late
    row where these are not dropped, and then nothing has changed.
    """
    kind, unit, farthest = load_int64(block, 0), load_int64(block, 1), load_int64(block, 2)
    drops = load_int64(block, 3) != 0
    slots, ticks = load_int64(block, 5), load_int64(block, 6)
    times, numbers = load_int64(block, 7), load_int64(block, 8)
    newest, counts = load_int64(block, 9), load_int64(block, 10)
    before, late = load_int64(block, 11), load_int64(block, 12)
    lates = 0
    stopped, result = m, -1
    for i in range(m):
        slot = load_int64(slots, i)
        store_bool(late, i, False)
        if slot < 0:
            continue
        count = load_int64(counts, slot)
        if kind != 0:
            tick = load_int64(ticks, i)
            if kind == 1 and unit != 1:
                if tick > farthest or tick < -farthest:
                    stopped, result = i, -2
                    break
                tick *= unit
            store_int64(times, i, tick)
            old = load_int64(newest, slot)
            store_int64(before, i, old)
            if count > 0:
                is_late = load_float64(times, i) < load_float64(newest, slot) if kind == 2 else tick < old
                if is_late:
                    if not drops:
                        stopped, result = i, i
                        break
                    store_bool(late, i, True)
                    store_int64(slots, i, -1)
                    lates += 1
                    continue
            store_int64(newest, slot, tick)
        store_int64(numbers, i, count)
        store_int64(counts, slot, count + 1)
    store_int64(block, 4, lates)
    if stopped < m:
        for j in range(stopped):
            i = stopped - 1 - j
            slot = load_int64(slots, i)
            if slot >= 0:
                store_int64(counts, slot, load_int64(numbers, i))
                if kind != 0:
                    store_int64(newest, slot, load_int64(before, i))
    return result


@jit
def jump_depth(depth: int) -> int:
    """The depth that a chunk jumps to, see above."""
    weight = 1
    while 2 * weight + 1 <= depth:
        weight = 2 * weight + 1
    left = depth
    while True:
        while weight > left:
            weight >>= 1
        left -= weight
        if left <= 0:
            return depth - weight


@jit
def _link(depths: int, jumps: int, jump_depths: int, last: int, chunk: int, oldest: int) -> int:
    """Let a new chunk jump; `last` is the one before it, and `oldest` the depth of the first that its key has."""
    before = load_int64(depths, last)
    depth = jump_depth(before + 1)
    target = last
    if depth < before and load_int64(jump_depths, last) >= oldest:
        target = load_int64(jumps, load_int64(jumps, last))
    store_int64(depths, chunk, before + 1)
    store_int64(jump_depths, chunk, depth)
    store_int64(jumps, chunk, target)
    return depth


@cached_jit
def link_chunks(block: int, chunks: int, m: int) -> int:
    """Let the first m chunks of a key, of which there are no others, point to one another."""
    nexts, prevs = load_int64(block, 20), load_int64(block, 21)
    depths, jumps, jump_depths = load_int64(block, 24), load_int64(block, 25), load_int64(block, 26)
    last = load_int64(chunks, 0)
    store_int64(depths, last, 0)
    store_int64(jumps, last, last)
    store_int64(jump_depths, last, 0)
    for i in range(1, m):
        chunk = load_int64(chunks, i)
        store_int64(nexts, last, chunk)
        store_int64(prevs, chunk, last)
        _link(depths, jumps, jump_depths, last, chunk, 0)
        last = chunk
    return m


@cached_jit
def slide(block: int, m: int) -> int:
    """Let m rows into the windows of their keys, and those out that are too old then; gives how many left."""
    kind, reach, columns = load_int64(block, 0), load_int64(block, 1), load_int64(block, 2)
    free, free_count = load_int64(block, 3), load_int64(block, 4)
    slots, times, numbers = load_int64(block, 9), load_int64(block, 10), load_int64(block, 11)
    counted, cuts = load_int64(block, 12), load_int64(block, 13)
    at, gone, held = load_int64(block, 14), load_int64(block, 15), load_int64(block, 16)
    heads, before, new_chunks = load_int64(block, 17), load_int64(block, 18), load_int64(block, 19)
    nexts, prevs = load_int64(block, 20), load_int64(block, 21)
    frees, places = load_int64(block, 22), load_int64(block, 23)
    depths, jumps, jump_depths = load_int64(block, 24), load_int64(block, 25), load_int64(block, 26)
    if load_int64(block, 7) > 0:  # what left in the call before is free from now on
        store_int64(frees, load_int64(block, 6), free)
        free = load_int64(block, 5)
        free_count += load_int64(block, 7)
    left_first = left_last = -1
    left_count = new_count = total = 0
    for i in range(m):
        slot = load_int64(slots, i)
        if slot < 0:
            store_int64(at, i, -1)
            continue
        h = slot * 3
        first, stop, n = load_int64(heads, h), load_int64(heads, h + 1), load_int64(heads, h + 2)
        store_int64(before, i * 3, first)
        store_int64(before, i * 3 + 1, stop)
        store_int64(before, i * 3 + 2, n)
        counts = load_bool(counted, i)
        if kind == 4:
            if counts:
                n += 1
            store_int64(at, i, 0 if counts else -1)
            store_int64(gone, i, 0)
            store_int64(held, i, n)
            store_int64(heads, h + 2, n)
            continue
        place = load_int64(numbers, i) if kind == 3 else load_int64(times, i)
        if counts:
            store_int64(places, stop, place)
            for c in range(columns):
                store_int64(load_int64(block, 28 + 2 * c), stop, load_int64(load_int64(block, 27 + 2 * c), i))
            store_int64(at, i, stop)
            n += 1
            stop += 1
            if stop & 7 == 0:
                last = (stop - 1) >> 3
                chunk = free
                free = load_int64(frees, chunk)
                free_count -= 1
                store_int64(nexts, last, chunk)
                store_int64(prevs, chunk, last)
                _link(depths, jumps, jump_depths, last, chunk, load_int64(depths, first >> 3))
                store_int64(new_chunks, new_count, chunk)
                new_count += 1
                stop = chunk << 3
        else:
            store_int64(at, i, -1)
        k = 0
        if kind == 2:
            cut = load_float64(cuts, i)
            while n > 0 and load_float64(places, first) < cut:
                k += 1
                n -= 1
                first += 1
                if first & 7 == 0:
                    chunk = (first - 1) >> 3
                    first = load_int64(nexts, chunk) << 3
                    if left_count == 0:
                        left_first = chunk
                    else:
                        store_int64(frees, left_last, chunk)
                    left_last = chunk
                    left_count += 1
        elif place >= _LEAST + reach:
            oldest = place - reach
            while n > 0 and load_int64(places, first) < oldest:
                k += 1
                n -= 1
                first += 1
                if first & 7 == 0:
                    chunk = (first - 1) >> 3
                    first = load_int64(nexts, chunk) << 3
                    if left_count == 0:
                        left_first = chunk
                    else:
                        store_int64(frees, left_last, chunk)
                    left_last = chunk
                    left_count += 1
        total += k
        store_int64(gone, i, k)
        store_int64(held, i, n)
        store_int64(heads, h, first)
        store_int64(heads, h + 1, stop)
        store_int64(heads, h + 2, n)
    store_int64(block, 3, free)
    store_int64(block, 4, free_count)
    store_int64(block, 5, left_first)
    store_int64(block, 6, left_last)
    store_int64(block, 7, left_count)
    store_int64(block, 8, new_count)
    return total


@cached_jit
def walk(nexts: int, first: int, n: int, out: int) -> int:
    """Write the places in the arena of n rows, from the first on, and of what comes behind them."""
    for i in range(n):
        store_int64(out, i, first)
        first += 1
        if first & 7 == 0:
            first = load_int64(nexts, (first - 1) >> 3) << 3
    store_int64(out, n, first)
    return first


@cached_jit
def find_first(block: int, slot: int, cut: int, fraction: float) -> int:
    """Where the first row of a slot's window lies that is not before a place, or what comes behind them all. Steps:
    O(log n)."""
    kind, heads, prevs = load_int64(block, 0), load_int64(block, 17), load_int64(block, 21)
    places, depths = load_int64(block, 23), load_int64(block, 24)
    jumps, jump_depths = load_int64(block, 25), load_int64(block, 26)
    first, stop, n = load_int64(heads, slot * 3), load_int64(heads, slot * 3 + 1), load_int64(heads, slot * 3 + 2)
    if n == 0:
        row: int = first
        return row
    row = stop - 1 if stop & 7 else (load_int64(prevs, stop >> 3) << 3) + 7
    if load_float64(places, row) < fraction if kind == 2 else load_int64(places, row) < cut:
        row = stop
        return row
    chunk, oldest = row >> 3, load_int64(depths, first >> 3)
    while load_int64(depths, chunk) > oldest:
        if load_int64(jump_depths, chunk) >= oldest:
            older = load_int64(jumps, chunk)
            row = (older << 3) + 7
            if not (load_float64(places, row) < fraction if kind == 2 else load_int64(places, row) < cut):
                chunk = older
                continue
        older = load_int64(prevs, chunk)
        row = (older << 3) + 7
        if load_float64(places, row) < fraction if kind == 2 else load_int64(places, row) < cut:
            break
        chunk = older
    row = first if chunk == first >> 3 else chunk << 3
    while load_float64(places, row) < fraction if kind == 2 else load_int64(places, row) < cut:
        row += 1
    return row


@cached_jit
def take_chunks(block: int, m: int, out: int) -> int:
    """Take m chunks that are free."""
    free, frees = load_int64(block, 3), load_int64(block, 22)
    for i in range(m):
        store_int64(out, i, free)
        free = load_int64(frees, free)
    store_int64(block, 3, free)
    store_int64(block, 4, load_int64(block, 4) - m)
    return m


@cached_jit
def give_chunks(block: int, slot: int) -> int:
    """Free the chunks of a slot that is given up."""
    free, heads, frees = load_int64(block, 3), load_int64(block, 17), load_int64(block, 22)
    nexts = load_int64(block, 20)
    chunk, last = load_int64(heads, slot * 3) >> 3, load_int64(heads, slot * 3 + 1) >> 3
    count = 0
    while True:
        store_int64(frees, chunk, free)
        free = chunk
        count += 1
        if chunk == last:
            break
        chunk = load_int64(nexts, chunk)
    store_int64(block, 3, free)
    store_int64(block, 4, load_int64(block, 4) + count)
    return count


@cached_jit
def free_chunks(block: int, first: int, stop: int) -> int:
    """Free the chunks from a number up to another, which are new."""
    free, frees = load_int64(block, 3), load_int64(block, 22)
    for chunk in range(first, stop):
        store_int64(frees, chunk, free)
        free = chunk
    store_int64(block, 3, free)
    store_int64(block, 4, load_int64(block, 4) + stop - first)
    return stop


@jit
def _hashed(key: int, bits: int) -> int:
    """A place of a key among 2^bits."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(mixed >> np.uint64(64 - bits))  # type: ignore[return-value]


@cached_jit
def enter_keys(table: int, bits: int, keys: int, slots: int, m: int) -> int:
    """Enter m whole keys and their slots into a hash table of 2^bits pairs, more than half of which stay empty."""
    mask = (1 << bits) - 1
    for i in range(m):
        key = load_int64(keys, i)
        at = _hashed(key, bits)
        while load_int64(table, 2 * at + 1) >= 0 and load_int64(table, 2 * at) != key:
            at = (at + 1) & mask
        store_int64(table, 2 * at, key)
        store_int64(table, 2 * at + 1, load_int64(slots, i))
    return m


@cached_jit
def find_keys(table: int, bits: int, keys: int, slots: int, m: int) -> int:
    """Write the slots of m keys, -1 where one is not in the table; how many these are."""
    mask = (1 << bits) - 1
    missing = 0
    for i in range(m):
        key = load_int64(keys, i)
        at = _hashed(key, bits)
        while load_int64(table, 2 * at + 1) >= 0 and load_int64(table, 2 * at) != key:
            at = (at + 1) & mask
        slot = load_int64(table, 2 * at + 1)
        store_int64(slots, i, slot)
        if slot < 0:
            missing += 1
    return missing
