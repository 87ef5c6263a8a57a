"""Compilation of all experiments' loops before the first run, in several processes that share the disk cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from time import perf_counter, process_time

import numpy as np

from slidewise.evaluation.events import Events
from slidewise.evaluation.measure import timed_runs
from slidewise.evaluation.result_store import ResultRows, ResultTables
from slidewise.kernels.compiler.cache import cache_folder

Pair = tuple[str, str]  # algorithm, operator


def compile_all(pairs: Sequence[Pair], processes: int, done: Callable[[str], None]) -> ResultTables:
    """Compile what is not on disk yet, in so many processes: seconds of the processor for each pair, and of all.

    Where nothing can be kept on disk another process is of no use.
    """
    began = perf_counter()
    processes = 1 if cache_folder() is None else min(processes, len(pairs))
    rows: ResultRows = []
    try:
        for (algorithm, operator), seconds, compiled in _in_processes(pairs, processes):
            rows.append({"algorithm": algorithm, "operator": operator, "seconds": seconds, "compiled": compiled})
            done(f"compile {algorithm}, {operator}")
    except BrokenProcessPool:  # what is missing is compiled when it is needed
        processes = 1
    return {"compiled": rows, "compiling": [{"processes": processes, "seconds": perf_counter() - began}]}


def _in_processes(pairs: Sequence[Pair], processes: int) -> Iterator[tuple[Pair, float, bool]]:
    if processes < 2:
        for pair in pairs:
            yield (pair, *compile_pair(*pair))
        return
    longest_first = sorted(pairs, key=lambda pair: pair[0] != "Fiba")
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(compile_pair, *pair): pair for pair in longest_first}
        for future in as_completed(running):
            yield (running[future], *future.result())


def compile_pair(algorithm: str, operator: str) -> tuple[float, bool]:
    """Run an algorithm's loops for some rows: seconds of the processor, and whether anything had to be compiled."""
    began = process_time()
    if operator == "relative_variation":
        timed_runs.events(algorithm, Events(np.arange(8), np.arange(1, 9), 0, ""), 4, 8)
    else:
        values = timed_runs.values_of(operator, 0, 8)
        timed_runs.rounds(algorithm, operator, values, 2, 4)
        timed_runs.fill_and_drain(algorithm, operator, values, 2, 4)
    return process_time() - began, timed_runs.compiled_anew(algorithm, operator)
