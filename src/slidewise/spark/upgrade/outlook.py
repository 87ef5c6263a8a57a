"""What an upgrade leaves of each column, in words: kept, rebuilt, or complete from some time on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from slidewise.spark.state.warming import NEVER, Warming, column_sources, complete_from, goes_by_time, rows_needed
from slidewise.spark.upgrade.changes import Changes, Source
from slidewise.spark.upgrade.knowledge import Knowledge
from slidewise.windows import Duration

_PARTS = 12  # of a grain


class ShardMoment(NamedTuple):
    """Where a shard of a checkpoint is: rows up to `released`, in microseconds, have been taken in, and answers of
    `warming` are incomplete since an earlier upgrade."""

    released: int
    warming: Warming


def _anywhere(changes: Changes) -> list[ShardMoment]:
    """Moments where nothing is known of a checkpoint: around the edge of a grain, and all over one."""
    places: set[int] = set()
    for spec in (*changes.old_specs, *changes.new_specs):
        grain = spec.grain or 0
        places |= {int(grain * part / _PARTS) + beside for part in range(_PARTS) for beside in (-1, 0, 1)}
    return [ShardMoment(place, Warming()) for place in sorted(places)]


def column_outlook(changes: Changes, shards: Sequence[ShardMoment] = ()) -> dict[str, str]:
    """For each column of the new definition what becomes of it; with the moments of a checkpoint's shards, when."""
    outlook = {}
    for name, sources in column_sources(changes.new).items():
        aggregates = list(dict.fromkeys(sources))
        how = "kept" if all(_is_kept(changes, source) for source in aggregates) else "rebuilt"
        if all(changes.each[source].source is Source.NOTHING for source in aggregates):
            how = "new"
        parts = [how, *_completion(changes, aggregates, shards)]
        if any(changes.keeps_old_order(source) for source in aggregates):
            parts.append("with rows of equal time from before in the order that they had")
        outlook[name] = ", ".join(parts)
    return outlook


def _is_kept(changes: Changes, name: str) -> bool:
    """Whether the old definition has the same aggregate over the same window."""
    window = changes.new.aggregates[name].window
    like = changes.like(name)
    return changes.each[name].source is not Source.NOTHING and any(
        changes.old.aggregates[other].window == window for other in like
    )


def _completion(changes: Changes, aggregates: Iterable[str], shards: Sequence[ShardMoment]) -> list[str]:
    moments = shards or _anywhere(changes)
    known = [Knowledge(changes, moment.warming, moment.released) for moment in moments]
    times = []
    lacking = []
    for name in aggregates:
        spec = changes.new_spec(name)
        for moment, knowledge in zip(moments, known, strict=True):
            if goes_by_time(spec) and name in knowledge.warming.known_from:
                complete = complete_from(spec, knowledge.warming.known_from[name])
                times.append(complete if shards else complete - moment.released)
            if name in knowledge.warming.by_key:
                lacking.append(rows_needed(spec) or 0)
    words = []
    if times:
        words.append(f"complete from {_shown(max(times), bool(shards))} on")
    if lacking:
        of_all = "never complete for keys that had rows before, of which it counts those since the upgrade"
        words.append(of_all if max(lacking) >= NEVER else f"complete for a key once it has {max(lacking):,} rows")
    return words


def _shown(time: int, absolute: bool) -> str:
    if absolute:
        return str(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time))
    return f"{Duration(-(-time // 1_000) * 1_000_000)} after the upgrade"
