"""Powers of two from 0.5 to 1, by additions and multiplications alone: the same bits in Python, NumPy and kernels.

A table has the powers of 128 steps, with what is rounded off them, and a polynomial goes on from the nearest. The error
is less than 0.51 units in the last place.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

_BITS = 256
_BLOCK = 4_096


def _powers() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """0.5 * 2^(i / 128), and what is rounded off it."""
    step = 2 << _BITS
    for _ in range(7):
        step = isqrt(step << _BITS)
    power, highs, lows = 1 << _BITS, [], []
    for i in range(129):
        power = 2 << _BITS if i == 128 else power
        high = power / (2 << _BITS)
        highs.append(high)
        lows.append((power - int(high * 2.0 ** (_BITS + 1))) / (2 << _BITS))
        power = power * step >> _BITS
    return tuple(highs), tuple(lows)


HIGHS, LOWS = _powers()


def weight_of_share(share: float, highs: Any = HIGHS, lows: Any = LOWS) -> float:
    """0.5 * 2^share, of a share of a half-life from 0 to 1.

    >>> weight_of_share(0.0), weight_of_share(0.5), weight_of_share(1.0)
    (0.5, 0.7071067811865476, 1.0)
    """
    i = int(share * 128.0 + 0.5)
    z = (share - i * 0.0078125) * 0.6931471805599453
    q = z * (1.0 + z * (0.5 + z * (0.16666666666666666 + z * (0.041666666666666664 + z * 0.008333333333333333))))
    high: float = highs[i]
    weight: float = high + (lows[i] + high * q)
    return weight


def weights_of_shares(shares: Any) -> Any:
    """The same of a vector, in blocks that stay in the processor's caches."""
    import numpy as np

    highs, lows, weights = np.array(HIGHS), np.array(LOWS), np.empty(len(shares))
    for start in range(0, len(shares), _BLOCK):
        part = shares[start : start + _BLOCK]
        i = (part * 128.0 + 0.5).astype(np.int64)
        z = (part - i * 0.0078125) * 0.6931471805599453
        q = z * (1.0 + z * (0.5 + z * (0.16666666666666666 + z * (0.041666666666666664 + z * 0.008333333333333333))))
        high = highs[i]
        np.add(high, lows[i] + high * q, out=weights[start : start + _BLOCK])
    return weights
