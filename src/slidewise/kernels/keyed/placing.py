"""Rows of many keys put in their places, among rows of the same key that came before them.

A stretch that is full loses the rows that nothing needs any more, or moves to one twice as long.
"""

from __future__ import annotations

from slidewise.kernels.compiler.jit import cached_jit, jit
from slidewise.kernels.keyed.history_layout import (
    ARENA,
    COUNT,
    FIRST,
    FIRST_NEW,
    FREE,
    HEADS,
    HOME,
    HOMES,
    HORIZON,
    KIND,
    KINDS,
    LASTS,
    LATE,
    LATE_REACH,
    LEAST,
    N_ORDER,
    N_PRUNED,
    N_TOUCHED,
    NEWS,
    NOW,
    NUMBER,
    NUMBERED_REACH,
    ORDER,
    POWER,
    PRUNE_REACH,
    PRUNED,
    PRUNED_ROOM,
    REACH,
    RETAINS,
    REVISABLE,
    ROOM,
    ROW_ARENA,
    ROWS,
    STAGED,
    START,
    TAIL,
    TIME,
    TIMED,
    TOUCHED,
    VALUE,
    WORDS,
)
from slidewise.kernels.keyed.memory import load_float64, load_int64, store_bool, store_float64, store_int64


@jit
def time_before(kind: int, a: int, b: int) -> bool:
    """Whether the time at an address lies before that at another."""
    if kind == 2:
        return load_float64(a, 0) < load_float64(b, 0)
    return load_int64(a, 0) < load_int64(b, 0)


@jit
def _comes_before(block: int, a: int, b: int) -> bool:
    """Whether a new row at an address has its place before another row."""
    kind = load_int64(block, KIND)
    if time_before(kind, a, b):
        return True
    columns = load_int64(block, N_ORDER)
    if columns == 0 or time_before(kind, b, a):
        return False
    order = load_int64(block, ORDER)
    for c in range(columns):
        mine, others = (load_int64(a, KINDS) >> (2 * c)) & 3, (load_int64(b, KINDS) >> (2 * c)) & 3
        if mine != others:
            return mine < others
        if mine != VALUE:
            continue
        word = load_int64(order, 2 * c)
        if load_int64(order, 2 * c + 1) != 0:
            x, y = load_float64(a, word), load_float64(b, word)
            if x != y:
                return x < y
        else:
            i, j = load_int64(a, word), load_int64(b, word)
            if i != j:
                return i < j
    return False


@jit
def _first_from(kind: int, rows: int, width: int, stop: int, time: int) -> int:
    """The first of some rows whose time is not below that at an address."""
    low, high = 0, stop
    while low < high:
        middle = (low + high) >> 1
        if time_before(kind, rows + middle * width, time):
            low = middle + 1
        else:
            high = middle
    return low


@jit
def _minus(block: int, kind: int, time: int, number: int, out: int) -> bool:
    """Write the time at an address less a length, a number of the block; False where no number is so small."""
    if kind == 2:
        store_float64(out, 0, load_float64(time, 0) - load_float64(block, number))
        return True
    length, at = load_int64(block, number), load_int64(time, 0)
    if at < LEAST + length:
        return False
    store_int64(out, 0, at - length)
    return True


@jit
def first_needed(block: int, head: int, scratch: int, row: int, time: int) -> int:
    """The first row that windows as of a time hold, at or before a row, or of any time behind it."""
    kind, width = load_int64(block, KIND), load_int64(block, WORDS) * 8
    rows = load_int64(block, ROW_ARENA) + load_int64(head, START) * width
    first = row
    if load_int64(block, TIMED) != 0:
        if not _minus(block, kind, time, REACH, scratch):
            return 0
        first = _first_from(kind, rows, width, row, scratch)
    reach = load_int64(block, NUMBERED_REACH)
    return max(0, min(first, row - reach - 1)) if reach >= 0 else first


@jit
def _make_room(block: int, head: int, scratch: int) -> bool:
    """Have room for one more row in a stretch that is full; False where the arena has none."""
    words = load_int64(block, WORDS)
    arena = load_int64(block, ROW_ARENA)
    start, room, n = load_int64(head, START), load_int64(head, ROOM), load_int64(head, ROWS)
    first = 0
    if load_int64(block, RETAINS) != 0 and load_int64(head, REVISABLE) > 0:
        first = first_needed(block, head, scratch, load_int64(head, REVISABLE), head + 8 * HORIZON)
    target = start
    if room == 0 or 4 * (n - first) > 3 * room:
        power = load_int64(head, POWER) + 1
        more = 4 << power
        tail, free = load_int64(block, TAIL), load_int64(block, FREE)
        target = load_int64(free, power)
        if room > 0 and start + room == tail:
            if start + more > load_int64(block, ARENA):
                return False
            target = start
            store_int64(block, TAIL, start + more)
        elif target >= 0:
            store_int64(free, power, load_int64(arena, target * words))
        else:
            if tail + more > load_int64(block, ARENA):
                return False
            target = tail
            store_int64(block, TAIL, tail + more)
        store_int64(head, START, target)
        store_int64(head, ROOM, more)
        store_int64(head, POWER, power)
    if target != start or first > 0:
        source, out = (start + first) * words, target * words
        for i in range((n - first) * words):
            store_int64(arena, out + i, load_int64(arena, source + i))
    if target != start and room > 0:
        free, power = load_int64(block, FREE), load_int64(head, POWER) - 1
        store_int64(arena, start * words, load_int64(free, power))
        store_int64(free, power, start)
    if first > 0:
        store_int64(head, REVISABLE, load_int64(head, REVISABLE) - first)
        store_int64(head, ROWS, n - first)
        if load_int64(head, FIRST_NEW) >= 0:
            store_int64(head, FIRST_NEW, load_int64(head, FIRST_NEW) - first)
    return True


@jit
def _prune(block: int, head: int, scratch: int) -> None:
    """Find the first row of a home that can be revised, and note the numbers of those that cannot any more."""
    if load_int64(block, RETAINS) == 0 or load_int64(head, COUNT) == 0:
        return
    kind, words = load_int64(block, KIND), load_int64(block, WORDS)
    if not _minus(block, kind, head + 8 * NOW, PRUNE_REACH, scratch):
        return
    rows = load_int64(block, ROW_ARENA) + load_int64(head, START) * words * 8
    pruned, count, room = load_int64(block, PRUNED), load_int64(block, N_PRUNED), load_int64(block, PRUNED_ROOM)
    at, n = load_int64(head, REVISABLE), load_int64(head, ROWS)
    while at < n and count < room and time_before(kind, rows + at * words * 8, scratch):
        store_int64(pruned, count, load_int64(rows, at * words + NUMBER))
        count += 1
        at += 1
    horizon = scratch
    if at < n and time_before(kind, rows + at * words * 8, scratch):
        horizon = rows + at * words * 8
    store_int64(head, HORIZON, load_int64(horizon, 0))
    store_int64(head, REVISABLE, at)
    store_int64(block, N_PRUNED, count)


@cached_jit
def place(block: int, begin: int, m: int) -> int:
    """Put rows, from one of a batch up to another, in their places, but for those that come too late. Gives how many of
    the batch are done: fewer than m where the arena must grow first.

    Operators are not called. Moves: the rows behind each new one, and where a stretch is full all of its rows.
    """
    words, kind = load_int64(block, WORDS), load_int64(block, KIND)
    staged, homes, late, heads = (
        load_int64(block, STAGED), load_int64(block, HOMES), load_int64(block, LATE), load_int64(block, HEADS),
    )  # fmt: skip
    touched, scratch = load_int64(block, TOUCHED), load_int64(block, LASTS)
    retains, count = load_int64(block, RETAINS) != 0, load_int64(block, N_TOUCHED)
    width = words * 8
    for i in range(begin, m):
        head = heads + load_int64(homes, i) * 8 * HOME
        row = staged + i * width
        store_bool(late, i, False)
        had = load_int64(head, COUNT)
        if (
            retains
            and had > 0
            and _minus(block, kind, head + 8 * NOW, LATE_REACH, scratch)
            and time_before(kind, row, scratch)
        ):
            store_bool(late, i, True)
            continue
        if load_int64(head, FIRST_NEW) < 0 and load_int64(head, NEWS) == 0:
            _prune(block, head, scratch)
        if load_int64(head, ROWS) == load_int64(head, ROOM) and not _make_room(block, head, scratch):
            store_int64(block, N_TOUCHED, count)
            return i
        rows, n = load_int64(block, ROW_ARENA) + load_int64(head, START) * width, load_int64(head, ROWS)
        p = n
        while p > 0 and _comes_before(block, row, rows + (p - 1) * width):
            p -= 1
        for j in range((n - p) * words):
            store_int64(rows, (n + 1) * words - 1 - j, load_int64(rows, n * words - 1 - j))
        for j in range(words):
            store_int64(rows, p * words + j, load_int64(row, j))
        if load_int64(head, NEWS) == 0:
            store_int64(touched, 3 * count, load_int64(homes, i))
            store_int64(touched, 3 * count + 1, load_int64(head, NOW))
            store_int64(touched, 3 * count + 2, had)
            count += 1
            store_int64(head, FIRST_NEW, p)
        else:
            store_int64(head, FIRST_NEW, min(p, load_int64(head, FIRST_NEW)))
        store_int64(head, NEWS, load_int64(head, NEWS) + 1)
        store_int64(head, ROWS, n + 1)
        store_int64(head, COUNT, had + 1)
        if had == 0 or time_before(kind, head + 8 * NOW, row):
            store_int64(head, NOW, load_int64(row, TIME))
    store_int64(block, N_TOUCHED, count)
    return m


@cached_jit
def take_back(block: int) -> int:
    """Take the new rows of a call out again; gives how many homes had some."""
    words, first = load_int64(block, WORDS), load_int64(block, FIRST)
    heads, touched = load_int64(block, HEADS), load_int64(block, TOUCHED)
    for t in range(load_int64(block, N_TOUCHED)):
        head = heads + load_int64(touched, 3 * t) * 8 * HOME
        rows = load_int64(block, ROW_ARENA) + load_int64(head, START) * words * 8
        to = load_int64(head, FIRST_NEW)
        for i in range(to, load_int64(head, ROWS)):
            if load_int64(rows, i * words + 1) >= first:
                continue
            for j in range(words):
                store_int64(rows, to * words + j, load_int64(rows, i * words + j))
            to += 1
        store_int64(head, ROWS, to)
        store_int64(head, NOW, load_int64(touched, 3 * t + 1))
        store_int64(head, COUNT, load_int64(touched, 3 * t + 2))
        store_int64(head, FIRST_NEW, -1)
        store_int64(head, NEWS, 0)
    return load_int64(block, N_TOUCHED)
