"""Bytes as text of seven bits a character, and back: how pages lie in Spark's state.

Spark hands state to Python as a pickle, in which it writes binary byte by byte, as text of which half the characters
take two bytes. Text of ASCII alone it copies. So a page that is 1/7 longer takes a quarter of the time to read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uintp as u

from slidewise.errors import SnapshotError
from slidewise.kernels.compiler.jit import cached_jit

_SEVEN = np.uint64(0x7F)
_EIGHT = np.uint64(0xFF)


@cached_jit
def _spread(data: Any, out: Any) -> None:
    """Every seven bytes as eight of seven bits."""
    for i in range(len(out) // 8):
        word = np.uint64(0)
        for j in range(7):
            word |= np.uint64(data[u(7 * i + j)]) << np.uint64(8 * j)
        for j in range(8):
            out[u(8 * i + j)] = (word >> np.uint64(7 * j)) & _SEVEN


@cached_jit
def _joined(data: Any, out: Any) -> None:
    """Every eight bytes of seven bits as seven."""
    for i in range(len(data) // 8):
        word = np.uint64(0)
        for j in range(8):
            word |= np.uint64(data[u(8 * i + j)]) << np.uint64(7 * j)
        for j in range(7):
            out[u(7 * i + j)] = (word >> np.uint64(8 * j)) & _EIGHT


def as_text(data: bytes) -> str:
    """Bytes as text of ASCII alone.

    >>> as_text(bytes([255, 1])), as_bytes(as_text(bytes([255, 1])))
    ('\\x7f\\x03\\x00', b'\\xff\\x01')
    """
    groups = -(-len(data) // 7)
    padded = np.zeros(7 * groups, np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    out = np.empty(8 * groups, np.uint8)
    _spread(padded, out)
    return out[: -(-8 * len(data) // 7)].tobytes().decode("ascii")


def as_bytes(text: str) -> bytes:
    """The bytes that `as_text` made this text of."""
    if not isinstance(text, str) or not text.isascii():
        raise SnapshotError(
            "a page of the state is no text of seven bits a character; restore the checkpoint from a copy"
        )
    size = len(text) * 7 // 8
    groups = -(-len(text) // 8)
    padded = np.zeros(8 * groups, np.uint8)
    padded[: len(text)] = np.frombuffer(text.encode("ascii"), np.uint8)
    out = np.empty(7 * groups, np.uint8)
    _joined(padded, out)
    return out[:size].tobytes()
