"""Maps by category, against plain Python; what is refused; and how they are written."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.columns.series import read
from slidewise.engine.answers import typed
from slidewise.engine.evaluate import plain_rows
from slidewise.kernels.passes import by_category
from slidewise.operators.aggregate import Aggregate
from slidewise.operators.values.equality import same

CATEGORIES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["b", "", "é", "other"]),
    "integers": (pa.int16(), [-3, 0, 7, 9]),
    "bools": (pa.bool_(), [True, False]),
    "dates": (pa.date32(), [date(2024, 1, 1), date(1969, 7, 20)]),
}
REST: dict[str, Any] = {"text": "other", "integers": 9}
OPERATORS: list[tuple[sw.Operator, Callable[[list[float]], Any]]] = [
    (sw.sum, sum),
    (sw.max, max),
    (sw.variance, lambda xs: None if len(xs) < 2 else float(np.var(xs, ddof=1))),
    (sw.count, len),
]


def expected(rows: list[tuple[Any, Any]], inner: Callable[[list[Any]], Any], top: int | None, rest: Any) -> Any:
    groups: dict[Any, list[Any]] = {}
    for x, category in rows:
        if x is not None and category is not None:
            groups.setdefault(category, []).append(x)
    named = sorted(groups)
    if top is not None:
        named = sorted((name for name in named if name != rest), key=lambda name: -len(groups[name]))[:top]
    others = [x for name in sorted(groups) if name not in named for x in groups[name]]
    return {name: inner(groups[name]) for name in sorted(named)} | ({rest: inner(others)} if others else {})


@pytest.mark.rule(23)
@pytest.mark.parametrize("kind", CATEGORIES)
@settings(max_examples=30)
@given(data=st.data(), n=st.integers(1, 12), top=st.sampled_from([None, 1, 2, 50]))
def test_maps_are_those_of_plain_python(kind: str, data: st.DataObject, n: int, top: int | None) -> None:
    arrow, values = CATEGORIES[kind]
    top = top if kind in REST else None
    rest = REST.get(kind, "other")
    numbers = st.sampled_from([None, 1.5, -2.0, 0.25, 1e16])
    rows = data.draw(st.lists(st.tuples(numbers, st.sampled_from([None, *values])), max_size=30))
    inputs = pa.array([x for x, _ in rows], pa.float64()), pa.array([c for _, c in rows], arrow)
    op, inner = data.draw(st.sampled_from(OPERATORS))
    top = top if op.commutative else None
    by_kind = op.per() if top is None else op.per(top=top, rest=rest)
    live: sw.Swag = (sw.SubtractOnEvict if op == sw.count else sw.DabaLite)(op := by_kind)
    answers = sw.rolling(inputs, op, rows=n).to_pylist(maps_as_pydicts="strict")
    for i, row in enumerate(rows):
        window = rows[max(0, i - n + 1) : i + 1]
        wanted = expected(window, inner, top, rest)
        assert same(answers[i], wanted, 1e-12), (op, window)
        assert list(answers[i]) == list(wanted)
        live.insert(*row)
        if i >= n:
            live.evict()
        assert same(live.query(), wanted, 1e-12), (op, window)


def test_windows_by_key_jump_and_answers_come_back_in_order() -> None:
    choose = np.random.default_rng(3)
    x, kind, by = choose.integers(-5, 5, 400), choose.integers(0, 30, 400), choose.integers(0, 4, 400)
    for n in (1, 3, 60):
        for top in (None, 2):
            op = sw.sum.per() if top is None else sw.sum.per(top=top, rest=-1)
            answers = sw.rolling((x, kind), op, rows=n, by=by)
            for i in range(len(x)):
                mine = np.flatnonzero(by[: i + 1] == by[i])[-n:]
                rows = [(int(x[j]), int(kind[j])) for j in mine]
                assert answers[i] == expected(rows, sum, top, -1)


def test_maps_of_many_categories_are_copied_from_one_to_the_next() -> None:
    """Categories that come and go, in a word of bits and beyond; with keys, maps lie in another order."""
    choose = np.random.default_rng(4)
    kinds = [(3, pa.int64()), (20, pa.string()), (64, pa.int32()), (65, pa.int64()), (300, pa.string())]
    variance = OPERATORS[2][1]
    for different, kind in kinds:
        codes = choose.integers(0, different, 300) * 7 - 9
        codes[100:200] = choose.integers(0, 2, 100)  # most leave for a while
        names = [f"{'long ' * (code % 5)}{code}" if kind == pa.string() else code for code in codes.tolist()]
        x = [None if one_in_ten else v for one_in_ten, v in zip(choose.random(300) < 0.1, codes % 11 / 4, strict=True)]
        key = choose.integers(0, 2, 300)
        table = pa.table({"t": range(300), "x": x, "c": pa.array(names, kind), "k": key})
        for by in ([], ["k"]):
            spent, spread = sw.sum("x").per("c").over(rows=40), sw.variance("x").per("c").over(60)
            answers = sw.Sliding(on="t", by=by, spent=spent, spread=spread)(table)
            assert answers["spent"].type.key_type == kind
            sums, variances = (answers[name].to_pylist(maps_as_pydicts="strict") for name in ("spent", "spread"))
            for i in range(0, 300, 3):
                before = [j for j in range(i + 1) if not by or key[j] == key[i]]
                assert sums[i] == expected([(x[j], names[j]) for j in before[-40:]], sum, None, None)
                recent = [(x[j], names[j]) for j in before if j > i - 60]
                assert variances[i] == pytest.approx(expected(recent, variance, None, None))


@pytest.mark.parametrize("op", [sw.sum, sw.max, sw.count, sw.weighted_mean], ids=str)
@pytest.mark.parametrize("categories", [1, 2, 40])
def test_top_categories_by_compiled_passes_are_those_of_the_interpreted_operator(
    op: sw.Operator, categories: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Skewed and even, windows of rows and of time that jump, nulls, and categories that come and go."""
    choose = np.random.default_rng(categories)
    x = pa.array(choose.normal(size=1_500), mask=choose.random(1_500) < 0.05)
    ticks = np.cumsum(choose.choice([0, 1, 3, 60], 1_500, p=[0.3, 0.5, 0.19, 0.01]))
    for skewed in (False, True):
        drawn = choose.geometric(1.5 / (categories + 1), 1_500) - 1 if skewed else choose.integers(0, 10**6, 1_500)
        columns = (*[x] * (1 + (op is sw.weighted_mean)), pa.array(drawn % categories))
        for top, rest, window in ((1, -1, {"rows": 30}), (3, 0, {"times": ticks, "last": 20}), (50, 1, {"rows": 200})):
            maps = []
            for compiled in (True, False):
                if not compiled:
                    monkeypatch.setattr(by_category, "can_be_ranked", lambda *_: False)
                maps.append(
                    sw.rolling(columns, op.per(top=top, rest=rest), **window).to_pylist(maps_as_pydicts="strict")
                )
                monkeypatch.undo()
            for found, wanted in zip(*maps, strict=True):
                assert same(found, wanted, 1e-12)
                assert list(found) == list(wanted)


@pytest.mark.parametrize("op", [sw.sum, sw.count], ids=str)
def test_top_categories_whose_rows_come_and_go_between_two_windows(op: sw.Operator) -> None:
    """Labels ask so seldom that many rows, and categories new or old, are never in a window."""
    inner = dict(OPERATORS)[op]
    table = pa.table({"t": range(6), "x": [1, 2, 4, 8, 16, 32], "c": [*"zayzxz"]})
    definition = sw.Sliding(on="t", m=op("x").per("c", top=1).over(2))
    for times in ((1, 5), (0, 3, 5), (1, 2, 5), (0, 5)):
        found = definition.as_of(pa.table({"t": times}), table)["m"].to_pylist(maps_as_pydicts="strict")
        rows = list(zip(table["x"].to_pylist(), table["c"].to_pylist(), strict=True))
        assert found == [expected(rows[max(t - 1, 0) : t + 1], inner, 1, "other") for t in times]
    choose = np.random.default_rng(6)
    for different in (2, 3, 5, 40):
        x, kind, t = choose.integers(-9, 9, 400), choose.integers(0, different, 400), choose.integers(0, 900, 400)
        events = pa.table({"t": t, "x": x, "c": kind})
        labels = pa.table({"t": choose.integers(0, 900, 60)})
        for top, rest in ((1, -1), (2, 0), (3, -1)):
            definition = sw.Sliding(on="t", m=op("x").per("c", top=top, rest=rest).over(12))
            found = definition.as_of(labels, events)["m"].to_pylist(maps_as_pydicts="strict")
            for now, answer in zip(labels["t"].to_pylist(), found, strict=True):
                held = np.flatnonzero((t > now - 12) & (t <= now))
                wanted = expected([(int(x[j]), int(kind[j])) for j in held], inner, top, rest)
                assert answer == wanted
                assert list(answer) == list(wanted)


def test_maps_of_some_rows_alone_are_those_among_all() -> None:
    """Also where the map before is not wanted, and where one is wanted twice."""
    op = sw.sum.per()
    columns = [read(pa.array(numbers), "x") for numbers in (np.arange(60.0), np.arange(60) % 5)]
    answers = plain_rows(op, [column.data for column in columns], 20)

    def maps(rows: Any) -> Any:
        wanted = answers.moved(lambda array: array[rows])
        return typed(op, columns, [pa.float64(), pa.int64()], wanted).to_pylist(maps_as_pydicts="strict")

    every = maps(slice(None))
    for rows in (np.arange(1, 60, 3), np.arange(60)[::-1], np.array([7, 40, 7, 40, 2])):
        assert maps(rows) == [every[i] for i in rows]


def test_rows_that_share_a_map_long_names_and_holes() -> None:
    """Peers have one map, several rows one window, and some none; names are longer than what is written as a whole."""
    names = ["a", "a name of more than sixteen bytes", "é" * 9, ""]
    choose = np.random.default_rng(5)
    times, kind = np.sort(choose.integers(0, 60, 200)), choose.integers(0, 4, 200)
    table = pa.table({"ts": times, "x": choose.integers(0, 9, 200), "k": [names[i] for i in kind]})
    at = {
        "pandas": table.to_pandas(),
        "pyarrow": table,
        "coded": table.set_column(2, "k", table["k"].dictionary_encode()),
    }
    definition = sw.Sliding(on="ts", a=sw.sum("x").per("k").over(9, at_least=9), b=sw.variance("x").per("k").over(9))
    labels = pa.table({"ts": [30, 5, 30, 70]})
    rows = table.to_pylist()
    for name, events in at.items():
        found = definition.as_of(labels, events) if name != "pandas" else definition.as_of(labels.to_pandas(), events)
        answers = found["a"].tolist() if name == "pandas" else found["a"].to_pylist(maps_as_pydicts="strict")
        for t, answer in zip([30, 5, 30, 70], answers, strict=True):
            window = [(row["x"], row["k"]) for row in rows if t - 9 < row["ts"] <= t]
            assert answer == (expected(window, sum, None, "") if len(window) >= 9 else None)
        given = definition(events)
        peers = given["a"].tolist() if name == "pandas" else given["a"].to_pylist(maps_as_pydicts="strict")
        for row, answer in zip(rows, peers, strict=True):
            window = [(other["x"], other["k"]) for other in rows if row["ts"] - 9 < other["ts"] <= row["ts"]]
            assert answer == (expected(window, sum, None, "") if len(window) >= 9 else None)


def test_count_by_is_a_counter_and_the_same_as_count_per() -> None:
    words = ["to", "be", "or", "not", "to", "be", "that", "is", "the", "question"]
    answers = sw.rolling(np.array(words), sw.count_by, rows=6).tolist()
    assert answers == [Counter(words[max(0, i - 5) : i + 1]) for i in range(len(words))]
    assert list(answers[5]) == ["be", "not", "or", "to"]
    definition = sw.Sliding(a=sw.count_by("w").over(rows=4), b=sw.count().per("w").over(rows=4))
    table = definition(pa.table({"w": words}))
    assert table.column("a").equals(table.column("b"))
    assert sw.rolling(np.array(words), sw.count_by(top=1), rows=6).tolist()[-1] == {"be": 1, "other": 5}
    assert pickle.loads(pickle.dumps(sw.count_by(top=1))) == sw.count_by(top=1) != sw.count_by


def test_nothing_one_row_and_nulls_alone() -> None:
    none = pa.array([None, None], pa.string()), pa.array([1, 2])
    assert sw.rolling(none[:1] * 2, sw.count.per(), rows=2).to_pylist() == [[], []]
    answers = sw.rolling(none[::-1], sw.sum.per(), rows=2)
    assert answers.type == pa.map_(pa.string(), pa.int64())
    assert answers.to_pylist() == [[], []]
    empty = sw.Sliding(s=sw.sum("x").per("c").over(rows=2), e=sw.sum("x").per("c").over(rows=2, at_least=2))
    table = empty(pa.table({"x": pa.array([], pa.float64()), "c": pa.array([], pa.string())}))
    assert len(table) == 0
    assert table.schema.field("s").type == pa.map_(pa.string(), pa.float64())
    table = empty(pa.table({"x": [1.0, np.nan], "c": ["a", "b"]}))
    assert same(table.column("e").to_pylist(), [None, [("a", 1.0), ("b", np.nan)]])


def test_a_sum_that_does_not_fit_is_an_error_only_where_one_category_has_it() -> None:
    big = np.array([2**62, 2**62, 2**62])
    fits = sw.rolling((big, np.array(["a", "b", "c"])), sw.sum.per(), rows=3)
    assert fits.tolist()[-1] == dict.fromkeys("abc", 2**62)
    for top, kinds in ((None, "aba"), (1, "abc")):
        with pytest.raises(sw.SumOverflowError):
            sw.rolling((big, np.array([*kinds])), sw.sum.per(top=top), rows=3)


def test_tables_of_each_kind() -> None:
    definition = sw.Sliding(s=sw.sum("x").per("c").over(rows=3), f=sw.m4("x").per("c").over(rows=2))
    columns = {"x": [1, 2, 3], "c": ["b", "a", "b"]}
    maps = [{"b": 1}, {"a": 2, "b": 1}, {"a": 2, "b": 4}]
    structs = [{"b": 1}, {"a": 2, "b": 1}, {"a": 2, "b": 3}]
    live = definition.live()
    pushed = [live.push(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
    for found in (definition(pd.DataFrame(columns))["s"].tolist(), [row["s"] for row in pushed]):
        assert found == maps
    table = definition(pa.table(columns))
    assert table.column("s").to_pylist(maps_as_pydicts="strict") == maps
    assert definition(pl.DataFrame(columns)).to_arrow().column("s").to_pylist(maps_as_pydicts="strict") == maps
    assert [{key: four.last for key, four in row["f"].items()} for row in pushed] == structs
    assert definition.live().push_many(pa.table(columns)).equals(table)
    rolled = sw.rolling((pl.Series(columns["x"]), pl.Series(columns["c"])), sw.sum.per(), rows=3)
    assert rolled.to_arrow().to_pylist(maps_as_pydicts="strict") == maps


TEXTS = [
    ("sum(x) per kind over 1 day", lambda: sw.sum("x").per("kind").over("1 day")),
    ("sum(x) per kind top 10 over 1 day", lambda: sw.sum("x").per("kind", top=10).over("1 day")),
    (
        "sum(x) per upper(kind) top 3 rest 'rest' where ok over 5 rows",
        lambda: sw.sum("x").per(sw.col("kind").upper(), top=3, rest="rest").where("ok").over(rows=5),
    ),
    ("count() per code top 2 rest -1 over all", lambda: sw.count().per("code", top=2, rest=-1).over("all")),
    ("count_by(top=2, rest='other')(kind) over all", lambda: sw.count_by(top=2)("kind").over("all")),
]


@pytest.mark.parametrize(("text", "make"), TEXTS, ids=[text for text, _ in TEXTS])
def test_definitions_are_written_and_read(text: str, make: Callable[[], Any]) -> None:
    aggregate = make()
    assert str(aggregate) == text
    assert eval(repr(aggregate), {"sw": sw}) == aggregate
    definition = sw.Sliding(on="ts", a=aggregate)
    for again in (
        sw.Sliding.from_dict({"on": "ts", "columns": {"a": text}}),
        sw.Sliding.from_toml(definition.to_toml()),
        pickle.loads(pickle.dumps(definition)),
    ):
        assert again == definition
        assert again.fingerprint() == definition.fingerprint()
    assert definition.fingerprint() != sw.Sliding(on="ts", a=sw.sum("x").per("kind").over("2 days")).fingerprint()


def test_top_and_rest_count_in_fingerprints_and_names_stay_free() -> None:
    made = [{}, {"top": 1}, {"top": 2}, {"top": 2, "rest": "-"}]
    found = {sw.Sliding(a=sw.sum("x").per("k", **of).over(rows=2)).fingerprint() for of in made}
    assert len(found) == len(made)
    per, top = sw.Sliding.from_dict({"columns": {"a": "sum(per) over 2 rows"}}), "sum(top) per per over 2 rows"
    assert per(pa.table({"per": [1, 2]})).column("a").to_pylist() == [1, 3]
    assert str(sw.Sliding.from_dict({"columns": {"a": top}}).columns["a"]) == top


def test_what_runs_is_explained() -> None:
    made = {"a": sw.sum("x").per("k"), "b": sw.sum("x").per("k", top=1), "c": sw.median("x").per("k", top=1)}
    whole, top, objects = sw.Sliding(on="ts", columns={name: one.over(3) for name, one in made.items()}).explain()
    assert "grouped by category" in whole.kernel
    assert "in order by their rows" in top.kernel
    assert "interpreted" in objects.kernel


REFUSED: list[tuple[str, Callable[[], Any]]] = [
    ("per stands before over", lambda: sw.sum("x").over("1 day").per("k")),
    ("per takes the name of a column", lambda: sw.sum("x").per(3)),
    ("per takes the name of a column", lambda: sw.sum("x").per()),
    ("rest='q' names the categories beyond top=", lambda: sw.sum("x").per("k", rest="q")),
    ("rest='q' names the categories beyond top=", lambda: sw.count_by(rest="q")),
    ("maps of maps", lambda: sw.sum("x").per("k").per("j")),
    ("maps of maps", lambda: sw.count_by("x").per("k")),
    ("rank is about the row's own value", lambda: sw.rank("x").per("k")),
    ("rate goes by the rows' times", lambda: sw.rate("x").per("k")),
    ("top is a whole number from 1", lambda: sw.sum("x").per("k", top=0)),
    ("rest= is the name", lambda: sw.sum("x").per("k", top=2, rest=1.5)),
    ("first depends on the order of rows", lambda: sw.first("x").per("k", top=2)),
    ("is an aggregate; aggregates do not nest", lambda: sw.sum("x").per(sw.count().over(rows=2))),
    ("an exact median needs every value", lambda: sw.median("x").per("k").over("1 day", grain="1 hour")),
    ("answers with a map by category", lambda: sw.Sliding(a=sw.sum("x").per("k").over(rows=2) + 1)),
    ("top goes with per", lambda: sw.Sliding.from_dict({"columns": {"a": {"operator": "count", "top": 2, "rows": 3}}})),
    ("categories of text, whole numbers", lambda: sw.rolling((np.ones(2), np.ones(2)), sw.sum.per(), rows=1)),
    ("categories of text, whole numbers", lambda: sw.DabaLite(sw.sum.per()).insert(1, 2.5)),
    ("rest='other' for text and rest=-1", lambda: sw.rolling(np.ones(2, int), sw.count_by(top=1), rows=1)),
    ("rest='other' for text and rest=-1", lambda: sw.DabaLite(sw.count_by(top=1)).insert(True)),
    ("cannot hold", lambda: sw.rolling(pa.array([1], pa.int8()), sw.count_by(top=1, rest=300), rows=1)),
    ("sum takes numbers", lambda: sw.rolling((np.array(["a"]), np.array(["a"])), sw.sum.per(), rows=1)),
    (
        "an object that no table can hold",
        lambda: sw.Sliding(a=sw.countmin("x").per("x").over(rows=1))(pa.table({"x": ["a"]})),
    ),
]


@pytest.mark.parametrize(("message", "run"), REFUSED, ids=[f"{i} {message}" for i, (message, _) in enumerate(REFUSED)])
def test_what_is_refused_is_said(message: str, run: Callable[[], Any]) -> None:
    with pytest.raises(sw.SlidewiseError, match=message):
        run()


def test_states_that_cannot_be_are_refused() -> None:
    op = sw.sum.per(top=2)
    is_state, decode = op.is_state, op.decode
    assert is_state is not None
    assert decode is not None
    assert is_state(decode((("a", 2, 5), ("b", 1, (0.5, 0.0)))))
    hostile: list[Any] = [
        (("a", 2, 5), ("a", 1, 5)),
        (("a", 0, 5),),
        (("a", True, 5),),
        (("a", 1, "5"),),
        ((None, 1, 5),),
        ((1.5, 1, 5),),
        ((1, 1, 5),),  # no text, as the rest's name is
    ]
    for entries in hostile:
        assert not is_state(decode(entries)), entries
    assert not is_state(3)
    mixed = sw.sum.per()
    assert mixed.is_state is not None
    assert not mixed.is_state({1: (1, 2), "a": (1, 2)})


def test_snapshots_go_on_and_forged_ones_are_refused() -> None:
    definition = sw.Sliding(a=sw.sum("x").per("k").over("all"), b=sw.count().per("k").over(rows=2))
    live = definition.live()
    live.push({"x": 1, "k": "a"})
    live.push({"x": 2, "k": "b"})
    again, event = definition.restore(live.snapshot()), {"x": 3, "k": "a"}
    assert again.push(event) == live.push(event) == {"a": {"a": 4, "b": 2}, "b": {"a": 1, "b": 1}}
    for entries in ((("a", 0, 5),), (("a", 2, "5"),), ((1.5, 1, 5),), (("a", 1),), 7):
        forged = replace(sw.sum.per(), encode=lambda _state, entries=entries: entries)
        lying = sw.Sliding(a=Aggregate(forged, ("x", "k")).over("all"), b=definition.columns["b"]).live()
        lying.push({"x": 1, "k": "a"})
        with pytest.raises(sw.SnapshotError):
            definition.restore(lying.snapshot())


def test_maps_are_audited() -> None:
    definition = sw.Sliding(by="u", on="ts", a=sw.sum("x").per("k").over(10))
    events = pa.table({"u": [1, 1, 1], "ts": [1, 2, 3], "x": [1.0, 2.0, 4.0], "k": ["a", "b", "a"]})
    labels = pa.table({"u": [1, 1], "ts": [2, 3]})
    served = definition.as_of(labels, events)
    assert definition.audit(served, events).unequal == 0
    wrong = pa.array([[("a", 1.0), ("b", 2.0)], [("a", 5.0), ("b", 3.0)]], served.schema.field("a").type)
    assert definition.audit(served.set_column(2, "a", wrong), events).unequal == 1
