"""Run a job over a stream: start its queries, follow them, and end them between two micro-batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from slidewise.errors import SlidewiseError
from slidewise.pipeline.job.job import Job
from slidewise.pipeline.spark_session import ATTEMPTS, STATE_SETTINGS, came_too_late, temporary_settings
from slidewise.pipeline.stream.numbers import StreamNumbers
from slidewise.pipeline.stream.progress_queue import ProgressQueue, listening
from slidewise.pipeline.stream.queries import answers_writer, check_outputs, rejected_writer, start
from slidewise.pipeline.stream.source import stream_of_job
from slidewise.pipeline.stream.stop_flag import StopFlag
from slidewise.spark.stream.query import SHARDS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

POLL = 0.25  # seconds between two looks at the queries
_STOP_POLL = 0.02
_PARTITIONS = "spark.sql.shuffle.partitions"
_CONCURRENT = ("CONCURRENT_STREAM_LOG_UPDATE", "CONCURRENT_QUERY")  # Spark's names for two queries on a checkpoint

Update = Callable[[StreamNumbers], None]


def run_stream_job(
    job: Job,
    spark: SparkSession,
    numbers: StreamNumbers | None = None,
    update: Update | None = None,
    stopping: StopFlag | None = None,
    conf: Mapping[str, str] | None = None,
) -> StreamNumbers:
    """Run the job over its stream on this session, until the stream ends or `stopping` is set; its numbers.

    `update` is called with the numbers several times a second. When `stopping` is set, the micro-batch in flight is
    finished first. `conf` are settings of the session that stay as they are.
    """
    numbers = numbers or StreamNumbers()
    update, stopping = update or (lambda _numbers: None), stopping or StopFlag()
    check_outputs(job)
    settings = settings_of(job, spark, conf or {})
    with temporary_settings(spark, settings), listening(spark) as queue:
        writers = [writer for writer in (answers_writer(spark, job), rejected_writer(spark, job)) if writer]
        attempt, counted = 1, 0
        while not stopping.is_set():
            queries = start(writers)
            try:
                _follow(queries, queue, numbers, update, stopping)
                break
            except Exception as error:
                if numbers.batches > counted:
                    attempt, counted = 1, numbers.batches
                if not came_too_late(error) or attempt == ATTEMPTS:
                    in_use = _in_use(error, job)
                    if in_use is None:
                        raise
                    raise in_use from error
                attempt += 1
            finally:
                for query in queries:
                    query.stop()
                for progress in queue.take_last(str(queries[0].runId)):
                    numbers.add(progress)
    update(numbers)
    return numbers


def settings_of(job: Job, spark: SparkSession, conf: Mapping[str, str]) -> dict[str, str]:
    """The settings that state on a stream needs, but for those that the user has given."""
    shards = stream_of_job(job).transform.get("shards", SHARDS)
    settings = {**STATE_SETTINGS, _PARTITIONS: str(min(shards, spark.sparkContext.defaultParallelism))}
    return {name: value for name, value in settings.items() if name not in conf}


def _follow(
    queries: list[StreamingQuery], queue: ProgressQueue, numbers: StreamNumbers, update: Update, stopping: StopFlag
) -> None:
    """Wait for the end of all queries, or for `stopping`; the error of one that failed is raised."""
    main = str(queries[0].runId)
    running = list(queries)
    while running:
        for query in list(running):
            if (query is running[0] or not query.isActive) and query.awaitTermination(POLL):
                running.remove(query)
        for progress in queue.take(main):
            numbers.add(progress)
        update(numbers)
        if stopping.is_set():
            _finish(running, queue, numbers, update)
            return


def _finish(running: list[StreamingQuery], queue: ProgressQueue, numbers: StreamNumbers, update: Update) -> None:
    """Stop each query as soon as the micro-batch that it is in has ended.

    One that has begun since is cut off, and has written nothing: it runs again with the checkpoint's next start.
    """
    runs = {str(query.runId): query for query in running}
    main = str(running[0].runId) if running else ""
    before = {run: queue.batches[run] for run in runs}
    while runs:
        for run, query in list(runs.items()):
            busy = query.isActive and query.status["isTriggerActive"]
            if not busy or queue.batches[run] > before[run]:
                query.stop()
                del runs[run]
        if runs:
            next(iter(runs.values())).awaitTermination(_STOP_POLL)
        for progress in queue.take(main):
            numbers.add(progress)
        update(numbers)


def _in_use(error: Exception, job: Job) -> SlidewiseError | None:
    """The error where Spark met another query with the same checkpoint; None for any other."""
    if not any(name in str(error) for name in _CONCURRENT):
        return None
    return SlidewiseError(
        f"the checkpoint {stream_of_job(job).checkpoint} is in use by another query; stop that first, or give this job "
        "another checkpoint and another sink"
    )
