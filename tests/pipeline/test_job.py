"""Job files: what they say, and what is refused, with its line, before Spark starts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import slidewise as sw
from slidewise.cli import main
from slidewise.definition_files import _COLUMN as COLUMN_KEYS
from slidewise.definition_files import _TOP as DEFINITION_KEYS
from slidewise.pipeline.job.job import Job, read_job
from slidewise.pipeline.job.line_layouts import DEBS2012, LineColumn
from slidewise.pipeline.job.outputs import check_free
from slidewise.pipeline.job.toml_document import JobError, TomlDocument
from slidewise.pipeline.marked_folders import MARK, RunFolder, leftovers, mark_table, put
from slidewise.pipeline.replay import check_replay
from slidewise.windows import Duration

EXAMPLES = Path(__file__).parents[2] / "examples"
GOOD = """\
[source]
path = "events.txt"

[lines]
separator = ";"
fields = [3, 4]

[lines.columns]
ts = { field = 1, type = "timestamp" }
machine = { field = 2 }
temp = { field = 3, type = "double", optional = true }

[definition]
by = "machine"
on = "ts"

[definition.columns.peak]
operator = "max"
of = "temp"
over = "10 minutes"

[sink]
path = "out"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "events.txt").write_text("")
    return tmp_path


def read(folder: Path, text: str) -> Job:
    (folder / "job.toml").write_text(text)
    return read_job(folder / "job.toml")


def test_a_job(folder: Path) -> None:
    more = '[run]\nparallel = "by_key"\n[spark]\nmaster = "local[3]"\n[spark.conf]\n"spark.a" = 5\n"spark.b" = true\n'
    job = read(folder, GOOD + more)
    assert job.definition == sw.Sliding(by="machine", on="ts", peak=sw.max("temp").over("10 minutes"))
    assert (job.paths, job.sink) == ((str(folder / "events.txt"),), str(folder / "out"))
    assert (job.source_format, job.sink_format, job.out_of_order) == ("text", "parquet", "drop")
    assert job.lines is not None
    assert job.lines.fields == (3, 4)
    assert job.lines.columns[2] == LineColumn("temp", 3, "double", None, True)
    assert (job.transform, job.master, job.conf) == (
        {"parallel": "by_key"},
        "local[3]",
        {"spark.a": "5", "spark.b": "true"},
    )
    assert job.report is None


def test_the_layout_of_the_challenge() -> None:
    assert read_job(EXAMPLES / "manufacturing.toml").lines == DEBS2012


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("[sink]", "[snik]", 22, "a job has no 'snik'; it has .*did you mean 'sink'"),
        ('path = "events.txt"', 'paht = "events.txt"', 2, r"\[source\] has no 'paht'; .*did you mean 'path'"),
        ('path = "events.txt"', "", 1, r"\[source\] needs 'path'"),
        ('path = "events.txt"', 'path = "nothing.txt"', 2, "there is no .*nothing.txt; name a file"),
        ('path = "events.txt"', "path = 5", 2, "'path' is a path, or a list of them, not 5"),
        ('path = "events.txt"', "path = [\n]", 2, "'path' is a path, or a list"),
        ('operator = "max"', 'operator = "maxx"', 18, "no operator 'maxx'.*did you mean 'max'"),
        ('operator = "max"', 'opertor = "max"', 18, "the column 'peak' has no 'opertor'"),
        ('operator = "max"', "", 17, "the column 'peak' names no operator"),
        ('operator = "max"', "operator = 'nowhere.at.all:op'", 18, "'nowhere.at.all', which is not imported"),
        ('over = "10 minutes"', 'over = "10 minuts"', 20, "minuts"),
        ('over = "10 minutes"', "", 17, "the column 'peak'"),
        ('over = "10 minutes"', 'over = "1h"\nclosed = "lft"', 21, "'lft'"),
        (
            'of = "temp"',
            'of = "tmp"',
            17,
            "column 'tmp' not found; the line has ts, machine, temp; did you mean 'temp'",
        ),
        ('by = "machine"', 'by = "machin"', 13, "column 'machin' not found"),
        ('on = "ts"', "", 17, "needs a time column"),
        ('on = "ts"', 'on = "ts"\nevery = "1 minuet"', 16, "unknown unit 'minuet'"),
        ("fields = [3, 4]", "fields = [0]", 6, "'fields' is how many fields a line has"),
        ("fields = [3, 4]", "fields = 2", 11, "'field' is from 1 to 2"),
        ('separator = ";"', 'separator = ""', 5, "'separator' is the text between two fields"),
        ('separator = ";"', 'layout = "debs"', 6, "leave out 'fields' or 'layout'"),
        ('type = "double"', 'type = "duoble"', 11, "'type' is one of .*did you mean 'double'"),
        ('type = "double"', 'type = "double", format = "yyyy"', 11, "'format' is for times"),
        ("machine = {", "row = { field = 3 }\nmachine = {", 10, "'row' is a name of the pipeline's own"),
        ('type = "timestamp"', 'type = "timestamp", optional = true', 9, "the time 'ts' cannot be optional"),
        ("[definition.columns.peak]", "[definition.columns.newest]", 17, "the pipeline adds a column 'newest'"),
        ('path = "out"', 'path = "out"\n[clean]\nout_of_order = "drp"', 25, "did you mean 'drop'"),
        ('path = "out"', 'path = "out"\n[clean]\nahead = "1 dy"', 25, "unknown unit 'dy'"),
        ('path = "out"', 'path = "out"\n[clean]\nahead = 5', 25, "so 'ahead' is a duration: '1 day', say, not 5"),
        ('path = "out"', 'path = "out"\n[clean]\nahead_of = "clock"', 25, "'ahead_of' says what 'ahead' goes by; give"),
        ('path = "out"', 'path = "out"\n[clean]\nahead = "1h"\nahead_of = "clok"', 26, "did you mean 'clock'"),
        (
            'path = "out"',
            'path = "out"\n[clean]\nlate_limit = 80',
            25,
            "'late_limit' is a share of the rows, from 0 to",
        ),
        (
            'ts = { field = 1, type = "timestamp" }',
            "ts = { field = 1 }",
            9,
            'write ts = { field = 1, type = "timestamp" }',
        ),
        ('path = "out"', 'path = "out"\n[run]\nparalel = "by_time"', 25, "did you mean 'parallel'"),
        ('path = "out"', 'path = "out"\n[run]\nparallel = "bytime"', 25, "did you mean 'by_time'"),
        (
            'path = "events.txt"',
            'path = ["events.txt", "ev*.txt"]',
            2,
            "events.txt twice; its rows would be read twice",
        ),
        ('path = "out"', 'path = "."', 23, "are one place; write somewhere else"),
        ('path = "out"', 'path = "out"\n[report]\nsignals = ["tmp"]', 25, "there is no column 'tmp' to report"),
        ('path = "out"', 'path = "out"\n[report]\nthreshold = "low"', 25, "'threshold' is a number"),
        ('path = "out"', 'path = "s3://x/y"\n[report]\nthreshold = 1', 24, "a report goes to a local folder"),
        ('path = "events.txt"', 'path = "events.txt"\nformat = "csv"', 5, r"\[lines\] is for the format 'text'"),
        ("[source]", "[source", 1, "this is no valid TOML"),
        ('on = "ts"', "on = ", 15, "this is no valid TOML"),
        ('on = "ts"', 'on = "ts"\non = "ts"', 16, "this is no valid TOML"),
    ],
)
def test_mistakes_name_their_line(folder: Path, old: str, new: str, line: int, said: str) -> None:
    assert GOOD.count(old) == 1
    text = GOOD.replace(old, new)
    if new == 'path = "."':
        text = text.replace('"events.txt"', '"rows"')
        (folder / "rows").mkdir()
    with pytest.raises(JobError, match=rf"^\S*job.toml, line {line}: .*{said}") as refused:
        read(folder, text)
    assert "Traceback" not in str(refused.value)


def test_rows_ahead(folder: Path) -> None:
    job = read(folder, GOOD + '[clean]\nahead = "1 day"\nahead_of = "stream"\nlate_limit = 0.8\n')
    assert (job.ahead, job.ahead_of, job.late_limit) == (Duration.of("1 day"), "stream", 0.8)
    numbers = GOOD.replace('type = "timestamp"', 'type = "bigint"').replace('"10 minutes"', "600")
    job = read(folder, numbers + "[clean]\nahead = 5\n")
    assert (job.ahead, job.ahead_of, job.late_limit) == (5, None, 0.05)
    with pytest.raises(JobError, match="line 26: no clock shows times that are numbers; write ahead_of = 'stream'"):
        read(folder, numbers + '[clean]\nahead = 5\nahead_of = "clock"\n')
    with pytest.raises(JobError, match="line 25: the times are numbers, so 'ahead' is one, too: 86400, say"):
        read(folder, numbers + '[clean]\nahead = "1 day"\n')
    with pytest.raises(sw.SlidewiseError, match="its time 'ts' is of Spark's type bigint, and a stream needs"):
        check_replay(job)


def test_a_beat(folder: Path) -> None:
    job = read(folder, GOOD.replace('on = "ts"', 'on = "ts"\nevery = "1 minute"\noffset = "5 seconds"'))
    assert (job.definition.every, job.definition.offset) == (Duration.of("1 minute"), Duration.of("5 seconds"))
    with pytest.raises(sw.SlidewiseError, match=r"it answers on a beat \('every'\), and a replay compares row by row"):
        check_replay(job)


def test_every_key_is_in_the_docs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, set[str]] = {"[definition.columns], each": set(COLUMN_KEYS)}
    table = TomlDocument.table

    def recording(self: TomlDocument, keys: tuple[str, ...], names: Any = None, needed: bool = False) -> Any:
        if keys and names is not None:
            heading = "[lines.columns], each" if keys[:2] == ("lines", "columns") else f"[{'.'.join(keys)}]"
            known[heading] = set(names)
        return table(self, keys, names, needed)

    monkeypatch.setattr(TomlDocument, "table", recording)
    read(folder, GOOD + '[run]\nparallel = "auto"\n')
    text = (EXAMPLES.parent / "docs" / "pipeline.md").read_text()
    rows = re.findall(r"^\| (`\[.*) \| (.*) \|$", text, re.MULTILINE)
    assert {name.replace("`", ""): set(re.findall(r"`(\w+)`", keys)) for name, keys in rows} == known
    guide = (EXAMPLES.parent / "docs" / "guide.md").read_text()
    said = re.search(r"^A definition has .* A column has .*$", guide, re.MULTILINE)
    assert said is not None
    assert set(re.findall(r"`(\w+)`", said[0].partition("`to_dict`")[0])) == {*DEFINITION_KEYS, *COLUMN_KEYS}


def test_missing_tables(folder: Path) -> None:
    for name in ("source", "definition", "sink"):
        lines = GOOD.split("\n\n")
        text = "\n\n".join(part for part in lines if not part.startswith(f"[{name}"))
        with pytest.raises(JobError, match=rf"the job has no \[{name}"):
            read(folder, text)
    with pytest.raises(JobError, match=r"line 1: lines of text need a \[lines\] table"):
        read(folder, "\n\n".join(part for part in GOOD.split("\n\n") if not part.startswith("[lines")))


def test_lines_are_found_in_any_way_of_writing() -> None:
    text = 'a.b = 1\n"c d" = """\n[e]\nf = 1\n"""\n\n[e]  # a comment\nf = [\n  1,\n]\ng = { h = 2 }\n'
    written = TomlDocument("x", text)
    places = {("a", "b"): 1, ("c d",): 2, ("e",): 7, ("e", "f"): 8, ("e", "g", "h"): 11, ("e", "none"): 7, (): 1}
    assert {keys: written.line_of(keys) for keys in places} == places


def test_only_what_a_job_wrote_is_overwritten(folder: Path) -> None:
    job = read(folder, GOOD)
    check_free(job, overwrite=False)
    table = folder / "out" / "rejected"
    table.mkdir(parents=True)
    (table / "part-00000.parquet").write_text("")
    with pytest.raises(JobError, match=r"has results already \(rejected\); give --overwrite"):
        check_free(job, overwrite=False)
    with pytest.raises(JobError, match=r"rejected was not written by a job: it has no _slidewise.json"):
        check_free(job, overwrite=True)
    mark_table(table)
    check_free(job, overwrite=True)
    (table / "notes.txt").write_text("mine")
    with pytest.raises(JobError, match=r"rejected holds notes.txt, which no job wrote; .*move it away"):
        check_free(job, overwrite=True)
    (table / "notes.txt").unlink()
    (folder / "out" / "rows").symlink_to(table)
    with pytest.raises(JobError, match="rows is a symbolic link; --overwrite replaces only tables that a job has"):
        check_free(job, overwrite=True)
    (folder / "out" / "rows").unlink()
    (folder / "out" / "rows").symlink_to(folder / "nowhere")
    with pytest.raises(JobError, match=r"has results already \(rows, rejected\)"):
        check_free(job, overwrite=False)


def test_a_report_of_ones_own_is_not_overwritten(folder: Path) -> None:
    job = read(folder, GOOD + "[report]\n")
    (folder / "out").mkdir()
    (folder / "out" / "report.html").write_text("<title>Sales</title>")
    with pytest.raises(JobError, match=r"out has a report already \(report.html\); give --overwrite, or another"):
        check_free(job, overwrite=False)
    with pytest.raises(JobError, match=r"report.html is not a job's report; --overwrite replaces only reports"):
        check_free(job, overwrite=True)
    (folder / "out" / "report.html").write_text("<title>Slidewise report</title>")
    check_free(job, overwrite=True)


def test_folders_of_runs_have_names_of_their_own_and_a_mark(folder: Path) -> None:
    for name in ("unfinished", "slidewise-unfinished-mine"):
        (folder / name).mkdir()
    with RunFolder(folder, "unfinished") as one, RunFolder(folder, "unfinished") as other:
        assert one.path != other.path
        assert not leftovers(folder), "both run"
        mark = (one.path / MARK).read_text()
    assert not one.path.exists()
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    one.path.mkdir()
    (one.path / MARK).write_text(mark.replace(f'"process": {os.getpid()}', f'"process": {int(dead.stdout)}'))
    assert leftovers(folder) == [one.path]
    assert (folder / "unfinished").exists()
    assert (folder / "slidewise-unfinished-mine").exists()


def test_tables_are_put_in_place_all_or_none(folder: Path) -> None:
    new, old = folder / "new", folder / "old"
    for path in (new / "rows", new / "rejected", old / "rows"):
        path.mkdir(parents=True)
        (path / "data").write_text(str(path.relative_to(folder)))
    with pytest.raises(OSError, match="No such file"):
        put(new, {"rows": old / "rows", "rejected": folder / "nowhere" / "rejected"})
    assert (old / "rows" / "data").read_text() == "old/rows"
    put(new, {"rows": old / "rows", "rejected": old / "rejected"})
    assert [(old / part / "data").read_text() for part in ("rows", "rejected")] == ["new/rows", "new/rejected"]


@pytest.mark.parametrize("name", ["job.toml", "events.tsv", "result/rows", "result/report.html"])
def test_the_demonstration_overwrites_only_its_own(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    mine = folder / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")
    assert main(["demo", "--out", str(folder), "--overwrite"]) == 1
    assert f"{mine} is" in capsys.readouterr().err
    assert mine.read_text() == "mine"


def test_the_command_line_refuses_before_spark_starts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(folder / "none.toml")]) == 1
    assert "none.toml cannot be read: No such file" in capsys.readouterr().err
    (folder / "job.toml").write_text(GOOD.replace("operator =", "opertor ="))
    code = "import sys; from slidewise.cli import main; main(sys.argv[1:]); assert 'pyspark' not in sys.modules"
    command = [sys.executable, "-c", code, "run", str(folder / "job.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "job.toml, line 18: " in done.stderr


@pytest.mark.parametrize("arguments", [["--conf", "spark.a"], ["--conf", "=b"], []])
def test_mistakes_in_arguments(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", *arguments])
