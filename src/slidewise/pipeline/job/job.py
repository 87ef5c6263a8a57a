"""A job: a source, how its rows are cleaned, a definition, and a sink. Plain data, read from a TOML file and checked.

Everything that can be wrong in a file is found here, before Spark starts.
"""

from __future__ import annotations

import glob
import importlib.util
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from slidewise.definition import check_names
from slidewise.definition_files import arguments_unresolved
from slidewise.errors import SlidewiseError
from slidewise.pipeline.job.layouts import LAYOUTS, TIMES, TYPES, LineColumn, Lines
from slidewise.pipeline.job.toml import Written
from slidewise.pipeline.job.trust import check_settings, listed_modules, resolve
from slidewise.pipeline.rows.ahead import MOMENTS
from slidewise.sliding import Sliding
from slidewise.spark.batch.plan import PARALLEL
from slidewise.spark.batch.time_slices import why_not
from slidewise.windows import Duration

# A row's number in the source, which the pipeline adds; and what only the side tables have.
ROW = "row"
OWN = (ROW, "file", "line", "reason", "text", "newest")
PARTS = ("rows", "rejected", "out_of_order", "ahead")
LATE_LIMIT = 0.05  # the share of rows that may be dropped as late, or put aside as ahead, without a warning


@dataclass(frozen=True)
class Job:
    """What `slidewise run` does."""

    definition: Sliding
    paths: tuple[str, ...]
    sink: str
    source_format: str = "text"
    source_options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    lines: Lines | None = None
    out_of_order: str = "drop"
    ahead: Duration | int | float | None = None
    ahead_of: str | None = None  # "clock" or "stream"; None for the clock, and for the stream where times are numbers
    late_limit: float = LATE_LIMIT
    sink_format: str = "parquet"
    sink_options: Mapping[str, str] = field(default_factory=dict)
    transform: Mapping[str, Any] = field(default_factory=dict)
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    report: str | None = None  # the folder that the report goes to
    signals: tuple[str, ...] = ()
    threshold: float | None = None


def read_job(path: str | Path, *, imports: bool = False) -> Job:
    """The job that a file describes; paths in it are relative to the file.

    With `imports`, the modules of its operators are imported, from the job's folder too, which runs their code.
    """
    path = Path(path)
    return job_of(Written.of_file(path), path.parent, imports)


def job_of(written: Written, folder: Path, imports: bool = False) -> Job:
    """The job that was written; a mistake is an error that names its line. All is checked before any import."""
    job = _checked(written, folder)
    definition = resolve(written, job.definition, folder, imports)
    return replace(job, definition=definition, transform=_options(written, definition))


def _checked(written: Written, folder: Path) -> Job:
    """The job with stand-ins for the user's own operators."""
    written.table((), ("source", "lines", "clean", "definition", "operators", "run", "spark", "sink", "report"))
    listed_modules(written)
    written.table(("source",), ("format", "path", "schema", "options"), needed=True)
    written.table(("clean",), ("out_of_order", "ahead", "ahead_of", "late_limit"))
    written.table(("spark",), ("master", "conf"))
    written.table(("sink",), ("path", "format", "options"), needed=True)
    written.table(("report",), ("path", "signals", "threshold"))
    source_format = written.value(("source", "format"), str, "the name of a Spark format", "text")
    definition = _definition(written)
    lines = _lines(written, source_format)
    job = Job(
        definition=definition,
        paths=_paths(written, folder),
        sink=_at(folder, written.value(("sink", "path"), str, "the folder that the results go to")),
        source_format=source_format,
        source_options=written.texts(("source", "options")),
        schema=written.value(("source", "schema"), str, "columns and types, such as 'ts timestamp, x double'", None),
        lines=lines,
        out_of_order=written.one_of(("clean", "out_of_order"), ("drop", "sort"), "drop"),
        ahead=_ahead(written, definition, lines),
        ahead_of=_ahead_of(written),
        late_limit=_late_limit(written),
        sink_format=written.value(("sink", "format"), str, "the name of a Spark format", "parquet"),
        sink_options=written.texts(("sink", "options")),
        transform=_options(written, definition),
        master=written.value(("spark", "master"), str, "Spark's master, such as 'local[*]'", None),
        conf=written.texts(("spark", "conf")),
        report=_report(written, folder),
        signals=_signals(written),
        threshold=written.value(("report", "threshold"), (int, float), "a number", None),
    )
    _check_columns(written, job)
    _check_sink(written, job)
    check_settings(written, job.master, job.conf)
    return job


def _options(written: Written, definition: Sliding) -> dict[str, Any]:
    """The options of `df.transform(definition, ...)`; rows of a job are never presorted."""
    if not written.table(("run",), ("parallel",)):
        return {}
    parallel = written.one_of(("run", "parallel"), PARALLEL, "auto")
    why = why_not(definition)
    if parallel == "by_time" and why is not None:
        written.fail(("run", "parallel"), f"parallel = 'by_time' needs windows of time only, but {why}")
    return {"parallel": parallel}


def _ahead(written: Written, definition: Sliding, lines: Lines | None) -> Duration | int | float | None:
    """How far ahead a row's time may lie."""
    keys = ("clean", "ahead")
    what = "a duration such as '1 day', or a number where times are numbers"
    found = written.value(keys, (str, int, float), what, None)
    asked = written.table(("clean",)).get("ahead_of")
    if found is None:
        if asked is not None:
            written.fail(("clean", "ahead_of"), "'ahead_of' says what 'ahead' goes by; give it too: ahead = '1 day'")
        return None
    try:
        ahead = Duration.of(found) if isinstance(found, str) else found
    except SlidewiseError as error:
        written.fail(keys, str(error))
    if not isinstance(ahead, Duration) and not 0 < ahead < math.inf:
        written.fail(keys, f"'ahead' is more than nothing, not {found!r}")
    lasts = [one.window.last for one in definition.columns.values() if one.window is not None]
    kinds = [column.type for column in (lines.columns if lines else ()) if column.name == definition.on]
    numbers = any(isinstance(last, int | float) for last in lasts) or any(kind not in MOMENTS for kind in kinds)
    moments = any(isinstance(last, Duration) for last in lasts) or any(kind in MOMENTS for kind in kinds)
    if numbers and isinstance(ahead, Duration):
        written.fail(keys, f"the times are numbers, so 'ahead' is one, too: 86400, say, not {found!r}")
    if moments and not isinstance(ahead, Duration):
        written.fail(keys, f"the times are moments, so 'ahead' is a duration: '1 day', say, not {found!r}")
    if not isinstance(ahead, Duration) and asked == "clock":
        written.fail(("clean", "ahead_of"), "no clock shows times that are numbers; write ahead_of = 'stream'")
    return ahead


def _ahead_of(written: Written) -> str | None:
    keys = ("clean", "ahead_of")
    return written.one_of(keys, ("clock", "stream"), "clock") if keys[1] in written.table(keys[:1]) else None


def _late_limit(written: Written) -> float:
    what = "a share of the rows, from 0 to 1"
    limit = written.value(("clean", "late_limit"), (int, float), what, LATE_LIMIT)
    if not 0 <= limit <= 1:
        written.fail(("clean", "late_limit"), f"'late_limit' is {what}, not {limit!r}")
    return float(limit)


def _at(folder: Path, path: str) -> str:
    """A path of the job: one without a scheme is relative to the job's folder."""
    if path.startswith("file:/"):
        path = unquote(urlsplit(path).path)
    return path if "://" in path else str(folder / path)


def _paths(written: Written, folder: Path) -> tuple[str, ...]:
    found = written.value(("source", "path"), (str, list), "a path, or a list of them")
    paths = [found] if isinstance(found, str) else found
    if not paths or not all(isinstance(path, str) for path in paths):
        written.fail(("source", "path"), f"'path' is a path, or a list of them, not {found!r}")
    paths = [_at(folder, path) for path in paths]
    for path in paths:
        if "://" not in path and not Path(path).exists() and not glob.glob(path):
            written.fail(("source", "path"), f"there is no {path}; name a file, a folder or a pattern that is there")
    found = [Path(one).resolve() for path in paths if "://" not in path for one in glob.glob(path) or [path]]
    twice = [one for at, one in enumerate(found) if {one, *one.parents} & {*found[:at], *found[at + 1 :]}]
    if twice:
        written.fail(("source", "path"), f"'path' names {twice[0]} twice; its rows would be read twice")
    return tuple(paths)


def _definition(written: Written) -> Sliding:
    keys = ("definition",)
    table = written.table(keys, ("by", "on", "ties", "every", "offset", "columns"), needed=True)
    if "every" in table:
        written.fail(
            (*keys, "every"),
            "a job writes, counts and replays one answer for each row, so it takes no 'every'; answers on a beat come "
            "from df.transform(definition)",
        )
    columns = written.table((*keys, "columns"), needed=True)
    for name, one in columns.items():
        try:
            arguments_unresolved({"columns": {name: one}})
        except SlidewiseError as error:
            culprit = _culprit(one, str(error).replace(repr(name), "", 1))
            written.fail((*keys, "columns", name, *culprit), str(error))
    try:
        definition = Sliding(**arguments_unresolved(table))
    except SlidewiseError as error:
        at = [("columns", name) for name in columns if repr(name) in str(error)]
        written.fail((*keys, *(at[0] if at else ())), str(error))
    if definition.on is None:
        written.fail(keys, "rows of a Spark table have no order; give the definition a time column: on = 'ts'")
    return definition


def _culprit(table: Any, message: str) -> tuple[str, ...]:
    """The key that a message is about: the one that it quotes, or whose value it quotes."""
    if isinstance(table, Mapping):
        for name, value in table.items():
            if repr(name) in message or repr(value) in message:
                return (name,)
    return ()


def _lines(written: Written, source_format: str) -> Lines | None:
    keys = ("lines",)
    table = written.table(keys, ("layout", "separator", "fields", "columns"))
    if not table:
        if source_format == "text":
            written.fail(("source",), "lines of text need a [lines] table that says how they become columns")
        return None
    if source_format != "text":
        written.fail(keys, f"[lines] is for the format 'text'; {source_format!r} has columns of its own")
    if "layout" in table:
        if more := [name for name in table if name != "layout"]:
            written.fail((*keys, more[0]), f"a layout says all that there is to say; leave out {more[0]!r} or 'layout'")
        return LAYOUTS[written.one_of((*keys, "layout"), tuple(LAYOUTS), "")]
    fields = written.value((*keys, "fields"), (int, list), "how many fields a line has, or a list of such numbers")
    fields = [fields] if isinstance(fields, int) else fields
    if not fields or not all(isinstance(one, int) and one > 0 for one in fields):
        written.fail((*keys, "fields"), f"'fields' is how many fields a line has, not {fields!r}")
    separator = written.value((*keys, "separator"), str, "the text between two fields", "\t")
    if not separator:
        written.fail((*keys, "separator"), "'separator' is the text between two fields, not nothing")
    columns = [_line_column(written, name, min(fields)) for name in written.table((*keys, "columns"), needed=True)]
    return Lines(separator, tuple(sorted(set(fields))), tuple(columns))


def _line_column(written: Written, name: str, fields: int) -> LineColumn:
    keys = ("lines", "columns", name)
    written.table(keys, ("field", "type", "format", "optional"))
    number = written.value((*keys, "field"), int, "the number of a field, from 1 on")
    if not 1 <= number <= fields:
        written.fail((*keys, "field"), f"'field' is from 1 to {fields}, the fewest fields of a line, not {number}")
    kind = written.one_of((*keys, "type"), TYPES, "string")
    pattern = written.value((*keys, "format"), str, "Spark's pattern of a time", None)
    if pattern is not None and kind not in ("timestamp", "date"):
        written.fail((*keys, "format"), f"'format' is for times and dates, and {name!r} is of type {kind}")
    return LineColumn(name, number, kind, pattern, written.value((*keys, "optional"), bool, "true or false", False))


def _report(written: Written, folder: Path) -> str | None:
    if "report" not in written.data:
        return None
    if importlib.util.find_spec("matplotlib") is None:
        written.fail(("report",), "a report needs matplotlib: pip install matplotlib, or leave out [report]")
    sink = written.value(("sink", "path"), str, "the folder that the results go to")
    path = _at(folder, written.value(("report", "path"), str, "the folder that the report goes to", sink))
    if "://" in path:
        written.fail(("report", "path"), f"a report goes to a local folder, not to {path}; give [report] a 'path'")
    return path


def _signals(written: Written) -> tuple[str, ...]:
    found = written.value(("report", "signals"), list, "a list of columns", [])
    if not all(isinstance(name, str) for name in found):
        written.fail(("report", "signals"), f"'signals' is a list of columns, not {found!r}")
    return tuple(found)


def _check_columns(written: Written, job: Job) -> None:
    """Names that Slidewise adds are free; where the columns are known, all that are read are there."""
    for name in job.definition.columns:
        if name in OWN:
            written.fail(("definition", "columns", name), f"the pipeline adds a column {name!r}; choose another name")
    if job.lines is None:
        return
    names = [column.name for column in job.lines.columns]
    for name in names:
        if name in OWN or name.startswith("_"):
            written.fail(("lines", "columns", name), f"{name!r} is a name of the pipeline's own; choose another")
    try:
        check_names(job.definition, names, "line")
    except SlidewiseError as error:
        at: tuple[str, ...] = ("definition",)
        for name, one in job.definition.columns.items():
            if any(repr(read) in str(error) for read in (*one.columns, one.condition) if read not in names):
                at = ("definition", "columns", name)
        written.fail(at, str(error))
    for name in job.signals:
        if name not in names:
            written.fail(("report", "signals"), f"there is no column {name!r} to report; a line has {', '.join(names)}")
    time = next(column for column in job.lines.columns if column.name == job.definition.on)
    if time.type not in TIMES:
        say = f'{time.name} = {{ field = {time.field}, type = "timestamp" }}'
        written.fail(("lines", "columns", time.name), f"the time {time.name!r} is read as {time.type}; write {say}")
    if time.optional:
        written.fail(("lines", "columns", time.name, "optional"), f"the time {time.name!r} cannot be optional")


def _check_sink(written: Written, job: Job) -> None:
    """The results go neither into the source nor over it."""
    if "://" in job.sink:
        return
    sink = Path(job.sink).resolve()
    for path in job.paths:
        source = Path(path).resolve()
        inside = any(source.is_relative_to(sink / part) for part in PARTS)
        if "://" not in path and (inside or sink.is_relative_to(source)):
            written.fail(("sink", "path"), f"{job.sink} and the source {path} are one place; write somewhere else")
