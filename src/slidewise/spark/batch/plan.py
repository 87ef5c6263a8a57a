"""How a definition will run on a DataFrame: decided from names and types alone, and said in words."""

from __future__ import annotations

from typing import Any, NamedTuple

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError, did_you_mean
from slidewise.spark.batch.time_slices import TimeSlices, slices_of, why_not
from slidewise.spark.sort.sort import left_to_spark

PARALLEL = ("auto", "by_key", "by_time")


class Plan(NamedTuple):
    """What runs in parallel, `by_key` or `by_time`, and why; the slices of time, if it is cut."""

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


def planned(definition: Definition, schema: Any, parallel: str = "auto", presorted: bool = False) -> Plan:
    """What these options come to for a DataFrame with this schema."""
    plan = _planned(definition, schema, parallel, presorted)
    return plan if presorted else plan._replace(left_to_spark=left_to_spark(definition, schema))


def _planned(definition: Definition, schema: Any, parallel: str, presorted: bool) -> Plan:
    if parallel not in PARALLEL:
        hint = did_you_mean(parallel, PARALLEL) if isinstance(parallel, str) else ""
        raise SlidewiseError(f"parallel={parallel!r} is not known; it is 'auto', 'by_key' or 'by_time'{hint}")
    if not isinstance(presorted, bool):
        raise SlidewiseError(f"presorted= is True or False, not {presorted!r}")
    kept = why_not(definition)
    if presorted:
        if parallel == "by_time":
            raise SlidewiseError(
                "rows are shuffled into slices of time; presorted=True goes with parallel='by_key' only"
            )
        return Plan("by_key", "you said that each partition is sorted already", presorted=True)
    if parallel == "by_time":
        if kept is not None:
            raise SlidewiseError(
                f"parallel='by_time' needs windows of time only, but {kept}; put that column into a definition of its "
                "own, or use parallel='by_key'"
            )
        return Plan(parallel, "you asked for it", _slices(definition, schema))
    if parallel == "by_key":
        return Plan(parallel, "you asked for it", one_task=not definition.by)
    if definition.by:
        return Plan("by_key", "there are keys; where they are few or one is far larger than others, ask for 'by_time'")
    if kept is not None:
        return Plan("by_key", f"time cannot be cut: {kept}", one_task=True)
    try:
        return Plan("by_time", "there are no keys", _slices(definition, schema))
    except SlidewiseError as error:
        return Plan("by_key", f"time cannot be cut: {error}", one_task=True)


def _slices(definition: Definition, schema: Any) -> TimeSlices:
    assert definition.on is not None
    return slices_of(definition, schema[definition.on].dataType.simpleString())
