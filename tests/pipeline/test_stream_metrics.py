"""Numbers of a stream from Spark's progress: counted once, shown in the terminal, and served for Prometheus."""

from __future__ import annotations

import io
import json
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from scraping import scraped

import slidewise as sw
from slidewise.pipeline.spark_session import ATTEMPTS
from slidewise.pipeline.stream import run as stream_run
from slidewise.pipeline.stream.checkpoint_lock import LOCK, locked
from slidewise.pipeline.stream.display import LINE_SECONDS, StreamDisplay, line_of, table_of
from slidewise.pipeline.stream.numbers import SHOWN, StreamNumbers
from slidewise.pipeline.stream.progress_queue import ProgressQueue
from slidewise.pipeline.stream.prometheus import served
from slidewise.pipeline.stream.run import run_stream_job

NOW = 1_772_323_300.0  # 2026-03-01T00:01:40Z


def progress(batch: int, rows: int, answered: int | None, dropped: int | None = 0, **more: Any) -> dict[str, Any]:
    """A progress as Spark gives it."""
    counts = {"answered": answered, "dropped": dropped, "ahead": None if answered is None else 1, "before_history": 0}
    return {
        "runId": "run",
        "batchId": batch,
        "timestamp": f"2026-03-01T00:00:{10 * batch:02}.000Z",
        "numInputRows": rows,
        "durationMs": {"addBatch": 900, "triggerExecution": 1_000 * (batch + 1)},
        "eventTime": {"watermark": "2026-03-01T00:00:00.000Z" if batch else "1970-01-01T00:00:00.000Z"},
        "stateOperators": [{"memoryUsedBytes": 1_000_000, "customMetrics": {"rocksdbSstFileSize": 500_000}}],
        "observedMetrics": {"slidewise": counts, "slidewise_rejected": {"bad time": batch, "short line": 0}},
        **more,
    }


@pytest.fixture
def numbers() -> StreamNumbers:
    """The numbers after three micro-batches: one that only read, one that answered, and one without data."""
    made = StreamNumbers()
    made.add(progress(0, 100, None, None))
    made.add(progress(1, 300, 250, 7))
    made.add(progress(2, 0, 0, observedMetrics={}, stateOperators=[], eventTime={}))
    return made


def test_counts_of_progress(numbers: StreamNumbers) -> None:
    assert (numbers.rows_in, numbers.rows_out, numbers.late, numbers.ahead, numbers.lost) == (400, 250, 7, 1, 8)
    assert numbers.rejected == {"bad time": 1}
    assert (numbers.batches, numbers.batch, numbers.batch_seconds) == (3, 2, 3.0)
    assert numbers.state_bytes == 1_500_000, "a micro-batch without state does not forget it"
    assert numbers.lag(NOW) == 100.0
    assert numbers.rates() == (400 / 23, 250 / 23), "from the first one's begin to the last one's end"
    assert StreamNumbers().rates() == (0.0, 0.0)
    assert StreamNumbers().lag(NOW) is None


def test_a_checkpoint_that_spark_finds_in_use() -> None:
    error = RuntimeError("[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs ...")
    job: Any = SimpleNamespace(stream=SimpleNamespace(checkpoint="s3://bucket/checkpoint"))
    assert "s3://bucket/checkpoint is in use by another query; stop" in str(stream_run._in_use(error, job))
    assert stream_run._in_use(RuntimeError("[CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT] ..."), job) is None


def test_few_micro_batches_are_remembered(numbers: StreamNumbers) -> None:
    for batch in range(3 * SHOWN):
        numbers.add(progress(batch % 6, 10, 10))
    assert len(numbers.recent) == SHOWN
    assert numbers.batches == 3 + 3 * SHOWN


def shown(table: Any) -> str:
    out = io.StringIO()
    Console(file=out, width=100).print(table)
    return out.getvalue()


def test_the_table(numbers: StreamNumbers) -> None:
    lines = [re.sub(r"\s+", " ", line).strip() for line in shown(table_of(numbers, NOW, "ending")).splitlines()]
    assert lines == [
        "rows in 400 17 rows/s",
        "rows out 250 11 rows/s",
        "late 7 and 1 ahead",
        "rejected 1 bad time 1",
        "watermark 100.0 s behind the clock",
        "state 1.5 MB",
        "batch 2 3.0 s ▃▆█",
        "ending",
    ]
    assert "none yet" in shown(table_of(StreamNumbers(), NOW))


def test_plain_lines_where_there_is_no_terminal(numbers: StreamNumbers) -> None:
    assert line_of(numbers, NOW) == (
        "batch 2: in 400 (17/s), out 250 (11/s), late 8, rejected 1, watermark 100.0 s behind the clock, state 1.5 MB, "
        "batch time 3.0 s"
    )
    out, now = io.StringIO(), [0.0]
    with StreamDisplay(Console(file=out, width=40), lambda: now[0]) as display:
        display.update(StreamNumbers())
        assert not out.getvalue(), "nothing has happened yet"
        for now[0] in (0.0, 1.0, LINE_SECONDS - 0.1):
            numbers.add(progress(3, 1, 1))
            display.update(numbers)
        assert out.getvalue().count("\n") == 1, "quick micro-batches share a line"
        now[0] = LINE_SECONDS
        display.update(numbers)
        assert out.getvalue().count("\n") == 2
        now[0] = 3 * LINE_SECONDS
        display.update(numbers)
        assert out.getvalue().count("\n") == 2, "an idle stream says nothing"
        display.say("ending")
    assert out.getvalue().endswith("\nending\n")


def test_the_terminal_is_kept_up_to_date(numbers: StreamNumbers) -> None:
    out = io.StringIO()
    with StreamDisplay(Console(file=out, force_terminal=True, width=100)) as display:
        display.update(numbers)
        display.say("ending")
        display.update(numbers)
    assert "rows in" in out.getvalue()
    assert "ending" in out.getvalue()


def test_prometheus_gets_the_same_numbers(numbers: StreamNumbers) -> None:
    with served(numbers, 0) as address:
        assert address is not None
        assert address.startswith("http://127.0.0.1:")
        first = scraped(address)
        numbers.add(progress(3, 50, 60))
        second = scraped(address)["samples"]
    lag = first["samples"].pop(("slidewise_watermark_lag_seconds",))
    assert lag > 0
    assert first["samples"] == {
        ("slidewise_rows_in_total",): 400,
        ("slidewise_rows_out_total",): 250,
        ("slidewise_late_rows_total",): 7,
        ("slidewise_ahead_rows_total",): 1,
        ("slidewise_before_history_rows_total",): 0,
        ("slidewise_rejected_rows_total", "bad time"): 1,
        ("slidewise_batches_total",): 3,
        ("slidewise_state_bytes",): 1_500_000,
        ("slidewise_batch_seconds",): 3,
    }
    counters = {name for name, kind in first["types"].items() if kind == "counter"}
    names = ("rows_in", "rows_out", "late_rows", "ahead_rows", "before_history_rows", "rejected_rows", "batches")
    assert counters == {f"slidewise_{name}" for name in names}
    assert (second[("slidewise_rows_in_total",)], second[("slidewise_rows_out_total",)]) == (450, 310)
    with pytest.raises(OSError, match="refused"):
        scraped(address)


def test_a_lag_is_not_served_before_there_is_a_watermark() -> None:
    with served(StreamNumbers(), 0) as address:
        assert address is not None
        assert ("slidewise_watermark_lag_seconds",) not in scraped(address)["samples"]
    with served(StreamNumbers(), None) as address:
        assert address is None


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with (
            pytest.raises(sw.SlidewiseError, match=rf"the port {port} cannot be served on 127.0.0.1 \(Address already"),
            served(StreamNumbers(), port),
        ):
            pass


def test_metrics_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with (
        pytest.raises(sw.SlidewiseError, match=r"--metrics needs prometheus-client .*: pip install 'slidewise\[m"),
        served(StreamNumbers(), 0),
    ):
        pass


def test_each_report_is_taken_once() -> None:
    queue = ProgressQueue()
    for batch in range(3):
        queue.put_progress(json.dumps(progress(batch, 1, 1)))
    queue.put_progress(json.dumps({"runId": "another", "batchId": 0}))
    assert [report["batchId"] for report in queue.take("run")] == [0, 1, 2]
    assert queue.take("run") == []
    assert queue.batches == {"run": 3, "another": 1}


def test_the_end_of_a_run_is_waited_for() -> None:
    """Spark reports from a thread of its own, so the last reports come after the query has ended."""
    queue = ProgressQueue()

    def report() -> None:
        for batch in range(3):
            time.sleep(0.05)
            queue.put_progress(json.dumps(progress(batch, 1, 1)))
        queue.put_end("run")

    thread = Thread(target=report)
    thread.start()
    assert [report["batchId"] for report in queue.take_last("run")] == [0, 1, 2], "what came before the end is not lost"
    thread.join()


def test_a_checkpoint_is_locked_by_one_run(tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "new" / "checkpoint")
    with (
        locked(checkpoint),
        pytest.raises(sw.SlidewiseError, match=r"in use by another run \(process \d+\); stop"),
    ):
        locked(checkpoint).__enter__()
    with locked(checkpoint):
        pass
    with locked("s3://bucket/checkpoint"):
        pass
    (tmp_path / "new" / "checkpoint" / LOCK).unlink()
    (tmp_path / "new" / "checkpoint" / LOCK).symlink_to(tmp_path / "mine")
    with pytest.raises(sw.SlidewiseError, match="cannot be used"):
        locked(checkpoint).__enter__()
    assert not (tmp_path / "mine").exists()


WAITING = """\
import sys, time
from rich.console import Console
from slidewise.pipeline.stream.command import ending
from slidewise.pipeline.stream.stop_flag import StopFlag
stopping = StopFlag()
with ending(stopping, Console()) as install:
    install()
    sys.stdout.write("ready\\n"); sys.stdout.flush()
    while not stopping.is_set():
        time.sleep(0.01)
    sys.stdout.write("ending\\n"); sys.stdout.flush()
    time.sleep(600 if sys.argv[1] == "twice" else 0)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("how", ["once", "twice"])
def test_a_second_signal_ends_at_once(number: signal.Signals, how: str) -> None:
    command = [sys.executable, "-c", WAITING, how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for line in ["ready", "ending"][: 1 + (how == "twice")]:
                assert process.stdout.readline().strip() == line
                process.send_signal(number)
            assert process.wait(timeout=120) == (0 if how == "once" else 128 + number)
        finally:
            process.kill()


class FakeQuery:
    """A query that is in a micro-batch until its report comes, after so many looks at it."""

    def __init__(self, run: str, queue: ProgressQueue, looks: int) -> None:
        self.runId, self._queue, self._looks = run, queue, looks
        self.isActive = True
        self.stopped_after: int | None = None

    @property
    def status(self) -> dict[str, bool]:
        return {"isTriggerActive": True}

    def awaitTermination(self, timeout: float | None = None) -> bool:
        self._looks -= 1
        if self._looks == 0:
            self._queue.put_progress(json.dumps(progress(5, 10, 10, runId=self.runId)))
        return not self.isActive

    def stop(self) -> None:
        if self.isActive:
            self.stopped_after = self._looks
        self.isActive = False


def test_the_micro_batch_in_flight_is_finished() -> None:
    queue, numbers = ProgressQueue(), StreamNumbers()
    query = FakeQuery("main", queue, 3)
    stream_run._finish([query], queue, numbers, lambda _numbers: None)  # type: ignore[list-item]
    assert query.stopped_after == 0, "not before its report"
    assert numbers.rows_in == 10


@pytest.mark.parametrize(("failures", "error"), [(ATTEMPTS - 1, None), (ATTEMPTS, "connect back"), (1, "zero")])
def test_a_query_for_which_python_came_too_late_starts_again(
    monkeypatch: pytest.MonkeyPatch, failures: int, error: str | None
) -> None:
    """No other error starts it again."""
    started = []
    message = "division by zero" if error == "zero" else "Python worker failed to connect back"

    class Query(FakeQuery):
        def awaitTermination(self, timeout: float | None = None) -> bool:
            if len(started) <= failures:
                raise RuntimeError(message)
            return True

        def stop(self) -> None:
            queue.put_end(self.runId)

    queue = ProgressQueue()
    monkeypatch.setattr(stream_run, "answers_writer", lambda *_: SimpleNamespace())
    monkeypatch.setattr(stream_run, "rejected_writer", lambda *_: None)
    monkeypatch.setattr(stream_run, "settings_of", lambda *_: {})
    monkeypatch.setattr(stream_run, "check_outputs", lambda *_: None)
    monkeypatch.setattr(stream_run, "listening", lambda _: nullcontext(queue))
    monkeypatch.setattr(stream_run, "start", lambda _: [started.append(1) or Query(f"run {len(started)}", queue, 0)])
    job: Any = SimpleNamespace()
    spark: Any = SimpleNamespace()
    if error is None:
        run_stream_job(job, spark)
    else:
        with pytest.raises(RuntimeError, match=error):
            run_stream_job(job, spark)
    assert len(started) == (1 if error == "zero" else ATTEMPTS)
