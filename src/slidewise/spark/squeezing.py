"""A page's payload made smaller: what crosses to Spark's state and back costs time by the byte.

Most of a payload is numbers of eight bytes, whose high bytes hardly differ. So it is tried as it is, and with all first
bytes of eight together, then all second ones, and so on; LZ4 goes over both, and the smallest is taken.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

AS_IS, LZ4, LZ4_OF_PLANES = range(3)
_LEAST = 256  # bytes


def squeezed(payload: bytes) -> tuple[int, bytes]:
    """How it was done, and the bytes."""
    if len(payload) < _LEAST:
        return AS_IS, payload
    tried = ((LZ4, payload), (LZ4_OF_PLANES, _planes(payload)))
    found = [(AS_IS, payload), *((how, _codec().compress(data, asbytes=True)) for how, data in tried)]
    return min(found, key=lambda one: len(one[1]))


def unsqueezed(how: int, data: bytes, size: int) -> bytes:
    """The payload, which had so many bytes."""
    if how == AS_IS:
        return data
    plain: bytes = _codec().decompress(data, size, asbytes=True)
    return plain if how == LZ4 else _eights(plain)


@cache
def _codec() -> Any:
    import pyarrow as pa

    return pa.Codec("lz4_raw")


def _planes(data: bytes) -> bytes:
    whole = len(data) // 8 * 8
    return np.frombuffer(data, np.uint8, whole).reshape(-1, 8).T.tobytes() + data[whole:]


def _eights(data: bytes) -> bytes:
    whole = len(data) // 8 * 8
    return np.frombuffer(data, np.uint8, whole).reshape(8, -1).T.tobytes() + data[whole:]
