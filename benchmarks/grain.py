"""What a key keeps with a grain and without: the mean of the last hour of one key, at several rates of events.

An hour and five minutes of events, at random microseconds and with random values, go through the code that a shard of
a Spark stream runs, with its pages in a dict, in micro-batches of ten seconds of events; and through `live().push_many`
in batches of six minutes. A stream's bytes are those of all its pages at the end, as they would lie in RocksDB; live,
they are those of the arrays that are held, and of a snapshot unless it is of more than five million rows. Time is the
processor's, for a row of the last micro-batches. Both ways of the same window take turns.

    python benchmarks/grain.py [--rates 100,1000,10000] [--turns N]
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from common import describe_machine, make_console, save_csv, say_saved
from rich.table import Table

import slidewise as sw
from slidewise.spark.state.buckets import HASH
from slidewise.spark.stream.shard import QueryTerms, Shard

HOUR, MORE, BATCH = 3_600, 300, 10
LIVE_BATCH = 360
MOST_IN_A_SNAPSHOT = 5_000_000
SECOND = 1_000_000
DEFINITIONS = {
    "rows": sw.Sliding(by="k", on="ts", mean=sw.mean("x").over("1 hour")),
    "grain": sw.Sliding(by="k", on="ts", mean=sw.mean("x").over("1 hour", grain="1 second")),
}
FIELDS = ("events/s", "kept", "stream bytes", "bytes written", "us per row", "live bytes", "snapshot bytes")


class Found(NamedTuple):
    stream: int
    written: int
    microseconds: float
    live: int
    snapshot: int | None


def events(rate: int, start: int, seconds: int) -> pa.Table:
    """So many seconds of events of one key, sorted."""
    choose = np.random.default_rng(start)
    count = rate * seconds
    times = np.sort(choose.integers(start * SECOND, (start + seconds) * SECOND, count))
    return pa.table(
        {"k": np.ones(count, np.int64), "ts": pa.array(times, pa.timestamp("us", "UTC")), "x": choose.random(count)}
    )


class Store:
    """Pages in a dict; `written` counts the bytes."""

    def __init__(self) -> None:
        self.pages: dict[int, bytes] = {}
        self.written = 0

    def get(self, number: int) -> bytes | None:
        return self.pages.get(number)

    def put(self, number: int, page: bytes) -> None:
        self.written += len(page)
        self.pages[number] = page

    def remove(self, number: int) -> None:
        self.pages.pop(number, None)


def on_a_stream(definition: sw.Sliding, rate: int) -> tuple[int, int, float]:
    """The bytes of all pages at the end, and of the last micro-batches those written and the time for a row."""
    shard = Shard(QueryTerms(definition, "00" * 16, {"mean": pa.float64()}))
    store = Store()
    took, written = [], []
    for at in range(0, HOUR + MORE, BATCH):
        table = events(rate, at, BATCH)
        table = table.add_column(0, HASH, pa.array(np.full(len(table), 5)))
        store.written = 0
        start = time.process_time()
        went = shard.call(store, 0, [table], (at + BATCH) * 1_000 - 1)
        took.append(time.process_time() - start)
        assert len(went.table) >= len(table) - rate
        written.append(store.written)
    last = MORE // BATCH
    size = sum(map(len, store.pages.values()))
    return size, round(statistics.median(written[-last:])), statistics.median(took[-last:]) / rate / BATCH * 1e6


def size_of(frozen: Any) -> int:
    """The bytes of what a pane holds as arrays."""
    if isinstance(frozen, list):
        return sum(part.nbytes for part in frozen)
    parts = [array for part in frozen.parts for array in part.fields]
    return int(frozen.places.nbytes + frozen.parts[0].counts.nbytes + sum(array.nbytes for array in parts))


def live(definition: sw.Sliding, rate: int) -> tuple[int, int | None]:
    """The bytes that are held, and those of a snapshot."""
    running = definition.live()
    for at in range(0, HOUR + MORE, LIVE_BATCH):
        running.push_many(events(rate, at, LIVE_BATCH))
    pane = running.key_states[1].panes[0]
    held = pane.held()
    size = size_of(pane.frozen)
    return size, len(running.snapshot()) if held <= MOST_IN_A_SNAPSHOT else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", default="100,1000,10000")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    console = make_console(140)
    machine = describe_machine(["numpy", "pyarrow", "numba"])
    console.print(machine)
    rows: list[Any] = []
    for rate in map(int, options.rates.split(",")):
        turns: dict[str, list[Any]] = {name: [] for name in DEFINITIONS}
        for _ in range(options.turns):
            for name, definition in DEFINITIONS.items():
                turns[name].append(on_a_stream(definition, rate))
        for name, definition in DEFINITIONS.items():
            stream, written, _ = turns[name][0]
            found = Found(stream, written, statistics.median(one[2] for one in turns[name]), *live(definition, rate))
            rows.append((rate, name, *found))
            console.print(f"{rate} {name} {found}")
    table = Table("events/s", "kept", *FIELDS[2:])
    for rate, name, stream, written, took, held, snapshot in rows:
        shown = "" if snapshot is None else f"{snapshot:,}"
        table.add_row(f"{rate:,}", name, f"{stream:,}", f"{written:,}", f"{took:.2f}", f"{held:,}", shown)
    console.print(table)
    save = [(*row[:4], f"{row[4]:.3f}", *row[5:]) for row in rows]
    say_saved(console, [save_csv("grain.csv", machine, FIELDS, save)])


if __name__ == "__main__":
    main()
