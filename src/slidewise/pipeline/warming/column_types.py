"""The types of the columns that a definition reads: as given, of the job's source or a file of rows, or supposed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from slidewise.definition import Definition
from slidewise.errors import InputError, SlidewiseError, did_you_mean
from slidewise.pipeline.job.job import Job
from slidewise.spark.types import SIMPLE

_NAMES = {
    **SIMPLE,
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "text": pa.string(),
}
_FORMATS = {".parquet": "parquet", ".csv": "csv", ".arrow": "ipc", ".feather": "ipc", ".json": "json", ".orc": "orc"}


class ColumnTypes(NamedTuple):
    """A type for each column, and which of them nobody has said."""

    types: dict[str, pa.DataType]
    supposed: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in self.types.items())


def types_for(definition: Definition, known: Mapping[str, pa.DataType]) -> list[ColumnTypes]:
    """The types of all that a definition reads; numbers of which nobody says what they are, are floats, then whole."""
    missing = tuple(name for name in definition.event_needs if name not in known)
    supposed = {name: _supposed(definition, name) for name in missing}
    types = {name: known.get(name) or supposed[name] for name in definition.event_needs}
    found = [ColumnTypes(types, missing)]
    numbers = [name for name in missing if supposed[name] == pa.float64()]
    if numbers:
        found.append(ColumnTypes({**types, **dict.fromkeys(numbers, pa.int64())}, missing))
    return found


def _supposed(definition: Definition, name: str) -> pa.DataType:
    aggregates = definition.aggregates.values()
    windows = [aggregate.window for aggregate in aggregates if aggregate.window is not None]
    if name == definition.on:
        numbers = any(isinstance(window.last, int | float) for window in windows)
        return pa.int64() if numbers else pa.timestamp("us", "UTC")
    categories = [aggregate.columns[-1] for aggregate in aggregates if aggregate.operator.traits.per is not None]
    if name in (*definition.by, *categories):
        return pa.string()
    if name in {*(aggregate.condition for aggregate in aggregates), *(window.since for window in windows)}:
        return pa.bool_()
    return pa.float64()


def type_called(name: str) -> pa.DataType:
    """A type by the name that Spark has for it, or Arrow."""
    if name in _NAMES:
        return _NAMES[name]
    for kind in _NAMES.values():
        if str(kind) == name:
            return kind
    try:
        return pa.type_for_alias(name)
    except ValueError:
        hint = did_you_mean(name, [*_NAMES])
        raise SlidewiseError(f"there is no type {name!r}; types are {', '.join(SIMPLE)}{hint}") from None


def types_in_file(path: str) -> dict[str, pa.DataType]:
    """The columns of a file or a folder of rows, and their types."""
    from pyarrow import dataset

    place = Path(path)
    files = sorted(file for file in place.rglob("*") if file.suffix in _FORMATS) if place.is_dir() else [place]
    suffix = files[0].suffix if files else ""
    if suffix not in _FORMATS:
        raise InputError(f"{path} is no {', '.join(sorted(_FORMATS))} file, nor a folder of these")
    try:
        schema = dataset.dataset(files[0], format=_FORMATS[suffix]).schema
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    return {field.name: _plain(field.type) for field in schema}


def types_in_job(job: Job) -> dict[str, pa.DataType]:
    """The columns of a job's source as far as its file, or a file of the source's, says them."""
    if job.lines is not None:
        return {column.name: _NAMES[column.type] for column in job.lines.columns}
    if job.schema is not None:
        fields = [field.split() for field in job.schema.replace(":", " ").split(",")]
        return {
            field[0]: _NAMES[field[1].lower()] for field in fields if len(field) >= 2 and field[1].lower() in _NAMES
        }
    known: dict[str, pa.DataType] = {}
    for path in job.paths:
        if "://" not in path and Path(path).exists():
            known |= types_in_file(path)
    return known


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type without what only says how it is stored."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return pa.string() if pa.types.is_large_string(kind) else kind
