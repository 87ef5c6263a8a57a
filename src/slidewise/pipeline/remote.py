"""Sinks beyond this machine's files: a mark beside the tables tells which of them a job wrote.

Tables there cannot be moved at once, so a job writes them in place. The mark is written first: what a job that was
stopped has left may be replaced, too.
"""

from __future__ import annotations

import json
from typing import Any

from slidewise.errors import SlidewiseError
from slidewise.pipeline.folders import MARK


def claim(spark: Any, sink: str, parts: tuple[str, ...], overwrite: bool) -> None:
    """Note in the sink which tables will be a job's; an error where one of those is there that no job wrote."""
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
    mark = jvm.org.apache.hadoop.fs.Path(folder, MARK)
    there = [part for part in parts if system.exists(jvm.org.apache.hadoop.fs.Path(folder, part))]
    if there and not overwrite:
        raise SlidewiseError(f"{sink} has results already ({', '.join(there)}); give --overwrite, or another sink")
    others = [part for part in there if part not in _claimed(jvm, system, mark)]
    if others:
        raise SlidewiseError(
            f"{sink} has {', '.join(others)}, and its {MARK} does not say that a job wrote it; --overwrite replaces "
            "only what a job has written: move it away, or name another sink"
        )
    out = system.create(mark, True)
    try:
        out.write(bytearray(json.dumps({"written_by": "slidewise run", "tables": list(parts)}).encode() + b"\n"))
    finally:
        out.close()


def _claimed(jvm: Any, system: Any, mark: Any) -> list[str]:
    if not system.exists(mark):
        return []
    stream = system.open(mark)
    try:
        said = json.loads(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        return list(said["tables"]) if said["written_by"] == "slidewise run" else []
    except Exception:  # damaged, or none of ours: nothing is claimed
        return []
    finally:
        stream.close()
