"""The numbers of a stream for Prometheus: served as text on a port of this machine alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import time
from typing import TYPE_CHECKING

from slidewise.errors import SlidewiseError
from slidewise.pipeline.stream.numbers import StreamNumbers

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

HOST = "127.0.0.1"


class StreamCollector:
    """Collects the metrics of a stream whenever they are asked for; counts are those since the job was started."""

    def __init__(self, numbers: StreamNumbers) -> None:
        self._numbers = numbers

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        numbers = self._numbers.snapshot()
        counters = {
            "rows_in": ("Rows read from the source.", numbers.rows_in),
            "rows_out": ("Rows, or beats, answered.", numbers.rows_out),
            "late_rows": ("Rows dropped, since they came after the watermark.", numbers.late),
            "ahead_rows": ("Rows put aside, since they lie too far ahead of the clock.", numbers.ahead),
            "before_history_rows": ("Rows dropped, since the history has them.", numbers.before_history),
            "batches": ("Micro-batches done.", numbers.batches),
        }
        for name, (words, count) in counters.items():
            yield CounterMetricFamily(f"slidewise_{name}", words, value=count)
        rejected = CounterMetricFamily("slidewise_rejected_rows", "Rows that could not be read.", labels=["reason"])
        for reason, count in numbers.rejected.items():
            rejected.add_metric([reason], count)
        yield rejected
        lag = numbers.lag(time())
        if lag is not None:
            words = "How far the watermark lies behind the clock."
            yield GaugeMetricFamily("slidewise_watermark_lag_seconds", words, value=lag)
        words = "What RocksDB holds of the state, on disk and in memory."
        yield GaugeMetricFamily("slidewise_state_bytes", words, value=numbers.state_bytes)
        yield GaugeMetricFamily(
            "slidewise_batch_seconds", "How long the last micro-batch took.", value=numbers.batch_seconds
        )


def registry_of(numbers: StreamNumbers) -> CollectorRegistry:
    """A registry with the numbers of one stream, and nothing else."""
    try:
        from prometheus_client import CollectorRegistry
    except ImportError as error:
        raise SlidewiseError(
            f"--metrics needs prometheus-client ({error}): pip install 'slidewise[metrics]'"
        ) from error
    registry = CollectorRegistry()
    registry.register(StreamCollector(numbers))  # type: ignore[arg-type,unused-ignore]
    return registry


@contextmanager
def served(numbers: StreamNumbers, port: int | None) -> Iterator[str | None]:
    """Serve the numbers on this port, if one is given, until the block ends; the address. Port 0 is any free one."""
    if port is None:
        yield None
        return
    registry = registry_of(numbers)
    from prometheus_client import start_http_server

    try:
        server, thread = start_http_server(port, addr=HOST, registry=registry)
    except OSError as error:
        raise SlidewiseError(
            f"the port {port} cannot be served on {HOST} ({error.strerror}); give another, such as --metrics 0"
        ) from error
    try:
        yield f"http://{HOST}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
