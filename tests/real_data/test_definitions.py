"""Definitions on real events: the known answers, and what pandas, polars and DuckDB say where they can say it."""

from __future__ import annotations

import calendar
import gzip
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

import slidewise as sw

DATA = Path(__file__).parents[3] / "shared" / "data"

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the real data is not beside this checkout")


@pytest.fixture(scope="module")
def equipment() -> pa.Table:
    """Times in nanoseconds, mf01 and mf02."""
    rows = []
    for line in (DATA / "debs2012_small.tsv").read_text().splitlines():
        ts, _, mf01, mf02, *_ = line.split("\t")
        moment, fraction = ts.removesuffix("+00:00").split(".")
        seconds = calendar.timegm(datetime.fromisoformat(moment).timetuple())
        rows.append((seconds * 10**9 + int(fraction) * 100, int(mf01), int(mf02)))
    ticks, mf01, mf02 = map(np.array, zip(*rows, strict=True))
    return pa.table({"ts": pa.array(ticks, pa.timestamp("ns", "UTC")), "mf01": mf01, "mf02": mf02})


@pytest.fixture(scope="module")
def rides() -> pa.Table:
    """Taxi rides: many keys, times in whole seconds, so that many rows share theirs."""
    names = [
        "ride",
        "kind",
        "ts",
        "other",
        "start_lon",
        "start_lat",
        "end_lon",
        "end_lat",
        "passengers",
        "taxi",
        "driver",
    ]
    with gzip.open(DATA / "nyc_taxi_rides_100k.csv.gz") as file:
        options = pa.csv.ReadOptions(column_names=names)
        table = pa.csv.read_csv(file, options)
    return table.select(["ride", "kind", "ts", "passengers", "taxi", "end_lon", "end_lat"]).slice(0, 40_000)


@pytest.fixture(scope="module")
def temperatures() -> pa.Table:
    return pa.csv.read_csv(DATA / "nab_machine_temperature_system_failure.csv")


SWING = sw.Sliding(
    on="ts",
    both_1=sw.relative_variation("mf01").over("1 second", closed="both"),
    right_1=sw.relative_variation("mf01").over("1 second"),
    both_10=sw.relative_variation("mf01").over("10 seconds", closed="both"),
    right_10=sw.relative_variation("mf01").over("10 seconds"),
)
AT_100_NS = [280.395357500171, 280.38967389228714, 1417.2288295385404, 1417.2288295385404]
AT_1_US = [280.39619291898214, 280.38537371832905, 1417.2288295385404, 1417.2288295385404]


@pytest.mark.parametrize(("unit", "expected"), [("ns", AT_100_NS), ("us", AT_1_US)])
def test_the_known_answers_in_every_kind_of_table(equipment: pa.Table, unit: str, expected: list[float]) -> None:
    times = equipment["ts"].cast(pa.timestamp(unit, "UTC"), safe=False)
    table = equipment.set_column(0, "ts", times)
    for found in (
        SWING(table),
        pa.Table.from_pandas(SWING(table.to_pandas())),
        SWING(pl.from_arrow(table)).to_arrow(),
        SWING.live().push_many(table),
    ):
        for name, total in zip(SWING.columns, expected, strict=True):
            assert float(np.sum(found[name].to_numpy())) == pytest.approx(total, rel=1e-12)


def test_the_known_answers_one_event_at_a_time(equipment: pa.Table) -> None:
    live = SWING.live()
    times = equipment["ts"].cast(pa.int64()).to_numpy().view("M8[ns]")
    totals = dict.fromkeys(SWING.columns, 0.0)
    for ts, mf01 in zip(times, equipment["mf01"].to_pylist(), strict=True):
        for name, value in live.push({"ts": ts, "mf01": mf01}).items():
            totals[name] += value
    assert list(totals.values()) == pytest.approx(AT_100_NS, rel=1e-12)


def test_taxis_against_duckdb(rides: pa.Table) -> None:
    """RANGE frames with ties, keys and FILTER; DuckDB's frame is closed on both ends."""
    table = rides.append_column("many", pa.array(rides["passengers"].to_numpy() > 2))
    definition = sw.Sliding(
        by="taxi",
        on="ts",
        most=sw.max("passengers").over("20 minutes", closed="both"),
        total=sw.sum("passengers").over("20 minutes", closed="both"),
        mean=sw.mean("end_lon").over("1 hour", closed="both"),
        full=sw.count().where("many").over("1 hour", closed="both"),
        so_far=sw.count().over("all"),
        drivers=sw.count_distinct("ride").over("1 hour", closed="both"),
    )
    with_row = table.append_column("row", pa.array(range(len(table))))
    found = definition(with_row).to_pandas().sort_values("row")
    hour, minutes = "(PARTITION BY taxi ORDER BY ts RANGE INTERVAL 1 HOUR PRECEDING)", "INTERVAL 20 MINUTE"
    connection = duckdb.connect()
    connection.register("events", with_row)
    peer = connection.sql(f"""
        SELECT row, max(passengers) OVER short AS most, sum(passengers) OVER short AS total,
               avg(end_lon) OVER long AS mean, count(*) FILTER (many) OVER long AS "full",
               count(*) OVER (PARTITION BY taxi ORDER BY ts) AS so_far, count(DISTINCT ride) OVER long AS drivers
        FROM events
        WINDOW short AS (PARTITION BY taxi ORDER BY ts RANGE {minutes} PRECEDING), long AS {hour}
        ORDER BY row
    """).to_arrow_table().to_pandas()  # fmt: skip
    for name in ("most", "total", "full", "so_far", "drivers"):
        assert (found[name].to_numpy() == peer[name].astype("int64").to_numpy()).all(), name
    np.testing.assert_allclose(found["mean"].to_numpy(), peer["mean"].to_numpy(), rtol=1e-12)


def test_taxis_one_event_at_a_time_and_in_batches(rides: pa.Table) -> None:
    """What waits for its peers is answered as the table is, whatever the batches."""
    table = rides.slice(0, 12_000).append_column("row", pa.array(range(12_000)))
    definition = sw.Sliding(
        by="taxi",
        on="ts",
        ties="row",
        total=sw.sum("passengers").over("20 minutes"),
        rides=sw.collect("ride").over(rows=3),
        first=sw.first("end_lat").over("20 minutes", closed="left"),
    )
    expected = definition(table).to_pylist()
    live = definition.live(late="wait:1 minute")
    found: list[dict[str, Any]] = []
    for at in range(0, 12_000, 3_000):
        piece = table.slice(at, 3_000)
        if at == 6_000:
            for row in piece.to_pylist():
                found += live.push(row)
        else:
            found += live.push_many(piece).to_pylist()
    found += live.flush()
    assert live.stats.late == 0
    assert sorted(found, key=lambda row: row["row"]) == expected


def test_temperatures_against_pandas_and_polars(temperatures: pa.Table) -> None:
    """Times with a real backward jump: the definition sorts, the others must be given sorted rows."""
    definition = sw.Sliding(
        on="timestamp",
        top=sw.max("value").over("3 hours"),
        mean=sw.mean("value").over("3 hours"),
        deviation=sw.stddev("value").over(rows=100),
        low=sw.min("value").over(rows=100, at_least=50),
    )
    found = definition(temperatures).to_pandas()
    ordered = found.sort_values(["timestamp", "value"], kind="stable")
    series = ordered.set_index("timestamp")["value"]
    # pandas lets a row of a pair with equal times not see the other, so only times that stand alone are compared.
    alone = ~ordered["timestamp"].duplicated(keep=False).to_numpy()
    assert 20 < (~alone).sum() < 30
    pandas_top, pandas_mean = series.rolling("3h").max().to_numpy(), series.rolling("3h").mean().to_numpy()
    assert (ordered["top"].to_numpy()[alone] == pandas_top[alone]).all()
    np.testing.assert_allclose(ordered["mean"].to_numpy()[alone], pandas_mean[alone], rtol=1e-12)
    values = pl.Series(ordered["value"].to_numpy())
    low = values.rolling_min(100, min_samples=50).to_numpy()
    np.testing.assert_array_equal(ordered["low"].to_numpy(), low)
    deviation = pd.Series(ordered["value"].to_numpy()).rolling(100, min_periods=2).std().to_numpy()
    np.testing.assert_allclose(ordered["deviation"].to_numpy(), deviation, rtol=1e-9)
    frame = pl.DataFrame({"ts": ordered["timestamp"].to_numpy().astype("M8[us]"), "x": ordered["value"].to_numpy()})
    rolled = frame.rolling("ts", period="3h").agg(pl.col("x").max())["x"].to_numpy()
    assert (ordered["top"].to_numpy() == rolled).all()
