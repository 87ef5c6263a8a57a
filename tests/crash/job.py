"""Streaming jobs in a process of their own, for others to kill: `python job.py DIRECTORY once|until_done [NAME ...]`.

They read the directory's `in`, all at the same time, and write to `out`, each under its name; one of them starts with
the rows of `history.parquet`, which come again, and one changes its definition at every start. When those named, or
all, have gone through everything, the sinks' rows, as Spark reads them, are put into `rows`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))

from sessions import session
from streams import SETTINGS, Files, started

import slidewise as sw
from slidewise.pipeline.spark_session import came_too_late

JOBS = {
    "rows": sw.Sliding(
        by="k",
        on="ts",
        total=sw.sum("x").over("400s"),
        top=sw.max("x").over(rows=5_000),
        last=sw.collect("id").over(rows=2),
        all=sw.count().over("all"),
    ),
    "grain": sw.Sliding(
        by="k",
        on="ts",
        total=sw.sum("x").over("400s", grain="100ms"),
        top=sw.max("x").over("45s", closed="left", grain="5s"),
        coarse=sw.collect("id").over("20s", closed="left", grain="5s"),
    ),
    "beats": sw.Sliding(
        by="k",
        on="ts",
        every="10s",
        total=sw.sum("x").over("400s"),
        top=sw.max("x").over("45s", closed="left"),
        middle=sw.median("x").over("20s"),
    ),
}
WARM = "grain"  # the job that starts with a history
# The job that goes back and forth between two definitions: its whole state is converted in the first micro-batch of
# each start. What the second has more of can be computed from the rows that the first one stores.
UPGRADED = "rows"
OTHER = sw.Sliding(
    by="k",
    on="ts",
    columns=JOBS[UPGRADED].columns,
    spread=sw.stddev("x").over("300s"),
    cells=sw.max("x").over("45s", grain="5s"),
)
SCHEMA = "k string, ts timestamp, x double, id bigint"


def starts_before(directory: Path) -> int:
    """How often the job that changes its definition has been started before."""
    with (directory / "starts").open("ab") as file:
        file.write(b".")
        return file.tell() - 1


def main(directory: Path, how: str, *names: str) -> None:
    spark = session(SETTINGS)
    stream = Files(spark, directory / "in").stream(SCHEMA).withWatermark("ts", "5 seconds")
    history = spark.read.parquet(str(directory / "history.parquet"))
    failed = 0
    left = list(names or JOBS)
    while left:
        queries = {}
        for name in left:
            definition, options = JOBS[name], {"history": history} if name == WARM else {}
            if name == UPGRADED:
                definition = (JOBS[name], OTHER)[starts_before(directory) % 2]
                options = {"upgrade_from": [JOBS[name], OTHER]}
            df = stream.transform(definition, shards=3, **options)
            queries[name] = started(df, directory / "out" / name, directory / "checkpoint" / name)
        (directory / "started").touch()
        for name, query in queries.items():
            try:
                query.awaitTermination()
                left.remove(name)
            except Exception as error:
                failed += 1
                if (how == "once" and not came_too_late(error)) or failed > 200:
                    raise
                print(f"failed: {str(error).splitlines()[0][:200]}", flush=True)
    (directory / "rows").mkdir(exist_ok=True)
    for name in names or JOBS:
        found = spark.read.option("mergeSchema", True).parquet(str(directory / "out" / name)).toArrow()
        pq.write_table(found, directory / "rows" / f"{name}.parquet")
    print(f"done after {failed} failures", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
