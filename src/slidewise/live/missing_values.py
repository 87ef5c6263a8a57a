"""The kinds of columns: in those of numbers NaN is a value, in those of text or the like it is null.

An event says nothing of a column's type, and pandas gives NaN for a missing text. A column is known by its first value
that is neither null nor NaN: a number, and NaN is a value in it; anything else, and NaN is null. Until then NaN counts
as a value, and nothing but NaN and nulls has come. So where a column turns out to hold no numbers, the windows over it
have no row that counts, and begin anew: no answer after that depends on when the first text came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slidewise.engine.event_values import plain_value
from slidewise.errors import InputError
from slidewise.live.keys import key_parts

if TYPE_CHECKING:
    from slidewise.columns.frames import Frame

NUMBERS, OTHERS, NANS = "numbers", "others", "nothing but NaN"


class ColumnKinds:
    """Which columns of a definition hold numbers: `others` do not, `unknown` ones have had no value but for NaN, and
    `nans` are those of the unknown ones in which NaN has come."""

    __slots__ = ("nans", "others", "unknown")

    def __init__(self, names: Iterable[str]) -> None:
        self.unknown = set(names)
        self.others: set[str] = set()
        self.nans: set[str] = set()

    def in_event(self, row: Mapping[str, Any]) -> dict[str, str]:
        """The kinds of unknown columns that an event shows."""
        kinds = {}
        for name in self.unknown:
            value = plain_value(row.get(name))
            if value is None:
                continue
            if type(value) is float or type(value) is int:
                kinds[name] = NUMBERS if value == value else NANS
            else:
                kinds[name] = OTHERS
        return kinds

    def in_frame(self, frame: Frame) -> dict[str, str]:
        """The kinds of unknown columns that a batch shows; one without values shows none."""
        from slidewise.columns.series import read

        kinds = {}
        for name in self.unknown:
            try:
                column = read(frame.column(name), repr(name))
            except InputError:  # numbers that cannot be aggregated, and can be keys
                kinds[name] = NUMBERS
                continue
            data = column.data if column.valid is None else column.data[column.valid]
            if not len(data):
                continue
            if column.unit is not None or data.dtype.kind not in "if":
                kinds[name] = OTHERS
            else:
                kinds[name] = NUMBERS if (data == data).any() else NANS
        return kinds

    def learn_keys(self, names: Sequence[str], keys: Iterable[Any]) -> None:
        """Learn the kinds of the columns of these keys."""
        for key in keys:
            self.learn(self.in_event(dict(zip(names, key_parts(key, names), strict=True))))

    def as_dict(self, names: Sequence[str], keys: Iterable[Any]) -> dict[str, list[str]]:
        """The columns of each kind, for a snapshot; empty where keys show their own, and the others hold numbers."""
        if self.others | self.unknown <= set(names) and not any(
            part is None or part != part for key in keys for part in key_parts(key, names)
        ):
            return {}
        return {"others": sorted(self.others), "unknown": sorted(self.unknown), "nans": sorted(self.nans)}

    def restore(self, stored: dict[str, Any], columns: Sequence[str], keys: Sequence[str], events: int) -> None:
        """Become what `as_dict` gave, of all columns and the keys among them; a ValueError where it makes no sense."""
        parts = []
        for part in ("others", "unknown", "nans"):
            names = stored.get(part, [])
            if type(names) is not list or not all(type(name) is str and name in columns for name in names):
                raise ValueError(f"the columns {names!r} are none of the definition's")
            parts.append(set(names))
        others, unknown, nans = parts
        if others & unknown or not nans <= unknown:
            raise ValueError("a column cannot be known and unknown")
        self.others |= others
        self.unknown = unknown if stored else set(keys) if events else set(columns)
        self.nans = nans

    def learn(self, kinds: Mapping[str, str]) -> None:
        """Keep the kinds of columns that an event, or a batch, has shown."""
        self.others |= {name for name, kind in kinds.items() if kind == OTHERS}
        known = {name for name, kind in kinds.items() if kind != NANS}
        self.unknown -= known
        self.nans = (self.nans | set(kinds)) - known
