"""Events of equal key and time, which see one another, answered by the panes of their key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.live.key_state import KeyState
from slidewise.live.operator_errors import raise_operator_error
from slidewise.live.waiting.reorder_buffer import Event, sort_peers

if TYPE_CHECKING:
    from slidewise.live.live import Live


def answer_by_panes(live: Live, peers: list[Event]) -> list[dict[str, Any]]:
    """Take in events of equal key and time, all or none; returns them with their answers, as they arrived."""
    key, time = peers[0].key, peers[0].time
    if live.ordered and len(peers) > 1:
        peers = sort_peers(peers)
    key_state = live.own(key) or KeyState(live.specs)
    answered = []
    is_later = bool(live.rows_before) and time != key_state.now
    reads = live.reads_before(key_state, key_state.count) if is_later else None
    at = 0
    try:
        for at, (spec, pane) in enumerate(zip(live.specs, key_state.panes, strict=True)):
            places = range(key_state.count, key_state.count + len(peers)) if spec.numbered else [time] * len(peers)
            rows = [(place, event.arguments[at]) for place, event in zip(places, peers, strict=True)]
            answered.append(pane.push_peers(rows))
            for answers in answered[-1] if spec.declared else ():
                spec.check(answers)
        at = len(live.specs)
        by_arrival: dict[int, dict[str, Any]] = {}
        for event, *values in zip(peers, *answered, strict=True):
            columns = live.computed.columns([value for part in values for value in part], event.row)
            by_arrival[event.number] = {**event.row, **columns}
    except BaseException as error:
        for pane in key_state.panes[: at + 1]:
            pane.undo()
        raise_operator_error(live.spec_at(at), error, "")
    for pane in key_state.panes:
        pane.keep()
    if is_later:
        first = [value for part in answered for value in part[0]]
        key_state.firsts = live.firsts_of(first, reads)
    if live.seen is None or time > live.seen:
        live.seen = time
    key_state.now = time
    key_state.count += len(peers)
    live.key_states[key] = key_state
    live.answers += len(peers)
    return [by_arrival[number] for number in sorted(by_arrival)]
