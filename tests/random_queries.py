"""Random labels beside random events, and times of both in types of their own, for hypothesis."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

import pyarrow as pa
from as_of_lanes import LABEL
from hypothesis import strategies as st
from random_definitions import NAN, OWN_VALUES, SCHEMA, definitions, row

import slidewise as sw
from slidewise.expressions.expression import Expression, replaced
from slidewise.operators.aggregate import Aggregate
from slidewise.windows.session import Gap

QUARTERS = 4  # in one unit of time; types without fractions have the quarter rounded down
HOUR = 3_600
BASE = 400  # units after time 0, so that a stream's watermark starts before all rows


class Clock(NamedTuple):
    """The types of events' and of labels' times, and how many seconds a unit has; None where times are numbers."""

    events: pa.DataType
    labels: pa.DataType
    unit: int | None = 1


NUMBERS = [
    Clock(pa.int64(), pa.int64(), None),
    Clock(pa.int64(), pa.float64(), None),
    Clock(pa.float64(), pa.int64(), None),
    Clock(pa.float32(), pa.uint16(), None),
    Clock(pa.int32(), pa.float32(), None),
]
MOMENTS = [
    Clock(pa.timestamp("s"), pa.timestamp("us")),
    Clock(pa.timestamp("us"), pa.timestamp("s")),
    Clock(pa.timestamp("ns"), pa.timestamp("ms")),
    Clock(pa.timestamp("ms", "UTC"), pa.timestamp("ns", "America/New_York")),
    Clock(pa.date32(), pa.timestamp("us"), 24 * HOUR),
    Clock(pa.timestamp("ns"), pa.date32(), 24 * HOUR),
    Clock(pa.date32(), pa.date32(), 24 * HOUR),
]
STREAMED = Clock(pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC"))

times = st.integers(0, 8).map(lambda t: t * QUARTERS) | st.integers(0, 8 * QUARTERS)
asked_times = times | st.integers(-4 * QUARTERS, 12 * QUARTERS) | st.just(120 * QUARTERS)
event = st.builds(lambda row, t: row | {"t": t}, row, times)
label = st.fixed_dictionaries(
    {
        "k": st.sampled_from(["a", "b", None, "never seen"]),
        "j": st.sampled_from([0.0, -0.0, NAN, None, 7.5]),
        "t": asked_times,
        **OWN_VALUES,
    }
)
# Lists of no least length are short as a rule, and a few events under several keys are seldom in one window.
events = st.lists(event, min_size=15, max_size=25) | st.lists(event, max_size=3)
some_labels = st.lists(label, min_size=10, max_size=15) | st.lists(label, min_size=1, max_size=2)
labels = some_labels | st.just([])
timed_definitions = definitions().filter(lambda definition: definition.on is not None)


def ticks(quarters: list[int], kind: pa.DataType, unit: int | None) -> pa.Array:
    """Times of so many quarters of a unit as a type has them."""
    moved = [quarter + BASE * QUARTERS for quarter in quarters]
    if unit is None:
        whole = pa.types.is_integer(kind)
        return pa.array([q // QUARTERS if whole else q / QUARTERS for q in moved], kind)
    if kind == pa.date32():
        days = [q * unit // QUARTERS // (24 * HOUR) for q in moved]
        return pa.array(days, pa.int32()).cast(kind)
    a_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    return pa.array([q * unit * a_second // QUARTERS for q in moved], pa.int64()).cast(kind)


def event_table(rows: list[dict[str, Any]], clock: Clock) -> pa.Table:
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    return table.set_column(2, "t", ticks([row["t"] for row in rows], clock.events, clock.unit))


def label_table(
    rows: list[dict[str, Any]], clock: Clock, definition: sw.Sliding, keys: pa.DataType | None = None
) -> pa.Table:
    """Labels with a number each, the columns that the definition's expressions read of them, and a column that has the
    name of one of the events', and other values where no expression reads it."""
    labels = pa.table(
        {
            LABEL: pa.array(range(len(rows)), pa.int64()),
            "t": ticks([row["t"] for row in rows], clock.labels, clock.unit),
            "j": pa.array([row["j"] for row in rows], pa.float64()),
            "x": pa.array([f"own {i}" for i in range(len(rows))], pa.string()),
            "k": pa.array([row["k"] for row in rows], pa.string()).cast(keys or pa.string()),
        }
    )
    for name in own_values(definition):
        values = pa.array([row[name] for row in rows], SCHEMA.field(name).type)
        labels = labels.drop_columns([name] if name in labels.column_names else []).append_column(name, values)
    return labels


def own_values(definition: sw.Sliding) -> list[str]:
    """The columns besides keys and time that the definition's expressions read of a row that asks."""
    return [name for name in definition.own if name in OWN_VALUES]


def on_clock(definition: sw.Sliding, clock: Clock) -> sw.Sliding:
    """The definition, whose windows are numbers of units, over times of this clock."""
    if clock.unit is None:
        return definition
    unit = clock.unit
    columns = {name: replaced(one, lambda leaf: _on_clock(leaf, unit)) for name, one in definition.columns.items()}
    return sw.Sliding(by=definition.by, on=definition.on, ties=definition.ties, columns=columns)


def _on_clock(leaf: Expression, unit: int) -> Expression:
    """A column or an aggregate of an expression where times are moments: their hours are the numbers."""
    if not isinstance(leaf, Aggregate):
        return leaf.hour() if leaf.key() == sw.col("t").key() else leaf
    window = leaf.window
    assert window is not None
    bare = replace(leaf, window=None)
    if isinstance(window.reset, Gap):
        gap = timedelta(seconds=float(window.reset.length) * unit)
        return bare.over(gap=gap, closed=window.closed, at_least=window.at_least)
    if window.last is None:
        return leaf
    last, grain = (None if one is None else timedelta(seconds=float(one) * unit) for one in (window.last, window.grain))
    return bare.over(last, closed=window.closed, at_least=window.at_least, grain=grain)
