"""One 64-bit hash for every process, platform and lane: sketches are equal wherever they were made.

A value becomes 64-bit words first, its canonical form, and the words are mixed with unsigned 64-bit arithmetic only:

* a number is one word, and its hash is `mix(word ^ key(seed, NUMBER))`;
* text and bytes are little-endian words, the last one padded with zeros, and then the length in bytes;
* a tuple is the hashes of its items, and then their number.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from slidewise.errors import InputError
from slidewise.operators.types import Value

MASK = 0xFFFFFFFFFFFFFFFF
GOLDEN = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio, made odd
NAN_WORD = 0x7FF8000000000000

# What a hash is of, so that text and the number with the same bytes differ.
NUMBER, TEXT, TUPLE = 1, 2, 3

_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)
_DOUBLE = struct.Struct("<d")
_WORD = struct.Struct("<Q")


def hash64(value: Value, seed: int = 0) -> int:
    """The 64-bit hash of a value; other seeds give independent hashes.

    Bools are ints. Floats have one zero and one NaN. Dates count days since 1970; datetimes and timedeltas count
    microseconds, in UTC where there is a zone; those with nanoseconds are a pair of both. Text is hashed as its UTF-8
    bytes.

    >>> hash64(0.0) == hash64(-0.0), hash64(True) == hash64(1), hash64("é") == hash64(b"\\xc3\\xa9")
    (True, True, True)
    >>> hash64("a") == hash64("a", seed=1)
    False
    """
    if isinstance(value, int):
        return mix(_int_word(value) ^ key(seed, NUMBER))
    if isinstance(value, float):
        return mix(_float_word(value) ^ key(seed, NUMBER))
    if isinstance(value, str):
        return _hash_bytes(value.encode("utf-8", "surrogatepass"), seed)
    if isinstance(value, bytes):
        return _hash_bytes(value, seed)
    if isinstance(value, tuple):
        return _chain(key(seed, TUPLE), (*(hash64(item, seed) for item in value), len(value)))
    if getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0):  # pandas' Timestamp or Timedelta
        return hash64(divmod(value.as_unit("ns").value, 1_000), seed)
    if isinstance(value, datetime):
        return hash64((value - (_EPOCH if value.utcoffset() is None else _EPOCH_UTC)) // _MICROSECOND, seed)
    if isinstance(value, date):
        return hash64(value.toordinal() - _EPOCH_DAY, seed)
    if isinstance(value, timedelta):
        return hash64(value // _MICROSECOND, seed)
    if is_finer(value):
        return hash64(divmod(int(value.astype(f"{value.dtype.kind}8[ns]").astype("int64")), 1_000), seed)
    item = plain(value)
    if type(item) is type(value):
        raise InputError(
            f"a {type(value).__name__} cannot be hashed; give a number, text, bytes, a date, or a tuple of these, "
            "for example str(value)"
        )
    return hash64(item, seed)


def plain(value: Value) -> Value:
    """A NumPy scalar as the Python value that it stands for; any other value as it is."""
    if getattr(value, "ndim", None) != 0 or not hasattr(value, "item"):
        return value
    item = value.item()
    kind = value.dtype.kind
    if kind in "mM" and isinstance(item, int):  # finer than Python's datetimes, which end at microseconds
        return value.astype(f"{kind}8[us]").item()
    return item


def is_finer(value: Value) -> bool:
    """Whether a value is one of NumPy's times and has more digits than Python's, which end at microseconds."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return kind in ("m", "M") and isinstance(value.item(), int) and bool(value.astype(f"{kind}8[us]") != value)


def mix(word: int) -> int:
    """Spread a 64-bit word over all 64 bits; one to one, so different words stay different (splitmix64's finaliser).

    >>> mix(0), hex(mix(1))
    (0, '0x5692161d100b05e5')
    """
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & MASK
    return word ^ (word >> 31)


@lru_cache(maxsize=1024)
def key(seed: int, kind: int) -> int:
    """The constant that a seed and a kind of value put into the hash."""
    return mix((seed + kind * GOLDEN) & MASK)


def _int_word(value: int) -> int:
    if not -(1 << 63) <= value < 1 << 63:
        raise InputError(f"an int of {value.bit_length()} bits does not fit into int64; hash it as text, str(value)")
    return value & MASK


def _float_word(value: float) -> int:
    if value == 0.0:
        return 0
    if value != value:
        return NAN_WORD
    word: int = _WORD.unpack(_DOUBLE.pack(value))[0]
    return word


def _hash_bytes(data: bytes, seed: int) -> int:
    count = (len(data) + 7) // 8
    words = struct.unpack(f"<{count}Q", data.ljust(count * 8, b"\0"))
    return _chain(key(seed, TEXT), (*words, len(data)))


def _chain(total: int, words: Iterable[int]) -> int:
    for word in words:
        total = mix(((total ^ word) + GOLDEN) & MASK)
    return total
