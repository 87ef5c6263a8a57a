"""Random columns of every Arrow type that expressions take, and random expressions over them, well typed."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.expressions.expression import Constant, Expression, RowColumn, call
from slidewise.expressions.kinds import BOOL, FLOAT, INT, NULL, TEXT, TIME, ValueKind

LOW, HIGH = -(2**63), 2**63 - 1
EPOCH, MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)
# Times at which clocks are changed somewhere, in microseconds.
CHANGES = tuple(
    (datetime(2024, *day) - EPOCH) // MICROSECOND for day in ((3, 31, 1), (10, 27, 1), (11, 3, 4, 30), (4, 6, 15))
)
ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca")

WHOLE_TYPES = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
FLOAT_TYPES = (pa.float32(), pa.float64(), pa.float64(), pa.float64())
TEXT_TYPES = (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()))
TIME_TYPES = (
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Europe/Berlin")),
    pa.date32(),
    pa.date64(),
)
TYPES: dict[ValueKind, tuple[pa.DataType, ...]] = {
    BOOL: (pa.bool_(),),
    INT: (*WHOLE_TYPES, *[pa.int64()] * 8, pa.dictionary(pa.int32(), pa.int64())),
    FLOAT: FLOAT_TYPES,
    TEXT: TEXT_TYPES,
    TIME: TIME_TYPES,
    NULL: (pa.null(),),
}
EXTREMES = (0, 1, -1, 2, 3, 7, -7, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 3_037_000_500, LOW, LOW + 1, HIGH, HIGH - 1)
FLOATS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 0.1, 1.005, 100.0, float("nan"), float("inf"), float("-inf")),
    *(0.49999999999999994, -0.49999999999999994, 2.0**52 + 0.5, 2.0**53, -(2.0**63), 2.0**63, 9.3e18),
    *(5e-324, 1.7976931348623157e308, 1e16, 123456.789, -7.0, 3.0),
)
TEXTS = (
    *("", "a", "A", "DE", "FR", "straße", "İstanbul", "ΑΣ", "ﬁ", "𝒳y", "\ufffd", "ǅ", "e\u0301"),
    *("12", " -7\t", "+3", "1_000", "1e3", "0x10", ".5", "5.", "-.5e-3", "nan", "-Infinity", "INF", "inf ", "٣"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "\u00a05", "\x1f5", "1" * 400, "true"),
)
PATTERNS = ("", "a", "ß", "1", "é", "𝒳", "\u0301", "D")


def whole(choose: Random, kind: pa.DataType) -> int:
    """A whole number that a type can hold, often a small or an extreme one; of uint64 as far as int64 goes."""
    bits = kind.bit_width
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if pa.types.is_unsigned_integer(kind):
        low, high = 0, min(2**bits - 1, HIGH)
    pick = choose.randrange(4)
    if pick == 0:
        return choose.choice([x for x in (*EXTREMES, low, high) if low <= x <= high])
    return choose.randint(low, high) if pick == 1 else choose.randint(max(low, -9), min(high, 9))


def a_float(choose: Random) -> float:
    pick = choose.randrange(4)
    if pick == 0:
        return choose.choice(FLOATS)
    if pick == 1:
        return struct.unpack("d", choose.randbytes(8))[0]
    return choose.randint(-40, 40) / 8 if pick == 2 else choose.gauss(0, 1000)


def text(choose: Random) -> str:
    pick = choose.randrange(4)
    if pick < 2:
        return choose.choice(TEXTS)
    return str(choose.randint(-50, 50)) if pick == 2 else repr(a_float(choose))


def microseconds(choose: Random, far: bool) -> int:
    """A time that datetime can hold, and nanoseconds, too, unless it may be far; often in 2024."""
    years = (2, 9998) if far else (1678, 2262)
    low, high = ((datetime(year, 1, 1) - EPOCH) // MICROSECOND for year in years)
    pick = choose.randrange(4)
    if pick == 0:
        return choose.choice((low, high, 0, -1, *CHANGES))
    if pick == 1:
        return choose.randint(low, high)
    return choose.choice(CHANGES) + choose.randint(-7_200, 7_200) * 1_000_000 + choose.choice((0, 1, 999_999, 123_456))


def stored_time(choose: Random, kind: pa.DataType, far: bool) -> int:
    """A time as its type stores it."""
    if pa.types.is_date32(kind):
        return microseconds(choose, far) // 86_400_000_000
    if pa.types.is_date64(kind):
        return microseconds(choose, far) // 86_400_000_000 * 86_400_000
    time = microseconds(choose, far)
    if kind.unit == "ns":
        return time * 1_000 + choose.randrange(1_000)
    return time // {"s": 1_000_000, "ms": 1_000, "us": 1}[kind.unit]


def value(choose: Random, kind: pa.DataType, far: bool = False) -> Any:
    """A value of an Arrow type; a time as a number."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_null(kind):
        return None
    if pa.types.is_boolean(kind):
        return choose.random() < 0.5
    if pa.types.is_float32(kind):
        return float(np.float32(choose.choice(FLOATS[:-6])))
    if pa.types.is_floating(kind):
        return a_float(choose)
    if pa.types.is_temporal(kind):
        return stored_time(choose, kind, far)
    return whole(choose, kind) if pa.types.is_integer(kind) else text(choose)


def constant(choose: Random, kind: ValueKind, far: bool) -> Any:
    """A constant of a kind."""
    if kind is not TIME:
        return value(choose, TYPES[kind][-1])
    time = EPOCH + microseconds(choose, far) * MICROSECOND
    zone = choose.choice((None, UTC, timezone(timedelta(hours=-3, minutes=-30))))
    return time.date() if choose.random() < 0.3 else time.replace(tzinfo=zone)


def as_array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """An array of values as `values_of` makes them."""
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
    return pa.array(values, kind)


@dataclass
class Columns:
    """Some columns of as many rows, by name, and their kinds."""

    arrays: dict[str, pa.Array]
    kinds: dict[str, ValueKind]
    count: int
    far: bool = False  # whether times may be those that nanoseconds do not hold

    def rows(self) -> list[dict[str, Any]]:
        """The events that the columns are made of."""
        lists = {name: array.to_pylist() for name, array in self.arrays.items()}
        return [{name: values[i] for name, values in lists.items()} for i in range(self.count)]


def columns(choose: Random, count: int) -> Columns:
    """Two columns of each kind, with nulls or without, in slices of longer arrays."""
    arrays, kinds = {}, {}
    far = choose.random() < 0.5
    for kind, types in TYPES.items():
        for i in range(1 if kind is NULL else 2):
            of = choose.choice([of for of in types if not far or getattr(of, "unit", "") != "ns"])
            nulls = choose.choice((0, 0, 0.2, 0.5, 1))
            first = choose.randrange(10)
            values = [None if choose.random() < nulls else value(choose, of, far) for _ in range(first + count)]
            name = f"{kind.name.lower()}_{i}"
            arrays[name], kinds[name] = as_array(values, of).slice(first), kind
    return Columns(arrays, kinds, count, far)


NUMBER_FUNCTIONS = ("+", "-", "*", "//", "%")
ROUNDING = ("neg", "abs", "floor", "ceil", "sign")
ORDER = ("<", "<=", ">", ">=", "==", "!=")


class Trees:
    """Draws expressions of a kind over columns."""

    def __init__(self, choose: Random, kinds: dict[str, ValueKind], far: bool) -> None:
        self.choose = choose
        self.far = far
        self.pick = choose.choice
        self.kinds = kinds

    def leaf(self, kind: ValueKind) -> Expression:
        choice = self.choose.randrange(20)
        if choice == 0:
            return Constant(None)
        if choice == 1:
            return RowColumn("null_0")
        if choice < 7:
            return Constant(constant(self.choose, kind, self.far))
        return RowColumn(self.pick([name for name, of in self.kinds.items() if of is kind]))

    def tree(self, kind: ValueKind, depth: int) -> Expression:
        """An expression of this kind, or one of nulls alone."""
        if depth <= 0 or self.choose.random() < 0.1:
            return self.leaf(kind)
        return self.pick(MAKERS[kind])(self, kind, depth - 1)

    def number(self, depth: int) -> Expression:
        return self.tree(self.pick((INT, FLOAT)), depth)

    def either(self, kind: ValueKind, depth: int) -> list[Expression]:
        """Two numbers that give one of this kind."""
        others = (INT, INT) if kind is INT else self.pick(((FLOAT, INT), (INT, FLOAT), (FLOAT, FLOAT)))
        return [self.tree(other, depth) for other in others]


def _arithmetic(trees: Trees, kind: ValueKind, depth: int) -> Expression:
    return call(trees.pick(NUMBER_FUNCTIONS), *trees.either(kind, depth))


def _rounding(trees: Trees, kind: ValueKind, depth: int) -> Expression:
    if trees.choose.random() < 0.5:
        return call("round", trees.tree(kind, depth), trees.choose.randint(0, 15))
    return call(trees.pick(ROUNDING), trees.tree(kind, depth))


def _real(trees: Trees, _kind: ValueKind, depth: int) -> Expression:
    name = trees.pick(("/", "**", "sqrt", "log", "exp"))
    return call(name, *[trees.number(depth) for _ in range(2 if name in ("/", "**") else 1)])


def _difference(trees: Trees, _kind: ValueKind, depth: int) -> Expression:
    return call("-", trees.tree(TIME, depth), trees.tree(TIME, depth))


def _cast(trees: Trees, kind: ValueKind, depth: int) -> Expression:
    name = {INT: "int", FLOAT: "float", TEXT: "text"}[kind]
    return call(name, trees.tree(trees.pick((BOOL, INT, FLOAT, TEXT)), depth))


def _length(trees: Trees, _kind: ValueKind, depth: int) -> Expression:
    return call("length", trees.tree(TEXT, depth))


def _letters(trees: Trees, _kind: ValueKind, depth: int) -> Expression:
    return call(trees.pick(("lower", "upper")), trees.tree(TEXT, depth))


def _clock(trees: Trees, _kind: ValueKind, depth: int) -> Expression:
    zone = trees.pick((None, *ZONES))
    return call(trees.pick(("hour", "weekday", "day")), trees.tree(TIME, depth), *([zone] if zone else []))


def _coalesce(trees: Trees, kind: ValueKind, depth: int) -> Expression:
    parts = trees.either(kind, depth) if kind is FLOAT else [trees.tree(kind, depth), trees.tree(kind, depth)]
    return call("coalesce", *parts, *([trees.tree(kind, depth)] if trees.choose.random() < 0.5 else []))


def _case(trees: Trees, kind: ValueKind, depth: int) -> Expression:
    first, last = trees.either(kind, depth) if kind is FLOAT else [trees.tree(kind, depth), trees.tree(kind, depth)]
    more = [trees.tree(BOOL, depth), trees.tree(kind, depth)] if trees.choose.random() < 0.5 else []
    return call("case", trees.tree(BOOL, depth), first, *more, last)


def _side(trees: Trees, depth: int, kinds: tuple[ValueKind, ...]) -> Callable[[], Expression]:
    """A source of expressions that can be compared with one another."""
    kind = trees.pick(kinds)
    return (lambda: trees.number(depth)) if kind is INT else (lambda: trees.tree(kind, depth))


def _compared(trees: Trees, _kind: ValueKind, depth: int) -> Expression:
    name = trees.pick(ORDER)
    side = _side(trees, depth, (BOOL, INT, INT, TEXT, TIME) if name in ("==", "!=") else (INT, INT, TEXT, TIME))
    return call(name, side(), side())


def _between(trees: Trees, _kind: ValueKind, depth: int) -> Expression:
    side = _side(trees, depth, (INT, INT, TEXT, TIME))
    return call("between", side(), side(), side())


def _in(trees: Trees, _kind: ValueKind, depth: int) -> Expression:
    kind = trees.pick((BOOL, INT, INT, TEXT, TIME))
    of = trees.number(depth) if kind is INT else trees.tree(kind, depth)
    kinds = (INT, FLOAT) if kind is INT else (kind,)
    return call(
        "in", of, *(constant(trees.choose, trees.pick(kinds), trees.far) for _ in range(trees.choose.randrange(5)))
    )


def _logic(trees: Trees, _kind: ValueKind, depth: int) -> Expression:
    name = trees.pick(("and", "or", "not"))
    return call(name, *[trees.tree(BOOL, depth) for _ in range(1 if name == "not" else 2)])


def _is_null(trees: Trees, _kind: ValueKind, depth: int) -> Expression:
    return call("is null", trees.tree(trees.pick((BOOL, INT, FLOAT, TEXT, TIME)), depth))


def _search(trees: Trees, _kind: ValueKind, depth: int) -> Expression:
    return call(trees.pick(("contains", "starts_with")), trees.tree(TEXT, depth), trees.pick(PATTERNS))


_CHOICES = (_coalesce, _case)
MAKERS: dict[ValueKind, tuple[Callable[[Trees, ValueKind, int], Expression], ...]] = {
    BOOL: (_compared, _compared, _compared, _between, _in, _logic, _logic, _is_null, _search, *_CHOICES),
    INT: (_arithmetic, _arithmetic, _arithmetic, _rounding, _cast, _length, _clock, *_CHOICES),
    FLOAT: (_arithmetic, _arithmetic, _arithmetic, _rounding, _real, _real, _difference, _cast, *_CHOICES),
    TEXT: (_letters, _cast, *_CHOICES),
    TIME: _CHOICES,
}


def expression(choose: Random, table: Columns, depth: int = 3) -> Expression:
    """An expression over columns."""
    trees = Trees(choose, table.kinds, table.far)
    return trees.tree(choose.choice((BOOL, INT, FLOAT, FLOAT, TEXT, TIME)), depth)
