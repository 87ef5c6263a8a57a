"""The streams whose checkpoints lie in spark/golden; `python tests/golden_checkpoint.py` writes them.

The archive holds, for each stream, Spark's checkpoint after three files of rows, some of which still wait for the
watermark, and the answers given until then. One key is large: its rows lie in chunks of their own. Where the format of
pages changes, write a new archive beside the old one, and keep that readable.
"""

from __future__ import annotations

import random
import tarfile
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from streams import SETTINGS, Files, answered, started

import slidewise as sw

ARCHIVE = Path(__file__).parent / "spark" / "golden" / "checkpoint_v3.tar.xz"
START = datetime(2024, 3, 1, tzinfo=UTC)
SCHEMA = "k string, ts timestamp, id bigint, x double, n bigint, ok boolean, word string"
DELAY = "20 seconds"
DEFINITIONS = {
    "rows": sw.Sliding(
        by="k",
        on="ts",
        total=sw.sum("x").over("300s"),
        spread=sw.stddev("x").over("200s", closed="both"),
        top=sw.max("x").over(rows=250),
        before=sw.mean("x").over(rows=40, closed="left", at_least=7),
        last=sw.collect("id").over(rows=3),
        where=sw.maxcount("n").where("ok").over("300s", closed="neither"),
        longest=sw.max("word").over("600s"),
        all=sw.sum("n").over("all"),
        so_far=sw.stddev("x").over("all", closed="left"),
        middle=sw.median("n").over("120s"),
        about=sw.quantile(0.9, approximate=0.05)("x").over("300s"),
        distinct=sw.hyperloglog(p=4)("n").over("300s"),
        seen=sw.bloom(bits=64, probe=3)("n").over(rows=250),
    ),
    "grain": sw.Sliding(
        by="k",
        on="ts",
        total=sw.sum("x").over("300s", grain="10s"),
        top=sw.max("x").over("45s", closed="left", grain="5s"),
        listed=sw.collect("id").over("20s", closed="left", grain="5s"),
        distinct=sw.hyperloglog(p=4)("n").over("300s", grain="30s"),
        about=sw.quantile(0.9, approximate=0.05)("x").over("300s", grain="60s"),
        exact=sw.count().over("300s"),
    ),
    "beats": sw.Sliding(
        by="k",
        on="ts",
        every="20s",
        total=sw.sum("x").over("300s"),
        top=sw.max("x").over("45s", closed="left"),
        middle=sw.median("n").over("60s"),
    ),
}


def files() -> list[pa.Table]:
    """Five files of rows, out of order within the watermark's delay; most rows are of one key."""
    choose = random.Random(1)
    count = 1_500
    seconds = sorted(choose.randrange(2_400_000) / 1_000 for _ in range(count))
    table = pa.table(
        {
            "k": [choose.choice(["large"] * 8 + ["a", "b", None]) for _ in seconds],
            "ts": pa.array([START + timedelta(seconds=s) for s in seconds], pa.timestamp("us", "UTC")),
            "id": list(range(count)),
            "x": [choose.choice([None, 1.5, -2.25, 0.1, 1e10, 7.0]) for _ in seconds],
            "n": [choose.choice([None, 1, 2, 3, 2**40]) for _ in seconds],
            "ok": [choose.choice([True, False, None]) for _ in seconds],
            "word": [choose.choice("pq") * 800 for _ in seconds],
        }
    )
    arrival = sorted(range(count), key=lambda i: seconds[i] + choose.random() * 19)
    return [table.take(arrival[i : i + count // 5]) for i in range(0, count, count // 5)]


WRITTEN = 3  # of these files
FOLDER = b"/the/folder"  # as the archive names the folder in which the streams ran


def unpacked(folder: Path) -> None:
    """The archive's files, as if the streams had run in this folder."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    _rename(folder, FOLDER, bytes(folder))


def _rename(folder: Path, old: bytes, new: bytes) -> None:
    for kind in ("sources/0", "state/0/_metadata/v2"):
        for path in (folder / "checkpoint").glob(f"*/{kind}/[0-9]*"):
            path.write_bytes(path.read_bytes().replace(old, new))


def go(spark: Any, folder: Path, tables: list[pa.Table]) -> None:
    """Run all streams over these files, from where they last were, into `out`."""
    source = Files(spark, folder / "in")
    for table in tables:
        source.add(table)
    stream = source.stream(SCHEMA).withWatermark("ts", DELAY)
    queries = [
        started(stream.transform(one, shards=2), folder / "out" / name, folder / "checkpoint" / name)
        for name, one in DEFINITIONS.items()
    ]
    for query in queries:
        query.awaitTermination()


def main() -> None:
    from sessions import session

    from slidewise.spark.java import provide

    provide()
    spark = session(SETTINGS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        go(spark, folder, files()[:WRITTEN])
        pages = (
            spark.read.format("statestore").option("stateVarName", "pages").load(str(folder / "checkpoint" / "rows"))
        )
        numbers = [row[0] for row in pages.select("user_map_key.number").collect()]
        assert any(2**36 < number < 2**62 for number in numbers), "no key was large"
        spark.stop()
        (folder / "answers").mkdir()
        for one in DEFINITIONS:
            found = answered(folder / "out" / one).drop_columns([] if one == "beats" else ["x", "n", "ok", "word"])
            pq.write_table(found, folder / "answers" / f"{one}.parquet", compression="zstd")
        for path in (folder / "checkpoint").rglob(".*.crc"):
            path.unlink()
        _rename(folder, bytes(folder), FOLDER)
        ARCHIVE.parent.mkdir(exist_ok=True)
        with tarfile.open(ARCHIVE, "w:xz") as archive:
            for one in ("checkpoint", "answers"):
                archive.add(folder / one, one)
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
