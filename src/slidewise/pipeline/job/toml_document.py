"""A TOML document with line numbers: an error names the line of the key that it is about."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from slidewise.errors import SlidewiseError, did_you_mean

Keys = tuple[str, ...]


class JobError(SlidewiseError):
    """A job that cannot run as it is written; the message names the file and the line."""


class TomlDocument:
    """A parsed TOML document, whose tables and values are looked up by keys and checked by type.

    With `within`, all of the text is one table of this name, which is not written there.
    """

    def __init__(self, name: str, text: str, within: str | None = None) -> None:
        self.name = name
        self._within = within
        self._lines = text.splitlines(keepends=True)
        try:
            data = tomllib.loads(text)
        except RecursionError:
            raise JobError(f"{name}: this is no valid TOML: its values are nested too deeply") from None
        except tomllib.TOMLDecodeError as error:
            message, _, at = str(error).partition(" (at ")
            where = at.rstrip(")").partition(",")[0]
            raise JobError(f"{name}{f', {where}' if where else ''}: this is no valid TOML: {message}") from error
        self.data: dict[str, Any] = data if within is None else {within: data}

    @classmethod
    def of_file(cls, path: Path, within: str | None = None) -> TomlDocument:
        try:
            return cls(str(path), path.read_text(encoding="utf-8"), within)
        except OSError as error:
            raise JobError(f"the job file {path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise JobError(f"the job file {path} is not UTF-8: {error}") from error

    def line_of(self, keys: Keys) -> int:
        """The line on which the last of the keys is written, or the table that it is missing from.

        The parser itself finds it: the shortest beginning of the file that is TOML and has the key ends with it.

        >>> document = TomlDocument("job.toml", '[a]\\nb = 1\\n\\n[a.c]\\nd = [\\n  2,\\n]\\n')
        >>> document.line_of(("a", "b")), document.line_of(("a", "c", "d")), document.line_of(("a", "x"))
        (2, 5, 1)
        """
        if self._within is not None:
            keys = keys[1:]
        return self._line_of(keys)

    def _line_of(self, keys: Keys) -> int:
        if not keys:
            return 1
        begins = 1
        for end in range(1, len(self._lines) + 1):
            try:
                data = tomllib.loads("".join(self._lines[:end]))
            except tomllib.TOMLDecodeError:
                continue
            if _has(data, keys):
                return begins
            begins = end + 1
        return self._line_of(keys[:-1])

    def fail(self, keys: Keys, message: str) -> NoReturn:
        raise JobError(f"{self.name}, line {self.line_of(keys)}: {message}")

    def table(self, keys: Keys, known: tuple[str, ...] | None = None, needed: bool = False) -> Mapping[str, Any]:
        """The table under the keys, with no other names in it than the known ones; empty where it is not there."""
        table: Any = self.data
        for key in keys:
            if needed and key not in table:
                self.fail(keys, f"the job has no [{'.'.join(keys)}]; add that table")
            table = table.get(key, {})
            if not isinstance(table, Mapping):
                self.fail(keys, f"{'.'.join(keys)} is a table, not {table!r}")
        for name in table:
            if known is not None and name not in known:
                where = f"[{'.'.join(keys)}]" if keys else "a job"
                has = ", ".join(known)
                self.fail((*keys, name), f"{where} has no {name!r}; it has {has}{did_you_mean(name, known)}")
        return table  # type: ignore[no-any-return]

    def value(self, keys: Keys, kinds: type | tuple[type, ...], what: str, default: Any = ...) -> Any:
        """The value under the keys, which is of one of the kinds; the default where it is not there."""
        table = self.table(keys[:-1])
        if keys[-1] not in table:
            if default is ...:
                self.fail(keys, f"[{'.'.join(keys[:-1])}] needs {keys[-1]!r}: {what}")
            return default
        value = table[keys[-1]]
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            self.fail(keys, f"{keys[-1]!r} is {what}, not {value!r}")
        return value

    def one_of(self, keys: Keys, choices: tuple[str, ...], default: str) -> str:
        """The text under the keys, which is one of the choices; the default where it is not there."""
        value = self.value(keys, str, "one of " + ", ".join(choices), default)
        if value not in choices:
            self.fail(keys, f"{keys[-1]!r} is one of {', '.join(choices)}, not {value!r}{did_you_mean(value, choices)}")
        return str(value)

    def texts(self, keys: Keys) -> dict[str, str]:
        """A table of texts, as Spark takes them: true is "true", and 5 is "5"."""
        texts = {}
        for name, value in self.table(keys).items():
            if not isinstance(value, str | int | float):
                self.fail((*keys, name), f"{name!r} is text, a number, true or false, not {value!r}")
            texts[name] = str(value).lower() if isinstance(value, bool) else str(value)
        return texts


def _has(data: object, keys: Keys) -> bool:
    for key in keys:
        if not isinstance(data, Mapping) or key not in data:
            return False
        data = data[key]
    return True
