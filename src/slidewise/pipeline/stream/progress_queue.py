"""Progress of queries as it happens: Spark reports each micro-batch once, and this process counts it once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, Queue
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

DRAIN_SECONDS = 20.0  # for the last reports to come, once a query has ended


class ProgressQueue:
    """Reports of queries in the order in which they came, and which runs of queries have ended.

    Spark calls from a thread of its own, so all that is done there is to put a report into a queue.
    """

    def __init__(self) -> None:
        self._reports: Queue[tuple[str, Any]] = Queue()
        self.batches: Counter[str] = Counter()  # reported micro-batches by the run of a query
        self.ended: set[str] = set()

    def put_progress(self, text: str) -> None:
        self._reports.put(("progress", text))

    def put_end(self, run: str) -> None:
        self._reports.put(("end", run))

    def take(self, run: str, wait: float = 0.0) -> list[dict[str, Any]]:
        """All reports of one run of a query that came since the last call; those of others are only counted.

        Where there is none at all, one is waited for, at most so many seconds.
        """
        progress: list[dict[str, Any]] = []
        while True:
            try:
                kind, report = self._reports.get(wait > 0, wait)
            except Empty:
                return progress
            wait = 0.0
            if kind == "end":
                self.ended.add(report)
                continue
            parsed = json.loads(report)
            self.batches[parsed["runId"]] += 1
            if parsed["runId"] == run:
                progress.append(parsed)

    def take_last(self, run: str) -> list[dict[str, Any]]:
        """The reports that are left of a run that has ended: Spark says so behind the last of them."""
        progress = self.take(run)
        until = monotonic() + DRAIN_SECONDS
        while run not in self.ended and monotonic() < until:
            progress += self.take(run, 0.1)
        return progress


@contextmanager
def listening(spark: SparkSession) -> Iterator[ProgressQueue]:
    """A queue that gets the reports of all queries of a session, until the block ends."""
    from pyspark.sql.streaming import StreamingQueryListener

    queue = ProgressQueue()

    class Listener(StreamingQueryListener):  # type: ignore[misc,unused-ignore]
        def onQueryStarted(self, event: QueryStartedEvent) -> None:
            pass

        def onQueryProgress(self, event: QueryProgressEvent) -> None:
            queue.put_progress(event.progress.json)

        def onQueryIdle(self, event: QueryIdleEvent) -> None:
            pass

        def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
            queue.put_end(str(event.runId))

    listener = Listener()
    spark.streams.addListener(listener)
    try:
        yield queue
    finally:
        spark.streams.removeListener(listener)
