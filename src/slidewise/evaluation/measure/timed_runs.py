"""Timed runs of one algorithm and operator: memory is made before the clock starts, and a run is one call of a loop."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import slidewise as sw
from slidewise.arrays import Array
from slidewise.compiled.fiba import CompiledFiba
from slidewise.compiled.peer_source import slots
from slidewise.compiled.source import Steps
from slidewise.compiled.window import Program
from slidewise.errors import SlidewiseError
from slidewise.evaluation.events import Events
from slidewise.evaluation.measure.loops import RINGS, loops_of
from slidewise.operators.layout import Layout

# An operator's name in the tables, its name in the library, and the type of its input.
OPERATORS = {
    "sum": ("sum", "int64"),
    "sum of floats": ("sum", "float64"),
    "geomean": ("geomean", "float64"),
    "bloom": ("bloom", "int64"),
    "max": ("max", "int64"),
    "relative_variation": ("relative_variation", "int64"),
}
MIN_ARITY = 4
_UNUSED: Array = np.empty(0, np.int64)
_FILTERS = Layout(("V512",), ("int64",), scalar=True)


@dataclass(frozen=True)
class Timing:
    """The result of a timed loop, and what happened meanwhile."""

    ticks: int
    total: float  # of the answers
    allocations: int  # how often Numba's runtime was asked for memory
    switches: int  # how often the system took the processor away, where it says so; -1 where not
    seconds: float  # of the processor's time, from the first row that fills the window on


def layout_of(operator: str) -> Layout:
    name, dtype = OPERATORS[operator]
    layout = _FILTERS if name == "bloom" else getattr(sw, name).layout((dtype,))
    if layout is None:
        raise SlidewiseError(f"{operator} has no compiled form")
    return layout


def state_bytes(operator: str) -> int:
    """How many bytes a partial takes."""
    return sum(np.dtype(field).itemsize for field in layout_of(operator).fields)


def window_bytes(algorithm: str, operator: str, n: int) -> int:
    """About how many bytes an algorithm's arrays take for n rows."""
    if algorithm == "Fiba":
        nodes = max(n, 8) // (MIN_ARITY - 1) + 4
        return nodes * (8 * (4 * MIN_ARITY + 5) + state_bytes(operator) * (2 * MIN_ARITY + 1))
    steps = RINGS[algorithm]
    return slots(algorithm, n) * (len(steps.rings) * state_bytes(operator) + 8 * len(steps.positions))


@cache
def _loops(algorithm: str, operator: str) -> dict[str, Any]:
    name, dtype = OPERATORS[operator]
    return loops_of(algorithm, name, layout_of(operator), dtype, MIN_ARITY)


def compiled_anew(algorithm: str, operator: str) -> bool:
    """Whether a loop that was run in this process was compiled in it, and not found on disk."""
    entries = (loop for name, loop in _loops(algorithm, operator).items() if name.startswith("run_"))
    return any(loop.signatures and not loop.stats.cache_hits for loop in entries)


def values_of(operator: str, seed: int, count: int = 1 << 16) -> Array:
    """The rows of the synthetic experiments: so many numbers, over and over."""
    choose = np.random.default_rng(seed)
    if OPERATORS[operator][1] == "float64":
        return choose.uniform(0.5, 2.0, count)
    return choose.integers(-1_000_000, 1_000_000, count)


def _arrays(algorithm: str, operator: str, n: int) -> list[Array]:
    """The arrays of an empty window with room for n rows, every page of them touched."""
    layout = layout_of(operator)
    if algorithm == "Fiba":
        name, dtype = OPERATORS[operator]
        window = CompiledFiba(getattr(sw, name), (dtype,), Program(Steps((), (), (), (), ""), layout, {}), MIN_ARITY)
        window._make_room(n)
        arrays = list(window._arrays)
        for at, array in enumerate(arrays):
            arrays[at] = array.copy()
    else:
        steps = RINGS[algorithm]
        capacity = slots(algorithm, n)
        arrays = [np.empty(capacity, field) for _ in steps.rings for field in layout.fields]
        arrays += [np.empty(capacity, np.int64) for _ in steps.positions]
        for array in arrays:
            array.view(np.uint8).fill(0)
    if layout is _FILTERS:
        arrays = [a.view(np.int64).reshape(*a.shape, 64) if a.dtype.kind == "V" else a for a in arrays]
    return arrays


def rounds(algorithm: str, operator: str, values: Array, n: int, count: int, gaps: Array | None = None) -> Timing:
    """Rounds of evict, insert and query on a window of n rows; each one's ticks go into `gaps` where there is one."""
    more = _UNUSED if gaps is None else gaps
    return _run(algorithm, operator, "run_rounds", n, values, n, count, more, _total_slot(operator))


def fill_and_drain(algorithm: str, operator: str, values: Array, n: int, rows: int) -> Timing:
    """Insert and query up to n rows, evict all, and again."""
    return _run(algorithm, operator, "run_fill_and_drain", n, values, n, rows)


def events(
    algorithm: str, stream: Events, width: int, end: int, gaps: Array = _UNUSED, gone: Array = _UNUSED
) -> Timing:
    """A window of so many microseconds over the first `end` events, timed from the one at which another leaves.

    Each event's ticks go into `gaps`, and into `gone` how many rows left then.
    """
    operator = "relative_variation"
    return _run(
        *(algorithm, operator, "run_events", stream.most(width) + 1, stream.values),
        *(stream.times, width, stream.start(width), end, gaps, gone, _total_slot(operator)),
    )


def _total_slot(operator: str) -> Array:
    """An array of one number, into which a loop writes its total, so that the compiler leaves no answer out."""
    return np.zeros(1, layout_of(operator).outputs[0])


def _run(algorithm: str, operator: str, loop: str, room: int, values: Array, *arguments: Array | int) -> Timing:
    function = _loops(algorithm, operator)[loop]
    arrays = _arrays(algorithm, operator, room)
    zero = 0.0 if layout_of(operator).outputs[0] == "float64" else 0
    with _no_collection():
        before, switches = allocations(), _switches()
        start = time.thread_time()
        ticks, total = function(*arrays, values, zero, *arguments)
        seconds = time.thread_time() - start
        switched = _switches() - switches if switches >= 0 else -1
        return Timing(int(ticks), total, allocations() - before, switched, seconds)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Python's garbage collector stays away; it could not run inside compiled code, but between two calls."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _switches() -> int:
    """How often this thread had to give way to another so far."""
    try:
        import resource

        return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
    except (ImportError, AttributeError):
        return -1


def allocations() -> int:
    """How often Numba's runtime has given memory so far; compiled code has no other source of it."""
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys
    from numba.core.runtime._nrt_python import memsys_enable_stats, memsys_stats_enabled

    rtsys.initialize(cpu_target.target_context)
    if not memsys_stats_enabled():
        memsys_enable_stats()
    return int(rtsys.get_allocation_stats().alloc)
