"""Which columns of labels say the key and the time that a definition is asked at; checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from slidewise.definition import Definition, column_not_found
from slidewise.errors import InputError, SlidewiseError, did_you_mean
from slidewise.expressions.expression import columns_of


class LabelColumns(NamedTuple):
    """The labels' key columns, in the order of the definition's own, and their time column; None where none is asked
    for."""

    by: tuple[str, ...]
    on: str | None

    @classmethod
    def of(cls, definition: Definition, on: str | None, by: Mapping[str, str] | None, what: str) -> LabelColumns:
        """The columns that `on=` and `by=` name, and for the rest those of the definition."""
        if definition.every is not None:
            raise SlidewiseError(
                f"{what} is not for every={str(definition.every)!r}: such a definition answers on a beat, and not at "
                "other times; leave out every= for answers at any moment"
            )
        if definition.on is None:
            raise SlidewiseError(f"{what} goes by time, and the definition has no time column: give it on='ts', say")
        if on is not None and (not isinstance(on, str) or not on):
            raise SlidewiseError(f"on= is the name of the labels' time column, not {on!r}")
        if by is not None and not isinstance(by, Mapping):
            example = f"by={{{definition.by[0]!r}: {by!r}}}" if definition.by and isinstance(by, str) else "a dict"
            raise SlidewiseError(f"by= says which column of the labels is which key, as {example}, not {by!r}")
        for key, name in (by or {}).items():
            if key not in definition.by:
                keys = ", ".join(map(repr, definition.by)) or "no keys"
                raise SlidewiseError(
                    f"by= names the key {key!r}, but the definition has {keys}{did_you_mean(str(key), definition.by)}"
                )
            if not isinstance(name, str) or not name:
                raise SlidewiseError(f"by= gives the key {key!r} the column {name!r}, which is no name")
        return cls(tuple((by or {}).get(key, key) for key in definition.by), on or definition.on)

    def own(self, definition: Definition) -> dict[str, str]:
        """The labels' columns by the definition's names: keys and time, and those that results read of the label."""
        names = dict(zip((*definition.by, definition.on or ""), (*self.by, self.on or ""), strict=True))
        return {name: column for name, column in names.items() if name and column} | {
            name: names.get(name) or name for name in definition.own
        }

    def check(self, definition: Definition, names: list[Any], what: str, index: Iterable[Any] = ()) -> None:
        """Check that the labels have these columns, each once, and none that is named like an aggregate."""
        options = dict(zip(self.by, (f"by={{{key!r}: ...}}" for key in definition.by), strict=True))
        for name in (*self.by, self.on):
            if name is None:
                continue
            if name not in names:
                remedy = f"; where it has another name there, say so with {options.get(name, 'on=...')}"
                own = name in (*definition.by, definition.on)
                raise column_not_found(name, names, f"the {what} have", index, remedy, hints=not own)
            if names.count(name) > 1:
                raise InputError(f"the {what} have {names.count(name)} columns named {name!r}; rename all but one")
        for name in definition.own:
            if name not in (*definition.by, definition.on) and name not in names:
                reader = next(c for c, result in definition.stages.results.items() if name in columns_of(result))
                remedy = f"; {reader!r} reads it of the row that asks, not of the events"
                raise column_not_found(name, names, f"the {what} have", index, remedy)
        for name in definition.columns:
            if name in names:
                raise InputError(
                    f"the {what} have a column {name!r} already; name the aggregate otherwise, or drop the column"
                )
