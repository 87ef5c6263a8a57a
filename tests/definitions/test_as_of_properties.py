"""Random labels over random events under random definitions: the judge's answers, and what must never change one."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import as_of_lanes
import hypothesis.strategies as st
import lanes
import pyarrow as pa
import pytest
import random_queries as Q
from hypothesis import assume, given, note, settings
from point_in_time import assert_answers, judge_table
from random_definitions import row
from shards import small_pages

import slidewise as sw
from slidewise.stages import all_aggregates
from slidewise.windows import Window

pytestmark = pytest.mark.rule(19)

Rows = list[dict[str, Any]]
PLAIN = Q.NUMBERS[0]
clocks = st.sampled_from([*Q.NUMBERS, *Q.MOMENTS])
key_types = st.sampled_from([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])


def on_a_shard(definition: sw.Sliding, labels: pa.Table, events: pa.Table) -> Rows:
    """A stream's shard, whose objects last for one call; the sizes of pages and all cuts follow from the rows."""
    seed = 31 * len(labels) + len(events)
    with small_pages([150, 600, 16_384][seed % 3]):
        return as_of_lanes.on_a_shard(definition, labels, events, seed)


def answers(lane: str, definition: sw.Sliding, labels: pa.Table, events: pa.Table) -> Rows:
    run = on_a_shard if lane == "shard" else as_of_lanes.LANES[lane]
    return as_of_lanes.answers(run, definition, labels, events)


def exact(rows: Rows) -> list[str]:
    """Answers to the last bit: NaN equals itself here, and -0.0 is not 0.0."""
    return [repr({name: lanes.plain(value) for name, value in row.items()}) for row in rows]


@pytest.mark.parametrize("lane", ["pyarrow", "pandas", "polars"])
@given(events=Q.events, labels=Q.labels, definition=Q.timed_definitions, clock=clocks, keys=key_types)
@settings(max_examples=80)
def test_tables_give_the_judges_answers(
    lane: str, events: Rows, labels: Rows, definition: sw.Sliding, clock: Q.Clock, keys: pa.DataType
) -> None:
    """Times of labels and of events have types and units of their own, and so have keys."""
    definition = Q.on_clock(definition, clock)
    note(f"{definition!r} on {clock}")
    asked, table = Q.label_table(labels, clock, definition, keys), Q.event_table(events, clock)
    found = answers(lane, definition, asked, table)
    assert_answers(definition, found, judge_table(definition, asked, table), asked.to_pylist())


@pytest.mark.parametrize(
    ("lane", "clock"), [("sorted batches", PLAIN), ("shard", Q.STREAMED)], ids=["batches", "shard"]
)
@given(events=Q.events, labels=Q.labels, definition=Q.timed_definitions)
@settings(max_examples=80)
def test_batches_and_shards_give_the_judges_answers(
    lane: str, clock: Q.Clock, events: Rows, labels: Rows, definition: sw.Sliding
) -> None:
    """Sorted batches cut at random places, and a shard that both come to in random order, with pages of some sizes."""
    definition = Q.on_clock(definition, clock)
    note(repr(definition))
    asked, table = Q.label_table(labels, clock, definition), Q.event_table(events, clock)
    found = answers(lane, definition, asked, table)
    assert_answers(definition, found, judge_table(definition, asked, table), asked.to_pylist())


def which_rows() -> dict[str, Any]:
    """Sums over windows of all ends, lengths and grains, of numbers each of which is a bit: they tell the rows."""
    bits, ends = sw.sum("i"), ("right", "both", "left", "neither")
    columns = {f"all {end}": bits.over("all", closed=end) for end in ends}
    columns |= {f"rows {n} {end}": bits.over(rows=n, closed=end) for n in (1, 3) for end in ("right", "left")}
    shapes = [(1, None), (2.5, None), (3, None), (3, 0.75), (2.5, 1), (1, 1)]
    columns |= {f"{n} {g} {end}": bits.over(n, closed=end, grain=g) for n, g in shapes for end in ends}
    return columns


@pytest.mark.parametrize(
    ("lane", "clock"),
    [*(("pyarrow", clock) for clock in (*Q.NUMBERS, *Q.MOMENTS)), ("sorted batches", PLAIN), ("shard", Q.STREAMED)],
    ids=str,
)
def test_the_ends_of_windows_are_exact(lane: str, clock: Q.Clock) -> None:
    """Labels at every quarter of a unit over events at some of them, two at a time: each window holds its own rows."""
    definition = Q.on_clock(sw.Sliding(by="k", on="t", columns=which_rows()), clock)
    places = [0, 1, 3, 4, 4, 6, 8, 10, 12, 12, 13, 16, 20, 24]
    nothing: dict[str, Any] = dict.fromkeys(("j", "x", "s", "ok"))
    table = Q.event_table([nothing | {"k": "a", "t": t, "i": 2**n} for n, t in enumerate(places)], clock)
    asked = Q.label_table([{"k": "a", "j": None, "t": t} for t in range(-8, 44)], clock, definition)
    found = answers(lane, definition, asked, table)
    assert_answers(definition, found, judge_table(definition, asked, table), asked.to_pylist())


LANES = pytest.mark.parametrize(
    ("lane", "clock"),
    [("pyarrow", PLAIN), ("sorted batches", PLAIN), ("shard", Q.STREAMED)],
    ids=["tables", "batches", "shard"],
)


@LANES
@given(
    events=Q.events,
    labels=Q.some_labels,
    definition=Q.timed_definitions,
    others=st.lists(row, max_size=8),
    seed=st.integers(0, 2**20),
)
@settings(max_examples=25)
def test_events_after_a_label_never_count(
    lane: str, clock: Q.Clock, events: Rows, labels: Rows, definition: sw.Sliding, others: Rows, seed: int
) -> None:
    """Later ones are shuffled, changed, removed and added; at the label's own time too, where no window holds them."""
    definition = Q.on_clock(definition, clock)
    choose = random.Random(seed)
    now = choose.choice(labels)["t"] // Q.QUARTERS * Q.QUARTERS
    labels = [label | {"t": min(label["t"], now)} for label in labels]
    open_right = all(one.window.open_right for one in definition.aggregates.values() if one.window)
    first = now if open_right else now + Q.QUARTERS
    past = [event for event in events if event["t"] < first]
    future = [event for event in events if event["t"] >= first]
    note(f"{definition!r}, {len(future)} events from {first} on")
    changed = [event | {"x": choose.choice([None, 1e300, -7.0]), "i": 5} for event in future if choose.random() < 0.7]
    added = [event | {"t": first + choose.randrange(40)} for event in others]
    later = [*changed, *added]
    choose.shuffle(later)
    for event in later:  # in among the others, wherever they stood
        past.insert(choose.randrange(len(past) + 1), event)
    asked = Q.label_table(labels, clock, definition)
    before, after = (answers(lane, definition, asked, Q.event_table(rows, clock)) for rows in (events, past))
    assert exact(before) == exact(after)


@LANES
@given(
    events=Q.events,
    labels=Q.some_labels,
    definition=Q.timed_definitions,
    places=st.lists(st.integers(0, 99), max_size=20),
)
@settings(max_examples=25)
def test_labels_never_see_one_another(
    lane: str, clock: Q.Clock, events: Rows, labels: Rows, definition: sw.Sliding, places: list[int]
) -> None:
    """Labels that are left out, doubled and moved change no other answer; equal ones have equal answers."""
    definition = Q.on_clock(definition, clock)
    note(repr(definition))
    table = Q.event_table(events, clock)
    chosen = [place % len(labels) for place in places]
    every, some = (
        exact(answers(lane, definition, Q.label_table(rows, clock, definition), table))
        for rows in (labels, [labels[i] for i in chosen])
    )
    assert some == [every[i] for i in chosen]
    by_query: dict[Any, set[str]] = defaultdict(set)
    for label, answer in zip(labels, every, strict=True):
        time = label["t"] // Q.QUARTERS if clock == PLAIN else label["t"]
        own = repr([label[name] for name in Q.own_values(definition)])
        by_query[lanes.key_of(definition, label), time, own].add(answer)
    assert all(len(different) == 1 for different in by_query.values())


@LANES
@given(events=Q.events, labels=Q.labels, definition=Q.timed_definitions, seed=st.integers(0, 2**20))
@settings(max_examples=25)
def test_the_order_of_events_does_not_matter(
    lane: str, clock: Q.Clock, events: Rows, labels: Rows, definition: sw.Sliding, seed: int
) -> None:
    definition = Q.on_clock(definition, clock)
    note(repr(definition))
    asked = Q.label_table(labels, clock, definition)
    shuffled = random.Random(seed).sample(events, len(events))
    one, other = (answers(lane, definition, asked, Q.event_table(rows, clock)) for rows in (events, shuffled))
    expected = [{name: lanes.plain(value) for name, value in row.items()} for row in one]
    assert_answers(definition, other, expected, labels)


@given(events=Q.events, labels=Q.labels, definition=Q.timed_definitions)
@settings(max_examples=25)
def test_keys_may_be_forgotten_once_their_windows_are_empty(events: Rows, labels: Rows, definition: sw.Sliding) -> None:
    """A shard that forgets a key as soon as no window of time can hold its events gives the same answers."""
    definition = Q.on_clock(time_windows_of(definition), Q.STREAMED)
    note(repr(definition))
    asked, table = Q.label_table(labels, Q.STREAMED, definition), Q.event_table(events, Q.STREAMED)
    reaches = [one.window.extent(1_000).reach for one in definition.aggregates.values() if one.window]

    def forgetful(*tables: Any) -> Rows:
        with small_pages(150):
            return as_of_lanes.on_a_shard(*tables, forget_after=math.ceil(max(reaches)))

    found = as_of_lanes.answers(forgetful, definition, asked, table)
    assert_answers(definition, found, judge_table(definition, asked, table), asked.to_pylist())


def time_windows_of(definition: sw.Sliding) -> sw.Sliding:
    """The definition without windows of rows and of everything so far."""
    return with_windows(definition, lambda window: window.last is not None)


def with_windows(definition: sw.Sliding, fits: Callable[[Window], bool]) -> sw.Sliding:
    """The columns of a definition whose windows fit."""
    fitting = {
        name: column
        for name, column in definition.columns.items()
        if all(one.window and fits(one.window) for one in all_aggregates({name: column}))
    }
    assume(fitting)
    return sw.Sliding(definition.by, definition.on, definition.ties, fitting)


@given(events=Q.events, definition=Q.timed_definitions, clock=clocks)
@settings(max_examples=60)
def test_at_the_events_own_times_it_is_the_definition(events: Rows, definition: sw.Sliding, clock: Q.Clock) -> None:
    """Windows of time hold all peers, or none: so a row's answer is the same, whether it counts itself or only asks.
    A rank is not: it is that of the row's own value, or else of the newest."""
    definition = with_windows(definition, lambda window: window.rows is None)
    assume(not any(one.operator.traits.own_value for one in definition.aggregates.values()))
    definition = Q.on_clock(definition, clock)
    note(repr(definition))
    table = Q.event_table(events, clock)
    rows, queries = definition(table).to_pylist(), table.select([*definition.by, "t", *Q.own_values(definition)])
    expected = [{name: lanes.plain(row[name]) for name in definition.columns} for row in rows]
    found = definition.as_of(queries, table).to_pylist()
    assert_answers(definition, found, expected, queries.to_pylist())
