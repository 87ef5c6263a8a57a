"""Rows of many keys that late ones may be put among: passes over retained rows, in the order of their places.

Each key has a home: a stretch of the arena with its rows, sorted by time, then by the columns that order rows of equal
time, then by arrival. A stretch that is full loses the rows that nothing needs any more, or moves to one twice as long.
A row is `words` numbers of 64 bits: its time, the number of its arrival, for which readers it counts, which of its
answers are there, the kinds of its values, its inputs and its answers.

A call takes rows in with `place`, and then finds with `plan` which answers they change. Where the new rows of a key
come behind all others, its windows just go on. Else rows are run anew, from the first that the windows of changed rows
hold, in windows of their own: up to the key's newest row, and then these windows take the place of the key's; or up to
the last row that is changed, and then they are given up. `read_rows` writes the rows that run, `compare` finds which
answers differ, and `keep` writes them. Until then `take_back` ends it all.
"""

from __future__ import annotations

from slidewise.kernels.compiler.jit import cached_jit, jit
from slidewise.kernels.keyed.memory import load_bool, load_float64, load_int64, store_bool, store_float64, store_int64

TIME, NUMBER, COUNTED, VALID, KINDS, INPUTS = 0, 1, 2, 3, 4, 5  # words of a row; answers stand behind its inputs
NULL, VALUE, NAN = 0, 1, 2  # kinds of values, in their order

# Words of a home: where its stretch begins, how long it is, the time below which nothing can be revised, the first row
# that can be, the number of rows, the newest time, how many rows there have been, the slot of its windows (-1 for none),
# the first row that is new in this call (-1 for none), how many are, the number of the next row in its windows, and the
# size of the stretch as a power of two.
START, ROOM, HORIZON, REVISABLE, ROWS, NOW, COUNT, SLOT, FIRST_NEW, NEWS, NEXT, POWER = range(12)
HOME = 12

# Numbers of the block.
(
    WORDS, N_INPUTS, N_ANSWERS, KIND, RETAINS, LATE_REACH, PRUNE_REACH, REACH, TIMED, NUMBERED_REACH, N_ORDER, N_READERS,
    N_SPECS, FIRST, TAIL, ARENA, N_TOUCHED, N_PRUNED, PRUNED_ROOM, N_PIECES, N_ROWS, N_EXTRAS, N_FRESH, N_CHANGED,
) = range(24)  # fmt: skip
NUMBERS = 24

# Fields behind the numbers.
(
    STAGED, HOMES, LATE, HEADS, ROW_ARENA, TOUCHED, PRUNED, FREE, ORDER, PIECES, ENTRY, FRESH, ROW_AT, ANSWERS, ANSWERED,
    CHANGED, SPECS, MEMBERS, LASTS, ADDRESSES,
) = range(24, 44)  # fmt: skip

# Words of a piece of rows that run: its home, the first row, the first one that is answered, the end, the slot, how it
# runs, the number of the next row in its windows, and how many rows before it are of the time of its first new one.
HOME_OF, RUNS_FROM, ANSWERED_FROM, END, SLOT_OF, HOW, NEXT_OF, PEERS = range(8)
PIECE = 8
GOES_ON, APART, REPLACES = 0, 1, 2  # how a piece runs
# Words of a spec: whether places are numbers, how far its window reaches, its reader, and the cuts of rows; of a member:
# its spec, where its answers lie, which are there, how many rows it needs, how many are held, whether it gives floats.
SPEC, MEMBER = 4, 6
_LEAST = -(2**63)


@jit
def _time_before(kind: int, a: int, b: int) -> bool:
    """Whether the time at an address lies before that at another."""
    if kind == 2:
        return load_float64(a, 0) < load_float64(b, 0)  # type: ignore[no-any-return]
    return load_int64(a, 0) < load_int64(b, 0)  # type: ignore[no-any-return]


@jit
def _comes_before(block: int, a: int, b: int) -> bool:
    """Whether a new row at an address has its place before another row."""
    kind = load_int64(block, KIND)
    if _time_before(kind, a, b):
        return True
    columns = load_int64(block, N_ORDER)
    if columns == 0 or _time_before(kind, b, a):
        return False
    order = load_int64(block, ORDER)
    for c in range(columns):
        mine, others = (load_int64(a, KINDS) >> (2 * c)) & 3, (load_int64(b, KINDS) >> (2 * c)) & 3
        if mine != others:
            return mine < others  # type: ignore[no-any-return]
        if mine != VALUE:
            continue
        word = load_int64(order, 2 * c)
        if load_int64(order, 2 * c + 1) != 0:
            x, y = load_float64(a, word), load_float64(b, word)
            if x != y:
                return x < y  # type: ignore[no-any-return]
        else:
            i, j = load_int64(a, word), load_int64(b, word)
            if i != j:
                return i < j  # type: ignore[no-any-return]
    return False


@jit
def _first_from(kind: int, rows: int, width: int, stop: int, time: int) -> int:
    """The first of some rows whose time is not below that at an address."""
    low, high = 0, stop
    while low < high:
        middle = (low + high) >> 1
        if _time_before(kind, rows + middle * width, time):
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
    if at < _LEAST + length:
        return False
    store_int64(out, 0, at - length)
    return True


@jit
def _first_needed(block: int, head: int, scratch: int, row: int, time: int) -> int:
    """The first row that the windows of a row at a time hold, or of any row behind it."""
    kind, width = load_int64(block, KIND), load_int64(block, WORDS) * 8
    rows = load_int64(block, ROW_ARENA) + load_int64(head, START) * width
    first = row
    if load_int64(block, TIMED) != 0:
        if not _minus(block, kind, time, REACH, scratch):
            return 0
        first = _first_from(kind, rows, width, row, scratch)
    reach = load_int64(block, NUMBERED_REACH)
    return max(0, min(first, row - reach)) if reach >= 0 else first


@jit
def _make_room(block: int, head: int, scratch: int) -> bool:
    """Have room for one more row in a stretch that is full; False where the arena has none."""
    words = load_int64(block, WORDS)
    arena = load_int64(block, ROW_ARENA)
    start, room, n = load_int64(head, START), load_int64(head, ROOM), load_int64(head, ROWS)
    first = 0
    if load_int64(block, RETAINS) != 0 and load_int64(head, REVISABLE) > 0:
        first = _first_needed(block, head, scratch, load_int64(head, REVISABLE), head + 8 * HORIZON)
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
    while at < n and count < room and _time_before(kind, rows + at * words * 8, scratch):
        store_int64(pruned, count, load_int64(rows, at * words + NUMBER))
        count += 1
        at += 1
    horizon = scratch
    if at < n and _time_before(kind, rows + at * words * 8, scratch):
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
        if retains and had > 0 and _minus(block, kind, head + 8 * NOW, LATE_REACH, scratch) and _time_before(kind, row, scratch):
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
        if had == 0 or _time_before(kind, head + 8 * NOW, row):
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
    return load_int64(block, N_TOUCHED)  # type: ignore[no-any-return]


@jit
def _reaches(block: int, kind: int, time: int, new: int) -> bool:
    """Whether the longest window of time of a row at one address may hold a new row at another, that is no newer."""
    if load_int64(block, TIMED) == 0:
        return False
    if kind == 2:
        return load_float64(time, 0) - load_float64(block, REACH) <= load_float64(new, 0)  # type: ignore[no-any-return]
    at, reach = load_int64(time, 0), load_int64(block, REACH)
    return at < _LEAST + reach or at - reach <= load_int64(new, 0)  # type: ignore[no-any-return]


@cached_jit
def plan(block: int) -> int:
    """Find which rows are to run so that all answers which the new rows change are found; gives how many.

    A row is answered if it is new, if its windows hold a new one, or if it has the time of a new one.
    """
    words, kind, timed, reach = load_int64(block, WORDS), load_int64(block, KIND), load_int64(block, TIMED), load_int64(block, NUMBERED_REACH)
    width, first_number = words * 8, load_int64(block, FIRST)
    heads, touched, pieces = load_int64(block, HEADS), load_int64(block, TOUCHED), load_int64(block, PIECES)
    scratch = load_int64(block, LASTS)
    total = extras = count = fresh = 0
    for t in range(load_int64(block, N_TOUCHED)):
        home = load_int64(touched, 3 * t)
        head = heads + home * 8 * HOME
        rows, n = load_int64(block, ROW_ARENA) + load_int64(head, START) * width, load_int64(head, ROWS)
        left = load_int64(head, NEWS)  # new rows that are still to come
        begun = count
        i = load_int64(head, FIRST_NEW)
        while left > 0:
            while load_int64(rows, i * words + NUMBER) < first_number:
                i += 1
            start = i
            while start > 0 and timed != 0 and not _time_before(kind, rows + (start - 1) * width, rows + i * width):
                start -= 1
            joins = count > begun and start < load_int64(pieces, PIECE * (count - 1) + END)
            if left == n - i and not joins and load_int64(head, SLOT) >= 0:  # all rows from here on are new
                p = pieces + 8 * PIECE * count
                count += 1
                store_int64(p, HOME_OF, home)
                store_int64(p, RUNS_FROM, i)
                store_int64(p, ANSWERED_FROM, i)
                store_int64(p, END, n)
                store_int64(p, HOW, GOES_ON)
                store_int64(p, PEERS, i - start)
                total += n - i
                extras += i - start
                break
            newest = i
            end = i
            while end < n:
                if load_int64(rows, end * words + NUMBER) >= first_number:
                    newest = end
                    left -= 1
                elif not (
                    _reaches(block, kind, rows + end * width, rows + newest * width) or (end - newest <= reach)
                ):
                    break
                end += 1
            if joins:
                p = pieces + 8 * PIECE * (count - 1)
                total -= load_int64(p, END) - load_int64(p, RUNS_FROM)
            else:
                p = pieces + 8 * PIECE * count
                count += 1
                fresh += 1
                store_int64(p, HOME_OF, home)
                store_int64(p, RUNS_FROM, _first_needed(block, head, scratch, start, rows + start * width))
                store_int64(p, ANSWERED_FROM, start)
                store_int64(p, PEERS, 0)
            store_int64(p, END, end)
            store_int64(p, HOW, REPLACES if end == n else APART)
            total += end - load_int64(p, RUNS_FROM)
            i = end
    store_int64(block, N_PIECES, count)
    store_int64(block, N_ROWS, total)
    store_int64(block, N_EXTRAS, extras)
    store_int64(block, N_FRESH, fresh)
    return total  # type: ignore[no-any-return]


@cached_jit
def read_rows(block: int) -> int:
    """Write the rows that run, by pieces, into the fields of the windows' store, and where each came from."""
    words, inputs, readers = load_int64(block, WORDS), load_int64(block, N_INPUTS), load_int64(block, N_READERS)
    width, first_number = words * 8, load_int64(block, FIRST)
    heads, pieces, entries, fresh = (
        load_int64(block, HEADS), load_int64(block, PIECES), load_int64(block, ENTRY), load_int64(block, FRESH),
    )  # fmt: skip
    row_at, addresses = load_int64(block, ROW_AT), load_int64(block, ADDRESSES)
    slots, times, numbers = load_int64(addresses, 0), load_int64(addresses, 1), load_int64(addresses, 2)
    r = taken = 0
    extra = load_int64(block, N_ROWS)
    for k in range(load_int64(block, N_PIECES)):
        p = pieces + 8 * PIECE * k
        head = heads + load_int64(p, HOME_OF) * 8 * HOME
        start = load_int64(head, START)
        rows = load_int64(block, ROW_ARENA) + start * width
        slot, number = load_int64(head, SLOT), load_int64(head, NEXT)
        if load_int64(p, HOW) != GOES_ON:
            slot, number = load_int64(fresh, taken), 0
            taken += 1
        store_int64(p, SLOT_OF, slot)
        answered = load_int64(p, ANSWERED_FROM)
        for j in range(load_int64(p, PEERS)):
            store_int64(row_at, extra, start + answered - load_int64(p, PEERS) + j)
            extra += 1
        for i in range(load_int64(p, RUNS_FROM), load_int64(p, END)):
            row = rows + i * width
            store_int64(slots, r, slot)
            store_int64(times, r, load_int64(row, TIME))
            store_int64(numbers, r, number)
            number += 1
            counted = load_int64(row, COUNTED)
            for c in range(inputs):
                store_int64(load_int64(addresses, 3 + c), r, load_int64(row, INPUTS + c))
            for c in range(readers):
                store_bool(load_int64(addresses, 3 + inputs + c), r, (counted >> c) & 1 != 0)
            store_int64(row_at, r, start + i if i >= answered else -1)
            arrival = load_int64(row, NUMBER)
            if arrival >= first_number and i >= answered:
                store_int64(entries, arrival - first_number, r)
            r += 1
        store_int64(p, NEXT_OF, number)
    return r


@jit
def _collect(block: int, m: int) -> None:
    """Bring the answers of the rows that ran together, a row's answers beside one another."""
    n = load_int64(block, N_ANSWERS)
    members, answers, answered = load_int64(block, MEMBERS), load_int64(block, ANSWERS), load_int64(block, ANSWERED)
    for r in range(m):
        store_int64(answered, r, 0)
    for c in range(n):
        member = members + c * 8 * MEMBER
        outputs, valid = load_int64(member, 1), load_int64(member, 2)
        least, held = load_int64(member, 3), load_int64(member, 4)
        for r in range(m):
            if valid == 0:
                there = load_int64(held, r) >= least
                store_int64(answers, r * n + c, load_int64(held, r))
            else:
                there = load_bool(valid, r)
                store_int64(answers, r * n + c, load_int64(outputs, r))
            if there:
                store_int64(answered, r, load_int64(answered, r) | (1 << c))


@jit
def _take_answer(block: int, c: int, r: int, answers: int, bits: int) -> None:
    """Let row r have answer c of others, whose bits say which are there."""
    n = load_int64(block, N_ANSWERS)
    store_int64(load_int64(block, ANSWERS), r * n + c, load_int64(answers, c))
    answered = load_int64(block, ANSWERED)
    store_int64(answered, r, (load_int64(answered, r) & ~(1 << c)) | (bits & (1 << c)))


@jit
def _differs(block: int, r: int, row: int) -> bool:
    """Whether row r has other answers than a row of the arena; NaN equals itself."""
    n, inputs = load_int64(block, N_ANSWERS), load_int64(block, N_INPUTS)
    members, answers = load_int64(block, MEMBERS), load_int64(block, ANSWERS) + r * n * 8
    if load_int64(load_int64(block, ANSWERED), r) != load_int64(row, VALID):
        return True
    valid = load_int64(row, VALID)
    for c in range(n):
        if (valid >> c) & 1 == 0:
            continue
        if load_int64(members, c * MEMBER + 5) != 0:
            x, y = load_float64(answers, c), load_float64(row, INPUTS + inputs + c)
            if x != y and (x == x or y == y):
                return True
        elif load_int64(answers, c) != load_int64(row, INPUTS + inputs + c):
            return True
    return False


@jit
def _holds(block: int, kind: int, spec: int, r: int, time: int, new: int) -> bool:
    """Whether the window of time of row r holds a new row at an address, that is no newer."""
    if kind == 2:
        return load_float64(load_int64(spec, 3), r) <= load_float64(new, 0)  # type: ignore[no-any-return]
    at, reach = load_int64(time, 0), load_int64(spec, 1)
    return at < _LEAST + reach or at - reach <= load_int64(new, 0)  # type: ignore[no-any-return]


@jit
def _keep_unchanged(block: int, of_spec: int, r: int, row: int) -> None:
    """Let row r have the answers of a spec that it has had."""
    n, inputs, members = load_int64(block, N_ANSWERS), load_int64(block, N_INPUTS), load_int64(block, MEMBERS)
    for c in range(n):
        if load_int64(members, c * MEMBER) == of_spec:
            _take_answer(block, c, r, row + (INPUTS + inputs) * 8, load_int64(row, VALID))


@cached_jit
def compare(block: int) -> int:
    """Find the answers of all rows that ran, and which rows' have changed; gives how many have.

    Rows of equal time have the same answers over windows of time. An answer is taken over only where its own window
    holds a new row that counts: what nothing has changed stays as it is, to the last bit.
    """
    words, n, kind = load_int64(block, WORDS), load_int64(block, N_ANSWERS), load_int64(block, KIND)
    first_number, m, n_specs = load_int64(block, FIRST), load_int64(block, N_ROWS), load_int64(block, N_SPECS)
    width = words * 8
    arena, pieces, row_at = load_int64(block, ROW_ARENA), load_int64(block, PIECES), load_int64(block, ROW_AT)
    answers, answered, changed = load_int64(block, ANSWERS), load_int64(block, ANSWERED), load_int64(block, CHANGED)
    specs, members, lasts, heads = (
        load_int64(block, SPECS), load_int64(block, MEMBERS), load_int64(block, LASTS) + 64, load_int64(block, HEADS),
    )  # fmt: skip
    _collect(block, m)
    count = r0 = 0
    extra = m
    for k in range(load_int64(block, N_PIECES)):
        p = pieces + 8 * PIECE * k
        r1 = r0 + load_int64(p, END) - load_int64(p, RUNS_FROM)
        head = heads + load_int64(p, HOME_OF) * 8 * HOME
        rows = arena + load_int64(head, START) * width
        base = load_int64(p, RUNS_FROM) - r0  # a run row's index less its number
        revisable = load_int64(head, REVISABLE)
        begin = r0 + load_int64(p, ANSWERED_FROM) - load_int64(p, RUNS_FROM)
        for j in range(r1 - begin - 1):  # the last of rows of equal time has the answers of all
            r = r1 - 2 - j
            if not _time_before(kind, rows + (base + r) * width, rows + (base + r + 1) * width):
                for c in range(n):
                    if load_int64(specs, load_int64(members, c * MEMBER) * SPEC) == 0:
                        _take_answer(block, c, r, answers + (r + 1) * n * 8, load_int64(answered, r + 1))
        for s in range(n_specs):
            store_int64(lasts, s, -1)
        g0 = begin
        while g0 < r1:
            g1 = g0 + 1
            time = rows + (base + g0) * width
            while g1 < r1 and not _time_before(kind, time, rows + (base + g1) * width):
                g1 += 1
            for r in range(g0, g1):  # of windows of time the last new row that counts
                row = rows + (base + r) * width
                if load_int64(row, NUMBER) >= first_number:
                    for s in range(n_specs):
                        if load_int64(specs, s * SPEC) == 0 and (load_int64(row, COUNTED) >> load_int64(specs, s * SPEC + 2)) & 1:
                            store_int64(lasts, s, r)
            if g0 == begin and load_int64(p, PEERS) > 0:  # rows of the same time that were there
                for j in range(load_int64(p, PEERS)):
                    row = arena + load_int64(row_at, extra) * width
                    at = load_int64(p, ANSWERED_FROM) - load_int64(p, PEERS) + j
                    store_int64(answered, extra, load_int64(answered, g0))
                    for c in range(n):
                        store_int64(answers, extra * n + c, load_int64(answers, g0 * n + c))
                    for s in range(n_specs):
                        if load_int64(specs, s * SPEC) != 0 or load_int64(lasts, s) < 0:
                            _keep_unchanged(block, s, extra, row)
                    if at >= revisable and _differs(block, extra, row):
                        store_int64(changed, 2 * count, extra)
                        store_int64(changed, 2 * count + 1, load_int64(p, HOME_OF))
                        count += 1
                    else:
                        store_int64(row_at, extra, -1)
                    extra += 1
            for r in range(g0, g1):
                row = rows + (base + r) * width
                new = load_int64(row, NUMBER) >= first_number
                for s in range(n_specs):
                    spec = specs + s * 8 * SPEC
                    last = load_int64(lasts, s)
                    if load_int64(spec, 0) != 0:
                        if new:
                            store_int64(lasts, s, r)
                            last = r
                        if last >= 0 and r - last <= load_int64(spec, 1):
                            continue
                    elif last >= 0 and _holds(block, kind, spec, r, row, rows + (base + last) * width):
                        continue
                    if not new:
                        _keep_unchanged(block, s, r, row)
                if new:
                    continue
                if base + r >= revisable and _differs(block, r, row):
                    store_int64(changed, 2 * count, r)
                    store_int64(changed, 2 * count + 1, load_int64(p, HOME_OF))
                    count += 1
                else:
                    store_int64(row_at, r, -1)
            g0 = g1
        r0 = r1
    store_int64(block, N_CHANGED, count)
    return count


@cached_jit
def keep(block: int) -> int:
    """Let rows have their answers, and homes their windows; what a call has done stays."""
    words, n, inputs = load_int64(block, WORDS), load_int64(block, N_ANSWERS), load_int64(block, N_INPUTS)
    arena, pieces, row_at = load_int64(block, ROW_ARENA), load_int64(block, PIECES), load_int64(block, ROW_AT)
    answers, answered = load_int64(block, ANSWERS), load_int64(block, ANSWERED)
    heads, touched = load_int64(block, HEADS), load_int64(block, TOUCHED)
    for r in range(load_int64(block, N_ROWS) + load_int64(block, N_EXTRAS)):
        at = load_int64(row_at, r)
        if at >= 0:
            store_int64(arena, at * words + VALID, load_int64(answered, r))
            for c in range(n):
                store_int64(arena, at * words + INPUTS + inputs + c, load_int64(answers, r * n + c))
    released = 0
    for k in range(load_int64(block, N_PIECES)):
        p = pieces + 8 * PIECE * k
        head = heads + load_int64(p, HOME_OF) * 8 * HOME
        how = load_int64(p, HOW)
        gives_up = load_int64(p, SLOT_OF) if how == APART else -1
        if how != APART:
            if how == REPLACES:
                gives_up = load_int64(head, SLOT)
            store_int64(head, SLOT, load_int64(p, SLOT_OF))
            store_int64(head, NEXT, load_int64(p, NEXT_OF))
        if gives_up >= 0:
            store_int64(load_int64(block, FRESH), released, gives_up)
            released += 1
    for t in range(load_int64(block, N_TOUCHED)):
        head = heads + load_int64(touched, 3 * t) * 8 * HOME
        store_int64(head, FIRST_NEW, -1)
        store_int64(head, NEWS, 0)
    return released
