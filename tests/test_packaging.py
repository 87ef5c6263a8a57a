"""The built wheel is complete, and works in environments that have its dependencies, those of one extra, and no more.

Nothing is downloaded: packages that are here are linked into new environments. `make test-package` installs them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import installed
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import slidewise as sw

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution."""
    target = tmp_path_factory.mktemp("built")
    done = run(sys.executable, "-m", "hatchling", "build", "-d", target, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    [wheel] = built.glob(f"slidewise-{sw.__version__}-py3-none-any.whl")
    return wheel


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return Parser().parsestr(archive.read(f"slidewise-{sw.__version__}.dist-info/METADATA").decode())


def needed(names: list[str]) -> set[str]:
    """The distributions that these requirements need, directly or not; PackageNotFoundError if one is not here."""
    found: set[str] = set()
    open_ = [Requirement(name) for name in names]
    while open_:
        requirement = open_.pop()
        wanted = {f"{canonicalize_name(requirement.name)}[{extra}]" for extra in requirement.extras or [""]}
        if wanted <= found:
            continue
        found |= wanted
        for text in distribution(requirement.name).requires or []:
            inner = Requirement(text)
            extras = requirement.extras or {""}
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras):
                open_.append(inner)
    return {name.partition("[")[0] for name in found}


def environment(home: Path, wheel: Path, extra: str | None) -> Path:
    """The Python of a new environment that has the wheel, and links to the packages which it and an extra need."""
    requirements = list(PROJECT["dependencies"])
    requirements += [] if extra is None else PROJECT["optional-dependencies"][extra]
    try:
        names = needed(requirements)
    except PackageNotFoundError as missing:
        pytest.skip(f"{missing.name} is not installed")
    venv.create(home, with_pip=False)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(home), "platbase": str(home)}))
    for name in names:
        files = distribution(name).files or []
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            place = Path(str(distribution(name).locate_file(top)))
            if not (site / top).exists():
                (site / top).symlink_to(place)
    python = home / "bin" / "python"
    done = run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", wheel, cwd=home)
    assert done.returncode == 0, done.stderr
    return python


@pytest.mark.parametrize("extra", [None, *(extra for extra in installed.CHECKS if extra not in ("spark", "java"))])
def test_the_wheel_works_with_an_extra_and_nothing_else(extra: str | None, wheel: Path, tmp_path: Path) -> None:
    """Spark and Java are left to `make test-package`: what Spark runs of the README is in tests/site."""
    python = environment(tmp_path / "home", wheel, extra)
    done = run(python, ROOT / "tests" / "installed.py", *([extra] if extra else []), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {
        str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "slidewise").rglob("*") if path.is_file()
    }
    ours = {name for name in package if "__pycache__" not in name}
    assert {name for name in names if not name.startswith(f"slidewise-{sw.__version__}.dist-info/")} == ours
    assert "slidewise/py.typed" in names
    assert {f"slidewise/trace/drawing/page.{kind}" for kind in ("html", "css", "js")} <= names
    assert f"slidewise-{sw.__version__}.dist-info/licenses/LICENSE" in names


def test_the_source_distribution_builds_the_same_wheel_and_has_no_tests_or_docs(built: Path) -> None:
    with tarfile.open(built / f"slidewise-{sw.__version__}.tar.gz") as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    tops = {name.split("/")[0] for name in names}
    assert tops == {"src", "README.md", "CHANGELOG.md", "LICENSE", "PKG-INFO", "pyproject.toml", ".gitignore"}


def test_the_metadata_is_complete(metadata: Message) -> None:
    assert metadata["Name"] == "slidewise"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == (ROOT / "README.md").read_text()
    assert 20 < len(metadata["Summary"]) < 200
    assert metadata["Requires-Python"] == ">=3.11"
    classifiers = metadata.get_all("Classifier")
    assert "Typing :: Typed" in classifiers
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)} <= set(classifiers)
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    requires = {Requirement(text).name for text in metadata.get_all("Requires-Dist") if "extra ==" not in text}
    assert requires == {Requirement(text).name for text in PROJECT["dependencies"]}


def test_all_that_may_be_installed_is_pinned() -> None:
    """`pip` with constraints.txt installs the same packages everywhere, those of every extra included."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {canonicalize_name(line.split("==")[0]) for line in lines if not line.startswith("#")}
    for extra, requirements in PROJECT["optional-dependencies"].items():
        for text in [*requirements, *PROJECT["dependencies"]]:
            assert canonicalize_name(Requirement(text).name) in pinned, f"{text} of [{extra}] is not in constraints.txt"


def test_the_version_stands_in_one_place() -> None:
    assert "version" not in PROJECT
    assert re.fullmatch(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?", sw.__version__)
    places = [path for path in (ROOT / "src").rglob("*.py") if f'"{sw.__version__}"' in path.read_text()]
    assert [path.relative_to(ROOT / "src").as_posix() for path in places] == ["slidewise/__init__.py"]
