"""Relative variation on real events of manufacturing equipment, whose answers are known."""

from __future__ import annotations

import calendar
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support import serving

import slidewise as sw
from slidewise.swag import Swag

FILE = Path(__file__).parents[3] / "shared" / "data" / "debs2012_small.tsv"
SECOND = 10_000_000  # in ticks of 100 ns

# The sum over all rows of (max - min) / max of mf01, computed from scratch elsewhere.
AT_100_NS = {(1, "both"): 280.395357500171, (1, "right"): 280.38967389228714}
AT_1_US = {(1, "both"): 280.39619291898214, (1, "right"): 280.38537371832905}
TEN_SECONDS = 1417.2288295385404

pytestmark = pytest.mark.skipif(not FILE.exists(), reason="the real data is not beside this checkout")


@pytest.fixture(scope="module")
def events() -> list[tuple[int, int]]:
    """Times in ticks of 100 ns, and mf01."""
    rows = []
    for line in FILE.read_text().splitlines():
        ts, _, mf01, *_ = line.split("\t")
        moment, fraction = ts.removesuffix("+00:00").split(".")
        seconds = calendar.timegm(datetime.fromisoformat(moment).timetuple())
        rows.append((seconds * SECOND + int(fraction), int(mf01)))
    assert len(rows) == 17_000
    return rows


def total(swag: Swag, rows: list[tuple[Any, int]], last: Any, closed: str) -> float:
    window = sw.Timed(swag, last=last, closed=closed)
    answers = []
    for t, mf01 in rows:
        window.insert(t, mf01)
        answers.append(window.query())
    return sum(answers)


@pytest.mark.parametrize("closed", ["both", "right"])
@pytest.mark.parametrize("algorithm", serving(sw.relative_variation), ids=lambda a: a.__name__)
def test_one_second(algorithm: type[Swag], closed: str, events: list[tuple[int, int]]) -> None:
    found = total(algorithm(sw.relative_variation), events, SECOND, closed)
    assert found == pytest.approx(AT_100_NS[1, closed], rel=1e-12)


@pytest.mark.parametrize("closed", ["both", "right"])
def test_ten_seconds(closed: str, events: list[tuple[int, int]]) -> None:
    found = total(sw.DabaLite(sw.relative_variation), events, 10 * SECOND, closed)
    assert found == pytest.approx(TEN_SECONDS, rel=1e-12)


@pytest.mark.parametrize("closed", ["both", "right"])
def test_datetimes_at_a_microsecond(closed: str, events: list[tuple[int, int]]) -> None:
    epoch = datetime(1970, 1, 1)
    rows = [(epoch + timedelta(microseconds=ticks // 10), mf01) for ticks, mf01 in events]
    found = total(sw.DabaLite(sw.relative_variation), rows, "1 second", closed)
    assert found == pytest.approx(AT_1_US[1, closed], rel=1e-12)


def test_every_algorithm_gives_the_same_moments(events: list[tuple[int, int]]) -> None:
    """Double-double moments on real values: identical between algorithms, to the last bit."""
    answers = []
    for algorithm in (sw.Recalc, sw.TwoStacksLite, sw.DabaLite, sw.FlatFit, sw.Amta):
        window = algorithm(sw.stddev)
        answers.append([])
        for _, mf01 in events[:3000]:
            window.insert(mf01)
            if len(window) > 60:
                window.evict()
            answers[-1].append(window.query())
    for other in answers[1:]:
        assert other == answers[0]
