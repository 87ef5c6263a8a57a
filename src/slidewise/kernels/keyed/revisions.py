"""Which answers new rows change, and what they are then.

Where the new rows of a key come behind all others, its windows just go on. Else rows are run anew, from the first that
the windows of changed rows hold, in windows of their own: up to the key's newest row, and then these windows take the
place of the key's; or up to the last row that is changed, and then they are given up. `plan` finds these pieces of
rows, `read_rows` writes them where the windows' passes read them, `compare` finds which answers differ then, and `keep`
writes them. Until then `placing.take_back` ends it all.
"""

from __future__ import annotations

from slidewise.kernels.compiler.jit import cached_jit, jit
from slidewise.kernels.keyed.history_layout import (
    ADDRESSES,
    ANSWERED,
    ANSWERED_FROM,
    ANSWERS,
    APART,
    CHANGED,
    COUNTED,
    END,
    ENTRY,
    FIRST,
    FIRST_ANSWER,
    FIRST_NEW,
    FRESH,
    GOES_ON,
    HEADS,
    HOME,
    HOME_OF,
    HOW,
    INPUTS,
    KIND,
    LASTS,
    LEAST,
    MEMBER,
    MEMBERS,
    N_ANSWERS,
    N_CHANGED,
    N_EXTRAS,
    N_FRESH,
    N_INPUTS,
    N_PIECES,
    N_READERS,
    N_ROWS,
    N_SPECS,
    N_TOUCHED,
    NEWS,
    NEXT,
    NEXT_OF,
    NUMBER,
    NUMBERED_REACH,
    PEERS,
    PIECE,
    PIECES,
    REACH,
    REPLACES,
    REVISABLE,
    ROW_ARENA,
    ROW_AT,
    ROWS,
    RUNS_FROM,
    SLOT,
    SLOT_OF,
    SPEC,
    SPECS,
    START,
    TIME,
    TIMED,
    TOUCHED,
    VALID,
    WORDS,
)
from slidewise.kernels.keyed.memory import load_bool, load_float64, load_int64, store_bool, store_int64
from slidewise.kernels.keyed.placing import first_needed, time_before


@jit
def _reaches(block: int, kind: int, time: int, new: int) -> bool:
    """Whether the longest window of time of a row at one address may hold a new row at another, that is no newer."""
    if load_int64(block, TIMED) == 0:
        return False
    if kind == 2:
        return load_float64(time, 0) - load_float64(block, REACH) <= load_float64(new, 0)
    at, reach = load_int64(time, 0), load_int64(block, REACH)
    return at < LEAST + reach or at - reach <= load_int64(new, 0)


@cached_jit
def plan(block: int) -> int:
    """Find which rows are to run so that all answers which the new rows change are found; gives how many.

    A row is answered if it is new, if its windows hold a new one, or if it has the time of a new one.
    """
    words, kind, timed, reach = (
        load_int64(block, WORDS),
        load_int64(block, KIND),
        load_int64(block, TIMED),
        load_int64(block, NUMBERED_REACH),
    )
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
            while start > 0 and timed != 0 and not time_before(kind, rows + (start - 1) * width, rows + i * width):
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
                elif not (_reaches(block, kind, rows + end * width, rows + newest * width) or (end - newest <= reach)):
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
                store_int64(p, RUNS_FROM, first_needed(block, head, scratch, start, rows + start * width))
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
    return total


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
    n, first_answer = load_int64(block, N_ANSWERS), load_int64(block, FIRST_ANSWER)
    members, answers = load_int64(block, MEMBERS), load_int64(block, ANSWERS) + r * n * 8
    if load_int64(load_int64(block, ANSWERED), r) != load_int64(row, VALID):
        return True
    valid = load_int64(row, VALID)
    for c in range(n):
        if (valid >> c) & 1 == 0:
            continue
        if load_int64(members, c * MEMBER + 5) != 0:
            x, y = load_float64(answers, c), load_float64(row, first_answer + c)
            if x != y and (x == x or y == y):
                return True
        elif load_int64(answers, c) != load_int64(row, first_answer + c):
            return True
    return False


@jit
def _holds(block: int, kind: int, spec: int, r: int, time: int, new: int) -> bool:
    """Whether the window of time of row r holds a new row at an address, that is no newer."""
    if kind == 2:
        return load_float64(load_int64(spec, 3), r) <= load_float64(new, 0)
    at, reach = load_int64(time, 0), load_int64(spec, 1)
    return at < LEAST + reach or at - reach <= load_int64(new, 0)


@jit
def _keep_unchanged(block: int, of_spec: int, r: int, row: int) -> None:
    """Let row r have the answers of a spec that it has had."""
    n, first_answer, members = load_int64(block, N_ANSWERS), load_int64(block, FIRST_ANSWER), load_int64(block, MEMBERS)
    for c in range(n):
        if load_int64(members, c * MEMBER) == of_spec:
            _take_answer(block, c, r, row + (first_answer) * 8, load_int64(row, VALID))


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
            if not time_before(kind, rows + (base + r) * width, rows + (base + r + 1) * width):
                for c in range(n):
                    if load_int64(specs, load_int64(members, c * MEMBER) * SPEC) == 0:
                        _take_answer(block, c, r, answers + (r + 1) * n * 8, load_int64(answered, r + 1))
        for s in range(n_specs):
            store_int64(lasts, s, -1)
        g0 = begin
        while g0 < r1:
            g1 = g0 + 1
            time = rows + (base + g0) * width
            while g1 < r1 and not time_before(kind, time, rows + (base + g1) * width):
                g1 += 1
            for r in range(g0, g1):  # of windows of time the last new row that counts
                row = rows + (base + r) * width
                if load_int64(row, NUMBER) >= first_number:
                    for s in range(n_specs):
                        if (
                            load_int64(specs, s * SPEC) == 0
                            and (load_int64(row, COUNTED) >> load_int64(specs, s * SPEC + 2)) & 1
                        ):
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
    words, n, first_answer = load_int64(block, WORDS), load_int64(block, N_ANSWERS), load_int64(block, FIRST_ANSWER)
    arena, pieces, row_at = load_int64(block, ROW_ARENA), load_int64(block, PIECES), load_int64(block, ROW_AT)
    answers, answered = load_int64(block, ANSWERS), load_int64(block, ANSWERED)
    heads, touched = load_int64(block, HEADS), load_int64(block, TOUCHED)
    for r in range(load_int64(block, N_ROWS) + load_int64(block, N_EXTRAS)):
        at = load_int64(row_at, r)
        if at >= 0:
            store_int64(arena, at * words + VALID, load_int64(answered, r))
            for c in range(n):
                store_int64(arena, at * words + first_answer + c, load_int64(answers, r * n + c))
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
