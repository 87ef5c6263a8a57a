"""What goes in where tables go in: whatever gives its rows as an Arrow stream, read once; and what is no table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

import slidewise as sw

PEAK = sw.Sliding(by="k", on="t", peak=sw.max("x").over(10))
EVENTS = pa.table({"k": ["a", "a", "b", "a"], "t": [0, 5, 6, 12], "x": [4.0, 3.0, 9.0, 1.0]})
LABELS = pa.table({"k": ["a", "b", "c"], "t": [13, 7, 7], "served": [3.0, 8.0, None]})
AS_OF = {"a": 3.0, "b": 9.0, "c": None}
PEAKS = [4.0, 4.0, 9.0, 3.0]


class Rows:
    """An object of which nothing is known but that it gives an Arrow stream, each time it is asked."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Batch:
    """An object that gives one Arrow array of structs."""

    def __init__(self, table: pa.Table) -> None:
        [self.batch] = table.combine_chunks().to_batches()

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self.batch.__arrow_c_array__(requested_schema)


class Frame(pd.DataFrame):
    """A subclass of pandas' DataFrame, as GeoDataFrame is."""

    @property
    def _constructor(self) -> type[Frame]:
        return Frame


def reader(table: pa.Table) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=2))


def relation(table: pa.Table) -> Any:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    connection = duckdb.connect()
    return connection.from_arrow(table).order("t")


def views(table: pa.Table) -> Rows:
    """Text as polars hands it over, in string views."""
    rows = Rows(pl.from_arrow(table))
    assert pa.table(rows).schema.field("k").type == pa.string_view()
    return rows


KINDS: dict[str, tuple[Callable[[pa.Table], Any], type]] = {
    "reader": (reader, pa.Table),
    "batch": (lambda table: table.to_batches()[0], pa.Table),
    "stream": (Rows, pa.Table),
    "views": (views, pa.Table),
    "array": (Batch, pa.Table),
    "capsule": (lambda table: table.__arrow_c_stream__(), pa.Table),
    "structs": (lambda table: table.to_struct_array().chunk(0), pa.Table),
    "duckdb": (relation, pa.Table),
    "lazy": (lambda table: pl.from_arrow(table).lazy(), pl.DataFrame),
    "subclass": (lambda table: Frame(table.to_pandas()), Frame),
}


def values(found: Any, name: str) -> list[Any]:
    column = found[name]
    listed = column.to_pylist() if isinstance(found, pa.Table) else column.to_list()
    return [None if value != value else value for value in listed]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_go_in_wherever_tables_go_in(kind: str) -> None:
    make, out = KINDS[kind]
    answered = PEAK(make(EVENTS))
    assert type(answered) is out
    assert values(answered, "peak") == PEAKS
    assert values(answered, "k") == ["a", "a", "b", "a"]
    found = PEAK.as_of(make(LABELS), make(EVENTS))
    assert type(found) is out
    assert dict(zip(values(found, "k"), values(found, "peak"), strict=True)) == AS_OF
    live = PEAK.live()
    assert values(live.push_many(make(EVENTS)), "peak") == PEAKS
    read = live.get_many(make(LABELS))
    assert type(read) is out
    assert dict(zip(values(read, "k"), values(read, "peak"), strict=True)) == AS_OF


@pytest.mark.parametrize("kind", ["reader", "stream", "lazy"])
def test_what_can_be_read_once_is_read_once(kind: str) -> None:
    """Feature sets look at a table for each of their definitions, and audits at the log twice."""
    make = KINDS[kind][0]
    both = sw.FeatureSet(one=PEAK, two=sw.Sliding(by="k", on="t", peak=sw.max("x").over(5)))
    found = both.as_of(make(LABELS), make(EVENTS))
    assert values(found, "one_peak") == [3.0, 9.0, None]
    assert values(found, "two_peak") == [1.0, 9.0, None]
    audit = PEAK.audit(make(LABELS), make(EVENTS), at="t", columns={"peak": "served"})
    assert not audit
    assert "1 of 3 answers differ" in str(audit)


@pytest.mark.parametrize("kind", ["reader", "capsule", "duckdb"])
def test_one_stream_may_be_labels_and_events(kind: str) -> None:
    rows = KINDS[kind][0](EVENTS)
    assert values(PEAK.as_of(rows, rows), "peak") == PEAKS


def test_dictionaries_of_views_become_those_of_text() -> None:
    codes = pa.array([0, 0, 1, 0])
    keys = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b"]).cast(pa.string_view()))
    found = PEAK(Rows(EVENTS.set_column(0, "k", keys)))
    assert found.schema.field("k").type == pa.dictionary(pa.int64(), pa.string())
    assert values(found, "peak") == PEAKS


def test_late_and_waiting_events_in_streams_of_rows() -> None:
    waiting = PEAK.live(late="wait:3")
    assert values(waiting.push_many(reader(EVENTS)), "peak") == [4.0, 4.0, 9.0]
    revised = PEAK.live(late="revise")
    assert values(revised.push_many(reader(EVENTS)), "peak") == PEAKS
    beats = sw.Sliding(by="k", on="t", every=5, peak=sw.max("x").over(10))
    assert beats(reader(EVENTS)).equals(beats(EVENTS))


def test_pipe_takes_a_definition() -> None:
    assert values(EVENTS.to_pandas().pipe(PEAK), "peak") == PEAKS
    assert values(pl.from_arrow(EVENTS).pipe(PEAK), "peak") == PEAKS
    assert values(pl.from_arrow(EVENTS).lazy().filter(pl.col("k") == "a").pipe(PEAK), "peak") == [4.0, 4.0, 3.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([{"k": 1}], r"not on a list; for a list of dicts, use pa.Table.from_pylist\(rows\)"),
        (iter([{"k": 1}]), "not on a list_iterator"),
        (({"k": row} for row in range(3)), "not on a generator; .*live.*push"),
        ({"k": [1]}, "not on a dict; .*pa.table"),
        (None, "not on a NoneType"),
        ("events.csv", "not on a str; read the file first"),
        (Path("events.csv"), "not on a PosixPath; read the file first"),
        (np.zeros((3, 3)), "not on a ndarray; name its columns"),
        (pd.Series([1.0]), "not on a Series; sw.rolling takes a single series"),
        (pl.Series([1.0]), "not on a Series; sw.rolling takes a single series"),
        (pa.chunked_array([[1.0]]), "not on a ChunkedArray; sw.rolling takes a single series"),
        (pa.array([1.0]), "the DoubleArray cannot be read as a table: .*sw.rolling a single series"),
        (Rows(pa.chunked_array([[1.0]])), "the Rows cannot be read as a table: .*non-struct"),
        (EVENTS.schema.__arrow_c_schema__(), "the PyCapsule cannot be read as a table"),
        (EVENTS.to_pandas().groupby("k"), "not on a DataFrameGroupBy; keys are by="),
        (pl.from_arrow(EVENTS).group_by("k"), "not on a GroupBy; keys are by="),
        (pl.from_arrow(EVENTS).lazy().group_by("k"), "not on a LazyGroupBy; keys are by="),
        (Rows, "not on a type"),
        (pa.dataset.dataset(EVENTS), r"not on a InMemoryDataset; read it first: dataset.to_table\(\)"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_what_is_no_table(given: Any, message: str) -> None:
    for run in (PEAK, PEAK.live().push_many, PEAK.live().get_many, lambda rows: PEAK.as_of(LABELS, rows)):
        with pytest.raises(sw.InputError, match=message):
            run(given)


def test_a_stream_that_fails_leaves_state_as_it_was() -> None:
    def rows() -> Any:
        yield EVENTS.to_batches()[0]
        raise ValueError("the line was cut")

    live = PEAK.live()
    live.push_many(EVENTS.slice(0, 2))
    before = live.snapshot()
    with pytest.raises(sw.InputError, match=r"the RecordBatchReader cannot be read .*: Invalid: the line was cut; a"):
        live.push_many(pa.RecordBatchReader.from_batches(EVENTS.schema, rows()))
    assert live.snapshot() == before
