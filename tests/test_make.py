"""The Makefile lists its targets, and says what to install when there is no Python it can use."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TARGETS = [
    "help",
    "setup",
    "demo",
    "check",
    "test",
    "test-browser",
    "test-cluster",
    "test-package",
    "docs",
    "lint",
    "format",
    "bench",
    "bench-paper",
    "clean",
]
TOOLS = ["awk", "grep", "rm", "sh", "touch"]


def make(target: str, cwd: Path, path: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("make")
    if program is None:
        pytest.skip("make is not installed")
    # Only PATH is passed on: the MAKEFLAGS of a surrounding `make test` must not reach this make.
    return subprocess.run([program, target], cwd=cwd, env={"PATH": path}, capture_output=True, text=True, check=False)


def test_help_lists_every_target() -> None:
    done = make("help", ROOT, os.environ["PATH"])
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()] == TARGETS


@pytest.mark.parametrize(
    "flaw",
    [
        pytest.param("sys.version_info = (3, 9, 18)", id="too old"),
        pytest.param("sys.modules['ensurepip'] = None", id="without ensurepip"),
    ],
)
def test_setup_without_a_usable_python_says_what_to_install(tmp_path: Path, flaw: str) -> None:
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    for tool in TOOLS:
        if found := shutil.which(tool):
            (bin_dir / tool).symlink_to(found)
    python = bin_dir / "python3"
    python.write_text(f"""#!/bin/sh\nexec '{sys.executable}' -c "import sys; {flaw}; exec(sys.argv[1])" "$2"\n""")
    python.chmod(0o755)
    shutil.copy(ROOT / "Makefile", tmp_path)

    done = make("setup", tmp_path, str(bin_dir))

    assert done.returncode != 0
    assert "Python 3.11 or newer" in done.stderr
    assert "apt install python3 python3-venv" in done.stderr
    assert not (tmp_path / ".venv").exists()
