"""The plan of a definition on a DataFrame: decided from names and types alone, and shown in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError, did_you_mean
from slidewise.spark.batch.time_slices import TimeSlices, time_slices_for, why_not_by_time
from slidewise.spark.sort.external_sort import left_to_spark

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

PARALLEL = ("auto", "by_key", "by_time")


class Plan(NamedTuple):
    """How rows are spread over tasks, `by_key` or `by_time`, and why; the slices of time, if it is cut."""

    parallel: str
    why: str
    slices: TimeSlices | None = None
    presorted: bool = False
    one_task: bool = False
    left_to_spark: str | None = None  # a column to sort by that only Spark can

    def __str__(self) -> str:
        if self.presorted:
            how = "no shuffle and no sort; the order is verified while running"
        elif self.slices is not None:
            how = (
                "one shuffle by the hash of the slice and the keys; slices of time are "
                f"{self.slices} long, and each also gets the rows of one window before it; one sort in each task"
            )
        elif self.one_task:
            how = "all rows go to one task; one sort there"
        else:
            how = "one shuffle by the hash of the keys; one sort in each task"
        if self.left_to_spark is not None:
            how += f"; by Spark, since workers do not sort by {self.left_to_spark}"
        return f"parallel={self.parallel!r}, for {self.why}\n    {how}"


def make_plan(definition: Definition, schema: StructType, parallel: str = "auto", presorted: bool = False) -> Plan:
    """The plan of a definition with these options on a DataFrame with this schema."""
    plan = _parallel_plan(definition, schema, parallel, presorted)
    return plan if presorted else plan._replace(left_to_spark=left_to_spark(definition, schema))


def _parallel_plan(definition: Definition, schema: StructType, parallel: str, presorted: bool) -> Plan:
    if parallel not in PARALLEL:
        hint = did_you_mean(parallel, PARALLEL) if isinstance(parallel, str) else ""
        raise SlidewiseError(f"parallel={parallel!r} is not known; it is 'auto', 'by_key' or 'by_time'{hint}")
    if not isinstance(presorted, bool):
        raise SlidewiseError(f"presorted= is True or False, not {presorted!r}")
    why_not = why_not_by_time(definition)
    if presorted:
        if parallel == "by_time":
            raise SlidewiseError(
                "rows are shuffled into slices of time; presorted=True goes with parallel='by_key' only"
            )
        return Plan("by_key", "you said that each partition is sorted already", presorted=True)
    if parallel == "by_time":
        if why_not is not None:
            raise SlidewiseError(
                f"parallel='by_time' needs windows of time only, but {why_not}; put that column into a definition of "
                "its own, or use parallel='by_key'"
            )
        return Plan(parallel, "you asked for it", _slices(definition, schema))
    if parallel == "by_key":
        return Plan(parallel, "you asked for it", one_task=not definition.by)
    if definition.by:
        return Plan("by_key", "there are keys; where they are few or one is far larger than others, ask for 'by_time'")
    if why_not is not None:
        return Plan("by_key", f"time cannot be cut: {why_not}", one_task=True)
    try:
        return Plan("by_time", "there are no keys", _slices(definition, schema))
    except SlidewiseError as error:
        return Plan("by_key", f"time cannot be cut: {error}", one_task=True)


def _slices(definition: Definition, schema: StructType) -> TimeSlices:
    assert definition.on is not None
    return time_slices_for(definition, schema[definition.on].dataType.simpleString())
