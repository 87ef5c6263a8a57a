"""Jobs on Spark: known answers, every kind of broken line, the order of files, and the same files twice."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import random
import re
import subprocess
import sys
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from sessions import JAVA
from spark_data import QUIET

import slidewise as sw
from slidewise.cli import main
from slidewise.evaluation.events import make_events, prepare_on, read_events
from slidewise.pipeline.job.job import PARTS, Job, read_job
from slidewise.pipeline.job.line_layouts import DEBS2012, LineColumn, LineLayout
from slidewise.pipeline.job.toml_document import JobError
from slidewise.pipeline.marked_folders import MARK
from slidewise.pipeline.remote_sinks import claim
from slidewise.pipeline.replay import FILES, check_replay, compare, replay
from slidewise.pipeline.report.page import write_report
from slidewise.pipeline.rows.cleaning import clean
from slidewise.pipeline.run import STAGES, run
from slidewise.pipeline.synthetic_events import write_events
from slidewise.spark.failures import reason
from slidewise.windows import Duration

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared" / "data" / "debs2012_small.tsv"

pytestmark = QUIET
SWING = sw.Sliding(
    on="ts",
    both=sw.relative_variation("mf01").over("1 second", closed="both"),
    right=sw.relative_variation("mf01").over("1 second"),
    ten=sw.relative_variation("mf01").over("10 seconds"),
)


def read(folder: Path | str, part: str) -> list[dict[str, Any]]:
    """A table of a job's results, ordered by its rows."""
    rows: list[dict[str, Any]] = pq.read_table(Path(folder, part)).sort_by("row").to_pylist()
    return rows


def blocks_of(size: int) -> dict[str, str]:
    """Let Spark cut files into blocks of so many bytes, several to a task."""
    return {"spark.sql.files.maxPartitionBytes": str(size), "spark.sql.files.openCostInBytes": "1"}


@pytest.mark.skipif(not REAL.exists(), reason="the real data is not beside this checkout")
def test_known_answers_of_real_events(spark: SparkSession, conf: Any, tmp_path: Path) -> None:
    """The sum over all rows of (max - min) / max of mf01, computed from scratch elsewhere, at Spark's microseconds."""
    conf(blocks_of(900_000))
    job = Job(SWING, (str(REAL),), str(tmp_path), lines=DEBS2012)
    done = run(job, spark)
    assert (done.rows_in, done.rows_out, done.rejected, done.out_of_order) == (17_000, 17_000, {}, 0)
    assert set(STAGES) == set(done.seconds)
    rows = read(tmp_path, "rows")
    assert [row["row"] for row in rows] == list(range(1, 17_001))
    assert [row["index"] for row in rows] == list(range(2_556_001, 2_573_001))
    assert sum(row["both"] for row in rows) == pytest.approx(280.39619291898214, rel=1e-12)
    assert sum(row["right"] for row in rows) == pytest.approx(280.38537371832905, rel=1e-12)
    assert sum(row["ten"] for row in rows) == pytest.approx(1417.2288295385404, rel=1e-12)


def test_broken_lines_are_put_aside_with_line_and_reason(spark: SparkSession, tmp_path: Path) -> None:
    good = "2012-02-22T16:46:2{}.5000000+00:00\t1\t10\t20\t30" + "\t0" * 51
    lines = [good.format(at).encode() for at in range(1, 10)]
    broken = {
        2: (b"2012-02-22T16:46:29.5\t1\t2", "short line: 3 fields instead of 56 or 66"),
        3: (lines[8] + b"\t0", "long line: 57 fields instead of 56 or 66"),
        4: (lines[8] + b"\t0" * 20, "long line: 76 fields instead of 56 or 66"),
        5: (lines[8].replace(b"2012-02-22", b"2012-02-30"), "bad time: ts is '2012-02-30T16:46:29.5000000+00:00'"),
        6: (lines[8].replace(b"2012-02-22T16:46:29.5000000+00:00", b"2012"), "bad time: ts is '2012'"),
        7: (lines[8].replace(b"\t10\t", b"\t1x\t"), "bad number: mf01 is '1x'"),
        8: (lines[8].replace(b"\t20\t", b"\t2.5\t"), "bad number: mf02 is '2.5'"),
        9: (lines[8].replace(b"\t30\t", b"\t\t"), "bad number: mf03 is ''"),
        10: (lines[8].replace(b"\t1\t", b"\t99999999999999999999\t"), "bad number: index is '99999999999999999999'"),
        11: (b"", "empty line"),
        12: (b"   ", "empty line"),
        13: (lines[8].replace(b"\t10\t", b"\t1\xff\t"), "not UTF-8"),
    }
    written = [lines[0], *(line for line, _ in broken.values()), lines[1] + b"\t0" * 10, *lines[2:5]]
    (tmp_path / "events.tsv").write_bytes(b"\r\n".join(written) + b"\r\n")
    job = Job(SWING, (str(tmp_path / "events.tsv"),), str(tmp_path / "out"), lines=DEBS2012)
    done = run(job, spark)
    found = {row["line"]: row for row in read(job.sink, "rejected")}
    assert {line: row["reason"] for line, row in found.items()} == {line: why for line, (_, why) in broken.items()}
    for line, (text, _) in broken.items():
        assert found[line]["text"] == text.decode(errors="replace")
        assert found[line]["file"].endswith("/events.tsv")
    kinds = {"short line": 1, "long line": 2, "bad time": 2, "bad number": 4, "empty line": 2, "not UTF-8": 1}
    assert done.rejected == kinds
    assert done.rows_in == len(written) == done.rows_out + sum(kinds.values())
    assert [row["row"] for row in read(job.sink, "rows")] == [1, 14, 15, 16, 17], "66 fields are fine, too"


def passed_over(files: list[Path], key: int | None = None) -> tuple[list[int], list[int]]:
    """One plain pass over the lines: the rows that are in order, and those that are not."""
    newest: dict[str, datetime] = {}
    kept: list[int] = []
    late: list[int] = []
    number = 0
    for file in sorted(files):
        for line in file.read_text(errors="replace").splitlines():
            number += 1
            fields = line.split("\t")
            try:
                assert len(fields) in (56, 66)
                assert "�" not in line
                time = datetime.fromisoformat(fields[0])
                [int(field) for field in fields[1:5]]
            except (AssertionError, ValueError):
                continue
            who = "" if key is None else fields[key]
            if who in newest and time < newest[who]:
                late.append(number)
            else:
                kept.append(number)
                newest[who] = time
    return kept, late


@pytest.mark.parametrize(("count", "block"), [(1, None), (3, 61_000)])
def test_rows_out_of_order_are_those_of_one_pass_over_the_files(
    spark: SparkSession, conf: Any, tmp_path: Path, count: int, block: int | None
) -> None:
    files = [tmp_path / f"events-{at}.tsv" for at in range(count)]
    for at, file in enumerate(files):
        write_events(file, 700 * (count - at) + 400, seed=at, malformed=6)
    job = Job(SWING, (str(tmp_path / "events-*.tsv"),), "unused", lines=DEBS2012)
    kept, late = passed_over(files)
    lines = files[0].read_bytes().splitlines(keepends=True)
    # By default a block begins with a row out of order, which only the block before it can show.
    conf(blocks_of(block or sum(map(len, lines[: late[2] - 1])) - 1))
    cleaned = clean(spark, job)
    try:
        assert sorted(row["row"] for row in cleaned.rows.select("row").collect()) == kept
        assert sorted(row["row"] for row in cleaned.out_of_order.select("row").collect()) == late
        assert (cleaned.late, cleaned.rows_in) == (len(late), len(kept) + len(late) + 6 * count)
        first = cleaned.out_of_order.orderBy("row").first()
        line = Path(first["file"].removeprefix("file:")).read_text(errors="replace").splitlines()[first["line"] - 1]
        assert line.split("\t")[1] == str(first["index"])
        assert first["newest"] > first["ts"]
    finally:
        cleaned.release()


def test_with_keys_order_is_judged_within_a_key(spark: SparkSession, conf: Any, tmp_path: Path) -> None:
    write_events(tmp_path / "events.tsv", 3_000, seed=3)
    lines = [line.split("\t") for line in (tmp_path / "events.tsv").read_text().splitlines()]
    keyed = ["\t".join([*fields[:2], str(int(fields[1]) % 3), *fields[3:]]) for fields in lines]
    (tmp_path / "events.tsv").write_text("\n".join(keyed) + "\n")
    conf(blocks_of(100_000))
    definition = sw.Sliding(by="mf01", on="ts", top=sw.max("mf02").over("1 second"))
    job = Job(definition, (str(tmp_path / "events.tsv"),), str(tmp_path / "out"), lines=DEBS2012)
    kept, late = passed_over([tmp_path / "events.tsv"], key=2)
    assert late
    run(job, spark)
    assert [row["row"] for row in read(job.sink, "rows")] == kept
    assert [row["row"] for row in read(job.sink, "out_of_order")] == late


def files_of(folder: str) -> dict[str, str]:
    found = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def test_twice_gives_the_same_files_and_none_is_overwritten(spark: SparkSession, conf: Any, tmp_path: Path) -> None:
    write_events(tmp_path / "events.tsv", 5_000, malformed=12)
    conf(blocks_of(300_000))
    job = Job(SWING, (str(tmp_path / "events.tsv"),), str(tmp_path / "out"), lines=DEBS2012)
    first = run(job, spark)
    once = files_of(job.sink)
    assert any(name.startswith("rows/part-00000.") for name in once)
    with pytest.raises(JobError, match="has results already"):
        run(job, spark)
    assert files_of(job.sink) == once
    notes = Path(job.sink, "rows", "notes.txt")
    notes.write_text("mine")
    with pytest.raises(JobError, match=r"rows holds notes.txt, which no job wrote"):
        run(job, spark, overwrite=True)
    notes.unlink()
    again = run(job, spark, overwrite=True)
    assert files_of(job.sink) == once
    assert (again.rows_out, again.out_of_order) == (first.rows_out, first.out_of_order)
    seen = [row["row"] for part in ("rows", "rejected", "out_of_order") for row in read(job.sink, part)]
    assert sorted(seen) == list(range(1, 5_001)), "each row is in one of the tables"


def test_rows_out_of_order_can_be_put_in_order(spark: SparkSession, tmp_path: Path) -> None:
    write_events(tmp_path / "events.tsv", 3_000)
    job = Job(SWING, (str(tmp_path / "events.tsv"),), str(tmp_path / "out"), lines=DEBS2012, out_of_order="sort")
    done = run(job, spark)
    assert done.out_of_order > 20
    assert done.dropped == 0
    assert done.rows_out == done.rows_in == 3_000
    written = pq.read_table(Path(job.sink, "rows"))
    assert not Path(job.sink, "out_of_order").exists()
    expected = SWING(written.select(["ts", "mf01"]))
    assert written["both"].to_pylist() == expected["both"].to_pylist()


EXAMPLES = ["manufacturing", "machines", "orders"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(spark: SparkSession, tmp_path: Path, name: str) -> None:
    job = read_job(ROOT / "examples" / f"{name}.toml")
    assert {path.stem for path in (ROOT / "examples").glob("*.toml")} == {
        *EXAMPLES,
        "decisions",  # which tests/pipeline/test_labels.py runs
    }
    job = dataclasses.replace(job, sink=str(tmp_path), report=None if job.report is None else str(tmp_path))
    done = run(job, spark)
    assert done.rows_in == {"manufacturing": 300, "machines": 240, "orders": 200}[name]
    assert done.rejected
    if name != "orders":
        assert done.out_of_order
    if name == "machines":
        rows = pq.read_table(tmp_path / "rows")
        table = rows.select(["ts", "machine", "temp", "ok", "row"])
        assert job.definition(table)["peak"].to_pylist() == rows["peak"].to_pylist()
        assert rows["temp"].null_count > 0
    if job.report is not None:
        page, picture = write_report(spark, job, done)
        text = page.read_text()
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert "data:image/png;base64," in text
        assert not re.search(r'(src|href)="(?!data:)', text), "the page needs nothing else"
        assert f">{done.rows_out:,}<" in text


def test_times_and_separators_of_ones_own(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("01.03.2024 12:00:00|=|1.5\n01.03.2024 12:00:05|=|NaN\nx|=|1\n|=|\n")
    lines = LineLayout(
        "|=|", (2,), (LineColumn("at", 1, "timestamp", "dd.MM.yyyy HH:mm:ss"), LineColumn("x", 2, "double"))
    )
    job = Job(
        sw.Sliding(on="at", n=sw.count().over("1m")), (str(tmp_path / "log.txt"),), str(tmp_path / "o"), lines=lines
    )
    assert run(job, spark).rejected == {"bad time": 2}
    noon = datetime(2024, 3, 1, 12)
    assert [row["at"] for row in read(job.sink, "rows")] == [noon, noon + timedelta(seconds=5)]


def test_operators_of_the_jobs_folder_reach_the_workers(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "events.txt").write_text("2024-01-01T00:00:00;1.0\n2024-01-01T00:01:00;2.0\n")
    (tmp_path / "plant_helper.py").write_text("SCALE = 2.0\n")
    (tmp_path / "plant_total.py").write_text(
        "from plant_helper import SCALE\nimport slidewise as sw\n"
        "total = sw.operator(name='total', identity=0.0, lift=lambda x: x * SCALE, combine=lambda a, b: a + b)\n"
    )
    (tmp_path / "job.toml").write_text(
        '[source]\npath = "events.txt"\n[lines]\nseparator = ";"\nfields = 2\n[lines.columns]\n'
        'ts = { field = 1, type = "timestamp" }\nx = { field = 2, type = "double" }\n[definition]\non = "ts"\n'
        '[definition.columns]\nsum = { operator = "plant_total:total", of = "x", over = "1 hour" }\n'
        '[operators]\nmodules = ["plant_total"]\n[sink]\npath = "out"\n'
    )
    assert run(read_job(tmp_path / "job.toml", imports=True), spark).rows_out == 2
    assert [row["sum"] for row in read(tmp_path / "out", "rows")] == [2.0, 6.0]


def test_times_as_text_and_a_report_from_csv(spark: SparkSession, tmp_path: Path) -> None:
    """ISO 8601 as JSON has it, values that are none, a wrong clock, and a sink that does not keep types."""
    zone = "2024-03-01T14:00:30"
    sound = ["2024-03-01", "2024-03-01T12:00", "2024-03-01 12:00:10", "2024-03-01T12:00:20.123456789Z"]
    sound += [
        f"{zone}+02:00",
        f"{zone.replace('30', '31')}+0200",
        f"{zone.replace('30', '32')} +02",
        "1709294433",
        "2024-3-1 12:0:34",
    ]
    lines = [f'{{"at": "{text}", "x": {at}, "say": "a\\nb"}}' for at, text in enumerate(sound)]
    lines += ['{"at": "01.03.2024 12:00", "x": 1}', '{"x": 7}', "{broken", '{"at": "2999-01-01T00:00:00Z", "x": 1e9}']
    (tmp_path / "x.json").write_text("\n".join(lines) + "\n")
    definition = sw.Sliding(on="at", top=sw.max("x").over("1 hour"), n=sw.count().over(rows=3))
    job = Job(definition, (str(tmp_path / "x.json"),), str(tmp_path / "out"), "json", ahead=Duration.of("1 day"))
    job = dataclasses.replace(job, sink_format="csv", report=str(tmp_path / "out"))
    done = run(job, spark)
    assert done.rejected == {"bad time": 1, "malformed record": 1, "no time": 1}
    assert (done.rows_out, done.ahead, done.out_of_order) == (9, 1, 0)
    page, _ = write_report(spark, job, done)
    assert "2024-03-01 00:00:00 to 2024-03-01 12:00:34" in page.read_text()
    assert done.warning in page.read_text().replace("&quot;", '"')
    found = spark.read.csv(f"{job.sink}/rejected").collect()
    assert {(row[3], row[4]) for row in found} == {
        ("bad time: at is '01.03.2024 12:00'", '{"at":"01.03.2024 12:00","x":1.0}'),
        ("no time: at is null", '{"x":7.0}'),
        ("malformed record", "{broken"),
    }
    # With a schema, all of one format, and the wrong one.
    (tmp_path / "x.json").write_text('{"at": "01.03.2024 12:00"}\n{"at": "02.03.2024 12:00"}\n')
    job = dataclasses.replace(job, schema="at timestamp", definition=sw.Sliding(on="at", n=sw.count().over("1 hour")))
    with pytest.raises(sw.SlidewiseError) as none:
        run(job, spark, overwrite=True)
    assert "none of the 2 rows can be read: bad time (2). line 1 of file:" in str(none.value)
    assert "bad time: at is '01.03.2024 12:00'; line 2 of" in str(none.value)
    assert 'as ISO 8601; give the right one: options = { timestampFormat = "dd.MM.yyyy HH:mm:ss" }' in str(none.value)
    job = dataclasses.replace(job, source_options={"timestampFormat": "dd.MM.yyyy HH:mm"}, schema="at timestamp_ntz")
    with pytest.raises(sw.SlidewiseError, match="Spark's type timestamp_ntz, and a stream needs a timestamp"):
        run(job, spark, overwrite=True, check=partial(check_replay, dataclasses.replace(job, sink_format="parquet")))
    assert run(job, spark, overwrite=True).rows_out == 2


def test_an_empty_source(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "none.tsv").write_text("")
    job = Job(SWING, (str(tmp_path / "none.tsv"),), str(tmp_path / "out"), lines=DEBS2012, report=str(tmp_path))
    done = run(job, spark)
    assert (done.rows_in, done.rows_out) == (0, 0)
    write_report(spark, job, done)


def test_a_key_that_the_source_lacks(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"t": 1, "card": 1}\n')
    definition = sw.Sliding(by="cart", on="t", n=sw.count().over(5))
    job = Job(definition, (str(tmp_path / "x.json"),), str(tmp_path / "out"), "json", schema="t int, card bigint")
    with pytest.raises(sw.InputError, match="column 'cart' not found; the source has t, card; did you mean 'card'"):
        run(job, spark)


def test_an_error_of_the_workers_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"t": 1, "x": 4611686018427387904}\n' * 2)
    definition = sw.Sliding(on="t", a=sw.sum("x").over(5))
    job = Job(definition, (str(tmp_path / "x.json"),), str(tmp_path / "out"), "json", schema="t int, x bigint")
    with pytest.raises(PySparkException) as failed:
        run(job, spark)
    assert re.fullmatch(r"[^\n]*does not fit into a 64-bit integer[^\n]*", reason(failed.value))
    assert not reason(failed.value).startswith("slidewise.")
    assert not list(Path(job.sink).iterdir()), "nothing stands in the way of the next run"


def test_what_was_there_stays_until_a_job_has_done_all(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"t": 2, "x": 1}\n{"t": 1, "x": 1}\n')
    definition = sw.Sliding(on="t", a=sw.sum("x").over(5))
    job = Job(definition, (str(tmp_path / "x.json"),), str(tmp_path / "out"), "json", schema="t int, x bigint")
    run(job, spark)
    once = files_of(job.sink)
    (tmp_path / "x.json").write_text('{"t": 1, "x": 4611686018427387904}\n' * 2)
    with pytest.raises(PySparkException):
        run(job, spark, overwrite=True)
    assert files_of(job.sink) == once
    (tmp_path / "x.json").write_text('{"t": 2, "x": 1}\n{"t": 1, "x": 1}\n')
    run(dataclasses.replace(job, out_of_order="sort"), spark, overwrite=True)
    assert {path.name for path in Path(job.sink).iterdir()} == {"rows", "rejected"}, "a row is in one table"


STRAYS = {40: 9_000, 41: 9_100, 90: 9_050, 130: 400_000}


def stray_times() -> list[int]:
    """Seconds of rows in the order of a file: a few come late, and some clocks are wrong."""
    choose = random.Random(7)
    times = [at * 10 - (choose.random() < 0.1) * choose.randrange(1, 25) for at in range(300)]
    for at, time in STRAYS.items():
        times[at] = time
    return times


def judged(times: list[int], limit: int | None, keys: int = 1) -> dict[str, list[int]]:
    """One plain pass: the numbers of the rows that are ahead, late and in order."""
    newest, of_key = None, {}
    found: dict[str, list[int]] = {"ahead": [], "out_of_order": [], "rows": []}
    for at, time in enumerate(times):
        if limit is not None and newest is not None and time > newest + limit:
            found["ahead"].append(at + 1)
            continue
        newest = time if newest is None else max(newest, time)
        late = time < of_key.get(at % keys, time)
        found["out_of_order" if late else "rows"].append(at + 1)
        of_key[at % keys] = max(time, of_key.get(at % keys, time))
    return found


def tables_of(sink: str) -> dict[str, list[int]]:
    parts = ("rows", "rejected", "out_of_order", "ahead")
    return {part: [row["row"] for row in read(sink, part)] for part in parts if Path(sink, part).exists()}


@pytest.mark.parametrize("keys", [1, 3])
def test_rows_ahead_of_the_stream_are_put_aside(spark: SparkSession, conf: Any, tmp_path: Path, keys: int) -> None:
    """Stray dates among good rows, in several files and blocks; each row is in one table, once."""
    times = stray_times()
    noon = datetime(2024, 3, 1, 12)
    lines = [f'{{"at": "{noon + timedelta(seconds=time)}", "k": {at % keys}}}\n' for at, time in enumerate(times)]
    (tmp_path / "in").mkdir()
    for number, begin in enumerate(range(0, 300, 110)):
        (tmp_path / "in" / f"{number}.json").write_text("".join(lines[begin : begin + 110]))
    conf(blocks_of(1_500))
    definition = sw.Sliding(by=() if keys == 1 else "k", on="at", n=sw.count().over("1 minute"))
    job = Job(definition, (str(tmp_path / "in"),), str(tmp_path / "out"), "json", ahead=Duration.of("1 hour"))
    job = dataclasses.replace(job, ahead_of="stream")
    done = run(job, spark)
    expected = judged(times, 3_600, keys)
    assert tables_of(job.sink) == {**expected, "rejected": []}
    assert expected["ahead"] == [at + 1 for at in STRAYS]
    assert (done.ahead, done.out_of_order) == (4, len(expected["out_of_order"]))
    assert bool(done.warning) is (done.lost > 15)
    aside = read(job.sink, "ahead")[0]
    assert aside["reason"] == "more than 1 hour ahead of the stream"
    assert aside["newest"] == noon + timedelta(seconds=max(times[:40]))
    assert (Path(aside["file"]).name, aside["line"]) == ("0.json", 41)
    if keys == 1:  # and what a wrong clock does where nothing guards against it
        spoiled = run(dataclasses.replace(job, ahead=None, ahead_of=None), spark, overwrite=True)
        expected = judged(times, None)
        assert tables_of(job.sink) == {part: expected[part] for part in ("out_of_order", "rows")} | {"rejected": []}
        assert spoiled.out_of_order > 200
        assert re.match(
            r"\d+ of 300 rows \(\d\d.\d%\) are lost for their times: \d+ out of order, 0 too", spoiled.warning
        )
        assert f"believed is {noon + timedelta(seconds=400_000)}, in line 21 of file:" in spoiled.warning
        assert 'put such rows aside with [clean] ahead = "1 day"' in spoiled.warning


def test_tables_beyond_this_machine_have_a_mark_beside_them(spark: SparkSession, tmp_path: Path) -> None:
    sink = (tmp_path / "far").as_uri()
    claim(spark, sink, PARTS, overwrite=False)
    (tmp_path / "far" / "rows").mkdir()
    with pytest.raises(sw.SlidewiseError, match=r"has results already \(rows\); give --overwrite"):
        claim(spark, sink, PARTS, overwrite=False)
    claim(spark, sink, PARTS, overwrite=True)
    (tmp_path / "far" / MARK).write_text("[]")
    with pytest.raises(sw.SlidewiseError, match=r"has rows, and its _slidewise.json does not say that a job wrote it"):
        claim(spark, sink, PARTS, overwrite=True)


def test_a_replay_finds_what_differs(spark: SparkSession, tmp_path: Path) -> None:
    write_events(tmp_path / "events.tsv", 1_500)
    job = Job(SWING, (str(tmp_path / "events.tsv"),), str(tmp_path / "out"), lines=DEBS2012, out_of_order="sort")
    for mine in ("unfinished", "replay", "slidewise-unfinished-of-mine"):
        Path(job.sink, mine).mkdir(parents=True)
        Path(job.sink, mine, "notes.txt").write_text("mine")
    run(job, spark)
    before = files_of(job.sink)
    assert sum(name.endswith("notes.txt") for name in before) == 3, "folders of the user stay"
    found = replay(job, spark)
    assert (found.rows, found.columns, found.batches) == (1_500, 3, FILES[0] + 1)
    assert files_of(job.sink) == before, "nothing is left behind"
    rows = spark.read.parquet(f"{job.sink}/rows")
    changed = rows.withColumn("ten", F.when(F.col("row") == 700, 17.0).otherwise(F.col("ten")))
    for other, what in (
        (changed, r"the stream 1,500; 0 are missing there, and 1 have other answers \(the first is row 700\)"),
        (rows.where("row <> 5"), r"the stream 1,499; 1 are missing there"),
        (rows.union(rows.where("row = 5")), r"the job has 1,500 rows and the stream 1,501; 0 are missing"),
    ):
        with pytest.raises(sw.SlidewiseError, match=what):
            compare(rows, 1_500, other, list(SWING.columns), tmp_path)
    for bad, why in ((("sink_format", "csv"), "'csv' does not keep"), (("sink", "s3://there"), "not a local folder")):
        with pytest.raises(sw.SlidewiseError, match=why):
            check_replay(dataclasses.replace(job, **dict([bad])))


def test_the_demonstration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a user starts it: a process of its own, with a Spark of its own."""
    command = [sys.executable, "-m", "slidewise", "demo", "--out", str(tmp_path / "demo"), "--events", "2000"]
    settings = ["--master", "local[1]", "--conf", "spark.sql.shuffle.partitions=2"]
    settings += ["--conf", f"spark.driver.extraJavaOptions={JAVA}"]
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run([*command, *settings], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.search(r"in +2,000 ", done.stdout)
    assert "report.html" in done.stdout
    rows_out = re.search(r"out +([0-9,]+) ", done.stdout)
    assert rows_out is not None
    assert f"as a stream: {rows_out[1]} rows with 36 aggregates each, in 3 micro-batches" in done.stdout
    assert "all as in batch" in done.stdout
    result = tmp_path / "demo" / "result"
    assert len(pq.read_schema(next((result / "rows").glob("*.parquet")))) == 6 + 36
    assert (result / "report.png").exists()
    ends = pc.min_max(pq.read_table(result / "rows").column("ts"))
    span = " to ".join(f"{ends[end].as_py():%Y-%m-%d %H:%M:%S}" for end in ("min", "max"))
    assert f"<br>{span}</p>" in (result / "report.html").read_text()
    assert main(command[3:]) == 1
    assert "has results already (result, job.toml, events.tsv); give --overwrite" in capsys.readouterr().err


def test_events_of_the_evaluation_are_those_that_are_made(spark: SparkSession, tmp_path: Path) -> None:
    """The file of made events, parsed and cleaned on Spark, comes to the arrays that are made without a file."""
    write_events(tmp_path / "events.tsv", 3_000, seed=11)
    dropped = prepare_on(spark, tmp_path / "events.tsv", tmp_path / "prepared")
    found, made = read_events(tmp_path / "prepared"), make_events(3_000, 11)
    assert (found.dropped, dropped) == (0, made.dropped)
    assert found.times.tolist() == made.times.tolist()
    assert found.values.tolist() == made.values.tolist()


@pytest.mark.skipif(not REAL.exists(), reason="the real data is not beside this checkout")
def test_events_of_the_evaluation_may_be_real_ones(spark: SparkSession, tmp_path: Path) -> None:
    dropped = prepare_on(spark, REAL, tmp_path / "prepared")
    found = read_events(tmp_path / "prepared")
    assert (len(found.times), found.dropped, dropped) == (17_000, 0, 0)
    first, last = (REAL.read_text().splitlines()[at].split("\t") for at in (0, -1))
    assert [found.values[0], found.values[-1]] == [int(first[2]), int(last[2])]
    assert found.times[-1] - found.times[0] == 170_470_410
