"""Spark's Python workers that kill themselves: with this folder on their path, Python runs this file when it starts.

`KILL_AT={"before": [3], "between": [7, 40], "after": []}` kills a worker before the third time that any shard writes
its pages, and after the 7th and the 40th page that is written. They are counted in files of the folder `KILL_IN`.
"""

from __future__ import annotations

import json
import os
import sys


def _moment(name: str) -> None:
    """Count one more moment of this name, in any worker, and die if it is one of those that were asked for."""
    file = os.open(os.path.join(os.environ["KILL_IN"], name), os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    os.write(file, b".")
    count = os.lseek(file, 0, os.SEEK_CUR)
    os.close(file)
    if count in json.loads(os.environ["KILL_AT"])[name]:
        os.kill(os.getpid(), 9)


def _arm() -> None:
    """Give shards pages that kill; workers are forked from this process, and have not imported their shards yet."""
    from slidewise.spark.state import pages

    class Store:
        """A store of pages which a worker may not survive writing to."""

        def __init__(self, store: pages.Store) -> None:
            self.get = store.get
            self.remove = store.remove
            self._put = store.put

        def put(self, number: int, page: bytes) -> None:
            self._put(number, page)
            _moment("between")

    class Pages(pages.Pages):
        def __init__(self, store: pages.Store, fingerprint: str, shard: int) -> None:
            super().__init__(Store(store), fingerprint, shard)

        def flush(self) -> None:
            _moment("before")
            super().flush()
            _moment("after")

    pages.Pages = Pages  # type: ignore[misc]


if "pyspark.daemon" in sys.orig_argv:
    _arm()
