"""Answers that are not complete yet after an upgrade: what is known of them, and which rows a key still lacks.

An upgrade finds what was stored for the definition before, which may not be all that a new aggregate needs: rows that
have left shorter windows, or columns that were never stored. For each such aggregate all rows from a time on are known,
in all keys of a shard, so its windows of time are complete once they begin later. For windows of rows, and over
everything so far, each key counts the rows that its window still lacks. A key without state is new, unless the
definition before may have forgotten keys whose rows the new one would still hold: then it lacks all rows, as far as
anybody knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.definition import Definition
from slidewise.engine.window_spec import WindowSpec
from slidewise.expressions.expression import leaves_of
from slidewise.stages import Answer
from slidewise.windows.kind import Keeps

NEVER = 2**62  # rows that a window over everything so far lacks


def missing_column(number: int) -> str:
    """The column of a page's keys that counts the rows which a window still lacks."""
    return f"slidewise missing {number}"


class Warming(NamedTuple):
    """The aggregates that are not complete yet: the time, in microseconds, from which on all of their rows are known,
    and those whose keys count the rows that windows still lack, in the order of these columns. With `forgotten`, keys
    without state may have had rows up to this time."""

    known_from: Mapping[str, int] = {}
    by_key: tuple[str, ...] = ()
    forgotten: int | None = None

    @property
    def columns(self) -> list[str]:
        """The columns of a page's keys that count missing rows."""
        return [missing_column(i) for i in range(len(self.by_key))]

    def complete_from(self, specs: Iterable[WindowSpec]) -> dict[str, int]:
        """When the windows of time among these specs are complete, by aggregate, where they are not from the start."""
        return {
            member.name: complete_from(spec, self.known_from[member.name])
            for spec in specs
            if goes_by_time(spec)
            for member in spec.members
            if member.name in self.known_from
        }

    def remaining(self, specs: Iterable[WindowSpec], released: int, lifetime: int | None) -> Warming:
        """The same without the windows of time that are complete, once no row from before they were is stored: a later
        upgrade must know which columns such rows lack. `lifetime` is how long keys without rows are remembered."""
        if self.forgotten is not None and lifetime is not None and released - lifetime > self.forgotten:
            return self._replace(forgotten=None).remaining(specs, released, lifetime)
        if not self.known_from:
            return self
        specs = list(specs)
        by_rows = [spec for spec in specs if spec.keeps is Keeps.ROWS]
        by_time = all(goes_by_time(spec) for spec in by_rows)
        oldest = min((int(spec.cut(released)) for spec in by_rows), default=released) if by_time else None
        complete = set()
        for spec in specs:
            limit = int(spec.cut(released)) if spec.keeps is Keeps.CELLS else oldest
            if goes_by_time(spec) and limit is not None:
                complete |= {member.name for member in spec.members if self.known_from.get(member.name, limit) <= limit}
        known_from = {name: time for name, time in self.known_from.items() if name not in complete}
        return self if len(known_from) == len(self.known_from) else self._replace(known_from=known_from)

    def missing_of_new(self, specs: Iterable[WindowSpec]) -> list[int]:
        """For each of the columns that count missing rows the number for a key that has no state."""
        needed = {member.name: rows_needed(spec) or 0 for spec in specs for member in spec.members}
        return [0 if self.forgotten is None else needed[name] for name in self.by_key]


def goes_by_time(spec: WindowSpec) -> bool:
    """Whether windows are complete by the time, and not by the rows of a key."""
    return not (spec.running or spec.numbered)


def rows_needed(spec: WindowSpec) -> int | None:
    """How many of a key's rows a window needs to be complete: NEVER are enough where it is over everything so far; None
    for windows of time."""
    if goes_by_time(spec):
        return None
    return NEVER if spec.running else int(spec.whole) + 1


def complete_from(spec: WindowSpec, known: int) -> int:
    """The first time whose window holds no row before `known`, in microseconds.

    >>> from slidewise import Sliding, count
    >>> from slidewise.spark.state.stored_specs import stored_specs
    >>> [minute] = stored_specs(Sliding(on="ts", n=count().over("1 minute")), {})
    >>> complete_from(minute, 1_000_000)
    60999999
    """
    low, high = known - 1, known + 2 * int(spec.extent.reach) + 2
    while low + 1 < high:  # complete at `high`, and not at `low`
        middle = (low + high) // 2
        low, high = (low, middle) if spec.cut(middle) >= known else (middle, high)
    return high


def incomplete_columns(definition: Definition, masks: Mapping[str, Array]) -> dict[str, Array]:
    """For each column that comes out which rows are incomplete, of those of aggregates."""
    columns: dict[str, Array] = {}
    for name, sources in column_sources(definition).items():
        of_sources = [masks[source] for source in sources if source in masks]
        if of_sources:
            columns[name] = np.logical_or.reduce(of_sources)
    return columns


def column_sources(definition: Definition) -> dict[str, list[str]]:
    """For each column that comes out the names of the aggregates that it is computed from."""
    results = definition.stages.results
    return {name: _answers(leaves_of(results[name])) if name in results else [name] for name in definition.columns}


def _answers(leaves: Iterable[object]) -> list[str]:
    return list(dict.fromkeys(leaf.name for leaf in leaves if isinstance(leaf, Answer)))
