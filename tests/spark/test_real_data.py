"""Real events on Spark: the known answers, and Spark's own window functions as the judge where they can say it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from spark_data import QUIET

import slidewise as sw

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = [QUIET, pytest.mark.skipif(not DATA.exists(), reason="the real data is not beside this checkout")]
RIDES = "ride bigint, kind string, ts timestamp, other timestamp, lon double, lat double, lon2 double, lat2 double"


@pytest.fixture(scope="module")
def rides(spark: SparkSession) -> DataFrame:
    """Rides of a busy hour; `far` has nulls and NaN. Many of a driver's or of all rides share a second."""
    schema = f"{RIDES}, passengers int, taxi bigint, driver bigint"
    read = spark.read.csv(str(DATA / "nyc_taxi_rides_100k.csv.gz"), schema=schema)
    far = F.when(F.col("ride") % 11 == 0, F.lit(float("nan"))).when(F.col("ride") % 7 > 0, F.col("lon2"))
    return read.select("*", far.alias("far"), (F.col("taxi") % 50).alias("zone")).cache()


def columns(df: DataFrame, names: list[str]) -> dict[str, Any]:
    table = df.toArrow().sort_by([("ride", "ascending"), ("kind", "ascending")])
    return {name: table[name].to_pylist() for name in names}


def assert_alike(found: dict[str, Any], expected: dict[str, Any], rounded: tuple[str, ...]) -> None:
    for name, values in expected.items():
        assert [value is None for value in found[name]] == [value is None for value in values], name
        mine = np.array([value for value in found[name] if value is not None], float)
        theirs = np.array([value for value in values if value is not None], float)
        assert len(mine) > 50_000
        if name in rounded:
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9, err_msg=name)
        else:
            np.testing.assert_array_equal(mine, theirs, err_msg=name)


@pytest.mark.parametrize("parallel", ["by_key", "by_time"])
def test_windows_of_time_are_sparks_range_frames(rides: DataFrame, parallel: str) -> None:
    frame = Window.partitionBy("zone").orderBy(F.col("ts").cast("bigint")).rangeBetween(-60, 0)
    ours = {
        "top": sw.max("far"),
        "low": sw.min("far"),
        "n": sw.count("far"),
        "riders": sw.sum("passengers"),
        "mean": sw.mean("lon"),
        "spread": sw.stddev("passengers"),
    }
    theirs = {
        "top": F.max("far"),
        "low": F.min("far"),
        "n": F.count("far"),
        "riders": F.sum("passengers"),
        "mean": F.avg("lon"),
        "spread": F.stddev_samp("passengers"),
    }
    definition = sw.Sliding(
        by="zone", on="ts", columns={name: one.over("1 minute", closed="both") for name, one in ours.items()}
    )
    found = columns(rides.transform(definition, parallel=parallel), list(ours))
    expected = columns(rides.select("*", *(f.over(frame).alias(name) for name, f in theirs.items())), list(theirs))
    assert_alike(found, expected, ("mean", "spread"))


def test_windows_of_rows_are_sparks_row_frames(rides: DataFrame) -> None:
    frame = Window.partitionBy("driver").orderBy("ts", "ride", "kind").rowsBetween(-4, 0)
    definition = sw.Sliding(
        by="driver",
        on="ts",
        ties=["ride", "kind"],
        top=sw.max("far").over(rows=5),
        first=sw.first("ride").over(rows=5),
        riders=sw.sum("passengers").over(rows=5),
    )
    found = columns(rides.transform(definition), list(definition.columns))
    theirs = {"top": F.max("far"), "first": F.first("ride"), "riders": F.sum("passengers")}
    expected = columns(rides.select("*", *(f.over(frame).alias(name) for name, f in theirs.items())), list(theirs))
    assert_alike(found, expected, ())


@pytest.mark.parametrize(
    ("last", "closed", "known"),
    [
        ("1s", "both", 280.39619291898214),
        ("1s", "right", 280.38537371832905),
        ("10s", "both", 1417.2288295385404),
        ("10s", "right", 1417.2288295385404),
    ],
)
def test_known_answers(spark: SparkSession, last: str, closed: str, known: float) -> None:
    """Relative variation of a machine's signal, at Spark's microseconds; without a key, so in slices of time."""
    read = spark.read.csv(str(DATA / "debs2012_small.tsv"), sep="\t")
    events = read.select(F.to_timestamp("_c0").alias("ts"), F.col("_c2").cast("bigint").alias("mf01"))
    definition = sw.Sliding(on="ts", swing=sw.relative_variation("mf01").over(last, closed=closed))  # type: ignore[arg-type]
    found = events.transform(definition)
    assert definition.explain(events).spark.parallel == "by_time"
    swings = found.toArrow()["swing"].to_pylist()
    assert len(swings) == 17_000
    assert sum(swings) == pytest.approx(known, rel=1e-12)
