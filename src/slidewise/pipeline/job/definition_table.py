"""The `[definition]` of a job file, and of the older files that a stream is upgraded from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from slidewise.definition_files import arguments_unresolved
from slidewise.errors import SlidewiseError
from slidewise.pipeline.job.toml_document import TomlDocument
from slidewise.sliding import Sliding

_KEYS = ("definition",)


def definition_of(document: TomlDocument) -> Sliding:
    """The definition of a document, with stand-ins for the user's own operators; a mistake names its line."""
    table = document.table(_KEYS, ("by", "on", "ties", "every", "offset", "columns"), needed=True)
    if "every" in table and "labels" in document.data:
        document.fail(
            (*_KEYS, "every"),
            "labels are answered at their own times, not on a beat, so a job with [labels] takes no 'every'; leave out "
            "one of them",
        )
    columns = document.table((*_KEYS, "columns"), needed=True)
    for name, column in columns.items():
        try:
            arguments_unresolved({"columns": {name: column}})
        except SlidewiseError as error:
            culprit = _culprit(column, str(error).replace(repr(name), "", 1))
            document.fail((*_KEYS, "columns", name, *culprit), str(error))
    try:
        definition = Sliding(**arguments_unresolved(table))
    except SlidewiseError as error:
        at = [("columns", name) for name in columns if repr(name) in str(error)]
        beat = [(name,) for name in ("every", "offset") if name in table and str(error).startswith(f"{name}=")]
        document.fail((*_KEYS, *(at or beat or [()])[0]), str(error))
    if definition.on is None:
        document.fail(_KEYS, "rows of a Spark table have no order; give the definition a time column: on = 'ts'")
    return definition


def definition_document(path: Path) -> TomlDocument:
    """The document of a job file, or of a file that is a definition and nothing else."""
    document = TomlDocument.of_file(path)
    return document if "definition" in document.data else TomlDocument.of_file(path, within="definition")


def _culprit(table: object, message: str) -> tuple[str, ...]:
    """The key that a message is about: the one that it quotes, or whose value it quotes."""
    if isinstance(table, Mapping):
        for name, value in table.items():
            if repr(name) in message or repr(value) in message:
                return (name,)
    return ()
