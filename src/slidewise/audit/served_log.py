"""Which columns of a log say the key, the time of the request, and the answers; checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from slidewise.definition import Definition, column_not_found
from slidewise.engine.point_in_time.label_columns import LabelColumns
from slidewise.errors import InputError, SlidewiseError, did_you_mean

# The columns of `Audit.differences` behind the keys and the time.
LISTED = ("column", "served", "recomputed", "difference", "kind", "row")


class ServedLog(NamedTuple):
    """The columns of a log of served answers: keys, time, by the definition's columns the answers that it has, and
    those of the request that expressions read."""

    keys: tuple[str, ...]
    at: str
    columns: Mapping[str, str]
    absent: tuple[str, ...]  # columns of the definition that the log has none for
    own: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        definition: Definition,
        names: list[Any],
        index: Iterable[Any] = (),
        at: str | None = None,
        by: Mapping[str, str] | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> ServedLog:
        """The columns of a log that has these names; an error says what is missing, and what to do."""
        if at is not None and (not isinstance(at, str) or not at):
            raise SlidewiseError(f"at= is the name of the log's time column, not {at!r}")
        keys, on = LabelColumns.of(definition, at, by, "audit")
        for key, name in zip(definition.by, keys, strict=True):
            _check_column(name, names, index, f"; where it has another name there, say so with by={{{key!r}: ...}}")
        _check_column(str(on), names, index, "; where it has another name there, say so with at=...")
        own = tuple(name for name in definition.own if name not in (*definition.by, definition.on))
        for name in own:
            _check_column(name, names, index, "; an expression reads it of the request: log it beside the answers")
        written = _checked_columns(definition, columns)
        present = {name: written.get(name, name) for name in definition.columns if written.get(name, name) in names}
        for name, column in written.items():
            _check_column(column, names, index, f"; columns= says that {name!r} was served there")
        for column in present.values():
            _check_column(column, names, index)
            if column in (*keys, on):
                raise InputError(f"column {column!r} of the log is a key or the time, and cannot be an answer too")
        if not present:
            has = ", ".join(map(str, names[:20])) + (", ..." if len(names) > 20 else "")
            first = next(iter(definition.columns))
            raise InputError(
                f"the log has none of the answers {', '.join(map(repr, definition.columns))}, so there is nothing to "
                f"compare; it has {has or 'no columns'}. Where they have other names, say so: "
                f"columns={{{first!r}: 'served_{first}'}}"
            )
        absent = tuple(name for name in definition.columns if name not in present)
        return cls(keys, str(on), present, absent, own)

    @property
    def asked(self) -> list[str]:
        """The keys and the time of requests, each once."""
        return list(dict.fromkeys((*self.keys, self.at)))

    @property
    def requests(self) -> list[str]:
        """The columns that the answers are recomputed for: keys, time, and what expressions read, each once."""
        return list(dict.fromkeys((*self.asked, *self.own)))

    @property
    def read(self) -> list[str]:
        """Every column of the log that is read, each once."""
        return list(dict.fromkeys((*self.asked, *self.columns.values())))

    def listed_names(self) -> list[str]:
        """The names of the keys and the time among the columns of differences."""
        names: list[str] = []
        for column in self.asked:
            name = column
            while name in LISTED or name in names:
                name = f"key_{name}"
            names.append(name)
        return names


def _checked_columns(definition: Definition, columns: Mapping[str, str] | None) -> Mapping[str, str]:
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise SlidewiseError(f"columns= says which column of the log is which aggregate, as a dict, not {columns!r}")
    for name, column in columns.items():
        if name not in definition.columns:
            known = ", ".join(map(repr, definition.columns))
            hint = did_you_mean(str(name), definition.columns)
            raise SlidewiseError(f"columns= names the aggregate {name!r}, but the definition has {known}{hint}")
        if not isinstance(column, str) or not column:
            raise SlidewiseError(f"columns= gives {name!r} the column {column!r}, which is no name")
    return columns


def _check_column(name: str, names: list[Any], index: Iterable[Any], remedy: str = "") -> None:
    if name not in names:
        raise column_not_found(name, names, "the log has", index, remedy)
    if names.count(name) > 1:
        raise InputError(f"the log has {names.count(name)} columns named {name!r}; rename all but one")
