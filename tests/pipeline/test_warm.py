"""`slidewise warm`: what a definition needs is compiled ahead, by processes that wait for one another."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import slidewise as sw
from slidewise.cli import main
from slidewise.folders import PrivateFolder
from slidewise.kernels.compiler import cache, turns
from slidewise.kernels.compiler.turns import Turns
from slidewise.pipeline.job.job import read_job
from slidewise.pipeline.warming.column_types import type_called, types_for, types_in_file, types_in_job
from slidewise.pipeline.warming.lanes import run_lanes
from slidewise.pipeline.warming.made_rows import made_tables

DEFINITION = """
by = "machine"
on = "ts"
[columns]
peak = { operator = "max", of = "temp", over = "10 minutes" }
rows = { operator = "count", rows = 5 }
mine = { operator = "my_operators:overshoot", of = "temp", rows = 5 }
"""
USE = """
import json, sys
import numba.core.event as event
compiled = []
class Listener(event.Listener):
    def on_start(self, happened):
        compiled.append(happened.data["dispatcher"].py_func.__qualname__)
    def on_end(self, happened):
        pass
event.register("numba:compile", Listener())
import pyarrow as pa, slidewise as sw
from slidewise.pipeline.warming.lanes import LANES
definition = sw.Sliding(by="machine", on="ts", peak=sw.max("temp").over("10 minutes"), rows=sw.count().over(rows=5))
rows = 900
table = pa.table({
    "machine": pa.array([f"m{i * i % 7}" for i in range(rows)]),
    "ts": pa.array([1_000_000 * 40 * i for i in range(rows)], pa.timestamp("us", "UTC")),
    "temp": pa.array([float(i * 31 % 17) if i % 5 else None for i in range(rows)]),
})
for lane in LANES:
    lane(definition, table)
print(json.dumps(compiled))
"""


def run(*arguments: str, cache_folder: Path, compile_when: str = "always") -> str:
    """What a process prints that keeps its compiled code in a folder, and may run few rows as plain Python or not."""
    source = str(Path(sw.__file__).parents[1])
    variables = {**os.environ, "PYTHONPATH": source, "SLIDEWISE_CACHE_DIR": str(cache_folder)}
    variables["SLIDEWISE_COMPILE"] = compile_when
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=variables, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_after_it_a_definition_compiles_nothing(tmp_path: Path) -> None:
    """In no lane, whichever process had compiled what; and the second time there is nothing left to do."""
    place, file = tmp_path / "cache", tmp_path / "definition.toml"
    file.write_text(DEFINITION)
    options = ("-m", "slidewise", "warm", str(file), "--type", "temp=double", "--processes", "2")
    output = run(*options, cache_folder=place, compile_when="")
    assert "temp double; machine, ts: supposed" in output
    assert "left out: mine;" in output
    assert "not compiled" not in output
    assert int(output.split(" kernels compiled")[0].splitlines()[-1]) > 3
    assert json.loads(run("-c", USE, cache_folder=place)) == []
    assert "0 kernels compiled" in run(*options, cache_folder=place)


HOLD = """
import sys
from pathlib import Path
from slidewise.folders import PrivateFolder
from slidewise.kernels.compiler.turns import Turns
print(Turns(PrivateFolder(Path(sys.argv[1]))).take("kernel"), flush=True)
input()
"""


@pytest.fixture
def folder(tmp_path: Path) -> PrivateFolder:
    made = PrivateFolder(tmp_path / "turns")
    made.make()
    return made


@pytest.fixture
def holder(folder: PrivateFolder) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the turn for a kernel, until it ends."""
    command = [sys.executable, "-c", HOLD, str(folder.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "False\n"
        yield process
        process.kill()


@pytest.mark.skipif(os.name == "nt", reason="locks of Unix")
def test_a_process_waits_for_another_and_not_for_one_that_was_killed(
    folder: PrivateFolder, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Turns(folder)
    slept = []

    def sleep(_seconds: float) -> None:
        slept.append(holder.poll())
        if len(slept) == 3:
            holder.kill()
            holder.wait()

    monkeypatch.setattr(turns.time, "sleep", sleep)
    assert own.take("another kernel") is False
    assert own.take("kernel") is True
    assert slept == [None] * 3
    assert own.take("kernel") is False  # it has the turn
    own.give("kernel")


@pytest.mark.skipif(os.name == "nt", reason="locks of Unix")
def test_a_process_that_hangs_is_waited_for_no_longer_than_a_kernel_takes(
    folder: PrivateFolder, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [time.monotonic()]
    monkeypatch.setattr(turns.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(turns.time, "sleep", lambda _: clock.__setitem__(0, clock[0] + turns.LONGEST / 3))
    assert Turns(folder).take("kernel") is True
    assert holder.poll() is None


@pytest.mark.skipif(os.name == "nt", reason="links of Unix")
def test_a_lock_file_that_is_a_link_is_not_opened(folder: PrivateFolder, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("kept")
    (folder.path / turns.LOCK_FILE).symlink_to(target)
    assert Turns(folder).take("kernel") is False
    assert target.read_text() == "kept"


# Types of columns.

CARD = sw.Sliding(
    by="card",
    on="ts",
    spent=sw.sum("amount").where("ok").over("1 day"),
    kinds=sw.count().per("kind").over("1 day"),
    logins=sw.count().over(since="login"),
)


def test_types_that_nobody_has_said_are_supposed() -> None:
    floats, whole = types_for(CARD, {})
    assert floats.types == {
        "card": pa.string(),
        "ts": pa.timestamp("us", "UTC"),
        "amount": pa.float64(),
        "ok": pa.bool_(),
        "kind": pa.string(),
        "login": pa.bool_(),
    }
    assert whole.types == {**floats.types, "amount": pa.int64()}
    assert len(types_for(CARD, {"amount": pa.float32()})) == 1
    assert set(floats.supposed) == set(floats.types)


def test_all_lanes_take_the_rows_that_are_made() -> None:
    logins = sw.Sliding(by="card", on="ts", logins=sw.count().over(since="login"))
    for table in made_tables(logins, types_for(logins, {})[0]):
        assert run_lanes(logins, table.slice(0, 50)) == []
    ahead = sw.Sliding(by="card", on="ts", later=sw.sum("amount").over(next="1 hour"))
    types = types_for(ahead, {"amount": pa.int64()})[0]
    refused = run_lanes(ahead, made_tables(ahead, types)[0].slice(0, 50))
    assert [reason.split(":")[0] for reason in refused] == ["live", "stream"]


def test_types_of_a_file_and_of_a_job(tmp_path: Path) -> None:
    rows = pa.table({"card": pa.array(["a"]).dictionary_encode(), "amount": pa.array([1], pa.int32())})
    (tmp_path / "rows").mkdir()
    parquet.write_table(rows, tmp_path / "rows" / "part.parquet")
    assert types_in_file(str(tmp_path / "rows")) == {"card": pa.string(), "amount": pa.int32()}
    job = tmp_path / "job.toml"
    tail = (
        '[definition]\nby="card"\non="ts"\n[definition.columns]\nn={operator="count", over="1 day"}\n[sink]\npath="out"'
    )
    job.write_text(f'[source]\npath="rows"\nformat="parquet"\n{tail}')
    assert types_in_job(read_job(job))["amount"] == pa.int32()
    job.write_text(f'[source]\npath="rows"\nformat="csv"\nschema="card string, ts timestamp, d decimal(9,2)"\n{tail}')
    assert types_in_job(read_job(job)) == {"card": pa.string(), "ts": pa.timestamp("us", "UTC")}
    lines = (
        '[source]\npath="rows"\n[lines]\nfields=2\n[lines.columns]\nts={field=1, type="timestamp"}\ncard={field=2}\n'
    )
    job.write_text(lines + tail)
    assert types_in_job(read_job(job)) == {"ts": pa.timestamp("us", "UTC"), "card": pa.string()}


def test_types_by_name() -> None:
    names = ["double", "bigint", "long", "timestamp", "timestamp[us]", "int64", "string"]
    kinds: list[Any] = [pa.float64(), pa.int64(), pa.int64(), pa.timestamp("us", "UTC"), pa.timestamp("us")]
    assert [type_called(name) for name in names] == [*kinds, pa.int64(), pa.string()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--type", "x=double"], "name its file"),
        (["d.toml", "--type", "temperature=double"], "the definition reads machine, ts, temp"),
        (["d.toml", "--type", "temp=duble"], "there is no type 'duble'; .*did you mean 'double'"),
        (["d.toml", "--rows", "d.toml"], "d.toml is no .*csv"),
        (["nothing.toml"], "nothing.toml"),
    ],
)
def test_what_is_refused(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.toml").write_text(DEFINITION)
    assert main(["warm", *arguments]) == 1
    assert re.search(message, capsys.readouterr().err)


def test_where_nothing_is_kept_nothing_is_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(cache.VARIABLE, cache.OFF)
    cache.cache_folder.cache_clear()
    try:
        assert main(["warm"]) == 1
        assert "compiled code is kept nowhere" in capsys.readouterr().err
    finally:
        cache.cache_folder.cache_clear()
