"""`as_of` on Spark DataFrames: the judge's answers, one shuffle, and errors before anything runs."""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import cache
from typing import Any

import as_of_lanes
import numpy as np
import pyarrow as pa
import pytest
from definitions.test_lanes import BIG, longest_drop
from lanes import Case
from point_in_time import assert_answers, judge_table
from spark_data import QUIET

import slidewise as sw

pytestmark = [QUIET, pytest.mark.rule(19)]

EVENTS = BIG.set_column(2, "ts", BIG.column("ts").cast(pa.timestamp("us", "UTC")))
EVERY_WINDOW = sw.Sliding(
    by=["line", "machine"],
    on="ts",
    right=sw.sum("load").over("5s"),
    both=sw.max("temp").over("5s", closed="both"),
    left=sw.mean("load").over("5s", closed="left"),
    neither=sw.count().over("5s", closed="neither"),
    rows=sw.collect("load").over(rows=3),
    rows_left=sw.sum("load").where("ok").over(rows=3, closed="left"),
    all=sw.count("load").over("all"),
    before=sw.stddev("load").over("all", closed="left"),
    coarse=sw.sum("load").over("7s", grain="3s"),
    middle=sw.median("load").over("9s", at_least=2),
    drop=longest_drop("load").over("9s"),
    text=sw.last("tag").over("20s"),
)
TIMED = sw.Sliding(
    by="machine",
    on="ts",
    top=sw.max("load").over("5s"),
    left=sw.count().over("3s", closed="left"),
    coarse=sw.sum("load").over("7s", grain="3s"),
)
KEYLESS = sw.Sliding(on="ts", top=sw.max("load").over("5s"), rows=sw.count("load").over(rows=4, closed="left"))


@cache
def labels_of(definition: sw.Sliding, count: int = 60) -> pa.Table:
    return as_of_lanes.labels_for(Case("", definition, EVENTS), count)


def run(definition: sw.Sliding, labels: Any, events: Any, **options: Any) -> list[dict[str, Any]]:
    found = definition.as_of(labels, events, **options)
    assert found.columns == [*labels.columns, *definition.columns]
    return sorted(found.toArrow().to_pylist(), key=lambda row: row[as_of_lanes.LABEL])


@pytest.mark.parametrize(
    ("definition", "parallel"),
    [(EVERY_WINDOW, "auto"), (TIMED, "by_time"), (KEYLESS, "auto"), (TIMED, "by_key")],
    ids=["every window", "by time", "no keys", "by key"],
)
def test_answers_are_the_judges(spark: Any, definition: sw.Sliding, parallel: str) -> None:
    labels = labels_of(definition)
    found = run(definition, spark.createDataFrame(labels), spark.createDataFrame(EVENTS), parallel=parallel)
    assert_answers(definition, found, judge_table(definition, labels, EVENTS), labels.to_pylist())
    own = [{name: row[name] for name in labels.column_names} for row in found]
    assert own == labels.to_pylist()


def test_slices_of_time_see_the_events_before_them(spark: Any) -> None:
    """Times far enough apart for many slices, with labels beside every cut."""
    choose = np.random.default_rng(2)
    times = np.sort(choose.integers(0, 2_000_000, 400))
    events = pa.table({"t": times, "x": choose.integers(0, 9, 400)})
    definition = sw.Sliding(on="t", n=sw.count().over(3_000), s=sw.sum("x").over(1_000, closed="both"))
    asked = np.concatenate([np.arange(0, 2_000_000, 2**14) + d for d in (-1, 0, 1, 2_999)])
    labels = pa.table({"t": asked, as_of_lanes.LABEL: np.arange(len(asked))})
    found = run(definition, spark.createDataFrame(labels), spark.createDataFrame(events))
    assert_answers(definition, found, judge_table(definition, labels, events), labels.to_pylist())


def test_other_names_and_types(spark: Any) -> None:
    """Labels' keys and times under other names, as other types, with a column that has a dot in its name."""
    labels = pa.table(
        {
            "id.of": pa.array([1, 2, None, 2], pa.int16()),
            "at": pa.array(
                [datetime(2024, 3, 1, 0, 0, s, tzinfo=UTC) for s in (5, 9, 3, 50)], pa.timestamp("us", "UTC")
            ),
            as_of_lanes.LABEL: [0, 1, 2, 3],
            "nested": [{"a": 1}, None, {"a": 2}, {"a": None}],
        }
    )
    definition = sw.Sliding(by="line", on="ts", right=sw.sum("load").over("9s"), n=sw.count().over(rows=5))
    found = run(definition, spark.createDataFrame(labels), spark.createDataFrame(EVENTS), on="at", by={"line": "id.of"})
    expected = judge_table(definition, labels, EVENTS, "at", {"line": "id.of"})
    assert_answers(definition, found, expected, labels.to_pylist())
    assert [row["nested"] for row in found] == labels.column("nested").to_pylist()


def test_dates_ask_at_midnight(spark: Any) -> None:
    events = pa.table({"ts": pa.array([datetime(2024, 3, 1), datetime(2024, 3, 1, 0, 0, 1)]), "x": [1, 2]})
    labels = pa.table({"ts": pa.array([date(2024, 3, 1), date(2024, 3, 2)]), as_of_lanes.LABEL: [0, 1]})
    definition = sw.Sliding(on="ts", s=sw.sum("x").over("1d"))
    local = spark.createDataFrame(events).selectExpr("cast(ts as timestamp_ntz) as ts", "x")
    for parallel in ("by_key", "auto"):
        found = run(definition, spark.createDataFrame(labels), local, parallel=parallel)
        assert [row["s"] for row in found] == [1, 2]


def test_a_side_without_rows(spark: Any) -> None:
    labels, definition = labels_of(EVERY_WINDOW), EVERY_WINDOW
    none = run(definition, spark.createDataFrame(labels), spark.createDataFrame(EVENTS.slice(0, 0)))
    assert_answers(definition, none, judge_table(definition, labels, EVENTS.slice(0, 0)), labels.to_pylist())
    assert run(definition, spark.createDataFrame(labels.slice(0, 0)), spark.createDataFrame(EVENTS)) == []


def test_there_is_one_shuffle(spark: Any, capsys: Any) -> None:
    TIMED.as_of(spark.createDataFrame(labels_of(TIMED)), spark.createDataFrame(EVENTS)).explain()
    assert capsys.readouterr().out.count("Exchange") == 1


def test_keys_stay_together_after_a_join(spark: Any) -> None:
    """A join on the key leaves both sides partitioned by it, which must not be taken for the shuffle by its hash."""
    keys = spark.createDataFrame([("a",), ("b",)], "machine string")
    labels = labels_of(TIMED)
    asked = spark.createDataFrame(labels).join(keys, "machine").select(*labels.column_names)
    events = spark.createDataFrame(EVENTS).join(keys, "machine").select(*EVENTS.column_names)
    expected = [row for row in TIMED.as_of(labels, EVENTS).to_pylist() if row["machine"] in ("a", "b")]
    assert run(TIMED, asked, events) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda labels, events: (labels.withColumnRenamed("machine", "m"), events), "'machine' not found; the labels"),
        (lambda labels, events: (labels, events.drop("load")), "'load' not found; the DataFrame"),
        (lambda labels, events: (labels.withColumnRenamed("line", "top"), events), "have a column 'top' already"),
        (lambda labels, events: (labels.selectExpr("1 as machine", "ts"), events), "'machine' has Spark's type string"),
        (
            lambda labels, events: (labels.selectExpr("machine", "'x' as ts"), events),
            "the time 'ts' has Spark's type timestamp",
        ),
        (lambda labels, events: (labels, EVENTS), "the events are a Table"),
    ],
)
def test_mistakes_are_errors_before_anything_runs(spark: Any, change: Any, message: str) -> None:
    labels, events = change(spark.createDataFrame(labels_of(TIMED)), spark.createDataFrame(EVENTS))
    with pytest.raises(sw.SlidewiseError, match=message):
        TIMED.as_of(labels, events)


def test_options_that_are_not_for_it(spark: Any) -> None:
    labels, events = spark.createDataFrame(labels_of(TIMED)), spark.createDataFrame(EVENTS)
    with pytest.raises(sw.SlidewiseError, match="presorted= is not for two batch DataFrames, which takes parallel="):
        TIMED.as_of(labels, events, presorted=True)
    with pytest.raises(sw.SlidewiseError, match=r"parralel= is not known.*did you mean 'parallel'"):
        TIMED.as_of(labels, events, parralel="auto")


def test_null_times_of_labels_are_counted(spark: Any) -> None:
    labels = labels_of(TIMED)
    times = pa.array([None, None, *labels.column("ts").to_pylist()[2:]], labels.schema.field("ts").type)
    asked = spark.createDataFrame(labels.set_column(1, "ts", times)).coalesce(1)
    with pytest.raises(Exception, match="the labels' time 'ts' is null in"):
        TIMED.as_of(asked, spark.createDataFrame(EVENTS)).toArrow()
