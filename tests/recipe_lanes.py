"""One operator through every lane, against a plain computation: what `tests/operators/test_recipe.py` runs in a process
of its own, with a copy of the package that has the operator.

    python recipe_lanes.py NAME FOLDER
"""

from __future__ import annotations

import contextlib
import io
import math
import pickle
import sys
import warnings
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import slidewise as sw
from slidewise.cli import main

warnings.filterwarnings("error", message="operator .* cannot be compiled")

START = datetime(2024, 1, 1, tzinfo=UTC)
MINUTE, GRAIN = 60, 10
Row = dict[str, Any]


def rows() -> list[Row]:
    """Two keys whose values rise and fall; nulls, an infinity, and a gap that empties windows of time."""
    random = np.random.default_rng(1)
    values = [None, math.inf, None, *random.integers(0, 9, 45).astype(float).tolist()]
    seconds = np.cumsum(random.integers(3, 11, len(values))) * 2 + 1
    seconds[30:] += 600
    pairs = zip(values, seconds.tolist(), strict=True)
    return [{"key": "ab"[i % 2], "ts": START + timedelta(seconds=s), "x": x} for i, (x, s) in enumerate(pairs)]


def counted(values: list[float]) -> int | None:
    """The operator's answer over the values of a window, by definition; None where there are none."""
    return sum(b > a for a, b in pairwise(values)) if values else None


def expected(given: list[Row]) -> list[Row]:
    """Each row with the answers over the four windows of `definition`."""
    found = []
    for i, row in enumerate(given):
        at = (row["ts"] - START).total_seconds()
        before = [one for one in given[: i + 1] if one["key"] == row["key"]]
        seconds = [(one["ts"] - START).total_seconds() for one in before]
        edge = (at - MINUTE) // GRAIN * GRAIN
        windows = {
            "five": before[-5:],
            "minute": [one for one, s in zip(before, seconds, strict=True) if s > at - MINUTE],
            "grained": [one for one, s in zip(before, seconds, strict=True) if s > edge],
            "ever": before,
        }
        answers = {
            name: counted([one["x"] for one in window if one["x"] is not None]) for name, window in windows.items()
        }
        found.append(row | answers)
    return found


def definition(op: Any) -> sw.Sliding:
    return sw.Sliding(
        by="key",
        on="ts",
        five=op("x").over(rows=5),
        minute=op("x").over("1 minute"),
        grained=op("x").over("1 minute", grain="10 seconds"),
        ever=op("x").over("all"),
    )


def check(lane: str, found: list[Row], wanted: list[Row]) -> None:
    """The answers of a lane are those wanted, whatever the order of the rows."""
    names = ("five", "minute", "grained", "ever")
    answers = {(row["key"], _utc(row["ts"])): [_plain(row[name]) for name in names] for row in found}
    for row in wanted:
        key = row["key"], row["ts"]
        assert answers.pop(key, None) == [row[name] for name in names], f"{lane}: {key}"
    assert not answers, f"{lane}: rows that nobody asked for: {answers}"


def _utc(time: Any) -> datetime:
    time = time.to_pydatetime() if hasattr(time, "to_pydatetime") else time
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def _plain(value: Any) -> int | None:
    return None if value is None or value != value else int(value)


def in_memory(op: Any, given: list[Row], wanted: list[Row], table: pa.Table) -> None:
    """Arrays, three kinds of tables, live, and a snapshot in the middle."""
    import pandas as pd
    import polars as pl

    x = np.array([3.0, 1.0, 2.0, 2.0, 5.0, 4.0, 6.0])
    assert sw.rolling(x, op, rows=3).tolist() == [0, 0, 1, 1, 1, 1, 1]
    assert sw.rolling(np.append(x, [math.nan, 1.0]), op, rows=3).tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 0]
    assert sw.rolling(x.astype(int), op, times=np.arange(7), last=3).tolist() == [0, 0, 1, 1, 1, 1, 1]
    health = definition(op)
    check("pyarrow", health(table).to_pylist(), wanted)
    check("pandas", health(table.to_pandas()).to_dict("records"), wanted)
    check("polars", health(pl.DataFrame(table)).to_dicts(), wanted)
    assert str(health(table).schema.field("five").type) == "int64"
    assert isinstance(health(pd.DataFrame(table.to_pandas())), pd.DataFrame)
    live = health.live()
    check("push", [row | live.push(row) for row in given], wanted)
    live, half = health.live(), len(given) // 2
    first = live.push_many(table.slice(0, half)).to_pylist()
    live = health.restore(live.snapshot())
    later = live.push_many(table.slice(half)).to_pylist()
    check("push_many and a snapshot", [a | b for a, b in zip(given, [*first, *later], strict=True)], wanted)


def on_spark(op: Any, folder: Path, wanted: list[Row], table: pa.Table) -> None:
    """A DataFrame, a stream and a job file, on one session."""
    from sessions import session
    from streams import SETTINGS, Files, answered, run

    spark = session(SETTINGS)
    health = definition(op)
    files = Files(spark, folder / "in")
    files.add(table.slice(0, 20))
    files.add(table.slice(20))
    frame = spark.read.parquet(str(files.path))
    check("Spark batch", [row.asDict() for row in health(frame, parallel="by_key").collect()], wanted)
    beyond = pa.Table.from_pylist([{"key": "a", "ts": START + timedelta(days=1), "x": 0.0}], table.schema)
    files.add(beyond)  # which moves the watermark on, and waits itself
    stream = files.stream(frame.schema).withWatermark("ts", "1 second").transform(health, shards=1)
    run(stream, folder / "out", folder / "checkpoint")
    check("Spark stream", answered(folder / "out").to_pylist(), wanted)
    (folder / "rows").mkdir()
    pq.write_table(table, folder / "rows" / "rows.parquet")
    job = folder / "job.toml"
    text = health.to_toml().replace("[columns.", "[definition.columns.")
    job.write_text(
        f"[source]\nformat = 'parquet'\npath = 'rows'\nschema = 'key string, ts timestamp, x double'\n"
        f"[spark]\nmaster = 'local[2]'\n[sink]\npath = 'result'\n[definition]\n{text}"
    )
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["run", str(job)]) == 0
    check("a job file", pq.read_table(folder / "result" / "rows").to_pylist(), wanted)


def run_lanes(name: str, folder: Path) -> None:
    op: Any = getattr(sw, name)
    assert (
        pickle.loads(pickle.dumps(op)) == op == sw.Sliding.from_toml(definition(op).to_toml()).columns["five"].operator
    )
    assert repr(op) == f"sw.{name}"
    sw.check_laws(op, [3, 1, 2.0, math.nan])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["operators"]) == 0
    assert f"{name} " in printed.getvalue()
    given = rows()
    wanted = expected(given)
    table = pa.Table.from_pylist(
        given, pa.schema({"key": pa.string(), "ts": pa.timestamp("us", "UTC"), "x": pa.float64()})
    )
    in_memory(op, given, wanted, table)
    if "--spark" in sys.argv:
        on_spark(op, folder, wanted, table)


if __name__ == "__main__":
    run_lanes(sys.argv[1], Path(sys.argv[2]))
