"""NaN as a missing value: which columns hold numbers, among which NaN is a value, and which hold text or the like.

An event says nothing of a column's type, and pandas gives NaN for a missing text. A column is known by its first value
that is neither null nor NaN: a number, and NaN is a value in it; anything else, and NaN is null. Until then NaN counts
as a value, and nothing but NaN and nulls has come. So where a column turns out to hold no numbers, the windows over it
have no row that counts, and begin anew: no answer after that depends on when the first text came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slidewise.engine.window_spec import plainly
from slidewise.errors import InputError

if TYPE_CHECKING:
    from slidewise.columns.frames import Frame

NUMBERS, OTHERS, NANS = "numbers", "others", "nothing but NaN"


class Kinds:
    """What is known of the columns that a definition reads: `others` hold no numbers, of `unknown` ones nothing is
    known, and `nans` are those among them in which NaN has come."""

    __slots__ = ("nans", "others", "unknown")

    def __init__(self, names: Iterable[str]) -> None:
        self.unknown = set(names)
        self.others: set[str] = set()
        self.nans: set[str] = set()

    def in_event(self, row: Mapping[str, Any]) -> dict[str, str]:
        """What an event says of columns that are unknown."""
        found = {}
        for name in self.unknown:
            value = plainly(row.get(name))
            if value is None:
                continue
            if type(value) is float or type(value) is int:
                found[name] = NUMBERS if value == value else NANS
            else:
                found[name] = OTHERS
        return found

    def in_frame(self, frame: Frame) -> dict[str, str]:
        """What a batch says of columns that are unknown; one without values says nothing."""
        from slidewise.columns.series import read

        found = {}
        for name in self.unknown:
            try:
                column = read(frame.column(name), repr(name))
            except InputError:  # numbers that cannot be aggregated, and can be keys
                found[name] = NUMBERS
                continue
            data = column.data if column.valid is None else column.data[column.valid]
            if not len(data):
                continue
            if column.unit is not None or data.dtype.kind not in "if":
                found[name] = OTHERS
            else:
                found[name] = NUMBERS if (data == data).any() else NANS
        return found

    def of_keys(self, names: Sequence[str], keys: Iterable[Any]) -> None:
        """Know what keys say that are there already."""
        for key in keys:
            self.learn(self.in_event(dict(zip(names, (key,) if len(names) == 1 else key, strict=True))))

    def stored(self, names: Sequence[str], keys: Iterable[Any]) -> dict[str, list[str]]:
        """What a snapshot has to say of columns: nothing where all hold numbers, but for keys that are all there."""
        if self.others | self.unknown <= set(names) and not any(
            part is None or part != part for key in keys for part in ((key,) if len(names) == 1 else key)
        ):
            return {}
        return {"others": sorted(self.others), "unknown": sorted(self.unknown), "nans": sorted(self.nans)}

    def restore(self, stored: Any, columns: Sequence[str], keys: Sequence[str], events: int) -> None:
        """Know what `stored` said, of all columns and of the keys among them; a ValueError where it makes no sense."""
        parts = []
        for part in ("others", "unknown", "nans"):
            found = stored.get(part, [])
            if type(found) is not list or not all(type(name) is str and name in columns for name in found):
                raise ValueError(f"the columns {found!r} are none of the definition's")
            parts.append(set(found))
        if parts[0] & parts[1] or not parts[2] <= parts[1]:
            raise ValueError("a column cannot be known and unknown")
        self.others |= parts[0]
        self.unknown = parts[1] if stored else set(keys) if events else set(columns)
        self.nans = parts[2]

    def learn(self, found: Mapping[str, str]) -> None:
        """Know from now on what an event, or a batch, has said."""
        self.others |= {name for name, kind in found.items() if kind == OTHERS}
        known = {name for name, kind in found.items() if kind != NANS}
        self.unknown -= known
        self.nans = (self.nans | set(found)) - known
