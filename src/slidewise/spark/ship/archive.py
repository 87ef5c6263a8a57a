"""This package as one zip archive, from which Python imports it: the same bytes of the same files, on every machine."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import slidewise
from slidewise.kernels.compiler.package_files import package_files

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip archive can tell
_MODE = 0o100644 << 16


@cache
def package_archive() -> Path:
    """The archive of the installed package, named by its version and a digest of its files.

    It lies in a folder of this process, which is this user's alone: executors fetch it from there for as long as the
    session lives.
    """
    folder = Path(tempfile.mkdtemp(prefix="slidewise-ship-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / f"slidewise-{slidewise.__version__}-{files_digest()}.zip"
    write_archive(path)
    return path


def write_archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in package_files():
            entry = zipfile.ZipInfo(f"slidewise/{name}", _EPOCH)
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, _MODE
            archive.writestr(entry, data)


def files_digest() -> str:
    """A digest of the installed files of this package, which is the same in a folder and in an archive."""
    total = hashlib.blake2b(digest_size=8)
    for name, data in package_files():
        total.update(f"{name} {len(data)} ".encode())
        total.update(data)
    return total.hexdigest()
