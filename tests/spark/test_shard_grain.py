"""Windows with a grain on a stream's shard, without Spark: cells in pages, never more than the window has grains."""

from __future__ import annotations

from typing import Any

import definitions.test_lanes as features
import lanes
import numpy as np
import pyarrow as pa
import pytest
from shards import FINGERPRINT, SECOND, Stream, played, small_pages
from spark.test_shard import _noting, in_order, long_rows, ms, rows_at

import slidewise as sw
from slidewise.engine.window_spec import window_specs_of
from slidewise.kernels.bounds.grain import cells
from slidewise.spark.batch.time_slices import time_slices_for
from slidewise.spark.state.cell_table import NEWEST, ROWS, CellTables
from slidewise.spark.state.large_key import LargeCells
from slidewise.spark.state.pages import Pages
from slidewise.spark.stream.query import _forget_after as forgotten
from slidewise.windows.grain import most_cells

LONG = sw.Sliding(
    by="k",
    on="ts",
    total=sw.sum("n").over("300s", grain="4s"),
    whole=sw.sum("n").over("300s", closed="left", grain="4s"),
    before=sw.max("n").over("290s", closed="neither", at_least=7, grain="7s"),
    both=sw.max("n").over("200s", closed="both", grain="1500ms"),
    where=sw.sum("n").where("ok").over("300s", grain="4s"),
    count=sw.count("n").over("300s", grain="4s"),
    drop=features.longest_drop("n").over("300s", grain="5s"),
    words=sw.max("word").over("300s", grain="4s"),
    some=sw.collect("n").over("40s", grain="4s"),
    when=sw.max("ts").over("300s", closed="left", grain="4s"),
    exact=sw.sum("n").over("60s"),
)


def run(definition: sw.Sliding, table: pa.Table, stream: Stream) -> None:
    """The stream gives the answers of the table."""
    found = lanes.as_table(definition, table, stream.found)
    case = lanes.Case("long", definition, table)
    expected = [{name: lanes.plain(row[name]) for name in definition.columns} for row in definition(table).to_pylist()]
    lanes.assert_same(case, in_order(case, found.to_pylist()), expected)


@pytest.mark.parametrize("seed", range(2))
def test_large_keys_give_the_answers_of_a_table(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = long_rows(900, seed)
    stream = Stream(LONG, table.schema)
    between: list[int] = []
    monkeypatch.setattr(LargeCells, "_between", _noting(LargeCells._between, between))
    with small_pages(1_200, slots=4):
        played(stream, table, seed, most=60)
    assert len(between) > 20  # windows with chunks of cells in the middle that were not read
    run(LONG, table, stream)


@pytest.mark.parametrize("size", [65_536, 300])
def test_forgotten_keys_start_anew(size: int) -> None:
    definition = sw.Sliding(
        by="k",
        on="ts",
        n=sw.count().over("15s", grain="5s"),
        s=sw.sum("x").over("15s", grain="5s"),
        r=sw.count().over("all"),
    )
    seconds = np.cumsum([3, 1, 25, 2, 30, 1, 1, 4, 40] * 12).tolist()
    table = rows_at(seconds, k=["a", "b", "b"] * 36, x=[float(i) for i in range(108)])
    stream = Stream(definition, table.schema, forget_after=20 * SECOND)
    with small_pages(size):
        played(stream, table, 5, most=9)
    session, last, keys = dict.fromkeys("ab", 0), {}, []
    for row, second in zip(table.to_pylist(), seconds, strict=True):
        session[row["k"]] += second - last.get(row["k"], second) > 20
        last[row["k"]] = second
        keys.append(f"{row['k']} {session[row['k']]}")
    expected = definition(table.set_column(0, "k", pa.array(keys))).to_pylist()
    found = sorted(stream.found, key=lambda row: row["x"])
    assert [(row["n"], row["s"], row["r"]) for row in found] == [(row["n"], row["s"], row["r"]) for row in expected]


@pytest.mark.parametrize("size", [65_536, 2_000], ids=["small keys", "large keys"])
def test_state_does_not_grow_with_the_rate(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def noted(tables: CellTables, cells: Any) -> pa.Table:
        table = kept(tables, cells)
        if pa.compute.max(table.column(ROWS)).as_py() not in (None, 1):  # cells, and not rows on their way into them
            written.append(len(table))
        return table

    kept = CellTables.table
    monkeypatch.setattr(CellTables, "table", noted)
    grain, last = 5, 300
    definition = sw.Sliding(by="k", on="ts", m=sw.mean("x").over(f"{last}s", grain=f"{grain}s"))
    sizes = []
    for rate in (2, 40):
        stream = Stream(definition, rows_at([0], x=[1.0]).schema)
        with small_pages(size, slots=4):
            for at in range(0, 705, 15):
                seconds = (np.arange(15 * rate) / rate + at).tolist()
                found = stream.push(rows_at(seconds, x=[s % 7 for s in seconds]), ms(at + 15) - 1)
                assert len(found) == 15 * rate
            if size == 2_000:
                numbers = large_cells(stream)
                assert len(numbers) == len(set(numbers)), "one partial for each cell"
                assert last // grain <= len(numbers) <= most_cells(last, grain) + 2_000 // 3 // 40  # and a chunk's rest
        sizes.append(sum(len(page) for page in stream.store.pages.values()))
        assert (len(stream.store.pages) > 4) == (size == 2_000)
    assert max(written) <= most_cells(last, grain)
    assert sizes[1] <= 1.3 * sizes[0], sizes


def large_cells(stream: Stream) -> list[int]:
    """The numbers of all cells in the pages of the one large key."""
    spec = window_specs_of(stream.definition, spikes=False)[0].scaled(1_000)
    tables = CellTables(stream.definition, spec, rows_at([0], x=[1.0]).schema)
    key = LargeCells(Pages(stream.store, FINGERPRINT, 3), stream.definition, tables, 1)
    chunks = pa.concat_tables([key._chunk(chunk) for chunk in range(key._low, key._tail + 1)])
    return cells(chunks.column(NEWEST).to_numpy(), spec.grain, spec.edge).tolist()


def test_what_is_written_does_not_grow_with_the_window() -> None:
    """The worst call of each of three sizes of window; a window kept in one piece would grow by a factor of 16."""
    worst = []
    for n in (1_000, 4_000, 16_000):
        definition = sw.Sliding(
            by="k", on="ts", s=sw.sum("x").over(f"{n}s", grain="1s"), m=sw.max("x").over(f"{n}s", grain="1s")
        )
        stream = Stream(definition, rows_at([0], x=[1.0]).schema)
        seconds = np.arange(n + 4_000).tolist()
        with small_pages(6_400, slots=4):
            stream.push(rows_at(seconds[:n], x=1.0), ms(n - 1))
            costs = []
            for at in range(n, len(seconds), 250):
                found = stream.push(rows_at(seconds[at : at + 250], x=1.0), ms(at + 249))
                costs.append((len(stream.store.read) + len(stream.store.written), stream.store.bytes))
                assert found[-1]["s"] == n
        worst.append((max(c for c, _ in costs), max(c for _, c in costs)))
    pages, size = zip(*worst, strict=True)
    assert max(pages) <= 1.3 * min(pages), worst
    assert max(size) <= 1.3 * min(size), worst


def test_a_key_lives_as_long_as_its_rounded_window() -> None:
    definition = sw.Sliding(by="k", on="ts", n=sw.count().over("10s", grain="10s"))
    table = rows_at([1, 19, 20.5], k=["a", "a", "a"])  # the second is 18 s after the first, which lies behind 0
    stream = Stream(definition, table.schema)
    stream.push(table.slice(0, 1), ms(15))
    stream.push(table.slice(1, 1), ms(19))
    stream.push(table.slice(2, 1), ms(30))
    assert [row["n"] for row in stream.found] == [1, 2, 2]


def test_slices_and_keys_that_are_forgotten_know_of_the_grain() -> None:
    definition = sw.Sliding(by="k", on="ts", n=sw.count().over("10s", grain="4s"))
    assert time_slices_for(definition, "timestamp").window == 14 * SECOND
    assert time_slices_for(sw.Sliding(on="t", n=sw.count().over(2.5, grain=0.25)), "double").window == 2.75
    assert forgotten(definition, "14s") is not None
    with pytest.raises(sw.SlidewiseError, match=r"shorter than the window of 'n', 10 seconds and its grain, 4 seconds"):
        forgotten(definition, "13s")


@pytest.mark.parametrize("size", [65_536, 300])
def test_state_ends_with_the_windows(size: int) -> None:
    table = long_rows(400, 1)
    columns = {"s": sw.sum("x").over("60s", grain="7s"), "c": sw.max("word").over("9s", grain="2s")}
    stream = Stream(sw.Sliding(by="k", on="ts", columns=columns), table.schema)
    with small_pages(size):
        played(stream, table, 1)
        assert len(stream.store.pages) > 1
        stream.push(table.slice(0, 0), ms(10_000))
    assert list(stream.store.pages) == [0]
    assert stream.timer is None


@pytest.mark.parametrize("size", [65_536, 300])
def test_a_sum_that_does_not_fit_is_named(size: int) -> None:
    seconds = list(range(100))
    table = rows_at(seconds, k=["a", "b"] * 50, n=[2**62 if s in (61, 71) else 1 for s in seconds])
    definition = sw.Sliding(
        by="k", on="ts", n=sw.max("n").over("50s", grain="2s"), total=sw.sum("n").over("50s", grain="2s")
    )
    stream = Stream(definition, table.schema)
    with small_pages(size):
        for at in range(0, 60, 20):
            stream.push(table.slice(at, 20), ms(at + 19))
        before = dict(stream.store.pages)
        with pytest.raises(sw.SumOverflowError, match=r"does not fit.*k=b, ts=2024-03-01 00:01:"):
            stream.push(table.slice(60), ms(100))
    assert stream.store.pages == before


def test_state_that_cannot_be_stored_is_refused() -> None:
    odd = sw.operator(
        name="odd", identity=frozenset(), lift=lambda x: frozenset([x]), combine=lambda a, b: a | b, lower=len
    )
    table = rows_at([1, 2], x=["p", "q"])
    stream = Stream(sw.Sliding(by="k", on="ts", n=odd("x").over("10s", grain="1s")), table.schema)
    with pytest.raises(sw.SlidewiseError, match=r"a state of 'n' is or holds .* give its operator encode= and decode="):
        stream.push(table, ms(5))
