"""Sketches in the formats of Apache DataSketches, whose hashes they share: Spark and others read and merge them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from slidewise.errors import SlidewiseError
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, Takes, Traits, Words
from slidewise.operators.types import Value
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.inputs import whole_number
from slidewise.operators.values.murmur import canonical, murmur

if TYPE_CHECKING:
    from slidewise.arrays import Array

MOST_RANK = 63  # of a register: HLL_8 has as many bits as DataSketches' coupons, six
HLL_HEAD = 40  # bytes before the registers
# Two longs of preamble, serial version 1, family HLL, lg k, room for 2^3 coupons; empty and compact, no coupon, HLL_8.
_EMPTY_HLL = struct.Struct("<8B")
_HLL = struct.Struct("<8B3dii")
_OUT_OF_ORDER = 16  # which says that the estimate comes of the registers, not of the order in which values came
_ADDRESS = (1 << 26) - 1  # the bits of a hash that tell the register


def hll_sketch(p: int, make: Callable[..., Operator]) -> Operator:
    """HyperLogLog with the hash and the registers of DataSketches, which gives the bytes of its HLL_8 sketch."""
    p = whole_number("hyperloglog", "p", p, 4, 21)
    return Operator(
        name="hyperloglog",
        identity=bytes(1 << p),
        lift=partial(_hll_lift, p),
        combine=_larger,
        lower=partial(hll_bytes, p),
        commutative=True,
        output="bytes: an HLL sketch of DataSketches",
        state="bytes, 2^p",
        error="standard error 1.04 / sqrt(2^p)",
        parameters={"p": p, "sketch": True},
        make=make,
        is_state=checks.registers(1 << p, MOST_RANK),
        traits=Traits(
            takes=Takes.HASHABLE,
            answer=AnswerKind.BYTES,
            answers_empty=True,
            python_times=False,
            bounded=True,
            state_bytes=2**p,
            compiled=False,
            window_pass="hll_sketch",
            words=Words("registers that know when they run out"),
        ),
        builtin=True,
    )


def _hll_lift(p: int, x: Value) -> bytes:
    registers = bytearray(1 << p)
    data = canonical(x, "hyperloglog")
    if data:
        low, high = murmur(data)
        registers[low & _ADDRESS & (1 << p) - 1] = min(64 - high.bit_length(), MOST_RANK - 1) + 1
    return bytes(registers)


def _larger(a: bytes, b: bytes) -> bytes:
    import numpy as np

    return np.maximum(np.frombuffer(a, np.uint8), np.frombuffer(b, np.uint8)).tobytes()


def hll_bytes(p: int, registers: bytes) -> bytes:
    """The registers as a sketch: HLL_8 in HLL mode, marked as merged; or an empty sketch.

    >>> hll_bytes(4, bytes(16)).hex(), hll_bytes(4, bytes([3] + [0] * 15))[:8].hex()
    ('02010704030c0008', '0a0107040010000a')
    """
    import numpy as np

    counts = np.bincount(np.frombuffer(registers, np.uint8), minlength=MOST_RANK + 1)
    if counts[0] == len(registers):
        return empty_hll(p)
    return hll_head(p, counts) + registers


def empty_hll(p: int) -> bytes:
    """The sketch of no values."""
    return _EMPTY_HLL.pack(2, 1, 7, p, 3, 4 | 8, 0, 2 << 2)


def hll_head(p: int, counts: Array) -> bytes:
    """What stands before the registers, given how many of them have each rank: their sums of 2^-rank, both exact."""
    weights = [int(count) * 2.0**-rank for rank, count in enumerate(counts)]
    sums = sum(weights[:32]), sum(weights[32:])
    return _HLL.pack(10, 1, 7, p, 0, _OUT_OF_ORDER, 0, 2 << 2 | 2, 0.0, *sums, int(counts[0]), 0)


def make_theta(lg_k: int = 12, sketch: bool = False) -> Operator:
    """How many distinct values are in the window, by the 2^lg_k least of their hashes (Dasgupta et al. 2016).

    Up to 2^lg_k values are counted exactly; beyond, the standard error is 1 / sqrt(2^lg_k - 1), 1.6 % for lg_k = 12.
    With `sketch=True` the answer is a compact theta sketch of Apache DataSketches, from which Spark and others make
    unions, intersections and differences.

    >>> import slidewise as sw
    >>> w = sw.DabaLite(sw.theta(lg_k=10))
    >>> for user in ["ann", "bob", "ann"]:
    ...     w.insert(user)
    >>> w.query()
    2
    """
    lg_k = whole_number("theta", "lg_k", lg_k, 4, 21)
    check_sketch("theta", sketch)
    k = 1 << lg_k
    return Operator(
        name="theta",
        identity=b"",
        lift=_theta_lift,
        combine=partial(_least, k + 1),
        lower=partial(_theta_bytes_of if sketch else _theta_estimate, k),
        commutative=True,
        output="bytes: a theta sketch of DataSketches" if sketch else "int64",
        state="bytes: the 2^lg_k + 1 least hashes, 8 bytes each",
        error="exact up to 2^lg_k values; then standard error 1 / sqrt(2^lg_k - 1)",
        parameters={"lg_k": lg_k} | ({"sketch": True} if sketch else {}),
        make=make_theta,
        is_state=partial(_is_theta, k + 1),
        traits=Traits(
            takes=Takes.HASHABLE,
            answer=AnswerKind.BYTES if sketch else AnswerKind.INT,
            answers_empty=True,
            python_times=False,
            bounded=True,
            state_bytes=8 * (k + 1),
            compiled=False,
            window_pass="theta_sketch" if sketch else "theta",
            words=Words("how often each hash is in the window, and a tree that finds the least ones"),
        ),
        builtin=True,
    )


def check_sketch(operator: str, sketch: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(sketch, bool):
        raise SlidewiseError(f"{operator}: sketch is True, for the sketch's bytes, or False, not {sketch!r}")


THETA_SHIFT = 1  # hashes have 63 bits, so that they are positive in every language


def _theta_lift(x: Value) -> bytes:
    data = canonical(x, "theta")
    low = murmur(data)[0] >> THETA_SHIFT if data else 0
    return low.to_bytes(8, "little") if low else b""


def _least(most: int, a: bytes, b: bytes) -> bytes:
    """The least hashes of both."""
    import numpy as np

    if not a or not b:
        return a or b
    return np.union1d(np.frombuffer(a, "<u8"), np.frombuffer(b, "<u8"))[:most].tobytes()


def _is_theta(most: int, state: object) -> bool:
    """Whether these are at most so many hashes, in order, none twice."""
    import numpy as np

    if type(state) is not bytes or len(state) % 8 or len(state) > 8 * most:
        return False
    hashes = np.frombuffer(state, "<u8")
    return not len(hashes) or bool(hashes[0] > 0 and hashes[-1] < 1 << 63 and (hashes[1:] > hashes[:-1]).all())


def _theta_estimate(k: int, state: bytes) -> int:
    if len(state) <= 8 * k:
        return len(state) // 8
    return round(k * 2.0**63 / int.from_bytes(state[8 * k :], "little"))


def _theta_bytes_of(k: int, state: bytes) -> bytes:
    return theta_bytes(k, state)


_THETA = struct.Struct("<6BH")
_SEED_HASH = 0x93CC  # of 9001
_ORDERED = 2 | 8 | 16  # and compact, and not to be written to


def theta_bytes(k: int, hashes: bytes) -> bytes:
    """A compact theta sketch, in order: all hashes, or the k least and the one behind them as theta.

    >>> theta_bytes(16, b"").hex(), theta_bytes(16, _theta_lift(1)).hex()
    ('01030300001ecc93', '01030300003acc9315f97dcbbd86a105')
    """
    count = len(hashes) // 8
    if not count:
        return _THETA.pack(1, 3, 3, 0, 0, _ORDERED | 4, _SEED_HASH)
    if count == 1:
        return _THETA.pack(1, 3, 3, 0, 0, _ORDERED | 32, _SEED_HASH) + hashes
    if count <= k:
        return _THETA.pack(2, 3, 3, 0, 0, _ORDERED, _SEED_HASH) + struct.pack("<if", count, 1.0) + hashes
    head = _THETA.pack(3, 3, 3, 0, 0, _ORDERED, _SEED_HASH) + struct.pack("<if", k, 1.0)
    return head + hashes[8 * k :] + hashes[: 8 * k]


theta = make_theta()
