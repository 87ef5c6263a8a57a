"""Output paths of a job: its tables and its report, which overwrite nothing but what a job has written."""

from __future__ import annotations

import os
from pathlib import Path

from slidewise.pipeline.job.job import PARTS, Job
from slidewise.pipeline.job.toml_document import JobError
from slidewise.pipeline.marked_folders import why_not_ours

PAGE, PICTURE = "report.html", "report.png"
TITLE = "<title>Slidewise report</title>"


def output_path(job: Job, part: str) -> str:
    """The path of one of the tables of results."""
    return f"{job.sink.rstrip('/')}/{part}"


def check_free(job: Job, overwrite: bool) -> None:
    """Refuse to overwrite what exists, unless that was asked for, and then all but what a job has written."""
    if "://" not in job.sink:
        check_tables(Path(job.sink), overwrite)
    if job.report is not None:
        check_report(Path(job.report), overwrite)


def check_tables(sink: Path, overwrite: bool) -> None:
    """Refuse to overwrite tables in a folder, unless that was asked for and a job has written them."""
    if sink.exists() and not sink.is_dir():
        raise JobError(f"the sink {sink} is a file; name a folder")
    existing = [part for part in PARTS if os.path.lexists(sink / part)]
    if existing and not overwrite:
        raise JobError(f"{sink} has results already ({', '.join(existing)}); give --overwrite, or another sink")
    for part in existing:
        why = why_not_ours(sink / part)
        if why is not None:
            raise JobError(refusal(sink / part, why, "tables that a job has written"))


def check_report(folder: Path, overwrite: bool) -> None:
    """Refuse to overwrite a report, unless that was asked for and a job has written it."""
    existing = [name for name in (PAGE, PICTURE) if os.path.lexists(folder / name)]
    if existing and not overwrite:
        raise JobError(
            f"{folder} has a report already ({', '.join(existing)}); give --overwrite, or another [report] path"
        )
    for name in existing:
        path = folder / name
        why = "is a symbolic link" if path.is_symlink() else None if path.is_file() else "is no file"
        if why is None and not _has_title(folder / PAGE, TITLE):
            why = "is not a job's report" if name == PAGE else f"has no {PAGE} of a job beside it"
        if why is not None:
            raise JobError(refusal(path, why, "reports that a job has written"))


def check_page(page: Path, title: str, what: str, overwrite: bool) -> None:
    """Refuse to overwrite a page, unless that was asked for and it has this title; `what` says what such pages are."""
    if not os.path.lexists(page):
        return
    if not overwrite:
        raise JobError(f"there is {page} already; give --overwrite, or another --report")
    why = "is a symbolic link" if page.is_symlink() else None if page.is_file() else "is no file"
    if why is None and not _has_title(page, title):
        why = f"is none of the {what}"
    if why is not None:
        raise JobError(refusal(page, why, what))


def _has_title(page: Path, title: str) -> bool:
    try:
        with open(page, encoding="utf-8", errors="replace") as file:
            return title in file.read(1_000)
    except OSError:
        return False


def refusal(path: Path, why: str, what: str) -> str:
    """The message where something is not overwritten, though that was asked for."""
    return f"{path} {why}; --overwrite replaces only {what}: move it away, or name another place"
