"""The judge of answers at other times, in plain Python: what every lane of `as_of` and `live.get` is held to.

The answer at a key and a time is that of a row of the key at that time which itself does not count.
"""

from __future__ import annotations

from typing import Any

import lanes
import pyarrow as pa
from expression_judge import value_of
from month_judge import edge_of

import slidewise as sw
from slidewise.operators.aggregate import Aggregate
from slidewise.windows import Duration, Months


def judge(
    definition: sw.Sliding,
    events: pa.Table,
    queries: list[tuple[str, Any]],
    asking: list[dict[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """The answers to queries, each of a key, see `lanes.key_of`, and a time, as `lanes.times_of` counts.

    `asking` are the rows that ask, of which expressions read columns.
    """
    rows, ticks = events.to_pylist(), lanes.times_of(definition, events)
    by_key: dict[str, list[int]] = {}
    for i in sorted(range(len(rows)), key=lambda i: (ticks[i], lanes.order_of(definition, rows[i]))):
        by_key.setdefault(lanes.key_of(definition, rows[i]), []).append(i)
    answers = []
    for at, (key, now) in enumerate(queries):
        mine = by_key.get(key, [])

        def answer(one: Any, mine: list[int] = mine, now: Any = now) -> Any:
            held = _held(one, mine, ticks, now, rows)
            return lanes.plain(lanes.fold(one, [rows[i] for i in mine if i in held], None, definition.on, now))

        row = {} if asking is None else asking[at]
        answers.append({name: value_of(column, row, answer) for name, column in definition.columns.items()})
    return answers


def judge_table(
    definition: sw.Sliding, labels: pa.Table, events: pa.Table, on: str | None = None, by: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """The same for a table of labels, whose time is `on`, and whose keys may have other names."""
    names = {name: (by or {}).get(name, name) for name in definition.by}
    on = on or str(definition.on)
    renamed = sw.Sliding(by=list(names.values()), on=on, columns={"n": sw.count().over(rows=1)})
    keys = [lanes.key_of(renamed, row) for row in labels.to_pylist()]
    asked = {**names, str(definition.on): on}
    asking = [{**row, **{name: row[column] for name, column in asked.items()}} for row in labels.to_pylist()]
    return judge(definition, events, list(zip(keys, lanes.times_of(renamed, labels), strict=True)), asking)


def _held(aggregate: Aggregate, mine: list[int], ticks: list[Any], now: Any, rows: list[dict[str, Any]]) -> set[int]:
    """The events that a window at this time holds; `mine` are those of the key, in their order."""
    window = aggregate.window
    assert window is not None
    if window.ahead:
        return {i for i in mine if lanes.is_ahead(window, ticks[i], now)}
    left = window.closed in ("left", "neither")
    if window.delay is not None:
        now -= window.delay.ns if isinstance(window.delay, Duration) else window.delay
    past = [i for i in mine if (ticks[i] < now if left else ticks[i] <= now)]
    if window.reset is not None:
        upto = [i for i in mine if ticks[i] <= now]
        if not upto or not lanes.goes_on(window.reset, ticks[upto[-1]], now):
            return set()
        return set(lanes.begun(window.reset, upto, ticks, rows)) & set(past)
    if window.rows is not None:
        past = past[-window.rows :]
    if window.last is None:
        return set(past)
    if isinstance(window.last, Months):
        start: Any = edge_of(now, window.last.count, window.last.zone)
    else:
        start = now - (window.last.ns if isinstance(window.last, Duration) else window.last)
    if window.grain is not None:
        start = lanes.rounded(start, window.grain.ns if isinstance(window.grain, Duration) else window.grain)
    edge = window.closed in ("both", "left")
    return {i for i in past if ticks[i] > start or ticks[i] == now or (edge and ticks[i] == start)}


def assert_answers(
    definition: sw.Sliding, found: list[dict[str, Any]], expected: list[dict[str, Any]], queries: list[Any]
) -> None:
    """Equal answers to each query; shows the first that differs."""
    assert len(found) == len(expected) == len(queries)
    for one, other, query in zip(found, expected, queries, strict=True):
        for name, aggregate in definition.columns.items():
            value = lanes.plain(one[name])
            assert lanes.alike(value, other[name]), (
                f"at {query}: {name} = {aggregate!r} is {value!r} and should be {other[name]!r}"
            )
