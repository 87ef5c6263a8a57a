"""A streaming job in a process of its own, for others to kill: `python job.py DIRECTORY once|until_done`.

It reads the directory's `in` and writes to its `out`. When it has gone through everything it puts the sink's rows, as
Spark reads them, into `rows.parquet`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))

from sessions import session
from streams import SETTINGS, Files, run

import slidewise as sw

DEFINITION = sw.Sliding(
    by="k",
    on="ts",
    total=sw.sum("x").over("400s"),
    top=sw.max("x").over(rows=5_000),
    last=sw.collect("id").over(rows=2),
    all=sw.count().over("all"),
    fine=sw.sum("x").over("400s", grain="100ms"),
    coarse=sw.collect("id").over("20s", closed="left", grain="5s"),
)
SCHEMA = "k string, ts timestamp, x double, id bigint"


def main(directory: Path, how: str) -> None:
    spark = session(SETTINGS)
    stream = Files(spark, directory / "in").stream(SCHEMA).withWatermark("ts", "5 seconds")
    failed = 0
    while True:
        try:
            run(stream.transform(DEFINITION, shards=3), directory / "out", directory / "checkpoint")
            break
        except Exception as error:
            failed += 1
            if how == "once" or failed > 200:
                raise
            print(f"failed: {str(error).splitlines()[0][:200]}", flush=True)
    pq.write_table(spark.read.parquet(str(directory / "out")).toArrow(), directory / "rows.parquet")
    print(f"done after {failed} failures", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
