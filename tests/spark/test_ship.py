"""`sw.ship` without a cluster: the archive, what a package needs, and what errors say; tests/cluster has the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import slidewise
from slidewise.errors import SlidewiseError
from slidewise.kernels.compiler.package_files import package_files
from slidewise.spark.ship import ship as shipping
from slidewise.spark.ship.archive import files_digest, package_archive, write_archive
from slidewise.spark.ship.executors import ExecutorPython
from slidewise.spark.ship.requirements import PACKAGES

ROOT = Path(__file__).parents[2]
ALL = {"numba": "0.61.0", "numpy": "2.0", "pyarrow": "26.0.1", "pandas": "2.2.3", "google.protobuf": "6.33.5"}


def executor(host: str = "a", failures: dict[str, str] | None = None, **packages: str) -> ExecutorPython:
    found = {name: version for name, version in {**ALL, **packages}.items() if name not in (failures or {})}
    return ExecutorPython(host, f"/nodes/{host}", "/usr/bin/python3", "3.11.7", found, failures or {})


def test_the_archive_holds_the_installed_files_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        write_archive(tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    package = Path(slidewise.__file__).parent
    installed = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert {package.parent / name for name in names} == installed
        assert all(archive.read(name) == (package.parent / name).read_bytes() for name in names)
    assert names == sorted(names)


def test_the_archive_is_named_by_version_and_digest_in_a_folder_of_this_user() -> None:
    path = package_archive()
    assert path.name == f"slidewise-{slidewise.__version__}-{files_digest()}.zip"
    assert path == package_archive(), "sent twice, it is one file"
    if os.name != "nt":
        assert path.parent.stat().st_mode & 0o077 == 0


def test_a_package_in_an_archive_works_and_has_the_digests_of_the_installed_one(tmp_path: Path) -> None:
    """What executors do: code that the installed package has compiled is loaded there, not compiled again."""
    write_archive(tmp_path / "slidewise.zip")
    code = """
import json
from pathlib import Path
import numpy as np
import slidewise
from slidewise.kernels.compiler.cache import package_digest
from slidewise.kernels.sums.row_sums import _exponentials
from slidewise.spark.ship.archive import files_digest, write_archive
out = np.empty(1)
_exponentials(np.zeros(1), out)
write_archive(Path("again.zip"))
loaded = len(_exponentials.stats.cache_hits)
print(json.dumps([slidewise.__file__, loaded, files_digest(), package_digest(), out.tolist()]))
"""
    found = []
    for path in (Path(slidewise.__file__).parents[1], tmp_path / "slidewise.zip"):
        variables = {**os.environ, "PYTHONPATH": str(path), "SLIDEWISE_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        file, loaded, *rest = json.loads(done.stdout)
        assert Path(file) == path / "slidewise" / "__init__.py"
        found.append((loaded, rest))
        assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "slidewise.zip").read_bytes()
    assert found[0][1] == found[1][1]
    assert found[0][1][0] == files_digest()
    assert [loaded for loaded, _ in found] == [0, 1], "the second loads what the first has compiled"


def test_files_of_the_package_are_not_those_that_python_and_editors_leave() -> None:
    names = [name for name, _ in package_files()]
    assert "py.typed" in names
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", "~"))]


def test_packages_are_those_of_the_extra_for_workers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"], *project["optional-dependencies"]["worker"]]
    needed = [f"{package.name}{package.versions}" for package in PACKAGES]
    assert sorted(needed) == sorted(line for line in declared if not line.startswith("rich"))
    streams = [f"{package.name}{package.versions}" for package in PACKAGES if package.streams_only]
    assert sorted(streams) == sorted(project["optional-dependencies"]["worker"])


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (executor(), ""),
        (executor(failures={"numba": ""}), "numba is missing"),
        (executor(numpy="1.26.4"), "numpy is 1.26.4, and >=2.0,<3 is needed"),
        (executor(numpy="3.0.0rc1"), "numpy is 3.0.0rc1, and >=2.0,<3 is needed"),
        (
            executor(numba="0.60.9", failures={"pyarrow": ""}),
            "numba is 0.60.9, and >=0.61,<1 is needed, pyarrow is missing",
        ),
        (
            executor(failures={"numba": "ImportError: NumPy 2.4 or less"}),
            "numba cannot be imported (ImportError: NumPy 2.4 or less)",
        ),
        (executor(failures={"google.protobuf": ""}), "protobuf is missing"),
    ],
)
def test_what_an_executor_lacks(found: ExecutorPython, text: str) -> None:
    assert found.missing(streams=True) == text
    assert found.missing(streams=False) == ("" if text.startswith("protobuf") else text)


class Session:
    """A session that only notes what it is sent: what its executors say is given to `ask_executors`."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.sparkContext = self

    def addPyFile(self, path: str) -> None:
        self.sent.append(path)


def test_errors_name_hosts_and_packages_and_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [executor("a"), executor("b", {"numba": ""}), executor("c", {"pandas": ""}), executor("b", {"numba": ""})]
    monkeypatch.setattr("slidewise.spark.ship.executors.ask_executors", lambda spark, digest=None: found)
    session = Session()
    with pytest.raises(SlidewiseError) as caught:
        shipping.ship(session)  # type: ignore[arg-type]
    assert str(caught.value).splitlines() == [
        "the Python of Spark's executors lacks packages that Slidewise needs:",
        "  b, /usr/bin/python3 (3.11.7): numba is missing",
        "  c, /usr/bin/python3 (3.11.7): pandas is missing",
        "Install them there (pip install 'slidewise[worker]' brings all of them), or send an environment that has "
        "them: docs/cluster.md",
    ]
    found[1:] = [executor("c", {"pandas": ""})]
    with pytest.raises(SlidewiseError, match=r"pandas is missing(.|\n)*; for batches only, streams=False"):
        shipping.ship(session)  # type: ignore[arg-type]
    assert not session.sent


def test_an_executor_that_has_imported_another_slidewise_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    other = executor("b")._replace(slidewise="/opt/slidewise/__init__.py", digest="another")
    broken = executor("c")._replace(slidewise="x", digest=files_digest(), error="ImportError: no")
    for found, text in (
        (other, "it has imported another Slidewise, /opt/slidewise/__init__.py"),
        (broken, "ImportError: no"),
    ):

        def ask(spark: object, digest: str | None = None, found: ExecutorPython = found) -> list[ExecutorPython]:
            return [found] if digest else [executor("b")]

        monkeypatch.setattr("slidewise.spark.ship.executors.ask_executors", ask)
        with pytest.raises(SlidewiseError, match=f"was sent, and Spark's executors do not import it(.|\n)*{text}"):
            shipping.ship(Session())  # type: ignore[arg-type]
