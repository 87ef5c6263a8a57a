"""Paths in a job file: relative to the file, and there."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from slidewise.pipeline.job.toml_document import Keys, TomlDocument


def path_at(folder: Path, path: str) -> str:
    """A path of the job: one without a scheme is relative to the job's folder."""
    if path.startswith("file:/"):
        path = unquote(urlsplit(path).path)
    return path if "://" in path else str(folder / path)


def paths_of(document: TomlDocument, table: str, folder: Path) -> tuple[str, ...]:
    """The paths of a table's `path`: files, folders and patterns that are there, none of them twice."""
    keys = (table, "path")
    paths = given_paths(document, keys, folder)
    check_paths(document, keys, paths)
    files = [Path(file).resolve() for path in paths if "://" not in path for file in glob.glob(path) or [path]]
    twice = [file for at, file in enumerate(files) if {file, *file.parents} & {*files[:at], *files[at + 1 :]}]
    if twice:
        document.fail(keys, f"'path' names {twice[0]} twice; its rows would be read twice")
    return paths


def given_paths(document: TomlDocument, keys: Keys, folder: Path) -> tuple[str, ...]:
    """The path, or the list of paths, under the keys."""
    value = document.value(keys, (str, list), "a path, or a list of them")
    paths = [value] if isinstance(value, str) else value
    if not paths or not all(isinstance(path, str) for path in paths):
        document.fail(keys, f"'path' is a path, or a list of them, not {value!r}")
    return tuple(path_at(folder, path) for path in paths)


def check_paths(document: TomlDocument, keys: Keys, paths: Sequence[str]) -> None:
    """Refuse a path of this machine where nothing is."""
    for path in paths:
        if "://" not in path and not Path(path).exists() and not glob.glob(path):
            document.fail(keys, f"there is no {path}; name a file, a folder or a pattern that is there")
