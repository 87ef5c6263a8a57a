"""Private folders: owned by this user, not writable by others, checked before every use, and not used where that fails.

Whoever can write to a folder from which code is loaded has their code run. So such a folder belongs to the user of this
process, nobody else may write to it, and it is no symbolic link. Before each use it is opened and looked at through
its descriptor, and its files are reached through that descriptor: what was looked at is what is used, whatever becomes
of its name meanwhile. Windows keeps a user's folders from others by itself.
"""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

_WINDOWS = os.name == "nt"
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_LOCK = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
# Written beside the name and renamed, so that nobody ever reads half a file.
UNFINISHED = ".tmp"


class NotPrivateError(OSError):
    """A folder or file that another user could have written."""


class FolderCandidate(NamedTuple):
    """A path at which a private folder may be made, and the environment's variable that asks for it, if any."""

    path: Path
    variable: str = ""


class PrivateFolder:
    """A folder of this user's alone: `read`, `write`, `remove` its files; each raises OSError where it cannot."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def make(self) -> bool:
        """Create the folder where it is missing, and check that it is private and takes files; whether it is new."""
        is_new = _make(self.path)
        with self.opened() as folder:
            probe = self._in(folder, f"{secrets.token_hex(8)}{UNFINISHED}")
            os.close(os.open(probe, _WRITE, 0o600, dir_fd=folder))
            os.unlink(probe, dir_fd=folder)
        return is_new

    @contextmanager
    def opened(self) -> Iterator[int | None]:
        """A descriptor of the folder, which has been checked to be private; None on Windows."""
        if _WINDOWS:
            yield None
            return
        if self.path.is_symlink():
            raise NotPrivateError(f"{self.path} is a symbolic link")
        folder = os.open(self.path, _FOLDER)
        try:
            _check(os.fstat(folder), self.path)
            yield folder
        finally:
            os.close(folder)

    def read(self, name: str) -> bytes:
        with self.opened() as folder, open(os.open(self._in(folder, name), _READ, dir_fd=folder), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise NotPrivateError(f"{self.path / name} is no file")
            if folder is not None:
                _check(state, self.path / name)
            return file.read()

    def write(self, name: str, data: bytes, mode: int = 0o600) -> None:
        """Write a file atomically: all of it, or none."""
        with self.opened() as folder:
            new, final = self._in(folder, f"{name}.{secrets.token_hex(8)}{UNFINISHED}"), self._in(folder, name)
            with open(os.open(new, _WRITE, 0o600, dir_fd=folder), "wb") as file:
                try:
                    if folder is not None:
                        os.fchmod(file.fileno(), mode)  # whatever the umask is
                    file.write(data)
                    file.close()
                    os.replace(new, final, src_dir_fd=folder, dst_dir_fd=folder)
                except BaseException:
                    with suppress(OSError):
                        os.unlink(new, dir_fd=folder)
                    raise

    def open_for_locks(self, name: str) -> int:
        """A descriptor of a file that is there to be locked, made empty where it is missing; its bytes mean nothing."""
        with self.opened() as folder:
            file = os.open(self._in(folder, name), _LOCK, 0o600, dir_fd=folder)
            try:
                state = os.fstat(file)
                if not stat.S_ISREG(state.st_mode):
                    raise NotPrivateError(f"{self.path / name} is no file")
                if folder is not None:
                    _check(state, self.path / name)
            except BaseException:
                os.close(file)
                raise
            return file

    def remove(self, name: str) -> None:
        with self.opened() as folder:
            os.unlink(self._in(folder, name), dir_fd=folder)

    def _in(self, folder: int | None, name: str) -> str:
        return os.path.join(self.path, name) if folder is None else name


def _make(path: Path) -> bool:
    """Create a folder, and its missing parents, for this user alone; whether it was missing."""
    if os.path.lexists(path):
        return False
    _make(path.parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:  # another process was faster
        return False
    if not _WINDOWS and os.lstat(path).st_mode & 0o700 != 0o700:  # a strange umask
        os.chmod(path, 0o700)
    return True


def _check(state: os.stat_result, path: Path) -> None:
    if state.st_uid != os.geteuid():
        raise NotPrivateError(f"{path} belongs to another user")
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise NotPrivateError(f"{path} can be written by others")


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that is written atomically: it takes its name once it is whole.

    What had the name is replaced. A symbolic link is not followed: in a folder that others can write to, too, somebody
    may have put it there so that a file elsewhere is overwritten.
    """
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}{UNFINISHED}")
    with open(os.open(new, _WRITE, 0o666), "wb") as file:
        try:
            yield file
            file.close()
            os.replace(new, path)
        except BaseException:
            with suppress(OSError):
                file.close()
                os.unlink(new)
            raise


def user_cache() -> FolderCandidate | None:
    """The user's folder for what can be made anew, if there is a home: nothing is made in that of another user.

    NotPrivateError where XDG_CACHE_HOME names a folder of another user, or one in which others may replace files.
    """
    if _WINDOWS:
        local = os.environ.get("LOCALAPPDATA")
        return FolderCandidate(Path(local) / "slidewise") if local else None
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(chosen):
        holder = Path(os.path.realpath(chosen))
        _check_holder(next(folder for folder in (holder, *holder.parents) if folder.exists()))
        return FolderCandidate(Path(chosen) / "slidewise", "XDG_CACHE_HOME")
    try:
        home = Path.home()
        if home.stat().st_uid == os.geteuid():
            return FolderCandidate(home / ".cache" / "slidewise")
    except (OSError, RuntimeError):  # no home, or none that is known
        pass
    return None


def local_candidates() -> Iterator[FolderCandidate]:
    """Folders of this user's on this machine for want of a home: in Spark's directories, and among temporary files."""
    name = "slidewise" if _WINDOWS else f"slidewise-{os.geteuid()}"
    folders = spark_directories()
    with suppress(OSError):  # no folder takes a file
        folders.append(Path(tempfile.gettempdir()))
    yield from (FolderCandidate(folder / name) for folder in folders if folder.is_dir())


def spark_directories() -> list[Path]:
    """The local directories of Spark for this process: those of a worker, of YARN, and of a standalone worker."""
    lists = [os.environ.get(name, "").split(",") for name in ("SPARK_LOCAL_DIRS", "LOCAL_DIRS")]
    lists.append(os.environ.get("SPARK_EXECUTOR_DIRS", "").split(os.pathsep))
    folders = [folder for several in lists for folder in several]
    return [Path(folder) for folder in folders if os.path.isabs(folder)]


def check_way(path: Path) -> None:
    """Raise where another user could put something else in this path's place: for what is run by its name."""
    if _WINDOWS:
        return
    for above in {*path.parents, *Path(os.path.realpath(path)).parents}:
        if os.path.lexists(above):
            _check_holder(above)


def _check_holder(path: Path) -> None:
    """Raise where others may replace what lies in a folder; in one such as /tmp only its owner may."""
    state = os.lstat(path)
    if state.st_uid not in (0, os.geteuid()):
        raise NotPrivateError(f"{path} belongs to another user")
    shared = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not state.st_mode & stat.S_ISVTX
    if shared and not stat.S_ISLNK(state.st_mode):
        raise NotPrivateError(f"{path} can be written by others")
