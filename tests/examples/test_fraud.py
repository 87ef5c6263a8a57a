"""examples/fraud runs as it stands: the model finds fraud, and was served what it would have been trained on."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "fraud"
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
LINES = 60  # what a user writes, all in all


@pytest.fixture(scope="module")
def example(spark: Any) -> Iterator[dict[str, Any]]:
    """The names of the example's script once it has run, on the tests' session, whose settings it changes."""
    from threadpoolctl import threadpool_limits

    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    sys.path.insert(0, str(FOLDER))
    try:
        with threadpool_limits(1):  # threads that wait for one another take all cores of a busy machine
            yield runpy.run_path(str(FOLDER / "fraud.py"))
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("payments", None)
        spark.conf.set("spark.sql.shuffle.partitions", partitions)


@pytest.fixture(scope="module")
def generator() -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / "payments.py"))


def test_what_was_served_is_what_a_training_set_has(example: dict[str, Any]) -> None:
    audit = example["audit"]
    assert audit.equal, str(audit)
    assert audit.unequal == 0
    assert audit.answers == len(example["served"]) * len(example["card"].columns)
    assert len(example["served"]) > 10_000


def test_the_model_finds_fraud_that_amounts_do_not_tell(example: dict[str, Any]) -> None:
    from sklearn.metrics import roc_auc_score

    served = example["served"]
    assert served["fraud"].sum() > 100
    assert example["training"]["asked_at"].max() < example["cut"] <= served["asked_at"].min()
    blind = roc_auc_score(served["fraud"], served["amount"])
    assert example["auc"] > 0.9
    assert example["auc"] > blind + 0.1


def test_the_audit_sees_a_payment_that_was_lost(example: dict[str, Any]) -> None:
    served, payments = example["served"], example["payments"]
    asked = served.iloc[len(served) // 2]
    mine = (payments["card"].to_numpy() == asked["card_id"]) & (payments["booked_at"].to_pandas() <= asked["asked_at"])
    newest = np.flatnonzero(mine)[-1]
    rest = payments.filter(pa.array(np.arange(len(payments)) != newest))
    audit = example["card"].audit(served, rest, at="asked_at", by={"card": "card_id"})
    assert 0 < audit.unequal < audit.answers / 100
    assert set(audit.differences["card_id"].tolist()) == {asked["card_id"]}
    assert min(audit.differences["asked_at"].tolist()) >= payments["booked_at"][newest].as_py()


def test_a_user_writes_few_lines() -> None:
    assert len((FOLDER / "fraud.py").read_text().splitlines()) < LINES


def test_payments_are_the_same_for_the_same_seed(generator: dict[str, Any]) -> None:
    make = generator["make"]
    month = make(days=5, cards=50, seed=3)
    assert make(days=5, cards=50, seed=3) == month
    assert make(days=5, cards=50, seed=4) != month
    for table, time in ((month.requests, "asked_at"), (month.payments, "booked_at")):
        assert table[time].null_count == 0
        assert np.all(np.diff(table[time].cast("int64").to_numpy()) >= 0), "in the order of time"
        assert pc.min(table["amount"]).as_py() > 0
    assert len(month.requests) == len(month.payments) > 500


def test_a_feed_is_in_the_order_of_time_and_complete(generator: dict[str, Any]) -> None:
    month = generator["make"](days=5, cards=50, seed=3)
    since = month.payments["booked_at"][200].as_py()
    messages = list(generator["feed"](month.requests, month.payments, since=since))
    times = [row["booked_at" if kind == "payment" else "asked_at"] for kind, row in messages]
    assert times == sorted(times)
    assert times[0] == since
    payments = [row for kind, row in messages if kind == "payment"]
    assert payments == month.payments.slice(200).to_pylist()
    asked = month.requests.filter(pc.field("asked_at") >= since)
    assert [row for kind, row in messages if kind == "request"] == asked.to_pylist()


def test_of_equal_time_a_payment_comes_before_a_request(generator: dict[str, Any]) -> None:
    month = generator["make"](days=2, cards=5, seed=3)
    at = month.payments["booked_at"][0]
    request = month.requests.slice(0, 1).set_column(1, "asked_at", pa.array([at]))
    kinds = [kind for kind, _ in generator["feed"](request, month.payments.slice(0, 1), since=at.as_py())]
    assert kinds == ["payment", "request"]
