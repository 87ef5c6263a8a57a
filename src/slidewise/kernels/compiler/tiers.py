"""Tiers: over few rows a kernel runs as plain Python, and is compiled when that has taken as long as compiling may.

Compiling a kernel takes a second or so, and a thousand rows of plain Python some milliseconds. So the first calls over
few rows are answered by Python, with the same bits; a kernel that is compiled, or kept on disk, is used at once.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from slidewise.kernels.compiler.machine_code import MachineCode
from slidewise.kernels.compiler.plain import plain

VARIABLE = "SLIDEWISE_COMPILE"
ALWAYS = "always"
FEW = 8_192  # rows of the longest array of a call that Python may run; less than Spark's batches have
BUDGET = 0.25  # seconds of Python for each kernel, after which it is compiled

_DTYPES = frozenset(map(np.dtype, ("f8", "i8", "u8", "i4", "i1", "u1", "?")))


def compile_always() -> None:
    """Run nothing as plain Python in this process and those it starts."""
    os.environ[VARIABLE] = ALWAYS


def compiles_always() -> bool:
    """Whether nothing runs as plain Python, or waits for a thread that compiles."""
    return os.environ.get(VARIABLE) == ALWAYS


def compile_later(dispatcher: object) -> None:
    """Let Python run the first calls of a kernel, where they are small."""
    if isinstance(dispatcher, Dispatcher):  # and not where NUMBA_DISABLE_JIT is set
        dispatcher._compile_for_args = Tiered(dispatcher)


class Tiered:
    """What Numba asks for a function when it has compiled none for the arguments; it calls what it is given."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._compile = dispatcher._compile_for_args
        self._seconds = 0.0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if self._is_for_python(arguments):
            return self._run
        return self._compile(*arguments, **named)

    def _is_for_python(self, arguments: tuple[Any, ...]) -> bool:
        """Whether a call costs less by Python than by compiling, as far as is known."""
        if self._seconds >= BUDGET or compiles_always():
            return False
        arrays = [x for x in arguments if isinstance(x, np.ndarray)]
        if not arrays or any(len(x) > FEW or x.dtype not in _DTYPES for x in arrays):
            return False
        kept = self._dispatcher._cache
        return not (isinstance(kept, MachineCode) and kept.has(tuple(map(self._dispatcher.typeof_pyval, arguments))))

    def _run(self, *arguments: Any) -> Any:
        began = time.thread_time()
        try:
            with np.errstate(all="ignore"):
                return plain(self._dispatcher)(*map(_as_numpy, arguments))
        finally:
            self._seconds += time.thread_time() - began


def _as_numpy(argument: Any) -> Any:
    """A float as NumPy's, which divides by zero."""
    return np.float64(argument) if type(argument) is float else argument
