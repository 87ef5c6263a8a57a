"""Tables, `rolling` and `as_of` in parts and threads: the bits of one part, however many threads there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import as_of_lanes
import numpy as np
import pyarrow as pa
import pytest
from definitions.test_lanes import BY_NAME as CASES

import slidewise as sw
from slidewise.kernels.bounds import in_parts
from slidewise.kernels.compiler import threads

Answer = Callable[[], Any]


@pytest.fixture
def in_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], list[Any]]:
    """The answers in one part, and in small parts with one, two and three threads."""

    def answered(run: Answer) -> list[Any]:
        monkeypatch.setattr(threads.PartSize, "rows", 10**9)  # also where it was small for the answers before
        found = [run()]
        monkeypatch.setattr(threads.PartSize, "rows", 12)
        for count in ("1", "2", "3"):
            monkeypatch.setenv(threads.VARIABLE, count)
            found.append(run())
        return found

    return answered


@pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")
@pytest.mark.parametrize("name", CASES)
def test_tables(name: str, in_any_number_of_threads: Callable[[Answer], list[Any]]) -> None:
    case = CASES[name]
    whole, *others = in_any_number_of_threads(lambda: bits(case.definition(case.table)))
    for other in others:
        assert other == whole


@pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.definition.on is not None])
def test_as_of(name: str, in_any_number_of_threads: Callable[[Answer], list[Any]]) -> None:
    case, labels = CASES[name], as_of_lanes.labels_for(CASES[name])
    names = {column: f"{column} asked" for column in case.table.column_names if column in case.definition.columns}
    labels = labels.rename_columns([names.get(column, column) for column in labels.column_names])
    whole, *others = in_any_number_of_threads(lambda: bits(case.definition.as_of(labels, case.table)))
    for other in others:
        assert other == whole


def bits(table: pa.Table) -> str:
    """The rows as text, where floats are written with all their bits, and a zero's sign and NaN are seen."""
    return str(table.to_pylist())


COUNT = 3_000
WINDOWS: dict[str, dict[str, Any]] = {
    "rows": {"rows": 30},
    "long rows": {"rows": 600},
    "enough rows": {"rows": 30, "at_least": 4},
    "time": {"last": 50},
    "open time": {"last": 50, "closed": "neither"},
    "long time": {"last": 900, "closed": "both"},
    "limited": {"last": 50, "rows": 20},
}
OPERATORS = [
    sw.max,
    sw.min,
    sw.sum,
    sw.mean,
    sw.stddev,
    sw.m4,
    sw.skew,
    sw.first,
    sw.count,
    sw.median,
    sw.count_distinct,
]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("keys", [None, 1, 3, 400])
def test_rolling(window: str, keys: int | None, in_any_number_of_threads: Callable[[Answer], list[Any]]) -> None:
    """Few keys are cut within, many between."""
    choose = np.random.default_rng(7)
    values = choose.normal(size=COUNT) * 10.0 ** choose.integers(-3, 6, COUNT)
    options = dict(WINDOWS[window])
    if "last" in options:
        options["times"] = np.sort(choose.integers(0, 2 * COUNT, COUNT)) / (1.0 if keys == 3 else 1)
    if keys is not None:
        options["by"] = choose.integers(0, keys, COUNT) ** 3 * 10**6  # far apart

    def answers() -> list[Any]:
        found = [sw.rolling(values, op, **options) for op in OPERATORS]
        found.append(sw.rolling(choose_whole(values), sw.sum, **options))
        return [np.ma.filled(one, 0).tobytes() for one in found]

    whole, *others = in_any_number_of_threads(answers)
    for other in others:
        assert [one == two for one, two in zip(other, whole, strict=True)] == [True] * len(whole)


def choose_whole(values: Any) -> Any:
    return values.astype(np.int64)


def test_users_operators_meet_values_in_one_order(in_any_number_of_threads: Callable[[Answer], list[Any]]) -> None:
    """Floats that are added without care show in their last bits where they were brought together."""
    plain = sw.operator(name="plain_sum", identity=0.0, combine=lambda a, b: a + b)
    choose = np.random.default_rng(2)
    x, times = choose.normal(size=COUNT), np.sort(choose.integers(0, COUNT, COUNT))
    for options in ({"rows": 37}, {"times": times, "last": 41}, {"times": times, "last": 41, "at_least": 9}):
        whole, *others = in_any_number_of_threads(lambda: sw.rolling(x, plain, **options).tobytes())  # noqa: B023
        assert others == [whole] * 3


def test_text_keys_with_nulls_and_many_columns(in_any_number_of_threads: Callable[[Answer], list[Any]]) -> None:
    choose = np.random.default_rng(3)
    text = pa.array([None if i % 7 == 0 else f"key {i % 31}" for i in choose.integers(0, 10**6, COUNT)])
    table = pa.table(
        {
            "text": text,
            "wide": choose.integers(0, 5, COUNT) * 10**17,
            "ts": pa.array(choose.integers(-(10**17), 10**17, COUNT), pa.timestamp("ns")),
            "x": pa.array(choose.normal(size=COUNT), mask=choose.random(COUNT) < 0.1),
        }
    )
    columns = {
        "top": sw.max("x").over("500 days"),
        "mean": sw.mean("x").over(rows=5),
        "n": sw.count().over("1000 days"),
    }
    for by in ("text", ["text", "wide"], ["wide"], []):
        definition = sw.Sliding(by=by, on="ts", columns=columns)
        whole, *others = in_any_number_of_threads(lambda: definition(table))  # noqa: B023
        assert all(other.equals(whole) for other in others)


def test_the_error_is_that_of_the_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same text, whichever thread meets an error first."""
    table = pa.table({"k": np.arange(400) // 100, "t": np.arange(400), "x": np.full(400, 2**61)})
    definition = sw.Sliding(by="k", on="t", total=sw.sum("x").over(50))
    messages = set()
    monkeypatch.setattr(threads.PartSize, "rows", 12)
    for count in ("1", "2", "3"):
        monkeypatch.setenv(threads.VARIABLE, count)
        with pytest.raises(sw.SlidewiseError) as error:
            definition(table)
        messages.add(str(error.value))
    assert len(messages) == 1
    assert "total" in messages.pop()


def test_times_that_run_backwards_are_found_in_any_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads.PartSize, "rows", 12)
    monkeypatch.setenv(threads.VARIABLE, "3")
    times = np.arange(200)
    for at in range(1, 200):
        wrong = times.copy()
        wrong[at] = at - 2
        with pytest.raises(sw.SlidewiseError, match=f"times run backwards at position {at}:"):
            sw.rolling(times, sw.max, times=wrong, last=3)


def test_two_stacks_is_cut_where_it_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads.PartSize, "rows", 10)
    choose = np.random.default_rng(8)
    for _ in range(200):
        count = int(choose.integers(1, 200))
        ends = np.sort(choose.integers(0, count + 1, count))
        starts = np.minimum(np.sort(choose.integers(0, count + 1, count)), ends)
        anew, back = set(), 0
        for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if start < end and start >= back:
                anew.add(i)
                back = end
        for cut in in_parts.cuts_of_stacks(starts, ends)[1:-1]:
            later = [i for i in range(cut, count) if starts[i] < ends[i]]
            assert not later or later[0] in anew
