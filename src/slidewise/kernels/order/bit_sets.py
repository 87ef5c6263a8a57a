"""A hierarchical bitmap: a set of small integers as bits, with summary levels that find the next member in a few steps.

Level 0 has a bit for each number; a bit of every level above says whether the word below it has one. All levels lie in
one array, each with a word of zeros behind it, so that a look past the end finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import int64
from numba import uintp as u
from numba.core import types
from numba.extending import intrinsic

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import jit
from slidewise.kernels.compiler.plain import plain_form

if TYPE_CHECKING:
    from llvmlite.ir import IRBuilder, Value
    from numba.core.base import BaseContext
    from numba.core.typing import Context, Signature

WORD = 64
LEVELS = 7  # 64 ** 7 numbers are more than any memory holds
_ONE = np.uint64(1)


def _zeros(instruction: str) -> Any:
    """LLVM's instruction that counts the zeros at one end of a word that is not 0."""

    def operation(typing: Context, word: types.Type) -> tuple[Signature, Callable[..., Value]]:
        def generate(context: BaseContext, builder: IRBuilder, signature: Signature, arguments: list[Value]) -> Value:
            return getattr(builder, instruction)(arguments[0], context.get_constant(types.boolean, True))

        return types.int64(types.uint64), generate

    return intrinsic(operation)


trailing_zeros, leading_zeros = _zeros("cttz"), _zeros("ctlz")
plain_form(trailing_zeros)(lambda word: (int(word) & -int(word)).bit_length() - 1)
plain_form(leading_zeros)(lambda word: WORD - int(word).bit_length())


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def ones(_typing: Context, word: types.Type) -> tuple[Signature, Callable[..., Value]]:
    """How many bits of a word are set."""

    def generate(_context: BaseContext, builder: IRBuilder, _signature: Signature, arguments: list[Value]) -> Value:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


plain_form(ones)(lambda word: int(word).bit_count())


def level_offsets(size: int) -> Array:
    """The offset of each level's first word for numbers below `size`, and last the number of all words.

    >>> level_offsets(1000).tolist()[:4]
    [0, 17, 19, 19]
    """
    offsets = [0]
    words = size
    while True:
        words = (words + WORD - 1) // WORD
        offsets.append(offsets[-1] + words + 1)
        if words <= 1:
            break
    return np.array(offsets + [offsets[-1]] * (LEVELS + 1 - len(offsets)), np.int64)


@jit
def clear(bits: Array, offsets: Array, size: int) -> None:
    """Empty a set of numbers below `size`, in room for as many or more."""
    level = 0
    while offsets[level] < offsets[level + 1]:
        size = (size + 63) >> 6
        for w in range(offsets[level], offsets[level] + size + 1):
            bits[u(w)] = 0
        level += 1


@jit
def add(bits: Array, offsets: Array, p: int) -> None:
    """Put p into the set."""
    level = 0
    while True:
        w = u(offsets[level] + (p >> 6))
        before = bits[w]
        bits[w] = before | (_ONE << np.uint64(p & 63))
        level += 1
        if before != 0 or offsets[level] == offsets[level + 1]:
            return
        p >>= 6


@jit
def discard(bits: Array, offsets: Array, p: int) -> None:
    """Take p out of the set, which has it."""
    level = 0
    while True:
        w = u(offsets[level] + (p >> 6))
        after = bits[w] & ~(_ONE << np.uint64(p & 63))
        bits[w] = after
        level += 1
        if after != 0 or offsets[level] == offsets[level + 1]:
            return
        p >>= 6


@jit
def next_word(bits: Array, offsets: Array, w: int) -> int:
    """The first word after the word w of level 0 that holds a member; there must be one."""
    level = 0
    word = np.uint64(0)
    while word == 0:
        level += 1
        w += 1
        word = bits[u(offsets[level] + (w >> 6))] >> np.uint64(w & 63)
        w = w + trailing_zeros(word) if word != 0 else w >> 6
    while level > 1:
        level -= 1
        w = (w << 6) + trailing_zeros(bits[u(offsets[level] + w)])
    return w


@jit
def previous_word(bits: Array, offsets: Array, w: int) -> int:
    """The last word before the word w of level 0 that holds a member; there must be one."""
    level = 0
    word = np.uint64(0)
    while word == 0:
        level += 1
        word = bits[u(offsets[level] + (w >> 6))] << np.uint64(63 - (w & 63)) << np.uint64(1) if w & 63 else word
        w = w - 1 - leading_zeros(word) if word != 0 else w >> 6
    while level > 1:
        level -= 1
        w = (w << 6) + 63 - leading_zeros(bits[u(offsets[level] + w)])
    return w


_BYTES = np.uint64(0x0101010101010101)
_TOPS = np.uint64(0x8080808080808080)


def _select_table() -> Array:
    """The position of each byte's set bit number r, at byte + 256 r."""
    table = np.zeros(2048, np.uint8)
    for byte in range(256):
        ones = [i for i in range(8) if byte >> i & 1]
        for r, i in enumerate(ones):
            table[byte + 256 * r] = i
    return table


SELECT_TABLE = _select_table()


@jit
def byte_counts(word: np.uint64) -> np.uint64:
    """Prefix popcounts of a word's bytes: the last byte counts all set bits."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    return ((word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)) * _BYTES


@jit
def select(word: np.uint64, counts: np.uint64, r: int, table: Array) -> int:
    """The position of a word's set bit number r, from 0 on, without a branch: by its byte, then by a table."""
    full = ((np.uint64(r) * _BYTES | _TOPS) - counts) & _TOPS  # a bit for each byte that ends before the one
    byte = ((full >> np.uint64(7)) * _BYTES) >> np.uint64(53) & np.uint64(0x78)
    rest = np.uint64(r) - ((counts << np.uint64(8)) >> byte & np.uint64(255))
    position: int = int64(byte + table[u((word >> byte & np.uint64(255)) + (rest << np.uint64(8)))])
    return position
