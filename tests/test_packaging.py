"""The built wheel is complete, and works in a clean virtual environment without any extra."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
USE = """
import sys
import slidewise as sw

heavy = {"numba", "pyspark", "pandas", "polars", "matplotlib", "pyarrow"} & set(sys.modules)
assert not heavy, f"import slidewise also imported {heavy}"
assert sw.__version__ == "0.1.0", sw.__version__

w = sw.DabaLite(sw.max)
w.insert(3)
assert w.query() == 3
"""


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    done = run(sys.executable, "-m", "pip", "wheel", ROOT, "--no-deps", "--no-build-isolation", cwd=target)
    assert done.returncode == 0, done.stderr
    [built] = target.glob("slidewise-0.1.0-*.whl")
    return built


@pytest.fixture(scope="module")
def clean_bin(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin directory of a new virtual environment that has the wheel and its dependencies, and no more."""
    home = tmp_path_factory.mktemp("clean")
    venv.create(home, with_pip=True)
    bin_dir = home / ("Scripts" if os.name == "nt" else "bin")
    install: list[str | Path] = [bin_dir / "python", "-m", "pip", "install", "-q", "--retries", "1"]
    done = run(*install, "-c", ROOT / "constraints.txt", wheel, cwd=home)
    if done.returncode != 0 and run(*install, "--dry-run", "--ignore-installed", "pip", cwd=home).returncode != 0:
        pytest.skip("pip reaches no package index, so the wheel's dependencies cannot be installed")
    assert done.returncode == 0, done.stderr
    return bin_dir


def test_wheel_holds_the_type_marker_and_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "slidewise/py.typed" in names
    assert {f"slidewise/trace/drawing/page.{kind}" for kind in ("html", "css", "js")} <= set(names)
    assert "slidewise-0.1.0.dist-info/licenses/LICENSE" in names


def test_wheel_works_without_extras(clean_bin: Path, tmp_path: Path) -> None:
    done = run(clean_bin / "python", "-c", USE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_command_line_works_without_extras(clean_bin: Path, tmp_path: Path) -> None:
    done = run(clean_bin / "slidewise", "operators", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
