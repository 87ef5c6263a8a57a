"""Kernels are kept on disk from one process to the next: used again, never when stale, and never needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import slidewise

USE = """
import json
import numpy as np
import slidewise as sw
x = np.arange(50.0)
answers = [sw.rolling(x, sw.max, rows=5)[-1], sw.rolling(x, sw.maxcount, rows=5)[-1]]
timed = sw.rolling(x, sw.maxcount, times=np.arange(50), last=5)[-1]
from slidewise.kernels.cache import cache_folder
from slidewise.kernels.kernel import kernel_for
hits = misses = 0
kernel = kernel_for(sw.maxcount, ("float64",))
for function in (kernel.rows_pass, kernel.bounds_pass):
    hits += sum(function.stats.cache_hits.values())
    misses += sum(function.stats.cache_misses.values())
answers = [float(answer) for answer in (*answers, timed)]
print(json.dumps({"answers": answers, "folder": str(cache_folder()), "hits": hits, "misses": misses}))
"""

STALE = "import slidewise.kernels.cache as cache\ncache._digest = lambda: 'another'\n"


def run(place: Path | str, code: str = USE, **environment: str) -> dict[str, Any]:
    source = str(Path(slidewise.__file__).parents[1])
    variables = {**os.environ, "SLIDEWISE_CACHE_DIR": str(place), "PYTHONPATH": source, **environment}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["answers"] == [49.0, 1.0, 1.0]
    return found


def files(place: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that one process has filled."""
    place = tmp_path_factory.mktemp("cache")
    first = run(place)
    assert Path(first["folder"]).parent == place
    assert (first["hits"], first["misses"]) == (0, 2)
    return place


def test_a_second_process_compiles_nothing(place: Path) -> None:
    before = files(place)
    assert any(name.endswith(".nbc") for name in before)
    second = run(place)
    assert (second["hits"], second["misses"]) == (2, 0)
    kept = {name: time for name, time in files(place).items() if not name.endswith(".pyc")}
    assert kept == {name: time for name, time in before.items() if not name.endswith(".pyc")}


def test_no_file_is_left_behind_half_written(place: Path) -> None:
    assert not [name for name in files(place) if name.endswith(".tmp")]


def test_a_changed_package_does_not_use_what_was_there(place: Path) -> None:
    before = files(place)
    changed = run(place, STALE + USE)
    assert changed["folder"] == str(place / "another")
    assert (changed["hits"], changed["misses"]) == (0, 2)
    after = files(place)
    assert {name: after[name] for name in before if not name.endswith(".pyc")} == {
        name: time for name, time in before.items() if not name.endswith(".pyc")
    }


def test_the_digest_covers_every_file_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from slidewise.kernels import cache

    package = tmp_path / "slidewise"
    (package / "kernels").mkdir(parents=True)
    one, two = package / "a.py", package / "kernels" / "b.py"
    one.write_text("x = 1")
    two.write_text("y = 1")
    monkeypatch.setattr(cache, "_PACKAGE", package)
    seen = set()
    for change in (
        lambda: None,
        lambda: one.write_text("x = 2"),
        lambda: two.write_text("y = 2"),
        lambda: two.rename(package / "kernels" / "c.py"),
    ):
        change()
        seen.add(cache._digest.__wrapped__())
    assert len(seen) == 4


@pytest.mark.parametrize("unusable", ["/proc/nowhere", "a file"])
def test_without_a_usable_place_everything_works(unusable: str, tmp_path: Path) -> None:
    if unusable == "a file":
        unusable = str(tmp_path / "file")
        Path(unusable).write_text("")
    found = run(unusable)
    assert found["folder"] == "None"
    assert found["hits"] == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_place(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert run(tmp_path)["folder"] == "None"


def test_nothing_is_written_into_the_package(tmp_path: Path) -> None:
    """Site-packages may be read-only, and what lies there would outlive an upgrade."""
    package = Path(slidewise.__file__).parent
    before = files(package)
    run(tmp_path)
    fresh = {name for name, time in files(package).items() if before.get(name) != time and not name.endswith(".pyc")}
    assert not {name for name in fresh if name.endswith((".nbi", ".nbc"))}
