"""A set of small whole numbers as bits, with words above that say which words hold any: the next member in a few steps.

Level 0 has a bit for each number; a bit of every level above says whether the word below it has one. All levels lie in
one array, each with a word of zeros behind it, so that a look past the end finds nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uintp as u
from numba.core import types
from numba.extending import intrinsic

from slidewise.kernels.compiler.jit import jit

WORD = 64
LEVELS = 7  # 64 ** 7 numbers are more than any memory holds
_ONE = np.uint64(1)


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def low_zeros(typing_context: Any, word: Any) -> Any:
    """How many zeros stand below the lowest one of a word that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def high_zeros(typing_context: Any, word: Any) -> Any:
    """How many zeros stand above the highest one of a word that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), generate


def places(size: int) -> Any:
    """Where each level begins for numbers below `size`, and last how many words there are in all.

    >>> places(1000).tolist()[:4]
    [0, 17, 19, 19]
    """
    found = [0]
    words = size
    while True:
        words = (words + WORD - 1) // WORD
        found.append(found[-1] + words + 1)
        if words <= 1:
            break
    return np.array(found + [found[-1]] * (LEVELS + 1 - len(found)), np.int64)


@jit
def clear(bits: Any, at: Any, size: Any) -> None:
    """Empty a set of numbers below `size`, in room for as many or more."""
    level = 0
    while at[level] < at[level + 1]:
        size = (size + 63) >> 6
        for w in range(at[level], at[level] + size + 1):
            bits[u(w)] = 0
        level += 1


@jit
def add(bits: Any, at: Any, p: Any) -> None:
    """Put p into the set."""
    level = 0
    while True:
        w = u(at[level] + (p >> 6))
        before = bits[w]
        bits[w] = before | (_ONE << np.uint64(p & 63))
        level += 1
        if before != 0 or at[level] == at[level + 1]:
            return
        p >>= 6


@jit
def discard(bits: Any, at: Any, p: Any) -> None:
    """Take p out of the set, which has it."""
    level = 0
    while True:
        w = u(at[level] + (p >> 6))
        after = bits[w] & ~(_ONE << np.uint64(p & 63))
        bits[w] = after
        level += 1
        if after != 0 or at[level] == at[level + 1]:
            return
        p >>= 6


@jit
def next_word(bits: Any, at: Any, w: Any) -> Any:
    """The first word after the word w of level 0 that holds a member; there must be one."""
    level = 0
    word = np.uint64(0)
    while word == 0:
        level += 1
        w += 1
        word = bits[u(at[level] + (w >> 6))] >> np.uint64(w & 63)
        w = w + low_zeros(word) if word != 0 else w >> 6
    while level > 1:
        level -= 1
        w = (w << 6) + low_zeros(bits[u(at[level] + w)])
    return w


@jit
def previous_word(bits: Any, at: Any, w: Any) -> Any:
    """The last word before the word w of level 0 that holds a member; there must be one."""
    level = 0
    word = np.uint64(0)
    while word == 0:
        level += 1
        word = bits[u(at[level] + (w >> 6))] << np.uint64(63 - (w & 63)) << np.uint64(1) if w & 63 else word
        w = w - 1 - high_zeros(word) if word != 0 else w >> 6
    while level > 1:
        level -= 1
        w = (w << 6) + 63 - high_zeros(bits[u(at[level] + w)])
    return w


_BYTES = np.uint64(0x0101010101010101)
_TOPS = np.uint64(0x8080808080808080)


def _selected() -> Any:
    """Where in a byte its set bit number r is: at byte + 256 r."""
    table = np.zeros(2048, np.uint8)
    for byte in range(256):
        ones = [i for i in range(8) if byte >> i & 1]
        for r, i in enumerate(ones):
            table[byte + 256 * r] = i
    return table


SELECTED = _selected()


@jit
def byte_counts(word: Any) -> Any:
    """How many bits are set up to and in each byte of a word: the last byte is how many there are."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    return ((word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)) * _BYTES


@jit
def select(word: Any, counts: Any, r: Any, selected: Any) -> Any:
    """Where the set bit number r of a word is, from 0 on, without a branch: by its byte, then by a table."""
    full = ((np.uint64(r) * _BYTES | _TOPS) - counts) & _TOPS  # a bit for each byte that ends before the one
    byte = ((full >> np.uint64(7)) * _BYTES) >> np.uint64(53) & np.uint64(0x78)
    rest = np.uint64(r) - ((counts << np.uint64(8)) >> byte & np.uint64(255))
    return np.int64(byte + selected[u((word >> byte & np.uint64(255)) + (rest << np.uint64(8)))])
