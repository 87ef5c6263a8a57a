"""Kernels on real events: the known answers, and the bits of the interpreted classes."""

from __future__ import annotations

import calendar
import csv
import gzip
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slidewise as sw

DATA = Path(__file__).parents[3] / "shared" / "data"
SECOND = 10_000_000  # in ticks of 100 ns

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the real data is not beside this checkout")


@pytest.fixture(scope="module")
def equipment() -> tuple[Any, Any, Any]:
    """Times in ticks of 100 ns, mf01 and mf02."""
    rows = []
    for line in (DATA / "debs2012_small.tsv").read_text().splitlines():
        ts, _, mf01, mf02, *_ = line.split("\t")
        moment, fraction = ts.removesuffix("+00:00").split(".")
        ticks = calendar.timegm(datetime.fromisoformat(moment).timetuple()) * SECOND + int(fraction)
        rows.append((ticks, int(mf01), int(mf02)))
    ticks, mf01, mf02 = map(np.array, zip(*rows, strict=True))
    return ticks, mf01, mf02


@pytest.fixture(scope="module")
def temperatures() -> Any:
    with (DATA / "nab_machine_temperature_system_failure.csv").open() as file:
        return np.array([float(row["value"]) for row in csv.DictReader(file)])


@pytest.mark.parametrize(
    ("seconds", "closed", "at_100_ns", "at_1_us"),
    [
        (1, "both", 280.395357500171, 280.39619291898214),
        (1, "right", 280.38967389228714, 280.38537371832905),
        (10, "both", 1417.2288295385404, 1417.2288295385404),
        (10, "right", 1417.2288295385404, 1417.2288295385404),
    ],
)
def test_the_known_answers(
    equipment: tuple[Any, Any, Any], seconds: int, closed: str, at_100_ns: float, at_1_us: float
) -> None:
    ticks, mf01, _ = equipment
    found = sw.rolling(mf01, sw.relative_variation, times=ticks, last=seconds * SECOND, closed=closed)
    assert float(np.sum(found)) == pytest.approx(at_100_ns, rel=1e-12)
    micros = (ticks // 10).view("M8[us]")
    found = sw.rolling(mf01, sw.relative_variation, times=micros, last=f"{seconds} seconds", closed=closed)
    assert float(np.sum(found)) == pytest.approx(at_1_us, rel=1e-12)


def interpreted(op: sw.Operator, rows: list[tuple[Any, ...]], n: int) -> list[Any]:
    window, answers = sw.DabaLite(op), []
    for row in rows:
        window.insert(*row)
        if len(window) > n:
            window.evict()
        answers.append(window.query())
    return answers


@pytest.mark.parametrize("n", [2, 20, 300])
@pytest.mark.parametrize(
    "op", [sw.sum, sw.mean, sw.variance, sw.stddev, sw.geomean, sw.max, sw.maxcount], ids=lambda op: op.name
)
def test_the_bits_of_the_interpreted_classes(temperatures: Any, op: sw.Operator, n: int) -> None:
    """By rows, by time and by key: special kernels and general ones, each against DABA Lite, to the last bit."""
    x = temperatures[:4000]
    expected = interpreted(op, [(value,) for value in x.tolist()], n)
    start = 1 if expected[0] is None else 0
    times = np.arange(len(x))
    for found in (
        sw.rolling(x, op, rows=n),
        sw.rolling(x, op, times=times, last=n),
        sw.rolling(np.repeat(x, 2), op, rows=n, by=np.tile([0, 1], len(x)))[1::2],
    ):
        assert found[start:].tolist() == expected[start:]


def test_two_columns(equipment: tuple[Any, Any, Any]) -> None:
    _, mf01, mf02 = (column[:3000] for column in equipment)
    for op in (sw.covariance, sw.correlation):
        expected = interpreted(op, list(zip(mf01.tolist(), mf02.tolist(), strict=True)), 100)
        found = sw.rolling((mf01, mf02), op, rows=100)
        assert [None if np.isnan(v) else v for v in found.tolist()] == expected


def test_taxis_by_key_with_many_equal_times() -> None:
    """10,471 taxis at a second's resolution: each key's windows against a direct evaluation."""
    with gzip.open(DATA / "nyc_taxi_rides_100k.csv.gz", "rt") as file:
        rides = [(row[9], row[2], int(row[8])) for row in csv.reader(file)]
    rides.sort(key=lambda ride: ride[1])
    taxis, times, passengers = zip(*rides, strict=True)
    moments = np.array(times, "M8[s]")
    keys, counts = np.array(taxis, np.int64), np.array(passengers)
    found = sw.rolling(counts, sw.sum, times=moments, last="30 minutes", by=keys)
    by_taxi: dict[int, list[tuple[int, int]]] = {}
    for taxi, moment, count in zip(keys.tolist(), moments.astype(np.int64).tolist(), counts.tolist(), strict=True):
        by_taxi.setdefault(taxi, []).append((moment, count))
    expected = [
        sum(count for t, count in by_taxi[taxi] if moment - 1800 < t <= moment)
        for taxi, moment in zip(keys.tolist(), moments.astype(np.int64).tolist(), strict=True)
    ]
    assert found.tolist() == expected
