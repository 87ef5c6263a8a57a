"""The job of the demonstration: relative variation and more of three signals, over three windows of time."""

from __future__ import annotations

import json
from pathlib import Path

from slidewise.folders import whole_file

SIGNALS = ("mf01", "mf02", "mf03")
OPERATORS = {"change": "relative_variation", "max": "max", "mean": "mean", "stddev": "stddev"}
WINDOWS = {"10s": "10 seconds", "1min": "1 minute", "10min": "10 minutes"}
THRESHOLD = 0.2

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


def write_job(folder: Path, source: str) -> Path:
    """The job's file in the folder, whose results go there too."""
    path = folder / "job.toml"
    with whole_file(path) as file:
        file.write(job_text("job.toml", source, "result").encode())
    return path
