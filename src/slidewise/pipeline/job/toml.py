"""A TOML file as plain data that knows its lines: an error names the line of the key that it is about."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from slidewise.errors import SlidewiseError, did_you_mean

Keys = tuple[str, ...]


class JobError(SlidewiseError):
    """A job that cannot run as it is written; the message names the file and the line."""


class Written:
    """What a TOML file says."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._lines = text.splitlines(keepends=True)
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
        except RecursionError:
            raise JobError(f"{name}: this is no valid TOML: its values are nested too deeply") from None
        except tomllib.TOMLDecodeError as error:
            said, _, at = str(error).partition(" (at ")
            where = at.rstrip(")").partition(",")[0]
            raise JobError(f"{name}{f', {where}' if where else ''}: this is no valid TOML: {said}") from error

    @classmethod
    def of_file(cls, path: Path) -> Written:
        try:
            return cls(str(path), path.read_text(encoding="utf-8"))
        except OSError as error:
            raise JobError(f"the job file {path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise JobError(f"the job file {path} is not UTF-8: {error}") from error

    def line_of(self, keys: Keys) -> int:
        """The line on which the last of the keys is written, or the table that it is missing from.

        The parser itself finds it: the shortest beginning of the file that is TOML and has the key ends with it.

        >>> written = Written("job.toml", '[a]\\nb = 1\\n\\n[a.c]\\nd = [\\n  2,\\n]\\n')
        >>> written.line_of(("a", "b")), written.line_of(("a", "c", "d")), written.line_of(("a", "x"))
        (2, 5, 1)
        """
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
        return self.line_of(keys[:-1])

    def fail(self, keys: Keys, message: str) -> NoReturn:
        raise JobError(f"{self.name}, line {self.line_of(keys)}: {message}")

    def table(self, keys: Keys, known: tuple[str, ...] | None = None, needed: bool = False) -> Mapping[str, Any]:
        """The table under the keys, with no other names in it than the known ones; empty where it is not there."""
        found: Any = self.data
        for key in keys:
            if needed and key not in found:
                self.fail(keys, f"the job has no [{'.'.join(keys)}]; add that table")
            found = found.get(key, {})
            if not isinstance(found, Mapping):
                self.fail(keys, f"{'.'.join(keys)} is a table, not {found!r}")
        for name in found:
            if known is not None and name not in known:
                where = f"[{'.'.join(keys)}]" if keys else "a job"
                has = ", ".join(known)
                self.fail((*keys, name), f"{where} has no {name!r}; it has {has}{did_you_mean(name, known)}")
        return found  # type: ignore[no-any-return]

    def value(self, keys: Keys, kinds: type | tuple[type, ...], what: str, default: Any = ...) -> Any:
        """The value under the keys, which is of one of the kinds; the default where it is not there."""
        table = self.table(keys[:-1])
        if keys[-1] not in table:
            if default is ...:
                self.fail(keys, f"[{'.'.join(keys[:-1])}] needs {keys[-1]!r}: {what}")
            return default
        found = table[keys[-1]]
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        if not isinstance(found, kinds) or (isinstance(found, bool) and bool not in kinds):
            self.fail(keys, f"{keys[-1]!r} is {what}, not {found!r}")
        return found

    def one_of(self, keys: Keys, choices: tuple[str, ...], default: str) -> str:
        found = self.value(keys, str, "one of " + ", ".join(choices), default)
        if found not in choices:
            self.fail(keys, f"{keys[-1]!r} is one of {', '.join(choices)}, not {found!r}{did_you_mean(found, choices)}")
        return str(found)

    def texts(self, keys: Keys) -> dict[str, str]:
        """A table of texts, as Spark takes them: true is "true", and 5 is "5"."""
        found = {}
        for name, value in self.table(keys).items():
            if not isinstance(value, str | int | float):
                self.fail((*keys, name), f"{name!r} is text, a number, true or false, not {value!r}")
            found[name] = str(value).lower() if isinstance(value, bool) else str(value)
        return found


def _has(data: Any, keys: Keys) -> bool:
    for key in keys:
        if not isinstance(data, Mapping) or key not in data:
            return False
        data = data[key]
    return True
