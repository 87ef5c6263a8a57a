"""Sketches: nearly right answers with a known bound, from a state whose size does not grow with the window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from operator import add, or_, sub
from struct import unpack

from slidewise.operators.families.data_sketches import check_sketch, hll_sketch
from slidewise.operators.operator import Operator
from slidewise.operators.traits import AnswerKind, Takes, Traits, Words
from slidewise.operators.types import Value
from slidewise.operators.values import state_checks as checks
from slidewise.operators.values.hashing import MASK, hash64
from slidewise.operators.values.inputs import whole_number

_LANE = 64  # bits of one count in a count-min state


def make_bloom(bits: int = 4096, hashes: int = 4, probe: Value = None) -> Operator:
    """Which values are in the window: every one that is, and a few that are not (Bloom 1970).

    A value that is in the window is always found. After n distinct values, one that is not in the window is found
    with probability about (1 - e^(-hashes n / bits))^hashes: 0.2 % for 250 values and the default parameters.
    With a `probe` the answer is not the filter but whether it finds that value.

    >>> import slidewise as sw
    >>> w = sw.DabaLite(sw.bloom(bits=1024, hashes=3))
    >>> for user in ["ann", "bob"]:
    ...     w.insert(user)
    >>> "ann" in w.query(), "eve" in w.query()
    (True, False)
    >>> w = sw.DabaLite(sw.bloom(probe="ann"))
    >>> w.insert("ann")
    >>> w.query()
    True
    """
    bits = whole_number("bloom", "bits", bits, 8, 1 << 30)
    hashes = whole_number("bloom", "hashes", hashes, 1, 64)
    return Operator(
        name="bloom",
        identity=0,
        lift=partial(_bloom_lift, bits, hashes),
        combine=or_,
        lower=partial(BloomFilter, bits, hashes) if probe is None else partial(_finds, bits, hashes, probe),
        commutative=True,
        output="BloomFilter, or bool with a probe",
        state="int of `bits` bits",
        error="no false negatives; false positives (1 - e^(-hashes n / bits))^hashes",
        parameters={"bits": bits, "hashes": hashes} | ({} if probe is None else {"probe": probe}),
        make=make_bloom,
        is_state=checks.bits(bits),
        traits=Traits(
            takes=Takes.HASHABLE,
            answer=AnswerKind.OBJECT if probe is None else AnswerKind.BOOL,
            python_times=False,
            instead="ask it for one value: sw.bloom(probe='ann')",
            bounded=True,
            state_bytes=bits // 8,
            compiled=False,
            window_pass="bloom",
            words=Words("the last row that set each bit of the probe"),
        ),
        builtin=True,
    )


def _bloom_lift(bits: int, hashes: int, x: Value) -> int:
    at, step = hash64(x, 0), hash64(x, 1) | 1
    state = 0
    for _ in range(hashes):
        state |= 1 << at % bits
        at = (at + step) & MASK
    return state


def _finds(bits: int, hashes: int, probe: Value, state: int) -> bool:
    return probe in BloomFilter(bits, hashes, state)


@dataclass(frozen=True, slots=True, repr=False)
class BloomFilter:
    """The values of a window, asked with `in`; what it denies is not in the window, for certain.

    >>> import slidewise as sw
    >>> sw.bloom.lower(sw.bloom.lift("ann"))
    BloomFilter(bits=4096, hashes=4, ones=4)
    """

    bits: int
    hashes: int
    state: int

    def __contains__(self, value: object) -> bool:
        wanted = _bloom_lift(self.bits, self.hashes, value)
        return self.state & wanted == wanted

    @property
    def ones(self) -> int:
        """How many bits are set."""
        return self.state.bit_count()

    def false_positive_rate(self) -> float:
        """The probability that a value which is not in the window is found, from the share of set bits."""
        return (self.ones / self.bits) ** self.hashes

    def to_bytes(self) -> bytes:
        """The bits, the lowest bit of the first byte first."""
        return self.state.to_bytes((self.bits + 7) // 8, "little")

    def __repr__(self) -> str:
        return f"BloomFilter(bits={self.bits}, hashes={self.hashes}, ones={self.ones})"


def make_countmin(width: int = 1024, depth: int = 4) -> Operator:
    """How often each value is in the window, never too low (Cormode and Muthukrishnan 2005).

    A frequency is too high by at most e / width of the window's rows, with probability 1 - e^-depth: 0.27 % of the
    rows, for 98 of 100 values, with the default parameters.

    >>> import slidewise as sw
    >>> w = sw.SubtractOnEvict(sw.countmin)
    >>> for user in ["ann", "bob", "ann"]:
    ...     w.insert(user)
    >>> w.query().frequency("ann"), w.query().total
    (2, 3)
    """
    width = whole_number("countmin", "width", width, 1, 1 << 24)
    depth = whole_number("countmin", "depth", depth, 1, 64)
    return Operator(
        name="countmin",
        identity=0,
        lift=partial(_countmin_lift, width, depth),
        combine=add,
        lower=partial(CountMin, width, depth),
        inverse=sub,
        commutative=True,
        output="CountMin",
        state="int of width x depth counts, 64 bits each",
        error="never too low; too high by at most e / width of the rows with probability 1 - e^-depth",
        parameters={"width": width, "depth": depth},
        make=make_countmin,
        is_state=checks.bits(width * depth * _LANE),
        traits=Traits(
            takes=Takes.HASHABLE,
            answer=AnswerKind.OBJECT,
            python_times=False,
            state_bytes=8 * width * depth,
            compiled=False,
        ),
        builtin=True,
    )


def _countmin_lift(width: int, depth: int, x: Value) -> int:
    state = 0
    for lane in _lanes(width, depth, x):
        state |= 1 << lane * _LANE
    return state


def _lanes(width: int, depth: int, x: Value) -> list[int]:
    return [row * width + hash64(x, row) % width for row in range(depth)]


@dataclass(frozen=True, slots=True, repr=False)
class CountMin:
    """The frequencies of a window's values, never too low.

    >>> import slidewise as sw
    >>> sw.countmin.lower(sw.countmin.lift("ann"))
    CountMin(width=1024, depth=4, total=1)
    """

    width: int
    depth: int
    state: int

    def frequency(self, value: Value) -> int:
        """How often the value is in the window, or a little more."""
        return min(self.state >> lane * _LANE & MASK for lane in _lanes(self.width, self.depth, value))

    @property
    def total(self) -> int:
        """How many rows are in the window, exactly."""
        row = self.state & ((1 << self.width * _LANE) - 1)
        return sum(unpack(f"<{self.width}Q", row.to_bytes(self.width * 8, "little")))

    def __repr__(self) -> str:
        return f"CountMin(width={self.width}, depth={self.depth}, total={self.total})"


def make_hyperloglog(p: int = 12, sketch: bool = False) -> Operator:
    """How many distinct values are in the window, from 2^p bytes (Flajolet et al. 2007, Ertl 2017).

    The standard error is 1.04 / sqrt(2^p), 1.6 % for p = 12, at every size; small counts are nearly exact. With
    `sketch=True` the answer is the sketch in the format of Apache DataSketches, which Spark's `hll_sketch_estimate`
    and `hll_union` read; it has a hash of its own then, the one that they use.

    >>> import slidewise as sw
    >>> w = sw.DabaLite(sw.hyperloglog(p=14))
    >>> for user in ["ann", "bob", "ann"]:
    ...     w.insert(user)
    >>> w.query()
    2
    """
    check_sketch("hyperloglog", sketch)
    if sketch:
        return hll_sketch(p, make_hyperloglog)
    p = whole_number("hyperloglog", "p", p, 4, 18)
    return Operator(
        name="hyperloglog",
        identity=bytes(1 << p),
        lift=partial(_hyperloglog_lift, p),
        combine=_larger,
        lower=partial(_distinct, p),
        commutative=True,
        output="int64",
        state="bytes, 2^p",
        error="standard error 1.04 / sqrt(2^p)",
        parameters={"p": p},
        make=make_hyperloglog,
        is_state=checks.registers(1 << p, 65 - p),
        traits=Traits(
            takes=Takes.HASHABLE,
            answer=AnswerKind.INT,
            answers_empty=True,
            python_times=False,
            bounded=True,
            state_bytes=2**p,
            compiled=False,
            window_pass="hyperloglog",
            words=Words("registers that know when they run out"),
        ),
        builtin=True,
    )


def _hyperloglog_lift(p: int, x: Value) -> bytes:
    word = hash64(x)
    rest = word & ((1 << 64 - p) - 1)
    registers = bytearray(1 << p)
    registers[word >> 64 - p] = 65 - p - rest.bit_length()
    return bytes(registers)


def _larger(a: bytes, b: bytes) -> bytes:
    import numpy as np

    return np.maximum(np.frombuffer(a, np.uint8), np.frombuffer(b, np.uint8)).tobytes()


def _distinct(p: int, registers: bytes) -> int:
    """Ertl's improved raw estimator (arXiv:1702.01284, algorithm 6): no tables, no switch between small and large."""
    import numpy as np

    size, most = 1 << p, 65 - p
    counts = np.bincount(np.frombuffer(registers, np.uint8), minlength=most + 1).tolist()
    z = size * _tau(1 - counts[most] / size)
    for count in counts[most - 1 : 0 : -1]:
        z = (z + count) / 2
    z += size * _sigma(counts[0] / size)
    return round(size * size / (2 * math.log(2) * z))


def _sigma(x: float) -> float:
    """The share that registers still at zero add: x + x^2 + 2 x^4 + 4 x^8 + ..."""
    if x == 1.0:
        return math.inf
    total, before, weight = x, -1.0, 1.0
    while total != before:
        x *= x
        before = total
        total += x * weight
        weight *= 2
    return total


def _tau(x: float) -> float:
    """The share that full registers add."""
    if x in (0.0, 1.0):
        return 0.0
    total, before, weight = 1 - x, -1.0, 1.0
    while total != before:
        x = math.sqrt(x)
        before = total
        weight /= 2
        total -= (1 - x) ** 2 * weight
    return total / 3


bloom = make_bloom()
countmin = make_countmin()
hyperloglog = make_hyperloglog()
