"""Results in folders that others can write to, too: written whole, and never through a link."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from slidewise.folders import PrivateFolder, whole_file


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    precious, result = tmp_path / "precious", tmp_path / "result"
    precious.write_text("of the user's own")
    result.symlink_to(precious)
    with whole_file(result) as file:
        file.write(b"new")
    assert (precious.read_text(), result.read_text()) == ("of the user's own", "new")
    assert not result.is_symlink()


@pytest.mark.parametrize("there", ["old", None])
def test_a_file_that_is_not_whole_is_never_there(tmp_path: Path, there: str | None) -> None:
    result = tmp_path / "result"
    if there is not None:
        result.write_text(there)

    def stop() -> None:
        with whole_file(result) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert [path.read_text() for path in tmp_path.iterdir()] == ([] if there is None else [there])


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_results_have_the_mode_that_the_user_wants(tmp_path: Path) -> None:
    for umask, mode in ((0o022, 0o644), (0o077, 0o600)):
        before = os.umask(umask)
        try:
            with whole_file(tmp_path / str(mode)):
                pass
        finally:
            os.umask(before)
        assert (tmp_path / str(mode)).stat().st_mode & 0o777 == mode


def test_writers_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    folder = PrivateFolder(tmp_path / "private")
    assert folder.make()
    assert not folder.make()
    whole = [bytes([number]) * 100_000 for number in range(4)]
    seen = set()

    def write(data: bytes) -> None:
        for _ in range(20):
            folder.write("file", data)
            seen.add(folder.read("file"))

    threads = [threading.Thread(target=write, args=(data,)) for data in whole]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen <= set(whole)
    assert os.listdir(folder.path) == ["file"]
