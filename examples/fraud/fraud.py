"""Fraud on cards: one definition makes a training set on Spark, serves the model live, and is audited."""

import os
import sys
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc
from payments import START, feed, make
from pyspark.sql import SparkSession
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

import slidewise as sw

card = sw.Sliding(
    by="card",
    on="booked_at",
    n_10m=sw.count().over("10 minutes"),
    n_1d=sw.count().over("1 day"),
    declined_1h=sw.count().where("declined").over("1 hour"),
    spent_1h=sw.sum("amount").over("1 hour"),
    usual=sw.median("amount").over("14 days"),
    most=sw.max("amount").over("14 days"),
    last3=sw.mean("amount").over(rows=3),
)
inputs = ["amount", *card.columns]
requests, payments = make()
cut = START + timedelta(days=24)  # the model learns from requests before, and is judged by those after

# Train: each request with what was known of its card when it was asked. Payments that came later never count.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2).getOrCreate()
labels = spark.createDataFrame(requests.filter(pc.field("asked_at") < cut))
events = spark.createDataFrame(payments)
training = card.as_of(labels, events, on="asked_at", by={"card": "card_id"}).toArrow().to_pandas()
model = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(training[inputs], training["fraud"])
print(f"trained on {len(training):,} requests, {training['fraud'].mean():.1%} of them fraud")

# Serve: the same definition, message by message. A request comes between two payments, and gets what is true then.
live, log = card.live(), []
live.push_many(payments.filter(pc.field("booked_at") < cut))
for kind, row in feed(requests, payments, since=cut):
    if kind == "payment":
        live.push(row)
    else:
        log.append(row | live.get({"card": row["card_id"]}, at=row["asked_at"]))
served = pa.Table.from_pylist(log).to_pandas()
auc = roc_auc_score(served["fraud"], model.predict_proba(served[inputs])[:, 1])
print(f"served {len(served):,} requests of the four days after: AUC {auc:.3f}")

# Audit: was the model served what it would have been trained on?
audit = card.audit(served, payments, at="asked_at", by={"card": "card_id"})
print(audit)
