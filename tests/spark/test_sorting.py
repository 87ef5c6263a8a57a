"""Rows that workers sort: in memory, in runs on disk, in more runs than are merged at once; and Spark's own order."""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spark_data import QUIET

import slidewise as sw
from slidewise.spark.sort import external_sort as sorting
from slidewise.spark.sort import merge as merging
from slidewise.spark.sort import spill as spilling
from slidewise.spark.sort.external_sort import sort_tables

pytestmark = QUIET
NAN, OTHER_NAN = struct.unpack("<dd", bytes.fromhex("000000000000f87f010000000000f8ff"))
# Values of each type of key, in Spark's order; those in one list are equal.
KEYS: dict[pa.DataType, list[list[Any]]] = {
    pa.int64(): [[None], [-(2**63)], [-1], [0], [7], [2**63 - 1]],
    pa.int8(): [[None], [-128], [0], [127]],
    pa.bool_(): [[None], [False], [True]],
    pa.float64(): [[None], [-np.inf], [-1.5], [0.0, -0.0], [1e-300], [np.inf], [NAN, OTHER_NAN]],
    pa.float32(): [[None], [-1.5], [0.0, -0.0], [2.5], [NAN, OTHER_NAN]],
    pa.string(): [[None], [""], ["B"], ["a"], ["ab"], ["\u00e9"], ["\uffee"], ["\U0001f600"]],
    pa.binary(): [[None], [b""], [b"\x00"], [b"a\x00"], [b"\xff"]],
    pa.date32(): [[None], [-800_000], [0], [20_000], [2_900_000]],
    pa.timestamp("us", "UTC"): [[None], [-(2**62)], [0], [2**62]],
}
ROWS = sw.Sliding(by=["a", "b"], on="t", ties="tie", last=sw.last("x").over(rows=2))
TIMED = sw.Sliding(by=["a", "b"], on="t", top=sw.max("x").over(10))


def column(kind: pa.DataType, chosen: list[int]) -> tuple[pa.Array, list[int]]:
    """A column with some of a type's values, and the rank of each."""
    values = [(value, rank) for rank, equal in enumerate(KEYS[kind]) for value in equal]
    found = [values[number % len(values)] for number in chosen]
    plain = {pa.date32(): pa.int32(), pa.timestamp("us", "UTC"): pa.int64()}.get(kind, kind)
    return pa.array([value for value, _ in found], plain).cast(kind), [rank for _, rank in found]


def cut(table: pa.Table, rows: int) -> Iterator[pa.Table]:
    for start in range(0, len(table), rows):
        yield table.slice(start, rows)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Memory for a few rows, and runs that are merged three at a time; how many runs were written is counted."""
    counted: list[int] = []
    write = spilling.SpillFile.write

    def counting(spilled: Any, tables: Any) -> None:
        write(spilled, tables)
        counted.append(len(spilled.runs))

    for module in (sorting, merging, spilling):
        monkeypatch.setattr(module, "sort_memory", lambda: 600)
    monkeypatch.setattr(spilling, "BLOCKS", 4)
    monkeypatch.setattr(sorting, "MAX_RUNS", 3)
    monkeypatch.setattr(sorting, "OUTPUT_ROWS", 11)
    monkeypatch.setattr(spilling.SpillFile, "write", counting)
    return counted


def assert_sorted(
    definition: sw.Sliding, kinds: list[pa.DataType], chosen: Sequence[tuple[int, ...]], rows: int
) -> None:
    """The rows come out once each, by the ranks of their keys, times and, where it matters, ties."""
    first, ranks = column(kinds[0], [row[0] for row in chosen])
    second, more = column(kinds[1], [row[1] for row in chosen])
    ties, of_ties = column(kinds[1], [row[3] for row in chosen])
    times = [row[2] for row in chosen]
    names = ["a", "b", "t", "tie", "x", "row"]
    numbers = pa.array(range(len(chosen)))
    table = pa.table(
        [first, second, pa.array(times, pa.int64()), ties, pa.nulls(len(chosen), pa.int64()), numbers], names
    )
    found = [one for part in sort_tables(definition, cut(table, rows)) for one in part.column("row").to_pylist()]
    assert sorted(found) == list(range(len(chosen)))
    places = [(ranks[i], more[i], times[i], of_ties[i] if definition is ROWS else 0) for i in found]
    assert places == sorted(places)


rows_of = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-3, 3), st.integers(0, 9)), max_size=120)
kinds_of = st.lists(st.sampled_from(list(KEYS)), min_size=2, max_size=2)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds=kinds_of, chosen=rows_of, rows=st.integers(1, 30), definition=st.sampled_from([ROWS, TIMED]))
def test_any_keys_in_any_number_of_runs(
    small: list[int], kinds: list[pa.DataType], chosen: Sequence[tuple[int, ...]], rows: int, definition: sw.Sliding
) -> None:
    assert_sorted(definition, kinds, chosen, rows)


def test_runs_are_written_and_merged(small: list[int]) -> None:
    choose = np.random.default_rng(5)
    chosen = [tuple(row) for row in choose.integers(0, 8, (500, 4)).tolist()]
    assert_sorted(ROWS, [pa.string(), pa.float64()], chosen, 10)
    assert max(counted for counted in small) > 3, "more than are merged at once"
    assert small[-1] <= 3


@pytest.mark.parametrize("kinds", [[pa.int64(), pa.bool_()], [pa.string(), pa.float32()]])
def test_rows_that_fit_touch_no_disk(kinds: list[pa.DataType], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilling.SpillFile, "_append", lambda *_: pytest.fail("written"))
    chosen = [tuple(row) for row in np.random.default_rng(6).integers(0, 8, (3_000, 4)).tolist()]
    assert_sorted(ROWS, kinds, chosen, 100)
    assert list(sort_tables(ROWS, [])) == []


def test_rows_of_one_time_are_ordered_whatever_run_they_lie_in(small: list[int]) -> None:
    chosen = [(1, 1, 0, number) for number in np.random.default_rng(7).integers(0, 9, 300).tolist()]
    assert_sorted(ROWS, [pa.int64(), pa.string()], chosen, 7)
    assert len(small) > 3


@pytest.fixture
def ordered_at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were ordered at once, time after time."""
    found: list[int] = []
    order = sorting._sort_indices

    def counting(definition: Any, table: Any) -> Any:
        found.append(len(table))
        return order(definition, table)

    monkeypatch.setattr(sorting, "_sort_indices", counting)
    return found


@pytest.mark.parametrize("ties", [1, 9])
@pytest.mark.parametrize("times", [1, 4])
@pytest.mark.parametrize("definition", [ROWS, TIMED])
def test_memory_is_bounded_however_many_rows_have_one_time(
    small: list[int], ordered_at_once: list[int], definition: sw.Sliding, times: int, ties: int
) -> None:
    chosen = [(1, 1, row * times // 600, row % ties) for row in range(600)]
    assert_sorted(definition, [pa.int64(), pa.int64()], chosen, 5)
    assert max(ordered_at_once) < 60, "twice what memory is for, and some blocks"


def test_text_that_is_none(small: list[int]) -> None:
    """Spark's text may be any bytes: `CAST(X'FF' AS STRING)`."""
    keys = pa.array([bytes([200 + row * 7 % 50]) for row in range(200)], pa.binary()).view(pa.string())
    table = pa.table({"k": keys, "t": pa.array(range(200)), "x": pa.array([1.0] * 200)})
    definition = sw.Sliding(by="k", on="t", n=sw.count().over(rows=2))
    found = pa.concat_tables(sort_tables(definition, cut(table, 9)))
    places = [(bytes(key.as_buffer()), row) for key, row in zip(found["k"], found["t"].to_pylist(), strict=True)]
    assert len(places) == 200
    assert places == sorted(places)
    assert small


def test_runs_that_follow_one_another_are_not_sorted_again_and_again(
    small: list[int], ordered_at_once: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that come in time's order make runs without a common place: few are sorted once more."""
    monkeypatch.setattr(sorting, "MAX_RUNS", 100)
    assert_sorted(TIMED, [pa.int64(), pa.int64()], [(1, 1, time, 0) for time in range(400)], 10)
    assert len(small) > 9
    assert sum(ordered_at_once) < 2 * 400


def test_the_file_has_no_name_and_lies_with_sparks(
    tmp_path: Path, small: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path / 'gone'},{tmp_path}")
    asked: list[Any] = []
    make = tempfile.TemporaryFile

    def made(**given: Any) -> Any:
        asked.append(given["dir"])
        return make(**given)

    monkeypatch.setattr(tempfile, "TemporaryFile", made)
    chosen = [(number % 3, 1, number % 5, 1) for number in range(200)]
    assert_sorted(ROWS, [pa.int64(), pa.int64()], chosen, 9)
    assert asked == [os.fspath(tmp_path)]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("when", ["made", "written"])
def test_a_disk_that_is_full(small: list[int], monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    def full(**_: Any) -> Any:
        if when == "made":
            raise OSError(28, "No space left on device")
        return open("/dev/full", "r+b")

    if when == "written" and not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(sw.SlidewiseError, match=r"do not fit into memory .*No space left.*spark.local.dir"):
        assert_sorted(ROWS, [pa.int64(), pa.int64()], [(1, 1, 1, 1)] * 100, 9)


def test_memory_that_spark_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource", reason="limits are there on Unix alone")
    for limit, expected in [(resource.RLIM_INFINITY, spilling.MEMORY), (240 << 20, 10 << 20), (1, spilling.MIN_MEMORY)]:
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: (limit, limit))
        spilling.sort_memory.cache_clear()
        assert spilling.sort_memory() == expected
    monkeypatch.undo()
    spilling.sort_memory.cache_clear()


@pytest.mark.parametrize("kind", KEYS, ids=str)
def test_the_order_is_sparks(spark: Any, kind: pa.DataType) -> None:
    from pyspark.sql import functions as F

    keys, _ = column(kind, np.random.default_rng(8).integers(0, 60, 60).tolist())
    table = pa.table({"k": keys, "t": pa.array(range(60)), "x": pa.array([1.0] * 60)})
    definition = sw.Sliding(by="k", on="t", n=sw.count().over(rows=2))
    (found,) = sort_tables(definition, cut(table, 7))
    df = spark.createDataFrame(table).coalesce(1)
    expected = df.sortWithinPartitions(F.col("k").asc_nulls_first(), "t").select("t").toArrow()
    assert found.column("t").to_pylist() == expected.column("t").to_pylist()


def test_spark_sorts_by_what_workers_cannot(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Ties that are structs: the answers are the same, the plan has a sort, and the words say why."""
    rows = [(1, 0, number * 7 % 50) for number in range(50)]
    df = spark.createDataFrame(rows, "k int, t long, x long").selectExpr("*", "struct(x) AS nested")
    last = sw.collect("x").over(rows=50)
    nested, plain = (sw.Sliding(by="k", on="t", ties=ties, last=last) for ties in ("nested", "x"))
    found = {name: df.transform(one).toArrow().sort_by("x") for name, one in {"nested": nested, "x": plain}.items()}
    assert found["nested"]["last"].to_pylist() == found["x"]["last"].to_pylist()
    assert found["x"]["last"].to_pylist()[-1] == list(range(50))
    assert "by Spark, since workers do not sort by 'nested', struct<x:bigint>" in str(nested.explain(df))
    assert "by Spark" not in str(plain.explain(df))
    for one, sorts in [(nested, 1), (plain, 0)]:
        df.transform(one).explain()
        assert capsys.readouterr().out.count("Sort ") == sorts
