"""The lock of a checkpoint: one run at a time, as far as this machine's files can tell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slidewise.errors import SlidewiseError

LOCK = ".slidewise.lock"  # beside Spark's own files, which Spark does not mind


@contextmanager
def locked(checkpoint: str) -> Iterator[None]:
    """Hold the checkpoint's lock; an error where another run holds it. It ends with the process, whatever ends that.

    A checkpoint on another machine has no lock: there Spark itself finds two queries once both write.
    """
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    if "://" in checkpoint:
        yield
        return
    path = Path(checkpoint, LOCK)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise SlidewiseError(f"the checkpoint {checkpoint} cannot be used: {path}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SlidewiseError(
                f"the checkpoint {checkpoint} is in use by another run{_holder(descriptor)}; stop that first, or give "
                "this job another checkpoint and another sink"
            ) from None
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    """Which process holds the lock, as far as its file says."""
    number = os.pread(descriptor, 20, 0).strip()
    return f" (process {number.decode()})" if number.isdigit() else ""
