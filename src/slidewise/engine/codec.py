"""Serialises plain values to bytes and back: None, bools, numbers, text, bytes, dates, times; tuples, lists and dicts.

A value is one letter and then its content; integers are signed LEB128, so small ones take a byte. A row of values may
be packed: all int64, all float64, or tuples of one length, column by column. Nothing is ever executed.

Moments and durations are whole microseconds, as Python has them; those of pandas that are finer have letters of their
own, in nanoseconds. Snapshots before version 5 know neither such durations (`E`) nor times of day (`o`).

Bytes may come from anybody, so reading takes time and memory in proportion to them: an integer of more than 64 bits
has its length before it, and values lie in one another at most `DEEPEST` levels deep.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

_DOUBLE = struct.Struct("<d")
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_LONGEST = 10  # bytes of an integer of up to 64 bits, seven in each
DEEPEST = 300  # lists in lists in lists; Python itself ends at some 1,000
FINER_TIMES = 5  # the first version of snapshots with durations in nanoseconds and times of day


class NotPlainError(Exception):
    """A value that has no bytes."""


class Writer:
    """Appends values to bytes; `version` is the oldest of snapshots that can hold what was written so far."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.version = 1
        self._depth = 0

    def size(self, number: int) -> None:
        """A number from 0 on."""
        while number > 0x7F:
            self.data.append(number & 0x7F | 0x80)
            number >>= 7
        self.data.append(number)

    def integer(self, number: int) -> None:
        """A number of any size and sign."""
        while not -64 <= number < 64:
            self.data.append(number & 0x7F | 0x80)
            number >>= 7
        self.data.append(number & 0x7F)

    def value(self, value: Any) -> None:
        """Any plain value."""
        put = self.data
        kind = type(value)
        if value is None:
            put += b"N"
        elif kind is bool:
            put += b"T" if value else b"F"
        elif kind is float:
            put += b"f" + _DOUBLE.pack(value)
        elif kind is int:
            if value.bit_length() <= 63:
                put += b"i"
                self.integer(value)
            else:
                self._counted(b"I", value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))
        elif kind is str:
            self._counted(b"s", value.encode("utf-8", "surrogatepass"))
        elif kind is bytes:
            self._counted(b"b", value)
        elif kind is tuple or kind is list:
            put += b"t" if kind is tuple else b"l"
            self.size(len(value))
            self._inside(value)
            for item in value:
                self.value(item)
            self._depth -= 1
        else:
            self._other(value)

    def _inside(self, value: Any) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            self._depth = 0
            raise NotPlainError(f"a {type(value).__name__} in more than {DEEPEST} others")

    def _counted(self, letter: bytes, content: bytes) -> None:
        self.data += letter
        self.size(len(content))
        self.data += content

    def _other(self, value: Any) -> None:
        if isinstance(value, dict):
            self.data += b"m"
            self.size(len(value))
            self._inside(value)
            for name, item in value.items():
                self.value(name)
                self.value(item)
            self._depth -= 1
        elif getattr(value, "nanosecond", 0):  # pandas' Timestamp
            self.data += b"n"
            self.integer(value.as_unit("ns").value)
            self.value(value.tzinfo is not None)
        elif isinstance(value, datetime):
            offset = value.utcoffset()
            self.data += b"d" if offset is None else b"z"
            wall = datetime.combine(value.date(), value.time())
            self.integer((wall - _EPOCH) // _MICROSECOND)
            if offset is not None:
                self.integer(offset // _MICROSECOND)
        elif isinstance(value, date):
            self.data += b"a"
            self.integer(value.toordinal())
        elif getattr(value, "nanoseconds", 0):  # pandas' Timedelta
            self._finer(b"E", value.as_unit("ns").value)
        elif isinstance(value, timedelta):
            self.data += b"e"
            self.integer(value // _MICROSECOND)
        elif isinstance(value, time) and value.tzinfo is None:
            since_midnight = timedelta(0, value.second, value.microsecond, 0, value.minute, value.hour)
            self._finer(b"o", since_midnight // _MICROSECOND)
        else:
            raise NotPlainError(f"{value!r}, a {type(value).__name__}")

    def _finer(self, letter: bytes, ticks: int) -> None:
        self.version = max(self.version, FINER_TIMES)
        self.data += letter
        self.integer(ticks)

    def row(self, values: Sequence[Any]) -> None:
        """Many values, packed where they are alike."""
        kinds = {*map(type, values)}
        if kinds == {float}:
            self._packed(b"D", "d", values)
        elif kinds == {int} and min(values) >= -(2**63) and max(values) < 2**63:
            self._packed(b"Q", "q", values)
        elif kinds == {tuple} and len({*map(len, values)}) == 1 and len(values[0]):
            self.data += b"C"
            self.size(len(values[0]))
            self._inside(values)
            for column in zip(*values, strict=True):
                self.row(column)
            self._depth -= 1
        else:
            self.data += b"V"
            self.size(len(values))
            for value in values:
                self.value(value)

    def _packed(self, letter: bytes, code: str, values: Sequence[Any]) -> None:
        packed = array(code, values)
        if sys.byteorder == "big":
            packed.byteswap()
        self.data += letter
        self.size(len(packed))
        self.data += packed.tobytes()


class Reader:
    """Reads values from bytes; ValueError where they make no sense."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._depth = 0

    @property
    def ended(self) -> bool:
        """Whether all bytes have been read."""
        return self._at == len(self._data)

    def _take(self, count: int) -> bytes:
        content = self._data[self._at : self._at + count]
        if len(content) != count:
            raise ValueError("the bytes end too early")
        self._at += count
        return content

    def _number(self, signed: bool) -> int:
        number = shift = 0
        for byte in self._data[self._at : self._at + _LONGEST]:
            self._at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number - (1 << shift) if signed and byte & 0x40 else number
        raise ValueError("a number does not end" if shift == 7 * _LONGEST else "the bytes end too early")

    def _items(self) -> range:
        """As many numbers as there are items of what begins here; each takes a byte or more."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError(f"values lie in one another more than {DEEPEST} deep")
        return range(self.most())

    def most(self) -> int:
        """A number of things of which each takes a byte or more, so that it is no more than the bytes that are left."""
        number = self.size()
        if number > len(self._data) - self._at:
            raise ValueError(f"{number} values cannot be in {len(self._data) - self._at} bytes")
        return number

    def size(self) -> int:
        return self._number(signed=False)

    def integer(self) -> int:
        return self._number(signed=True)

    def value(self) -> Any:
        letter = self._take(1)
        match letter:
            case b"N":
                return None
            case b"T" | b"F":
                return letter == b"T"
            case b"f":
                return _DOUBLE.unpack(self._take(8))[0]
            case b"i":
                return self.integer()
            case b"I":
                return int.from_bytes(self._take(self.size()), "little", signed=True)
            case b"s":
                return self._take(self.size()).decode("utf-8", "surrogatepass")
            case b"b":
                return self._take(self.size())
            case b"t" | b"l":
                items = [self.value() for _ in self._items()]
                self._depth -= 1
                return tuple(items) if letter == b"t" else items
            case b"m":
                named = {self.value(): self.value() for _ in self._items()}
                self._depth -= 1
                return named
            case b"n":
                import pandas as pd

                return pd.Timestamp(self.integer(), tz="UTC" if self.value() else None)
            case b"d":
                return _EPOCH + self.integer() * _MICROSECOND
            case b"z":
                wall, offset = _EPOCH + self.integer() * _MICROSECOND, self.integer() * _MICROSECOND
                return wall.replace(tzinfo=timezone(offset) if offset else UTC)
            case b"a":
                return date.fromordinal(self.integer())
            case b"e":
                return self.integer() * _MICROSECOND
            case b"E":
                import pandas as pd

                return pd.Timedelta(self.integer(), unit="ns")
            case b"o":
                moment = _EPOCH + self.integer() * _MICROSECOND
                if moment.date() != _EPOCH.date():
                    raise ValueError(f"{moment - _EPOCH} is no time of day")
                return moment.time()
        raise ValueError(f"no value begins with {letter!r}")

    def row(self) -> list[Any]:
        letter = self._take(1)
        if letter == b"V":
            return [self.value() for _ in range(self.most())]
        if letter == b"C":
            columns = [self.row() for _ in self._items()]
            self._depth -= 1
            return list(zip(*columns, strict=True))
        if letter not in b"DQ":
            raise ValueError(f"no row begins with {letter!r}")
        packed = array("d" if letter == b"D" else "q")
        packed.frombytes(self._take(8 * self.size()))
        if sys.byteorder == "big":
            packed.byteswap()
        return packed.tolist()

    def end(self) -> None:
        """Nothing is left over."""
        if self._at != len(self._data):
            raise ValueError(f"{len(self._data) - self._at} bytes are left over")
