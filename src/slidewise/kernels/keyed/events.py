"""One event, a dict of Python's, into the arrays: the passes of `rows` and of the operators in one compiled call.

What is read of an event, and which passes there are, is a program of whole numbers: addresses of the names, the types
and the functions. An event that the program does not read is left to others, and nothing has changed then: numbers
must be of the exact type, keys text or whole numbers, and times whole numbers, floats, or datetimes in UTC or without a
zone. So is one whose key is new, that is late, that needs more chunks, or that lets more than `MOST_LEAVE` rows go.
"""

from __future__ import annotations

from slidewise.kernels.compiler.jit import jit, njit
from slidewise.kernels.keyed.memory import (
    load_bool,
    load_byte,
    load_float64,
    load_int64,
    store_bool,
    store_float64,
    store_int64,
)
from slidewise.kernels.keyed.objects import (
    HEADER,
    RAISED,
    address_of,
    as_float,
    as_int,
    call_pass,
    clear_error,
    decrease,
    dict_get,
    dict_new,
    dict_set,
    increase,
    new_bool,
    new_float,
    new_int,
    object_at,
    tuple_new,
    tuple_set,
    type_of,
)

# Numbers of the block: how many events were taken in, the newest time and whether there is one, both before the last
# event, how many specs have taken that in, a place that Python writes to, and the address of the program.
TAKEN, SEEN, HAS_SEEN, SEEN_BEFORE, HAD_SEEN, DONE, SCRATCH, PLAN = range(8)
NUMBERS = 8
# Its fields: slots, ticks, newest times, counts; then which rows count for each reader, the inputs, and of each answer
# whether it is valid and what it is.
FIXED_FIELDS = 4

# A program begins with these; then come the names of keys, the readers, the specs and the answers.
DICT, INT, FLOAT, TEXT, BYTES, DATETIME, NONE, TRUE, FALSE, UTC = range(10)
ARRIVE, ARRIVE_BLOCK, SLIDE, SLOTS, TIME, ON, KEYS, READERS, SPECS, ANSWERS = range(10, 20)
PROGRAM = 20
NO_TIMES, WHOLE_TIMES, FLOAT_TIMES, NAIVE_TIMES, ZONED_TIMES = range(5)
MOST_LEAVE = 32

_UNIT = 1  # of the block of `arrive`
_ZONE_FLAG, _DATE, _ZONE = HEADER + 8, HEADER + 9, HEADER + 24  # where a datetime has these
_EXACT = 2**53  # whole numbers up to this one are floats without loss


@jit
def read_whole(value: int, scratch: int) -> int:
    """A whole number of Python's; afterwards `scratch` is not 0 where it has more than 64 bits."""
    store_int64(scratch, 0, 0)
    number: int = as_int(value, scratch)
    return number


@jit
def nanoseconds(moment: int) -> int:
    """The nanoseconds from 1970 to a datetime of Python's, without its zone; for years from 1700 to 2250."""
    date = moment + _DATE
    year = load_byte(date, 0) * 256 + load_byte(date, 1)
    month, day = load_byte(date, 2), load_byte(date, 3)
    seconds = load_byte(date, 4) * 3600 + load_byte(date, 5) * 60 + load_byte(date, 6)
    micros = (load_byte(date, 7) * 256 + load_byte(date, 8)) * 256 + load_byte(date, 9)
    # Years that begin in March have their odd day at the end: 1970-01-01 is day 719,468 of this count.
    if month > 2:
        month -= 3
    else:
        month += 9
        year -= 1
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1 - 719_468
    return ((days * 86_400 + seconds) * 1_000_000 + micros) * 1_000


@jit
def _read_time(block: int, program: int, row: int, ticks: int) -> bool:
    """Write an event's time; whether it is one that the program reads."""
    kind = load_int64(program, TIME)
    if kind == NO_TIMES:
        return True
    value = dict_get(row, load_int64(program, ON))
    if value == 0:
        return False
    its_type = type_of(value)
    if kind == WHOLE_TIMES:
        if its_type != load_int64(program, INT):
            return False
        scratch = block + 8 * SCRATCH
        store_int64(ticks, 0, read_whole(value, scratch))
        return load_int64(scratch, 0) == 0
    if kind == FLOAT_TIMES:
        if its_type != load_int64(program, FLOAT):
            return False
        time: float = as_float(value)
        store_float64(ticks, 0, time)
        return time - time == 0.0
    if its_type != load_int64(program, DATETIME):
        return False
    zoned = load_byte(value + _ZONE_FLAG, 0) != 0
    if zoned != (kind == ZONED_TIMES) or (zoned and load_int64(value + _ZONE, 0) != load_int64(program, UTC)):
        return False
    year = load_byte(value + _DATE, 0) * 256 + load_byte(value + _DATE, 1)
    store_int64(ticks, 0, nanoseconds(value))
    return 1700 <= year <= 2250


@jit
def _is_key(program: int, value: int) -> bool:
    """Whether a value stands for itself as a key."""
    its_type = type_of(value)
    return (
        its_type == load_int64(program, TEXT)
        or its_type == load_int64(program, INT)
        or its_type == load_int64(program, BYTES)
        or value == load_int64(program, NONE)
    )


@jit
def _find_slot(block: int, program: int, row: int) -> int:
    """The slot of an event's key; -1 where it has none, or is of another type."""
    names, keys = program + 8 * PROGRAM, load_int64(program, KEYS)
    if keys == 1:
        key = dict_get(row, load_int64(names, 0))
        if key == 0 or not _is_key(program, key):
            return -1
        found = dict_get(load_int64(program, SLOTS), key)
    else:
        key = tuple_new(keys)
        if key == 0:
            return -1
        for i in range(keys):
            part = dict_get(row, load_int64(names, i))
            if part == 0 or not _is_key(program, part):
                decrease(key)
                return -1
            increase(part)
            tuple_set(key, i, part)
        found = dict_get(load_int64(program, SLOTS), key)
        decrease(key)
    if found == 0:
        return -1
    return read_whole(found, block + 8 * SCRATCH)


@jit
def _read_column(block: int, program: int, row: int, column: int) -> int:
    """Write a column of an event into its field: 1 where it has a number, 0 where it is null, else -1."""
    value = dict_get(row, load_int64(column, 0))
    if value == 0:
        return -1
    its_type, field = type_of(value), load_int64(block, load_int64(column, 2))
    if its_type == load_int64(column, 1):
        if its_type == load_int64(program, FLOAT):
            store_float64(field, 0, as_float(value))
            return 1
        scratch = block + 8 * SCRATCH
        store_int64(field, 0, read_whole(value, scratch))
        return 1 if load_int64(scratch, 0) == 0 else -1
    if its_type == load_int64(program, INT):  # in a column of floats
        whole = read_whole(value, block + 8 * SCRATCH)
        store_float64(field, 0, float(whole))
        return 1 if load_int64(block, SCRATCH) == 0 and -_EXACT <= whole <= _EXACT else -1
    return 0 if value == load_int64(program, NONE) else -1


@jit
def _read_inputs(block: int, program: int, row: int, readers: int) -> int:
    """Write what aggregates read; gives the address behind the readers, 0 where an event is not read."""
    for _ in range(load_int64(program, READERS)):
        columns, condition = load_int64(readers, 0), load_int64(readers, 1)
        counted = load_int64(block, load_int64(readers, 2))
        counts = True
        if condition != 0:
            flag = dict_get(row, condition)
            counts = flag == load_int64(program, TRUE)
            if not counts and flag != load_int64(program, FALSE) and flag != load_int64(program, NONE):
                return 0
        readers += 24
        for c in range(columns if counts else 0):
            column = readers + 24 * c
            read = _read_column(block, program, row, column) if counts else 0
            if read < 0 or (not counts and dict_get(row, load_int64(column, 0)) == 0):
                return 0
            counts = read > 0
        store_bool(counted, 0, counts)
        readers += 24 * columns
    return readers


@jit
def _cut_floats(slide_block: int, cuts: int, time: float, width: float, edge: bool) -> None:
    """Write the time below which rows have left, as `WindowSpec.cut` has it."""
    cut = time - width
    if not edge:  # the next float above, but for the time itself
        store_float64(cuts, 0, cut)
        if cut == 0.0:
            store_int64(cuts, 0, 1)
        elif cut > 0.0:
            store_int64(cuts, 0, load_int64(cuts, 0) + 1)
        else:
            store_int64(cuts, 0, load_int64(cuts, 0) - 1)
        cut = min(load_float64(cuts, 0), time)
    store_float64(cuts, 0, cut)


@jit
def _has_room(slide_block: int, spec: int, slot: int, tick: int, time: float, number: int) -> bool:
    """Whether a window of rows has a free chunk, and few rows leave it; writes the cut of floats."""
    if load_int64(slide_block, 4) <= 0:
        return False
    kind, reach = load_int64(slide_block, 0), load_int64(slide_block, 1)
    cuts, nexts, places = load_int64(slide_block, 13), load_int64(slide_block, 20), load_int64(slide_block, 23)
    if kind == 2:
        _cut_floats(slide_block, cuts, time, load_float64(spec, 2), load_int64(spec, 3) != 0)
    cut = load_float64(cuts, 0)
    place = number if kind == 3 else tick
    if kind != 2 and place < -(2**63) + reach:
        return True
    heads = load_int64(slide_block, 17) + 24 * slot
    first, n = load_int64(heads, 0), load_int64(heads, 2)
    for _ in range(min(n, MOST_LEAVE)):
        if load_float64(places, first) >= cut if kind == 2 else load_int64(places, first) >= place - reach:
            return True
        first += 1
        if first & 7 == 0:
            first = load_int64(nexts, (first - 1) >> 3) << 3
    return n < MOST_LEAVE


@jit
def _have_room(program: int, specs: int, slot: int, tick: int, time: float, number: int) -> int:
    """Whether all windows have room; gives the address behind the specs, 0 where one has not."""
    for _ in range(load_int64(program, SPECS)):
        runs = load_int64(specs, 1) != 0
        if not runs and not _has_room(load_int64(specs, 0), specs, slot, tick, time, number):
            return 0
        specs += 40 + 16 * load_int64(specs, 4)
    return specs


@jit
def _run(block: int, program: int, specs: int) -> bool:
    """Let the row into all windows; whether no operator has raised."""
    slide = load_int64(program, SLIDE)
    for i in range(load_int64(program, SPECS)):
        store_int64(block, DONE, i + 1)
        call_pass(slide, load_int64(specs, 0), 1)
        members = load_int64(specs, 4)
        for j in range(members):
            member = load_int64(specs, 6 + 2 * j)
            store_int64(member, 2, 0)
            store_int64(member, 3, 0)
        for j in range(members):
            if call_pass(load_int64(specs, 5 + 2 * j), load_int64(specs, 6 + 2 * j), 1) == RAISED:
                return False
        specs += 40 + 16 * members
    return True


@jit
def _answers(block: int, program: int, answers: int) -> int:
    """A new dict of the answers; 0 where there is no memory for it."""
    result: int = dict_new()
    for _ in range(load_int64(program, ANSWERS) if result != 0 else 0):
        valid, field = load_int64(answers, 2), load_int64(block, load_int64(answers, 3))
        its_type, least = load_int64(answers, 1), load_int64(answers, 4)
        is_valid = load_bool(load_int64(block, valid), 0) if valid != 0 else load_int64(field, 0) >= least
        if not is_valid:
            value = load_int64(program, NONE)
            increase(value)
        elif its_type == 0:
            value = new_float(load_float64(field, 0))
        elif its_type == 1:
            value = new_int(load_int64(field, 0))
        else:
            value = new_bool(1 if load_bool(field, 0) else 0)
        if value == 0:
            decrease(result)
            return 0
        failed = dict_set(result, load_int64(answers, 0), value)
        decrease(value)
        if failed != 0:
            decrease(result)
            return 0
        answers += 40
    return result


@jit
def _left_out(program: int) -> int:
    """None, for an event that is left to others."""
    clear_error()
    none = load_int64(program, NONE)
    increase(none)
    return none


@njit(cache=True, error_model="numpy")  # and with the GIL
def take_event(block: int, event: object) -> object:
    """Take in an event and give its answers by name; None where it is left to others. False where a pass has raised,
    and what the specs up to the last one of DONE have done is to be taken back."""
    row, program = address_of(event), load_int64(block, PLAN)
    if type_of(row) != load_int64(program, DICT):
        return object_at(_left_out(program))
    slot = _find_slot(block, program, row)
    ticks = load_int64(block, NUMBERS + 1)
    if slot < 0 or not _read_time(block, program, row, ticks):
        return object_at(_left_out(program))
    keys = load_int64(program, KEYS)
    specs = _read_inputs(block, program, row, program + 8 * (PROGRAM + keys))
    if specs == 0:
        return object_at(_left_out(program))
    kind = load_int64(program, TIME)
    tick, time = load_int64(ticks, 0), load_float64(ticks, 0)
    newest, number = load_int64(block, NUMBERS + 2) + 8 * slot, load_int64(load_int64(block, NUMBERS + 3), slot)
    is_late = time < load_float64(newest, 0) if kind == FLOAT_TIMES else tick < load_int64(newest, 0)
    if kind != NO_TIMES and number > 0 and is_late:
        return object_at(_left_out(program))
    answers = _have_room(program, specs, slot, tick, time, number)
    if answers == 0:
        return object_at(_left_out(program))
    store_int64(load_int64(block, NUMBERS), 0, slot)
    arrive_block = load_int64(program, ARRIVE_BLOCK)
    store_int64(arrive_block, _UNIT, 1)
    store_int64(block, DONE, 0)
    call_pass(load_int64(program, ARRIVE), arrive_block, 1)
    result = _answers(block, program, answers) if _run(block, program, specs) else 0
    if result == 0:
        clear_error()
        result = load_int64(program, FALSE)
        increase(result)
        return object_at(result)
    store_int64(block, SEEN_BEFORE, load_int64(block, SEEN))
    store_int64(block, HAD_SEEN, load_int64(block, HAS_SEEN))
    if kind != NO_TIMES:
        later = load_int64(block, HAS_SEEN) == 0
        if kind == FLOAT_TIMES:
            later = later or time > load_float64(block, SEEN)
        else:
            later = later or tick > load_int64(block, SEEN)
        if later:
            store_int64(block, SEEN, tick)
            store_int64(block, HAS_SEEN, 1)
    store_int64(block, TAKEN, load_int64(block, TAKEN) + 1)
    return object_at(result)


@njit(cache=True, error_model="numpy")
def read_moment(event: object) -> int:
    """The nanoseconds to a datetime, with 1 added where it has a zone: for a look whether datetimes lie as expected."""
    moment = address_of(event)
    return nanoseconds(moment) + load_byte(moment + _ZONE_FLAG, 0)
