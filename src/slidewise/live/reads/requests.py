"""Requests: a table of keys to read, and of times to read them as of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.series import Column
from slidewise.engine.column_checks import arrow_type
from slidewise.engine.point_in_time.label_columns import LabelColumns
from slidewise.errors import InputError, SlidewiseError
from slidewise.live.batch.incoming import KeyedRows
from slidewise.live.event_times import NUMBER
from slidewise.live.reads.get import check_key_kind, check_time, oldest_time

if TYPE_CHECKING:
    from slidewise.columns.frames import Frame
    from slidewise.live.live import Live


def request_columns(live: Live, frame: Frame, on: str | None, by: Mapping[str, str] | None) -> LabelColumns:
    """Which columns of the requests are the keys and the time, None where there is none; checked."""
    definition = live.definition
    if definition.on is None:
        if on is not None:
            raise SlidewiseError(f"on={on!r} names a time, and this definition has no time column; leave it out")
        names = LabelColumns(tuple((by or {}).get(key, key) for key in definition.by), None)
    else:
        names = LabelColumns.of(definition, on, by, "get_many")
        if on is None and definition.on not in frame.names:
            names = names._replace(on=None)
            _check_no_times(frame, names, definition.on)
    names.check(definition, frame.names, "requests", frame.index)
    return names


def _check_no_times(frame: Frame, names: LabelColumns, on: str) -> None:
    """Refuse requests without the definition's time that have another one, which is likely meant."""
    import pyarrow as pa

    for name in frame.names:
        if name not in names.by and frame.names.count(name) == 1:
            kind = arrow_type(frame.column(name))
            if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
                raise InputError(
                    f"the requests have no {on!r}, and {str(name)!r} holds times; where these are what to read as of, "
                    f"say on={str(name)!r}; to read as of the newest event seen, leave the column out"
                )


class _Renamed:
    """The requests' columns by the definition's names."""

    def __init__(self, frame: Frame, names: dict[str, str]) -> None:
        self._frame = frame
        self._names = names

    def __len__(self) -> int:
        return len(self._frame)

    def column(self, name: str) -> Any:
        return self._frame.column(self._names[name])


class Requests(KeyedRows):
    """Requests in a table: `codes` number their keys, whose `key_states` are None where one has had no event.

    `slots` number the different pairs of a key and a time, from 0 on, sorted by both; `slot_codes` and `slot_times` are
    these pairs.
    """

    def __init__(self, live: Live, frame: Frame, names: LabelColumns) -> None:
        self._on = names.on
        definition = live.definition
        by_name = {name: name for name in definition.own} | dict(zip(definition.by, names.by, strict=True))
        on = None if names.on is None else definition.on
        if names.on is not None:
            by_name[str(on)] = names.on
        super().__init__(live, _Renamed(frame, by_name), on)
        self.key_states: list[Any] = [live.key_states.get(key) for key in self.keys]
        for key in [key for key, state in zip(self.keys, self.key_states, strict=True) if state is None][:1]:
            check_key_kind(live, key)
        self._settle_times()
        self._check_times()
        self.slot_codes: Array = np.arange(len(self.keys))
        self.slot_times: Array | None = None
        if self.times is None:
            self.slots = self.codes
            return
        order = np.lexsort((self.times, self.codes)) if self.times.dtype != object else self._order_of_objects()
        codes, times = self.codes[order], self.times[order]
        first = np.ones(self.count, np.bool_)
        first[1:] = (codes[1:] != codes[:-1]) | (times[1:] != times[:-1])
        self.slots = np.empty(self.count, np.int64)
        self.slots[order] = np.cumsum(first) - 1
        self.slot_codes, self.slot_times = codes[first], times[first]

    def array(self, name: str) -> Any:
        """A column of the requests as an Arrow array; without times, that of the newest event seen, if there is one."""
        if name != self.live.definition.on or self._on is not None:
            return super().array(name)
        import pyarrow as pa

        newest = self.live.seen
        return pa.repeat(None if newest is None else self.live.time_reader.moment(newest), self.count)

    def _order_of_objects(self) -> Array:
        pairs = list(zip(self.codes.tolist(), self.times.tolist(), strict=True))
        return np.array(sorted(range(self.count), key=pairs.__getitem__), np.int64)

    def time_column(self, on: str) -> Column:
        """The requests' times; nulls are refused, and counted."""
        column = self.column(on)
        if column.valid is not None and not column.valid.all():
            null = ~column.valid
            raise InputError(
                f"the requests' time {self._on!r} is null in {null.sum()} of {len(null)} rows, first in row "
                f"{null.argmax()}; fill these in or leave them out, or leave out the column to read as of the newest "
                "event seen"
            )
        return super().time_column(on)

    def _settle_times(self) -> None:
        """Let times be the newest seen where none are given, and whole numbers where all of the stream's are."""
        live = self.live
        if self._on is None:
            if live.seen is not None:
                self.times = np.array([live.seen] * self.count, object if abs(live.seen) >= 2**63 else None)
                self.kind = live.time_reader.kind
            return
        whole = self.kind == NUMBER and not live.time_reader.fractions
        if whole and self.times.dtype == np.float64 and (self.times == np.floor(self.times)).all():
            far = self.count and np.abs(self.times).max() >= 2.0**63
            self.times = (
                np.array([int(time) for time in self.times.tolist()] + [None], object)[:-1]
                if far
                else self.times.astype(np.int64)
            )

    def _check_times(self) -> None:
        """Refuse times that a key cannot be read as of, by the first of them."""
        if self.times is None or not self.count:
            return
        newest: list[Any] = [None if key_state is None else key_state.now for key_state in self.key_states]
        oldest = [None if now is None else oldest_time(self.live, now) for now in newest]
        rows: Sequence[int] = range(self.count)
        kinds = {type(time) for time in oldest} - {type(None)}
        if self.times.dtype == np.int64 and kinds <= {int} and all(abs(time or 0) < 2**63 for time in oldest):
            least = np.array([np.iinfo(np.int64).min if time is None else time for time in oldest], np.int64)
            rows = np.flatnonzero(self.times < least[self.codes])[:1].tolist()
        elif self.times.dtype == np.float64 and kinds <= {float}:
            lows = np.array([-np.inf if time is None else time for time in oldest])
            rows = np.flatnonzero(self.times < lows[self.codes])[:1].tolist()
        for row in rows:
            code, time = int(self.codes[row]), self.times[row : row + 1].tolist()[0]
            now = newest[code]
            if now is not None:
                check_time(self.live, self.keys[code], time, now, row)

    def times_of_slots(self) -> list[Any]:
        """The time of each slot, as Python has it."""
        return [None] * len(self.slot_codes) if self.slot_times is None else list(self.slot_times.tolist())
