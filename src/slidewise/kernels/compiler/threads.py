"""Work over many rows shared out among threads: as many as there are processors, or as the environment says.

Threads are started when they are first needed and wait for more after that. The thread that shares work out does its
share, so nothing waits for a thread that is busy elsewhere, and a part that shares out its own work does it all itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context

from slidewise.errors import SlidewiseError

VARIABLE = "SLIDEWISE_THREADS"
_MOST_PARTS = 64
_MOST_THREADS = 256


class PartSize:
    """The rows that are worth waking a thread for."""

    rows = 65_536


Work = Callable[[int, int], object]


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


def worth(rows: int) -> int:
    """How many threads so many rows are worth, if there are as many."""
    return max(1, rows // PartSize.rows)


def free_threads(rows: int) -> int:
    """How many threads so many rows get, here and now."""
    return 1 if worth(rows) < 2 or _here.busy else min(worth(rows), most_threads())


def parts_of(rows: int) -> int:
    """How many parts so many rows are cut into where answers may depend on the cuts: never on the number of threads."""
    return min(1 << (worth(rows).bit_length() - 1), _MOST_PARTS)


@contextmanager
def for_few_rows() -> Iterator[None]:
    """Cut few rows into parts, too: what is compiled for many is compiled then."""
    before, PartSize.rows = PartSize.rows, 8
    try:
        yield
    finally:
        PartSize.rows = before


def share_rows(count: int, work: Work) -> None:
    """Call `work(a, b)` for parts a to b of so many rows, where the cuts do not matter; few rows are one part."""
    threads = free_threads(count)
    if threads < 2:
        work(0, count)
    else:
        share_out(count, threads, work, min(worth(count), 4 * threads))


def share_out(count: int, most: int, work: Work, pieces: int = 0) -> None:
    """Call `work(a, b)` for parts a to b of 0 to count, at most so many of them, at once where there are threads.

    With more `pieces` than that a thread takes one after the other, and the fastest the most. Where several parts
    fail, the error is that of the first, and no part begins after it.
    """
    threads = max(1, min(most, most_threads(), count, _MOST_THREADS))
    parts = max(threads, min(pieces - pieces % threads, count))
    cuts = [count * i // parts for i in range(parts + 1)]
    share_parts(cuts, work, threads)


def share_parts(cuts: list[int], work: Work, most: int | None = None) -> None:
    """Call `work(a, b)` for each two neighbouring cuts, at once where there are threads."""
    parts = len(cuts) - 1
    if parts == 1:
        work(cuts[0], cuts[1])
        return
    threads = 1 if _here.busy else min(parts, most_threads(), most or _MOST_THREADS)
    if threads <= 1:
        for i in range(parts):
            work(cuts[i], cuts[i + 1])
        return
    queue = iter(range(parts))
    errors: dict[int, BaseException] = {}

    def worker() -> None:
        with _busy():
            for i in queue:  # which hands each number to one thread
                try:
                    work(cuts[i], cuts[i + 1])
                except BaseException as error:
                    errors[i] = error
                    _drain(queue)

    helpers = _start(worker, threads - 1)
    try:
        worker()
    finally:
        _drain(queue)
        for helper in helpers:
            if not helper.cancel():
                helper.result()
    if errors:
        raise next((error for error in errors.values() if not isinstance(error, Exception)), errors[min(errors)])


def _drain(queue: Iterator[int]) -> None:
    """Take what is left, which nobody needs."""
    for _ in queue:
        pass


class _Here(threading.local):
    """Whether this thread is at work on a part."""

    busy = False


_here = _Here()


@contextmanager
def _busy() -> Iterator[None]:
    before, _here.busy = _here.busy, True
    try:
        yield
    finally:
        _here.busy = before


class _Threads:
    """The threads of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pool: ThreadPoolExecutor | None = None


_threads = _Threads()


def _forget() -> None:
    """Leave the threads to the process that has them: a fork has none."""
    _threads.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _start(worker: Callable[[], None], count: int) -> list[Future[None]]:
    """Begin the same in other threads, each in a copy of this one's context; in none where no thread can be had."""
    helpers = []
    try:
        with _threads.lock:
            if _threads.pool is None:
                _threads.pool = ThreadPoolExecutor(_MOST_THREADS, "slidewise")
        for _ in range(count):
            helpers.append(_threads.pool.submit(copy_context().run, worker))
    except RuntimeError:  # the interpreter is going, or the system has no more threads
        pass
    return helpers
