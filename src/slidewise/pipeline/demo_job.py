"""The job file of the demonstration: relative variation and more of three signals, over three windows of time."""

from __future__ import annotations

import json
import os
from pathlib import Path

from slidewise.errors import SlidewiseError
from slidewise.folders import whole_file
from slidewise.pipeline.job.outputs import check_report, check_tables, refusal

SIGNALS = ("mf01", "mf02", "mf03")
OPERATORS = {"change": "relative_variation", "max": "max", "mean": "mean", "stddev": "stddev"}
WINDOWS = {"10s": "10 seconds", "1min": "1 minute", "10min": "10 minutes"}
THRESHOLD = 0.2
JOB, EVENTS, RESULT = "job.toml", "events.tsv", "result"

HEAD = """\
# Events of manufacturing equipment: how much three signals vary, at every event.
# Run it again: slidewise run {name} --overwrite

[source]
path = {source}

[lines]
layout = "debs2012"       # tab separated; the small file's 56 fields, or the full file's 66

[clean]
out_of_order = "drop"     # or "sort"

[sink]
path = {sink}

[report]
signals = ["mf01", "mf02", "mf03"]
threshold = {threshold}

[definition]
on = "ts"

[definition.columns]
"""


def job_text(name: str, source: str, sink: str) -> str:
    """The job as TOML."""
    lines = [
        f'{signal}_{short}_{window} = {{ operator = "{operator}", of = "{signal}", over = "{last}" }}'
        for signal in SIGNALS
        for short, operator in OPERATORS.items()
        for window, last in WINDOWS.items()
    ]
    head = HEAD.format(name=name, source=json.dumps(source), sink=json.dumps(sink), threshold=THRESHOLD)
    return head + "\n".join(lines) + "\n"


def check_folder(folder: Path, names: list[str], overwrite: bool) -> None:
    """Refuse to overwrite what is in the folder, unless that was asked for, and then all but a demonstration's own."""
    existing = [name for name in names if os.path.lexists(folder / name)]
    if existing and not overwrite:
        raise SlidewiseError(
            f"{folder} has results already ({', '.join(existing)}); give --overwrite, or another --out"
        )
    job = folder / JOB
    text = job.read_text(encoding="utf-8", errors="replace") if job.is_file() and not job.is_symlink() else ""
    ours = text.startswith(HEAD.partition("\n")[0])
    for name in existing:
        path = folder / name
        if name == JOB and not ours:
            raise SlidewiseError(refusal(path, "is not the job of a demonstration", "what a demonstration has written"))
        if name == EVENTS and (path.is_symlink() or not ours or f'path = "{EVENTS}"' not in text):
            why = f"is not of a demonstration, as far as its {JOB} says"
            raise SlidewiseError(refusal(path, why, "what a demonstration has written"))
    check_tables(folder / RESULT, overwrite)
    check_report(folder / RESULT, overwrite)


def write_job(folder: Path, source: str) -> Path:
    """Write the job file into the folder, whose results go there too; its path."""
    path = folder / JOB
    with whole_file(path) as file:
        file.write(job_text(JOB, source, RESULT).encode())
    return path
