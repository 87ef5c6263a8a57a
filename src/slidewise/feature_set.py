"""`FeatureSet`: several definitions with keys of their own, answered together at the times of labels."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NoReturn

from slidewise.definition import check_names
from slidewise.definition_files import from_toml_text, tables_to_toml
from slidewise.errors import InputError, SlidewiseError, did_you_mean
from slidewise.expressions.expression import Expression
from slidewise.import_paths import Imports
from slidewise.sliding import Sliding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from slidewise.columns.table_kinds import Table


class FeatureSet:
    """Definitions by name, each with keys of its own; a column is the definition's name, `_`, and the aggregate's.

    Run it: `as_of(labels, events)` on tables and on Spark DataFrames.
    Look at it: `definitions`, `columns`, `repr`, `==`, `hash`, `fingerprint()`.
    Keep it: `to_dict` and `from_dict`, `to_toml` and `from_toml`.

    Args:
        definitions: Definitions by name, where a name is no identifier.
        **more: Definitions by name.

    Raises:
        SlidewiseError: Names that clash, or something that is no definition.

    >>> import pyarrow as pa, slidewise as sw
    >>> features = sw.FeatureSet(
    ...     card=sw.Sliding(by="card", on="ts", spent=sw.sum("amount").over(10)),
    ...     shop=sw.Sliding(by="shop", on="ts", sold=sw.count().over(10)),
    ... )
    >>> payments = pa.table({"card": [1, 2, 1], "shop": ["a", "a", "b"], "ts": [0, 3, 5], "amount": [5.0, 7.0, 2.0]})
    >>> labels = pa.table({"card": [1, 2], "shop": ["a", "b"], "ts": [6, 12]})
    >>> features.as_of(labels, payments).select(["card_spent", "shop_sold"]).to_pydict()
    {'card_spent': [7.0, 7.0], 'shop_sold': [2, 1]}
    """

    __slots__ = ("definitions",)

    definitions: Mapping[str, Sliding]

    def __init__(self, definitions: Mapping[str, Sliding] | None = None, /, **more: Sliding) -> None:
        if definitions is not None and not isinstance(definitions, Mapping):
            raise SlidewiseError(f"a feature set is made of a dict of definitions by name, not of {definitions!r}")
        for name in more:
            if definitions and name in definitions:
                raise SlidewiseError(f"the definition {name!r} is given twice, in the dict and as an argument")
        both = {**(definitions or {}), **more}
        if not both:
            raise SlidewiseError("a feature set needs a definition, such as card=sw.Sliding(by='card', on='ts', ...)")
        for name, definition in both.items():
            _check_member(name, definition)
        object.__setattr__(self, "definitions", _Definitions(both))
        self._check_columns()

    def _check_columns(self) -> None:
        """Check that no two aggregates give one column: `a` with `b_c`, and `a_b` with `c`."""
        owners: dict[str, str] = {}
        for name, definition in self.definitions.items():
            for aggregate in definition.columns:
                column = f"{name}_{aggregate}"
                if column in owners:
                    raise SlidewiseError(
                        f"{owners[column]} and {aggregate!r} of {name!r} would both be the column {column!r}; name one "
                        "of them otherwise"
                    )
                owners[column] = f"{aggregate!r} of {name!r}"
        for _ in self._prefixed():  # nor one that is a key or the time of its own definition
            pass

    @property
    def columns(self) -> dict[str, Expression]:
        """The aggregates by the names of their columns, in the order in which they come out."""
        return {
            f"{name}_{column}": aggregate
            for name, definition in self.definitions.items()
            for column, aggregate in definition.columns.items()
        }

    def as_of(
        self,
        labels: Table | DataFrame,
        events: Table | DataFrame | Mapping[str, Table | DataFrame],
        *,
        on: str | None = None,
        by: Mapping[str, str] | Mapping[str, Mapping[str, str]] | None = None,
        **options: Any,
    ) -> Any:
        """The labels with a column per aggregate of every definition, each as of the label's time.

        `events` are those of each definition by its name, or one table for all. `on` is the labels' time column where
        its name is not the definitions'. `by` says which columns of the labels are the keys, where names differ:
        `{"card": "card_id"}`, or for one definition only `{"merchant": {"id": "shop_id"}}`. Options are those of
        `Sliding.as_of`. All names are checked before anything runs.

        Args:
            labels: Rows with all keys and a time.
            events: A table for all definitions, or one for each by its name.
            on: The labels' time column, where it is not the definitions'.
            by: The labels' names of keys, where they differ.
            **options: Those of `Sliding.as_of`.

        Returns:
            The labels' kind of table.

        Raises:
            SlidewiseError: A stream, or an error of one definition, whose name stands before it.
            InputError: Events or columns that are missing.
        """
        tables = self._events_by_name(events)
        if any(getattr(side, "isStreaming", False) for side in (labels, *tables.values())):
            raise SlidewiseError(
                "a feature set answers tables and batch DataFrames; on streams let each definition answer by itself, "
                "with its own as_of"
            )
        keys = self._keys_by_name(by)
        sides = {id(side): side for side in (labels, *tables.values())}
        read = {number: _read_once(side) for number, side in sides.items()}
        labels, tables = read[id(labels)], {name: read[id(table)] for name, table in tables.items()}
        self._check_names(labels, tables, on, keys)
        for name, definition in self._prefixed():
            try:
                labels = definition.as_of(labels, tables[name], on=on, by=keys[name], **options)
            except SlidewiseError as error:
                raise type(error)(f"{name!r}: {error}") from error
        return labels

    def _events_by_name(self, events: Table | DataFrame | Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(events, Mapping):
            return dict.fromkeys(self.definitions, events)
        for name in events:
            if name not in self.definitions:
                known = ", ".join(map(repr, self.definitions))
                raise InputError(
                    f"there are events for {name!r}, but the definitions are {known}"
                    + did_you_mean(str(name), self.definitions)
                )
        missing = [name for name in self.definitions if name not in events]
        if missing:
            raise InputError(
                f"there are no events for {', '.join(map(repr, missing))}; give a table for each definition, or one "
                "table for all"
            )
        return {name: events[name] for name in self.definitions}

    def _keys_by_name(
        self, by: Mapping[str, str] | Mapping[str, Mapping[str, str]] | None
    ) -> dict[str, dict[str, str]]:
        """For each definition, the labels' names of those of its keys that have other names there."""
        if by is not None and not isinstance(by, Mapping):
            raise InputError(f"by= is a dict of keys and the labels' names of them, not {by!r}")
        keys: dict[str, dict[str, str]] = {name: {} for name in self.definitions}
        everyones: dict[str, str] = {}
        for name, column in (by or {}).items():
            if not isinstance(column, Mapping):
                everyones[name] = column
                continue
            if name not in self.definitions:
                raise InputError(
                    f"by= names the definition {name!r}, but they are {', '.join(map(repr, self.definitions))}"
                    + did_you_mean(str(name), self.definitions)
                )
            keys[name] |= column
        for key, column in everyones.items():
            owners = [name for name, definition in self.definitions.items() if key in definition.by]
            if not owners:
                known = list(dict.fromkeys(key for definition in self.definitions.values() for key in definition.by))
                raise InputError(
                    f"by= names the key {key!r}, but the keys are {', '.join(map(repr, known)) or 'none'}"
                    + did_you_mean(str(key), known)
                )
            for name in owners:
                keys[name].setdefault(key, column)
        return keys

    def _check_names(
        self,
        labels: Table | DataFrame,
        tables: Mapping[str, Table | DataFrame],
        on: str | None,
        keys: Mapping[str, Mapping[str, str]],
    ) -> None:
        """Check what every definition reads and adds, before the first of them runs."""
        from slidewise.engine.point_in_time.label_columns import LabelColumns

        label_names, label_index = _names_of(labels)
        for name, definition in self._prefixed():
            try:
                columns = LabelColumns.of(definition, on, keys[name], "as_of")
                columns.check(definition, label_names, "labels", label_index)
                event_names, event_index = _names_of(tables[name])
                check_names(definition, event_names, "table of events", event_index, added=False)
            except SlidewiseError as error:
                raise type(error)(f"{name!r}: {error}") from error

    def _prefixed(self) -> Iterator[tuple[str, Sliding]]:
        """The definitions with the names that their columns have in the feature set; all else stays as it is."""
        for name, definition in self.definitions.items():
            columns = {f"{name}_{column}": aggregate for column, aggregate in definition.columns.items()}
            try:
                yield name, Sliding(by=definition.by, on=definition.on, ties=definition.ties, columns=columns)
            except SlidewiseError as error:
                raise type(error)(f"{name!r}: {error}") from error

    def fingerprint(self) -> str:
        """A digest of the names and the fingerprints of all definitions.

        Returns:
            Hexadecimal text.
        """
        described = [[name, definition.fingerprint()] for name, definition in self.definitions.items()]
        return blake2b(json.dumps(described).encode(), digest_size=16).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The definitions by name, as plain dicts, lists, text and numbers.

        Returns:
            What `from_dict` takes, and JSON holds.
        """
        return {name: definition.to_dict() for name, definition in self.definitions.items()}

    @classmethod
    def from_dict(cls, written: Mapping[str, Any], *, imports: Imports = False) -> FeatureSet:
        """The feature set that `to_dict` wrote; `imports` as for `Sliding.from_dict`.

        Args:
            written: What `to_dict` gave.
            imports: What may be imported for users' operators: names of modules, True for all that is named, False for
                none.

        Returns:
            The feature set.

        Raises:
            SlidewiseError: A dict that is no feature set.
        """
        if not isinstance(written, Mapping):
            raise SlidewiseError(f"a written feature set is a dict of definitions, not {written!r}")
        definitions = {}
        for name, definition in written.items():
            try:
                definitions[name] = Sliding.from_dict(definition, imports=imports)
            except SlidewiseError as error:
                raise type(error)(f"the definition {name!r}: {error}") from error
        return cls(definitions)

    def to_toml(self) -> str:
        """The feature set as text in TOML: a table for each definition.

        Returns:
            Text that `from_toml` takes.

        >>> import slidewise as sw
        >>> print(sw.FeatureSet(card=sw.Sliding(by="card", on="ts", n=sw.count().over("1 hour"))).to_toml())
        ["card"]
        by = ["card"]
        on = "ts"
        <BLANKLINE>
        ["card".columns."n"]
        operator = "count"
        of = []
        over = "1 hour"
        <BLANKLINE>
        """
        return tables_to_toml(self.definitions)

    @classmethod
    def from_toml(cls, text: str, *, imports: Imports = False) -> FeatureSet:
        """The feature set that `to_toml` wrote, or that somebody wrote by hand; `imports` as for `from_dict`.

        Args:
            text: A feature set in TOML.
            imports: What may be imported for users' operators: names of modules, True for all that is named, False for
                none.

        Returns:
            The feature set.

        Raises:
            SlidewiseError: Text that is no TOML, or no feature set.
        """
        return cls.from_dict(from_toml_text(text), imports=imports)

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise SlidewiseError(f"a feature set does not change; make a new one with another {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise SlidewiseError(f"a feature set does not change; make a new one without {name!r}")

    def __reduce__(self) -> Any:
        return type(self), (dict(self.definitions),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeatureSet):
            return NotImplemented
        return tuple(self.definitions.items()) == tuple(other.definitions.items())

    def __hash__(self) -> int:
        return hash(tuple(self.definitions.items()))

    def __repr__(self) -> str:
        plain = all(name.isidentifier() for name in self.definitions)
        parts = [
            f"{name}={definition!r}" if plain else f"{name!r}: {definition!r}"
            for name, definition in self.definitions.items()
        ]
        inside = "".join(f"\n{part}," for part in parts).replace("\n", "\n    ")
        return f"sw.FeatureSet({inside}\n)" if plain else f"sw.FeatureSet({{{inside}\n}})"

    def _repr_html_(self) -> str:
        """What a notebook shows: each definition by its name."""
        from slidewise.html_pages import definition_in_notebook, notebook_line, notebook_part

        parts = [f"{notebook_line(name)}{definition_in_notebook(each)}" for name, each in self.definitions.items()]
        return notebook_part(*parts)


class _Definitions(dict[str, Sliding]):
    """A dict that does not change."""

    def _refuse(self, *_args: object, **_named: object) -> NoReturn:
        raise SlidewiseError("a feature set does not change; make a new one with other definitions")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = __ior__ = _refuse


def _check_member(name: object, definition: object) -> None:
    if not isinstance(name, str) or not name:
        raise SlidewiseError(f"a definition's name in a feature set is text, not {name!r}")
    if not isinstance(definition, Sliding):
        raise SlidewiseError(
            f"{name}={definition!r} is no definition, such as sw.Sliding(by='card', on='ts', n=sw.count().over('1h'))"
        )
    if definition.every is not None:
        raise SlidewiseError(
            f"{name!r} has every={str(definition.every)!r}: a feature set answers at the times of labels, not on a "
            "beat; leave out every="
        )
    if definition.on is None:
        raise SlidewiseError(
            f"{name!r} has no time column, and labels are answered as of their times; add on='ts', say"
        )


def _read_once(table: Table | DataFrame) -> Table | DataFrame:
    """A table that several definitions can read: what is a stream of rows is read to its end."""
    if type(table).__module__.startswith("pyspark."):
        return table
    from slidewise.columns.table_kinds import as_table

    return as_table(table)


def _names_of(table: Table | DataFrame) -> tuple[list[Any], list[Any]]:
    """The names of a table's columns, those of a Spark DataFrame too, and of what pandas keeps in its index."""
    if type(table).__module__.startswith("pyspark."):
        return list(table.columns), []
    from slidewise.columns.frames import frame_of

    frame = frame_of(table)
    return frame.names, frame.index
