"""The files of this package, wherever it is installed: in a folder, or in a zip archive on Python's path."""

from __future__ import annotations

import os
import zipfile
import zipimport
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]
_SOURCE = ".py"
_OTHERS = (".css", ".html", ".js", ".typed")  # what is installed beside the sources


def package_files(sources_only: bool = False) -> list[tuple[str, bytes]]:
    """The installed files by their names within the package, in order; OSError where they cannot be read.

    Names have slashes on every system. What Python and editors leave beside the files is not among them.
    """
    kinds = (_SOURCE,) if sources_only else (_SOURCE, *_OTHERS)
    loader = globals().get("__loader__")
    found = _in_archive(loader, kinds) if isinstance(loader, zipimport.zipimporter) else _in_folder(kinds)
    return sorted(found)


def _in_folder(kinds: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    top = str(_PACKAGE)
    for root, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name != "__pycache__" and not name.startswith(".")]
        for name in names:
            if name.endswith(kinds) and not name.startswith("."):
                path = os.path.join(root, name)
                with open(path, "rb", buffering=0) as file:
                    yield os.path.relpath(path, top).replace(os.sep, "/"), file.read()


def _in_archive(loader: zipimport.zipimporter, kinds: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    top = "/".join(loader.prefix.replace(os.sep, "/").split("/")[:-3]) + "/"  # without kernels/compiler/
    try:
        with zipfile.ZipFile(loader.archive) as archive:
            for entry in archive.infolist():
                if entry.filename.startswith(top) and entry.filename.endswith(kinds):
                    yield entry.filename.removeprefix(top), archive.read(entry)
    except zipfile.BadZipFile as error:
        raise OSError(f"{loader.archive}: {error}") from error
