"""`SlidingFeatures` in scikit-learn: its checks of estimators, tables of every kind, pipelines, copies."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidewise as sw

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

CARD = sw.Sliding(by="card", on="ts", spent=sw.sum("amount").over(10), seen=sw.count().over(rows=2))
ROWS = {"card": [7, 8, 7, 7], "ts": [0, 4, 30, 6], "amount": [20.0, 90.0, None, 35.0]}
SPENT = [[20.0, 1.0], [90.0, 1.0], [np.nan, 2.0], [55.0, 2.0]]
TABLES = {"pandas": pd.DataFrame(ROWS), "polars": pl.DataFrame(ROWS), "pyarrow": pa.table(ROWS)}

BY_TIME = sw.Sliding(on="x0", y=sw.sum("x0").over(1.0))
BY_ROWS = sw.Sliding(y=sw.sum("x0").over(rows=2))

# Why some of scikit-learn's checks do not apply.
NEVER = {"check_methods_subset_invariance": "a row's features depend on the rows before it, so they differ in a part"}
DO_NOT_APPLY = {
    BY_TIME: NEVER | {"check_estimators_pickle": "it puts NaN into the time column, which is an error"},
    BY_ROWS: NEVER | {"check_methods_sample_order_invariance": "windows of rows without a time go by the order"},
}


@parametrize_with_checks(
    [sw.SlidingFeatures(definition) for definition in DO_NOT_APPLY],
    expected_failed_checks=lambda estimator: DO_NOT_APPLY[estimator.definition],
)
def test_the_checks_of_scikit_learn_pass(estimator, check) -> None:  # type: ignore[no-untyped-def]
    check(estimator)


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_kind_give_the_rows_in_their_order(kind: str) -> None:
    features = sw.SlidingFeatures(CARD)
    np.testing.assert_array_equal(features.fit_transform(TABLES[kind]), SPENT)
    assert list(features.feature_names_in_) == list(ROWS)
    assert list(features.get_feature_names_out()) == ["spent", "seen"]


def test_an_array_has_columns_by_number() -> None:
    array = np.column_stack([ROWS["card"], ROWS["ts"], [20.0, 90.0, 1.0, 35.0]])
    card = sw.Sliding(by="x0", on="x1", spent=sw.sum("x2").over(10))
    np.testing.assert_array_equal(sw.SlidingFeatures(card).fit_transform(array), [[20], [90], [1], [55]])


@pytest.mark.parametrize(("container", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output_names_the_columns(container: str, kind: type) -> None:
    features = sw.SlidingFeatures(CARD).set_output(transform=container)
    answers = features.fit_transform(TABLES["pandas"].set_index(pd.Index([5, 6, 7, 8])))
    assert isinstance(answers, kind)
    assert list(answers.columns) == ["spent", "seen"]
    np.testing.assert_array_equal(answers.to_numpy(), SPENT)
    if container == "pandas":
        assert list(answers.index) == [5, 6, 7, 8]


def test_answers_that_are_no_numbers_come_as_objects() -> None:
    last = sw.Sliding(on="ts", kinds=sw.collect("kind").over(rows=2), any=sw.bool_or("ok").over(rows=2))
    given = sw.SlidingFeatures(last).fit_transform(pa.table({"ts": [0, 1], "kind": ["a", "b"], "ok": [True, False]}))
    assert given.dtype == object
    assert given.tolist() == [[["a"], True], [["a", "b"], True]]


def test_a_pipeline_trains_and_predicts_and_is_copied() -> None:
    rng = np.random.default_rng(1)
    times = np.arange(300)
    table = pd.DataFrame({"card": times % 7, "ts": times, "amount": rng.random(300)})
    both = ColumnTransformer([("card", sw.SlidingFeatures(CARD), list(ROWS)), ("own", "passthrough", ["amount"])])
    model = make_pipeline(both, HistGradientBoostingClassifier(max_iter=2))
    model.fit(table, table.amount > 0.5)
    answers = model.predict(table)
    assert list(both.get_feature_names_out()) == ["card__spent", "card__seen", "own__amount"]
    np.testing.assert_array_equal(clone(model).fit(table, table.amount > 0.5).predict(table), answers)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(table), answers)
    assert again[0].transformers_[0][1].definition == CARD


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(sw.SlidewiseError, match="column 'amount' not found"):
        sw.SlidingFeatures(CARD).fit(TABLES["pandas"].drop(columns="amount"))
    beats = sw.Sliding(by="card", on="ts", every=5, spent=sw.sum("amount").over(10))
    with pytest.raises(sw.SlidewiseError, match="every= answers on a beat"):
        sw.SlidingFeatures(beats).fit(TABLES["pandas"])
    with pytest.raises(sw.SlidewiseError, match=r"definition= is an sw\.Sliding, not 'card'"):
        sw.SlidingFeatures("card").fit(TABLES["pandas"])
    with pytest.raises(ValueError, match="feature names should match"):
        sw.SlidingFeatures(CARD).fit(TABLES["pandas"]).transform(TABLES["pandas"].rename(columns={"card": "shop"}))


def test_nothing_is_learnt_so_transform_needs_no_fit() -> None:
    features = sw.SlidingFeatures(CARD)
    np.testing.assert_array_equal(features.transform(TABLES["polars"]), SPENT)


def test_scikit_learn_is_imported_when_it_is_used_and_named_where_it_lacks() -> None:
    code = """
import sys
import slidewise as sw
assert "SlidingFeatures" in dir(sw) and "sklearn" not in sys.modules
sys.modules["sklearn"] = sys.modules["sklearn.base"] = None
try:
    sw.SlidingFeatures
except ImportError as error:
    assert "pip install 'slidewise[sklearn]'" in str(error), error
else:
    raise AssertionError("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
