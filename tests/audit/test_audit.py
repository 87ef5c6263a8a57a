"""Audits of logs that were really served, and of logs with planted errors: exactly those are found."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import lanes
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from point_in_time import judge_table

import slidewise as sw
from slidewise.audit.audit import Audit

NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
CARD = sw.Sliding(
    by="card",
    on="ts",
    spent=sw.sum("amount").over("1 hour"),
    seen=sw.count().over("1 hour", closed="left"),
    last3=sw.mean("amount").over(rows=3),
    shops=sw.collect("shop").over("20 minutes"),
    spread=sw.stddev("amount").over("2 hours"),
)
NAMES = list(CARD.columns)


def payments(count: int, seed: int = 7) -> pa.Table:
    """Events of a few cards, no two of a card at one time, in the order of time."""
    rng = random.Random(seed)
    seconds = sorted(rng.sample(range(6 * 3600), count))
    return pa.table(
        {
            "card": pa.array([rng.choice([1, 2, 3, None]) for _ in seconds], pa.int64()),
            "ts": pa.array([NOON + timedelta(seconds=second) for second in seconds]),
            "amount": [rng.choice([None, round(rng.uniform(1, 99), 2)]) for _ in seconds],
            "shop": [rng.choice(["a", "b", "c"]) for _ in seconds],
        }
    )


def serve(definition: sw.Sliding, events: pa.Table) -> pa.Table:
    """The log of a live definition: each event is pushed, and the answer to it is what was served then."""
    live = definition.live()
    rows = [
        {"card_id": row["card"], "served_at": row["ts"], **dict(live.push(row) or {})} for row in events.to_pylist()
    ]
    kinds = definition(events.slice(0, 0)).schema
    schema = pa.schema(
        [
            ("card_id", kinds.field("card").type),
            ("served_at", kinds.field("ts").type),
            *((name, kinds.field(name).type) for name in definition.columns),
        ]
    )
    return pa.Table.from_pylist(rows, schema)


def audit(served: Any, events: Any, definition: sw.Sliding = CARD, **more: Any) -> Audit:
    return definition.audit(served, events, at="served_at", by={"card": "card_id"}, **more)


def found(of: Audit) -> set[tuple[str, Any, Any]]:
    """Which answers differ: column, key and time."""
    rows = of.listed.to_pylist()
    return {(row["column"], row["card_id"], row["served_at"]) for row in rows}


def expected(served: pa.Table, events: pa.Table) -> set[tuple[str, Any, Any]]:
    """The same, by the judge in plain Python."""
    right = judge_table(CARD, served, events, "served_at", {"card": "card_id"})
    return {
        (name, row["card_id"], row["served_at"])
        for row, answers in zip(served.to_pylist(), right, strict=True)
        for name in NAMES
        if not lanes.alike(lanes.plain(row[name]), answers[name])
    }


def replaced(table: pa.Table, row: int, column: str, value: object) -> pa.Table:
    values = table.column(column).to_pylist()
    values[row] = value
    at = table.column_names.index(column)
    return table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))


EVENTS = payments(400)
SERVED = serve(CARD, EVENTS)


@pytest.mark.rule(19)
def test_what_live_served_is_what_the_events_say() -> None:
    of = audit(SERVED, EVENTS)
    assert of.equal
    assert of
    assert (of.rows, of.answers, of.unequal, of.absent) == (400, 2000, 0, ())
    assert str(of).startswith("0 of 2,000 answers differ: 400 served rows, 5 columns\n")
    assert len(of.differences) == 0
    assert [column.share for column in of.by_column.values()] == [1.0] * 5
    assert CARD.fingerprint() in str(of)


@pytest.mark.parametrize("column", NAMES)
def test_one_changed_value(column: str) -> None:
    value = {"shops": ["z"], "seen": 77}.get(column, 0.123)
    row = next(i for i, answer in enumerate(SERVED.column(column).to_pylist()) if i > 99 and answer not in (None, []))
    of = audit(replaced(SERVED, row, column, value), EVENTS)
    assert not of
    assert found(of) == {(column, SERVED["card_id"][row].as_py(), SERVED["served_at"][row].as_py())}
    [difference] = of.differences.to_pylist()
    right = SERVED[column][row].as_py()
    assert (difference["kind"], difference["row"], difference["served"]) == ("differs", row, str(value))
    assert difference["recomputed"] == str(right)
    if column != "shops":
        assert difference["difference"] == of.by_column[column].largest * (1 if value > right else -1)  # type: ignore[operator]
        assert abs(difference["difference"]) == abs(value - right)
    text = str(of)
    assert text.startswith("1 of 2,000 answers differ (99.95 % are equal)")
    assert f"{column}  " in text
    assert str(SERVED["served_at"][row].as_py())[:19] in text


def test_a_shifted_clock() -> None:
    """A server's clock is ten minutes fast for an hour: its rows are asked for at other times than served."""
    begin, end, fast = NOON + timedelta(hours=2), NOON + timedelta(hours=3), timedelta(minutes=10)
    times = SERVED.column("served_at").to_pylist()
    shifted = [time + fast if begin <= time < end else time for time in times]
    log = SERVED.set_column(1, "served_at", pa.array(shifted, SERVED.schema.field(1).type))
    of = audit(log, EVENTS)
    assert found(of) == expected(log, EVENTS)
    assert of.unequal > 100
    assert {name for name, _, _ in found(of)} == set(NAMES)
    for column in of.by_column.values():
        assert column.first is not None
        assert column.last is not None
        assert begin <= column.first.as_py() - fast <= column.last.as_py() - fast < end
        assert column.buckets.sum() == column.unequal
    where = of.by_column["spent"].buckets.nonzero()[0] / len(of.timeline.rows)
    assert 0.3 < where.min() < where.max() < 0.6, "the plot shows when"


def test_a_lost_event() -> None:
    """The server never saw one event; only its card's answers differ, until the event has left every window."""
    lost = 150
    seen = pa.concat_tables([EVENTS.slice(0, lost), EVENTS.slice(lost + 1)])
    of = audit(serve(CARD, seen), EVENTS)
    assert found(of) == expected(serve(CARD, seen), EVENTS) != set()
    assert {card for _, card, _ in found(of)} == {EVENTS["card"][lost].as_py()}
    assert min(time for _, _, time in found(of)) > EVENTS["ts"][lost].as_py()
    assert max(time for _, _, time in found(of)) < EVENTS["ts"][lost].as_py() + timedelta(hours=2)


def test_a_changed_definition() -> None:
    """What serves has another window of one column: this column differs, and no other."""
    old = sw.Sliding(
        by="card", on="ts", columns={**CARD.columns, "spent": sw.sum("amount").over("1 hour", closed="both")}
    )
    assert audit(serve(old, EVENTS), EVENTS, old)
    edge = EVENTS.slice(0, 1).set_column(1, "ts", pa.array([NOON + timedelta(hours=9)], EVENTS.schema.field("ts").type))
    again = edge.set_column(1, "ts", pa.array([NOON + timedelta(hours=10)], EVENTS.schema.field("ts").type))
    more = pa.concat_tables([EVENTS, replaced(edge, 0, "amount", 4.0), replaced(again, 0, "amount", 5.0)])
    of = audit(serve(old, more), more)
    assert found(of) == {("spent", more["card"][400].as_py(), NOON + timedelta(hours=10))}
    assert of.listed["difference"].to_pylist() == [4.0]
    assert [name for name, column in of.by_column.items() if column.unequal] == ["spent"]


def test_nulls_on_either_side() -> None:
    spent = SERVED.column("spent").to_pylist()
    there, empty = [amount is None for amount in spent].index(False), spent.index(None)
    log = replaced(replaced(SERVED, there, "spent", None), empty, "spent", 3.0)
    of = audit(log, EVENTS)
    kinds = {row["row"]: (row["kind"], row["served"], row["difference"]) for row in of.listed.to_pylist()}
    assert kinds == {there: ("missing", None, None), empty: ("extra", "3.0", None)}
    column = of.by_column["spent"]
    assert (column.differ, column.missing, column.extra, column.largest) == (0, 1, 1, None)
    assert "missing" in str(of)
    assert "extra" in str(of)


def test_a_tolerance_for_floats() -> None:
    row = next(i for i, x in enumerate(SERVED.column("spent").to_pylist()) if x is not None)
    close = replaced(SERVED, row, "spent", SERVED["spent"][row].as_py() * (1 + 1e-12))
    assert not audit(close, EVENTS)
    assert audit(close, EVENTS, tolerance=1e-9)
    assert "within 1e-09" in str(audit(close, EVENTS, tolerance=1e-9))
    assert not audit(close, EVENTS, tolerance=1e-13)
    off = replaced(SERVED, row, "seen", SERVED["seen"][row].as_py() + 1)
    assert not audit(off, EVENTS, tolerance=0.9), "counts are exact"
    rounded = SERVED.set_column(2, "spent", SERVED["spent"].cast(pa.float32(), safe=False))
    assert "spent was served as float, which rounds a double; tolerance=1e-6 allows that" in str(audit(rounded, EVENTS))
    assert audit(rounded, EVENTS, tolerance=1e-6)


KINDS: dict[str, Any] = {
    "pandas": lambda table: table.to_pandas(),
    "pandas over Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
}


@pytest.mark.parametrize("kind", KINDS)
def test_other_kinds_of_tables(kind: str) -> None:
    bad = replaced(replaced(SERVED, 120, "spent", 0.5), 130, "shops", None)
    tables = [KINDS[kind](table) for table in (bad, EVENTS)]
    of, plain = audit(*tables), audit(bad, EVENTS)
    assert type(of.differences) is type(of.columns) is type(tables[0])
    assert of.listed["row"].to_pylist() == plain.listed["row"].to_pylist() == [120, 130]
    assert str(of).splitlines()[:8] == str(plain).splitlines()[:8]
    assert len(of.columns) == len(NAMES)


def test_logs_and_events_of_two_kinds() -> None:
    """NaN is a value in Arrow, and null in NumPy's columns of pandas: there it is no difference."""
    assert audit(SERVED.to_pandas(), EVENTS)
    assert audit(SERVED, pl.from_arrow(EVENTS))
    events = replaced(EVENTS, 100, "amount", float("nan"))
    log = serve(CARD, events)
    assert pc.any(pc.is_nan(log["spent"])).as_py()
    assert audit(log, events)
    assert audit(log.to_pandas(), events)
    assert not audit(log, EVENTS)


def test_columns_that_were_not_served_or_have_other_names() -> None:
    log = SERVED.select(["card_id", "served_at", "spent", "seen"])
    of = audit(log, EVENTS)
    assert of.equal
    assert of.absent == ("last3", "shops", "spread")
    assert "not in the log, so not compared: last3, shops, spread" in str(of)
    log = log.rename_columns(["card_id", "served_at", "feature_spent", "seen"])
    of = audit(log, EVENTS, columns={"spent": "feature_spent"})
    assert list(of.by_column) == ["spent", "seen"]
    assert of
    swapped = audit(log, EVENTS, columns={"spent": "seen", "seen": "feature_spent"})
    assert not swapped
    assert [column.name for column in swapped.by_column.values()] == ["seen", "feature_spent"]


def test_the_table_of_columns() -> None:
    bad = replaced(replaced(SERVED, 50, "seen", 100), 60, "seen", None)
    rows = {row["column"]: row for row in audit(bad, EVENTS).columns.to_pylist()}
    assert list(rows) == NAMES
    right = SERVED["seen"].to_pylist()
    assert rows["seen"] == {
        "column": "seen",
        "rows": 400,
        "equal": 398,
        "differ": 1,
        "missing": 1,
        "extra": 0,
        "share": 398 / 400,
        "largest": 100 - right[50],
        "first": SERVED["served_at"][50].as_py(),
        "last": SERVED["served_at"][60].as_py(),
    }
    assert rows["spent"]["first"] is None


def test_a_limit_lists_the_earliest_and_counts_all() -> None:
    turned = SERVED.take(list(range(399, -1, -1)))  # the newest first
    log = turned.set_column(3, "seen", pa.array([None] * 400, pa.int64()))
    of = audit(log, EVENTS, limit=3)
    assert of.unequal == of.by_column["seen"].missing == 400
    assert of.listed["row"].to_pylist() == [399, 398, 397]
    assert "... and 397 more" in str(of)


def test_names_that_the_table_of_differences_has_itself() -> None:
    definition = sw.Sliding(by=["row", "kind"], on="served", n=sw.count().over(10))
    events = pa.table({"row": [1], "kind": ["a"], "served": [1]})
    log = pa.table({"row": [1], "kind": ["a"], "served": [2], "n": [9]})
    of = definition.audit(log, events)
    assert of.differences.column_names[:4] == ["key_row", "key_kind", "key_served", "column"]
    assert of.differences.to_pylist()[0]["key_kind"] == "a"
    assert pl.DataFrame(pl.from_arrow(of.listed)).height == 1


def test_times_that_are_numbers_dates_and_nanoseconds() -> None:
    for times, asked in (
        ([1, 5], [7, 12]),
        ([1.5, 5.0], [7.0, 12.0]),
    ):
        definition = sw.Sliding(on="t", n=sw.count().over(10))
        log = pa.table({"t": asked, "n": [2, 5]})
        of = definition.audit(log, pa.table({"t": times}))
        assert (of.unequal, of.timeline.edges[0]) == (1, text(asked[0]))
    ns = pa.array([10**18 + 1, 10**18 + 5], pa.timestamp("ns"))
    definition = sw.Sliding(on="t", n=sw.count().over("1 hour"))
    of = definition.audit(pa.table({"t": ns, "n": [1, 1]}), pa.table({"t": ns}))
    assert "2001-09-09 01:46:40.000000005" in str(of)


def text(number: float) -> str:
    return f"{number:g}"


def test_an_empty_log() -> None:
    of = audit(SERVED.slice(0, 0), EVENTS)
    assert of
    assert str(of).startswith("the log has no rows, so nothing was compared")
    assert repr(of) == "<Audit: the log has no rows, so nothing was compared>"
    assert audit(SERVED.slice(0, 1), EVENTS).timeline.rows.tolist() == [1]
    nothing = audit(SERVED, EVENTS.slice(0, 0))
    assert nothing.by_column["spent"].extra == 400 - SERVED["spent"].null_count


@pytest.mark.parametrize(
    ("change", "more", "said"),
    [
        (lambda log: log.drop_columns("served_at"), {}, "column 'served_at' not found; the log has card_id, spent"),
        (lambda log: log.drop_columns("card_id"), {}, "column 'card_id' not found"),
        (lambda log: log.select(["card_id", "served_at"]), {}, "none of the answers 'spent', .*columns={'spent': 'se"),
        (lambda log: log, {"columns": {"spnt": "spent"}}, "the aggregate 'spnt', .*did you mean 'spent'"),
        (lambda log: log, {"columns": {"spent": "feature"}}, "column 'feature' not found; .*'spent' was served there"),
        (lambda log: log, {"columns": {"spent": 5}}, "which is no name"),
        (lambda log: log, {"columns": ["spent"]}, "as a dict, not"),
        (lambda log: log, {"columns": {"spent": "card_id"}}, "'card_id' of the log is a key or the time"),
        (lambda log: replaced(log, 3, "served_at", None), {}, "'served_at' of the log has 1 null, "),
        (
            lambda log: log.set_column(2, "spent", log["spent"].cast(pa.string())),
            {},
            "holds string, but 'spent' is dou",
        ),
        (lambda log: log.append_column("spent", log["spent"]), {}, "2 columns named 'spent'"),
        (lambda log: log, {"tolerance": -1}, "tolerance= is a share"),
        (lambda log: log, {"tolerance": True}, "tolerance= is a share"),
        (lambda log: log, {"tolerance": float("nan")}, "tolerance= is a share"),
        (lambda log: log, {"limit": 0}, "limit= is how many"),
        (lambda log: log.to_pylist(), {}, "not on a list"),
        (lambda log: log, {"parallel": "auto"}, "options are for Spark"),
        (lambda log: log, {"on": "served_at"}, "the log's time column is at='served_at', not on="),
        (lambda log: log, {"tolerence": 1e-9}, "tolerence= is not known; .*did you mean 'tolerance'"),
    ],
)
def test_what_is_refused(change: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=said):
        audit(change(SERVED), EVENTS, **more)


def test_beats_are_refused() -> None:
    beats = sw.Sliding(on="ts", every="1 minute", n=sw.count().over("1 hour"))
    with pytest.raises(sw.SlidewiseError, match="audit is not for every="):
        beats.audit(SERVED, EVENTS, at="served_at")
    with pytest.raises(sw.SlidewiseError, match="at= is the name of the log's time column"):
        CARD.audit(SERVED, EVENTS, at=5)  # type: ignore[arg-type]


@given(st.integers(0, 10**6), st.lists(st.tuples(st.integers(0, 39), st.sampled_from(NAMES)), max_size=6, unique=True))
def test_planted_errors_are_found_and_nothing_else(seed: int, planted: list[tuple[int, str]]) -> None:
    events = payments(40, seed)
    log = CARD.as_of(
        events.select(["card", "ts"]).rename_columns(["card_id", "served_at"]),
        events,
        on="served_at",
        by={"card": "card_id"},
    )
    for row, column in planted:
        log = replaced(log, row, column, {"shops": ["planted"], "seen": -1}.get(column, -0.5))
    of = audit(log, events)
    assert {(row["row"], row["column"]) for row in of.listed.to_pylist()} == set(planted)
    assert of.unequal == len(planted)
