"""Features of cards as a materialized view and, from new files only, as a streaming table; alerts from the view.

A query function may not ask for the columns of a table, and a definition has to: apply it to a DataFrame of the
module, and let the function give that. So a definition reads sources of the pipeline, not tables that it makes.
"""

from pathlib import Path

from pyspark import pipelines
from pyspark.sql import DataFrame, SparkSession

import slidewise as sw

spark = SparkSession.active()
SCHEMA = "card bigint, booked_at timestamp, amount double, declined boolean"

card = sw.Sliding.from_toml((Path(__file__).parents[1] / "card.toml").read_text())
folder = spark.conf.get("payments")
table = spark.read.schema(SCHEMA).parquet(folder).transform(card)
stream = spark.readStream.schema(SCHEMA).parquet(folder).withWatermark("booked_at", "1 minute").transform(card)


@pipelines.materialized_view
def features() -> DataFrame:
    return table


@pipelines.table
def arriving_features() -> DataFrame:
    return stream


@pipelines.materialized_view
def alerts() -> DataFrame:
    return spark.read.table("features").where("odd AND n_10m > 1")
