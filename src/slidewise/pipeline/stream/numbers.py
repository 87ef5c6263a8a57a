"""Numbers of a stream while it runs: counts since its start, and the last micro-batches, from Spark's progress."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from slidewise.pipeline.stream.queries import REJECTED
from slidewise.spark.stream.query import METRICS

SHOWN = 40  # micro-batches that are remembered, for rates and the plot


@dataclass(frozen=True)
class BatchReport:
    """One micro-batch: when it began, how long it took, and how many rows went in and came out."""

    begin: float
    seconds: float
    rows_in: int
    rows_out: int


@dataclass
class StreamNumbers:
    """What a stream has done since it was started, and how it is doing."""

    rows_in: int = 0
    rows_out: int = 0
    late: int = 0
    ahead: int = 0
    before_history: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    batches: int = 0
    batch: int | None = None  # the number of the last micro-batch
    watermark: float | None = None  # in seconds since 1970; None before there is one
    state_bytes: int = 0
    recent: deque[BatchReport] = field(default_factory=lambda: deque(maxlen=SHOWN))
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def add(self, progress: Mapping[str, Any]) -> None:
        """Count one progress of Spark's, as a dict; a micro-batch without data has no counts, or null ones."""
        with self._lock:
            self._add(progress)

    def snapshot(self) -> StreamNumbers:
        """A copy for another thread, in which all numbers are of the same moment."""
        with self._lock:
            return replace(self, rejected=dict(self.rejected), recent=self.recent.copy(), _lock=Lock())

    def _add(self, progress: Mapping[str, Any]) -> None:
        metrics = progress.get("observedMetrics") or {}
        counts = {name: count or 0 for name, count in (metrics.get(METRICS) or {}).items()}
        rows_in, rows_out = progress.get("numInputRows") or 0, counts.get("answered", 0)
        self.rows_in += rows_in
        self.rows_out += rows_out
        self.late += counts.get("dropped", 0)
        self.ahead += counts.get("ahead", 0)
        self.before_history += counts.get("before_history", 0)
        for reason, count in (metrics.get(REJECTED) or {}).items():
            if count:
                self.rejected[reason] = self.rejected.get(reason, 0) + count
        self.batches += 1
        self.batch = progress.get("batchId")
        mark = seconds_of((progress.get("eventTime") or {}).get("watermark"))
        if mark:  # Spark's first one is 1970, which stands for none
            self.watermark = mark
        operators = progress.get("stateOperators") or []
        if operators:
            self.state_bytes = sum(map(_state_bytes, operators))
        took = ((progress.get("durationMs") or {}).get("triggerExecution") or 0) / 1_000
        self.recent.append(BatchReport(seconds_of(progress.get("timestamp")) or 0.0, took, rows_in, rows_out))

    @property
    def lost(self) -> int:
        """Rows that were dropped as late, or put aside as too far ahead."""
        return self.late + self.ahead

    @property
    def batch_seconds(self) -> float:
        """How long the last micro-batch took."""
        return self.recent[-1].seconds if self.recent else 0.0

    def rates(self) -> tuple[float, float]:
        """Rows per second in and out, from the first of the recent micro-batches to the end of the last."""
        if not self.recent:
            return 0.0, 0.0
        last = self.recent[-1]
        seconds = max(last.begin + last.seconds - self.recent[0].begin, 1e-3)
        return sum(at.rows_in for at in self.recent) / seconds, sum(at.rows_out for at in self.recent) / seconds

    def lag(self, now: float) -> float | None:
        """How far the watermark lies behind the clock, in seconds."""
        return None if self.watermark is None else now - self.watermark


def seconds_of(text: str | None) -> float | None:
    """A time of Spark's progress, which is UTC, in seconds since 1970.

    >>> seconds_of("1970-01-01T00:01:00.500Z"), seconds_of(None)
    (60.5, None)
    """
    if text is None:
        return None
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _state_bytes(operator: Mapping[str, Any]) -> int:
    """What RocksDB holds of an operator's state: its files, and its memory."""
    files = (operator.get("customMetrics") or {}).get("rocksdbSstFileSize") or 0
    return int(files + (operator.get("memoryUsedBytes") or 0))
