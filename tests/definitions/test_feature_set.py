"""Feature sets: several definitions with keys of their own, over tables of every kind; and what is refused."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from point_in_time import assert_answers, judge_table

import slidewise as sw

NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
CARD = sw.Sliding(
    by="card",
    on="ts",
    spent=sw.sum("amount").over("1 hour"),
    seen=sw.count().over("1 hour", closed="left"),
    last=sw.last("amount").over(rows=2),
)
SHOP = sw.Sliding(by=["shop"], on="ts", seen=sw.count().over("2 hours"), most=sw.max("amount").over("all"))
FEATURES = sw.FeatureSet(card=CARD, shop=SHOP)
NAMES = ["card_spent", "card_seen", "card_last", "shop_seen", "shop_most"]


def minutes(*numbers: int) -> pa.Array:
    return pa.array([NOON + timedelta(minutes=minute) for minute in numbers])


EVENTS = pa.table(
    {
        "card": [1, 2, 1, None, 1, 2],
        "shop": ["a", "b", "a", "a", None, "b"],
        "ts": minutes(0, 10, 10, 30, 61, 70),
        "amount": [5.0, 7.0, 2.0, None, 8.0, 1.0],
    }
)
LABELS = pa.table(
    {
        "card": [1, 1, 2, None, 3],
        "shop": ["a", "b", None, "a", "a"],
        "ts": minutes(10, 60, 65, 200, 5),
        "fraud": [True, False, False, True, False],
    }
)


def kinds(table: pa.Table) -> dict[str, Any]:
    return {"arrow": table, "pandas": table.to_pandas(), "polars": pl.from_arrow(table)}


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
@pytest.mark.rule(19)
def test_columns_of_every_definition_as_of_each_label(kind: str) -> None:
    labels, events = kinds(LABELS)[kind], kinds(EVENTS)[kind]
    found = FEATURES.as_of(labels, {"card": events, "shop": events})
    assert type(found) is type(labels)
    assert list(found.columns if kind != "arrow" else found.column_names) == [*LABELS.column_names, *NAMES]
    table = found if kind == "arrow" else pa.Table.from_pandas(found) if kind == "pandas" else found.to_arrow()
    assert table.column("fraud").to_pylist() == LABELS.column("fraud").to_pylist()
    for name, definition in (("card", CARD), ("shop", SHOP)):
        answers = table.select([f"{name}_{column}" for column in definition.columns])
        answers = answers.rename_columns(list(definition.columns)).to_pylist()
        assert_answers(definition, answers, judge_table(definition, LABELS, EVENTS), LABELS.to_pylist())


def test_one_table_for_all_is_the_same() -> None:
    assert FEATURES.as_of(LABELS, EVENTS).equals(FEATURES.as_of(LABELS, {"card": EVENTS, "shop": EVENTS}))
    assert list(FEATURES.columns) == NAMES


def test_labels_with_other_names() -> None:
    expected = FEATURES.as_of(LABELS, EVENTS).select(NAMES)
    renamed = LABELS.rename_columns(["card_id", "shop", "decided_at", "fraud"])
    found = FEATURES.as_of(renamed, EVENTS, on="decided_at", by={"card": "card_id"})
    assert found.column_names == [*renamed.column_names, *NAMES]
    assert found.select(NAMES).equals(expected)


def test_one_key_name_of_two_definitions() -> None:
    """Both definitions call their key `id`, which is another column of the labels for each."""
    card = EVENTS.select(["card", "ts", "amount"]).rename_columns(["id", "ts", "amount"])
    shop = EVENTS.select(["shop", "ts", "amount"]).rename_columns(["id", "ts", "amount"])
    both = sw.FeatureSet(
        card=sw.Sliding(by="id", on="ts", columns=CARD.columns), shop=sw.Sliding(by="id", on="ts", columns=SHOP.columns)
    )
    found = both.as_of(LABELS, {"card": card, "shop": shop}, by={"card": {"id": "card"}, "shop": {"id": "shop"}})
    assert found.equals(FEATURES.as_of(LABELS, EVENTS))
    mixed = both.as_of(LABELS, {"card": card, "shop": shop}, by={"id": "card", "shop": {"id": "shop"}})
    assert mixed.equals(found)


def test_ties_and_times_of_their_own() -> None:
    """A definition keeps its order of rows of equal time, and the name of its own time column."""
    events = pa.table({"k": [1, 1], "at": [5, 5], "seq": [2, 1], "x": [10, 20]})
    first = sw.Sliding(by="k", on="at", ties="seq", x=sw.last("x").over(rows=1))
    by_value = sw.Sliding(by="k", on="at", x=sw.last("x").over(rows=1))
    labels = pa.table({"k": [1], "at": [9]})
    found = sw.FeatureSet(seq=first, value=by_value).as_of(labels, events)
    assert found.select(["seq_x", "value_x"]).to_pylist() == [{"seq_x": 10, "value_x": 20}]


@pytest.mark.parametrize(
    ("labels", "events", "more", "said"),
    [
        (LABELS, {"card": EVENTS}, {}, "there are no events for 'shop'"),
        (LABELS, {"card": EVENTS, "shop": EVENTS, "shp": EVENTS}, {}, "events for 'shp', .*did you mean 'shop'"),
        (LABELS, {}, {}, "there are no events for 'card', 'shop'"),
        (
            LABELS.append_column("shop_seen", LABELS["card"]),
            EVENTS,
            {},
            "'shop': the labels have a column 'shop_seen' already",
        ),
        (LABELS.drop_columns(["shop"]), EVENTS, {}, "'shop': column 'shop' not found; the labels have card, ts, fraud"),
        (LABELS, {"card": EVENTS, "shop": EVENTS.drop_columns("amount")}, {}, "'shop': column 'amount' not found"),
        (LABELS, EVENTS, {"on": "decided_at"}, "'card': column 'decided_at' not found"),
        (LABELS, EVENTS, {"by": {"crad": "card"}}, "by= names the key 'crad', .*did you mean 'card'"),
        (LABELS, EVENTS, {"by": {"crad": {"card": "card"}}}, "by= names the definition 'crad'.*did you mean 'card'"),
        (LABELS, EVENTS, {"by": {"card": {"shop": "shop"}}}, "'card': by= names the key 'shop', but"),
        (LABELS, EVENTS, {"by": ["card"]}, "by= is a dict of keys"),
        (LABELS, EVENTS, {"parallel": "auto"}, "'card': parallel: options are for Spark DataFrames only"),
        (LABELS, [EVENTS], {}, "not on a list"),
    ],
)
def test_what_is_refused(
    labels: Any, events: Any, more: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    monkeypatch.setattr("slidewise.tables.as_of.as_of_tables", lambda *_: ran.append("as_of"))
    with pytest.raises(sw.SlidewiseError, match=said):
        FEATURES.as_of(labels, events, **more)
    assert not ran, "nothing runs before all names are checked"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (sw.FeatureSet, "needs a definition"),
        (lambda: sw.FeatureSet([CARD]), "a dict of definitions by name"),
        (lambda: sw.FeatureSet({"": CARD}), "name in a feature set is text"),
        (lambda: sw.FeatureSet(card=sw.max("x")), r"card=sw.max\('x'\) is no definition"),
        (lambda: sw.FeatureSet({"card": CARD}, card=CARD), "'card' is given twice"),
        (
            lambda: sw.FeatureSet(
                card=sw.Sliding(on="ts", a_b=sw.count().over(1)), card_a=sw.Sliding(on="ts", b=sw.count().over(1))
            ),
            "'a_b' of 'card' and 'b' of 'card_a' would both be the column 'card_a_b'",
        ),
        (
            lambda: sw.FeatureSet(card=sw.Sliding(on="ts", every="1 minute", n=sw.count().over("1h"))),
            "'card' has every=.*leave out every=",
        ),
        (lambda: sw.FeatureSet(card=sw.Sliding(n=sw.count().over(rows=3))), "'card' has no time column"),
        (
            lambda: sw.FeatureSet(card=sw.Sliding(by="card_n", on="ts", n=sw.count().over(3))),
            "'card': the column 'card_n' has the name of a key",
        ),
    ],
)
def test_what_is_no_feature_set(make: Any, said: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=said):
        make()


def test_plain_data() -> None:
    again = sw.FeatureSet({"card": CARD}, shop=SHOP)
    assert again == FEATURES
    assert hash(again) == hash(FEATURES)
    assert again.fingerprint() == FEATURES.fingerprint()
    assert eval(repr(FEATURES)) == FEATURES
    odd = sw.FeatureSet({"a card": CARD})
    assert eval(repr(odd)) == odd
    assert copy.deepcopy(FEATURES) == FEATURES == pickle.loads(pickle.dumps(FEATURES))
    others = [sw.FeatureSet(card=CARD), sw.FeatureSet(shop=SHOP, card=CARD), sw.FeatureSet(card=SHOP, shop=CARD)]
    assert len({FEATURES, *others}) == len({one.fingerprint() for one in (FEATURES, *others)}) == 4
    assert FEATURES != CARD


def test_a_feature_set_does_not_change() -> None:
    with pytest.raises(sw.SlidewiseError, match="does not change"):
        FEATURES.definitions = {}  # type: ignore[misc]
    with pytest.raises(sw.SlidewiseError, match="does not change"):
        FEATURES.definitions["card"] = SHOP  # type: ignore[index]
    with pytest.raises(sw.SlidewiseError, match="does not change"):
        del FEATURES.definitions


def test_files() -> None:
    assert sw.FeatureSet.from_dict(FEATURES.to_dict()) == FEATURES
    assert sw.FeatureSet.from_toml(FEATURES.to_toml()) == FEATURES
    odd = sw.FeatureSet({'a "b".c': CARD})
    assert sw.FeatureSet.from_toml(odd.to_toml()) == odd
    written = FEATURES.to_dict()
    written["shop"]["columns"]["most"]["operator"] = "maxx"
    with pytest.raises(sw.SlidewiseError, match=r"the definition 'shop': .*'maxx'.*did you mean 'max'"):
        sw.FeatureSet.from_dict(written)
    with pytest.raises(sw.SlidewiseError, match="a dict of definitions"):
        sw.FeatureSet.from_dict([])  # type: ignore[arg-type]


def test_an_index_of_pandas_stays() -> None:
    labels = LABELS.to_pandas().set_index(pd.Index(list("vwxyz"), name="which"))
    assert list(FEATURES.as_of(labels, EVENTS.to_pandas()).index) == list("vwxyz")
    with pytest.raises(sw.InputError, match="it is in the index"):
        FEATURES.as_of(labels.reset_index().set_index("card"), EVENTS.to_pandas())
