"""Kernels are kept on disk from one process to the next: used again, never when stale or damaged, and never needed."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zipimport
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import slidewise
from slidewise.cli import main
from slidewise.kernels.compiler import cache, package_files
from slidewise.kernels.compiler.cache import SUFFIX, cache_folder
from slidewise.kernels.compiler.jit import cached_jit
from slidewise.kernels.compiler.machine_code import MachineCode
from slidewise.kernels.compiler.turns import LOCK_FILE, Turns

SOURCE = Path(slidewise.__file__).parents[1]
USE = """
import json
import numpy as np
import slidewise as sw
x = np.arange(50.0)
answers = [sw.rolling(x, sw.max, rows=5)[-1], sw.rolling(x, sw.maxcount, rows=5)[-1]]
timed = sw.rolling(x, sw.maxcount, times=np.arange(50), last=5)[-1]
from slidewise.kernels.compiler.cache import cache_folder
from slidewise.kernels.codegen.kernel import kernel_for
hits = misses = 0
kernel = kernel_for(sw.maxcount, ("float64",))
for function in (kernel.compiled_pass("rows_pass"), kernel.compiled_pass("bounds_pass")):
    hits += sum(function.stats.cache_hits.values())
    misses += sum(function.stats.cache_misses.values())
answers = [float(answer) for answer in (*answers, timed)]
print(json.dumps({"answers": answers, "folder": str(cache_folder().path), "hits": hits, "misses": misses}))
"""
posix = pytest.mark.skipif(os.name == "nt", reason="Windows keeps a user's folders from others")


def run(code: str, source: Path = SOURCE, **environment: str) -> Any:
    """What a process of its own prints."""
    variables = {**os.environ, "PYTHONPATH": str(source), **environment}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def files(place: Path) -> dict[str, int]:
    """The files below a folder, but for the one that is only there to be locked, and when each was written."""
    paths = [path for path in place.rglob("*") if path.is_file() and path.name != LOCK_FILE]
    return {str(path): path.stat().st_mtime_ns for path in paths}


class Environment:
    """Where this process would keep kernels: a home, and no variables that name another place."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch = folder, patch
        for name in ("SLIDEWISE_CACHE_DIR", "XDG_CACHE_HOME", "SPARK_LOCAL_DIRS", "LOCAL_DIRS", "SPARK_EXECUTOR_DIRS"):
            patch.delenv(name, raising=False)
        for name in ("home", "temporary"):
            (folder / name).mkdir(mode=0o700)
        patch.setenv("HOME", str(folder / "home"))
        patch.setattr("tempfile.tempdir", str(folder / "temporary"))

    def set(self, name: str, path: Path) -> Path:
        self.patch.setenv(name, str(path))
        return path

    def place(self) -> Path | None:
        """The folder that is chosen now, as in a new process."""
        cache_folder.cache_clear()
        folder = cache_folder()
        return None if folder is None else folder.path.parent


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Environment]:
    yield Environment(tmp_path, monkeypatch)
    cache_folder.cache_clear()


def double() -> Any:
    """A small function, to be compiled or found in the cache."""

    def doubled(x: float) -> float:
        return x + x

    return cached_jit(doubled)


def went(function: Any) -> str:
    """Whether a function's code was found in the cache, once it is called."""
    assert function(3.0) == 6.0
    return "found" if function.stats.cache_hits else "compiled"


def code_file(place: Path | None) -> Path:
    assert place is not None
    [file] = place.rglob(f"*{SUFFIX}")
    return file


def test_who_waited_for_nothing_does_not_make_others_wait(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the process that had the turn stored nothing, as on a full disk, all others compile at once."""
    given, compiled_after = [], []
    monkeypatch.setattr(Turns, "take", lambda _turns, _name: True)
    monkeypatch.setattr(Turns, "give", lambda _turns, name: given.append(name))
    monkeypatch.setattr(MachineCode, "save_overload", lambda *_: compiled_after.append(len(given)))
    assert went(double()) == "compiled"
    assert compiled_after == [1]
    assert len(given) == 1


# From one process to the next.


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that one process has filled."""
    place = tmp_path_factory.mktemp("cache")
    package = files(SOURCE / "slidewise")
    first = run(USE, SLIDEWISE_CACHE_DIR=str(place))
    assert first["answers"] == [49.0, 1.0, 1.0]
    assert Path(first["folder"]).parent == place
    assert (first["hits"], first["misses"]) == (0, 2)
    changed = {name for name, time in files(SOURCE / "slidewise").items() if package.get(name) != time}
    assert not {name for name in changed if not name.endswith(".pyc")}, "site-packages may be read-only"
    return place


def test_a_second_process_compiles_nothing(filled: Path) -> None:
    before = files(filled)
    assert before
    second = run(USE, SLIDEWISE_CACHE_DIR=str(filled))
    assert second["answers"] == [49.0, 1.0, 1.0]
    assert (second["hits"], second["misses"]) == (2, 0)
    assert files(filled) == before


def test_no_file_is_left_behind_half_written(filled: Path) -> None:
    assert not [name for name in files(filled) if not name.endswith(SUFFIX)]


def test_code_that_calls_a_changed_file_is_compiled_anew(tmp_path: Path) -> None:
    """Though its own file is as it was, and the changed one has the same size and time."""
    shutil.copytree(SOURCE / "slidewise", tmp_path / "slidewise", ignore=shutil.ignore_patterns("__pycache__"))
    kernels = tmp_path / "slidewise" / "kernels"
    called = kernels / "called.py"
    called.write_text("from slidewise.kernels.compiler.jit import jit\n@jit\ndef called(x):\n    return x + 1\n")
    (kernels / "calling.py").write_text(
        "from slidewise.kernels.called import called\nfrom slidewise.kernels.compiler.jit import cached_jit\n"
        "@cached_jit\ndef calling(x):\n    return called(x) * 2\n"
    )
    code = "from slidewise.kernels.calling import calling as c; print([c(1), len(c.stats.cache_hits)])"
    place = str(tmp_path / "cache")
    assert run(code, tmp_path, SLIDEWISE_CACHE_DIR=place, PYTHONDONTWRITEBYTECODE="1") == [4, 0]
    state = called.stat()
    called.write_text(called.read_text().replace("x + 1", "x + 2"))
    os.utime(called, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert run(code, tmp_path, SLIDEWISE_CACHE_DIR=place, PYTHONDONTWRITEBYTECODE="1") == [6, 0]


def test_a_process_whose_package_has_changed_meanwhile_keeps_nothing(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environment.place() is not None
    monkeypatch.setattr(cache, "_digest", lambda: "another")
    assert went(double()) == "compiled"
    assert not files(environment.folder)


def test_the_digest_covers_every_file_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "slidewise"
    (package / "kernels").mkdir(parents=True)
    one, two = package / "a.py", package / "kernels" / "b.py"
    one.write_text("x = 1")
    two.write_text("y = 1")
    monkeypatch.setattr(package_files, "_PACKAGE", package)
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: one.write_text("x = 2"),
        lambda: two.write_text("y = 2"),
        lambda: two.rename(package / "kernels" / "c.py"),
        lambda: monkeypatch.setattr("numpy.__version__", "0"),
        lambda: monkeypatch.setattr("llvmlite.__version__", "0"),
    ]
    seen = set()
    for change in changes:
        change()
        seen.add(cache._digest())
    assert len(seen) == len(changes)
    shutil.rmtree(package)
    assert cache._digest() is None, "no sources, no digest"


def test_a_package_in_an_archive_has_the_digest_of_the_same_files_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that `sw.ship` sends to Spark's executors: it loads what the installed package has compiled."""
    package = tmp_path / "slidewise"
    (package / "kernels").mkdir(parents=True)
    (package / "a.py").write_text("x = 1")
    (package / "kernels" / "b.py").write_text("y = 1")
    monkeypatch.setattr(package_files, "_PACKAGE", package)
    expected = cache._digest()
    digests = []
    for text in ("x = 1", "x = 2"):
        with zipfile.ZipFile(tmp_path / f"{text}.zip", "w") as archive:
            archive.writestr("slidewise/kernels/b.py", "y = 1")
            archive.writestr("slidewise/a.py", text)
            archive.writestr("another/a.py", "of no account")
        with monkeypatch.context() as patch:
            loader = zipimport.zipimporter(str(tmp_path / f"{text}.zip" / "slidewise" / "kernels" / "compiler"))
            patch.setattr(package_files, "__loader__", loader)
            digests.append(cache._digest())
    assert digests[0] == expected
    assert digests[1] not in (expected, None)


def test_what_earlier_versions_kept_goes_after_a_month(environment: Environment) -> None:
    place = environment.set("SLIDEWISE_CACHE_DIR", environment.folder / "cache")
    old, recent, strange, others = [place / f"kernels-{letter * 20}" for letter in "abc"] + [place / "kernels"]
    for folder in (old, recent, strange, others):
        folder.mkdir(mode=0o700, parents=True)
        (folder / f"f{SUFFIX}").write_text("code")
    (old / "g.0123.tmp").write_text("half")
    (strange / "letter.txt").write_text("of somebody's own")
    place.chmod(0o700)
    for folder in (old, strange, others):
        os.utime(folder, (0, time.time() - 40 * 86_400))
    assert environment.place() == place
    assert not old.exists()
    assert (recent / f"f{SUFFIX}").exists()
    assert (others / f"f{SUFFIX}").exists()
    assert (strange / "letter.txt").exists()


# Places.


def test_places_are_tried_in_order(environment: Environment) -> None:
    folder = environment.folder
    spark = folder / "spark"
    spark.mkdir()
    local = f"slidewise-{os.geteuid()}"
    chosen = environment.set("SLIDEWISE_CACHE_DIR", folder / "deep" / "chosen")
    assert environment.place() == chosen
    environment.patch.delenv("SLIDEWISE_CACHE_DIR")
    assert environment.place() == folder / "home" / ".cache" / "slidewise"
    environment.set("XDG_CACHE_HOME", folder / "xdg")
    assert environment.place() == folder / "xdg" / "slidewise"
    environment.patch.delenv("XDG_CACHE_HOME")
    environment.set("HOME", folder / "nowhere")
    assert environment.place() == folder / "temporary" / local
    for name, value in (
        ("LOCAL_DIRS", f"{folder / 'absent'},{spark}"),
        ("SPARK_EXECUTOR_DIRS", f"{folder / 'absent'}{os.pathsep}{spark}"),
        ("SPARK_LOCAL_DIRS", str(spark)),
    ):
        environment.patch.setenv(name, value)
        assert environment.place() == spark / local
        environment.patch.delenv(name)
    environment.patch.setattr("tempfile.tempdir", str(folder / "absent"))
    (folder / "absent").write_text("a file")
    assert environment.place() is None
    assert went(double()) == "compiled"


def test_it_can_be_turned_off(environment: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    environment.place()
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.startswith(str(environment.folder / "home" / ".cache" / "slidewise" / "kernels-"))
    environment.patch.setenv("SLIDEWISE_CACHE_DIR", "off")
    assert environment.place() is None
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.startswith("none")
    assert [went(double()), went(double())] == ["compiled", "compiled"]
    assert not files(environment.folder)


def test_a_user_whom_nobody_knows_has_no_home(environment: Environment) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    environment.patch.setattr(Path, "home", unknown)
    assert environment.place() == environment.folder / "temporary" / f"slidewise-{os.geteuid()}"


@posix
def test_what_is_made_is_for_this_user_alone_whatever_the_umask(environment: Environment) -> None:
    for umask in (0o000, 0o277, 0o777):
        place = environment.set("SLIDEWISE_CACHE_DIR", environment.folder / f"a{umask}" / "b")
        before = os.umask(umask)
        try:
            assert environment.place() == place
            assert [went(double()), went(double())] == ["compiled", "found"]
        finally:
            os.umask(before)
        file = code_file(place)
        assert [path.stat().st_mode & 0o777 for path in (place.parent, place, file.parent, file)] == [
            *[0o700] * 3,
            0o600,
        ]


def open_to_all(place: Path) -> None:
    place.mkdir()
    place.chmod(0o777)


def open_to_the_group(place: Path) -> None:
    place.mkdir()
    place.chmod(0o770)


def linked(place: Path) -> None:
    (place.parent / "real").mkdir(mode=0o700)
    place.symlink_to(place.parent / "real")


@posix
@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (open_to_all, "can be written by others"),
        (open_to_the_group, "can be written by others"),
        (linked, "is a symbolic link"),
        (Path.write_text, "Not a directory"),
    ],
)
def test_a_folder_that_cannot_be_trusted_is_named_and_another_is_used(
    environment: Environment, spoil: Any, found: str
) -> None:
    place = environment.set("SLIDEWISE_CACHE_DIR", environment.folder / "chosen")
    spoil(place) if spoil is not Path.write_text else place.write_text("")
    with pytest.warns(UserWarning, match=f"SLIDEWISE_CACHE_DIR names a folder that is not used.*{found}"):
        assert environment.place() == environment.folder / "home" / ".cache" / "slidewise"


@posix
@pytest.mark.parametrize("spoil", [open_to_all, linked])
def test_the_folder_inside_is_looked_at_too(environment: Environment, spoil: Callable[[Path], None]) -> None:
    place = environment.set("SLIDEWISE_CACHE_DIR", environment.folder / "chosen")
    place.mkdir(mode=0o700)
    spoil(place / f"kernels-{cache.package_digest()}")
    with pytest.warns(UserWarning, match="is not used"):
        assert environment.place() != place


@posix
def test_a_cache_home_that_others_may_write_to_is_not_used(environment: Environment) -> None:
    home = environment.set("XDG_CACHE_HOME", environment.folder / "xdg")
    open_to_all(home)
    temporary = environment.folder / "temporary" / f"slidewise-{os.geteuid()}"
    with pytest.warns(UserWarning, match="XDG_CACHE_HOME names a folder .*xdg can be written by others"):
        assert environment.place() == temporary
    home.chmod(0o1777)  # as /tmp, where nobody can replace what is another's
    assert environment.place() == home / "slidewise"


@posix
def test_a_folder_that_another_made_first_is_left_alone(environment: Environment) -> None:
    """Another user made the folder among temporary files, for us to run what lies there."""
    environment.set("HOME", environment.folder / "nowhere")
    place = environment.place()
    assert went(double()) == "compiled"
    assert place is not None
    real = os.geteuid()
    environment.patch.setattr("os.geteuid", lambda: real + 1)
    place.rename(place.with_name(f"slidewise-{real + 1}"))
    assert environment.place() is None
    assert went(double()) == "compiled"


@posix
def test_a_folder_that_changes_hands_later_is_not_used(environment: Environment) -> None:
    place = environment.place()
    assert [went(double()), went(double())] == ["compiled", "found"]
    folder = code_file(place).parent
    folder.chmod(0o777)
    assert went(double()) == "compiled"
    folder.chmod(0o700)
    assert went(double()) == "found"
    code_file(place).chmod(0o666)
    assert went(double()) == "compiled"
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))
    assert went(double()) == "compiled"


# Files.


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data[:3000] + bytes([data[3000] ^ 1]) + data[3001:],
        lambda data: bytes(len(data)),
        lambda data: data + b"more",
    ],
)
def test_a_damaged_file_is_compiled_anew(environment: Environment, damage: Callable[[bytes], bytes]) -> None:
    place = environment.place()
    assert went(double()) == "compiled"
    file = code_file(place)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert [went(double()), went(double())] == ["compiled", "found"]
    assert len(code_file(place).read_bytes()) > len(whole) // 2


def test_a_file_of_another_function_is_not_believed(environment: Environment) -> None:
    place = environment.place()
    assert went(double()) == "compiled"
    file = code_file(place)
    doubled = double()
    assert doubled(3) == 6  # of whole numbers
    [other] = set(file.parent.glob(f"*{SUFFIX}")) - {file}
    shutil.copy(other, file)
    assert went(double()) == "compiled"


@pytest.mark.parametrize("fails", ["open", "replace"])
def test_a_full_disk_means_no_cache(environment: Environment, fails: str) -> None:
    place = environment.place()
    real = getattr(os, fails)

    def full(path: Any, *given: Any, **named: Any) -> Any:
        if fails == "replace" or given[0] & os.O_WRONLY:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, *given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, fails, full)
        assert went(double()) == "compiled"
    assert place is not None
    assert not files(place)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_passed_over(environment: Environment) -> None:
    place = environment.set("SLIDEWISE_CACHE_DIR", environment.folder / "chosen")
    place.mkdir(mode=0o500)
    with pytest.warns(UserWarning, match="Permission denied"):
        assert environment.place() != place


# As a user without a home, while the package belongs to another.

STRANGER = """
import json, sys, tempfile
import numpy as np
import pyarrow as pa
import slidewise as sw
if sys.argv[1:] == ["no temporary files"]:
    tempfile.tempdir = "/nonexistent"
x = np.arange(5.0)
definition = sw.Sliding(by="k", on="t", top=sw.max("x").over(rows=2))
table = pa.table({"k": [1] * 5, "t": range(5), "x": x})
window = sw.compiled(sw.DabaLite, sw.max, "float64")
window.insert(4.0)
answers = [
    sw.rolling(x, sw.max, rows=2).tolist()[-1],
    definition(table)["top"].to_pylist()[-1],
    definition.live().push_many(table)["top"].to_pylist()[-1],
    window.query(),
]
from slidewise.kernels.compiler.cache import cache_folder
folder = cache_folder()
print(json.dumps([answers, folder and str(folder.path.parent)]))
"""
NOBODY = 65_534


def another_user(folder: Path) -> dict[str, Any]:
    """How to start a process as another user, where this one may and that one could read what it needs."""
    options: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    if os.geteuid() == 0:
        with suppress(OSError):
            command = [
                sys.executable,
                "-c",
                f"import sys; sys.path.insert(0, {str(SOURCE)!r}); import slidewise, numpy",
            ]
            if subprocess.run(command, cwd="/", capture_output=True, check=False, **options).returncode == 0:
                os.chown(folder, NOBODY, NOBODY)
                return options
    return {}


@posix
@pytest.mark.parametrize("temporary", ["temporary files", "no temporary files"])
def test_a_user_without_a_home(temporary: str) -> None:
    """Every kind of compiled code works, with code kept among temporary files or, for want of these, nowhere."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {"HOME": "/nonexistent", "TMPDIR": folder, "PYTHONPATH": str(SOURCE), "NUMBA_OPT": "0"}
        options = another_user(Path(folder))
        command = [sys.executable, "-W", "error", "-c", STRANGER, temporary]
        done = subprocess.run(command, capture_output=True, text=True, env=variables, cwd="/", check=False, **options)
        assert done.returncode == 0, done.stderr[-3000:]
        user = NOBODY if options else os.geteuid()
        place = f"{folder}/slidewise-{user}" if temporary == "temporary files" else None
        assert json.loads(done.stdout) == [[4.0, 4.0, 4.0, 4.0], place]
