"""Sinks beyond this machine's files: a marker file beside the tables lists those that a job wrote.

Tables there cannot be moved at once, so a job writes them in place. The marker is written first: what a job that was
stopped has left may be replaced, too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from slidewise.errors import SlidewiseError
from slidewise.pipeline.marked_folders import MARK

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject, JVMView  # type: ignore[import-untyped,unused-ignore]
    from pyspark.sql import SparkSession


def claim(spark: SparkSession, sink: str, parts: tuple[str, ...], overwrite: bool) -> None:
    """Write the sink's marker with the tables of a job; an error where one of those exists that no job wrote."""
    try:
        jvm, conf = spark._jvm, spark.sparkContext._jsc.hadoopConfiguration()
    except Exception:  # a session over Spark Connect has no such access
        if overwrite:
            raise SlidewiseError(
                f"whether a job wrote what is in {sink} cannot be told over Spark Connect; remove it there, and run "
                "without --overwrite"
            ) from None
        return
    folder = jvm.org.apache.hadoop.fs.Path(sink)
    system = folder.getFileSystem(conf)
    marker = jvm.org.apache.hadoop.fs.Path(folder, MARK)
    existing = [part for part in parts if system.exists(jvm.org.apache.hadoop.fs.Path(folder, part))]
    if existing and not overwrite:
        raise SlidewiseError(f"{sink} has results already ({', '.join(existing)}); give --overwrite, or another sink")
    others = [part for part in existing if part not in _claimed(jvm, system, marker)]
    if others:
        raise SlidewiseError(
            f"{sink} has {', '.join(others)}, and its {MARK} does not say that a job wrote it; --overwrite replaces "
            "only what a job has written: move it away, or name another sink"
        )
    out = system.create(marker, True)
    try:
        out.write(bytearray(json.dumps({"written_by": "slidewise run", "tables": list(parts)}).encode() + b"\n"))
    finally:
        out.close()


def _claimed(jvm: JVMView, system: JavaObject, marker: JavaObject) -> list[str]:
    """The tables that a marker lists."""
    if not system.exists(marker):
        return []
    stream = system.open(marker)
    try:
        content = json.loads(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        return list(content["tables"]) if content["written_by"] == "slidewise run" else []
    except Exception:  # damaged, or none of ours: nothing is claimed
        return []
    finally:
        stream.close()
