"""Folders and tables that carry a mark of the job that wrote them: nothing without it is ever removed.

A folder of a run has a name of its own with a random part. A table's mark lists its files, so that a file that somebody
put beside them is seen.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
from pathlib import Path
from types import TracebackType
from typing import Any

MARK = "_slidewise.json"  # Spark, pyarrow and others read no file whose name begins so
_FOLDER = "slidewise-"


class RunFolder:
    """A new folder of this run; it is removed in the end, unless it is to be kept."""

    def __init__(self, parent: Path, purpose: str) -> None:
        self.path = parent / f"{_FOLDER}{purpose}-{secrets.token_hex(6)}"
        self.keep = False

    def __enter__(self) -> RunFolder:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.mkdir()
        _write(self.path, {"host": socket.gethostname(), "process": os.getpid()})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self.keep:
            shutil.rmtree(self.path, ignore_errors=True)


def leftovers(parent: Path) -> list[Path]:
    """Folders of runs that were killed: they carry our mark, of this machine, and of a process that is no more."""
    found = []
    for folder in sorted(parent.glob(f"{_FOLDER}*-*")):
        mark = None if folder.is_symlink() else _read(folder)
        if mark is not None and mark.get("host") == socket.gethostname() and not _runs(mark.get("process")):
            found.append(folder)
    return found


def _runs(process: Any) -> bool:
    """Whether a process runs; one of which that cannot be told does."""
    if not isinstance(process, int) or process < 1:
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def mark_table(table: Path) -> None:
    """Note in a table which files it has."""
    _write(table, {"files": sorted(path.relative_to(table).as_posix() for path in table.rglob("*"))})


def why_not_ours(table: Path) -> str | None:
    """What speaks against that a job wrote all that is here; None where it did."""
    if table.is_symlink():
        return "is a symbolic link"
    if not table.is_dir():
        return "is a file"
    mark = _read(table)
    if mark is None or not isinstance(mark.get("files"), list):
        return f"was not written by a job: it has no {MARK}"
    known = {*mark["files"], MARK}
    others = sorted(path.relative_to(table).as_posix() for path in table.rglob("*"))
    others = [name for name in others if name not in known]
    return f"holds {others[0]}, which no job wrote" if others else None


def put(new: Path, places: dict[str, Path]) -> None:
    """Move tables from a run's folder to their places; those that are there move into that folder.

    All are moved or none: where one cannot be, the others go back.
    """
    moved: list[tuple[Path, Path]] = []
    try:
        for name, place in places.items():
            for source, target in ((place, new / f"replaced-{name}"), (new / name, place)):
                if os.path.lexists(source):
                    source.rename(target)
                    moved.append((source, target))
    except OSError:
        for source, target in reversed(moved):
            target.rename(source)
        raise


def _write(folder: Path, said: dict[str, Any]) -> None:
    (folder / MARK).write_text(json.dumps({"written_by": "slidewise run", **said}) + "\n", encoding="utf-8")


def _read(folder: Path) -> dict[str, Any] | None:
    """A folder's mark; None where there is none of ours."""
    try:
        said = json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) and said.get("written_by") == "slidewise run" else None
