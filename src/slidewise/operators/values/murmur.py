"""MurmurHash3, the 128-bit variant for 64-bit machines, of values as Apache DataSketches hashes them.

So sketches made here and there have equal hashes of equal values: integers and bools are hashed as int64, floats as
float64 with one zero and one NaN, each of 8 bytes with the lowest first; text as UTF-8, bytes as they are.
"""

from __future__ import annotations

import struct

from slidewise.errors import InputError
from slidewise.operators.types import Value
from slidewise.operators.values.hashing import MASK, NAN_WORD, plain

SEED = 9001  # of DataSketches, unless it is told another
C1, C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
_WORD = struct.Struct("<q")
_DOUBLE = struct.Struct("<d")
_NAN = struct.pack("<Q", NAN_WORD)


def canonical(value: Value, operator: str) -> bytes:
    """The bytes of a value that are hashed; none at all of empty text, which DataSketches leaves out.

    >>> canonical(1, "theta"), canonical("é", "theta"), canonical(-0.0, "theta") == canonical(0.0, "theta")
    (b'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00', b'\\xc3\\xa9', True)
    """
    value = plain(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return value
    if isinstance(value, float):
        return _NAN if value != value else _DOUBLE.pack(value + 0.0)
    if isinstance(value, int):
        try:
            return _WORD.pack(value)
        except struct.error:
            raise InputError(
                f"an int of {value.bit_length()} bits does not fit into int64; give it as text, str(value)"
            ) from None
    raise InputError(
        f"{operator} takes numbers, bools, text and bytes, as DataSketches does, but got {value!r:.100} "
        f"({type(value).__name__}); give it as text, str(value)"
    )


def murmur(data: bytes, seed: int = SEED) -> tuple[int, int]:
    """The two halves of the hash.

    >>> [f"{half:x}" for half in murmur(b"The quick brown fox jumps over the lazy dog", seed=0)]
    ['e34bbc7bbc071b6c', '7a433ca9c49a9347']
    """
    whole = len(data) // 16 * 16
    words = struct.unpack(f"<{whole // 8 + 2}Q", data.ljust(whole + 16, b"\0"))
    h1 = h2 = seed
    for i in range(0, whole // 8, 2):
        h1 = (_rotated(h1 ^ _mixed(words[i], C1, C2, 31), 27) + h2 & MASK) * 5 + 0x52DCE729 & MASK
        h2 = (_rotated(h2 ^ _mixed(words[i + 1], C2, C1, 33), 31) + h1 & MASK) * 5 + 0x38495AB5 & MASK
    h2 ^= _mixed(words[-1], C2, C1, 33) ^ len(data)
    h1 ^= _mixed(words[-2], C1, C2, 31) ^ len(data)
    h1 = h1 + h2 & MASK
    h2 = h2 + h1 & MASK
    h1, h2 = _final(h1), _final(h2)
    h1 = h1 + h2 & MASK
    return h1, h2 + h1 & MASK


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) & MASK


def _mixed(word: int, first: int, second: int, bits: int) -> int:
    return _rotated(word * first & MASK, bits) * second & MASK


def _final(word: int) -> int:
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & MASK
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return word ^ word >> 33
