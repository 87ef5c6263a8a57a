"""Snapshots of every kind, changed and with the checksum made anew, and what is done with those that are read."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pyarrow as pa
from golden_snapshots import golden_events, golden_live
from state_mutations import Recorder, Span, mutated_payload

import slidewise as sw
from slidewise.live.snapshot import snapshot as snapshots
from slidewise.live.snapshot.envelope import sealed

HERE = Path(__file__).parent
START = datetime(2024, 1, 1)
spread = sw.operator(
    name="spread",
    identity=(math.inf, -math.inf),
    lift=lambda x: (x, x),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
)


class Kind:
    """One kind of snapshot: how its live definition is made, and what its events are like."""

    def __init__(
        self, name: str, definition: sw.Sliding, times: str = "moments", batch: bool = False, **live: Any
    ) -> None:
        self.name, self.definition, self.times, self.batch, self.options = name, definition, times, batch, live

    def rows(self, seed: int, count: int, start: int) -> list[dict[str, Any]]:
        draw = random.Random(seed)
        found, t = [], start
        for _ in range(count):
            t += draw.choice((0, 0, 1, 1, 2))
            late = draw.choice((0, 0, 0, 3)) if self.options.get("late", "error") not in ("error",) else 0
            found.append(
                {
                    "k": draw.choice("ab"),
                    "ts": self.time(t - late),
                    "x": draw.choice((draw.random(), 1e16, 0.5)),
                    "i": draw.randrange(-50, 50),
                    "s": draw.choice("cde"),
                    "ok": draw.random() < 0.8,
                }
            )
        return found

    def time(self, t: int) -> Any:
        match self.times:
            case "moments":
                return START + timedelta(seconds=t)
            case "zoned":
                return (START + timedelta(seconds=t)).replace(tzinfo=UTC)
            case "floats":
                return t + 0.25
        return t

    def made(self) -> Any:
        live = self.definition.live(**self.options)
        if self.batch:
            live.push_many(self.table(self.rows(1, 40, 0)))
        for row in self.rows(2, 40, 100):
            live.push(row)
        if self.batch:
            live.push_many(self.table(self.rows(3, 700, 200)))
        return live

    @property
    def later(self) -> int:
        return 2_000

    def table(self, rows: list[dict[str, Any]]) -> pa.Table:
        return pa.Table.from_pylist(rows)


def kinds() -> list[Kind]:
    """Snapshots of all kinds: each algorithm and pane, with rows and with arrays, on beats, waiting and revised."""
    rows = {
        "peak": sw.max("x").over("20s"),
        "total": sw.sum("i").over("20s"),
        "mean": sw.mean("x").where("ok").over(rows=9),
        "before": sw.sum("x").over("20s", closed="left"),
        "mid": sw.median("i").over("20s"),
        "late": sw.sum("i").over("20s", delay="10s"),
        "month": sw.max("i").over("1 month", zone="Europe/Berlin"),
        "high": sw.quantile(0.9)("i").over("20s"),
        "all": sw.variance("x").over("all"),
        "prior": sw.count("x").over("all", closed="left"),
    }
    cells = {
        "g": sw.sum("i").over("20s", grain="2s"),
        "h": sw.max("x").over("20s", grain="5s", closed="left"),
        "v": sw.stddev("x").over("1m", grain="2s", closed="both"),
    }
    sketches = {
        "d": sw.hyperloglog(p=4)("s").over("20s"),
        "b": sw.bloom(bits=64, hashes=2, probe="c")("s").over("20s"),
        "q": sw.quantile(0.5, approximate=0.05)("x").over("20s"),
        "u": sw.count_distinct("s").over("all"),
        "l": sw.collect("s").over(rows=4),
        "best": sw.argmax("s", "x").over("20s"),
        "tops": sw.maxcount("i").over("all", closed="left"),
        "four": sw.m4("x").over("20s"),
        "own": spread("x").over("20s"),
    }
    objects = {
        "c": sw.countmin(width=4, depth=2)("s").over(rows=5),
        "n": sw.naive_bayes("s", "i").over(rows=5),
        "f": sw.bloom(bits=64, hashes=2)("s").over("all"),
    }
    beats = {"peak": sw.max("x").over("20s"), "mid": sw.median("i").over("20s"), "sd": sw.stddev("x").over("7s")}
    numbers = {"a": sw.sum("i").over(20), "m": sw.min("x").over(7.5, closed="both"), "e": sw.mean("x").over("all")}
    shared = {
        "a": sw.sum("x").over("5s"),
        "b": sw.sum("x").over("20s"),
        "c": sw.max("x").over("40s"),
        "d": sw.max("x").over("5s"),
    }

    def over(on: str | None = "ts", by: Any = "k", **columns: Any) -> sw.Sliding:
        every = columns.pop("every", None)
        return sw.Sliding(by=by, on=on, every=every, columns=columns)

    found = [
        Kind("rows", over(**rows)),
        Kind("rows of two keys", over(by=["k", "s"], **rows), "zoned"),
        Kind("rows in arrays", over(**rows), batch=True),
        Kind("spikes", over(**rows, least=sw.min("x").over("20s"), ors=sw.bool_or("ok").over(rows=4)), spikes=True),
        Kind("shared", over(**shared), spikes=True),
        Kind("shared in arrays", over(**shared), spikes=True, batch=True),
        Kind("cells", over(**cells)),
        Kind("cells in arrays", over(**cells), batch=True),
        Kind("sketches", over(**sketches)),
        Kind("answers that no table holds", over(**objects), spikes=True),
        Kind("sketches in arrays", over(**sketches), batch=True),
        Kind("numbers", over(**numbers), "numbers", late="drop"),
        Kind("floats", over(**numbers), "floats", batch=True),
        Kind("no time", over(on=None, r=sw.sum("i").over(rows=5), p=sw.max("x").over(rows=3, closed="left"))),
        Kind("waiting", over(**rows), late="wait:3s"),
        Kind("waiting, in arrays", over(**numbers), "numbers", late="wait:3", batch=True),
        Kind("ahead", over(**numbers), "numbers", late="drop", ahead=9_000, ahead_of="stream"),
        Kind("waiting and ahead", over(**rows), late="wait:3s", ahead="1 day", ahead_of="stream"),
        Kind("revised", over(**rows), late="revise", retain="1m"),
        Kind("revised, all", over(**numbers, first=sw.first("s").over(20)), "numbers", late="revise", retain="all"),
        Kind("beats", over(every="4s", **beats)),
        Kind("beats in arrays", over(every="4s", **beats), batch=True),
        Kind("beats that wait", over(every="4s", **beats), "zoned", late="wait:3s"),
        Kind("beats of floats", over(every=2.5, a=sw.sum("x").over(7.5)), "floats", late="drop"),
    ]
    return found


class Golden(Kind):
    """A snapshot that an earlier version wrote, from the golden files."""

    def __init__(self, file: Path) -> None:
        self.blob, self.golden = bytes.fromhex(file.read_text()), file.stem.rpartition("_v")[0]
        super().__init__(file.stem, golden_live(self.golden), "numbers")

    def rows(self, seed: int, count: int, start: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = golden_events(self.golden, start, start + count)
        return found

    def table(self, rows: list[dict[str, Any]]) -> Any:
        return pd.DataFrame(rows)

    def made(self) -> Any:
        return self.definition.restore(self.blob)


def golden_kinds() -> list[Kind]:
    """One for each golden file."""
    return [Golden(file) for file in sorted((HERE / "definitions" / "golden").glob("*.hex"))]


class Target:
    """A kind of snapshot with its payload, and where in it what lies."""

    def __init__(self, kind: Kind) -> None:
        self._look(kind, kind.blob if isinstance(kind, Golden) else kind.made().snapshot())

    @classmethod
    def of(cls, kind: Kind, blob: bytes) -> Target:
        """Another snapshot of the kind."""
        target = cls.__new__(cls)
        target._look(kind, blob)
        return target

    def _look(self, kind: Kind, blob: bytes) -> None:
        self.kind, self.blob = kind, blob
        with mock.patch.object(snapshots, "Reader", Recorder):
            recorders: list[Recorder] = []
            real = Recorder.__init__

            def remember(recorder: Recorder, data: bytes) -> None:
                real(recorder, data)
                recorders.append(recorder)

            with mock.patch.object(Recorder, "__init__", remember):
                kind.definition.restore(self.blob)
        self.spans: list[Span] = recorders[0].spans
        self.version = int.from_bytes(self.blob[8:10], "little")
        self.payload = self.blob[34:-16]

    def crafted(self, draw: random.Random) -> bytes:
        payload = mutated_payload(draw, self.payload, self.spans)
        version = self.version if draw.random() < 0.97 else draw.randrange(1, snapshots.VERSION + 1)
        return sealed(self.kind.definition, version, payload, None)


def exercise(kind: Kind, blob: bytes, batches: bool = True) -> bool:
    """Restore a snapshot and go on with it, in every way; whether it was read. Errors of ours are all there may be."""
    definition = kind.definition
    try:
        live = definition.restore(blob)
    except sw.SnapshotError:
        return False
    for step in steps(kind, batches):
        with suppress(sw.SlidewiseError):
            step(live)
    with suppress(sw.SlidewiseError):
        again = definition.restore(live.snapshot())
        for step in list(steps(kind, batches))[:10]:
            with suppress(sw.SlidewiseError):
                step(again)
    return True


def steps(kind: Kind, batches: bool) -> Iterator[Any]:
    """What is done with a live definition, one after the other; with `batches`, through kernels too."""
    for row in kind.rows(5, 3, kind.later):
        yield lambda live, row=row: live.get(row)
        yield lambda live, row=row: live.get(row, at=kind.time(kind.later + 7))
    if batches:
        asked = kind.table(kind.rows(9, 40, kind.later + 5))
        yield lambda live: live.get_many(asked.drop_columns([*{*live.definition.columns} & {*asked.column_names}]))
    if batches:
        near = kind.table(kind.rows(7, 300, 900 if kind.batch else 130))
        yield lambda live: live.push_many(near)
    for row in kind.rows(5, 6, kind.later):
        yield lambda live, row=row: live.push(row)
    if batches:
        many = kind.table(kind.rows(6, 700, kind.later + 20))
        yield lambda live: live.push_many(many)
    yield lambda live: live.forget(before=kind.time(kind.later))
    yield lambda live: live.flush()
    yield lambda live: live.advance(to=kind.time(kind.later + 3_000))
    yield lambda live: live.stats
    yield lambda live: live.push(kind.rows(8, 1, kind.later + 4_000)[0])
