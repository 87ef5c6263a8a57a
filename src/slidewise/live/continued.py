"""A live definition that goes on from the keys of a stream, as if it had seen the events that the stream took in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from slidewise.columns.arrow_values import python_values
from slidewise.engine.window_batch import StoredKeys
from slidewise.errors import SlidewiseError
from slidewise.live.beats.beat_live import BeatLive
from slidewise.live.beats.key_state import BeatKeyState
from slidewise.live.beats.slice_arrays import freeze
from slidewise.live.event_times import NAIVE, ZONED
from slidewise.live.key_state import KeyState
from slidewise.live.keys import canonical
from slidewise.live.live import Live
from slidewise.live.missing_values import NUMBERS, OTHERS
from slidewise.live.types import Key
from slidewise.operators.values.equality import shown

if TYPE_CHECKING:
    import pyarrow as pa


class StreamEnd:
    """Where a stream's state stands: the schema of its rows, and the time up to which it has taken events in, in
    nanoseconds; None where nothing was released yet."""

    def __init__(self, schema: pa.Schema, released: int | None) -> None:
        self.schema = schema
        self.released = released


def continue_live(live: Live, stream: StreamEnd, keys: Iterable[StoredKeys]) -> None:
    """Fill a live definition, which has seen nothing yet, with what a stream has stored."""
    on = str(live.definition.on)
    kind = ZONED if getattr(stream.schema.field(on).type, "tz", None) else NAIVE
    live.time_reader.check(kind, kind)
    live.time_reader.kind = kind
    if live.buffer is not None:
        live.buffer.check(kind)
    live.kinds.learn(
        {
            name: NUMBERS if _is_number(stream.schema.field(name).type) else OTHERS
            for name in live.kinds.unknown
            if name in stream.schema.names
        }
    )
    if isinstance(live, BeatLive):
        live.set_beats(kind, False, False)
    if stream.released is not None:
        _move_to(live, stream.released)
    for some in keys:
        _take(live, some)
    live.see(key_state.now for key_state in live.key_states.values())
    live.events = live.answers = sum(key_state.count for key_state in live.key_states.values())


def _move_to(live: Live, released: int) -> None:
    """Let time be what the stream has released: events up to there are late."""
    if isinstance(live, BeatLive):
        assert live.beats is not None
        live.advanced, live.last_beat = released, live.beats.at_or_before(released)
    else:
        live.aside.released = released
    if live.buffer is not None:
        live.buffer.flushed = live.newest = released


def _take(live: Live, stored: StoredKeys) -> None:
    """Take over some keys."""
    for k, key in enumerate(_keys(live, stored.keys)):
        if key in live.key_states:
            raise SlidewiseError(f"the key {shown(key)} lies in two places of the stream's state")
        if isinstance(live, BeatLive):
            on_beat = BeatKeyState()
            on_beat.now, on_beat.count = stored.newest[k], stored.counts[k]
            freeze(on_beat, stored.windows[0][k])
            live.key_states[key] = on_beat
            continue
        key_state = KeyState(live.specs)
        key_state.now, key_state.count = stored.newest[k], stored.counts[k]
        key_state.firsts = None if live.rows_before else key_state.firsts
        for pane, of_keys in zip(key_state.panes, stored.windows, strict=True):
            pane.freeze(of_keys[k])
        live.key_states[key] = key_state


def _keys(live: Live, table: pa.Table) -> list[Key]:
    """Keys in canonical form, as events bring them."""
    names = live.definition.by
    parts = [python_values(table.column(name), f"the key {name!r}") for name in names]
    keys = [[canonical(value, name) for value in part] for name, part in zip(names, parts, strict=True)]
    if len(names) == 1:
        return keys[0]
    return [tuple(key) for key in zip(*keys, strict=True)] if names else [()] * len(table)


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
