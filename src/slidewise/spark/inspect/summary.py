"""What a shard holds, in numbers; and the same of all shards together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.arrow_values import python_values
from slidewise.spark.inspect.key_table import key_tables, measure_names
from slidewise.spark.inspect.opened_shard import KINDS, OpenedShard
from slidewise.spark.sort.sorted_rows import microseconds
from slidewise.spark.state.pages import DIRECTORY

BINS = 64  # of bytes: bin b has the keys of 2^(b-1) up to 2^b bytes


class Scale(NamedTuple):
    """The moments between which waiting rows are counted, in microseconds, and in how many stretches."""

    first: int
    last: int
    stretches: int = 12

    def start(self, stretch: int) -> int:
        """When a stretch begins."""
        return self.first + (self.last - self.first) * stretch // self.stretches

    def places(self, times: Array) -> Array:
        """The stretch that each time lies in."""
        width = max(self.last - self.first, 1) / self.stretches
        return np.clip(((times - self.first) / width).astype(np.int64), 0, self.stretches - 1)


def shard_summary(opened: OpenedShard, largest: int, scale: Scale | None) -> dict[str, Any]:
    """A shard's numbers as plain data; `largest` is how many of the largest keys are named."""
    directory = opened.directory
    by = list(opened.definition.by)
    names = dict(zip(("shard", "newest", "rows", "cells", "bytes", "large"), measure_names(by), strict=True))
    totals = dict.fromkeys(("keys", "rows", "cells", "large"), 0)
    histogram, top = np.zeros((2, BINS), np.int64), []
    for table in key_tables(opened):
        totals["keys"] += len(table)
        for name in ("rows", "cells", "large"):
            totals[name] += int(table.column(names[name]).to_numpy().sum())
        sizes = table.column(names["bytes"]).to_numpy()
        bins = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
        histogram[0] += np.bincount(bins, minlength=BINS)
        histogram[1] += np.bincount(bins, sizes, minlength=BINS).astype(np.int64)
        chosen = table.take(np.argsort(-sizes, kind="stable")[:largest])
        keys = [python_values(chosen.column(name), repr(name)) for name in by]
        measures = [chosen.column(names[name]).to_pylist() for name in ("newest", "rows", "cells", "bytes", "large")]
        for row in range(len(chosen)):
            newest, rows, cells, size, large = (measure[row] for measure in measures)
            key = {name: shown_value(column[row]) for name, column in zip(by, keys, strict=True)}
            top.append(
                {
                    "key": key,
                    "newest": shown_value(newest),
                    "rows": rows,
                    "cells": cells,
                    "bytes": size,
                    "large": large,
                }
            )
    top = largest_first(top, largest)
    by_kind = dict.fromkeys(KINDS, 0)
    for number, page in opened.store.items():
        by_kind[opened.kind_of(number)] += len(page)
    page = opened.store.get(DIRECTORY) or b""
    return {
        "shard": opened.shard,
        "fingerprint": opened.query.fingerprint,
        "version": int.from_bytes(page[4:6], "little"),
        **totals,
        "pages": len(opened.store),
        "bytes": sum(by_kind.values()),
        "bytes_by_kind": by_kind,
        "waiting": _waiting(opened, scale),
        "watermark": directory.released,
        "history_until": directory.history,
        "calls": directory.calls,
        "micro_batch": directory.batch,
        "warming": _warming(opened),
        "keys_by_bytes": histogram.tolist(),
        "largest": top,
    }


def largest_first(keys: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The keys with the most bytes."""
    return sorted(keys, key=lambda key: -key["bytes"])[:most]


def shown_value(value: object) -> Any:
    """A value as JSON has it: numbers, bools, text and null as they are, anything else as text."""
    return value if value is None or type(value) in (int, float, bool, str) else str(value)


def _waiting(opened: OpenedShard, scale: Scale | None) -> dict[str, Any]:
    """How many rows wait, the first and the last of their times, and how many there are in each stretch of time."""
    counts = np.zeros(0 if scale is None else scale.stretches, np.int64)
    rows = 0
    waiting = opened.directory.waiting
    for page in waiting:
        times = microseconds(opened.waiting_rows(page), opened.on)
        rows += len(times)
        if scale is not None:
            counts += np.bincount(scale.places(times), minlength=scale.stretches)
        opened.pages.spill()
    return {
        "rows": rows,
        "first": min((page.first for page in waiting), default=None),
        "last": max((page.last for page in waiting), default=None),
        "over_time": counts.tolist(),
    }


def _warming(opened: OpenedShard) -> dict[str, Any]:
    """The aggregates that are not complete since an upgrade: when they are, in microseconds, or None where each key
    lacks rows of its own."""
    warming = opened.directory.warming
    complete: dict[str, int | None] = dict.fromkeys(warming.by_key)
    complete |= warming.complete_from([spec for spec in opened.specs if not spec.running])
    return complete


_SUMS = ("keys", "rows", "cells", "large", "pages", "bytes")


def total(shards: Sequence[dict[str, Any]], largest: int) -> dict[str, Any]:
    """The numbers of all shards together."""
    released = [shard["watermark"] for shard in shards if shard["watermark"] is not None]
    waiting = [shard["waiting"] for shard in shards]
    over_time = [each["over_time"] for each in waiting]
    histogram = np.array([shard["keys_by_bytes"] for shard in shards] or np.zeros((1, 2, BINS)), np.int64).sum(axis=0)
    warming: dict[str, int | None] = {}
    for shard in shards:
        for name, time in shard["warming"].items():
            earlier = warming.get(name, time)
            warming[name] = None if time is None or earlier is None else max(time, earlier)
    return {
        "shards": len(shards),
        **{name: sum(shard[name] for shard in shards) for name in _SUMS},
        "bytes_by_kind": {kind: sum(shard["bytes_by_kind"][kind] for shard in shards) for kind in KINDS},
        "watermark": max(released, default=None),
        "waiting": {
            "rows": sum(each["rows"] for each in waiting),
            "first": min((each["first"] for each in waiting if each["first"] is not None), default=None),
            "last": max((each["last"] for each in waiting if each["last"] is not None), default=None),
            "over_time": np.sum(over_time, axis=0, dtype=np.int64).tolist() if over_time else [],
        },
        "versions": sorted({shard["version"] for shard in shards}),
        "history_until": max((s["history_until"] for s in shards if s["history_until"] is not None), default=None),
        "warming": warming,
        "keys_by_bytes": [
            {"up_to": 1 << b, "keys": int(histogram[0, b]), "bytes": int(histogram[1, b])}
            for b in np.flatnonzero(histogram[0]).tolist()
        ],
        "largest": largest_first([{**key, "shard": s["shard"]} for s in shards for key in s["largest"]], largest),
    }
