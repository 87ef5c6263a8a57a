"""Threads for passes over many rows: as many as there are processors, or as the environment says."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from slidewise.errors import SlidewiseError

VARIABLE = "SLIDEWISE_THREADS"


def stay_single() -> None:
    """Limit this process to one thread, unless the environment says otherwise: its neighbours use the other cores."""
    os.environ.setdefault(VARIABLE, "1")


def most_threads() -> int:
    """The greatest number of threads at once."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise SlidewiseError(f"{VARIABLE}={text!r} in the environment is no number of threads from 1 on")
    return int(text)


def share_out(count: int, most: int, work: Callable[[int, int], object], pieces: int = 0) -> None:
    """Call `work(a, b)` for parts a to b of 0 to count, at most so many of them, at once where there are threads.

    With more `pieces` than that a thread takes one after the other, and the fastest the most.
    """
    threads = max(1, min(most, most_threads(), count))
    parts = max(threads, min(pieces - pieces % threads, count))
    cuts = [count * i // parts for i in range(parts + 1)]
    queue = iter(range(parts))

    def worker() -> None:
        for i in queue:  # which hands each number to one thread
            work(cuts[i], cuts[i + 1])

    if threads == 1:
        worker()
        return
    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(worker) for _ in range(1, threads)]
        try:
            worker()
        except BaseException:
            for _ in queue:  # nobody needs the rest
                pass
            raise
        for other in others:
            other.result()
