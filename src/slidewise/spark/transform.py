"""Entry points of a definition on Spark: over a batch DataFrame, or over a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slidewise.definition import Definition, check_no_lookahead
from slidewise.errors import SlidewiseError, did_you_mean
from slidewise.spark.label_union import are_streams
from slidewise.spark.worker.task import check_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from slidewise.spark.batch.plan import Plan
    from slidewise.spark.stream.query import StreamPlan

_BATCH_OPTIONS = ("parallel", "presorted")
_AS_OF_OPTIONS = ("parallel",)
_AS_OF_STREAM_OPTIONS = ("shards", "forget_after", "metrics", "late_to")
_STREAM_OPTIONS = (
    *("shards", "forget_after", "metrics", "watermark", "ahead", "ahead_of", "late_to"),
    *("history", "history_until", "upgrade_from", "warm"),
)


def transform_on_spark(definition: Definition, df: DataFrame, **options: Any) -> DataFrame:
    """The DataFrame, or the stream, with one more column per aggregate."""
    _check_options(df, options)
    check_python(df.sparkSession)
    if df.isStreaming:
        check_no_lookahead(definition, "on a stream a row is answered as the watermark passes it")
        from slidewise.spark.stream.query import over_stream

        return over_stream(definition, df, **options)
    from slidewise.spark.batch.dataframe import over_dataframe

    return over_dataframe(definition, df, **options)


def as_of_on_spark(
    definition: Definition,
    labels: DataFrame,
    events: DataFrame,
    on: str | None,
    by: Mapping[str, str] | None,
    **options: Any,
) -> DataFrame:
    """The labels, or the stream of them, with one more column per aggregate over the events up to their times."""
    if are_streams(labels, events):
        from slidewise.spark.stream.as_of import as_of_streams

        check_no_lookahead(definition, "on a stream a label is answered as the watermark passes it")
        _check_names(options, "two streams", _AS_OF_STREAM_OPTIONS, (*_BATCH_OPTIONS, *_STREAM_OPTIONS))
        check_python(events.sparkSession)
        return as_of_streams(definition, labels, events, on, by, **options)
    from slidewise.spark.batch.as_of import as_of_dataframes

    _check_names(options, "two batch DataFrames", _AS_OF_OPTIONS, (*_BATCH_OPTIONS, *_STREAM_OPTIONS))
    check_python(events.sparkSession)
    return as_of_dataframes(definition, labels, events, on, by, **options)


def flush_on_spark(
    definition: Definition, df: DataFrame, checkpoint: str, operator: int | None, options: dict[str, Any]
) -> DataFrame:
    """The answers to the rows that a query over a stream still has waiting, as a batch DataFrame."""
    if not getattr(df, "isStreaming", False):
        raise SlidewiseError(
            f"flush answers what a stream has waiting; give it the stream that was transformed, not {type(df).__name__}"
        )
    _check_options(df, options)
    check_python(df.sparkSession)
    from slidewise.spark.stream.flush import flush_stream

    return flush_stream(definition, df, checkpoint, operator, options)


def plan_on_spark(definition: Definition, df: DataFrame, **options: Any) -> Plan | StreamPlan:
    """The plan of a definition on a DataFrame or a stream; nothing runs."""
    checkpoint = options.pop("checkpoint", None)
    _check_options(df, options)
    if checkpoint is not None and options.get("upgrade_from") is None:
        raise SlidewiseError("checkpoint= is for upgrade_from=, whose columns depend on where the stream is")
    if df.isStreaming:
        from slidewise.spark.stream.query import plan_stream
        from slidewise.spark.upgrade.plan import plan_upgrade_of

        plan = plan_stream(definition, df, **options)[1]
        if checkpoint is None or plan.upgrade is None:
            return plan
        upgrade = plan_upgrade_of(df.sparkSession, definition, plan.upgrade, plan.shards, str(checkpoint))
        return plan._replace(upgrade=upgrade)
    from slidewise.spark.batch.dataframe import plan_dataframe

    return plan_dataframe(definition, df, **options)[1]


def _check_options(df: DataFrame, options: dict[str, Any]) -> None:
    if df.isStreaming and "late" in options:
        raise SlidewiseError(_why_no_policy(options["late"]))
    if df.isStreaming:
        _check_names(options, "a stream", _STREAM_OPTIONS, _BATCH_OPTIONS)
    else:
        _check_names(options, "a batch DataFrame", _BATCH_OPTIONS, _STREAM_OPTIONS)


def _check_names(options: dict[str, Any], here: str, taken: tuple[str, ...], others: tuple[str, ...]) -> None:
    """Check that all options are among those that are taken; `others` are known elsewhere."""
    options_of_it = ", ".join(f"{option}=" for option in taken)
    for name in options:
        if name in others and name not in taken:
            raise SlidewiseError(f"{name}= is not for {here}, which takes {options_of_it}")
        if name not in taken:
            hint = did_you_mean(name, taken)
            raise SlidewiseError(f"{name}= is not known; {here} takes {options_of_it}{hint}")


def _why_no_policy(policy: object) -> str:
    """Why a stream takes no policy for late rows."""
    instead = (
        "on a stream the delay in withWatermark says how late a row may be: rows wait for it, so give a longer one"
    )
    if policy == "revise":
        return (
            f"late='revise' is for live(), since a row that has left a stream cannot be told from its correction; "
            f"{instead}, or collect the stream's rows in foreachBatch and push them into live(late='revise')"
        )
    return f"late= is for live(); {instead}"
