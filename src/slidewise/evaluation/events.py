"""The events of manufacturing equipment (DEBS 2012 Grand Challenge), in order of time: a file's, or made ones."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from slidewise.arrays import Array
from slidewise.errors import SlidewiseError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Events:
    """Times in microseconds, which never run backwards, and the signal mf01."""

    times: Array
    values: Array
    dropped: int  # rows that came later than a newer one
    source: str
    _most: dict[int, int] = field(default_factory=dict, compare=False, repr=False)

    def start(self, width: int) -> int:
        """The first row at which another one leaves a window of so many microseconds; the number of rows for none."""
        return int(np.searchsorted(self.times, self.times[0] + width, "left"))

    def most(self, width: int) -> int:
        """The most rows that such a window ever holds."""
        if width not in self._most:
            first = np.searchsorted(self.times, self.times - width, "right")
            self._most[width] = int((np.arange(1, len(first) + 1) - first).max())
        return self._most[width]


def make_events(count: int, seed: int) -> Events:
    """Made events in the order of their file, less those that come after a newer one."""
    from slidewise.pipeline.synthetic_events import make_order, make_signals, make_times

    choose = np.random.default_rng(seed)
    times = make_times(count, choose)
    signal = make_signals(times, choose)[0]
    order = make_order(count, choose)
    return _in_order(times[order] // 10, signal[order], f"{count:,} made events, seed {seed}")


def read_events(path: Path, most: int | None = None) -> Events:
    """The events of a Parquet file or folder with ts and mf01, or of a file of the challenge, which Spark parses."""
    if not path.exists():
        raise SlidewiseError(f"there is no {path}; give a file of the challenge, or leave --data out for made events")
    if path.is_dir() or path.suffix == ".parquet":
        return _of_parquet(path, path, most)
    with tempfile.TemporaryDirectory(prefix="slidewise-") as folder:
        prepared = Path(folder, "events")
        dropped = prepare(path, prepared)
        events = _of_parquet(prepared, path, most)
        return replace(events, dropped=events.dropped + dropped)


def prepare(path: Path, to: Path) -> int:
    """Parse a file of the challenge with Spark, drop what is out of order, and write Parquet: how many were dropped."""
    from slidewise.pipeline.spark_session import start

    with tempfile.TemporaryDirectory(prefix="slidewise-") as folder:
        spark = start("local[*]", {}, Path(folder, "spark.log"))
        try:
            return prepare_on(spark, path, to)
        finally:
            spark.stop()


def prepare_on(spark: SparkSession, path: Path, to: Path) -> int:
    """The same as `prepare`, on an open Spark session."""
    from slidewise.operators import relative_variation
    from slidewise.pipeline.job.job import ROW, Job
    from slidewise.pipeline.job.line_layouts import DEBS2012
    from slidewise.pipeline.rows.cleaning import clean
    from slidewise.sliding import Sliding

    definition = Sliding(on="ts", columns={"change": relative_variation("mf01").over("10 minutes")})
    job = Job(definition=definition, paths=(str(path.resolve()),), sink=str(to), lines=DEBS2012)
    cleaned = clean(spark, job)
    try:
        cleaned.rows.select("ts", "mf01", ROW).write.parquet(str(to))
        return int(cleaned.late)
    finally:
        cleaned.release()


def _of_parquet(path: Path, source: Path, most: int | None) -> Events:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise SlidewiseError(f"{source} cannot be read as Parquet: {error}") from error
    missing = {"ts", "mf01"} - set(table.column_names)
    if missing:
        raise SlidewiseError(f"{source} has no column {', '.join(sorted(missing))}; the events need ts and mf01")
    if "row" in table.column_names:
        table = table.sort_by("row")
    times = table["ts"]
    if pa.types.is_timestamp(times.type):
        times = times.cast(pa.timestamp("us", times.type.tz), safe=False).cast(pa.int64())
    if times.null_count or table["mf01"].null_count or not len(times):
        raise SlidewiseError(f"{source} has no rows, or nulls in ts or mf01; leave such rows out")
    values = table["mf01"].cast(pa.int64()).to_numpy()
    return _in_order(times.to_numpy()[:most], values[:most], f"{source.name}, {len(table):,} events")


def _in_order(times: Array, values: Array, source: str) -> Events:
    """The events without rows older than one before them, by the rule of the Spark job."""
    in_order = times >= np.maximum.accumulate(times)
    return Events(
        np.ascontiguousarray(times[in_order], np.int64),
        np.ascontiguousarray(values[in_order], np.int64),
        int((~in_order).sum()),
        source,
    )
