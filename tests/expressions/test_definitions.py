"""Definitions with expressions: what is computed once, what comes out, what is refused; errors change nothing."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import lanes
import numpy as np
import pyarrow as pa
import pytest
import shards

import slidewise as sw
from slidewise.engine.computed import columns as computed_columns
from slidewise.errors import ExpressionError, InputError, NumberOverflowError, SlidewiseError, SnapshotError
from slidewise.expressions.over_arrays import evaluate_all
from slidewise.spark.batch.evaluator import BatchEvaluator, evaluate_tables

c = sw.col
START = datetime(2024, 3, 1, tzinfo=UTC)
TABLE = pa.table(
    {
        "card": [1, 2, 1, 1, 2],
        "ts": pa.array([START + timedelta(seconds=s) for s in (0, 1, 2, 5, 9)], pa.timestamp("us", "UTC")),
        "price": [2.0, 3.0, None, 0.5, 1.0],
        "count": [3, 1, 5, 4, 2],
        "name": ["Ada", None, "Bo", "ada", "Cy"],
    }
)
MEAN = sw.mean("price").over("1 minute")
SPENT = sw.Sliding(by="card", on="ts", spent=sw.sum(c("price") * c("count")).over("1 minute"), dear=c("price") > MEAN)
HUGE = 4 * 10**18


def rows_of(table: pa.Table, seconds: list[int]) -> list[dict[str, Any]]:
    return table.take(pa.array(seconds)).to_pylist()


def test_aggregates_in_several_expressions_are_computed_once() -> None:
    calls = []
    heard = sw.operator(name="heard", identity=0, combine=lambda a, b: a + b, lift=lambda x: calls.append(x) or 1)
    n = heard("count").over("1 minute")
    definition = sw.Sliding(by="card", on="ts", a=n * 2, b=n + c("count"), c=sw.when(n > 1).then(n).otherwise(0))
    assert list(definition.aggregates) == ["`heard`(count) over 1 minute".replace("`", "")]
    with pytest.warns(UserWarning, match="cannot be compiled"):
        found = definition(TABLE)
    assert found.column_names == [*TABLE.column_names, "a", "b", "c"]
    assert sorted(calls) == sorted(TABLE.column("count").to_pylist())
    assert found.column("a").to_pylist() == [2, 2, 4, 6, 4]


def test_an_aggregate_that_is_a_column_feeds_expressions_too() -> None:
    definition = sw.Sliding(on="ts", twice=MEAN * 2, mean=sw.mean("price").over("60s"))
    assert list(definition.aggregates) == ["mean"]
    assert definition(TABLE).column_names[-2:] == ["twice", "mean"]


def test_equal_arguments_are_computed_once() -> None:
    product = c("price") * c("count")
    definition = sw.Sliding(on="ts", a=sw.sum(product).over("5s"), b=sw.max(c("price") * c("count")).over(rows=2))
    assert list(definition.stages.arguments) == ["= price * count"]


def test_names_of_computed_columns_give_way_to_the_users() -> None:
    table = TABLE.append_column("= price * count", pa.array([1, 2, 3, 4, 5]))
    definition = sw.Sliding(
        on="ts", a=sw.sum(c("price") * c("count")).over("1h"), b=sw.sum("= price * count").over("1h")
    )
    assert definition(table).column("b").to_pylist() == [1, 3, 6, 10, 15]
    assert definition(table).column("a").to_pylist() == [6.0, 9.0, 9.0, 11.0, 13.0]


def test_fingerprints_go_by_what_is_meant() -> None:
    def mark(column: Any) -> str:
        return sw.Sliding(by="card", on="ts", a=column).fingerprint()

    assert mark(c("price") / MEAN) == mark(sw.col("price") / sw.mean(sw.col("price")).over("60 seconds"))
    assert mark(sw.sum((c("price")) * 2).over(rows=3)) == mark(sw.sum(c("price") * 2).over(rows=3))
    different = [
        *(c("price") / MEAN, MEAN / c("price"), c("price") // MEAN, c("count") / MEAN, c("price") / MEAN / 1),
        *(c("price") / sw.mean("count").over("1 minute"), c("price") / sw.mean("price").over("2 minutes")),
        *(sw.sum(c("price") * 2).over(rows=3), sw.sum(c("price") * 2.0).over(rows=3), sw.sum("price").over(rows=3)),
        *(sw.sum("price").where(c("count") > 1).over(rows=3), sw.sum("price").where(c("count") >= 1).over(rows=3)),
    ]
    different += [c("$0") - MEAN, MEAN - c("$0"), c("0") - MEAN, MEAN - c("0"), c("column 0") - MEAN]
    assert len({mark(column) for column in different}) == len(different)


def test_definitions_compare_hash_and_pickle() -> None:
    same = sw.Sliding(by="card", on="ts", spent=sw.sum(c("price") * c("count")).over("60s"), dear=c("price") > MEAN)
    assert same == SPENT
    assert hash(same) == hash(SPENT)
    assert pickle.loads(pickle.dumps(SPENT)) == SPENT
    assert sw.Sliding(on="ts", a=MEAN * 2) != sw.Sliding(on="ts", a=MEAN * 3)
    assert eval(repr(SPENT)) == SPENT


def test_aggregates_compare_as_ever_and_other_comparisons_are_expressions() -> None:
    assert (sw.max("x").over(1) == sw.max("x").over(1)) is not True  # a condition of two aggregates
    assert bool(sw.max("x").over(1) == sw.max("x").over(1))
    assert bool(sw.max("x").over(1) != sw.max("x").over(2))
    with pytest.raises(ExpressionError, match="write & for and"):
        bool(sw.max("x").over(1) == c("x"))
    with pytest.raises(ExpressionError, match=r"\.between\(a, b\)"):
        _ = 0 < c("x") < 1


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: sw.sum(sw.max("x").over(3)), "aggregates do not nest"),
        (lambda: sw.count().where(sw.max("x").over(3) > 1), "aggregates do not nest"),
        (lambda: sw.sum("x") / 2, "has no window"),
        (lambda: sw.Sliding(on="ts", a=c("x") + 1), "needs an aggregate"),
        (lambda: sw.Sliding(on="ts", a=sw.when(c("x") > 1).then(2)), r"end it with \.otherwise"),
        (lambda: sw.Sliding(on="ts", a=sw.when(c("x") > 1)), r"end it with \.then"),
        (lambda: sw.Sliding(by="k", on="ts", k=MEAN * 2), "name of a key"),
        (lambda: sw.Sliding(on="ts", every="5s", a=MEAN / c("price")), "reads the column 'price' of a row"),
        (
            lambda: sw.Sliding(on="ts", a=MEAN * 2).live(late="revise").push({"ts": 1, "price": 1.0}),
            "times are numbers",
        ),
        (lambda: sw.count().where(c("x").length()), "where takes a condition"),
        (lambda: sw.count().where("a").where("b"), r"sw.col\('a'\) & sw.col\('b'\)"),
        (lambda: c("x").is_in("abc"), "list of constants"),
        (lambda: c("x").cast("integer"), "did you mean 'int'"),
        (lambda: c(""), "name is text"),
        (lambda: c("x") + object(), "is no part of an expression"),
        (lambda: c("x") + 2**64, "does not fit into 64 bits"),
        (lambda: MEAN.is_in([None]), "null equals nothing"),
        (lambda: list(c("x")), "nothing to go through"),
        (lambda: 1 in c("x"), "holds nothing"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(make: Any, problem: str) -> None:
    with pytest.raises(SlidewiseError, match=problem):
        make()


def test_nesting_is_bounded() -> None:
    def nested(step: Callable[[Any], Any], times: int) -> Any:
        expression: Any = c("x")
        for _ in range(times):
            expression = step(expression)
        return expression

    with pytest.raises(ExpressionError, match="200 levels"):
        nested(lambda x: x + 1, 300)
    with pytest.raises(ExpressionError, match="10,000 parts"):
        nested(lambda x: x + x, 100)


def test_a_deep_expression_runs_in_every_way() -> None:
    deep: Any = c("count")
    for _ in range(190):
        deep = deep + 1
    definition = sw.Sliding(on="ts", total=sw.sum(deep).over("1h"), own=deep + sw.count().over("1h"))
    found = definition(TABLE).select(["total", "own"]).to_pylist()
    live = definition.live()
    assert [live.push(row) for row in TABLE.to_pylist()] == found
    assert found[0] == {"total": 193, "own": 194}


@pytest.mark.parametrize(
    ("definition", "problem"),
    [
        (
            sw.Sliding(on="ts", a=sw.sum(c("name") * 2).over("5s")),
            "in `name \\* 2`: \\* takes numbers, and `name` is text",
        ),
        (
            sw.Sliding(on="ts", a=c("count") + sw.max("name").over("5s")),
            "column 'a': in .*`max\\(name\\) over 5 seconds` is text",
        ),
        (sw.Sliding(on="ts", a=sw.count().where(sw.coalesce(c("count"))).over("5s")), "where takes a condition"),
        (sw.Sliding(on="ts", a=c("nam") == sw.max("name").over("5s")), "did you mean 'name'"),
        (sw.Sliding(on="ts", a=sw.sum(c("nam").length()).over("5s")), "did you mean 'name'"),
        (
            sw.Sliding(on="ts", a=sw.collect("name").over("5s") == c("name")),
            "is a list, with which no exp",
        ),
    ],
)
def test_types_are_checked_before_anything_runs(definition: sw.Sliding, problem: str) -> None:
    with (
        patch("slidewise.engine.table_rows.sort_rows", side_effect=AssertionError),
        pytest.raises(SlidewiseError, match=problem),
    ):
        definition(TABLE)


def overflowing(column: Any, **options: Any) -> sw.Sliding:
    return sw.Sliding(by="card", on="ts", n=sw.count().over("1h"), a=column, **options)


LARGE = TABLE.set_column(3, "count", pa.array([1, 1, 1, 3, 1]))
OVERFLOWS = [sw.max(c("count") * HUGE).over("1h"), sw.sum("count").over(rows=1) * HUGE]


OVERFLOW_LANES: dict[str, Callable[[sw.Sliding], Any]] = {
    **{
        name: (lambda definition, name=name: lanes.LANES[name](definition, LARGE))
        for name in ("pyarrow", "pandas", "polars")
    },
    "sorted batches": lambda definition: list(evaluate_tables(BatchEvaluator(definition), [LARGE.sort_by("card")])),
    "shard": lambda definition: shards.played(shards.Stream(definition, LARGE.schema), LARGE, seed=1),
    "as_of": lambda definition: definition.as_of(LARGE.select(["card", "ts"]), LARGE),
}


@pytest.mark.rule(20)
@pytest.mark.parametrize("column", OVERFLOWS, ids=["argument", "result"])
@pytest.mark.parametrize("lane", OVERFLOW_LANES)
def test_an_overflow_names_the_key_and_the_time(lane: str, column: Any) -> None:
    with pytest.raises(NumberOverflowError, match=r"not fit into 64 bits where .*=3; .*card=1.*ts=2024-03-01 00:00:05"):
        OVERFLOW_LANES[lane](overflowing(column))


@pytest.mark.rule(20)
@pytest.mark.parametrize("column", OVERFLOWS, ids=["argument", "result"])
@pytest.mark.parametrize("late", ["error", "revise"])
def test_an_event_that_overflows_leaves_everything_as_it_was(late: str, column: Any) -> None:
    definition = overflowing(column)
    rows = LARGE.to_pylist()
    retain = {"retain": "all"} if late == "revise" else {}
    live, plain = definition.live(late=late, **retain), definition.live(late=late, **retain)
    for row in rows[:3]:
        assert live.push(row) == plain.push(row)
    before = live.snapshot()
    with pytest.raises(NumberOverflowError, match=r"card=1.*ts=2024-03-01 00:00:05"):
        live.push(rows[3])
    with pytest.raises(NumberOverflowError, match=r"card=1.*ts=2024-03-01 00:00:05"):
        live.push_many(LARGE.slice(3))
    assert live.snapshot() == before
    assert live.push(rows[4]) == plain.push(rows[4])


def test_events_whose_results_overflow_when_they_are_due_are_left_out_and_counted() -> None:
    live = overflowing(OVERFLOWS[1]).live(late="wait:1s")
    rows = LARGE.to_pylist()
    for row in rows[:4]:
        live.push(row)
    with pytest.raises(NumberOverflowError):
        live.push(rows[4])
    assert live.stats.failed == 1
    assert [row["n"] for row in live.flush()] == [2]


def test_a_beat_that_overflows_leaves_everything_as_it_was() -> None:
    definition = sw.Sliding(by="card", on="ts", every="4s", a=sw.sum("count").over("8s") * HUGE)
    live = definition.live()
    rows = LARGE.filter(pa.compute.equal(LARGE["card"], 1)).to_pylist()
    live.push(rows[0])
    live.push({**rows[1], "ts": START + timedelta(seconds=3), "count": 2})
    before = live.snapshot()
    with pytest.raises(NumberOverflowError, match="card=1"):
        live.push(rows[2])  # which shows the beat at 4 s to be complete
    with pytest.raises(NumberOverflowError):
        live.push_many(pa.Table.from_pylist(rows[2:]))
    assert live.snapshot() == before


def test_rows_that_are_no_numbers_are_refused_live_with_the_part_at_fault() -> None:
    live = SPENT.live()
    with pytest.raises(ExpressionError, match=r"'spent': in `price \* count`: \* takes numbers, .* is 'free'.*card=1"):
        live.push({"card": 1, "ts": START, "price": "free", "count": 2})
    with pytest.raises(InputError, match="no 'count', which 'spent' reads"):
        live.push({"card": 1, "ts": START, "price": 2.0})
    with pytest.raises(InputError, match="no 'price', which 'dear' reads"):
        sw.Sliding(on="ts", n=sw.count().over("1h"), dear=c("price") > sw.count().over("1h")).live().push({"ts": START})
    assert len(live) == 0
    assert live.stats.events == 0


def test_nan_is_null_in_a_column_that_holds_text() -> None:
    definition = sw.Sliding(
        on="ts",
        texts=sw.count().where(c("name").length() > 0).over("1h"),
        same=sw.first("name").over(rows=1) == c("name"),
    )
    live = definition.live()
    rows = [{"ts": 1.0 * i, "name": name} for i, name in enumerate([float("nan"), "Ada", float("nan"), None])]
    definition = sw.Sliding(on="ts", texts=sw.count().where(c("name").length() > 0).over(100.0), up=c("name").upper())
    live = definition.live()
    assert [live.push(row) for row in rows] == [
        {"texts": 0, "up": None},
        {"texts": 1, "up": "ADA"},
        {"texts": 1, "up": None},
        {"texts": 1, "up": None},
    ]


def test_requests_bring_what_expressions_read_of_the_row() -> None:
    live = SPENT.live()
    live.push_many(TABLE)
    at = START + timedelta(seconds=20)
    assert live.get({"card": 1, "price": 9.0}, at=at) == {"spent": 8.0, "dear": True}
    assert live.get({"card": 1, "price": None}, at=at) == {"spent": 8.0, "dear": None}
    requests = pa.table({"card_id": [1, 9], "price": [0.1, 0.1], "asked": [at, at]})
    found = live.get_many(requests, on="asked", by={"card": "card_id"})
    assert found.select(["spent", "dear"]).to_pylist() == [{"spent": 8.0, "dear": False}, {"spent": None, "dear": None}]
    with pytest.raises(InputError, match="the request has no 'price', which 'dear' reads"):
        live.get({"card": 1}, at=at)
    with pytest.raises(InputError, match="'dear' reads it of the row that asks"):
        live.get_many(requests.drop_columns(["price"]), on="asked", by={"card": "card_id"})
    with pytest.raises(InputError, match="'dear' reads it of the row that asks"):
        SPENT.as_of(requests.drop_columns(["price"]), TABLE, on="asked", by={"card": "card_id"})


def test_the_time_of_a_read_is_that_of_the_row_that_asks() -> None:
    idle = sw.Sliding(by="card", on="ts", idle=c("ts") - sw.last("ts").over("1h"), hour=c("ts").hour())
    live = idle.live()
    live.push_many(TABLE)
    at = START + timedelta(hours=0.5)
    assert live.get({"card": 1}, at=at) == {"idle": 1795.0, "hour": 0}
    assert live.get({"card": 1}) == {"idle": 4.0, "hour": 0}  # as of the newest event of all keys, 9 s after the start
    assert live.get_many(pa.table({"card": [1, 2]})).column("idle").to_pylist() == [4.0, 0.0]
    labels = pa.table({"card": [2], "asked": pa.array([at], pa.timestamp("ns", "UTC"))})
    assert idle.as_of(labels, TABLE, on="asked").column("idle").to_pylist() == [1791.0]


def test_audits_recompute_expressions_from_what_was_logged() -> None:
    live = SPENT.live()
    live.push_many(TABLE)
    at = START + timedelta(seconds=20)
    requests = [{"card": 1, "price": 9.0}, {"card": 2, "price": 0.5}]
    log = pa.Table.from_pylist([{**request, "at": at, **live.get(request, at=at)} for request in requests])
    assert SPENT.audit(log, TABLE, at="at")
    wrong = log.set_column(4, "dear", pa.array([True, True]))
    audit = SPENT.audit(wrong, TABLE, at="at")
    assert not audit
    assert "1 of 4 answers differ" in str(audit)
    with pytest.raises(InputError, match="log it beside the answers"):
        SPENT.audit(log.drop_columns(["price"]), TABLE, at="at")


def test_feature_sets_take_expressions() -> None:
    features = sw.FeatureSet(card=SPENT, all=sw.Sliding(on="ts", share=c("price") / sw.sum("price").over("1h")))
    labels = pa.table(
        {"card": [1], "ts": pa.array([START + timedelta(seconds=6)], TABLE.schema.field("ts").type), "price": [1.0]}
    )
    found = features.as_of(labels, TABLE).to_pylist()[0]
    assert {name: found[name] for name in features.columns} == {
        "card_spent": 8.0,
        "card_dear": False,
        "all_share": 1.0 / 5.5,
    }
    assert sw.FeatureSet.from_toml(features.to_toml()) == features


def test_a_snapshot_belongs_to_its_expressions() -> None:
    live = SPENT.live()
    live.push_many(TABLE)
    other = sw.Sliding(
        by="card", on="ts", spent=sw.sum(c("price") + c("count")).over("1 minute"), dear=c("price") > MEAN
    )
    with pytest.raises(SnapshotError):
        other.restore(live.snapshot())
    row = {"card": 1, "ts": START + timedelta(seconds=10), "price": 1.0, "count": 1}
    assert SPENT.restore(live.snapshot()).push(row) == live.push(row)


def test_a_streams_state_holds_arguments_of_aggregates_and_nothing_else_of_expressions() -> None:
    """As many bytes as a definition over a plain column that holds the same numbers."""
    computed = TABLE.append_column("product", pa.compute.multiply(TABLE["price"], TABLE["count"]))
    plain = sw.Sliding(by="card", on="ts", spent=sw.sum("product").over("1 minute"))
    with_result = sw.Sliding(
        by="card", on="ts", spent=sw.sum(c("price") * c("count")).over("1 minute"), up=c("name").upper()
    )
    sizes = []
    for definition in (plain, with_result):
        stream = shards.Stream(definition, computed.schema)
        shards.played(stream, computed, seed=3)
        sizes.append(sum(len(page) for number, page in stream.store.pages.items()))
        assert stream.store.pages
    assert abs(sizes[1] - sizes[0]) <= 64, sizes  # the computed column has a longer name


def test_each_row_is_evaluated_once() -> None:
    counts: list[int] = []

    def counting(expressions: Any, of_leaf: Any, count: int, *more: Any) -> Any:
        counts.append(count * len(expressions))
        return evaluate_all(expressions, of_leaf, count, *more)

    table = lanes.in_time_order(SPENT, TABLE).sort_by([("card", "ascending"), ("ts", "ascending")])
    pieces = [table.slice(i, 1) for i in range(len(table))]
    with (
        patch.object(computed_columns, "evaluate_all", counting),
        patch("slidewise.spark.batch.evaluator.MIN_ROWS", 1),
    ):
        found = pa.concat_tables(list(evaluate_tables(BatchEvaluator(SPENT), pieces)))
    assert len(found) == len(table)
    assert sum(counts) == 2 * len(table)  # one argument and one result
    counts.clear()
    stream = shards.Stream(SPENT, TABLE.schema)
    with patch.object(computed_columns, "evaluate_all", counting):
        shards.played(stream, TABLE, seed=1, most=2)
    assert len(stream.found) == len(TABLE)
    assert sum(counts) == 2 * len(TABLE)


def test_explain_says_what_is_computed_from_what() -> None:
    definition = sw.Sliding(by="card", on="ts", mean=MEAN, dear=c("price") > MEAN, n=sw.count().over("1 minute") / MEAN)
    text = str(definition.explain())
    assert "mean = sw.mean('price').over('1 minute')   feeds dear, n" in text
    assert "\nsw.count().over('1 minute')   feeds n" in text
    assert "dear = price > mean(price) over 1 minute\n    computed from: price of the row, mean\n" in text
    assert "sw.sum(sw.col('price') * sw.col('count'))" in str(SPENT.explain())


def test_explain_over_a_table_checks_types() -> None:
    with pytest.raises(ExpressionError, match=r"column 'a': .* takes numbers, and `x` is text"):
        sw.Sliding(on="t", a=c("x") + sw.count().over(3)).explain(pa.table({"t": [1], "x": ["4.0"]}))


def test_results_have_the_types_that_were_announced() -> None:
    definition = sw.Sliding(
        on="ts",
        whole=sw.count().over("5s") + 1,
        part=sw.count().over("5s") / 2,
        yes=sw.count().over("5s") > 1,
        text=sw.first("name").over("5s"),
        upper=c("name").upper(),
        when=sw.coalesce(sw.last("ts").over("5s", closed="left"), c("ts")),
        itself=c("count"),
    )
    schema = definition(TABLE).schema
    assert [str(schema.field(name).type) for name in definition.columns] == [
        *("int64", "double", "bool", "string", "string", "timestamp[us, tz=UTC]", "int64")
    ]
    frame = definition(TABLE.to_pandas())
    assert frame["whole"].tolist() == [2, 3, 4, 4, 3]
    assert np.asarray(frame["part"]).dtype == np.float64
    empty = definition(TABLE.slice(0, 0))
    assert empty.schema == schema


@pytest.mark.parametrize(
    "column",
    [
        sw.coalesce(sw.mean("x").over(10, closed="left"), 0),
        sw.coalesce(sw.max(c("x") / 2).over(10, closed="left"), 1).cast("text"),
        sw.when(c("n") > 5).then(sw.stddev("x").over(10)).otherwise(c("n")) * 4,
    ],
    ids=str,
)
def test_whole_numbers_beside_aggregates_of_floats_are_floats_live_too(column: Any) -> None:
    """An aggregate that is always a float is one where it is null, so that events and tables agree."""
    definition = sw.Sliding(on="t", r=column)
    events = pa.table({"t": [1, 2, 20], "x": [1.0, 2.0, 3.0], "n": [2**62, 1, 7]})
    expected = definition(events)["r"].to_pylist()
    live = definition.live()
    found = [live.push(row)["r"] for row in events.to_pylist()]
    assert repr(found) == repr(expected)
    labels = pa.table({"t": [25], "n": [3]})
    assert repr(live.get({"t": 25, "n": 3})["r"]) == repr(definition.as_of(labels, events)["r"].to_pylist()[0])


def test_seconds_between_times_are_floats_live_too() -> None:
    definition = sw.Sliding(on="ts", r=sw.coalesce(c("ts") - sw.last("ts").over("1 day", closed="left"), 0))
    assert repr(definition.live().push({"ts": datetime(2024, 3, 1)})) == "{'r': 0.0}"


@pytest.mark.parametrize(("late", "every"), [("wait:2", None), ("wait:2", 5), ("revise", None)])
def test_batches_that_go_one_by_one_have_columns_of_one_type(late: str, every: int | None) -> None:
    column = sw.coalesce(sw.mean("x").over(10), sw.sum("n").over(10))
    definition = sw.Sliding(by="k", on="t", every=every, r=column)
    events = pa.table({"k": [1, 2, 1], "t": [1, 2, 9], "n": [5, 2**53 + 1, 1], "x": pa.array([1.0, None, 1.0])})
    answered = definition.live(late=late).push_many(events)
    assert answered["r"].type == pa.float64()
    assert 2.0**53 in answered["r"].to_pylist()


def test_a_value_beside_a_null_is_checked_too() -> None:
    """Otherwise it would be stored, and every later event refused."""
    live = sw.Sliding(on="t", gap=c("ts") - sw.last("ts").over(10, closed="left")).live()
    with pytest.raises(ExpressionError, match=r"column 'gap': .* takes two numbers or two times, and `ts` is text"):
        live.push({"t": 1, "ts": "2024-01-01"})
    assert live.push({"t": 2, "ts": datetime(2024, 1, 1)}) == {"gap": None}


@pytest.mark.parametrize("column", [c("x").floor() + sw.count().over(3), sw.sum(c("x") * 0.5).over(3)], ids=str)
@pytest.mark.parametrize("value", [2**63, 10**400], ids=["one too large", "far too large"])
def test_whole_numbers_beyond_64_bits_are_refused(column: Any, value: int) -> None:
    live = sw.Sliding(on="t", r=column).live()
    with pytest.raises(NumberOverflowError, match=r"column 'r': `x` does not fit into 64 bits.*; at t=1"):
        live.push({"t": 1, "x": value})
    assert live.stats.events == 0


def test_a_requests_own_time_is_the_time_of_the_read() -> None:
    live = sw.Sliding(by="k", on="t", gap=c("t") - sw.last("t").over(10)).live()
    live.push({"k": 1, "t": 5})
    assert live.get({"k": 1, "t": 8}) == live.get({"k": 1}, at=8) == live.get({"k": 1, "t": 8}, at=8) == {"gap": 3}
    assert live.get({"k": 1, "t": None}) == live.get({"k": 1}) == {"gap": 0}
    with pytest.raises(InputError, match="the request's 't' is 8, and at=9; give one of them"):
        live.get({"k": 1, "t": 8}, at=9)


def test_columns_with_names_of_computed_ones_stay_what_they_are() -> None:
    events = pa.table({"t": [1, 2, 3], "x": [1, 2, 3], "= x * 2": [7, 7, 7]})
    doubled = sw.sum(c("x") * 2).over(10)
    for definition in (
        sw.Sliding(on="t", r=doubled + c("= x * 2")),
        sw.Sliding(by="= x * 2", on="t", r=doubled),
        sw.Sliding(on="t", ties="= x * 2", r=doubled),
    ):
        expected = definition(events)["r"].to_pylist()
        assert definition.live().push_many(events)["r"].to_pylist() == expected
        live = definition.live()
        assert [live.push(row)["r"] for row in events.to_pylist()] == expected


@pytest.mark.parametrize(
    ("make", "instead"),
    [
        (lambda: c("x").mean(), r"write sw\.mean\(sw\.col\('x'\)\)\.over"),
        (lambda: (c("x") * 2).over(10), r"write sw\.max\(sw\.col\('x'\) \* 2\)\.over"),
        (lambda: c("x").fillna(0), r"write sw\.coalesce\(sw\.col\('x'\), 0\)"),
        (lambda: c("x").lenght(), "did you mean 'length'"),
        (lambda: float(c("x")), "is a number for each row, and not one"),
        (lambda: c("x") == None, r"nothing equals null.*write \.is_null\(\)"),  # noqa: E711
        (lambda: sw.Sliding(by=["k", c("s").upper()], n=sw.count().over(rows=1)), "by= takes names of columns, and"),
        (lambda: sw.Sliding(by=c("k"), n=sw.count().over(rows=1)), "write 'k'"),
    ],
)
def test_what_others_write_says_what_to_write_here(make: Any, instead: str) -> None:
    with pytest.raises(SlidewiseError, match=instead):
        make()
    assert not hasattr(c("x"), "fillna")
    assert str(round(c("x"), 1)) == "round(x, 1)"
