"""A definition over a stream of events, answered at the times of another stream's rows, once both watermarks passed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError
from slidewise.spark.column_names import numbered_schema
from slidewise.spark.label_union import LabelUnion, label_union
from slidewise.spark.stream.query import (
    METRICS,
    SHARDS,
    GivenDuration,
    check_stream_options,
    check_time_type,
    make_stream_plan,
    query_terms,
    run_shards,
    watermark_delay,
    with_reason,
)
from slidewise.spark.stream.shard import LabelTerms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_POLICY = "spark.sql.streaming.multipleWatermarkPolicy"


def as_of_streams(
    definition: Definition,
    labels: DataFrame,
    events: DataFrame,
    on: str | None,
    by: Mapping[str, str] | None,
    shards: int = SHARDS,
    forget_after: GivenDuration = None,
    metrics: str = METRICS,
    late_to: str | None = None,
) -> DataFrame:
    """The stream of labels with one more column per aggregate; each comes once both watermarks have passed its time.

    Options are those of a definition over one stream. A label that comes behind the watermark is dropped and counted,
    as an event is; with `late_to`, such labels come out without answers, and this column says why.
    """
    union = label_union(definition, labels, events, on, by)
    check_stream_options(events, shards, metrics)
    check_time_type(str(definition.on), events.schema)
    check_time_type(str(union.names.on), labels.schema)
    _check_watermarks(union, labels, events)
    plan = make_stream_plan(definition, shards, forget_after, late_to=late_to)
    schema = with_reason(definition, union.schema, late_to)
    rows = union.rows(labels, events).toDF(*union.columns)
    terms = query_terms(definition, rows.schema, plan, union.answers, union.results)
    terms = replace(terms, labels=LabelTerms(str(union.names.on), union.outputs, dict(union.own)))
    return run_shards(definition, rows, plan, terms, numbered_schema(schema), metrics).toDF(*schema.names)


def _check_watermarks(union: LabelUnion, labels: DataFrame, events: DataFrame) -> None:
    """Both streams have a watermark on their time, and the slower one counts."""
    asked = str(union.names.on)
    for what, df, on in (("labels", labels, asked), ("events", events, str(union.definition.on))):
        if watermark_delay(df.schema[on]) is None:
            raise SlidewiseError(
                f"the stream of {what} has no watermark on its time {on!r}, so there is no telling when its rows of a "
                f"moment are complete; set one: {what}.withWatermark({on!r}, '30 seconds')"
            )
    policy = str(events.sparkSession.conf.get(_POLICY, "min"))
    if policy.lower() != "min":
        raise SlidewiseError(
            f"the session has {_POLICY}={policy}, so that the faster of two streams moves the watermark of both, and "
            f"labels would be answered before their events have come; set spark.conf.set({_POLICY!r}, 'min')"
        )
