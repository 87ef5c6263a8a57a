"""The `[labels]` of a job file: rows at whose times the definition is answered, instead of at the source's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from slidewise.errors import did_you_mean
from slidewise.pipeline.job.paths import paths_of
from slidewise.pipeline.job.toml_document import TomlDocument
from slidewise.sliding import Sliding

KEYS = ("format", "path", "schema", "options", "on", "by")


@dataclass(frozen=True)
class Labels:
    """Where labels come from, and which of their columns are the time and the keys."""

    paths: tuple[str, ...]
    on: str
    by: Mapping[str, str] = field(default_factory=dict)  # the labels' names of keys that have other names there
    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None

    def renamed(self, definition: Sliding) -> Sliding:
        """The definition with the labels' names of keys and time: what it says of the rows that are written."""
        keys = dict.fromkeys(self.by.get(key, key) for key in definition.by)
        return Sliding(by=tuple(keys), on=self.on, columns=definition.columns)


def labels_of(document: TomlDocument, folder: Path, definition: Sliding) -> Labels | None:
    """The labels that a document names; None where it names none."""
    document.table(("labels",), KEYS)
    if "labels" not in document.data:
        return None
    form = document.value(("labels", "format"), str, "the name of a Spark format", "parquet")
    if form == "text":
        document.fail(("labels", "format"), "lines of text have no columns; labels are 'parquet', 'csv', 'json', say")
    labels = Labels(
        paths=paths_of(document, "labels", folder),
        on=document.value(("labels", "on"), str, "the labels' time column", definition.on),
        by=_keys(document, definition),
        format=form,
        options=document.texts(("labels", "options")),
        schema=document.value(("labels", "schema"), str, "columns and types, such as 'ts timestamp, x double'", None),
    )
    _check_names(document, labels, definition)
    return labels


def _keys(document: TomlDocument, definition: Sliding) -> dict[str, str]:
    keys = dict(document.table(("labels", "by")))
    for key, name in keys.items():
        if key not in definition.by:
            known = ", ".join(map(repr, definition.by)) or "no keys"
            hint = did_you_mean(key, definition.by)
            document.fail(("labels", "by", key), f"'by' names the key {key!r}, but the definition has {known}{hint}")
        if not isinstance(name, str) or not name:
            document.fail(("labels", "by", key), f"'by' gives the key {key!r} a column of the labels, not {name!r}")
    return keys


def _check_names(document: TomlDocument, labels: Labels, definition: Sliding) -> None:
    """Check that no column of the labels has two parts to play."""
    for key in definition.by:
        column = labels.by.get(key, key)
        at = ("labels", "by", key) if key in labels.by else ("labels",)
        if column == labels.on:
            document.fail(at, f"the labels' column {column!r} is named both as a key and as the time")
        if column in definition.columns:
            document.fail(at, f"the labels' key {column!r} has the name of an aggregate; name the aggregate otherwise")
    if labels.on in definition.columns:
        document.fail(
            ("labels", "on"), f"the labels' time {labels.on!r} has the name of an aggregate; name that otherwise"
        )
