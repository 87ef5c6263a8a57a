"""`as_of` over two streams on Spark: cut at random, stopped and started again, with the judge's answers in the end."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import as_of_lanes
import numpy as np
import pyarrow as pa
import pytest
from lanes import Case
from point_in_time import assert_answers, judge_table
from spark.test_as_of import EVENTS, EVERY_WINDOW, TIMED
from spark_data import QUIET
from streams import CHANGELOG, SETTINGS, Files, answered, run, settings

import slidewise as sw

pytestmark = [QUIET, pytest.mark.rule(8, 9, 19)]
FAR = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def rocksdb(spark: Any) -> Any:
    with settings(spark, SETTINGS):
        yield


def in_pieces(table: pa.Table, seed: int, count: int) -> list[pa.Table]:
    """Rows in the order of their times, but for a few seconds, cut at random places."""
    choose = random.Random(seed)
    ticks = table.column("ts").cast(pa.int64()).to_pylist()
    order = sorted(range(len(ticks)), key=lambda i: ticks[i] + choose.random() * 3_000_000)
    cuts = sorted(choose.randrange(len(order) + 1) for _ in range(count - 1))
    pairs = zip([0, *cuts], [*cuts, len(order)], strict=True)
    return [table.take(pa.array(order[a:b], pa.int64())) for a, b in pairs]


def last_row(table: pa.Table) -> pa.Table:
    """A row of no known key, far ahead: the watermark passes all others."""
    far = {"ts": pa.array([FAR], table.schema.field("ts").type)}
    columns = [far.get(name, pa.nulls(1, table.schema.field(name).type)) for name in table.column_names]
    return pa.table(columns, schema=table.schema)


def rows_of(out: Path) -> list[dict[str, Any]]:
    """The answers in a sink, without those of the row far ahead; Parquet has lost the times' zone."""
    table = answered(out)
    moments = table.column("ts").cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    table = table.set_column(table.column_names.index("ts"), "ts", moments)
    return [row for row in table.to_pylist() if row["ts"] != FAR]


def test_two_streams_stopped_and_started_again(spark: Any, tmp_path: Path) -> None:
    """Five runs: four over one more file of each stream, and one over three more."""
    seed = 1
    labels = as_of_lanes.labels_for(Case("", EVERY_WINDOW, EVENTS), 60, seed)
    asked, events = (Files(spark, tmp_path / name) for name in ("labels", "events"))
    pieces = list(zip(in_pieces(labels, seed, 6), in_pieces(EVENTS, seed + 1, 6), strict=True))
    pieces.append((last_row(labels), last_row(EVENTS)))
    frames = [spark.createDataFrame(table).schema for table in (labels, EVENTS)]
    choose = random.Random(seed)
    for some_labels, some_events in pieces:
        asked.add(some_labels)
        events.add(some_events)
        if choose.random() < 0.5 or some_labels is pieces[-1][0]:
            both = [
                files.stream(schema).withWatermark("ts", "1 hour")
                for files, schema in zip((asked, events), frames, strict=True)
            ]
            found = EVERY_WINDOW.as_of(*both, shards=3)
            assert found.columns == [*labels.column_names, *EVERY_WINDOW.columns]
            run(found, tmp_path / "out", tmp_path / "checkpoint")
    rows = rows_of(tmp_path / "out")
    rows.sort(key=lambda row: row[as_of_lanes.LABEL])
    assert [{name: row[name] for name in labels.column_names} for row in rows] == labels.to_pylist()
    assert_answers(EVERY_WINDOW, rows, judge_table(EVERY_WINDOW, labels, EVENTS), labels.to_pylist())


def test_labels_wait_for_the_slower_stream(spark: Any, tmp_path: Path) -> None:
    """Labels far ahead of the events are not answered, however far their own watermark has moved."""
    asked, events = (Files(spark, tmp_path / name) for name in ("labels", "events"))
    labels = as_of_lanes.labels_for(Case("", TIMED, EVENTS), 20)
    asked.add(labels)
    asked.add(last_row(labels))
    events.add(EVENTS.slice(0, 1))
    schemas = [spark.createDataFrame(table).schema for table in (labels, EVENTS)]
    both = [
        files.stream(schema).withWatermark("ts", "1 second")
        for files, schema in zip((asked, events), schemas, strict=True)
    ]
    progress = run(TIMED.as_of(*both, shards=2), tmp_path / "out", tmp_path / "checkpoint")
    oldest = EVENTS.column("ts").to_pylist()[0]
    assert all(row["ts"] <= oldest for row in rows_of(tmp_path / "out"))
    assert "slidewise" in progress[0].observedMetrics


def test_one_stream_may_be_both(spark: Any, tmp_path: Path) -> None:
    """Events that ask of themselves, before they count: `closed="left"`, in one query over one source."""
    files = Files(spark, tmp_path / "events")
    choose = np.random.default_rng(5)
    times = pa.array(np.arange(50) * 1_000_000, pa.timestamp("us", "UTC"))
    table = pa.table({"k": choose.integers(0, 3, 50), "ts": times, "x": choose.integers(0, 9, 50)})
    files.add(table)
    files.add(last_row(table))
    definition = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("20s", closed="left"))
    stream = files.stream(spark.createDataFrame(table).schema).withWatermark("ts", "1 second")
    run(definition.as_of(stream.drop("x"), stream, shards=2), tmp_path / "out", tmp_path / "checkpoint")
    found = sorted(row["s"] or 0 for row in rows_of(tmp_path / "out"))
    assert found == sorted(value or 0 for value in definition(table).column("s").to_pylist())


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ((False, True), "stream of labels has no watermark on its time 'ts'.*labels.withWatermark"),
        ((True, False), "stream of events has no watermark on its time 'ts'"),
    ],
)
def test_both_streams_need_a_watermark(spark: Any, tmp_path: Path, marks: Any, message: str) -> None:
    labels = as_of_lanes.labels_for(Case("", TIMED, EVENTS), 3)
    both = []
    for name, table, mark in zip(("a", "b"), (labels, EVENTS), marks, strict=True):
        stream = Files(spark, tmp_path / name).stream(spark.createDataFrame(table).schema)
        both.append(stream.withWatermark("ts", "1 second") if mark else stream)
    with pytest.raises(sw.SlidewiseError, match=message):
        TIMED.as_of(*both)


def test_mistakes(spark: Any, tmp_path: Path, conf: Any) -> None:
    labels = as_of_lanes.labels_for(Case("", TIMED, EVENTS), 3)
    schemas = [spark.createDataFrame(table).schema for table in (labels, EVENTS)]
    both = [
        Files(spark, tmp_path / name).stream(schema).withWatermark("ts", "1 second")
        for name, schema in zip("ab", schemas, strict=True)
    ]
    with pytest.raises(sw.SlidewiseError, match="labels are a stream and the events are not"):
        TIMED.as_of(both[0], spark.createDataFrame(EVENTS))
    with pytest.raises(sw.SlidewiseError, match="parallel= is not for two streams, which takes shards="):
        TIMED.as_of(*both, parallel="auto")
    with pytest.raises(sw.SlidewiseError, match="late_to='line' is a column already"):
        TIMED.as_of(*both, late_to="line")
    conf({"spark.sql.streaming.multipleWatermarkPolicy": "max"})
    with pytest.raises(sw.SlidewiseError, match="multipleWatermarkPolicy=max"):
        TIMED.as_of(*both)
    conf({"spark.sql.streaming.multipleWatermarkPolicy": "min", CHANGELOG: "false"})
    with pytest.warns(UserWarning, match="without changelog checkpointing") as caught:
        TIMED.as_of(*both)
    assert caught[0].filename == __file__
