"""A job file runs no code by itself: operators, settings and masters that could are for the command line to allow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pipeline.test_job import GOOD

from slidewise.cli import main
from slidewise.pipeline.job.job import read_job
from slidewise.pipeline.job.toml_document import JobError

OWN = GOOD.replace('operator = "max"', 'operator = "job_payload:total"')
MODULE = """
import slidewise as sw
from job_helper import join
total = sw.operator(name="total", identity=0.0, combine=join)
"""
HELPER = "def join(a, b):\n    return a + b\n"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "events.txt").write_text("2024-01-01T00:00:00;a;1.0\n2024-01-01T00:01:00;a;2.0\n")
    (tmp_path / "job_payload.py").write_text(MODULE)
    (tmp_path / "job_helper.py").write_text(HELPER)
    yield tmp_path
    for name in ("job_payload", "job_helper"):
        sys.modules.pop(name, None)


def write(folder: Path, text: str) -> Path:
    path = folder / "job.toml"
    path.write_text(text)
    return path


def test_a_job_imports_nothing_unless_told_to(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in (OWN, OWN + '[operators]\nmodules = ["job_payload"]\n'):  # a file does not vouch for itself
        path = write(folder, text)
        with pytest.raises(
            JobError, match=r"line 18: .*'job_payload', which is not imported.*job_payload\.py.*--allow-imports"
        ):
            read_job(path)
        assert main(["run", str(path)]) == 1
        assert "--allow-imports" in capsys.readouterr().err
    assert "job_payload" not in sys.modules


def test_a_job_that_may_import_finds_its_folder(folder: Path) -> None:
    before = list(sys.path)
    job = read_job(write(folder, OWN), imports=True)
    assert job.definition.columns["peak"].operator.name == "total"
    assert sys.path == before


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('path = "out"', 'path = "out"\n[operators]\nmodules = ["other"]', "line 18: .*lists 'other'; add it"),
        ('path = "out"', 'path = "out"\n[operators]\nmodules = "a b"', "'modules' is a list"),
        ('path = "out"', 'path = "out"\n[operators]\nmodules = ["a b"]', "'modules' is a list"),
        ('path = "out"', 'path = "out"\n[operators]\nimports = true', "has no 'imports'"),
        ('of = "temp"', 'of = "tmep"', "'tmep' not found"),
        ('path = "out"', 'path = "events.txt"', "one place"),
        ('path = "out"', 'path = "out"\n[run]\nparallel = "by_tiem"', "by_tiem"),
        ("job_payload:total", "./job_payload:total", "no import path"),
    ],
)
def test_all_else_is_checked_before_anything_is_imported(folder: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(JobError, match=said):
        read_job(write(folder, OWN.replace(old, new)), imports=True)
    assert "job_payload" not in sys.modules


def test_a_folder_hides_no_installed_module(folder: Path) -> None:
    (folder / "wave.py").write_text("raise SystemExit")  # of the standard library, and not imported yet
    sys.modules.pop("wave", None)
    with pytest.raises(JobError, match="'wave:total' cannot be imported"):
        read_job(write(folder, OWN.replace("job_payload", "wave")), imports=True)


@pytest.mark.parametrize(
    "setting",
    [
        '"spark.pyspark.python" = "./evil"',
        '"spark.pyspark.driver.python" = 5',
        '"spark.jars" = "evil.jar"',
        '"spark.jars" = 5',
        '"spark.driver.extraJavaOptions" = "-javaagent:evil.jar"',
        '"spark.driver.resource.gpu.discoveryScript" = "./evil"',
        '"spark.sql.extensions" = "evil.Extension"',
        '"spark.executorEnv.PYTHONPATH" = "."',
        '"spark.plugins" = "evil.Plugin"',
        '"spark.sql.catalog.evil" = "evil.Catalog"',
        '"spark.driver.bindAddress" = "0.0.0.0"',
        '"spark.anything" = "0.0.0.0"',
        '"spark.connect.grpc.binding.port" = 15002',
    ],
)
def test_settings_that_name_programs_come_from_the_command_line(folder: Path, setting: str) -> None:
    with pytest.raises(JobError, match=r"line 26: .*cannot set it.*--conf spark"):
        read_job(write(folder, GOOD + f"\n[spark.conf]\n{setting}\n"))


@pytest.mark.parametrize("setting", ['memory = "4g"', 'timeout = "30s"', "enabled = true", "number = 8", "share = 0.4"])
def test_plain_settings_are_the_files_own(folder: Path, setting: str) -> None:
    name, _, value = setting.partition(" = ")
    job = read_job(write(folder, GOOD + f'\n[spark.conf]\n"spark.sql.{name}" = {value}\n'))
    assert job.conf == {f"spark.sql.{name}": value.strip('"')}


def test_a_file_hands_the_job_to_no_other_machine(folder: Path) -> None:
    for master in ("spark://evil:7077", "k8s://evil", "local-cluster[1,1,1024]"):
        with pytest.raises(JobError, match="--master"):
            read_job(write(folder, GOOD + f'\n[spark]\nmaster = "{master}"\n'))
    assert read_job(write(folder, GOOD + '\n[spark]\nmaster = "local[2, 4]"\n')).master == "local[2, 4]"
