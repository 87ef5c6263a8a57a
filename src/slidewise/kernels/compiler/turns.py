"""Processes that need the same machine code at once take turns: one compiles it, and the others wait and load it.

A turn is a lock on one byte of a file in the cache's folder, by the kernel's name. The lock ends with the process,
whatever ends that. Kernels that call others take turns in the order of the calls, which never run in a circle. Where
something goes wrong all the same, or a process that has the turn is stopped, waiting ends and everybody compiles.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

from slidewise.folders import PrivateFolder

LOCK_FILE = "turns.lock"
LONGEST = 60.0  # seconds; no kernel takes that long
_POLL = 0.01


class Turns:
    """The turns of this process in one folder of the cache."""

    def __init__(self, folder: PrivateFolder) -> None:
        self._folder = folder
        self._file: int | None = None
        self._process = 0

    def take(self, name: str) -> bool:
        """Take the turn for a kernel; whether another process had it meanwhile, which may have compiled it."""
        try:
            import fcntl
        except ImportError:  # on Windows everybody compiles
            return False
        waited = False
        until = time.monotonic() + LONGEST
        try:
            file = self._opened()
            while True:
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte_of(name))
                    return waited
                except (BlockingIOError, PermissionError):
                    waited = True
                if time.monotonic() > until:
                    return waited
                time.sleep(_POLL)
        except OSError:  # a disk without locks
            return waited

    def give(self, name: str) -> None:
        """Let the next process have its turn."""
        if self._file is not None and self._process == os.getpid():
            import fcntl

            with suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte_of(name))

    def _opened(self) -> int:
        """The file, which stays open: to close it would give all turns away. A forked process has none of its own."""
        if self._file is None or self._process != os.getpid():
            self._file = self._folder.open_for_locks(LOCK_FILE)
            self._process = os.getpid()
        return self._file


def turns_in(folder: PrivateFolder) -> Turns:
    """The turns in a folder; one object for each, since closing a second descriptor would give its locks away."""
    return _TURNS.setdefault(folder.path, Turns(folder))


_TURNS: dict[Path, Turns] = {}


def _byte_of(name: str) -> int:
    """The byte of the file that stands for a kernel; of two kernels with the same byte one waits for nothing."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=7).digest(), "big") >> 1
