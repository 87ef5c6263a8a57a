"""The `[stream]` of a job file: how its definition runs over a stream, and what differs there from the batch job.

`[source]` and `[sink]` are those of the batch. `[stream.source]` and `[stream.sink]` change parts of them: options are
added to those that are there, and another format begins with none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from slidewise.errors import SlidewiseError, did_you_mean
from slidewise.pipeline.job.definition_table import definition_document, definition_of
from slidewise.pipeline.job.paths import check_paths, given_paths, path_at
from slidewise.pipeline.job.toml_document import Keys, TomlDocument
from slidewise.pipeline.job.trust import check_options
from slidewise.sliding import Sliding
from slidewise.spark.stream.query import make_stream_plan
from slidewise.windows import Duration

KEYS = (
    *("watermark", "trigger", "checkpoint", "shards", "forget_after", "ahead", "late_to", "rejected"),
    *("upgrade_from", "warm", "source", "sink", "history"),
)
SOURCE_KEYS = ("format", "path", "schema", "options", "value")
SINK_KEYS = ("path", "format", "options")
HISTORY_KEYS = ("format", "path", "schema", "options", "until")
WITH_SCHEMA = ("csv", "json", "parquet", "orc", "avro", "xml")  # files that a stream reads by a schema that is given
FILES = ("text", *WITH_SCHEMA)
WITH_PATH = (*FILES, "delta")
NOW = "available now"
WARM = ("partial", "null")
_COLUMNS = "columns and types, such as 'machine long, ts timestamp, temp double'"
_SHARDS = 65_536


@dataclass(frozen=True)
class SourceTable:
    """Where rows come from; `value` says what the column of that name holds, of a source such as Kafka."""

    format: str
    paths: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    value: str | None = None  # "json" or "lines"

    @property
    def of_lines(self) -> bool:
        """Whether rows are lines of text that `[lines]` makes columns of."""
        return self.value == "lines" or (self.value is None and self.format == "text")


@dataclass(frozen=True)
class SinkTable:
    """Where answers go; the path is empty where a format has none, such as Kafka."""

    format: str
    path: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HistoryTable:
    """Rows from before the stream, which fill its state; complete up to `until`, or to the newest of them."""

    paths: tuple[str, ...]
    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    until: datetime | None = None


@dataclass(frozen=True)
class StreamTable:
    """How a job runs over a stream."""

    checkpoint: str
    trigger: Mapping[str, Any]  # as Spark's `trigger` takes it
    transform: Mapping[str, Any]  # the options of `stream.transform(definition, ...)`
    rejected: str | None  # the folder of rejected rows; None where they are only counted
    value: str | None = None
    history: HistoryTable | None = None
    old: tuple[TomlDocument, ...] = ()  # the files of `upgrade_from`

    @property
    def bounded(self) -> bool:
        """Whether the stream ends with the rows that are there."""
        return "availableNow" in self.trigger


def check_tables(document: TomlDocument) -> None:
    """Refuse keys that no table of a stream has."""
    document.table(("stream",), KEYS)
    document.table(("stream", "source"), SOURCE_KEYS)
    document.table(("stream", "sink"), SINK_KEYS)
    document.table(("stream", "history"), HISTORY_KEYS)


def stream_source(document: TomlDocument, folder: Path) -> SourceTable:
    """The source of the stream: that of the batch, with what `[stream.source]` changes."""
    keys = ("stream", "source")
    own = document.table(keys)
    if "format" not in own:
        document.table(("source",), needed=True)
    batch = document.value(("source", "format"), str, "the name of a Spark format", "text")
    form = document.value((*keys, "format"), str, "the name of a Spark format", batch)
    same = form == batch and "source" in document.data
    value = None
    if "value" in own:
        value = document.one_of((*keys, "value"), ("json", "lines"), "")
    options = {**(document.texts(("source", "options")) if same else {}), **document.texts((*keys, "options"))}
    for at in [("source", "options")] * same + [(*keys, "options")]:
        check_options(document, at, "--source-option")
    schema = document.value(("source", "schema"), str, _COLUMNS, None) if same or value == "json" else None
    schema = document.value((*keys, "schema"), str, _COLUMNS, schema)
    at = (*keys, "path") if "path" in own else ("source", "path")
    paths = given_paths(document, at, folder) if "path" in own or (same and "path" in document.table(at[:-1])) else ()
    if not paths and form in WITH_PATH:
        document.fail(keys if own else ("source",), f"a stream of {form!r} needs a 'path': a folder, or a pattern")
    if len(paths) > 1:
        document.fail(at, "a stream reads one folder, or one pattern such as 'events/*.csv', not a list")
    check_paths(document, at, paths)
    if schema is None and (form in WITH_SCHEMA or value == "json"):
        what = "of JSON in 'value'" if value else f"of {form!r}"
        example = "schema = 'machine long, ts timestamp, temp double'"
        document.fail(("source",) if same else keys, f"a stream {what} needs the types of its columns: {example}, say")
    return SourceTable(form, paths, options, schema, value)


def stream_sink(document: TomlDocument, folder: Path) -> SinkTable:
    """The sink of the stream: that of the batch, with what `[stream.sink]` changes."""
    keys = ("stream", "sink")
    own = document.table(keys)
    if "format" not in own and "path" not in own:
        document.table(("sink",), needed=True)
    batch = document.value(("sink", "format"), str, "the name of a Spark format", "parquet")
    form = document.value((*keys, "format"), str, "the name of a Spark format", batch)
    same = form == batch and "sink" in document.data
    options = {**(document.texts(("sink", "options")) if same else {}), **document.texts((*keys, "options"))}
    for at in [("sink", "options")] * same + [(*keys, "options")]:
        check_options(document, at, "--sink-option")
    what = "the folder that the results go to"
    path = document.value(("sink", "path"), str, what, "") if same else ""
    path = document.value((*keys, "path"), str, what, path)
    if not path and form in WITH_PATH:
        document.fail(keys if own else ("sink",), f"a stream into {form!r} needs a 'path': {what}")
    return SinkTable(form, path_at(folder, path) if path else "", options)


def stream_of(
    document: TomlDocument, folder: Path, definition: Sliding, source: SourceTable, sink: SinkTable
) -> StreamTable:
    """The `[stream]` of a document, which has one; a mistake is an error that names its line."""
    if "labels" in document.data:
        document.fail(("labels",), "a stream answers its own rows; [labels] are for batches: run without --stream")
    checkpoint = path_at(folder, document.value(("stream", "checkpoint"), str, "the folder of the query's checkpoint"))
    stream = StreamTable(
        checkpoint=checkpoint,
        trigger=_trigger(document),
        transform=_options(document, definition),
        rejected=_rejected(document, folder, sink),
        value=source.value,
        history=_history(document, folder),
        old=_old(document, folder),
    )
    _check_places(document, stream, source, sink)
    for name, aggregate in definition.aggregates.items():
        window = aggregate.window
        if window is not None and isinstance(window.measure, int | float):
            at = [column for column in definition.columns if column == name]
            document.fail(
                ("definition", "columns", *at),
                f"{name!r} is over a number, and a stream's times are timestamps; give a duration such as '10 minutes'",
            )
    return stream


def _trigger(document: TomlDocument) -> dict[str, Any]:
    keys = ("stream", "trigger")
    text = document.value(keys, str, f"how often a micro-batch starts, such as '10 seconds', or '{NOW}'", None)
    if text is None:
        return {"processingTime": "0 seconds"}
    if text == NOW:
        return {"availableNow": True}
    if text.lower() == "once":
        document.fail(keys, f"Spark advises against 'once', which takes all rows in one micro-batch; write '{NOW}'")
    for mode in ("continuous", "real"):
        if text.lower().startswith(mode):
            document.fail(
                keys, f"Spark runs no state in Python in its {mode} mode, and windows are state; write '1 second', say"
            )
    try:
        every = Duration.of(text)
    except SlidewiseError as error:
        document.fail(keys, f"'trigger' is a duration or '{NOW}': {error}{did_you_mean(text, (NOW,))}")
    return {"processingTime": f"{-(-every.ns // 1_000_000)} milliseconds"}


def _options(document: TomlDocument, definition: Sliding) -> dict[str, Any]:
    """The options of `stream.transform(definition, ...)`, but for the old definitions and the history."""
    keys = ("stream",)
    options: dict[str, Any] = {"watermark": _duration(document, (*keys, "watermark"))}
    if options["watermark"] is None:
        document.fail(keys, "[stream] needs 'watermark': by how much rows may come late, such as '10 minutes'")
    options |= {"ahead": _ahead(document), "forget_after": _duration(document, (*keys, "forget_after"))}
    shards = document.value((*keys, "shards"), int, f"a number from 1 to {_SHARDS}", None)
    if shards is not None and not 1 <= shards <= _SHARDS:
        document.fail((*keys, "shards"), f"'shards' is a number from 1 to {_SHARDS}, not {shards}")
    late_to = document.value((*keys, "late_to"), str, "the name of a column that says why a row was dropped", None)
    if late_to is not None and definition.every is not None:
        document.fail(
            (*keys, "late_to"),
            "'late_to' is not for 'every': beats come out, which lack the columns of the rows; the summary counts them",
        )
    if late_to is not None and (not late_to or late_to in (*definition.columns, *definition.by, definition.on)):
        document.fail((*keys, "late_to"), f"'late_to' is a column that is not there yet, not {late_to!r}")
    options |= {"shards": shards, "late_to": late_to}
    options = {name: value for name, value in options.items() if value is not None}
    try:
        make_stream_plan(definition, **{"shards": 1, "forget_after": None, **options})
    except SlidewiseError as error:
        at = [(name,) for name in options if str(error).startswith(f"{name}=")]
        document.fail((*keys, *(at[0] if at else ())), str(error))
    if "warm" in document.table(keys):  # also after an upgrade that is done, until its gaps have closed
        options["warm"] = document.one_of((*keys, "warm"), WARM, WARM[0])
    return options


def _ahead(document: TomlDocument) -> Duration | None:
    """How far ahead of the clock a row may be: as the stream says, or else the cleaning."""
    if "ahead" in document.table(("stream",)):
        return _duration(document, ("stream", "ahead"))
    if document.table(("clean",)).get("ahead") is None:
        return None
    if document.table(("clean",)).get("ahead_of") == "stream":
        document.fail(
            ("clean", "ahead_of"),
            "ahead_of = 'stream' is for batches: no task of a stream knows the newest time of all; write [stream] "
            "ahead = '1 day', which goes by the clock",
        )
    return _duration(document, ("clean", "ahead"))


def _duration(document: TomlDocument, keys: Keys) -> Duration | None:
    value = document.value(keys, str, "a duration such as '10 minutes'", None)
    try:
        return None if value is None else Duration.of(value)
    except SlidewiseError as error:
        document.fail(keys, str(error))


def _rejected(document: TomlDocument, folder: Path, sink: SinkTable) -> str | None:
    keys = ("stream", "rejected")
    value = document.value(keys, (str, bool), "a folder for rows that cannot be read, or false to count them", True)
    if isinstance(value, str) and value:
        return path_at(folder, value)
    if not value:
        return None
    if not sink.path:
        document.fail(
            keys,
            f"a sink of {sink.format!r} has no folder for rejected rows; name one, or write rejected = false",
        )
    return f"{sink.path.rstrip('/')}/rejected"


def _history(document: TomlDocument, folder: Path) -> HistoryTable | None:
    keys = ("stream", "history")
    if not document.table(keys):
        return None
    form = document.value((*keys, "format"), str, "the name of a Spark format", "parquet")
    if form == "text":
        document.fail((*keys, "format"), "lines of text have no columns; a history is 'parquet', 'csv', 'json', say")
    until = document.value((*keys, "until"), datetime, "a time with its zone, such as 2026-03-01T00:00:00Z", None)
    if until is not None and until.tzinfo is None:
        document.fail((*keys, "until"), f"'until' needs its zone: {until.isoformat()}Z for UTC")
    paths = given_paths(document, (*keys, "path"), folder)
    check_paths(document, (*keys, "path"), paths)
    schema = document.value((*keys, "schema"), str, _COLUMNS, None)
    return HistoryTable(paths, form, document.texts((*keys, "options")), schema, until)


def _old(document: TomlDocument, folder: Path) -> tuple[TomlDocument, ...]:
    """The files of the definitions that the checkpoint may be of; what is wrong in one names that file's line."""
    keys = ("stream", "upgrade_from")
    what = "a job file, or a file with a definition, or a list of them"
    value = document.value(keys, (str, list), what, [])
    files = [value] if isinstance(value, str) else value
    if not all(isinstance(file, str) and file for file in files) or (keys[1] in document.table(keys[:1]) and not files):
        document.fail(keys, f"'upgrade_from' is {what}, not {value!r}")
    paths = [Path(path_at(folder, file)) for file in files]
    for path in paths:
        if not path.is_file():
            document.fail(keys, f"there is no file {path}; 'upgrade_from' is {what}")
    documents = tuple(map(definition_document, paths))
    for old in documents:
        definition_of(old)
    return documents


def _check_places(document: TomlDocument, stream: StreamTable, source: SourceTable, sink: SinkTable) -> None:
    """Check that checkpoint, source and tables are places of their own."""
    tables = {"the rows": f"{sink.path}/rows"} if sink.path else {}
    if stream.rejected:
        tables["the rejected rows"] = stream.rejected
    reads = {f"the source {path}": path for path in source.paths}
    for what, path in {**reads, **tables}.items():
        if _overlap(stream.checkpoint, path):
            document.fail(("stream", "checkpoint"), f"the checkpoint {stream.checkpoint} and {what} are one place")
    for what, path in reads.items():
        for table, at in tables.items():
            if _overlap(at, path):
                keys = ("stream", "sink", "path") if "sink" in document.table(("stream",)) else ("sink", "path")
                keys = ("stream", "rejected") if "rejected" in table and at != f"{sink.path}/rejected" else keys
                document.fail(keys, f"{at} for {table} and {what} are one place; write somewhere else")


def _overlap(one: str, other: str) -> bool:
    """Whether one of two places lies in the other; a pattern lies where its first part without a star does."""
    if "://" in one or "://" in other:
        return one.rstrip("/") == other.rstrip("/")
    first, second = (Path(_plain(path)).resolve() for path in (one, other))
    return first.is_relative_to(second) or second.is_relative_to(first)


def _plain(path: str) -> str:
    parts = Path(path).parts
    stars = [at for at, part in enumerate(parts) if set(part) & set("*?[{")]
    return str(Path(*parts[: stars[0]])) if stars else path
