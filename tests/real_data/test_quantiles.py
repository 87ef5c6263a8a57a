"""Quantiles of real events against DuckDB's quantile_cont over frames."""

from __future__ import annotations

import calendar
import csv
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slidewise as sw

DATA = Path(__file__).parents[3] / "shared" / "data"
duckdb = pytest.importorskip("duckdb")

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the real data is not beside this checkout")


@pytest.mark.parametrize(("rows", "q"), [(12, 0.5), (288, 0.9), (2_016, 0.99)])
def test_temperatures_over_rows(rows: int, q: float) -> None:
    with (DATA / "nab_machine_temperature_system_failure.csv").open() as file:
        x = np.array([float(row["value"]) for row in csv.DictReader(file)])
    found = sw.rolling(x, sw.quantile(q), rows=rows)
    assert np.allclose(found, _theirs(x, np.arange(len(x)), f"ROWS BETWEEN {rows - 1} PRECEDING AND CURRENT ROW", q))


@pytest.mark.parametrize(("seconds", "q"), [(1, 0.5), (10, 0.99)])
def test_equipment_over_time(seconds: int, q: float) -> None:
    micros, values = [], []
    for line in (DATA / "debs2012_small.tsv").read_text().splitlines():
        ts, _, mf01, *_ = line.split("\t")
        moment, fraction = ts.removesuffix("+00:00").split(".")
        micros.append(calendar.timegm(datetime.fromisoformat(moment).timetuple()) * 10**6 + int(fraction) // 10)
        values.append(int(mf01))
    times, x = np.array(micros), np.array(values)
    width = seconds * 10**6
    found = sw.rolling(x, sw.quantile(q), times=times, last=width, closed="both")
    assert np.allclose(found, _theirs(x, times, f"RANGE BETWEEN {width} PRECEDING AND CURRENT ROW", q))


def _theirs(x: Any, times: Any, frame: str, q: float) -> Any:
    rows = duckdb.sql(
        f"SELECT quantile_cont(x, {q}) OVER (ORDER BY t {frame}) AS answer "
        "FROM (SELECT unnest($x) AS x, unnest($t) AS t, unnest($i) AS i) ORDER BY i",
        params={"x": x.tolist(), "t": times.tolist(), "i": list(range(len(x)))},
    )
    return rows.fetchnumpy()["answer"]
