"""A clock that compiled code reads: the processor's cycle counter on x86, the monotonic clock elsewhere.

Neither read waits for the instructions before it to retire, so a round may lend some nanoseconds to the next one. The
compiler moves no load or store across a read.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import cached_jit

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing import Context as TypingContext
    from numba.core.typing import Signature

COUNTER = platform.machine().lower() in ("x86_64", "amd64")
SECOND = 1_000_000_000
INTERRUPTED = 1_000  # nanoseconds: between two reads of the clock with nothing in between, only others' work takes that


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def now(_typing: TypingContext) -> tuple[Signature, Callable[..., ir.Value]]:
    """The time in ticks."""

    def code(
        _context: BaseContext, builder: ir.IRBuilder, _signature: Signature, _arguments: Sequence[ir.Value]
    ) -> ir.Value:
        word = ir.IntType(64)
        nothing = ir.FunctionType(ir.VoidType(), [])
        builder.asm(nothing, "", "~{memory}", [], side_effect=True)
        if COUNTER:
            read = cgutils.get_or_insert_function(builder.module, ir.FunctionType(word, []), "llvm.readcyclecounter")
            ticks = builder.call(read, [])
        else:
            ticks = _monotonic(builder, word)
        builder.asm(nothing, "", "~{memory}", [], side_effect=True)
        return ticks

    return types.int64(), code


def _monotonic(builder: ir.IRBuilder, word: ir.Type) -> ir.Value:
    """A call of the C library's clock_gettime, in nanoseconds."""
    place = cgutils.alloca_once(builder, ir.ArrayType(word, 2))
    number = ir.IntType(32)
    signature = ir.FunctionType(number, [number, place.type])
    read = cgutils.get_or_insert_function(builder.module, signature, "clock_gettime")
    builder.call(read, [ir.Constant(number, getattr(time, "CLOCK_MONOTONIC", 1)), place])
    parts = [builder.load(cgutils.gep_inbounds(builder, place, 0, at)) for at in range(2)]
    return builder.add(builder.mul(parts[0], ir.Constant(word, SECOND)), parts[1])


@cached_jit
def read_clock() -> int:
    """One read, from Python."""
    ticks: int = now()
    return ticks


@cached_jit
def empty_rounds(gaps: Array) -> None:
    """Rounds with nothing in them but the clock: what the clock costs, and what the machine takes away."""
    before = now()
    for i in range(gaps.size):
        after = now()
        gaps[i] = after - before
        before = after


@dataclass(frozen=True)
class CycleClock:
    """The clock: its name, how long a tick is, and what it can tell apart."""

    name: str
    ticks_per_ns: float
    step: float  # the smallest difference above 0 between two reads, in nanoseconds
    cost: float  # the median of rounds with nothing in them, in nanoseconds

    def ns(self, ticks: Array | float) -> Any:
        """Ticks as nanoseconds."""
        return ticks / self.ticks_per_ns


@cache
def calibrate(seconds: float = 0.2) -> CycleClock:
    """The clock, measured against Python's."""
    name = "cycle counter (llvm.readcyclecounter)" if COUNTER else f"clock_gettime ({sys.platform})"
    gaps = np.ones(200_000, np.int64)
    empty_rounds(gaps)
    rate = _rate(seconds) if COUNTER else 1.0
    differences = np.diff(np.unique(gaps[gaps > 0]))
    step = min(int(differences.min()) if len(differences) else 1, int(gaps[gaps > 0].min()))
    return CycleClock(name, rate, step / rate, float(np.median(gaps)) / rate)


def _rate(seconds: float) -> float:
    """Ticks per nanosecond: the median of several stretches, so that one interruption between two reads is no harm."""
    rates = []
    for _ in range(5):
        began, ticks = time.perf_counter_ns(), read_clock()
        time.sleep(seconds / 5)
        ended, more = time.perf_counter_ns(), read_clock()
        rates.append((more - ticks) / (ended - began))
    return float(np.median(rates))


@dataclass(frozen=True)
class Noise:
    """The noise of the machine: what other work takes from rounds that do nothing."""

    rounds: int
    share: float  # of the rounds that took longer than INTERRUPTED
    per_second: float
    lost: float  # share of the time that these rounds took
    longest: float  # nanoseconds


def measure_noise(clock: CycleClock, rounds: int) -> Noise:
    """How often, and for how long, this process is interrupted at the moment."""
    gaps = np.ones(rounds, np.int64)
    empty_rounds(gaps)
    ns = clock.ns(gaps)
    hit = ns > INTERRUPTED
    total = float(ns.sum())
    return Noise(rounds, float(hit.mean()), float(hit.sum()) / total * SECOND, float(ns[hit].sum()) / total, ns.max())
