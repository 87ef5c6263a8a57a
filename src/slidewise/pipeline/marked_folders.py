"""Folders and tables with a marker file of the job that wrote them: nothing without it is ever removed.

The folder of a run has a name with a random part. A table's marker lists its files, so that a file that somebody put
beside them is seen.
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
    """A temporary folder of this run; it is removed in the end, unless `keep` is set."""

    def __init__(self, parent: Path, purpose: str) -> None:
        self.path = parent / f"{_FOLDER}{purpose}-{secrets.token_hex(6)}"
        self.keep = False

    def __enter__(self) -> RunFolder:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.mkdir()
        _write_marker(self.path, {"host": socket.gethostname(), "process": os.getpid()})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self.keep:
            shutil.rmtree(self.path, ignore_errors=True)


def leftovers(parent: Path) -> list[Path]:
    """Folders of runs that were killed: their markers are of this machine, and of a process that has ended."""
    folders = []
    for folder in sorted(parent.glob(f"{_FOLDER}*-*")):
        marker = None if folder.is_symlink() else _read_marker(folder)
        if marker is not None and marker.get("host") == socket.gethostname() and not _runs(marker.get("process")):
            folders.append(folder)
    return folders


def _runs(process: object) -> bool:
    """Whether a process runs; true where that cannot be told."""
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
    """Write a table's marker, which lists its files."""
    _write_marker(table, {"files": sorted(path.relative_to(table).as_posix() for path in table.rglob("*"))})


def why_not_ours(table: Path) -> str | None:
    """The reason why a job did not write all of this table; None where it did."""
    if table.is_symlink():
        return "is a symbolic link"
    if not table.is_dir():
        return "is a file"
    marker = _read_marker(table)
    if marker is None or not isinstance(marker.get("files"), list):
        return f"was not written by a job: it has no {MARK}"
    known = {*marker["files"], MARK}
    others = sorted(path.relative_to(table).as_posix() for path in table.rglob("*"))
    others = [name for name in others if name not in known]
    return f"holds {others[0]}, which no job wrote" if others else None


def put(new: Path, targets: dict[str, Path]) -> None:
    """Move tables from a run's folder to their targets; what the targets held moves into that folder.

    All are moved or none: where one cannot be, the others go back.
    """
    moved: list[tuple[Path, Path]] = []
    try:
        for name, final in targets.items():
            for source, target in ((final, new / f"replaced-{name}"), (new / name, final)):
                if os.path.lexists(source):
                    source.rename(target)
                    moved.append((source, target))
    except OSError:
        for source, target in reversed(moved):
            target.rename(source)
        raise


def _write_marker(folder: Path, content: dict[str, Any]) -> None:
    (folder / MARK).write_text(json.dumps({"written_by": "slidewise run", **content}) + "\n", encoding="utf-8")


def _read_marker(folder: Path) -> dict[str, Any] | None:
    """A folder's marker; None where there is none of ours."""
    try:
        content = json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and content.get("written_by") == "slidewise run" else None
