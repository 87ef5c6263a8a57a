"""What `as_of` says of mistakes in labels and events of tables, and what it leaves as it was."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidewise as sw

pytestmark = pytest.mark.rule(19)

CARD = sw.Sliding(by="card", on="ts", spent=sw.sum("amount").over(10), seen=sw.count().over(10, closed="left"))
CLOCKED = sw.Sliding(by="card", on="ts", spent=sw.sum("amount").over("10s"))
EVENTS = pa.table({"card": [7, 7, 8], "ts": [1, 5, 6], "amount": [20, 30, 90]})
LABELS = pa.table({"card": [7, 8, 9], "ts": [5, 7, 1], "fraud": [True, False, None]})
ANSWERS = {"spent": [50, 90, None], "seen": [1, 1, 0]}


def put(table: pa.Table, name: str, values: Any, kind: pa.DataType | None = None) -> pa.Table:
    """The table with another column in a place."""
    at = table.schema.get_field_index(name)
    array = values if isinstance(values, pa.Array) else pa.array(values, kind)
    return table.set_column(at, name, array) if at >= 0 else table.append_column(name, array)


def moments(ticks: list[int | None], unit: str = "s", zone: str | None = None) -> pa.Array:
    return pa.array(ticks, pa.int64()).cast(pa.timestamp(unit, zone))


def dates(days: list[int], kind: pa.DataType | None = None) -> pa.Array:
    return pa.array(days, pa.int32()).cast(pa.date32()).cast(kind or pa.date32())


CLOCKED_EVENTS = put(EVENTS, "ts", moments([1, 5, 6]))


def refused(
    message: str, labels: Any = LABELS, events: Any = EVENTS, definition: sw.Sliding = CARD, **options: Any
) -> None:
    with pytest.raises(sw.SlidewiseError, match=message):
        definition.as_of(labels, events, **options)


KINDS: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "batches": lambda table: table.combine_chunks().to_batches()[0],
    "pandas": lambda table: table.to_pandas(),
    "pandas of Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
}


@pytest.mark.parametrize("events", KINDS)
@pytest.mark.parametrize("labels", KINDS)
def test_labels_of_one_kind_and_events_of_another(labels: str, events: str) -> None:
    """The result is of the labels' kind."""
    asked = KINDS[labels](LABELS)
    found = CARD.as_of(asked, KINDS[events](EVENTS))
    assert isinstance(found, pa.Table if labels == "batches" else type(asked))
    table = found.to_arrow() if labels == "polars" else pa.table(found) if "pandas" in labels else found
    assert {name: table.column(name).to_pylist() for name in CARD.columns} == ANSWERS
    assert table.column_names[:5] == [*LABELS.column_names, *CARD.columns]


@pytest.mark.parametrize("kind", KINDS)
def test_an_aggregate_that_is_named_like_a_column_of_the_labels(kind: str) -> None:
    labels = KINDS[kind](put(LABELS, "spent", [1, 2, 3]))
    refused("the labels have a column 'spent' already; name the aggregate otherwise, or drop the column", labels)
    found = CARD.as_of(LABELS, put(EVENTS, "spent", [1, 2, 3]))
    assert found.column("spent").to_pylist() == ANSWERS["spent"], "the events may have one of this name"


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_are_missing(kind: str) -> None:
    labels, events = KINDS[kind](LABELS), KINDS[kind](EVENTS)
    renamed = KINDS[kind](LABELS.rename_columns(["card_id", "ts", "fraud"]))
    refused(r"'card' not found; the labels have card_id, ts, fraud.*say so with by=\{'card': \.\.\.\}", renamed)
    refused("'tss' not found; the labels have card, ts, fraud; did you mean 'ts'.*on=", labels, on="tss")
    refused("'cad' not found; the labels.*did you mean 'card'", labels, by={"card": "cad"})
    refused("'amount' not found; the table of events has card, ts", labels, KINDS[kind](EVENTS.drop_columns("amount")))
    refused("'card' not found; the table of events has ts", labels, KINDS[kind](EVENTS.drop_columns("card")))
    assert len(CARD.as_of(renamed, events, by={"card": "card_id"})) == 3


def test_columns_in_the_index_of_pandas() -> None:
    labels, events = LABELS.to_pandas(), EVENTS.to_pandas()
    refused("'card' not found; the labels.*it is in the index: reset_index", labels.set_index("card"))
    refused("'at' not found; the labels.*it is in the index", labels.rename_axis(index="at"), on="at")
    refused("'ts' not found; the table of events.*it is in the index: reset_index", labels, events.set_index("ts"))


@pytest.mark.parametrize("name", ["card", "ts"])
def test_two_columns_of_a_name_that_asks(name: str) -> None:
    """In the labels' other columns names may repeat."""
    twice = LABELS.append_column(name, LABELS.column(name))
    refused(f"the labels have 2 columns named {name!r}; rename all but one", twice)
    refused(
        f"the labels have 2 columns named {name!r}", pd.concat([LABELS.to_pandas(), LABELS.to_pandas()[[name]]], axis=1)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "card_id"}, r"by= says which column.*as by=\{'card': 'card_id'\}, not 'card_id'"),
        ({"by": ["card"]}, r"by= says which column.*as a dict, not \['card'\]"),
        ({"by": {"crad": "x"}}, "names the key 'crad', but the definition has 'card'; did you mean 'card'"),
        ({"by": {"card": 7}}, "gives the key 'card' the column 7, which is no name"),
        ({"by": {"card": ""}}, "gives the key 'card' the column '', which is no name"),
        ({"on": 5}, "on= is the name of the labels' time column, not 5"),
        ({"on": ""}, "on= is the name of the labels' time column, not ''"),
        ({"parallel": "auto"}, "parallel: options are for Spark DataFrames only"),
        ({"onn": "ts"}, "onn= is not known; a table takes on=, by=; did you mean 'on'"),
        ({"shards": 3, "late_to": "why"}, "shards, late_to: options are for Spark DataFrames only"),
    ],
)
def test_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=message):
        CARD.as_of(LABELS, EVENTS, **options)


def test_a_definition_without_keys_takes_no_by() -> None:
    definition = sw.Sliding(on="ts", n=sw.count().over(10))
    refused("names the key 'card', but the definition has no keys", definition=definition, by={"card": "card"})
    refused("as a dict, not 'card'", definition=definition, by="card")
    assert definition.as_of(LABELS, EVENTS).column("n").to_pylist() == [2, 3, 1]


def test_definitions_that_cannot_be_asked() -> None:
    beat = sw.Sliding(by="card", on="ts", every=5, n=sw.count().over(10))
    refused("as_of is not for every='?5'?.*leave out every=", definition=beat)
    timeless = sw.Sliding(by="card", n=sw.count().over(rows=2))
    refused("as_of goes by time, and the definition has no time column", definition=timeless)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (LABELS.to_pylist(), "not on a list; for a list of dicts, use pa.Table.from_pylist"),
        (LABELS.to_pydict(), "not on a dict; for a dict of columns, use pa.table"),
        ("labels.parquet", r"not on a str; read the file first"),
        (LABELS.to_pandas()["ts"], "not on a Series"),
        (np.zeros((3, 3)), "not on a ndarray"),
        (None, "not on a NoneType"),
    ],
    ids=["list", "dict", "path", "series", "array", "none"],
)
def test_labels_and_events_of_other_kinds(labels: Any, message: str) -> None:
    refused(message, labels)
    refused(message, LABELS, labels)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (pa.array([5, None, None]), "the labels' time 'ts' is null in 2 of 3 rows, first in row 1; there is no answer"),
        (pa.nulls(3), "the labels' time 'ts' is null in 3 of 3 rows, first in row 0"),
        (moments([5, 7, None]), "the labels' time 'ts' is null in 1 of 3 rows, first in row 2"),
        (pa.array([5.0, float("nan"), float("inf")]), "in the labels the time 'ts' is nan in row 1.*2 rows in all"),
        (pa.array([5.0, 7.0, float("-inf")]), "in the labels the time 'ts' is -inf in row 2"),
        (pa.array(["5", "7", "1"]), "in the labels on='ts' holds text.*read it as times first"),
        (pa.array([True, False, True]), "in the labels on='ts' holds bool"),
        (pa.array([1, 2, 3]).cast(pa.duration("s")), "in the labels on='ts' holds durations or times of day"),
        (pa.array([1, 2, 3]).cast(pa.decimal128(20)), "the labels' time 'ts' holds decimals"),
        (moments([5, 7, 1]), "the events' time 'ts' holds numbers, and the labels' time 'ts' times; give both as one"),
        (pa.array([2.0, 3.0, 2.0**53 + 2]), None),
    ],
)
def test_times_of_labels(times: pa.Array, message: str | None) -> None:
    labels = put(LABELS, "ts", times)
    if message is None:
        assert len(CARD.as_of(labels, EVENTS)) == 3
    else:
        refused(message, labels)


def test_null_times_in_every_kind_of_table() -> None:
    labels = put(LABELS, "ts", [5, None, 1])
    for kind in ("pandas", "pandas of Arrow", "polars"):  # NumPy's NaN is pandas' null
        refused("the labels' time 'ts' is null in 1 of 3 rows, first in row 1", KINDS[kind](labels))
    missing = put(EVENTS, "ts", [None, 5, 6])
    refused("^the time 'ts' is null in 1 of 3 rows", LABELS, missing)


@pytest.mark.parametrize(
    ("labels", "events", "message"),
    [
        (pa.array([5, 7, 1]), moments([1, 5, 6]), "events' time 'ts' holds times, and the labels' time 'ts' numbers"),
        (moments([5, 7, 1], zone="UTC"), moments([1, 5, 6]), "times without a zone, and .* times with a zone"),
        (moments([5, 7, 1]), moments([1, 5, 6], zone="Asia/Tokyo"), "times with a zone, and .* times without a zone"),
        (dates([5, 7, 1]), moments([1, 5, 6], zone="UTC"), "times with a zone, and .* times without a zone"),
        (dates([5, 200_000, 1]), moments([1, 5, 6], "ns"), "the labels' time 'ts' has moments that the finer unit"),
        (moments([5, 7, 1], "ns"), moments([1, 2**40, 6]), "the events' time 'ts' has moments that the finer unit"),
    ],
)
def test_times_that_cannot_be_compared(labels: pa.Array, events: pa.Array, message: str) -> None:
    asked, table = put(LABELS, "ts", labels), put(EVENTS, "ts", events)
    refused(message, asked, table, definition=CLOCKED)


def test_whole_numbers_that_floats_cannot_tell_apart() -> None:
    large, small = put(EVENTS, "ts", [2**53 + 1, 5, 6]), put(LABELS, "ts", [5.0, 7.0, 1.0])
    refused("the events' time 'ts' holds whole numbers beyond 2.53", small, large)
    refused(
        "the labels' time 'ts' holds whole numbers", put(LABELS, "ts", [2**53 + 1, 1, 2]), put(EVENTS, "ts", [1.0] * 3)
    )
    assert CARD.as_of(put(LABELS, "ts", [5, 2**53 + 1, 1]), large).column("spent").to_pylist() == [30, None, None]


def test_a_window_of_another_kind_than_the_times() -> None:
    refused(
        "column 'spent': on='ts' holds timestamps, but the window is the number 10",
        put(LABELS, "ts", moments([5, 7, 1])),
        CLOCKED_EVENTS,
    )
    refused("column 'spent': on='ts' holds numbers, but the window lasts 10 seconds", definition=CLOCKED)


@pytest.mark.parametrize(
    ("labels", "events", "message"),
    [
        (pa.array(["7", "8", "9"]), None, "int64 in the events and string in the labels.*never equal"),
        (pa.array([True, False, True]), None, "int64 in the events and bool in the labels"),
        (pa.array([b"7", b"8", b"9"]), pa.array(["7", "7", "8"]), "string in the events and binary in the labels"),
        (dates([1, 2, 3]), moments([1, 2, 3]), r"timestamp\[s\] in the events and date32\[day\] in the labels"),
        (moments([1, 2, 3], zone="UTC"), moments([1, 2, 3]), "never equal"),
        (pa.array([2**63 + 5, 7, 8], pa.uint64()), None, "uint64 in the labels, and a value that int64.*cannot hold"),
        (pa.array([2**53 + 1, 7, 8]), pa.array([7.0, 7.0, 8.0]), "a value that double.*cannot hold"),
        (moments([2**60, 7, 8]), moments([7, 7, 8], "ns"), r"a value that timestamp\[ns\].*cannot hold"),
    ],
)
def test_keys_that_cannot_be_compared(labels: pa.Array, events: pa.Array | None, message: str) -> None:
    table = EVENTS if events is None else put(EVENTS, "card", events)
    refused(f"the key 'card' has the type .*{message}.*cast one of them", put(LABELS, "card", labels), table)


@pytest.mark.parametrize(
    ("labels", "events"),
    [
        (pa.array([7, 8, 9], pa.int8()), None),
        (pa.array([7, 8, 9], pa.uint64()), None),
        (pa.array([7, 8, 9.5]), None),
        (pa.array([7, 8, 9], pa.uint8()), pa.array([7, 7, 8], pa.uint32())),
        (pa.array([7, 8, 9], pa.float32()), pa.array([7, 7, 8], pa.float64())),
        (pa.array(["a", None, "c"]), pa.array(["a", "a", None], pa.large_string())),
        (pa.array(["b", "a", "c"]).dictionary_encode(), pa.array(["b", "b", "a"])),
        (pa.array([b"b", b"a", b"c"], pa.binary(1)), pa.array([b"b", b"b", b"a"])),
        (dates([1, 2, 3]), dates([1, 1, 2], pa.date64())),
        (moments([1, 2, 3]), moments([10**6, 10**6, 2 * 10**6], "us")),
        (moments([1, 2, 3], zone="UTC"), moments([1, 1, 2], zone="Asia/Tokyo")),
        (pa.array([None, 8, 9]), pa.array([None, None, 8], pa.float64())),
    ],
)
def test_keys_of_types_that_are_compared_exactly(labels: pa.Array, events: pa.Array | None) -> None:
    table = EVENTS if events is None else put(EVENTS, "card", events)
    found = CARD.as_of(put(LABELS, "card", labels), table)
    assert {name: found.column(name).to_pylist() for name in CARD.columns} == ANSWERS
    assert found.column("card").type == labels.type, "the labels' own column is as it was"


def test_keys_of_several_kinds_in_pandas() -> None:
    labels, events = LABELS.to_pandas(), EVENTS.to_pandas()
    found = CARD.as_of(labels.assign(card=["a", 8, None]), events.assign(card=["a", "a", 8]))
    assert found["seen"].tolist() == ANSWERS["seen"]
    mixed = CARD.as_of(labels.assign(card=[7, "b", None]), events)
    assert mixed["seen"].tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("labels", "events"),
    [
        (moments([0, 1, 2]), moments([0, 1, 10**9, 10**9 + 1, 2 * 10**9], "ns")),
        (moments([0, 10**3, 2 * 10**3], "ms"), moments([0, 1, 10**9, 10**9 + 1, 2 * 10**9], "ns")),
        (moments([0, 1, 2], zone="Asia/Tokyo"), moments([0, 1, 10**9, 10**9 + 1, 2 * 10**9], "ns", "UTC")),
    ],
)
def test_a_nanosecond_makes_a_difference(labels: pa.Array, events: pa.Array) -> None:
    """Events in nanoseconds, labels in coarser units: nothing is rounded, in whichever of the four ends."""
    closed = {name: sw.count().over("1s", closed=name) for name in ("right", "both", "left", "neither")}
    found = sw.Sliding(on="ts", columns=closed).as_of(pa.table({"ts": labels}), pa.table({"ts": events}))
    assert {name: found.column(name).to_pylist() for name in closed} == {
        "right": [1, 2, 2],
        "both": [1, 3, 3],
        "left": [0, 2, 2],
        "neither": [0, 1, 1],
    }


def test_times_at_the_ends_of_what_64_bits_hold() -> None:
    low, high = -(2**63), 2**63 - 1
    events = pa.table({"ts": [low, low + 4, 0, high - 4, high]})
    columns = {name: sw.count().over(4, closed=name) for name in ("right", "both", "left", "neither")}
    columns |= {"all": sw.count().over("all"), "long": sw.count().over(2**62), "coarse": sw.count().over(4, grain=2)}
    found = sw.Sliding(on="ts", columns=columns).as_of(events, events)
    assert {name: found.column(name).to_pylist() for name in columns} == {
        "right": [1, 1, 1, 1, 1],
        "both": [1, 2, 1, 1, 2],
        "left": [0, 1, 0, 0, 1],
        "neither": [0, 0, 0, 0, 0],
        "all": [1, 2, 3, 4, 5],
        "long": [1, 2, 1, 1, 2],
        "coarse": [1, 1, 1, 1, 2],
    }


def test_what_an_aggregate_cannot_take() -> None:
    refused("column 'spent': sum takes numbers", LABELS, put(EVENTS, "amount", ["a", "b", "c"]))
    refused("column 'spent': sum takes numbers", LABELS.slice(0, 0), put(EVENTS, "amount", ["a", "b", "c"]))
    large = put(EVENTS, "amount", [2**62, 2**62, 0])
    refused("column 'spent': .* does not fit into a 64-bit integer", LABELS, large)
    apart = put(LABELS, "ts", [1, 7, 1])
    assert CARD.as_of(apart, large).column("spent").to_pylist() == [2**62, 0, None], (
        "no label asks for what is too much"
    )


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "batches"])  # of which such a table has none
def test_a_side_without_rows(kind: str) -> None:
    make = KINDS[kind]
    assert len(CARD.as_of(make(LABELS.slice(0, 0)), make(EVENTS))) == 0
    assert len(CARD.as_of(make(LABELS.slice(0, 0)), make(EVENTS.slice(0, 0)))) == 0
    found = CARD.as_of(make(LABELS), make(EVENTS.slice(0, 0)))
    assert list(found["seen"] if kind != "pyarrow" else found["seen"].to_pylist()) == [0, 0, 0]


def test_the_tables_that_are_given_stay_as_they_are() -> None:
    """Unsorted ones too, whether there is an answer or an error."""
    order = [2, 0, 1]
    for make in KINDS.values():
        labels, events = make(LABELS.take(order)), make(EVENTS.take(order))
        before = copy.deepcopy((labels, events))
        CARD.as_of(labels, events)
        with pytest.raises(sw.SlidewiseError):
            CARD.as_of(labels, events, on="fraud")
        for now, then in zip((labels, events), before, strict=True):
            assert now.equals(then)
            assert list(now.columns) == list(then.columns)


def test_labels_of_pandas_keep_all_that_is_their_own() -> None:
    """Index, attributes, names that repeat, categories, objects: and the answers stand in the labels' rows."""
    labels = LABELS.to_pandas()
    labels["shade"] = pd.Categorical(["red", None, "red"])
    labels["what"] = [{"a": 1}, "text", 3.5]
    labels["at"] = pd.to_datetime([5, 7, 1], unit="s", utc=True)
    labels = pd.concat([labels, labels[["shade"]]], axis=1)
    labels.index = pd.Index(["x", "y", "x"], name="row")
    labels.columns.name = "columns"
    labels.attrs["source"] = "payments"
    found = CARD.as_of(labels, EVENTS)
    pd.testing.assert_frame_equal(found.iloc[:, : labels.shape[1]], labels)
    assert found.attrs == {"source": "payments"}
    assert list(found.index) == ["x", "y", "x"]
    assert found["seen"].tolist() == ANSWERS["seen"]
    assert found["spent"].astype(object).where(found["spent"].notna(), None).tolist() == ANSWERS["spent"]


def test_answers_are_of_the_kind_of_the_labels_times() -> None:
    """NumPy's types beside NumPy's, Arrow's beside Arrow's; whatever the events are."""
    asked = LABELS.to_pandas(), LABELS.to_pandas(types_mapper=pd.ArrowDtype)
    for events in (EVENTS, EVENTS.to_pandas(), EVENTS.to_pandas(types_mapper=pd.ArrowDtype)):
        numpy, arrow = (CARD.as_of(labels, events).dtypes for labels in asked)
        assert numpy["seen"] == np.dtype(np.int64)
        assert arrow["seen"] == pd.ArrowDtype(pa.int64())
        assert arrow["spent"] == pd.ArrowDtype(pa.int64())


def test_columns_of_other_kinds_come_out_of_arrow_and_polars_unchanged() -> None:
    extra = {
        "nested": pa.array([{"a": [1]}, None, {"a": []}]),
        "shade": pa.array(["red", None, "red"]).dictionary_encode(),
        "price": pa.array([1, 2, 3]).cast(pa.decimal128(22, 2)),
        "day": pa.array([date(2024, 1, 1)] * 3),
        "moment": pa.array([datetime(2024, 1, 1, 1)] * 3, pa.timestamp("ns", "UTC")),
        "amount": pa.array(["the labels'", "own", "column"]),
    }
    labels = LABELS
    for name, array in extra.items():
        labels = labels.append_column(name, array)
    found = CARD.as_of(labels, EVENTS)
    assert found.select(labels.column_names).equals(labels)
    assert found.column("spent").to_pylist() == ANSWERS["spent"]
    frame = pl.from_arrow(labels)
    assert CARD.as_of(frame, EVENTS).select(frame.columns).equals(frame)
    twice = pa.table([*labels.columns, labels.column("amount")], [*labels.column_names, "amount"])
    assert CARD.as_of(twice, EVENTS).column_names == [*labels.column_names, "amount", *CARD.columns]
