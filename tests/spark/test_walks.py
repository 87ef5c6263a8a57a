"""A row takes the way that docs/architecture.md shows: module by module, in every lane."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from spark_data import QUIET
from streams import SETTINGS, settings

import slidewise as sw
from slidewise.live.native import plan

pytestmark = QUIET

PACKAGE = f"{Path(sw.__file__).parent}/"
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"

START = datetime(2026, 1, 1)
DEFINITION = sw.Sliding(by="k", on="t", peak=sw.max("x").over("10 s"), mean=sw.mean("x").over(rows=3))
TABLE = pa.table(
    {
        "k": [i % 3 for i in range(600)],
        "t": pa.array([START + timedelta(seconds=i) for i in range(600)], pa.timestamp("us")),
        "x": [float(i * i % 97) for i in range(600)],
    }
)


def shown(lane: str) -> list[str]:
    """The modules of a lane, as the page lists them."""
    text = PAGE.read_text().split("\n## The life of a row\n")[1].split("\n## ")[0]
    [row] = [line for line in text.splitlines() if line.startswith(f"| {lane} |")]
    return re.findall(r"`([\w/]+\.py)`", row)


def entered(prepare: Callable[[], Callable[[], object]]) -> list[str]:
    """The modules of the package in the order in which a call first enters them; what is made before does not count."""
    seen: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name != "<module>":
            seen.setdefault(code.co_filename.removeprefix(PACKAGE))

    prepare()()  # modules are imported and kernels compiled
    run = prepare()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return list(seen)


def check(lane: str, prepare: Callable[[], Callable[[], object]]) -> None:
    hops, way = shown(lane), entered(prepare)
    assert [hop for hop in way if hop in hops] == hops, f"the way of {lane!r} is {way}"
    assert len(hops) <= 8


def test_arrays() -> None:
    times = np.arange(100)
    check("arrays", lambda: lambda: sw.rolling(np.arange(100.0), sw.mean, times=times, last=10))


def test_tables() -> None:
    check("tables", lambda: lambda: DEFINITION(TABLE))


class Event(dict[str, Any]):
    """An event that is no plain dict, and so is read by Python."""


@pytest.mark.parametrize(
    ("lane", "from_events", "kind"),
    [("live, in arrays", 1, dict), ("live, in arrays, by Python", 1, Event), ("live, in panes", 10**9, dict)],
)
def test_single_events(lane: str, from_events: int, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "FROM_EVENTS", from_events)
    monkeypatch.setattr(plan, "IN_BACKGROUND", False)

    def prepare() -> Callable[[], object]:
        live = DEFINITION.live()
        rows = [kind(row) for row in TABLE.to_pylist()]
        for row in rows[:100]:
            live.push(row)
        return lambda: [live.push(row) for row in rows[100:]]

    check(lane, prepare)


def test_reads() -> None:
    def prepare() -> Callable[[], object]:
        live = DEFINITION.live()
        for i in range(200):
            live.push({"k": 0, "t": START + timedelta(milliseconds=i), "x": float(i)})
        return lambda: [live.get({"k": 0}, at=START + timedelta(seconds=10, milliseconds=i)) for i in range(200)]

    check("live, a read", prepare)


def test_batches_of_events() -> None:
    def prepare() -> Callable[[], object]:
        live = DEFINITION.live()
        live.push_many(TABLE.slice(0, 300))
        return lambda: live.push_many(TABLE.slice(300))

    check("live, batches", prepare)


def test_spark_batch_in_a_worker() -> None:
    cloudpickle = pytest.importorskip("pyspark.cloudpickle", reason="pyspark is not installed")
    from slidewise.spark.worker.runtime import run_task

    types = {"peak": pa.float64(), "mean": pa.float64()}
    given = ("slidewise.spark.batch.evaluator", "evaluate_partition", (DEFINITION, types, None, None, False, True))
    payload = cloudpickle.dumps(given)
    check("Spark batch, in a worker", lambda: lambda: list(run_task(payload, TABLE.to_batches())))


def test_spark_stream_in_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    cloudpickle = pytest.importorskip("pyspark.cloudpickle", reason="pyspark is not installed")
    from shards import FINGERPRINT

    from slidewise.spark.stream.packing import to_blobs
    from slidewise.spark.stream.shard import QueryTerms
    from slidewise.spark.stream.shard_labels import shard_label
    from slidewise.spark.worker import runtime

    properties = {"streaming.sql.batchId": "0"}
    monkeypatch.setattr(runtime, "local_property", properties.get)
    rows = TABLE.set_column(1, "t", TABLE.column("t").cast(pa.timestamp("us", "UTC")))
    terms = QueryTerms(DEFINITION, FINGERPRINT, {"peak": pa.float64(), "mean": pa.float64()})
    payload = cloudpickle.dumps((terms, TABLE.column_names, [*rows.schema.types, pa.float64(), pa.float64()]))
    hashes = pa.array([7 * key for key in rows.column("k").to_pylist()], pa.int64())
    [(blob, _)] = to_blobs(rows.add_column(0, "hash", hashes))
    newest = int((START + timedelta(seconds=500) - datetime(1970, 1, 1)).total_seconds()) * 1_000
    handle = SimpleNamespace(registerTimer=lambda _: None, deleteTimer=lambda _: None)

    def prepare() -> Callable[[], object]:
        pages: dict[int, tuple[str]] = {}
        properties["sql.streaming.queryId"] = str(id(pages))  # another query, which no process knows yet
        state = SimpleNamespace(
            containsKey=lambda key: key[0] in pages,
            getValue=lambda key: pages[key[0]],
            updateValue=lambda key, value: pages.update({key[0]: value}),
            removeKey=lambda key: pages.pop(key[0]),
        )
        runner = runtime.ShardRunner(payload, handle, state)

        def call() -> None:
            answers = list(runner.call(shard_label(3), [{"data": [blob]}], 0, 0, False))
            answers += list(runner.call(shard_label(3), [], newest, 0, True))
            assert sum(len(frame) for frame in answers) > 0

        return call

    check("Spark stream, in a worker", prepare)


def test_spark_on_the_driver(spark: Any) -> None:
    events = spark.createDataFrame([(1, START, 2.0)], "k long, t timestamp, x double")
    check("Spark batch, on the driver", lambda: lambda: events.transform(DEFINITION))
    stream = spark.readStream.format("rate").load().selectExpr("value as k", "timestamp as t", "1.5D as x")
    late = stream.withWatermark("t", "1 minute")
    with settings(spark, SETTINGS):
        check("Spark stream, on the driver", lambda: lambda: late.transform(DEFINITION))
