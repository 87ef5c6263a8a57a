"""CONTRIBUTING's recipe for an operator, followed to the letter in a copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import slidewise
from slidewise.errors import SlidewiseError
from slidewise.spark.java import provide

TESTS = Path(__file__).parents[1]
PACKAGE = Path(slidewise.__file__).parent


def steps() -> tuple[str, str]:
    """The code that the page has one append to a family's file, and to the samples."""
    page = (TESTS.parent / "CONTRIBUTING.md").read_text()
    recipe = page[page.index("## Add an operator") : page.index("## Add an algorithm")]
    operator, samples = re.findall(r"^```py\n(.*?)^```", recipe, re.MULTILINE | re.DOTALL)
    return operator, samples


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with the package and the operator in it, as step 1 says."""
    shutil.copytree(PACKAGE, tmp_path / "slidewise", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "slidewise" / "operators" / "families" / "sums.py").open("a") as family:
        family.write(f"\n\n{steps()[0]}")
    (tmp_path / "kernels").mkdir(mode=0o700)
    return tmp_path


def run(copy: Path, *arguments: str) -> None:
    """A Python process that imports the package from the copy, as Spark's workers do, too."""
    path = os.pathsep.join([str(copy), str(TESTS)])
    settings = {"PYTHONPATH": path, "SLIDEWISE_CACHE_DIR": str(copy / "kernels"), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2_000:]}{done.stderr[-4_000:]}"


def test_its_samples_prove_the_laws(copy: Path) -> None:
    laws = (TESTS / "operators" / "test_laws.py").read_text()
    end = laws.index("\n}\n", laws.index("SAMPLES: dict"))
    (copy / "test_laws.py").write_text(f"{laws[:end]}\n{steps()[1]}{laws[end + 1 :]}")
    run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_laws.py", "-k", "rises or every_operator_is_tested")


def test_it_runs_in_every_lane(copy: Path) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    try:
        provide()
    except SlidewiseError as none:
        pytest.skip(str(none))
    run(copy, str(TESTS / "recipe_lanes.py"), "rises", str(copy), "--spark")
