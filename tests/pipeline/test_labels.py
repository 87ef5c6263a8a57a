"""Jobs with `[labels]`: what the file may say, the labels with their answers, and that none of them is lost."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pipeline.test_job import EXAMPLES
from point_in_time import assert_answers, judge_table
from pyspark.sql import SparkSession
from spark_data import QUIET

import slidewise as sw
from slidewise.pipeline.job.job import Job, read_job
from slidewise.pipeline.job.labels import Labels
from slidewise.pipeline.job.toml_document import JobError
from slidewise.pipeline.replay import check_replay
from slidewise.pipeline.report.page import rows_of, write_report
from slidewise.pipeline.run import LABELS, STAGES, Summary, _check_counts, run

pytestmark = QUIET

GOOD = """\
[source]
format = "json"
path = "events.json"
schema = "card bigint, ts timestamp, amount double"

[labels]
path = "labels.parquet"
on = "decided_at"
by = { card = "card_id" }

[definition]
by = "card"
on = "ts"

[definition.columns.spent]
operator = "sum"
of = "amount"
over = "1 hour"

[sink]
path = "out"
"""
EVENTS = """\
{"card": 1, "ts": "2024-03-01T12:00:00Z", "amount": 5.0}
{"card": 2, "ts": "2024-03-01T12:10:00Z", "amount": 7.0}
{"card": 1, "ts": "2024-03-01T12:30:00Z", "amount": 2.0}
{"card": 1, "ts": "not a time", "amount": 100.0}
{"card": 1, "ts": "2024-03-01T12:20:00Z", "amount": 50.0}
"""


def labels(**changed: Any) -> pa.Table:
    times = ["2024-03-01T12:30:00", "2024-03-01T12:05:00", "2024-03-01T13:15:00", "2024-03-01T11:00:00"]
    columns = {
        "card_id": pa.array([1, 1, None, 2], pa.int64()),
        "decided_at": pa.array(times).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
        "amount": ["the labels' own", "b", "c", "d"],
    }
    return pa.table({**columns, **changed})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "events.json").write_text(EVENTS)
    pq.write_table(labels(), tmp_path / "labels.parquet")
    return tmp_path


def read(folder: Path, text: str = GOOD) -> Job:
    (folder / "job.toml").write_text(text)
    return read_job(folder / "job.toml")


def written(job: Job) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(Path(job.sink, "rows")).sort_by("row").to_pylist()
    return rows


def test_labels_of_a_job(folder: Path) -> None:
    job = read(folder)
    assert job.labels == Labels((str(folder / "labels.parquet"),), "decided_at", {"card": "card_id"})
    assert job.of_rows == sw.Sliding(by="card_id", on="decided_at", columns=job.definition.columns)
    plain = read(folder, GOOD.replace('on = "decided_at"\nby = { card = "card_id" }\n', 'schema = "a int"\n'))
    assert plain.labels is not None
    assert (plain.labels.on, plain.labels.by, plain.labels.schema) == ("ts", {}, "a int")


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("[labels]", "[label]", 6, "a job has no 'label'; it has .*did you mean 'labels'"),
        ('path = "labels.parquet"', "", 6, r"\[labels\] needs 'path'"),
        ('path = "labels.parquet"', 'path = "none.parquet"', 7, "there is no .*none.parquet"),
        ('path = "labels.parquet"', 'path = ["labels.parquet", "labels.parquet"]', 7, "names .* twice"),
        ('path = "labels.parquet"', 'paths = "labels.parquet"', 7, r"\[labels\] has no 'paths'.*did you mean 'path'"),
        ('path = "labels.parquet"', 'path = "labels.parquet"\nformat = "text"', 8, "lines of text have no columns"),
        ('on = "decided_at"', "on = 5", 8, "'on' is the labels' time column, not 5"),
        ('on = "decided_at"', 'on = "spent"', 8, "the labels' time 'spent' has the name of an aggregate"),
        ('{ card = "card_id" }', '{ crad = "card_id" }', 9, "the key 'crad', .*did you mean 'card'"),
        ('{ card = "card_id" }', "{ card = 5 }", 9, "a column of the labels, not 5"),
        ('{ card = "card_id" }', '{ card = "spent" }', 9, "the labels' key 'spent' has the name of an aggregate"),
        ('{ card = "card_id" }', '{ card = "decided_at" }', 9, "both as a key and as the time"),
        ('by = { card = "card_id" }', 'by = "card_id"', 9, "labels.by is a table"),
        ('on = "ts"', 'on = "ts"\nevery = "1 minute"', 14, r"a job with \[labels\] takes no 'every'"),
        ('path = "out"', 'path = "labels.parquet"', 21, "and the labels .* are one place"),
    ],
)
def test_what_is_refused_with_its_line(folder: Path, old: str, new: str, line: int, said: str) -> None:
    assert old in GOOD
    with pytest.raises(JobError, match=rf"job\.toml, line {line}: .*{said}"):
        read(folder, GOOD.replace(old, new))


def test_a_job_with_labels_is_not_replayed(folder: Path) -> None:
    with pytest.raises(sw.SlidewiseError, match=r"at the times of its \[labels\]; run it without --replay"):
        check_replay(read(folder))


def test_counts_must_add_up() -> None:
    _check_counts(Summary(rows_in=9, rows_out=4, labels=4))
    with pytest.raises(sw.SlidewiseError, match="5 labels went in and 4 came out"):
        _check_counts(Summary(rows_in=4, rows_out=4, labels=5))


def test_labels_come_out_with_their_answers(spark: SparkSession, conf: Any, folder: Path) -> None:
    """Events are cleaned, labels are not: of the events one has no time, and one is out of order."""
    conf({"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"})
    job = read(folder)
    done = run(job, spark)
    assert (done.rows_in, done.rejected, done.out_of_order, done.labels, done.rows_out) == (5, {"bad time": 1}, 1, 4, 4)
    assert {LABELS, *STAGES} == set(done.seconds)
    rows = written(job)
    own = labels().to_pylist()
    assert [{name: row[name] for name in own[0]} for row in rows] == own
    assert [row["row"] for row in rows] == [1, 2, 3, 4]
    assert [row["spent"] for row in rows] == [7.0, 5.0, None, None]
    assert [row["text"] for row in pq.read_table(Path(job.sink, "rejected")).to_pylist()] == [
        json.dumps({"card": 1, "ts": "not a time", "amount": 100.0}, separators=(",", ":"))
    ]
    assert rows_of(done) == [
        ("events in", "5"),
        ("rejected: bad time", "1"),
        ("out of order, dropped", "1"),
        ("events that count", "3"),
        ("labels in", "4"),
        ("labels out", "4"),
    ]
    sort = read(folder, GOOD + '[clean]\nout_of_order = "sort"\n')
    run(sort, spark, overwrite=True)
    assert [row["spent"] for row in written(sort)] == [57.0, 5.0, None, None]


def test_the_same_files_twice(spark: SparkSession, folder: Path) -> None:
    job = read(folder)
    run(job, spark)
    first = {path.name: path.read_bytes() for path in Path(job.sink, "rows").glob("part-*")}
    run(job, spark, overwrite=True)
    assert first == {path.name: path.read_bytes() for path in Path(job.sink, "rows").glob("part-*")} != {}


def test_the_report_shows_the_labels(spark: SparkSession, folder: Path) -> None:
    job = read(folder, GOOD + '[report]\nsignals = ["amount"]\n')
    done = run(job, spark)
    page, picture = write_report(spark, job, done)
    text = page.read_text()
    assert f"{folder / 'labels.parquet'}, as of decided_at, over the events of {folder / 'events.json'}" in text
    assert "labels out" in text
    assert "2024-03-01 12:05:00 to 2024-03-01 12:30:00" in text, "the key with most labels"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_labels_without_a_time_are_counted(spark: SparkSession, folder: Path) -> None:
    times = labels()["decided_at"].to_pylist()
    pq.write_table(labels(decided_at=pa.array([times[0], None, None, times[1]])), folder / "labels.parquet")
    with pytest.raises(
        sw.SlidewiseError, match=r"2 of 4 labels cannot be answered.*line 2 of .*no time: decided_at is nu"
    ):
        run(read(folder), spark)
    assert not (folder / "out" / "rows").exists()
    (folder / "labels.json").write_text('{"card_id": 1, "decided_at": "yesterday"}\n')
    text = GOOD.replace('path = "labels.parquet"', 'path = "labels.json"\nformat = "json"')
    with pytest.raises(sw.SlidewiseError, match=r"1 of 1 labels cannot be answered.*decided_at is 'yesterday'"):
        run(read(folder, text), spark)


def test_labels_that_lack_columns(spark: SparkSession, folder: Path) -> None:
    with pytest.raises(sw.SlidewiseError, match="column 'card' not found; the labels have card_id"):
        run(read(folder, GOOD.replace('by = { card = "card_id" }', "")), spark)
    with pytest.raises(sw.SlidewiseError, match="the labels: column 'decided' not found"):
        run(read(folder, GOOD.replace('on = "decided_at"', 'on = "decided"')), spark)
    pq.write_table(labels(spent=[1, 2, 3, 4]), folder / "labels.parquet")
    with pytest.raises(sw.SlidewiseError, match="the labels have a column 'spent' already"):
        run(read(folder), spark)
    pq.write_table(labels(row=[1, 2, 3, 4]), folder / "labels.parquet")
    with pytest.raises(sw.SlidewiseError, match=r"the labels: .*columns row, which the pipeline adds"):
        run(read(folder), spark)


@pytest.mark.rule(19)
def test_the_example(spark: SparkSession, tmp_path: Path) -> None:
    """The answers of the example, by the judge in plain Python."""
    text = (EXAMPLES / "decisions.toml").read_text().replace("../build/examples", str(tmp_path))
    text = re.sub(r'"data/', f'"{EXAMPLES}/data/', text)
    job = read(tmp_path, text)
    done = run(job, spark)
    assert (done.rows_in, done.labels, done.rows_out) == (200, 40, 40)
    orders, decisions = (
        spark.read.schema(schema).json(str(EXAMPLES / "data" / file)).toArrow()
        for schema, file in ((job.schema, "orders.jsonl"), (job.labels and job.labels.schema, "decisions.jsonl"))
    )
    orders = orders.filter(orders["at"].is_valid())
    rows = written(job)
    assert [row["id"] for row in rows] == list(range(1, 41))
    expected = judge_table(job.definition, decisions, orders, "decided_at", {"customer": "buyer"})
    assert_answers(job.definition, rows, expected, decisions.to_pylist())
    assert len({row["spent"] for row in rows}) > 10
