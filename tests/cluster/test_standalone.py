"""Definitions on a standalone cluster whose workers have no Slidewise, until it is shipped: the same answers."""

from __future__ import annotations

import sys
import textwrap
import time
import types
from collections.abc import Iterator
from pathlib import Path
from socket import gethostname
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster.sessions_on import session_on
from cluster.standalone import Cluster, sink_files
from spark_data import HEALTH, QUIET, TIMED, events, same_rows
from streams import Files, run

import slidewise as sw
from slidewise.spark.failures import reason

pytestmark = QUIET


@pytest.fixture(scope="module")
def plain(cluster: Cluster, python: Path) -> Iterator[Any]:
    """A session to which nothing has been shipped yet; the first test ships."""
    with session_on(cluster, python) as spark:
        yield spark


@pytest.fixture
def shipped(plain: Any) -> Any:
    sw.ship(plain)
    return plain


def found_error(df: Any) -> str:
    with pytest.raises(Exception, match=r".+") as caught:
        df.collect()
    return reason(caught.value)


def test_ship_sends_the_package_to_every_executor(plain: Any, cluster: Cluster, python: Path) -> None:
    """Before it, the workers cannot import Slidewise, and the error says what to do."""
    df = plain.createDataFrame(events(100))
    message = found_error(df.transform(HEALTH))
    assert f"the Python of Spark's workers, {python} on {gethostname()}, has no Slidewise: call sw.ship(" in message
    sent = sw.ship(plain)
    assert len(sent.executors) == 2
    assert {Path(executor.folder).parents[1] for executor in sent.executors} == {
        cluster.folder / "worker0",
        cluster.folder / "worker1",
    }
    for executor in sent.executors:
        assert executor.python == str(python)
        assert executor.slidewise.endswith(f"/{sent.archive}/slidewise/__init__.py")
    again = sw.ship(plain)
    assert (again.archive, len(again.executors)) == (sent.archive, 2)
    assert same_rows(df.transform(HEALTH), HEALTH(events(100)))


@pytest.mark.parametrize(("parallel", "definition"), [("by_key", HEALTH), ("by_time", TIMED)])
def test_batches(shipped: Any, parallel: str, definition: sw.Sliding) -> None:
    table = events()
    found = shipped.createDataFrame(table).transform(definition, parallel=parallel)
    assert same_rows(found, definition(table), definition)


def test_labels(shipped: Any) -> None:
    table = events(2_000)
    labels = table.select(["k", "ts", "id"]).slice(0, 300)
    found = HEALTH.as_of(shipped.createDataFrame(labels), shipped.createDataFrame(table))
    assert same_rows(found, HEALTH.as_of(labels, table))


NOTEBOOK = """
import math
from typing import NamedTuple
import slidewise as sw

SCALE = 2.0

class Range(NamedTuple):
    low: float
    high: float

def scaled(x):
    return x * SCALE

def widest(a, b):
    return Range(min(a.low, b.low), max(a.high, b.high))

spread = sw.operator(
    name="spread",
    identity=Range(math.inf, -math.inf),
    lift=lambda x: Range(scaled(x), scaled(x)),
    combine=widest,
    lower=lambda state: state.high - state.low if state.low <= state.high else 0.0,
)
definition = sw.Sliding(by="k", on="ts", spread=spread("x").over(rows=5))
"""


def test_an_operator_of_a_notebook_travels_with_its_functions(shipped: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a cell defines is in `__main__`, which the workers' own `__main__` knows nothing of."""
    notebook = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    exec(NOTEBOOK, notebook.__dict__)
    definition, table = notebook.definition, events(1_000)
    assert same_rows(shipped.createDataFrame(table).transform(definition), definition(table), definition)


def test_a_module_that_the_workers_lack_is_named_and_can_be_sent(
    shipped: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_features.py").write_text(textwrap.dedent(NOTEBOOK))
    monkeypatch.syspath_prepend(str(tmp_path))
    import my_features  # type: ignore[import-not-found]

    table = events(1_000)
    df = shipped.createDataFrame(table)
    text = found_error(df.transform(my_features.definition))
    assert "needs the module 'my_features', which" in text
    assert "does not have; send it before the transformation, spark.sparkContext.addPyFile('...')" in text
    shipped.sparkContext.addPyFile(str(tmp_path / "my_features.py"))
    definition = my_features.definition
    assert same_rows(df.transform(definition), definition(table), definition)


@pytest.mark.filterwarnings("ignore:operator 'slow' cannot be compiled")
def test_an_executor_is_killed_while_a_job_runs(shipped: Any, cluster: Cluster) -> None:
    """Its tasks run elsewhere, and what it had shuffled is shuffled again."""

    def slowly(x: float) -> float:
        time.sleep(0.002)
        return x

    slow = sw.operator(name="slow", identity=0.0, lift=slowly, combine=lambda a, b: a + b)
    table = events(3_000)
    definition = sw.Sliding(by="k", on="ts", top=sw.max("x").over("20s"), slow=slow("x").over(rows=2))
    expected = definition(table)
    found: list[Any] = []
    shipped.conf.set("spark.sql.shuffle.partitions", "6")
    shipped.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    df = shipped.createDataFrame(table).repartition(4).transform(definition)
    job = Thread(target=lambda: found.append(same_rows(df, expected, definition)))
    tracker = shipped.sparkContext.statusTracker()

    def stages() -> list[Any]:
        return [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage)) is not None]

    before = set(cluster.executors())
    job.start()
    while job.is_alive() and not any(info.numTasks == 6 and info.numCompletedTasks for info in stages()):
        time.sleep(0.05)
    assert job.is_alive(), "the job was over before an executor could be killed"
    victim = cluster.kill_an_executor()
    job.join(timeout=120)
    assert found == [True]
    deadline = time.monotonic() + 60
    while len(set(cluster.executors()) - {victim}) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    new = set(cluster.executors()) - before
    assert len(new) == 1, "the worker has started another executor"
    shipped.conf.set("spark.sql.shuffle.partitions", "2")
    assert len(sw.ship(shipped).executors) == 2
    assert same_rows(shipped.createDataFrame(table).transform(TIMED), TIMED(table), TIMED)


def test_a_stream_goes_on_in_another_application(cluster: Cluster, python: Path, tmp_path: Path) -> None:
    """The second application reads the state that the executors of the first have written."""
    table = events(4_000).sort_by("ts")
    schema = "k long, ts timestamp, x double, id long"
    last = pa.table({"k": [0], "ts": pa.array([10**10], pa.timestamp("us", "UTC")), "x": [0.0], "id": [-1]})
    for first in (True, False):
        with session_on(cluster, python) as spark:
            sw.ship(spark)
            files = Files(spark, tmp_path / "in")
            for start in (0, 1_000) if first else (2_000, 3_000):
                files.add(table.slice(start, 1_000))
            if not first:
                files.add(last.cast(table.schema))
            stream = files.stream(schema).withWatermark("ts", "1 second").transform(HEALTH, shards=2)
            run(stream, tmp_path / "out", tmp_path / "checkpoint")
            if first:
                assert 1_500 < len(pq.read_table(sink_files(tmp_path / "out"))) <= 2_000
    found = pq.read_table(sink_files(tmp_path / "out")).sort_by("id").to_pylist()
    expected = HEALTH(table).sort_by("id").to_pylist()
    assert [(row["id"], row["top"], row["last"], row["all"]) for row in found] == [
        (row["id"], row["top"], row["last"], row["all"]) for row in expected
    ]
