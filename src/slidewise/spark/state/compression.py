"""Compression of a page's payload: what crosses to Spark's state and back costs time by the byte.

Most of a payload is numbers of eight bytes, whose high bytes hardly differ. So LZ4 goes over all first bytes of eight,
then all second ones, and so on, or over the payload as it is: a sample from its middle tells which compresses better.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numba import uintp as u

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import cached_jit

AS_IS, LZ4, LZ4_OF_PLANES = range(3)
_LEAST = 256  # bytes
_SAMPLE = 8_192
_BYTE = np.uint64(0xFF)


def compress(payload: bytes) -> tuple[int, bytes]:
    """The method that compresses a payload best, and the bytes."""
    if len(payload) < _LEAST:
        return AS_IS, payload
    start = max(0, (len(payload) - _SAMPLE) // 2)
    sample = payload[start - start % 8 :][:_SAMPLE]
    how = LZ4 if len(_lz4(sample)) < len(_lz4(_to_planes(sample))) else LZ4_OF_PLANES
    data = _lz4(payload if how == LZ4 else _to_planes(payload))
    return (how, data) if len(data) < len(payload) else (AS_IS, payload)


def decompress(how: int, data: bytes, size: int) -> bytes:
    """The payload, which had so many bytes; ValueError where it has others. No more memory is taken than for these."""
    real = -1
    if how == AS_IS:
        real = len(data)
    elif how in (LZ4, LZ4_OF_PLANES):
        real = _decompressed_size(np.frombuffer(data, np.uint8))
    if real != size:
        raise ValueError(f"what was made smaller by the way {how} has {real} bytes, and not {size}")
    if how == AS_IS:
        return data
    plain: bytes = _codec().decompress(data, size, asbytes=True)
    return plain if how == LZ4 else _from_planes(plain)


def _lz4(data: bytes) -> bytes:
    block: bytes = _codec().compress(data, asbytes=True)
    return block


@cache
def _codec() -> pa.Codec:
    return pa.Codec("lz4_raw")


@cached_jit
def _long_length(block: Array, at: Any) -> tuple[Any, Any]:
    """A length of 15 or more, which goes on in bytes up to one that is not 255, and the place behind it; -1 if none."""
    length: Any = np.int64(15)
    more = np.int64(255)
    while more == 255:
        if at >= len(block):
            return length, -1
        more = np.int64(block[at])
        at += 1
        length += more
    return length, at


@cached_jit
def _decompressed_size(block: Array) -> Any:
    """The size of an LZ4 block once decompressed; -1 where it is none. Arrow would leave missing bytes as they were."""
    at: Any = 0
    total: Any = 0
    while at < len(block):
        token = block[at]
        at += 1
        literals: Any = np.int64(token >> 4)
        if literals == 15:
            literals, at = _long_length(block, at)
            if at < 0:
                return -1
        at += literals
        total += literals
        if at == len(block):
            return total
        if at + 2 > len(block):
            return -1
        back = np.int64(block[at]) | np.int64(block[at + 1]) << 8
        at += 2
        if back == 0 or back > total:
            return -1
        length: Any = np.int64(token & 15)
        if length == 15:
            length, at = _long_length(block, at)
            if at < 0:
                return -1
        total += length + 4
    return -1


@cached_jit
def _split_planes(words: Array, out: Array) -> None:
    """Words as eight planes of their bytes."""
    for j in range(8):
        for i in range(len(words)):
            out[u(j * len(words) + i)] = np.uint8(words[u(i)] >> np.uint64(8 * j) & _BYTE)


@cached_jit
def _join_planes(planes: Array, out: Array) -> None:
    """The words that eight planes of bytes came of."""
    for i in range(len(out)):
        word = np.uint64(0)
        for j in range(8):
            word |= np.uint64(planes[u(j * len(out) + i)]) << np.uint64(8 * j)
        out[u(i)] = word


def _to_planes(data: bytes) -> bytes:
    """All first bytes of eight, all second ones and so on; bytes that are left over stay behind them."""
    whole = len(data) // 8 * 8
    out = np.empty(whole, np.uint8)
    _split_planes(np.frombuffer(data, "<u8", whole // 8), out)
    return out.tobytes() + data[whole:]


def _from_planes(data: bytes) -> bytes:
    """The bytes that `_to_planes` was given."""
    whole = len(data) // 8 * 8
    out = np.empty(whole // 8, "<u8")
    _join_planes(np.frombuffer(data, np.uint8, whole), out)
    return out.tobytes() + data[whole:]
