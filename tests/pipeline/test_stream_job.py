"""Jobs over streams on Spark: the rows of the batch job, each once, whatever stops them in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark.sql import SparkSession
from scraping import scraped
from sessions import JAVA
from spark_data import QUIET

from slidewise.cli import main
from slidewise.pipeline.job.job import read_job
from slidewise.pipeline.job.toml_document import JobError
from slidewise.pipeline.run import run
from slidewise.pipeline.stream.queries import as_messages, rejected_batch
from slidewise.pipeline.stream.run import run_stream_job
from slidewise.pipeline.stream.stop_flag import StopFlag
from slidewise.spark.failures import reason

pytestmark = QUIET
START = datetime(2026, 3, 1, tzinfo=UTC)
LINES = """\
[source]
path = "events"

[lines]
separator = ";"
fields = 3

[lines.columns]
ts = { field = 1, type = "timestamp" }
machine = { field = 2 }
temp = { field = 3, type = "bigint" }

[clean]
out_of_order = "sort"

[definition]
by = "machine"
on = "ts"

[definition.columns]
peak = { operator = "max", of = "temp", over = "30 seconds" }
total = { operator = "sum", of = "temp", over = "30 seconds" }
seen = { operator = "count", over = "all" }

[sink]
path = "out"

[stream]
watermark = "10 seconds"
checkpoint = "checkpoint"
trigger = "available now"
shards = 2

[stream.source]
options = { maxFilesPerTrigger = 1 }

[stream.sink]
path = "live"
"""


def write_lines(folder: Path, files: range, per_file: int = 40) -> None:
    """Files of lines, a row a second and up to five seconds out of order; one of a file's lines is broken."""
    (folder / "events").mkdir(exist_ok=True)
    for file in files:
        lines = []
        for row in range(file * per_file, (file + 1) * per_file):
            time = START + timedelta(seconds=row - row * 7 % 5, milliseconds=row % 1_000)
            lines.append(f"{time.isoformat()};m{row % 3};{row * 37 % 101}")
        lines[5] = f"broken {file}"
        put(folder / "events" / f"{file:03}.txt", "\n".join(lines) + "\n", file)


def put(path: Path, text: str, number: int) -> None:
    """Put a file in its place at once; its time of modification goes by its number."""
    draft = path.parent.parent / "draft"
    draft.write_text(text)
    os.utime(draft, (10**9 + number, 10**9 + number))
    draft.rename(path)


def heartbeat(folder: Path, number: int) -> None:
    """A row that moves the watermark past all others, and waits itself."""
    put(folder / "events" / f"{number:03}.txt", "2027-01-01T00:00:00Z;m0;0\n", number)


def rows_of(spark: SparkSession, path: Path, *names: str) -> list[tuple[Any, ...]]:
    """The rows of a table as Spark reads it, sorted, but for those of heartbeats."""
    rows = spark.read.option("mergeSchema", True).parquet(str(path)).where("ts < '2026-06-01'").select(*names).collect()
    return sorted(map(tuple, rows))


def test_the_documented_stream_gives_the_rows_of_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    """The job of docs/pipeline.md, which is a batch job, too; here it ends, and gives the one late row."""
    page = (Path(__file__).parents[2] / "docs" / "pipeline.md").read_text()
    example = page.partition("```toml\n# stream.toml\n")[2].partition("```")[0]
    changes = {'"10 seconds" ': '"available now" ', "# late_to": "late_to", "Trigger = 10 ": "Trigger = 1 "}
    for written, instead in changes.items():
        assert example.count(written) == 1
        example = example.replace(written, instead)
    (tmp_path / "stream.toml").write_text(example)
    (tmp_path / "events").mkdir()
    for file in range(3):
        times = [START + timedelta(seconds=10 * row - row * 7 % 5 * 9) for row in range(40 * file, 40 * file + 40)]
        lines = [f"{at % 3},{time.isoformat()},{at * 37 % 101 / 4}" for at, time in enumerate(times)]
        lines[5] = f"1,at noon,{file}"
        put(tmp_path / "events" / f"{file}.csv", "\n".join(["machine,ts,temp", *lines]), file)
    put(tmp_path / "events" / "3.csv", f"machine,ts,temp\n1,2027-01-01T00:00:00Z,0.0\n9,{START.isoformat()},7.0\n", 3)

    stream = read_job(tmp_path / "stream.toml", stream=True)
    shown: list[int] = []
    done = run_stream_job(stream, spark, update=lambda numbers: shown.append(numbers.rows_in))
    assert (done.rows_in, done.rejected, done.late) == (122, {"bad time": 3}, 1)
    assert done.rows_out == 117, "each row once, and the last one waits"
    assert (shown[-1], sorted(shown)) == (122, shown)
    assert done.state_bytes > 0
    assert done.watermark == datetime(2026, 12, 31, 23, 59, tzinfo=UTC).timestamp()

    assert run(read_job(tmp_path / "stream.toml"), spark).rows_out == 119
    columns = ("machine", "ts", "temp", "peak", "usual")
    streamed, batch = (rows_of(spark, tmp_path / at / "rows", *columns) for at in ("live", "result"))
    assert streamed[:-1] == batch[:-1]
    assert streamed[-1][2:] == (7.0, None, None), "the late row has no answers"
    dropped = spark.read.parquet(str(tmp_path / "live" / "rows")).where("dropped IS NOT NULL").collect()
    assert [(row.machine, row.dropped) for row in dropped] == [(9, "late")]
    names = ["file", "reason", "text"]
    tables = [pq.read_table(tmp_path / at / "rejected", columns=names).to_pylist() for at in ("live", "result")]
    assert sorted(map(repr, tables[0])) == sorted(map(repr, tables[1]))
    assert {row["reason"] for row in tables[0]} == {"bad time: ts is 'at noon'"}

    (tmp_path / "checkpoint").rename(tmp_path / "elsewhere")
    with pytest.raises(JobError, match=r"live/rows has rows already, and the checkpoint .* is new: Spark would skip"):
        run_stream_job(stream, spark)


MESSAGES = """\
[source]
format = "json"
path = "files"
schema = "card long, at timestamp, amount double"

[clean]
out_of_order = "sort"

[definition]
by = "card"
on = "at"
every = "1 minute"

[definition.columns]
spent = { operator = "sum", of = "amount", over = "5 minutes" }
payments = { operator = "count", over = "5 minutes" }

[sink]
path = "out"

[stream]
watermark = "2 minutes"
checkpoint = "checkpoint"
trigger = "available now"
shards = 2
rejected = "bad"

[stream.source]
format = "parquet"
path = "messages"
value = "json"

[stream.sink]
path = "live"

[stream.history]
format = "json"
path = "files/000.json"
schema = "card long, at timestamp, amount double"
"""


def test_messages_of_json_on_a_beat_with_a_history(spark: SparkSession, conf: Any, tmp_path: Path) -> None:
    """Messages as Kafka has them, bytes in a column `value`, give the beats of the batch job over the same rows."""
    conf({"spark.sql.streaming.schemaInference": "true"})  # so that Parquet is a source that brings its own columns
    payments = [
        {"card": at % 4, "at": (START + timedelta(seconds=20 * at)).isoformat(), "amount": at / 4} for at in range(120)
    ]
    for name in ("files", "messages"):
        (tmp_path / name).mkdir()
    for file in range(2):
        text = "\n".join(map(json.dumps, payments[60 * file : 60 * file + 60]))
        (tmp_path / "files" / f"{file:03}.json").write_text(text)
    values = [json.dumps(payment).encode() for payment in payments[50:]]  # ten of them are in the history, too
    values += [b'{"card": 1, "at": "yesterday", "amount": 5}', b"{broken", None, b'{"card": 2, "amount": 1.5}']
    messages = pa.table(
        {
            "key": pa.nulls(len(values), pa.binary()),
            "value": pa.array(values, pa.binary()),
            "topic": ["payments"] * len(values),
            "partition": pa.array([0] * len(values), pa.int32()),
            "offset": pa.array(range(len(values)), pa.int64()),
        }
    )
    pq.write_table(messages, tmp_path / "messages" / "1.parquet")
    (tmp_path / "job.toml").write_text(MESSAGES)

    done = run_stream_job(read_job(tmp_path / "job.toml", stream=True), spark)
    assert done.rejected == {"bad time": 1, "no time": 2, "malformed record": 1}
    assert (done.rows_in, done.before_history, done.late) == (74, 10, 0)
    bad = pq.read_table(tmp_path / "bad").to_pylist()
    assert {(row["offset"], row["reason"], row["text"]) for row in bad} == {
        (70, "bad time: at is 'yesterday'", values[70].decode()),
        (71, "malformed record", "{broken"),
        (72, "no time: at is null", ""),
        (73, "no time: at is null", values[73].decode()),
    }
    assert {(row["topic"], row["partition"]) for row in bad} == {("payments", 0)}

    summary = run(read_job(tmp_path / "job.toml"), spark)
    assert (summary.rows_in, summary.on_beat) == (120, True)
    beats = spark.read.parquet(str(tmp_path / "out" / "rows")).orderBy("at", "card").collect()
    assert len(beats) == summary.rows_out
    history_end, watermark = payments[59]["at"], payments[-1]["at"]
    streamed = spark.read.parquet(str(tmp_path / "live" / "rows")).orderBy("at", "card").collect()
    end = datetime.fromisoformat(watermark) - timedelta(minutes=2)
    wanted = [beat for beat in beats if datetime.fromisoformat(history_end) < beat.at.astimezone(UTC) <= end]
    assert streamed == wanted
    assert len(streamed) == done.rows_out > 50


def test_answers_as_messages(spark: SparkSession) -> None:
    answers = spark.sql("SELECT 7L AS card, 'a' AS shop, CAST(NULL AS DOUBLE) AS spent")
    (message,) = as_messages(answers, ("card",)).collect()
    assert (message.key, json.loads(message.value)) == ("7", {"card": 7, "shop": "a", "spent": None})
    (message,) = as_messages(answers, ("card", "shop")).collect()
    assert json.loads(message.key) == {"card": 7, "shop": "a"}
    assert as_messages(answers, ()).columns == ["value"]


def test_a_micro_batch_that_is_repeated_rejects_its_rows_once(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(LINES)
    (tmp_path / "events").mkdir()
    write = rejected_batch(read_job(tmp_path / "job.toml", stream=True))
    rows = spark.sql("SELECT 'a.txt' AS file, 'short line: 1' AS reason, 'x' AS text")
    for number in (3, 3, 4):
        write(rows, number)
    write(rows.where("false"), 5)
    table = pq.read_table(tmp_path / "live" / "rejected")
    assert table.column_names == ["file", "reason", "text", "batch"]
    assert sorted(path.name for path in (tmp_path / "live" / "rejected").iterdir()) == ["batch=3", "batch=4"]
    assert table.num_rows == 2


def test_a_query_that_fails_says_why(spark: SparkSession, tmp_path: Path) -> None:
    """And none of the job's queries goes on running."""
    (tmp_path / "job.toml").write_text(LINES.replace('"available now"', '"1 second"'))
    (tmp_path / "events").mkdir()
    large = f";m1;{2**62}\n"
    text = "".join(f"2026-03-01T00:00:0{at}Z{large}" for at in range(3)) + "2027-01-01T00:00:00Z;m0;0\n"
    put(tmp_path / "events" / "1.txt", text, 1)
    with pytest.raises(Exception, match="total") as failed:
        run_stream_job(read_job(tmp_path / "job.toml", stream=True), spark)
    assert "\n" not in reason(failed.value)
    assert "'total'" in reason(failed.value)
    assert not spark.streams.active
    stopping = StopFlag()
    stopping.set()
    assert run_stream_job(read_job(tmp_path / "job.toml", stream=True), spark, stopping=stopping).batches == 0


def test_a_stream_that_is_stopped_goes_on(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A process of its own: watched by Prometheus, alone on its checkpoint, ended by SIGTERM; no row lost, or twice.

    It goes on with another definition.
    """
    job = tmp_path / "job.toml"
    files = 40
    job.write_text(LINES.replace('"available now"', '"100 milliseconds"'))
    write_lines(tmp_path, range(files), per_file=20)
    command = [sys.executable, "-m", "slidewise", "run", str(job), "--stream", "--metrics", "0", "--master", "local[2]"]
    command += ["--conf", f"spark.driver.extraJavaOptions={JAVA}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[-1]
            assert process.stdout.readline().startswith("batch 0: in 20 ("), "a line for the first micro-batch"
            assert main(["run", str(job), "--stream"]) == 1
            assert f"is in use by another run (process {process.pid}); stop that first" in capsys.readouterr().err
            samples = scraped(address)["samples"]
            assert samples[("slidewise_rows_in_total",)] >= 20
            assert samples[("slidewise_rejected_rows_total", "short line")] == samples[("slidewise_batches_total",)]
            process.send_signal(signal.SIGTERM)
            out, error = process.communicate(timeout=600)
        finally:
            process.kill()
    assert process.returncode == 0, error
    assert "ending after this micro-batch" in out
    done = int(next(line for line in out.splitlines() if line.split()[:1] == ["in"]).split()[1].replace(",", ""))
    commits = sum(path.name.isdigit() for path in (tmp_path / "checkpoint" / "commits").iterdir())
    assert 0 < done < 20 * files, "it was stopped in between"
    assert done in (20 * commits, 20 * commits - 20), "one more may have been committed, and cut off before its report"

    heartbeat(tmp_path, files)
    job.rename(tmp_path / "old.toml")
    upgraded = LINES.replace("maxFilesPerTrigger = 1 ", "maxFilesPerTrigger = 100 ").replace("total =", "sum =")
    upgraded = upgraded.replace("[sink]", 'usual = "mean(temp) over 20 seconds"\n\n[sink]', 1)
    job.write_text(upgraded.replace("shards = 2", 'shards = 2\nupgrade_from = "old.toml"'))
    second = run_stream_job(read_job(job, stream=True), spark)
    assert second.rows_in == 20 * files + 1 - 20 * commits
    run(read_job(job), spark)
    live, batch = (
        {row[:3]: row[3:] for row in rows_of(spark, tmp_path / at / "rows", *columns)}
        for at, columns in (
            ("live", ("machine", "ts", "temp", "peak", "seen", "total", "sum", "usual")),
            ("out", ("machine", "ts", "temp", "peak", "seen", "sum", "sum", "usual")),
        )
    )
    assert len(live) == len(batch) == 19 * files
    for key, (peak, seen, total, renamed, usual) in live.items():
        assert (peak, seen) == batch[key][:2]
        assert total == batch[key][2] if renamed is None else (renamed, usual) == batch[key][3:]
    assert sum(renamed is not None for *_, renamed, _ in live.values()) > 19, "the second definition answered rows"
    rejected = pq.read_table(tmp_path / "live" / "rejected", columns=["text"])["text"].to_pylist()
    assert sorted(rejected) == sorted(f"broken {file}" for file in range(files))
