"""A definition on Spark: over a batch DataFrame, or over a stream."""

from __future__ import annotations

from typing import Any

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError, did_you_mean
from slidewise.spark.worker.task import check_python

_BATCH, _STREAM = (
    ("parallel", "presorted"),
    ("shards", "forget_after", "metrics", "watermark", "ahead", "ahead_of", "late_to"),
)


def over_spark(definition: Definition, df: Any, **options: Any) -> Any:
    """The DataFrame with one more column per aggregate."""
    _check(df, options)
    check_python(df.sparkSession)
    if df.isStreaming:
        from slidewise.spark.stream.query import over_stream

        return over_stream(definition, df, **options)
    from slidewise.spark.batch.dataframe import over_dataframe

    return over_dataframe(definition, df, **options)


def flushed_stream(
    definition: Definition, df: Any, checkpoint: str, operator: int | None, options: dict[str, Any]
) -> Any:
    """The answers to the rows that a query over a stream still has waiting, as a batch DataFrame."""
    if not getattr(df, "isStreaming", False):
        raise SlidewiseError(
            f"flush answers what a stream has waiting; give it the stream that was transformed, not {type(df).__name__}"
        )
    _check(df, options)
    check_python(df.sparkSession)
    from slidewise.spark.stream.flush import flushed

    return flushed(definition, df, checkpoint, operator, options)


def plan_on_spark(definition: Definition, df: Any, **options: Any) -> Any:
    """How it will run; nothing runs."""
    _check(df, options)
    if df.isStreaming:
        from slidewise.spark.stream.query import planned_stream

        return planned_stream(definition, df, **options)[1]
    from slidewise.spark.batch.dataframe import planned_for

    return planned_for(definition, df, **options)[1]


def _check(df: Any, options: dict[str, Any]) -> None:
    taken, others = (_STREAM, _BATCH) if df.isStreaming else (_BATCH, _STREAM)
    here = "a stream" if df.isStreaming else "a batch DataFrame"
    for name, value in options.items():
        if name == "late" and df.isStreaming:
            raise SlidewiseError(_late(value))
        if name in others:
            raise SlidewiseError(f"{name}= is not for {here}, which takes {', '.join(f'{one}=' for one in taken)}")
        if name not in taken:
            hint = did_you_mean(name, taken)
            raise SlidewiseError(f"{name}= is not known; {here} takes {', '.join(f'{one}=' for one in taken)}{hint}")


def _late(policy: Any) -> str:
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
