"""The `[stream]` of a job file: what it says, and what is refused, with its line, before Spark starts."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import slidewise as sw
from slidewise.cli import main
from slidewise.pipeline.job.job import Job, read_job
from slidewise.pipeline.job.line_layouts import LineColumn
from slidewise.pipeline.job.toml_document import JobError
from slidewise.pipeline.stream.source import stream_of_job
from slidewise.windows import Duration

GOOD = """\
[source]
format = "csv"
path = "events"
schema = "machine long, ts timestamp, temp double"
options = { header = true }

[definition]
by = "machine"
on = "ts"

[definition.columns]
peak = { operator = "max", of = "temp", over = "10 minutes" }

[sink]
path = "out"

[stream]
watermark = "1 minute"
checkpoint = "checkpoint"
"""
KAFKA = """\
[stream.source]
format = "kafka"
value = "json"
options = { subscribe = "events", "kafka.bootstrap.servers" = "localhost:9092" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "1.csv").write_text("")
    return tmp_path


def read(folder: Path, text: str, stream: bool = True) -> Job:
    (folder / "job.toml").write_text(text)
    return read_job(folder / "job.toml", stream=stream)


def test_one_file_is_a_batch_and_a_stream(folder: Path) -> None:
    more = """\
[stream.source]
options = { maxFilesPerTrigger = 1 }
[stream.sink]
path = "live"
"""
    batch, stream = (read(folder, GOOD + more, stream) for stream in (False, True))
    assert batch.definition == stream.definition
    assert (batch.paths, batch.sink, batch.stream) == (stream.paths, str(folder / "out"), None)
    assert batch.source_options == {"header": "true"}
    assert stream.source_options == {"header": "true", "maxFilesPerTrigger": "1"}
    assert (stream.sink, stream.sink_format, stream.schema) == (str(folder / "live"), "parquet", batch.schema)
    table = stream_of_job(stream)
    assert table.rejected == str(folder / "live" / "rejected")
    assert table.checkpoint == str(folder / "checkpoint")
    assert table.trigger == {"processingTime": "0 seconds"}
    assert not table.bounded
    assert table.transform == {"watermark": Duration.of("1 minute")}
    with pytest.raises(sw.SlidewiseError, match=r"read it with read_job\(path, stream=True\)"):
        stream_of_job(batch)


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [("10 seconds", {"processingTime": "10000 milliseconds"}), ("available now", {"availableNow": True})],
)
def test_triggers(folder: Path, trigger: str, expected: dict[str, Any]) -> None:
    table = stream_of_job(read(folder, f'{GOOD}trigger = "{trigger}"\n'))
    assert table.trigger == expected
    assert table.bounded is (trigger == "available now")


def test_options_of_the_definition(folder: Path) -> None:
    job = read(folder, GOOD + 'shards = 64\nforget_after = "1 day"\nlate_to = "dropped"\n[clean]\nahead = "2 days"\n')
    assert stream_of_job(job).transform == {
        "watermark": Duration.of("1 minute"),
        "ahead": Duration.of("2 days"),
        "forget_after": Duration.of("1 day"),
        "shards": 64,
        "late_to": "dropped",
    }


def test_kafka_brings_options_and_a_value_and_no_path(folder: Path) -> None:
    sink = '[stream.sink]\nformat = "kafka"\noptions = { topic = "answers" }\n'
    job = read(folder, GOOD + 'rejected = "bad"\n' + KAFKA + sink)
    assert (job.source_format, job.paths, job.lines) == ("kafka", (), None)
    assert job.source_options == {"subscribe": "events", "kafka.bootstrap.servers": "localhost:9092"}
    assert (job.sink_format, job.sink, job.sink_options) == ("kafka", "", {"topic": "answers"})
    assert (stream_of_job(job).value, stream_of_job(job).rejected) == ("json", str(folder / "bad"))
    assert job.schema == "machine long, ts timestamp, temp double", "which is that of the JSON"
    only = GOOD[GOOD.index("[definition]") :].replace('[sink]\npath = "out"\n', "")
    job = read(folder, only + "rejected = false\n" + KAFKA.replace("value", 'schema = "ts timestamp"\nvalue') + sink)
    assert stream_of_job(job).rejected is None
    with pytest.raises(JobError, match=r"the job has no \[source\]"):
        read(folder, only + "rejected = false\n" + KAFKA + sink, stream=False)


def test_lines_of_messages(folder: Path) -> None:
    lines = """\
[lines]
separator = ","
fields = 3
[lines.columns]
machine = { field = 1, type = "bigint" }
ts = { field = 2, type = "timestamp" }
temp = { field = 3, type = "double" }
"""
    text = GOOD + KAFKA.replace('"json"', '"lines"') + lines
    job = read(folder, text)
    assert job.lines is not None
    assert job.lines.columns[0] == LineColumn("machine", 1, "bigint")
    assert read(folder, text, stream=False).lines is None, "the batch job reads CSV"


def test_a_history(folder: Path) -> None:
    history = '[stream.history]\nformat = "csv"\npath = "events/1.csv"\nuntil = 2026-03-01T00:00:00Z\n'
    history += 'schema = "machine long, ts timestamp, temp double"\noptions = { header = true }\n'
    table = stream_of_job(read(folder, GOOD + history)).history
    assert table is not None
    assert (table.format, table.paths) == ("csv", (str(folder / "events/1.csv"),))
    assert (table.until, table.options) == (datetime(2026, 3, 1, tzinfo=UTC), {"header": "true"})


def test_old_definitions(folder: Path) -> None:
    """A file of `upgrade_from` is a job or a definition; its operators are looked up as the job's own are."""
    old = sw.Sliding(by="machine", on="ts", peak=sw.max("temp").over("5 minutes"))
    older = sw.Sliding(by="machine", on="ts", peak=sw.min("temp").over("5 minutes"))
    (folder / "old.toml").write_text(GOOD.replace("10 minutes", "5 minutes"))
    (folder / "older.toml").write_text(older.to_toml())
    options = stream_of_job(read(folder, GOOD + 'upgrade_from = "old.toml"\nwarm = "null"\n')).transform
    assert options == {"watermark": Duration.of("1 minute"), "upgrade_from": old, "warm": "null"}
    options = stream_of_job(read(folder, GOOD + 'upgrade_from = ["older.toml", "old.toml"]\n')).transform
    assert options["upgrade_from"] == [older, old]
    (folder / "older.toml").write_text(older.to_toml().replace('"min"', '"mni"'))
    with pytest.raises(JobError, match=r"older.toml, line 5: .*no operator 'mni'.*did you mean 'min'"):
        read(folder, GOOD + 'upgrade_from = "older.toml"\n')
    (folder / "old.toml").write_text(GOOD.replace('"max"', '"nowhere.at.all:op"'))
    with pytest.raises(JobError, match=r"old.toml, line 12: .*which is not imported"):
        read(folder, GOOD + 'upgrade_from = "old.toml"\n')


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        (
            'watermark = "1 minute"',
            'watermrk = "1 minute"',
            18,
            r"\[stream\] has no 'watermrk'; .*did you mean 'w",
        ),
        ('watermark = "1 minute"', "", 17, r"\[stream\] needs 'watermark': by how much rows may come late"),
        ('watermark = "1 minute"', 'watermark = "1 minuet"', 18, "unknown unit 'minuet'"),
        ('watermark = "1 minute"', "watermark = 60", 18, "'watermark' is a duration such as '10 minutes', not 60"),
        ('checkpoint = "checkpoint"', "", 17, r"\[stream\] needs 'checkpoint': the folder"),
        ('"checkpoint"', '"events/checkpoint"', 19, "the checkpoint .* and the source .* are one place"),
        ('"checkpoint"', '"out/rows"', 19, "the checkpoint .* and the rows are one place"),
        ('"checkpoint"', '"c"\ntrigger = "10 secnds"', 20, "'trigger' is a duration or 'available now': unknown unit"),
        ('"checkpoint"', '"c"\ntrigger = "availble now"', 20, "did you mean 'available now'"),
        ('"checkpoint"', '"c"\ntrigger = "once"', 20, "Spark advises against 'once'.*write 'available now'"),
        ('"checkpoint"', '"c"\ntrigger = "continuous 1s"', 20, "Spark runs no state in Python in its continuous mode"),
        ('"checkpoint"', '"c"\nshards = 0', 20, "'shards' is a number from 1 to 65536, not 0"),
        ('"checkpoint"', '"c"\nforget_after = "1 minute"', 20, "forget_after=1 minute is shorter than the window of"),
        ('"checkpoint"', '"c"\nlate_to = "peak"', 20, "'late_to' is a column that is not there yet, not 'peak'"),
        ('"checkpoint"', '"c"\nupgrade_from = "no.toml"', 20, "there is no file .*no.toml; 'upgrade_from' is a job"),
        ('"checkpoint"', '"c"\nupgrade_from = []', 20, r"'upgrade_from' is .*, not \[\]"),
        ('"checkpoint"', '"c"\nrejected = 5', 20, "'rejected' is a folder for rows that cannot be read, or false"),
        ('"checkpoint"', '"c"\nrejected = "events/bad"', 20, "for the rejected rows and the source .* are one place"),
        (
            'schema = "machine long, ts timestamp, temp double"',
            "",
            1,
            "a stream of 'csv' needs the types of its",
        ),
        ('path = "events"', 'path = "nowhere"', 3, "there is no .*nowhere; name a file, a folder or a pattern"),
        ('path = "events"', "", 1, "a stream of 'csv' needs a 'path'"),
        ('path = "events"', 'path = ["events", "events/*.csv"]', 3, "a stream reads one folder, or one pattern"),
        ('path = "out"', "", 14, "a stream into 'parquet' needs a 'path'"),
        ('path = "out"', 'path = "events"', 15, "events/rows for the rows and the source .* are one place"),
        ('"10 minutes"', "600", 12, "'peak' is over a number, and a stream's times are timestamps"),
        ('on = "ts"', 'on = "ts"\nevery = "1 minuet"', 10, "unknown unit 'minuet'"),
        ("[stream]", '[labels]\npath = "events"\n[stream]', 17, "a stream answers its own rows"),
        ("[stream]", '[clean]\nahead = "1 day"\nahead_of = "stream"\n[stream]', 19, "write .stream. ahead = '1 day'"),
        ("[sink]", '[lines]\nlayout = "debs2012"\n[sink]', 14, r"\[lines\] is for the format 'text'"),
        (
            '"checkpoint"',
            '"c"\n[stream.source]\nformat = "kafka"\noptions = { "kafka.sasl.jaas.config" = "x" }',
            22,
            "'kafka.sasl.jaas.config' makes a driver load classes .*give --source-option kafka.sasl.jaas.config=",
        ),
        (
            '"checkpoint"',
            '"c"\n[stream.source]\nvalue = "jsn"',
            21,
            "'value' is one of json, lines, not 'jsn'; did",
        ),
        ('"checkpoint"', '"c"\n[stream.source]\nvalue = "lines"', 20, r"lines of text need a \[lines\] table"),
        (
            '"checkpoint"',
            '"c"\n[stream.sink]\nformat = "console"',
            17,
            "a sink of 'console' has no folder for",
        ),
        ('"checkpoint"', '"c"\n[stream.history]\npath = "no"', 21, "there is no .*no; name a file"),
        (
            '"checkpoint"',
            '"c"\n[stream.history]\npath = "events"\nuntil = 2026-03-01T00:00:00',
            22,
            "'until' needs",
        ),
        (
            '"checkpoint"',
            '"c"\n[stream.history]\nformat = "text"\npath = "events"',
            21,
            "lines of text have no",
        ),
    ],
)
def test_mistakes_name_their_line(folder: Path, old: str, new: str, line: int, words: str) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(JobError, match=rf"^\S*job.toml, line {line}: .*{words}"):
        read(folder, GOOD.replace(old, new))


def test_late_rows_of_a_beat_have_no_columns(folder: Path) -> None:
    text = GOOD.replace('on = "ts"', 'on = "ts"\nevery = "1 minute"') + 'late_to = "dropped"\n'
    with pytest.raises(JobError, match="line 21: 'late_to' is not for 'every'"):
        read(folder, text)


def test_a_batch_job_has_no_stream_to_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "job.toml").write_text(GOOD.partition("[stream]")[0])
    assert main(["run", str(folder / "job.toml"), "--stream"]) == 1
    assert "the job has no [stream]; add that table" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--stream", "--replay"], "--replay compares a batch job with a stream; leave it out with --stream"),
        (["--stream", "--overwrite"], "a stream goes on from its checkpoint and overwrites nothing"),
        (["--metrics", "0"], "--metrics is for streams; give --stream too"),
        (["--sink-option", "a=b"], "--sink-option is for streams; give --stream too"),
    ],
)
def test_options_that_do_not_go_together(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    (folder / "job.toml").write_text(GOOD)
    assert main(["run", str(folder / "job.toml"), *arguments]) == 1
    assert words in capsys.readouterr().err


def test_mistakes_are_found_before_spark_starts(folder: Path) -> None:
    (folder / "job.toml").write_text(GOOD + "shards = 0\n")
    code = "import sys; from slidewise.cli import main; main(sys.argv[1:]); assert 'pyspark' not in sys.modules"
    command = [sys.executable, "-c", code, "run", str(folder / "job.toml"), "--stream"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "job.toml, line 20: 'shards' is a number" in done.stderr
    assert not (folder / "checkpoint").exists()
