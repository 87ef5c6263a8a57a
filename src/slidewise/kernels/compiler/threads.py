"""How many threads a pass over many rows may use: all processors, or as many as the environment says."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from slidewise.errors import SlidewiseError

VARIABLE = "SLIDEWISE_THREADS"


def stay_single() -> None:
    """From here on this process uses one thread, unless told otherwise: its neighbours use the other processors."""
    os.environ.setdefault(VARIABLE, "1")


def most_threads() -> int:
    """How many threads there may be at once."""
    said = os.environ.get(VARIABLE, "")
    if not said:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not said.isdecimal() or int(said) < 1:
        raise SlidewiseError(f"{VARIABLE}={said!r} in the environment is no number of threads from 1 on")
    return int(said)


def share_out(count: int, most: int, work: Callable[[int, int], object], pieces: int = 0) -> None:
    """Call `work(a, b)` for parts a to b of 0 to count, at most so many of them, at once where there are threads.

    With more `pieces` than that a thread takes one after the other, and the fastest the most.
    """
    threads = max(1, min(most, most_threads(), count))
    parts = max(threads, min(pieces - pieces % threads, count))
    cuts = [count * i // parts for i in range(parts + 1)]
    waiting = iter(range(parts))

    def go() -> None:
        for i in waiting:  # which hands each number to one thread
            work(cuts[i], cuts[i + 1])

    if threads == 1:
        go()
        return
    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(go) for _ in range(1, threads)]
        try:
            go()
        except BaseException:
            for _ in waiting:  # nobody needs the rest
                pass
            raise
        for other in others:
            other.result()
