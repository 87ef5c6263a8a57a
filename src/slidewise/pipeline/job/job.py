"""A job as plain data, read from a TOML file and validated: a source, its cleaning, a definition, and a sink.

Everything that can be wrong in a file is found here, before Spark starts.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from slidewise.definition import check_names
from slidewise.errors import SlidewiseError
from slidewise.pipeline.job.definition_table import definition_of
from slidewise.pipeline.job.labels import Labels, labels_of
from slidewise.pipeline.job.line_layouts import LAYOUTS, TIMES, TYPES, LineColumn, LineLayout
from slidewise.pipeline.job.paths import path_at, paths_of
from slidewise.pipeline.job.stream_table import (
    SinkTable,
    SourceTable,
    StreamTable,
    check_tables,
    stream_of,
    stream_sink,
    stream_source,
)
from slidewise.pipeline.job.toml_document import TomlDocument
from slidewise.pipeline.job.trust import check_settings, listed_modules, resolve
from slidewise.pipeline.rows.ahead import MOMENTS
from slidewise.sliding import Sliding
from slidewise.spark.batch.plan import PARALLEL
from slidewise.spark.batch.time_slices import why_not_by_time
from slidewise.stages import all_columns_read
from slidewise.windows import Duration, Months

# A row's number in the source, which the pipeline adds; and what only the side tables have.
ROW = "row"
OWN = (ROW, "file", "line", "reason", "text", "newest")
PARTS = ("rows", "rejected", "out_of_order", "ahead")
LATE_LIMIT = 0.05  # the share of rows that may be dropped as late, or put aside as ahead, without a warning


@dataclass(frozen=True)
class Job:
    """A job of `slidewise run`: where rows come from, how they are cleaned and aggregated, and where answers go."""

    definition: Sliding
    paths: tuple[str, ...]
    sink: str
    source_format: str = "text"
    source_options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    lines: LineLayout | None = None
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
    labels: Labels | None = None  # at whose times the definition is answered; None for the source's own rows
    stream: StreamTable | None = None  # how it runs over a stream; None for a batch

    @property
    def of_rows(self) -> Sliding:
        """The definition by the names of the rows that are written: those of the labels, if there are any."""
        return self.definition if self.labels is None else self.labels.renamed(self.definition)


def read_job(path: str | Path, *, imports: bool = False, stream: bool = False) -> Job:
    """The job that a file describes; paths in it are relative to the file.

    With `imports`, the modules of its operators are imported, from the job's folder too, which runs their code. With
    `stream`, it is the job over a stream: its source and its sink are those of the stream.
    """
    path = Path(path)
    return job_of(TomlDocument.of_file(path), path.parent, imports, stream)


def job_of(document: TomlDocument, folder: Path, imports: bool = False, stream: bool = False) -> Job:
    """The job of a document; a mistake is an error that names its line. All is validated before any import."""
    job = unresolved_job(document, folder, stream)
    definition = resolve(document, job.definition, folder, imports)
    if job.stream is None:
        return replace(job, definition=definition, transform=_options(document, definition))
    old = [resolve(file, definition_of(file), Path(file.name).parent, imports) for file in job.stream.old]
    options = {**job.stream.transform, **({"upgrade_from": old[0] if len(old) == 1 else old} if old else {})}
    return replace(job, definition=definition, stream=replace(job.stream, transform=options))


def unresolved_job(document: TomlDocument, folder: Path, stream: bool = False) -> Job:
    """The job with stand-ins for the user's own operators."""
    document.table(
        (),
        (
            *("source", "lines", "clean", "labels", "definition", "operators", "run", "spark", "sink", "report"),
            "stream",
        ),
    )
    listed_modules(document)
    document.table(("source",), ("format", "path", "schema", "options"), needed=not stream)
    document.table(("clean",), ("out_of_order", "ahead", "ahead_of", "late_limit"))
    document.table(("spark",), ("master", "conf"))
    document.table(("sink",), ("path", "format", "options"), needed=not stream)
    document.table(("report",), ("path", "signals", "threshold"))
    check_tables(document)
    if stream:
        document.table(("stream",), needed=True)
    definition = definition_of(document)
    source = stream_source(document, folder) if stream else _source(document, folder)
    sink = stream_sink(document, folder) if stream else _sink(document, folder)
    lines = _lines(document, source)
    job = Job(
        definition=definition,
        paths=source.paths,
        sink=sink.path,
        source_format=source.format,
        source_options=source.options,
        schema=source.schema,
        lines=lines,
        out_of_order=document.one_of(("clean", "out_of_order"), ("drop", "sort"), "drop"),
        ahead=_ahead(document, definition, lines),
        ahead_of=_ahead_of(document),
        late_limit=_late_limit(document),
        sink_format=sink.format,
        sink_options=sink.options,
        transform=_options(document, definition),
        master=document.value(("spark", "master"), str, "Spark's master, such as 'local[*]'", None),
        conf=document.texts(("spark", "conf")),
        report=None if stream else _report(document, folder),
        signals=_signals(document),
        threshold=document.value(("report", "threshold"), (int, float), "a number", None),
        labels=labels_of(document, folder, definition),
        stream=stream_of(document, folder, definition, source, sink) if stream else None,
    )
    _check_columns(document, job)
    if not stream:
        _check_sink(document, job)
    check_settings(document, job.master, job.conf)
    return job


def _source(document: TomlDocument, folder: Path) -> SourceTable:
    return SourceTable(
        format=document.value(("source", "format"), str, "the name of a Spark format", "text"),
        paths=paths_of(document, "source", folder),
        options=document.texts(("source", "options")),
        schema=document.value(("source", "schema"), str, "columns and types, such as 'ts timestamp, x double'", None),
    )


def _sink(document: TomlDocument, folder: Path) -> SinkTable:
    return SinkTable(
        format=document.value(("sink", "format"), str, "the name of a Spark format", "parquet"),
        path=path_at(folder, document.value(("sink", "path"), str, "the folder that the results go to")),
        options=document.texts(("sink", "options")),
    )


def _options(document: TomlDocument, definition: Sliding) -> dict[str, Any]:
    """The options of `df.transform(definition, ...)`; rows of a job are never presorted."""
    if not document.table(("run",), ("parallel",)):
        return {}
    parallel = document.one_of(("run", "parallel"), PARALLEL, "auto")
    why = why_not_by_time(definition)
    if parallel == "by_time" and why is not None:
        document.fail(("run", "parallel"), f"parallel = 'by_time' needs windows of time only, but {why}")
    return {"parallel": parallel}


def _ahead(document: TomlDocument, definition: Sliding, lines: LineLayout | None) -> Duration | int | float | None:
    """The greatest distance that a row's time may lie ahead; None for any."""
    keys = ("clean", "ahead")
    what = "a duration such as '1 day', or a number where times are numbers"
    value = document.value(keys, (str, int, float), what, None)
    reference = document.table(("clean",)).get("ahead_of")
    if value is None:
        if reference is not None:
            document.fail(("clean", "ahead_of"), "'ahead_of' says what 'ahead' goes by; give it too: ahead = '1 day'")
        return None
    try:
        ahead = Duration.of(value) if isinstance(value, str) else value
    except SlidewiseError as error:
        document.fail(keys, str(error))
    if not isinstance(ahead, Duration) and not 0 < ahead < math.inf:
        document.fail(keys, f"'ahead' is more than nothing, not {value!r}")
    windows = [aggregate.window for aggregate in definition.aggregates.values()]
    lasts = [window.measure for window in windows if window is not None]
    kinds = [column.type for column in (lines.columns if lines else ()) if column.name == definition.on]
    numbers = any(isinstance(last, int | float) for last in lasts) or any(kind not in MOMENTS for kind in kinds)
    moments = any(isinstance(last, Duration | Months) for last in lasts) or any(kind in MOMENTS for kind in kinds)
    if numbers and isinstance(ahead, Duration):
        document.fail(keys, f"the times are numbers, so 'ahead' is one, too: 86400, say, not {value!r}")
    if moments and not isinstance(ahead, Duration):
        document.fail(keys, f"the times are moments, so 'ahead' is a duration: '1 day', say, not {value!r}")
    if not isinstance(ahead, Duration) and reference == "clock":
        document.fail(("clean", "ahead_of"), "no clock shows times that are numbers; write ahead_of = 'stream'")
    return ahead


def _ahead_of(document: TomlDocument) -> str | None:
    keys = ("clean", "ahead_of")
    return document.one_of(keys, ("clock", "stream"), "clock") if keys[1] in document.table(keys[:1]) else None


def _late_limit(document: TomlDocument) -> float:
    what = "a share of the rows, from 0 to 1"
    limit = document.value(("clean", "late_limit"), (int, float), what, LATE_LIMIT)
    if not 0 <= limit <= 1:
        document.fail(("clean", "late_limit"), f"'late_limit' is {what}, not {limit!r}")
    return float(limit)


def _lines(document: TomlDocument, source: SourceTable) -> LineLayout | None:
    keys = ("lines",)
    table = document.table(keys, ("layout", "separator", "fields", "columns"))
    if not table:
        if source.of_lines:
            at = ("stream", "source") if source.value else ("source",)
            document.fail(at, "lines of text need a [lines] table that says how they become columns")
        return None
    if not source.of_lines and not _has_lines_elsewhere(document):
        document.fail(keys, f"[lines] is for the format 'text'; {source.format!r} has columns of its own")
    if "layout" in table:
        if more := [name for name in table if name != "layout"]:
            document.fail(
                (*keys, more[0]), f"a layout says all that there is to say; leave out {more[0]!r} or 'layout'"
            )
        layout = LAYOUTS[document.one_of((*keys, "layout"), tuple(LAYOUTS), "")]
        return layout if source.of_lines else None
    fields = document.value((*keys, "fields"), (int, list), "how many fields a line has, or a list of such numbers")
    fields = [fields] if isinstance(fields, int) else fields
    if not fields or not all(isinstance(number, int) and number > 0 for number in fields):
        document.fail((*keys, "fields"), f"'fields' is how many fields a line has, not {fields!r}")
    separator = document.value((*keys, "separator"), str, "the text between two fields", "\t")
    if not separator:
        document.fail((*keys, "separator"), "'separator' is the text between two fields, not nothing")
    columns = [_line_column(document, name, min(fields)) for name in document.table((*keys, "columns"), needed=True)]
    layout = LineLayout(separator, tuple(sorted(set(fields))), tuple(columns))
    return layout if source.of_lines else None


def _has_lines_elsewhere(document: TomlDocument) -> bool:
    """Whether the batch job, or the stream, reads lines, though the other does not."""
    batch = "source" in document.data and document.table(("source",)).get("format", "text") == "text"
    return batch or document.table(("stream", "source")).get("value") == "lines"


def _line_column(document: TomlDocument, name: str, fields: int) -> LineColumn:
    keys = ("lines", "columns", name)
    document.table(keys, ("field", "type", "format", "optional"))
    number = document.value((*keys, "field"), int, "the number of a field, from 1 on")
    if not 1 <= number <= fields:
        document.fail((*keys, "field"), f"'field' is from 1 to {fields}, the fewest fields of a line, not {number}")
    kind = document.one_of((*keys, "type"), TYPES, "string")
    pattern = document.value((*keys, "format"), str, "Spark's pattern of a time", None)
    if pattern is not None and kind not in ("timestamp", "date"):
        document.fail((*keys, "format"), f"'format' is for times and dates, and {name!r} is of type {kind}")
    return LineColumn(name, number, kind, pattern, document.value((*keys, "optional"), bool, "true or false", False))


def _report(document: TomlDocument, folder: Path) -> str | None:
    if "report" not in document.data:
        return None
    if importlib.util.find_spec("matplotlib") is None:
        document.fail(("report",), "a report needs matplotlib: pip install matplotlib, or leave out [report]")
    sink = document.value(("sink", "path"), str, "the folder that the results go to")
    path = path_at(folder, document.value(("report", "path"), str, "the folder that the report goes to", sink))
    if "://" in path:
        document.fail(("report", "path"), f"a report goes to a local folder, not to {path}; give [report] a 'path'")
    return path


def _signals(document: TomlDocument) -> tuple[str, ...]:
    signals = document.value(("report", "signals"), list, "a list of columns", [])
    if not all(isinstance(name, str) for name in signals):
        document.fail(("report", "signals"), f"'signals' is a list of columns, not {signals!r}")
    return tuple(signals)


def _check_columns(document: TomlDocument, job: Job) -> None:
    """Check that names which the pipeline adds are free and, where columns are known, that all that are read exist."""
    for name in job.definition.columns:
        if name in OWN:
            document.fail(("definition", "columns", name), f"the pipeline adds a column {name!r}; choose another name")
    if job.lines is None:
        return
    names = [column.name for column in job.lines.columns]
    for name in names:
        if name in OWN or name.startswith("_"):
            document.fail(("lines", "columns", name), f"{name!r} is a name of the pipeline's own; choose another")
    try:
        check_names(job.definition, names, "line", added=job.labels is None or not job.definition.own)
    except SlidewiseError as error:
        at: tuple[str, ...] = ("definition",)
        for name, column in job.definition.columns.items():
            missing = [read for read in all_columns_read(column) if read not in names]
            if any(repr(read) in str(error) for read in missing):
                at = ("definition", "columns", name)
        document.fail(at, str(error))
    for name in job.signals:
        if name not in names:
            document.fail(
                ("report", "signals"), f"there is no column {name!r} to report; a line has {', '.join(names)}"
            )
    time = next(column for column in job.lines.columns if column.name == job.definition.on)
    if time.type not in TIMES:
        say = f'{time.name} = {{ field = {time.field}, type = "timestamp" }}'
        document.fail(("lines", "columns", time.name), f"the time {time.name!r} is read as {time.type}; write {say}")
    if job.stream is not None and time.type != "timestamp":
        document.fail(
            ("lines", "columns", time.name), f"the time {time.name!r} is a {time.type}; a stream needs a timestamp"
        )
    if time.optional:
        document.fail(("lines", "columns", time.name, "optional"), f"the time {time.name!r} cannot be optional")


def _check_sink(document: TomlDocument, job: Job) -> None:
    """Check that the results go neither into the source or the labels nor over them."""
    if "://" in job.sink:
        return
    sink = Path(job.sink).resolve()
    sources = [("source", path) for path in job.paths]
    sources += [("labels", path) for path in (job.labels.paths if job.labels else ())]
    for what, path in sources:
        source = Path(path).resolve()
        inside = any(source.is_relative_to(sink / part) for part in PARTS)
        if "://" not in path and (inside or sink.is_relative_to(source)):
            document.fail(("sink", "path"), f"{job.sink} and the {what} {path} are one place; write somewhere else")
