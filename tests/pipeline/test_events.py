"""The events that are made: like the real ones, and the same for the same seed."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from slidewise.pipeline.synthetic_events import TICK, make_signals, make_times, write_events

COUNT = 120_000


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    path = tmp_path_factory.mktemp("events") / "events.tsv"
    write_events(path, COUNT)
    return [line.split("\t") for line in path.read_text().splitlines()]


def test_lines_have_the_layout_of_the_real_file(lines: list[list[str]]) -> None:
    assert len(lines) == COUNT
    assert {len(fields) for fields in lines} == {56}
    assert {len("\t".join(fields)) for fields in lines} == {len("\t".join(lines[0]))}
    assert lines[0][0].startswith("2012-02-22T16:46:28.")
    assert lines[0][0].endswith("+00:00")
    datetime.fromisoformat(lines[-1][0])
    assert sorted(int(fields[1]) for fields in lines) == list(range(10_000_000, 10_000_000 + COUNT))


def test_the_real_file_looks_the_same(lines: list[list[str]]) -> None:
    file = Path(__file__).parents[3] / "shared" / "data" / "debs2012_small.tsv"
    if not file.exists():
        pytest.skip("the real data is not beside this checkout")
    real = [line.split("\t") for line in file.read_text().splitlines()]
    assert [len(field) for field in real[0][2:]] == [len(field) for field in lines[0][2:]]
    assert real[0][8:] == lines[0][8:]
    for column in (2, 3, 4):
        values, made = [int(fields[column]) for fields in real], [int(fields[column]) for fields in lines]
        assert 0.8 < np.median(made) / np.median(values) < 1.25


def test_about_a_hundredth_and_a_half_are_out_of_order(lines: list[list[str]]) -> None:
    newest, late = "", 0
    for fields in lines:
        late += fields[0] < newest
        newest = max(newest, fields[0])
    assert 0.012 < late / COUNT < 0.018


def test_times_come_at_100_hz_with_jitter_and_rare_gaps() -> None:
    times = make_times(1_000_000, np.random.default_rng(2012))
    steps = np.diff(times) / TICK
    assert steps.min() > 0
    assert 0.0099 < np.median(steps) < 0.0101
    assert len(np.unique(np.diff(times))) > 500
    assert 5 <= np.sum(steps > 0.5) <= 60


def test_signals_drift_and_change_their_state() -> None:
    times = make_times(500_000, np.random.default_rng(1))
    signals = make_signals(times, np.random.default_rng(1))
    assert signals.shape == (3, len(times))
    for values in signals:
        assert np.std(np.diff(values)) < 40, "from row to row they hardly move"
        assert (values.max() - values.min()) / values.max() > 0.15, "over all they do"


def test_a_seed_gives_the_same_file_and_another_one_another(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_events(tmp_path / name, 2_000, seed=seed, malformed=12)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c


def test_broken_lines_stand_for_others(tmp_path: Path) -> None:
    write_events(tmp_path / "sound", 2_000, seed=1, malformed=0)
    write_events(tmp_path / "broken", 2_000, seed=1, malformed=12)
    sound = (tmp_path / "sound").read_bytes().split(b"\r\n")
    broken = (tmp_path / "broken").read_bytes().split(b"\r\n")
    assert len(sound) == len(broken)
    assert sum(fields.count(b"\t") != 55 for fields in broken[:-1]) == 6, "short, long and empty ones, two of each"
    assert sum(b"\xff" in line for line in broken) == 2
    assert sum(line.startswith(b"2012-02-30") for line in broken) == 2
