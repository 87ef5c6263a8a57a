"""What a thread compiles while events go on without it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Generic, TypeVar

T = TypeVar("T")
_TURN = 64  # events between two turns of the thread
_WAIT = 1e-6  # seconds, in which the thread can take the interpreter


class CompilingThread(Generic[T]):
    """Something that a thread makes, imports included; `result` is None where that fails, and others go on.

    A program that does nothing but push events keeps the interpreter to itself: Python lets the thread wait 5 ms each
    time it asks, and compiling, or loading what is compiled, asks some thousand times. So events give it a turn now and
    then.
    """

    def __init__(self, make: Callable[[], T | None]) -> None:
        self.result: T | None = None
        self._make = make
        self._events = 0
        self._thread = Thread(target=self._run, name="slidewise-compile")
        self._thread.start()

    def _run(self) -> None:
        with suppress(Exception):
            self.result = self._make()

    def is_done(self) -> bool:
        """Whether it is made, or never will be; to be asked at each event."""
        if not self._thread.is_alive():
            return True
        self._events += 1
        if not self._events % _TURN:
            time.sleep(_WAIT)
        return False
