"""The folder of the cache of machine code, and the digest that invalidates it.

Kernels of this package are cached in a private folder whose name carries a digest of this whole package and of what
compiled it, so what an older or changed Slidewise compiled is never used. It is the same digest in a folder and in a
zip archive, such as Spark's executors are sent: what one compiled, the other loads. Where no folder can be trusted,
nothing is cached.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import stat
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType

from slidewise.folders import UNFINISHED, FolderCandidate, NotPrivateError, PrivateFolder, local_candidates, user_cache
from slidewise.kernels.compiler.package_files import package_files
from slidewise.kernels.compiler.turns import LOCK_FILE

VARIABLE = "SLIDEWISE_CACHE_DIR"
OFF = "off"
SUFFIX = ".kernel"
NOTE = ".note"  # of a file that says what has been compiled already

_PREFIX = "kernels-"
_FOLDERS = re.compile(rf"{_PREFIX}[0-9a-f]{{20}}")
_DAY = 86_400
_UNUSED = 30 * _DAY


@cache
def cache_folder() -> PrivateFolder | None:
    """A folder of this user's alone that can be written, or None: then kernels are compiled anew in each process."""
    if os.environ.get(VARIABLE) == OFF or package_digest() is None:
        return None
    for candidate in _candidates():
        folder = PrivateFolder(candidate.path / f"{_PREFIX}{package_digest()}")
        try:
            PrivateFolder(candidate.path).make()
            is_new = folder.make()
        except OSError as error:
            if candidate.variable == VARIABLE or (isinstance(error, NotPrivateError) and candidate.variable):
                _warn(candidate.variable, error)
            continue
        with suppress(OSError):
            _mark_used(folder)
            if is_new:
                _remove_unused(candidate.path)
        return folder
    return None


def _candidates() -> Iterator[FolderCandidate]:
    chosen = os.environ.get(VARIABLE)
    if chosen:
        yield FolderCandidate(Path(os.path.abspath(chosen)), VARIABLE)
    try:
        candidate = user_cache()
        if candidate is not None:
            yield candidate
    except OSError as error:
        _warn("XDG_CACHE_HOME", error)
    yield from local_candidates()


def _warn(variable: str, error: OSError) -> None:
    warnings.warn(
        f"{variable} names a folder that is not used for compiled kernels: {error}; name one that is yours and that "
        f"nobody else may write to (chmod 700), or {VARIABLE}={OFF}",
        stacklevel=2,
    )


@cache
def package_digest() -> str | None:
    """A digest of this package's sources and of what compiles them; None where they cannot be read."""
    return _digest()


def unchanged() -> bool:
    """Whether the sources are still those that this process began with, so that it may cache what it compiles."""
    return _digest() == package_digest()


def _digest() -> str | None:
    import llvmlite
    import numba
    import numpy

    versions = (sys.version, platform.machine(), numba.__version__, llvmlite.__version__, numpy.__version__)
    total = hashlib.blake2b(repr(versions).encode(), digest_size=10)
    try:
        files = package_files(sources_only=True)
    except OSError:
        return None
    for name, text in files:
        total.update(f"{name} {len(text)} ".encode())
        total.update(text)
    return total.hexdigest() if files else None


def _mark_used(folder: PrivateFolder) -> None:
    """Set the folder's time of modification to its last use, to the day."""
    with folder.opened() as descriptor:
        if descriptor is not None and time.time() - os.fstat(descriptor).st_mtime > _DAY:
            os.utime(descriptor)


def _remove_unused(parent: Path) -> None:
    """Remove the caches of earlier versions that nobody has used for a month: files of our own kind only."""
    for name in os.listdir(parent):
        folder = PrivateFolder(parent / name)
        if not _FOLDERS.fullmatch(name):
            continue
        with suppress(OSError), folder.opened() as descriptor:
            if descriptor is None or time.time() - os.fstat(descriptor).st_mtime < _UNUSED:
                continue
            for file in os.listdir(descriptor):
                is_ours = file.endswith((SUFFIX, NOTE, UNFINISHED)) or file == LOCK_FILE
                if is_ours and stat.S_ISREG(os.lstat(file, dir_fd=descriptor).st_mode):
                    os.unlink(file, dir_fd=descriptor)
            folder.path.rmdir()  # which it refuses where anything else lies there


def load_source(name: str, text: str) -> ModuleType:
    """Load a kernel's source as a module, whose name holds a digest of the source."""
    digest = hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
    module = ModuleType(f"_slidewise_kernel_{name}_{digest}")
    exec(compile(text, f"<slidewise kernel {name}>", "exec"), module.__dict__)
    sys.modules[module.__name__] = module  # where code from the cache looks for its module
    return module
